// Instruction boundaries by decoding: x86-64 code can only be read forwards, from a known start.
//
// The known start is the function's, as its symbol or frame description says: in `55 48 89 e5` at a
// function's start, offsets 0 and 1 are boundaries and 2 is not. Bytes that are no instruction end the
// walk, and no offset behind them counts as a boundary.
// Mirrors can_probe() of arch/x86/kernel/kprobes/core.c (6.1). Not done: code outside all functions.
#include "compiler/target/elf/instruction_start.h"

#include <Zydis/Zydis.h>

namespace kevt::target {

bool starts_instruction(std::span<const std::uint8_t> function, std::uint64_t offset) {
  ZydisDecoder decoder;
  ZydisDecodedInstruction instruction;
  if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64))) return false;
  std::uint64_t at = 0;
  while (at < function.size()) {
    const std::span<const std::uint8_t> rest = function.subspan(at);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, rest.data(), rest.size(), &instruction))) {
      return false;
    }
    if (at >= offset) break;
    at += instruction.length;
  }
  return at == offset && at < function.size();
}

std::optional<bool> is_instruction_start(const ElfImage& image, ImageAddr address) {
  const std::optional<FunctionRange> function = image.function_containing(address);
  if (!function) return std::nullopt;
  return starts_instruction(image.bytes_at(function->start, function->size), address.value - function->start.value);
}

}  // namespace kevt::target
