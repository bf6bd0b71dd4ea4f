// Three tables of the language. Registers come from the compiler's own list; each row of the types
// has an example that `kevtrace check` takes (tests/cli tries them all).
#include "cli/definitions/list_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/print.h"
#include "compiler/layout/field_type.h"
#include "compiler/model/definition.h"
#include "compiler/target/target_env.h"

namespace kevt::cli {

namespace {

struct EventRow {
  std::string_view letter;
  std::string_view what;
  std::string_view runtime;
  std::string_view example;
};

constexpr EventRow kEvents[] = {
    {"p", "a place is reached", "inproc, bpf, kmod", "p:open libc:openat path=+0(%si):string"},
    {"r", "a function returns", "inproc, bpf, kmod", "r:opened libc:openat fd=$retval:s32"},
    {"e", "another event happens", "bpf; of s: all", "e:big syscalls.sys_enter_read count=$count:u64"},
    {"s", "made from other events' fields", "inproc, bpf, kmod", "s:wake pid_t pid; u64 delta"},
    {"f", "a kernel function is entered or returns", "bpf", "f:rd vfs_read count=%dx:u64"},
    {"t", "a kernel tracepoint is passed", "bpf", "t:switch sched_switch"},
    {"w", "memory is read or written", "bpf", "w:touch w@jiffies:8"},
};

struct TypeRow {
  std::string_view name;
  model::TypeKind kind;
  std::uint8_t bytes;
  std::string_view example;
};

constexpr TypeRow kTypes[] = {
#define KEVT_TYPE(name, kind, bytes, where, note, example) {name, model::TypeKind::kind, bytes, example},
#include "compiler/model/type.def"
#undef KEVT_TYPE
};

void print_type(std::string_view name, std::string_view size, std::string_view sign, std::string_view prints,
                std::string_view example) {
  print("{:<8} {:<9} {:<9} {:<7} {}\n", name, size, sign, prints, example);
}

std::string role_of(std::string_view name) {
  const std::uint32_t offset = *target::register_offset(name);
  for (std::uint32_t number = 1; number <= 6; ++number)
    if (const auto at = target::argument_location(number); at.in_register && at.offset == offset)
      return fmt::format("argument {} ($arg{})", number, number);
  if (name == "ax") return "return value ($retval); in a variadic call the number of vector arguments";
  if (name == "sp") return "stack pointer ($stack); arguments 7 and on: +8($stack), +16($stack) …";
  if (name == "ip") return "instruction pointer";
  if (name == "flags") return "flags";
  if (name == "cs") return "code segment";
  if (name == "ss") return "stack segment";
  if (name == "orig_ax") return "system call number in the kernel's own block; says nothing at a probe";
  if (name == "bx" || name == "bp" || name == "r12" || name == "r13" || name == "r14" || name == "r15")
    return "kept by a called function";
  if (name == "r10" || name == "r11") return "scratch";
  return "";
}

}  // namespace

void print_event_kinds() {
  print("{:<6} {:<40} {:<17} {}\n", "EVENT", "HAPPENS WHEN", "RUNTIME", "EXAMPLE");
  for (const EventRow& row : kEvents) print("{:<6} {:<40} {:<17} {}\n", row.letter, row.what, row.runtime, row.example);
}

void print_registers() {
  auto names = target::register_names();
  std::ranges::sort(names, {}, [](std::string_view name) { return *target::register_offset(name); });
  for (const std::string_view name : names) {
    print("%{:<8} {}\n", name, role_of(name));
  }
  for (std::uint32_t number = 0; number < target::kVectorRegisters; ++number)
    print("%{:<8} {}\n", target::vector_register_name(number),
          number < target::kVectorArguments ? fmt::format("floating point argument {}{}, in a process", number + 1,
                                                          number == 0 ? ", and what is returned" : "")
                                            : "scratch, in a process");
}

void print_types() {
  print_type("TYPE", "BYTES", "SIGN", "PRINTS", "EXAMPLE");
  for (const TypeRow& row : kTypes) {
    model::TypeSpec type;
    type.kind = row.kind;
    type.bytes = row.bytes;
    // Readers of `format` know no floating point.
    std::string prints(row.kind == model::TypeKind::Float ? "%g" : layout::print_format(type));
    std::erase(prints, '\\');  // as `format` writes it, inside quotes
    const bool is_text = layout::is_string(row.kind);
    print_type(row.name, is_text ? "4 + text" : fmt::format("{}", row.bytes),
               is_text                   ? "text"
               : layout::is_signed(type) ? "signed"
                                         : "unsigned",
               prints, row.example);
  }
  print_type("bW@O/C", "C / 8", "unsigned", "%u", "p:a f x=+0(%di):b4@2/8");
  print_type("TYPE[N]", "N items", "as TYPE", "{…,…}", "p:a f x=+0(%di):u32[4]");
}

}  // namespace kevt::cli
