// TraceFilter: which records of a view are shown, in the kernel's filter language.
//
// count > 4096 for all events that have these fields
// opening: path ~ "/etc/*" for one event (or a glob of events)
//   common_pid == 12             fields that every event has
#pragma once

#include <QString>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "tracefs-compat/record/record_filter.h"
#include "tracefs-compat/record/store/integer_filter.h"
#include "tracefs-compat/record/store/row_subset.h"

namespace kevt::gui {

struct FilterMistake {
  QString text;  // the kernel's
  QString help;
  int column = -1;  // in the filter's text; -1: no place
};

class TraceFilter {
 public:
  // An empty text keeps everything. After a mistake returns nullptr, and `mistake` says what is wrong.
  static std::shared_ptr<const TraceFilter> compile(const QString& text, const record::StoreNames& names,
                                                    FilterMistake& mistake);
  // What is kept of the view's chunks from `first` on, on all CPUs; of fewer chunks if cancelled. `before`, or nullptr:
  // what was kept already; its records are not looked at again, since a task's name may have changed.
  std::vector<std::shared_ptr<const record::RowSubset::Part>> parts(const record::StoreView& view, std::size_t first,
                                                                    const record::RowSubset* before,
                                                                    const std::atomic<bool>& cancelled) const;
  bool keeps(const record::StoreView& view, record::Row row) const;
  const QString& text() const { return text_; }
  // How many events the filter was compiled for; if the trace has more now, compile it again.
  std::size_t events() const { return by_event_.size(); }

  // The rows that are kept of a chunk of the view; `before` as above.
  record::RowBits rows(const record::StoreView& view, const record::StoreChunk& chunk,
                       const record::RowSubset::Part* before) const;

 private:
  struct Event {
    bool is_kept = false;
    std::optional<record::BoundFilter> filter;
    std::optional<record::IntegerFilter> integers;  // the same, if it is one
  };
  QString text_;
  std::vector<Event> by_event_;
};

}  // namespace kevt::gui
