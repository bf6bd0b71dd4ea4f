// The trace as a table.
//
// Unfiltered, row i of the table is row i of the store and nothing is kept per row. A filter's rows are a RowSubset,
// which the timeline and the measurements use as well; an order is a list of rows. A worker makes both; meanwhile the
// table is as it was. When a trace grows the filter only sees the new rows.
#include "gui/model/event_rows.h"

#include <algorithm>
#include <limits>

#include "gui/model/row_text.h"
#include "gui/model/trace_document.h"

namespace kevt::gui {

namespace {

// A row is one line high: frames of a stack stand beside each other, the innermost first.
QString oneLine(QString text) {
  return text.replace(QLatin1String("\n => "), QStringLiteral(" \u2190 ")).replace(QLatin1Char('\n'), QLatin1Char(' '));
}

constexpr std::size_t kMaxFieldColumns = 64;
constexpr int kDetailsAtOnce = 64;
constexpr std::size_t kMostDetails = 4096;

}  // namespace

EventRows::EventRows(TraceDocument& document, QObject* parent)
    : QAbstractTableModel(parent), document_(document), jobs_(this, 1) {
  connect(&document_, &TraceDocument::reset, this, &EventRows::takeReset);
  connect(&document_, &TraceDocument::viewChanged, this, &EventRows::takeView);
  takeReset();
  takeView();
}

EventRows::~EventRows() {
  if (busy_) *busy_ = true;
}

void EventRows::takeReset() {
  if (busy_) *busy_ = true;
  busy_.reset();
  beginResetModel();
  view_ = {};
  details_.clear();
  details_metadata_.reset();
  filter_.reset();
  ordered_.clear();
  is_identity_ = true;
  scanned_ = 0;
  row_count_ = 0;
  field_names_.clear();
  learned_events_ = 0;
  order_ = {SortColumn{}};
  kept_.reset();
  endResetModel();
  Q_EMIT keptChanged();
  Q_EMIT rowsChanged();
}

void EventRows::learnFields() {
  const auto& events = document_.view().names().events;
  std::vector<std::string> fresh;
  for (; learned_events_ < events.size(); ++learned_events_) {
    for (const record::Field& field : events[learned_events_]->fields) {
      const auto is_same = [&](const std::string& name) { return name == field.name; };
      if (field.role != record::PlaceRole::None || std::ranges::any_of(field_names_, is_same) ||
          std::ranges::any_of(fresh, is_same) || field_names_.size() + fresh.size() >= kMaxFieldColumns)
        continue;
      fresh.push_back(field.name);
    }
  }
  if (fresh.empty()) return;
  const int first = columnCount();
  beginInsertColumns({}, first, first + static_cast<int>(fresh.size()) - 1);
  field_names_.insert(field_names_.end(), fresh.begin(), fresh.end());
  endInsertColumns();
}

void EventRows::takeView() {
  learnFields();
  view_ = document_.view();
  if (filter_ && filter_->events() < view_.names().events.size()) {
    FilterMistake ignored;
    if (auto again = TraceFilter::compile(filter_->text(), view_.names(), ignored)) filter_ = std::move(again);
  }
  if (filter_ && !busy_) filterFrom(scanned_);
  if (!is_identity_) return;
  const int rows = static_cast<int>(std::min<std::uint64_t>(view_.rows(), std::numeric_limits<int>::max()));
  if (rows <= row_count_) return;
  beginInsertRows({}, row_count_, rows - 1);
  row_count_ = rows;
  endInsertRows();
  Q_EMIT rowsChanged();
}

int EventRows::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : row_count_; }

int EventRows::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : FixedColumns + static_cast<int>(field_names_.size());
}

record::Row EventRows::rowAt(int position) const {
  if (position < 0 || position >= row_count_) return record::kNoRow;
  const auto at = static_cast<std::size_t>(position);
  if (is_identity_) return static_cast<record::Row>(position);
  return ordered_.empty() ? (*kept_)[at] : ordered_[at];
}

