// Numbers as the kernel's kstrto*() read them: optional sign, 0x…, 0… or decimal, nothing before or after.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kevt::grammar {

// nullopt: not a number, or it does not fit in 64 bits. One '+' may stand in front, as in kstrtoull.
std::optional<std::uint64_t> kernel_unsigned(std::string_view text);
// One '+' or '-' may stand in front, as in kstrtoll.
std::optional<std::int64_t> kernel_signed(std::string_view text);

}  // namespace kevt::grammar
