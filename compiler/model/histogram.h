// Histogram: what a checked `hist:` trigger counts, under which keys, and its actions (docs/language.md).
//
//   hist:keys=id.hex:vals=n:d=val-$t0:sort=n:onmatch(sched.sched_waking).trace(wakeup,id,$d)
//
// Names are resolved to fields of the event or to variables; modifiers and limits are checked. Plain values.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kevt::model {

struct EventName {
  std::string system;
  std::string event;
  friend auto operator<=>(const EventName&, const EventName&) = default;
};

// ---- fields -----------------------------------------------------------------------------------

enum class HistSource : std::uint8_t {
  Field,       // of the record, or a common one: `name`
  Timestamp,   // common_timestamp
  Cpu,         // common_cpu; in old texts cpu or CPU
  Comm,        // common_comm; in old texts comm or COMM
  Hitcount,    // how often the entry was counted
  Stacktrace,  // the hit's, or one that a field holds
  Constant,    // `constant`
  Reference,   // Histogram::references[reference]: a variable's value
  Alias,       // the same, under a name of its own: y=$x
  Expression,  // `op` over `operands`
};
enum class HistModifier : std::uint8_t {
  None,
  Hex,
  Sym,
  SymOffset,
  Execname,
  Syscall,
  Log2,
  Buckets,
  LogLinear,  // kevtrace's own
  Usecs,
  Percent,
  Graph,
  Least,  // kevtrace's own, as Greatest and Average: what becomes of the values of an entry's hits
  Greatest,
  Average,
  Stacktrace,
  Full,  // kevtrace's own: all of a stack, not its 16 innermost addresses
};
enum class HistOperator : std::uint8_t { Plus, Minus, Multiply, Divide, Negate };

// Whether the modifier puts the number into a bucket: the key is the bucket, not the number.
constexpr bool is_measuring(HistModifier modifier) {
  return modifier == HistModifier::Log2 || modifier == HistModifier::Buckets || modifier == HistModifier::LogLinear;
}

// Whether an entry keeps something other than the sum of a value, or shows it so.
constexpr bool is_statistic(HistModifier modifier) {
  return modifier == HistModifier::Least || modifier == HistModifier::Greatest || modifier == HistModifier::Average;
}

// How it is written; empty for what is no statistic.
constexpr std::string_view statistic_word(HistModifier modifier) {
  if (modifier == HistModifier::Least) return "min";
  if (modifier == HistModifier::Greatest) return "max";
  return modifier == HistModifier::Average ? "avg" : "";
}

struct HistField {
  HistSource source = HistSource::Field;
  std::string name;    // what listings and `sort=` call it, without modifier
  std::string listed;  // what listings call it, if that differs from `name`
  HistModifier modifier = HistModifier::None;
  std::uint64_t buckets = 0;    // Buckets: the width of one
  std::uint64_t constant = 0;   // Constant
  std::uint32_t reference = 0;  // Reference, Alias
  HistOperator op = HistOperator::Plus;
  std::vector<HistField> operands;  // Expression: two, Negate one

  // The value that the field yields.
  std::string type;         // the kernel's name of it: "s32", "__data_loc char[]"
  std::uint32_t bytes = 8;  // keys: rounded up to 8
  bool is_signed = false;
  bool is_string = false;
  bool is_timestamp = false;
  bool in_usecs = false;  // the timestamp, or a value computed from it, is in microseconds
};

// What an entry keeps of a value: the least, the greatest, or the sum, which is 64 bits and wraps. `kept`: so far;
// `is_first`: there is nothing so far.
constexpr std::uint64_t fold_value(const HistField& field, std::uint64_t kept, std::uint64_t value, bool is_first) {
  const bool wants_least = field.modifier == HistModifier::Least;
  if (!wants_least && field.modifier != HistModifier::Greatest) return kept + value;
  const bool is_less =
      field.is_signed ? static_cast<std::int64_t>(value) < static_cast<std::int64_t>(kept) : value < kept;
  return is_first || is_less == wants_least ? value : kept;
}

struct HistVariable {
  std::uint32_t index = 0;  // among all variables of its histogram
  std::string name;
  HistField value;
};

