// BpfCode: one BPF program as the kernel takes it, but for the maps it names.
#pragma once

#include <cstdint>
#include <vector>

namespace kevt::model {

// What a compiled event's code is for.
enum class CodeKind : std::uint8_t { Native, Bpf };

// Where the program runs: what may interrupt it there, and what its context holds.
enum class BpfContext : std::uint8_t {
  Kprobe,         // registers; nothing else of ours runs on this CPU meanwhile
  Uprobe,         // registers of a user thread, which may be preempted
  Tracepoint,     // the record of a static event; like Kprobe nothing of ours comes between
  Watch,          // registers, behind the access to watched memory; kept apart like Kprobe
  RawTracepoint,  // the tracepoint's arguments, 8 bytes each; may come between those above, not between its own hits
};
// Whether the program is told at a hit for which event it runs: else each event has a program of its own. Programs
// without are kept apart from themselves alone: what they write to must be their own, too.
constexpr bool has_cookie(BpfContext context) { return context != BpfContext::RawTracepoint; }

// What it reads may lie in a file or in swap: it waits until it is there. All others find only what is resident.
constexpr bool may_sleep(BpfContext context) { return context == BpfContext::Uprobe; }

// A raw tracepoint's context has at most so many arguments (MAX_BPF_FUNC_ARGS of include/linux/bpf.h).
inline constexpr std::uint32_t kMaxContextArguments = 12;

// CPUs that code has rows of counters for; hits on others share one.
inline constexpr unsigned kMaxBpfCpus = 1024;

// common/abi/bpf.h says what they hold.
enum class BpfMap : std::uint8_t {
  Events,   // by attach cookie
  Event,    // the address of the only value of it
  Rings,    // an array of ring buffers, by CPU
  Scratch,  // the address of its only value
  Words,    // the address of its only value
  Kept,     // by call: arguments of its entry
  // Not in compiled scripts:
  HitTables,  // the address of its only value, of this event alone
};
struct BpfReference {
  std::uint32_t instruction = 0;  // index of a 16-byte load; takes two places
  BpfMap map = BpfMap::Events;
};

// A number that hangs on the traced kernel's types (ir/type_relocations.h).
struct BpfNumber {
  std::uint32_t instruction = 0;  // index of the 16-byte load that is to hold it
  std::uint32_t number = 0;       // which of the program's
};

struct BpfCode {
  std::vector<std::uint64_t> instructions;  // struct bpf_insn
  std::vector<BpfReference> references;
  std::vector<BpfNumber> numbers;        // still open; empty: none is, and it can run
  std::vector<std::uint32_t> functions;  // index of the first instruction of each; the first one is the program's
  BpfContext context = BpfContext::Kprobe;
  std::uint32_t cpus = 1;           // a power of two: rows of counters in an event
  std::uint32_t event_bytes = 0;    // value size of the events map
  std::uint32_t slots_offset = 0;   // in it
  std::uint32_t scratch_bytes = 0;  // for each CPU; 0: none
};

}  // namespace kevt::model