int EventRows::positionOf(record::Row row) const {
  if (row_count_ == 0) return -1;
  if (is_identity_) return static_cast<int>(std::min<record::Row>(row, static_cast<record::Row>(row_count_ - 1)));
  if (ordered_.empty())
    return static_cast<int>(std::min(kept_->lower_bound(row), static_cast<std::size_t>(row_count_ - 1)));
  const auto found = std::ranges::find(ordered_, row);
  return found == ordered_.end() ? -1 : static_cast<int>(found - ordered_.begin());
}

const record::Field* EventRows::fieldOf(record::Row row, int column) const {
  const auto field = static_cast<std::size_t>(column - FixedColumns);
  return field < field_names_.size() ? view_.format(row).find(field_names_[field]) : nullptr;
}

QVariant EventRows::fixedData(record::Row row, int column) const {
  switch (column) {
    case Number:
      return row + 1;
    case Time:
      return timeText(view_.time_ns(row), time_format_,
                      {view_.empty() ? 0 : view_.first_ns(), document_.metadata()->wall_offset_ns});
    case Cpu:
      return view_.cpu(row);
    case Task:
      return taskText(view_.names().tasks[view_.task(row)]);
    case Pid:
      return view_.names().tasks[view_.task(row)].pid;
    case Event:
      return QString::fromStdString(view_.format(row).name);
  }
  return {};
}

// A view asks for the visible rows one after another; the texts of rows around are made together.
QString EventRows::detailsAt(int position) const {
  const record::Row wanted = rowAt(position);
  if (details_metadata_ != document_.metadata()) {
    details_.clear();
    details_metadata_ = document_.metadata();
  }
  if (const auto found = details_.find(wanted); found != details_.end()) return found->second;
  if (details_.size() >= kMostDetails) details_.clear();
  std::vector<record::Row> rows;
  std::vector<record::TypedRecord> records;
  const int first = position - position % kDetailsAtOnce;
  for (int at = first; at < std::min(first + kDetailsAtOnce, row_count_); ++at) {
    const record::Row row = rowAt(at);
    if (details_.contains(row)) continue;
    rows.push_back(row);
    records.push_back(view_.typed(row));
  }
  std::vector<QString> texts = document_.detailsOf(records);
  for (std::size_t i = 0; i < rows.size(); ++i) details_[rows[i]] = std::move(texts[i]);
  return details_[wanted];
}

bool EventRows::isNumber(int at, int column) const {
  if (column < FixedColumns) return column == Number || column == Time || column == Cpu || column == Pid;
  const record::Row row = rowAt(at);
  const record::Field* field = row < view_.rows() ? fieldOf(row, column) : nullptr;
  return field && field->kind == record::FieldKind::Number;
}

QVariant EventRows::data(const QModelIndex& index, int role) const {
  const record::Row row = rowAt(index.row());
  if (row == record::kNoRow || row >= view_.rows()) return {};
  const int column = index.column();
  switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole: {
      if (role == Qt::ToolTipRole) return document_.line(view_.typed(row));
      if (column == Details) return oneLine(detailsAt(index.row()));
      if (column < FixedColumns) return fixedData(row, column);
      const record::Field* field = fieldOf(row, column);
      return field ? fieldText(view_.format(row), *field, view_.typed(row), *document_.metadata()) : QVariant();
    }
    case Qt::TextAlignmentRole: {
      const auto side = isNumber(index.row(), column) ? Qt::AlignRight : Qt::AlignLeft;
      return QVariant::fromValue(Qt::Alignment(Qt::AlignVCenter | side));
    }
    case RowRole:
      return row;
    case EventIndexRole:
      return view_.event(row);
    case NumberRole: {
      if (column == Time) return static_cast<double>(view_.time_ns(row));
      if (column == Number || column == Cpu || column == Pid) return fixedData(row, column).toDouble();
      const record::Field* field = fieldOf(row, column);
      if (!field) return {};
      const auto number = fieldNumber(*field, view_.bytes(row));
      return number ? QVariant(*number) : QVariant();
    }
  }
  return {};
}