// A variable that this histogram reads, its own or another's.
struct HistReference {
  std::uint64_t histogram = 0;  // Histogram::id of the owner
  std::uint32_t variable = 0;   // HistVariable::index there
  std::string name;
  std::optional<EventName> qualifier;  // SYSTEM.EVENT as it was written
  HistField value;                     // the variable's own, for its type and size
};

// ---- order and actions --------------------------------------------------------------------------

enum class SortOrder : std::uint8_t { Ascending, Descending };
struct HistSortKey {
  std::uint32_t column = 0;  // 0: hitcount; then values, then keys
  SortOrder order = SortOrder::Ascending;
  friend bool operator==(const HistSortKey&, const HistSortKey&) = default;
};

enum class HistHandler : std::uint8_t { OnMatch, OnMax, OnChange };
enum class HistActionKind : std::uint8_t { Trace, Save, Snapshot };

struct HistAction {
  HistHandler handler = HistHandler::OnMatch;
  HistActionKind kind = HistActionKind::Trace;
  EventName match;                    // OnMatch
  std::string tracked;                // OnMax, OnChange: as written, with '$'
  std::uint32_t tracked_value = 0;    // OnMax, OnChange: into Histogram::references
  std::uint32_t tracker = 0;          // OnMax, OnChange: index of the variable that keeps the value so far
  std::string name;                   // of the action, as written: "trace", "save", or a synthetic event
  std::string synthetic_event;        // Trace
  std::vector<std::string> params;    // Trace, Save: as written
  std::vector<std::uint32_t> values;  // Trace: into Histogram::references, one for each param
  std::vector<HistVariable> saved;    // Save
};

inline constexpr std::uint32_t kDefaultHistBits = 11;

// What `.log2` makes of a number: the exponent of the least power of two that is not below it. For a number over 2^63
// it is `of_negatives` (Histogram::log2_of_negatives).
constexpr std::uint64_t log2_of(std::uint64_t value, std::uint64_t of_negatives) {
  if (value > 1ull << 63) return of_negatives;
  return value <= 1 ? 0 : static_cast<std::uint64_t>(std::bit_width(value - 1));
}

// What `.loglinear` makes of a number: the beginning of its bucket. Each number of up to 7 bits has its own bucket. Of
// a longer number the first 7 bits count, so a bucket's width is at most 1/64 (1.6 %) of its beginning. There are fewer
// than 4,000 buckets. As in HDR histograms (G. Tene, hdrhistogram.org), without their table of counts.
inline constexpr int kLogLinearBits = 7;
constexpr int log_linear_shift(std::uint64_t value) {
  const int unused = std::bit_width(value) - kLogLinearBits;
  return unused > 0 ? unused : 0;
}
constexpr std::uint64_t log_linear_of(std::uint64_t value) {
  return value >> log_linear_shift(value) << log_linear_shift(value);
}
// The greatest number in the bucket that begins at `begin`.
constexpr std::uint64_t log_linear_end(std::uint64_t begin) {
  return begin + ((std::uint64_t{1} << log_linear_shift(begin)) - 1);
}

struct Histogram {
  std::uint64_t id = 0;  // of the table of counts; triggers with the same name share the table
  std::string name;      // of `name=`; empty: none
  std::vector<HistField> keys;
  std::vector<HistField> values;  // without hitcount
  std::vector<HistVariable> variables;
  std::vector<HistVariable> field_variables;  // made for the fields that actions name
  std::vector<HistReference> references;
  std::vector<HistSortKey> sort = {{}};
  bool shows_hitcount = true;             // not with `nohitcount`
  std::uint32_t bits = kDefaultHistBits;  // the table has 2^bits entries
  // kevtrace's own: only so many keys are shown, those with the most hits, and only 2^bits are kept (HistTable); 0: all
  std::uint32_t top = 0;
  bool drops = false;                   // kevtrace's own: a full table drops hits of new keys, as kernels do
  std::uint32_t log2_of_negatives = 0;  // what `.log2` makes of numbers over 2^63: 64 up to 6.x, 0 in 7.2 (seen)
  bool uses_timestamps = false;         // then `clock` becomes the trace clock
  std::string clock = "global";
  std::vector<HistAction> actions;
  std::vector<std::uint64_t> helpers;  // triggers on other events that were made for this one; removed with it
};

}  // namespace kevt::model
