// The reference meaning of fetch IR: slow and obvious. Tests compare both code generators with it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/abi/registers.h"
#include "compiler/ir/program.h"

namespace kevt::ir {

// The machine at a hit: registers, memory, words. Tests and the fake runtime implement it.
class Machine {
 public:
  virtual ~Machine() = default;
  // False when any byte is unreadable; `out` is then unspecified.
  virtual bool read(std::uint64_t address, std::span<std::uint8_t> out) const = 0;
  virtual std::string symbol_text(std::uint64_t address) const = 0;

  kevt_registers registers{};
  std::array<std::uint64_t, kVectorRegisters> vectors{};  // the low 64 bits of each
  std::vector<std::uint64_t> slots;
  std::vector<std::uint64_t> words;  // the words of SharedCell slots, by their addend, before the hit
  std::uint64_t thread_pointer = 0;  // the %fs base
  std::string comm;
  std::uint64_t probe_address = 0;
  std::uint64_t return_address = 0;
  std::vector<std::uint64_t> entry_arguments;  // [i]: argument i + 1 at the function's entry; missing: 0
  std::uint32_t event_id = 0;
  std::uint32_t pid = 0;
  std::uint32_t cpu = 0;
  std::uint32_t stack_number = 0;  // 0: the stack is not known
  bool injects = true;             // the answer to a program that asks whether to inject
  bool has_room = true;            // whether the keys of aggregates find room in their tables
};

enum class Outcome : std::uint8_t {
  Recorded,
  Aggregated,
  Filtered,
  Lost /* the record would be over kMaxRecordBytes */
};

// One count of an aggregate: its key, and the numbers that are added to its sums; or the words of which the greatest is
// kept.
struct Counted {
  std::vector<std::uint64_t> key, sums;
  friend bool operator==(const Counted&, const Counted&) = default;
};

struct RunResult {
  std::vector<Outcome> outcomes;     // one per sink
  std::vector<std::uint8_t> record;  // whole record with its common and address fields, without padding; empty
                                     // when no sink is Recorded
  std::uint32_t faults = 0;          // integers that could not be read; unspecified when a sink is Lost
  std::vector<std::uint64_t> words;  // Machine::words after the hit
  std::vector<std::optional<Counted>> counted;  // one for each aggregate; nullopt: it did not count
};

// `program` must have passed verify(); `machine.slots` holds one word for each of its slots, `machine.words` all words
// that its slots name.
RunResult interpret(const Program& program, const Machine& machine);

// The kernel's glob matcher over a whole string (lib/glob.c semantics as event filters use them)
// and its cheaper forms; shared with nothing: code generators have their own.
// Glob: `*` any bytes, `?` one byte, `[a-c]` `[!a-c]` one byte (`]` first is itself, no escapes inside, an
// unclosed `[` is itself), `\x` is x; a final backslash is nothing. Bytes compare unsigned.
bool match_text(model::GlobKind kind, const std::string& pattern, std::string_view text);

}  // namespace kevt::ir
