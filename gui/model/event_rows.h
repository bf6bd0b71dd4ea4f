// EventRows: the trace as a table. Every field is a column of its own type; rows are views of the store, never copies.
#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "gui/model/job.h"
#include "gui/model/time_text.h"
#include "gui/model/trace_filter.h"
#include "tracefs-compat/record/store/row_subset.h"
#include "tracefs-compat/record/store/store.h"

namespace kevt::gui {

class TraceDocument;

class EventRows : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum FixedColumn { Number, Time, Cpu, Task, Pid, Event, Details, FixedColumns };
  enum Role { RowRole = Qt::UserRole, NumberRole, EventIndexRole };

  explicit EventRows(TraceDocument& document, QObject* parent = nullptr);
  ~EventRows() override;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  bool isNumber(int row, int column) const;  // what the cell shows
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  // Sorts in a worker; Number is the order of time.
  void sort(int column, Qt::SortOrder order) override;
  struct SortColumn {
    int column = Number;
    Qt::SortOrder order = Qt::AscendingOrder;
    bool operator==(const SortColumn&) const = default;
  };
  // Sorts by the first column; equal rows by the next one, and at last by time.
  void sortBy(std::vector<SortColumn> columns);
  const std::vector<SortColumn>& sortColumns() const { return order_; }
  void setTimeFormat(TimeFormat format);
  TimeFormat timeFormat() const { return time_format_; }

  // rowAt(): the store's row at a position of the table. positionOf(): the position of a row, or of the first shown row
  // after it.
  record::Row rowAt(int position) const;
  int positionOf(record::Row row) const;

  // Sets a filter in the kernel's language; empty: all rows. False: `mistake` says what is wrong, and nothing changes.
  bool setFilter(const QString& text, FilterMistake& mistake);
  const std::shared_ptr<const TraceFilter>& filter() const { return filter_; }  // nullptr: there is none
  QString filterText() const { return filter_ ? filter_->text() : QString(); }
  // The rows kept by the filter among those it has seen so far; nullptr: no filter.
  const std::shared_ptr<const record::RowSubset>& kept() const { return kept_; }
  record::Row allRows() const { return view_.rows(); }
  bool isBusy() const { return busy_ != nullptr; }
  const std::vector<std::string>& fieldNames() const { return field_names_; }

 Q_SIGNALS:
  void keptChanged();  // another filter, or it keeps more rows
  void rowsChanged();  // after a filter, a sort or more rows

 private:
  void takeReset();
  void takeView();
  void filterFrom(record::Row from);
  void takeFiltered(record::Row from, record::Row to, std::shared_ptr<const record::RowSubset> kept);
  void showInTime(std::shared_ptr<const record::RowSubset> kept);
  void learnFields();
  QVariant fixedData(record::Row row, int column) const;
  QString detailsAt(int position) const;
  const record::Field* fieldOf(record::Row row, int column) const;
  bool isInTime() const { return order_ == std::vector<SortColumn>{SortColumn{}}; }

  TraceDocument& document_;
  record::StoreView view_;
  // A cache of details, of rows around the last ones asked for, and the metadata they were made with.
  mutable std::unordered_map<record::Row, QString> details_;
  mutable std::shared_ptr<const record::Metadata> details_metadata_;
  std::shared_ptr<const TraceFilter> filter_;
  std::shared_ptr<const record::RowSubset> kept_;
  std::vector<record::Row> ordered_;  // when not in the order of time; while a worker sorts, as it was before
  bool is_identity_ = true;
  record::Row scanned_ = 0;  // how many rows the filter has seen
  int row_count_ = 0;
  std::vector<std::string> field_names_;
  std::size_t learned_events_ = 0;
  std::vector<SortColumn> order_ = {SortColumn{}};
  TimeFormat time_format_ = TimeFormat::Trace;
  Cancelled busy_;
  JobQueue jobs_;
};

}  // namespace kevt::gui
