// Names of system calls, as the kernel's events have them: 0 is "sys_read" (x86-64).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kevt {

std::optional<std::string_view> syscall_name(std::uint64_t number);

}  // namespace kevt