QVariant EventRows::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  static const char* const kNames[] = {"#", "Time", "CPU", "Task", "PID", "Event", "Details"};
  if (section < FixedColumns) return tr(kNames[section]);
  const auto field = static_cast<std::size_t>(section - FixedColumns);
  return field < field_names_.size() ? QString::fromStdString(field_names_[field]) : QVariant();
}

bool EventRows::setFilter(const QString& text, FilterMistake& mistake) {
  const QString wanted = text.trimmed();
  std::shared_ptr<const TraceFilter> filter;
  if (!wanted.isEmpty()) {
    filter = TraceFilter::compile(wanted, view_.names(), mistake);
    if (!filter) return false;
  }
  if (busy_) *busy_ = true;
  busy_.reset();
  filter_ = std::move(filter);
  order_ = {SortColumn{}};
  if (filter_) {
    filterFrom(0);
    return true;
  }
  showInTime(nullptr);
  Q_EMIT keptChanged();
  return true;
}

// Shows all records, or all that the filter keeps, in the order of time.
// Views ask for rows while the reset begins, so nothing changes before.
void EventRows::showInTime(std::shared_ptr<const record::RowSubset> kept) {
  beginResetModel();
  kept_ = std::move(kept);
  is_identity_ = kept_ == nullptr;
  ordered_.clear();
  const std::uint64_t rows = is_identity_ ? view_.rows() : kept_->size();
  row_count_ = static_cast<int>(std::min<std::uint64_t>(rows, std::numeric_limits<int>::max()));
  endResetModel();
  Q_EMIT rowsChanged();
}

void EventRows::setTimeFormat(TimeFormat format) {
  time_format_ = format;
  if (row_count_ > 0) Q_EMIT dataChanged(index(0, Time), index(row_count_ - 1, Time), {Qt::DisplayRole});
  Q_EMIT rowsChanged();
}

// Of the chunk that was still filling only the records that are new are looked at.
void EventRows::filterFrom(record::Row from) {
  const std::size_t first = from == 0 || view_.empty() ? 0 : view_.chunk_of(std::min(from, view_.rows() - 1));
  busy_ = jobs_.start(
      [view = view_, filter = filter_, before = from == 0 ? nullptr : kept_,
       first](const std::atomic<bool>& cancelled) -> std::shared_ptr<const record::RowSubset> {
        auto parts = filter->parts(view, first, before.get(), cancelled);
        return std::make_shared<record::RowSubset>(
            (before ? *before : record::RowSubset()).continued(first, std::move(parts)));
      },
      [this, from, to = view_.rows()](std::shared_ptr<const record::RowSubset> kept) {
        const bool is_new = from == 0 || !kept_ || kept_->size() != kept->size();
        takeFiltered(from, to, std::move(kept));
        if (is_new) Q_EMIT keptChanged();
        Q_EMIT rowsChanged();
        if (filter_ && !busy_ && view_.rows() > scanned_) filterFrom(scanned_);
      });
}

// A table that is not in the order of time is not sorted again.
void EventRows::takeFiltered(record::Row from, record::Row to, std::shared_ptr<const record::RowSubset> kept) {
  busy_.reset();
  scanned_ = to;
  const int rows = static_cast<int>(std::min<std::size_t>(kept->size(), std::numeric_limits<int>::max()));
  if (from == 0) {
    beginResetModel();
    kept_ = std::move(kept);
    is_identity_ = false;
    ordered_.clear();
    row_count_ = rows;
    endResetModel();
  } else if (rows > row_count_ && isInTime()) {
    beginInsertRows({}, row_count_, rows - 1);
    kept_ = std::move(kept);
    row_count_ = rows;
    endInsertRows();
  } else {
    kept_ = std::move(kept);
  }
}

}  // namespace kevt::gui
