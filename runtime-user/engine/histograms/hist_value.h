// HistReader: what one field of a histogram yields for one hit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/model/histogram.h"
#include "compiler/model/record_layout.h"
#include "compiler/model/record_view.h"

namespace kevt::engine {

// A number; or the bytes of a text or stack (a stack: addresses of 8 bytes, innermost first, ended by 0).
struct HistValue {
  std::uint64_t number = 0;
  std::string bytes;
};

// The hit to be counted.
struct HistHit {
  model::RecordBytes record;  // in the event's format; may be hostile
  std::uint32_t cpu = 0;
  std::string_view comm;                 // of the thread that hit
  std::uint64_t time = 0;                // in the histogram's unit: of the trace clock, or microseconds
  std::span<const std::uint64_t> stack;  // code addresses, innermost first; empty where none was asked for
};

// What a field may read beside the hit.
struct HistKnown {
  std::span<const HistValue> references;  // of Histogram::references, resolved
  std::string_view comm;                  // of the thread that made the entry
};

class HistReader {
 public:
  // `field`: a field of `histogram`; `layout`: of the event that is hit. Keeps no reference to the arguments.
  HistReader(const model::HistField& field, const model::Histogram& histogram, const model::RecordLayout& layout);

  // Never fails: a value that the record does not hold is 0 or empty.
  HistValue read(const HistHit& hit, const HistKnown& known) const;

 private:
  enum class Form : std::uint8_t {
    Number,       // at `offset`
    FixedText,    // at `offset`, at most `bytes`
    LocatedText,  // where the data_loc word at `offset` says
    LocatedStack,
    Comm,
    EntryComm,
    Cpu,
    Time,
    Stack,
    Constant,
    Reference,
    One,
    Operation,
  };

  void place(const model::HistField& field, const model::RecordLayout& layout);
  std::uint64_t number(const HistHit& hit) const;
  std::string located(const HistHit& hit) const;
  std::uint64_t operation(const HistHit& hit, const HistKnown& known) const;
  std::uint64_t measured(std::uint64_t value) const;

  Form form_ = Form::Number;
  model::HistModifier modifier_ = model::HistModifier::None;
  model::HistOperator op_ = model::HistOperator::Plus;
  std::uint32_t offset_ = 0;
  std::uint32_t bytes_ = 0;
  std::uint32_t located_from_ = 0;
  bool is_signed_ = false;
  std::uint64_t constant_ = 0;  // Constant; the width of a bucket
  std::uint32_t reference_ = 0;
  std::uint32_t log2_of_negatives_ = 0;
  std::vector<HistReader> operands_;
};

// The most addresses of a stack that a field holds (HIST_STACKTRACE_DEPTH).
inline constexpr std::size_t kHistStackDepth = 16;
// The size of a text in a variable or a key, in bytes, with its NUL (STR_VAR_LEN_MAX).
inline constexpr std::size_t kHistTextBytes = 256;

}  // namespace kevt::engine
