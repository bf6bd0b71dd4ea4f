// RecordFilters: the kernel's event filters over records that are there already.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/model/filter.h"
#include "compiler/model/record_layout.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

// One filter, bound to one event's fields, as a flat program.
class BoundFilter {
 public:
  BoundFilter(const model::FilterExpr& filter, const EventFormat& event);
  bool holds(const TypedRecord& record) const;
  // Whether it asks only for integers of the record's fixed part, its thread and its CPU; then these are enough, and
  // much faster.
  bool is_of_integers() const { return is_of_integers_; }
  bool holds(std::span<const std::uint8_t> bytes, std::int32_t pid, std::uint32_t cpu) const;
  // Whether it asks only for the thread and its name: then all records of a thread have the same answer.
  bool is_of_task() const { return is_of_task_; }

 private:
  // A comparison of an integer, as a range: the number, its sign bit turned when it has one, minus `low`, is at most
  // `span`, or not. Of `&` `low` is the mask.
  struct IntegerTest {
    model::FilterOperand source = model::FilterOperand::RecordField;  // or CommonPid, Cpu
    std::uint32_t offset = 0;
    std::uint8_t bytes = 8;
    bool is_signed = false, is_mask = false, is_inside = true;
    std::uint64_t low = 0, span = 0;
    bool holds(std::uint64_t number) const;
    std::uint64_t number_in(std::span<const std::uint8_t> record) const;
  };
  // Steps run in order; a false one continues at `on_false`, a true one at `on_true`; kHolds and kFails end it.
  struct Step {
    model::FilterPredicate predicate;
    const Field* field = nullptr;
    std::uint32_t on_true = 0, on_false = 0;
  };
  struct IntegerStep {
    IntegerTest test;
    std::uint32_t on_true = 0, on_false = 0;
  };
  static constexpr std::uint32_t kHolds = ~0u, kFails = ~1u;

  std::uint32_t emit(const model::FilterExpr& filter, std::uint32_t on_true, std::uint32_t on_false);
  static bool step_holds(const Step& step, const TypedRecord& record);
  static std::optional<IntegerTest> integer_test(const Step& step);

  const EventFormat& event_;
  std::vector<Step> steps_;
  std::vector<IntegerStep> integer_steps_;  // the same, when is_of_integers_
  bool is_of_integers_ = false, is_of_task_ = false;
  std::uint32_t first_ = kHolds;
};

struct FilterRequest {
  std::string event;       // NAME, SYSTEM:NAME or SYSTEM/NAME; globs are allowed
  std::string expression;  // empty: all of that event
};

class RecordFilters {
 public:
  // A mistake is reported into `sink`, with the request it belongs to as `mistaken`; an event that is not in the
  // recording is an error.
  static Result<std::optional<RecordFilters>> compile(std::span<const FilterRequest> requests,
                                                      const EventFormats& formats, diag::Sink& sink,
                                                      std::size_t& mistaken);

  // Without any request everything is kept; with some, what one of them keeps.
  bool keeps(const TypedRecord& record) const;
  bool keeps_all() const { return keeps_all_; }
  // What is kept of an event.
  struct Kept {
    bool all = false;
    std::vector<const model::FilterExpr*> filters;  // bound to its fields; empty, and not all: nothing
  };
  Kept kept_of(const EventFormat& event) const;

 private:
  struct Event {
    bool whole = false;
    std::vector<BoundFilter> filters;
    std::vector<model::FilterExpr> expressions;  // of the filters
  };
  bool keeps_all_ = true;
  std::vector<Event> by_id_;
};

// How the compiler sees a recorded event's fields.
model::RecordLayout layout_of(const EventFormat& event);
// "sched_*" and "sched:*"; without a system any is meant.
bool is_named(const EventFormat& event, std::string_view glob);

}  // namespace kevt::record
