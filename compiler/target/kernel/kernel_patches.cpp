// The kernel image has tables of its jump labels, static calls and BUG()s. An entry begins with the distance in bytes
// from the entry itself to the instruction:
//
//   __start___jump_table      s32 code, s32 target, s64 key        16 bytes
//   __start_static_call_sites s32 call, s32 key                     8
//   __start___bug_table       s32 bug, s32 file, u16 line, flags   12
//
// A kprobe at such an instruction is refused. So is one in a function that ftrace does not know. A function that ftrace
// knows begins with a 5-byte nop (gcc -mfentry), which becomes a call while the function is traced.
//
// Mirrors check_kprobe_address_safe() of kernel/kprobes.c and within_notrace_func() of kernel/trace/trace_kprobe.c
// (6.1) as Debian configures them (KPROBE_EVENTS_ON_NOTRACE unset).
#include "compiler/target/kernel/kernel_patches.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace kevt::target {

namespace {

struct Table {
  const char* begin;
  const char* end;
  std::size_t entry_bytes;
};
constexpr std::array kTables = {
    Table{"__start___jump_table", "__stop___jump_table", 16},
    Table{"__start_static_call_sites", "__stop_static_call_sites", 8},
    Table{"__start___bug_table", "__stop___bug_table", 12},
};
constexpr std::uint64_t kLargestTable = 64u << 20;

std::uint64_t address_of(const KernelSymbols& symbols, const char* name) {
  const auto found = symbols.named(name, "");
  return found.size() == 1 ? found.front().address : 0;
}

void add_table(const Table& table, const KernelSymbols& symbols, const KernelText& text,
               std::vector<std::uint64_t>& out) {
  const std::uint64_t begin = address_of(symbols, table.begin), end = address_of(symbols, table.end);
  if (begin == 0 || end <= begin || end - begin > kLargestTable) return;
  std::vector<std::uint8_t> bytes(end - begin);
  if (!text.read(begin, bytes)) return;
  for (std::size_t at = 0; at + table.entry_bytes <= bytes.size(); at += table.entry_bytes) {
    std::int32_t distance = 0;
    std::memcpy(&distance, bytes.data() + at, sizeof distance);
    out.push_back(begin + at + static_cast<std::uint64_t>(std::int64_t{distance}));
  }
}

}  // namespace

KernelPatches KernelPatches::read(const KernelSymbols& symbols, const KernelText& text) {
  KernelPatches patches;
  for (const Table& table : kTables) add_table(table, symbols, text, patches.addresses_);
  std::ranges::sort(patches.addresses_);
  return patches;
}

bool KernelPatches::has(std::uint64_t address) const { return std::ranges::binary_search(addresses_, address); }

Traced is_traced(std::uint64_t address, std::span<const std::uint8_t> beginning,
                 const std::function<bool(std::uint64_t)>& is_tracer) {
  constexpr std::array<std::uint8_t, 4> kEndbr = {0xf3, 0x0f, 0x1e, 0xfa};  // endbr64
  // What replaces an endbr64 that nothing jumps to (gen_endbr_poison() of arch/x86/include/asm/ibt.h).
  constexpr std::array<std::uint8_t, 4> kSealed = {0x66, 0x0f, 0x1f, 0x00};     // nopw (%rax)
  constexpr std::array<std::uint8_t, 4> kSealed615 = {0x0f, 0x1f, 0x40, 0xd6};  // nopl -42(%rax), from 6.15 on
  constexpr std::array<std::uint8_t, 5> kNop = {0x0f, 0x1f, 0x44, 0x00, 0x00};  // nopl 0(%rax,%rax,1)
  constexpr std::uint8_t kCall = 0xe8, kBreakpoint = 0xcc;                      // call rel32, int3
  const auto starts_with = [&](const auto& bytes) {
    return beginning.size() >= bytes.size() && std::ranges::equal(beginning.first(bytes.size()), bytes);
  };
  if (starts_with(kEndbr) || starts_with(kSealed) || starts_with(kSealed615)) {
    beginning = beginning.subspan(kEndbr.size());
    address += kEndbr.size();
  }
  if (beginning.empty() || beginning.front() == kBreakpoint) return Traced::Unknown;
  if (starts_with(kNop)) return Traced::Yes;
  if (beginning.front() != kCall || beginning.size() < kNop.size()) return Traced::No;
  std::int32_t distance = 0;
  std::memcpy(&distance, beginning.data() + 1, sizeof distance);
  const std::uint64_t called = address + kNop.size() + static_cast<std::uint64_t>(std::int64_t{distance});
  return is_tracer(called) ? Traced::Yes : Traced::No;
}

}  // namespace kevt::target
