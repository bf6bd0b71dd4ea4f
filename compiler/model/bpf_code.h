// BpfCode: one BPF program, ready for the kernel except for the maps that it names.
#pragma once

#include <cstdint>
#include <vector>

namespace kevt::model {

// What a compiled event's code is for.
enum class CodeKind : std::uint8_t { Native, Bpf };

// Where the program runs: what may interrupt it there, and what its context holds.
enum class BpfContext : std::uint8_t {
  Kprobe,         // registers; no other program of ours runs on this CPU meanwhile
  Uprobe,         // registers of a user thread, which may be preempted
  Tracepoint,     // the record of a static event; not interrupted by our programs, like Kprobe
  Watch,          // registers, behind the access to watched memory; not interrupted, like Kprobe
  RawTracepoint,  // the tracepoint's arguments, 8 bytes each; may interrupt the programs above, but never itself
};
// Whether a cookie tells the program at a hit for which event it runs. Without a cookie each event has a program of its
// own; such a program is never interrupted by itself, but may interrupt others, so the memory that it writes to must be
// its own, too.
constexpr bool has_cookie(BpfContext context) { return context != BpfContext::RawTracepoint; }

// Whether a program may wait until memory that it reads has come from a file or from swap. All other programs can read
// only memory that is resident.
constexpr bool may_sleep(BpfContext context) { return context == BpfContext::Uprobe; }

// A raw tracepoint's context has at most so many arguments (MAX_BPF_FUNC_ARGS of include/linux/bpf.h).
inline constexpr std::uint32_t kMaxContextArguments = 12;

// The most CPUs for which code has rows of counters; hits on further CPUs share a row.
inline constexpr unsigned kMaxBpfCpus = 1024;

// The maps; common/abi/bpf.h says what they hold.
enum class BpfMap : std::uint8_t {
  Events,   // by attach cookie
  Event,    // the address of its only value
  Rings,    // an array of ring buffers, by CPU
  Scratch,  // the address of its only value
  Words,    // the address of its only value
  Kept,     // by call: arguments of its entry
  // Not in compiled scripts:
  HitTables,  // the address of its only value, of this event alone
  Stacks,     // the stacks of hits, by the number that the kernel gives each
};
struct BpfReference {
  std::uint32_t instruction = 0;  // index of a 16-byte load; takes two places
  BpfMap map = BpfMap::Events;
};

// An open number, which depends on the traced kernel's types (ir/type_relocations.h).
struct BpfNumber {
  std::uint32_t instruction = 0;  // index of the 16-byte load to write the number into
  std::uint32_t number = 0;       // index among the program's type_relocations()
};

struct BpfCode {
  std::vector<std::uint64_t> instructions;  // struct bpf_insn
  std::vector<BpfReference> references;
  std::vector<BpfNumber> numbers;        // still open; empty: all are known, the code can run
  std::vector<std::uint32_t> functions;  // index of the first instruction of each; the first one is the program's
  BpfContext context = BpfContext::Kprobe;
  std::uint32_t cpus = 1;           // a power of two: rows of counters in an event
  std::uint32_t event_bytes = 0;    // value size of the events map
  std::uint32_t slots_offset = 0;   // of the slots in that value
  std::uint32_t scratch_bytes = 0;  // for each CPU; 0: none
};

}  // namespace kevt::model
