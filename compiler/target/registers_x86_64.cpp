// Where x86-64 keeps registers and arguments, as fetch-args name them.
//
//   %di → byte 112 of the saved register block      $arg3 → dx      $arg7 → 8 bytes above sp
//
// The names are the kernel's (regoffset_table of arch/x86/kernel/ptrace.c), the offsets those of
// common/abi/registers.h, the argument order the System V ABI's. At a function's entry the return address
// lies at the stack pointer, so the first argument on the stack lies 8 bytes above it.
#include <array>
#include <cstddef>
#include <string>

#include "common/abi/registers.h"
#include "compiler/target/target_env.h"

namespace kevt::target {

namespace {

struct RegisterName {
  std::string_view name;
  std::uint32_t offset;
};

constexpr std::array<RegisterName, 21> kRegisters = {{
#define KEVT_REGISTER(name) \
  { #name, offsetof(kevt_registers, name) }
    KEVT_REGISTER(r15),   KEVT_REGISTER(r14), KEVT_REGISTER(r13),     KEVT_REGISTER(r12), KEVT_REGISTER(r11),
    KEVT_REGISTER(r10),   KEVT_REGISTER(r9),  KEVT_REGISTER(r8),      KEVT_REGISTER(bx),  KEVT_REGISTER(cx),
    KEVT_REGISTER(dx),    KEVT_REGISTER(si),  KEVT_REGISTER(di),      KEVT_REGISTER(bp),  KEVT_REGISTER(ax),
    KEVT_REGISTER(ip),    KEVT_REGISTER(cs),  KEVT_REGISTER(orig_ax), KEVT_REGISTER(ss),  KEVT_REGISTER(sp),
    KEVT_REGISTER(flags),
#undef KEVT_REGISTER
}};

constexpr std::array<std::uint32_t, 6> kArgumentRegisters = {
    offsetof(kevt_registers, di), offsetof(kevt_registers, si), offsetof(kevt_registers, dx),
    offsetof(kevt_registers, cx), offsetof(kevt_registers, r8), offsetof(kevt_registers, r9)};

}  // namespace

std::optional<std::uint32_t> register_offset(std::string_view name) {
  for (const RegisterName& entry : kRegisters)
    if (entry.name == name) return entry.offset;
  return std::nullopt;
}

std::vector<std::string_view> register_names() {
  std::vector<std::string_view> names;
  for (const RegisterName& entry : kRegisters) names.push_back(entry.name);
  return names;
}

std::optional<std::uint32_t> vector_register(std::string_view name) {
  constexpr std::string_view kPrefix = "xmm";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  for (std::uint32_t number = 0; number < kVectorRegisters; ++number)
    if (name == vector_register_name(number)) return number;
  return std::nullopt;
}

std::string vector_register_name(std::uint32_t number) { return "xmm" + std::to_string(number); }

ArgumentLocation argument_location(std::uint32_t number) {
  const std::uint32_t index = number - 1;
  if (index < kArgumentRegisters.size()) return {.in_register = true, .offset = kArgumentRegisters[index]};
  const auto on_stack = static_cast<std::uint32_t>(index - kArgumentRegisters.size());
  return {.in_register = false, .offset = 8 + 8 * on_stack};
}

std::string_view register_at(std::uint32_t offset) {
  for (const std::string_view name : register_names())
    if (register_offset(name) == offset) return name;
  return {};
}

}  // namespace kevt::target
