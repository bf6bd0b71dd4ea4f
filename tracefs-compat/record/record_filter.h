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
  // Whether it asks only for the thread and its name: then all records of a thread have the same answer.
  bool is_of_task() const { return is_of_task_; }

 private:
  // Steps run in order; a false one continues at `on_false`, a true one at `on_true`; kHolds and kFails end it.
  struct Step {
    model::FilterPredicate predicate;
    const Field* field = nullptr;
    std::uint32_t on_true = 0, on_false = 0;
  };
  static constexpr std::uint32_t kHolds = ~0u, kFails = ~1u;

  std::uint32_t emit(const model::FilterExpr& filter, std::uint32_t on_true, std::uint32_t on_false);
  static bool step_holds(const Step& step, const TypedRecord& record);

  const EventFormat& event_;
  std::vector<Step> steps_;
  bool is_of_task_ = false;
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
