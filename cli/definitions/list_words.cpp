// Three tables of the language. Registers come from the compiler's own list; each row of the types
// has an example that `kevtrace check` takes (tests/cli tries them all).
#include "cli/definitions/list_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/print.h"
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
    {"e", "another event happens", "bpf", "e:big syscalls.sys_enter_read count=$count:u64"},
    {"s", "made from other events' fields", "defined only", "s:wake pid_t pid; u64 delta"},
    {"f", "a kernel function is entered or returns", "bpf", "f:rd vfs_read count=%dx:u64"},
    {"t", "a kernel tracepoint is passed", "bpf", "t:switch sched_switch"},
    {"w", "memory is read or written", "bpf", "w:touch w@jiffies:8"},
};

struct TypeRow {
  std::string_view name;
  std::string_view size;
  std::string_view sign;
  std::string_view format;
  std::string_view example;
};

constexpr TypeRow kTypes[] = {
    {"u8", "1", "unsigned", "%u", "p:a f x=%di:u8"},
    {"u16", "2", "unsigned", "%u", "p:a f x=%di:u16"},
    {"u32", "4", "unsigned", "%u", "p:a f x=%di:u32"},
    {"u64", "8", "unsigned", "%Lu", "p:a f x=%di:u64"},
    {"s8", "1", "signed", "%d", "p:a f x=%di:s8"},
    {"s16", "2", "signed", "%d", "p:a f x=%di:s16"},
    {"s32", "4", "signed", "%d", "r:a f x=$retval:s32"},
    {"s64", "8", "signed", "%Ld", "r:a f x=$retval:s64"},
    {"x8", "1", "unsigned", "0x%x", "p:a f x=%di:x8"},
    {"x16", "2", "unsigned", "0x%x", "p:a f x=%di:x16"},
    {"x32", "4", "unsigned", "0x%x", "p:a f x=%di:x32"},
    {"x64", "8", "unsigned", "0x%Lx", "p:a f x=%di:x64"},
    {"symbol", "8", "unsigned", "%pS", "p:a f x=%di:symbol"},
    {"string", "4 + text", "text", "\"%s\"", "p:a f x=+0(%di):string"},
    {"ustring", "4 + text", "text", "\"%s\"", "p:a f x=+0(%di):ustring"},
    {"symstr", "4 + text", "text", "\"%s\"", "p:a f x=%di:symstr"},
    {"bW@O/C", "C / 8", "unsigned", "%u", "p:a f x=+0(%di):b4@2/8"},
    {"TYPE[N]", "N items", "as TYPE", "{…,…}", "p:a f x=+0(%di):u32[4]"},
};

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
}

void print_types() {
  print("{:<8} {:<9} {:<9} {:<7} {}\n", "TYPE", "BYTES", "SIGN", "PRINTS", "EXAMPLE");
  for (const TypeRow& row : kTypes)
    print("{:<8} {:<9} {:<9} {:<7} {}\n", row.name, row.size, row.sign, row.format, row.example);
}

}  // namespace kevt::cli
