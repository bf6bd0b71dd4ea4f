// Fetch IR: one small typed program per event, between the checked definition and machine code.
// It names no LLVM type and no runtime.
//
//   p:w libc:write fd=%di:s32 buf=+0(%si):string      with the filter  fd > 2
//
//   program entry fixed 24
//   v0 = reg di
//   v1 = narrow s4 v0
//   v2 = reg si
//   v3 = string v2+0
//   store int4 v1 @16
//   store string v3 @20
//   sink 0 when v1 s> 2
//
// The common bytes and the address fields (__probe_ip at 8; return probes: __probe_func at 8,
// __probe_ret_ip at 16) are in every record and have no store. Stores lie back to back after them
// up to fixed_size, so every byte of a record is written.
//
// *Values* are fetched lazily and at most once: each sink's condition fetches what it reads, in
// order and with short circuits; the stores run for each sink that accepts. A rejected hit pays
// for the values its filter reads and nothing else. A string that a filter read is the string
// that is recorded.
//
// *Actions* are what triggers do, in their order: before the sinks, or late, behind them. They and *gates* use words
// that all hits and the engine share, each by a slot of kind SharedCell:
//
//   slot 0 = word ""+0     whether tracing is on
//   slot 1 = word ""+7     how often the trigger may still act
//   slot 2 = word ""+1     whether this event is on
//   action 0 := 0 late left 1 when v1 s> 2
//   gate 2                 asked after all actions that are not late
//   gate 0 early           asked before all actions
//   gate 0 early while 2   likewise if word 2 is on at that time; otherwise as without `early`
//
// *Aggregates* are histograms that the hit counts into tables of its thread, instead of making a record:
//
//   slot 0 = hit_table ""+0
//   aggregate 0 by v1, v4 log2 64 sum v2 when v1 s> 2
//
// A hit is filtered if no aggregate's condition holds. If the key of one aggregate finds no room, no aggregate counts,
// and the hit is recorded: the reader of the record counts it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/abi/hit_table.h"
#include "compiler/model/compiled_event.h"
#include "compiler/model/definition.h"
#include "compiler/model/filter.h"

