// CompiledEvent: what the compiler hands to a runtime. Everything a runtime needs, nothing of LLVM.
//
// Events defined together are compiled together: a CompiledBatch holds the images with the extractors of all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/model/bpf_code.h"
#include "compiler/model/definition.h"
#include "compiler/model/filter.h"
#include "compiler/model/record_layout.h"

namespace kevt::model {

// A 64-bit word the extractor reads and that is known only in the target: filled at install.
enum class SlotKind : std::uint8_t {
  SymbolAddress,  // address of data symbol `name` + addend
  FileAddress,    // address where byte `addend` of file `name` is mapped
  SharedCell,     // address of word `addend` of those that hits and the engine share (ProbeRuntime::shared_cells)
  HitTable,       // address of the first thread's table of CompiledEvent::hit_tables[addend]; of BPF code without use
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

// Position-independent machine code without external symbols, and the data blocks of its events: copying it to an
// address that is a multiple of kImageAlignment is placing it.
constexpr std::uint64_t kImageAlignment = 64;
struct NativeImage {
  std::vector<std::uint8_t> bytes;
  std::vector<FaultEntry> faults;  // sorted by `fault`
};

// What a hit that is accepted makes of the probed function's call: it returns `value` at once.
struct Injection {
  std::int64_t value = 0;
  std::uint64_t below = UINT64_MAX;  // when the hit's number, 64 random bits, is at most this
  std::uint64_t times = UINT64_MAX;  // at most
  std::uint64_t seed = 0;            // of these numbers
};

// What a histogram takes of a number: it; the exponent of the least power of two that is not below it; where its bucket
// begins, of one width or log-linear.
enum class HitMeasure : std::uint8_t { Itself, Log2, Bucket, LogLinear };

// Triggers and gates of the engine that hits carry out, in cells of 64 bits that both share (SlotKind::SharedCell).
// Cells are by their index; ir/program.h says when each is asked and changed.
struct InlineTriggers {
  struct Action {
    std::optional<FilterExpr> condition;
    std::uint32_t word = 0;
    bool on = false;
    bool late = false;                  // behind the record
    std::optional<std::uint32_t> left;  // word: how often it may still change anything
  };
  struct Gate {  // a hit is filtered when its word is 0
    std::uint32_t word = 0;
    bool early = false;                        // before the actions
    std::optional<std::uint32_t> early_while;  // word: early only where it is on then
  };
  std::vector<Action> actions;  // in order
  std::vector<Gate> gates;
  bool empty() const { return actions.empty() && gates.empty(); }
};

// Of one event.
inline constexpr std::size_t kMaxHitHistograms = 16;

// A histogram of an event that hits count by themselves, without a record (docs/adr/0030).
struct HitHistogram {
  // A number of the hit, as HistReader has it; or of a key a text.
  struct Number {
    FilterOperand source = FilterOperand::RecordField;  // RecordField, Cpu, or a common field
    std::uint32_t field = 0;                            // RecordField: into RecordLayout::fields
    std::uint32_t bytes = 8;
    bool is_signed = false;
    bool is_text = false;  // of a RecordField: a key has it where it fits KEVT_HIT_TEXT_WORDS
    HitMeasure measure = HitMeasure::Itself;
    std::uint64_t width = 0;  // Bucket: of one
    std::uint64_t log2_of_negatives = 0;
  };
  std::uint64_t trigger = 0;  // whose it is: Trigger::id
  std::optional<FilterExpr> condition;
  std::vector<Number> keys, sums;
};

// The table that hits count one of them into (common/abi/hit_table.h): words of a key, and of its sums.
struct HitTable {
  std::uint64_t trigger = 0;  // HitHistogram::trigger
  std::uint32_t key_words = 1;
  std::uint32_t sum_words = 0;
};

struct CompiledEvent {
  Definition definition;
  RecordLayout layout;
  std::string listing;  // canonical line of dynamic_events
  std::vector<SlotSource> slots;
  std::uint64_t function_address = 0;          // of the probed symbol or address, 0 when not resolved
  std::uint64_t place_address = 0;             // function_address + offset
  std::uint64_t semaphore_address = 0;         // raised while it is armed; 0: there is none
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
  // Several events may have the same place in an image: each needs a copy of its own. Empty where only the BPF target
  // was asked for.
  std::vector<NativeImage> images;
  // The same for the BPF target: equal programs are one, and the events that share it have blocks of their own in its
  // events map.
  std::vector<BpfCode> bpf;
};

}  // namespace kevt::model
