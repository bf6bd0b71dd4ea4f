// Sorting the table's rows by several columns.
//
// A worker reads each row's cells once: as a number, else as a text. Rows without a field come behind those that have
// it, and rows that are equal in all columns stay in the order of time.
#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "gui/model/event_rows.h"
#include "gui/model/row_text.h"
#include "gui/model/trace_document.h"

namespace kevt::gui {
namespace {

constexpr std::size_t kRowsAskedAtOnce = 1024;

struct Cell {
  double number = 0;
  QString text;
  auto operator<=>(const Cell& other) const {
    if (number != other.number) return number < other.number ? std::weak_ordering::less : std::weak_ordering::greater;
    return text < other.text   ? std::weak_ordering::less
           : other.text < text ? std::weak_ordering::greater
                               : std::weak_ordering::equivalent;
  }
};

class Cells {
 public:
  // Announces the rows whose cells are asked for next, in this order.
  void askAhead(std::span<const record::Row> rows) {
    std::vector<record::TypedRecord> records;
    for (const record::Row row : rows) records.push_back(view_.typed(row));
    text_.askAhead(records);
  }

  Cells(record::StoreView view, std::shared_ptr<const record::Metadata> metadata)
      : view_(std::move(view)), metadata_(std::move(metadata)), text_(metadata_) {}

  // `field`: the column's name, of a column that is a field.
  Cell of(record::Row row, int column, const std::string& field) {
    switch (column) {
      case EventRows::Number:
      case EventRows::Time:
        return {static_cast<double>(row), {}};
      case EventRows::Cpu:
        return {static_cast<double>(view_.cpu(row)), {}};
      case EventRows::Pid:
        return {static_cast<double>(view_.names().tasks[view_.task(row)].pid), {}};
      case EventRows::Task:
        return {0, QString::fromStdString(view_.names().tasks[view_.task(row)].comm)};
      case EventRows::Event:
        return {0, QString::fromStdString(view_.format(row).name)};
      case EventRows::Details:
        return {0, text_.details(view_.typed(row))};
    }
    const record::Field* of = view_.format(row).find(field);
    if (!of) return {std::numeric_limits<double>::infinity(), {}};
    if (const auto number = fieldNumber(*of, view_.bytes(row))) return {*number, {}};
    return {std::numeric_limits<double>::max(), fieldText(view_.format(row), *of, view_.typed(row), *metadata_)};
  }

 private:
  record::StoreView view_;
  std::shared_ptr<const record::Metadata> metadata_;
  RowText text_;
};

}  // namespace

void EventRows::sort(int column, Qt::SortOrder order) { sortBy({{column, order}}); }

void EventRows::sortBy(std::vector<SortColumn> columns) {
  if (busy_ || row_count_ == 0 || columns.empty()) return;
  order_ = std::move(columns);
  if (isInTime()) return showInTime(kept_);
  std::vector<std::string> fields;
  for (const SortColumn& one : order_)
    fields.push_back(one.column >= FixedColumns ? field_names_[static_cast<std::size_t>(one.column - FixedColumns)]
                                                : "");
  busy_ = jobs_.start(
      [view = view_, metadata = document_.metadata(), kept = kept_, columns = order_,
       fields](const std::atomic<bool>& cancelled) {
        std::vector<record::Row> rows(kept ? kept->size() : view.rows());
        std::iota(rows.begin(), rows.end(), record::Row{0});
        if (kept)
          for (record::Row& row : rows) row = (*kept)[row];
        Cells cells(view, metadata);
        const std::size_t width = columns.size();
        std::vector<Cell> keys;
        keys.reserve(rows.size() * width);
        const bool has_details = std::ranges::count(columns, +Details, &SortColumn::column) == 1;
        for (std::size_t i = 0; i < rows.size(); ++i) {
          if (i % kRowsAskedAtOnce == 0 && cancelled) return std::vector<record::Row>();
          if (i % kRowsAskedAtOnce == 0 && has_details)
            cells.askAhead(std::span(rows).subspan(i, std::min(kRowsAskedAtOnce, rows.size() - i)));
          for (std::size_t c = 0; c < width; ++c) keys.push_back(cells.of(rows[i], columns[c].column, fields[c]));
        }
        std::vector<std::uint32_t> places(rows.size());
        std::iota(places.begin(), places.end(), 0u);
        std::ranges::sort(places, [&](std::uint32_t a, std::uint32_t b) {
          for (std::size_t c = 0; c < width; ++c) {
            const auto which = keys[a * width + c] <=> keys[b * width + c];
            if (which != 0) return columns[c].order == Qt::DescendingOrder ? which > 0 : which < 0;
          }
          return rows[a] < rows[b];
        });
        std::vector<record::Row> sorted(rows.size());
        std::ranges::transform(places, sorted.begin(), [&](std::uint32_t place) { return rows[place]; });
        return sorted;
      },
      [this](std::vector<record::Row> ordered) {
        busy_.reset();
        beginResetModel();
        is_identity_ = false;
        ordered_ = std::move(ordered);
        row_count_ = static_cast<int>(ordered_.size());
        endResetModel();
        Q_EMIT rowsChanged();
      });
}

}  // namespace kevt::gui