namespace kevt::ir {

enum class Op : std::uint8_t {
#define KEVT_FETCH_OP(name, ...) name,
#include "compiler/ir/fetch_op.def"
#undef KEVT_FETCH_OP
};
// The columns of fetch_op.def.
enum class ResultType : std::uint8_t { Integer, Text };
enum class Operands : std::uint8_t {
  None,
  Register,
  Number,
  Operand,
  Place,
  SizedPlace,
  CountedPlace,
  BitRange,
  Width
};
enum class Fault : std::uint8_t { Never, Reads, Passes };
struct OpRow {
  std::string_view text;  // spelling in the text form
  ResultType result;
  Operands operands;
  Fault fault;
  std::uint8_t bits;  // bits of an Integer above these are 0
};
const OpRow& row_of(Op op);

using ValueId = std::uint32_t;  // index into Program::values; operands come before their users

struct Value {
  Op op = Op::Immediate;
  ValueId a = 0;         // operand, where the op has one
  ValueId b = 0;         // and the second
  std::int64_t imm = 0;  // see fetch_op.def
  std::uint8_t bytes = 0;
  std::uint8_t shift = 0;
  std::uint8_t width = 0;
  bool is_signed = false;
  bool from_user = false;  // Load, String, CountedString: only user memory may be read
  friend bool operator==(const Value&, const Value&) = default;
};

enum class StoreKind : std::uint8_t {
  Integer,       // low `bytes` of `value`
  Text,          // data_loc word, then the bytes with their NUL in the dynamic part; absent: length 0,
                 // offset where the next dynamic byte goes, no dynamic byte
  IntegerArray,  // `count` items of `bytes` read at `value` + `imm`, back to back; see below
  TextArray,     // `count` data_loc words of the strings whose addresses lie at `value` + `imm` + 8 * i
  CountedArray,  // data_loc word, then items as of IntegerArray in the dynamic part: as many as `length` says, or, with
                 // `length_is_end`, as lie between `value` + `imm` and the address `length`, none if that is lower;
                 // `count` at most
};

// Arrays are read by the store itself, anew for each sink that accepts: item i is a Load of `bytes`
// at value + imm + i * bytes, then Bits(shift, width) when width > 0. An unreadable item is 0 and
// counts one fault; an unreadable string of a TextArray, or one whose address is unreadable, is
// absent and counts none; a faulted `value` makes every item 0 or absent and counts no further fault.
// Text and TextArray: `bytes` is 4, the data_loc word. Dynamic bytes follow in store order, items in order.
// A CountedArray is read whole, or it has no items: if one cannot be read, that counts one fault; if `value` or
// `length` faulted, none. Its items are not looked for if there are none of them, whatever `value` is.
struct Store {
  StoreKind kind = StoreKind::Integer;
  ValueId value = 0;
  std::uint32_t offset = 0;  // bytes from the record's start
  std::uint8_t bytes = 8;    // of one item
  std::uint32_t count = 1;
  std::int64_t imm = 0;
  std::uint8_t shift = 0;
  std::uint8_t width = 0;
  bool from_user = false;        // arrays: items are read from user memory only
  bool texts_from_user = false;  // TextArray: strings are read from user memory only
  ValueId length = 0;            // CountedArray: Integer, without a sign
  bool length_is_end = false;    // CountedArray
  friend bool operator==(const Store&, const Store&) = default;
};

enum class ConditionKind : std::uint8_t {
  Never,
  And,        // two or more children in order, stops at the first false
  Or,         // two or more children in order, stops at the first true
  Not,        // one child
  Compare,    // Integer `value` op `constant`, 64 bits; signed by `is_signed`; BitAnd: nonzero; never Glob
  MatchText,  // Text `value` (without its NUL) against `text` as `glob`; `negated` inverts; an absent string compares
              // as ""
};
struct Condition {
  ConditionKind kind = ConditionKind::Never;
  std::vector<Condition> children;
  ValueId value = 0;
  model::CompareOp op = model::CompareOp::Equal;
  bool is_signed = false;
  std::uint64_t constant = 0;
  model::GlobKind glob = model::GlobKind::Full;
  bool negated = false;
  std::string text;
  friend bool operator==(const Condition&, const Condition&) = default;
};

// Sets the word of slot `word` to `on`, by an atomic exchange. With `left`: only while the word of slot `left`, as a
// signed number, is over 0; that word goes down by one if the exchange changed anything (as
// kernel/trace/trace_events_trigger.c counts). Late: the condition is evaluated in its turn, the exchange is done
// behind the sinks, whatever became of the record.
struct Action {
  std::optional<Condition> condition;
  std::uint32_t word = 0;  // index into Program::slots
  bool on = false;
  bool late = false;
  std::optional<std::uint32_t> left;
  friend bool operator==(const Action&, const Action&) = default;
};

// A hit is filtered if the word of any gate is 0. Words are indices into Program::slots.
struct Gate {
  std::uint32_t word = 0;
  bool early = false;
  std::optional<std::uint32_t> early_while;  // only with `early`
  friend bool operator==(const Gate&, const Gate&) = default;
};

// A number that a histogram takes, as measured. A key may also be a text, of KEVT_HIT_TEXT_WORDS words; a longer text
// finds no room.
struct Measured {
  ValueId value = 0;  // Integer; in a key, with Itself, also Text
  model::HitMeasure measure = model::HitMeasure::Itself;
  std::uint64_t parameter = 0;          // Log2: the result for values over 2^63; Bucket: the width, not 0
  model::Kept kept = model::Kept::Sum;  // sums only; with Itself
  friend bool operator==(const Measured&, const Measured&) = default;
};
constexpr bool takes_parameter(model::HitMeasure measure) {
  return measure == model::HitMeasure::Log2 || measure == model::HitMeasure::Bucket;
}

// Counts the hit under its key and adds to the key's sums, or to what else they keep, in the table that slot `table`
// names (HitTable).
struct Aggregate {
  std::uint32_t table = 0;  // index into Program::slots
  std::vector<Measured> keys, sums;
  std::optional<Condition> condition;
  friend bool operator==(const Aggregate&, const Aggregate&) = default;
};

// One trace instance that has the event on: gate → condition → reserve and store.
struct InstanceSink {
  std::uint32_t instance = 0;
  std::optional<Condition> condition;
  friend bool operator==(const InstanceSink&, const InstanceSink&) = default;
};

// A record over kMaxRecordBytes is Lost in every sink that accepts it. The integers it would have
// held need not be fetched then, so the fault count of such a hit is unspecified.
struct Program {
  model::ProbeKind probe_kind = model::ProbeKind::Entry;
  std::vector<Value> values;
  std::vector<std::string> texts;  // at most 4095 bytes, no NUL
  std::vector<model::SlotSource> slots;
  std::vector<Store> stores;    // in record order
  std::vector<Action> actions;  // actions and gates: only with one sink
  std::vector<Gate> gates;
  std::vector<Aggregate> aggregates;  // only with one sink without a condition, and without actions and gates
  std::vector<InstanceSink> sinks;
  std::uint32_t fixed_size = model::kCommonBytes;  // bytes before the dynamic part
  // A hit that the one sink accepts asks whether to inject: if so it is recorded, otherwise filtered. Entry only.
  bool injects = false;
  // The stack of the hit comes behind the record, not in it. Native: then one value is StackNumber.
  bool takes_stack = false;
};
bool operator==(const Program& a, const Program& b);

// A filter is shorter than a page and lowering adds at most 16 levels, so no condition nests deeper.
inline constexpr std::uint32_t kMaxConditionDepth = 4096 + 16;
inline constexpr std::uint32_t kMaxArrayCount = 64;
// How many different entry arguments one program may have (MAX_ARGUMENTS of the kernel's trace_probe.h less the count,
// 7.2).
inline constexpr std::size_t kMaxEntryArguments = 15;
inline constexpr std::int64_t kMaxArgumentNumber = 0xffff;
inline constexpr std::size_t kVectorRegisters = 16;

inline ResultType result_type(Op op) { return row_of(op).result; }
inline std::string_view op_text(Op op) { return row_of(op).text; }
// Whether the store reads its items at `value` + `imm`.
constexpr bool is_array(StoreKind kind) { return kind != StoreKind::Integer && kind != StoreKind::Text; }
// Whether the store's bytes lie behind the fixed part of a record.
constexpr bool is_dynamic(StoreKind kind) { return kind != StoreKind::Integer && kind != StoreKind::IntegerArray; }
// Bytes of the store in the fixed part of a record.
constexpr std::uint32_t fixed_bytes(const Store& store) {
  return store.kind == StoreKind::CountedArray ? model::kDataLocBytes : store.bytes * store.count;
}
// Whether the op reads a text at an address.
inline bool reads_text(Op op) { return result_type(op) == ResultType::Text && row_of(op).fault == Fault::Reads; }
bool has_operand(Op op);                               // whether `a` is used
std::vector<ValueId> operands_of(const Value& value);  // `a` and `b`, where the op has them
// Bytes of the common and address fields: the offset of the first store.
std::uint32_t header_size(model::ProbeKind point);
// The conditions of the program's actions, aggregates and sinks.
std::vector<const Condition*> conditions_of(const Program& program);
// Whether an aggregate has the value among its keys or sums.
bool is_aggregated(const Program& program, ValueId value);
// common_flags of the program's records.
std::uint8_t record_flags(const Program& program);
// The value that is the stack's number, if there is one.
std::optional<ValueId> stack_number(const Program& program);
// Words of the aggregate's key in its table.
std::uint32_t key_words(const Program& program, const Aggregate& aggregate);
// Bit i: word i of the sums keeps a greatest word (HitTable::greatest).
std::uint64_t greatest_words(const Aggregate& aggregate);
// The numbers of the arguments that the function's entry must keep for this return program, each once, ascending.
std::vector<std::uint16_t> entry_arguments(const Program& program);

}  // namespace kevt::ir
