// Whether an address is the start of an instruction.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "common/addresses.h"
#include "compiler/target/elf/elf_image.h"

namespace kevt::target {

// Decodes instruction by instruction from the start of the function that contains `address`. nullopt: no such function
// is known, so nothing can be said.
std::optional<bool> is_instruction_start(const ElfImage& image, ImageAddr address);

// Whether an instruction of `function`, decoded from its first byte, starts at byte `offset`.
bool starts_instruction(std::span<const std::uint8_t> function, std::uint64_t offset);

}  // namespace kevt::target
