// CompiledEvent: the compiler's result for a runtime: everything that a runtime needs, and nothing of LLVM.
//
// Events defined together are compiled together: a CompiledBatch holds the images with the extractors of all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/model/bpf_code.h"
#include "compiler/model/definition.h"
#include "compiler/model/filter.h"
#include "compiler/model/record_layout.h"

namespace kevt::model {

// A 64-bit word that the extractor reads from its slots. Its value is known only in the target and is filled in when
// the event is installed.
enum class SlotKind : std::uint8_t {
  SymbolAddress,  // address of data symbol `name` + addend
  FileAddress,    // address where byte `addend` of file `name` is mapped
  ThreadLocal,    // where each thread has its thread-local variable `name` + addend (thread_local.h)
  SharedCell,     // address of word `addend` of ProbeRuntime::shared_cells, which hits and the engine share
  HitTable,       // address of the first thread's table of CompiledEvent::hit_tables[addend]; unused in BPF code
};
struct SlotSource {
  SlotKind kind = SlotKind::SymbolAddress;
  std::string name;
  std::int64_t addend = 0;
  std::uint64_t address = 0;  // in the target, addend included; filled before install
  friend bool operator==(const SlotSource&, const SlotSource&) = default;
};

// A load that may fault: when the instruction at `fault` faults, continue at `fixup`.
struct FaultEntry {
  std::uint32_t fault = 0;  // byte offsets in NativeImage::bytes
  std::uint32_t fixup = 0;
};

// Position-independent machine code without external symbols, and the data blocks of its events. It runs after it has
// been copied to any address that is a multiple of kImageAlignment.
constexpr std::uint64_t kImageAlignment = 64;
struct NativeImage {
  std::vector<std::uint8_t> bytes;
  std::vector<FaultEntry> faults;  // sorted by `fault`
};

// At an accepted hit the probed function returns `value` at once, without running.
struct Injection {
  std::int64_t value = 0;
  std::uint64_t below = UINT64_MAX;  // only if the hit's random number of 64 bits is at most this
  std::uint64_t times = UINT64_MAX;  // so often at most
  std::uint64_t seed = 0;            // of the random numbers
};

// What a histogram takes of a number: the number itself; the exponent of the least power of two that is not below it;
// the beginning of its bucket, where buckets have one width or are log-linear.
enum class HitMeasure : std::uint8_t { Itself, Log2, Bucket, LogLinear };

// Triggers and gates of the engine that hits carry out themselves. Hits and the engine share cells of 64 bits for that
// (SlotKind::SharedCell), here given by their index. ir/program.h says when a hit reads and changes each cell.
struct InlineTriggers {
  struct Action {
    std::optional<FilterExpr> condition;
    std::uint32_t word = 0;
    bool on = false;
    bool late = false;                  // carried out behind the record
    std::optional<std::uint32_t> left;  // the cell that holds how often the action may still change `word`
  };
  struct Gate {  // a hit is filtered if the gate's word is 0
    std::uint32_t word = 0;
    bool early = false;                        // asked before the actions
    std::optional<std::uint32_t> early_while;  // a cell: the gate is early only while that cell is on
  };
  std::vector<Action> actions;  // in order
  std::vector<Gate> gates;
  bool empty() const { return actions.empty() && gates.empty(); }
};

inline constexpr std::size_t kMaxHitHistograms = 16;  // of one event

// What a table's word keeps of the numbers of a key's hits: their sum; or the greatest of what encoded_for() makes of
// them. A word begins with 0, which is less than any other.
enum class Kept : std::uint8_t { Sum, Least, Greatest, SignedLeast, SignedGreatest };
// The word of a number is `number ^ encoded_for(kept)`, so that the greatest word is that of the number that is asked
// for; and the number of a word likewise.
constexpr std::uint64_t encoded_for(Kept kept) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  switch (kept) {
    case Kept::Sum:
    case Kept::Greatest:
      return 0;
    case Kept::Least:
      return ~std::uint64_t{0};
    case Kept::SignedLeast:
      return ~kSign;
    case Kept::SignedGreatest:
      return kSign;
  }
  return 0;
}

// A histogram of an event that hits count by themselves, without a record (docs/adr/0030).
struct HitHistogram {
  // A number of the hit, as HistReader reads it from a record; a key may be a text.
  struct Number {
    FilterOperand source = FilterOperand::RecordField;  // RecordField, Cpu, or a common field
    std::uint32_t field = 0;                            // RecordField: into RecordLayout::fields
    std::uint32_t bytes = 8;
    bool is_signed = false;
    bool is_stack = false;  // the number of the hit's stack; keys only
    bool is_text = false;   // RecordField, keys only; a text longer than KEVT_HIT_TEXT_WORDS is not counted by the hit
    HitMeasure measure = HitMeasure::Itself;
    std::uint64_t width = 0;  // Bucket: width of a bucket
    std::uint64_t log2_of_negatives = 0;
    Kept kept = Kept::Sum;  // sums only
  };
  std::uint64_t trigger = 0;  // Trigger::id of the histogram's trigger
  std::optional<FilterExpr> condition;
  std::vector<Number> keys, sums;
  bool has_stack_key() const {
    return std::ranges::any_of(keys, [](const Number& key) { return key.is_stack; });
  }
};

// The shape of the table into which hits count one HitHistogram (common/abi/hit_table.h).
struct HitTable {
  std::uint64_t trigger = 0;  // HitHistogram::trigger
  std::uint32_t key_words = 1;
  std::uint32_t sum_words = 0;
  std::uint64_t greatest = 0;  // bit i: word i of the sums keeps a greatest word instead (Kept)
};

struct CompiledEvent {
  Definition definition;
  RecordLayout layout;
  std::string listing;  // canonical line of dynamic_events
  std::vector<SlotSource> slots;
  std::uint64_t function_address = 0;          // of the probed symbol or address; 0: not resolved
  std::uint64_t place_address = 0;             // function_address + offset
  std::uint64_t semaphore_address = 0;         // semaphore to increment while the event is armed; 0: there is none
  std::uint32_t image = 0;                     // index into CompiledBatch::images
  std::uint32_t entry = 0;                     // offset of the extractor in the image
  std::uint32_t code_size = 0;                 // bytes of the extractor
  std::uint32_t block = 0;                     // offset of its kevt_event
  std::uint32_t sinks = 1;                     // instances the extractor records into
  std::uint32_t bpf = 0;                       // index into CompiledBatch::bpf
  std::vector<std::uint16_t> entry_arguments;  // return probes: arguments the entry keeps; ir::entry_arguments
  std::uint32_t register_reads = 0;  // bit i: 8-byte word i of kevt_registers must stand in the extractor's frame
  std::optional<Injection> injection;
  std::vector<HitTable> hit_tables;  // of its HitHistograms, in their order
};

struct CompiledBatch {
  std::vector<CompiledEvent> events;
  // Several events may have the same place in an image: each needs a copy of its own. Empty if only BPF code was asked
  // for.
  std::vector<NativeImage> images;
  // BPF code. Events with equal programs share one, and each event has a block of its own in the program's events map.
  std::vector<BpfCode> bpf;
};

}  // namespace kevt::model
