// Measuring a range: a worker walks its records once; durations come from slices that end in it.
#include "gui/app/measure_panel.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/model/row_text.h"
#include "gui/model/trace_document.h"
#include "gui/view/timeline_view.h"
#include "tracefs-compat/record/print/print_format.h"
#include "tracefs-compat/record/store/store_field.h"

namespace kevt::gui {

struct MeasurePanel::Result {
  std::uint64_t count = 0, all = 0, from_ns = 0, to_ns = 0;
  bool is_whole = true, is_in_sight = false, is_filtered = false;
  struct Line {
    QString name;
    std::uint64_t count = 0;
    struct Value {
      QString name;  // empty: how long calls took
      record::Measured measured;
      bool is_hex = false;
    };
    std::vector<Value> values;
  };
  std::vector<Line> events, tasks;
};

namespace {

constexpr int kNameColumn = 0, kNoteColumn = 1;
constexpr std::size_t kMaxValues = 2'000'000;  // per field; percentiles use no more

// The values of one event's fields, and the durations of the slices that it begins.
struct EventValues {
  struct OfField {
    const record::Field* field;
    std::vector<double> values;
  };
  std::vector<OfField> fields;
  std::vector<double> durations;

  explicit EventValues(const record::EventFormat& format) {
    for (const record::Field& field : format.fields)
      if (field.role == record::PlaceRole::None) fields.push_back({&field, {}});
  }
  void take(std::span<const std::uint8_t> bytes) {
    for (OfField& one : fields) {
      if (one.values.size() >= kMaxValues) continue;
      if (const auto number = fieldNumber(*one.field, bytes)) one.values.push_back(*number);
    }
  }
};

// What is counted of the records, chunk by chunk.
class Counts {
 public:
  Counts(const record::StoreView& view, const record::RowSubset* kept, record::Row last)
      : view_(view), kept_(kept), last_(last), events(view.names().events.size()), tasks(view.names().tasks.size()) {
    for (const auto& event : view.names().events) values.emplace_back(*event);
  }

  // Those of the chunk's records that count and lie in [from, to), places of the chunk.
  void take(std::size_t number, std::uint32_t from, std::uint32_t to) {
    const record::StoreChunk& chunk = *view_.chunks()[number];
    const record::RowSubset::Part* const part = kept_ ? kept_->part(number) : nullptr;
    if (!kept_ || (part && part->is_whole())) {
      const std::uint32_t end = part ? std::min(to, part->seen) : to;
      for (std::uint32_t local = from; local < end; ++local) take(chunk, local);
    } else if (part) {
      for (auto at = std::ranges::lower_bound(part->places, from); at != part->places.end() && *at < to; ++at)
        take(chunk, *at);
    }
  }

 private:
  void take(const record::StoreChunk& chunk, std::uint32_t local) {
    ++count;
    const std::uint32_t event = chunk.event[local];
    ++events[event];
    ++tasks[chunk.task_of(local)];
    values[event].take(chunk.bytes(local));
    takeSlice(chunk.first_row + local, chunk.match_of(local));
  }

  // The durations of slices that end in the range. A slice counts once, also if the filter keeps only one of its ends.
  void takeSlice(record::Row row, record::Row other) {
    if (other == record::kNoRow || other >= view_.rows()) return;
    const bool ends = other < row;
    if (!ends && (!kept_ || other >= last_ || kept_->contains(other))) return;
    const auto [begin, end] = ends ? std::pair(other, row) : std::pair(row, other);
    auto& all = values[view_.event(begin)].durations;
    if (all.size() < kMaxValues) all.push_back(static_cast<double>(view_.time_ns(end) - view_.time_ns(begin)));
  }

  const record::StoreView& view_;
  const record::RowSubset* kept_;
  record::Row last_;

 public:
  std::uint64_t count = 0;
  std::vector<std::uint64_t> events, tasks;
  std::vector<EventValues> values;
};

}  // namespace

MeasurePanel::MeasurePanel(TraceDocument& document, TimelineView& timeline, QWidget* parent)
    : QWidget(parent),
      document_(document),
      timeline_(timeline),
      head_(new QLabel(this)),
      table_(new QTreeWidget(this)),
      markers_(new QTreeWidget(this)),
      watch_(new RangeWatch(document, timeline, *this, [this] { return busy_ != nullptr; })),
      jobs_(this, 1) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(4, 4, 4, 4);
  head_->setTextFormat(Qt::RichText);  // the text is our own
  layout->addWidget(head_);
  layout->addWidget(table_, 3);
  layout->addWidget(markers_, 1);
  table_->setHeaderLabels(
      {tr("What"), tr("Count"), tr("Rate"), tr("Least"), tr("Mean"), tr("p50"), tr("p99"), tr("Greatest")});
  table_->setAccessibleName(tr("Measurements of the range"));
  markers_->setAccessibleName(tr("Markers"));
  markers_->setRootIsDecorated(false);
  markers_->setToolTip(tr("double click: go there · F2: its name or note · Delete: take it away"));
  markers_->setEditTriggers(QAbstractItemView::EditKeyPressed | QAbstractItemView::SelectedClicked);
  markers_->installEventFilter(this);
  connect(markers_, &QTreeWidget::itemChanged, this, &MeasurePanel::takeMarkerEdit);
  connect(markers_, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) {
    const auto at = static_cast<std::size_t>(markers_->indexOfTopLevelItem(item));
    if (at < timeline_.markers().size()) timeline_.reveal(timeline_.markers()[at].ns);
  });
  connect(watch_, &RangeWatch::due, this, &MeasurePanel::start);
  connect(&timeline_, &TimelineView::markersChanged, this, &MeasurePanel::showMarkers);
  showMarkers();
}

MeasurePanel::~MeasurePanel() {
  if (busy_) *busy_ = true;
}

bool MeasurePanel::eventFilter(QObject* watched, QEvent* event) {
  if (watched != markers_ || event->type() != QEvent::KeyPress ||
      static_cast<QKeyEvent*>(event)->key() != Qt::Key_Delete || !markers_->currentItem())
    return QWidget::eventFilter(watched, event);
  std::vector<Marker> all = timeline_.markers();
  all.erase(all.begin() + markers_->indexOfTopLevelItem(markers_->currentItem()));
  timeline_.setMarkers(std::move(all));
  return true;
}

QString MeasurePanel::head() const { return head_->text(); }

void MeasurePanel::setKept(std::shared_ptr<const record::RowSubset> kept) { watch_->setKept(std::move(kept)); }

bool MeasurePanel::isBusy() const { return busy_ != nullptr || watch_->isWaiting(); }

void MeasurePanel::start() {
  if (document_.state() == TraceDocument::State::Loading) return;
  if (busy_) *busy_ = true;
  const record::StoreView view = document_.view();
  busy_ = jobs_.start(
      [view, wanted = watch_->wanted(), kept = watch_->kept()](const std::atomic<bool>& cancelled) {
        const auto& range = wanted.range;
        Result result;
        if (view.empty()) return result;
        result.is_whole = !range;
        result.is_in_sight = wanted.extent == RangeWatch::Extent::InSight;
        result.from_ns = range ? range->first : view.first_ns();
        result.to_ns = range ? range->second : view.last_ns();
        const record::Row first = view.lower_bound(result.from_ns), last = view.lower_bound(result.to_ns + 1);
        result.all = last - first;
        result.is_filtered = kept != nullptr;
        Counts counts(view, kept.get(), last);
        for (std::size_t i = 0; i < view.chunks().size(); ++i) {
          if (cancelled) return Result();
          const record::StoreChunk& chunk = *view.chunks()[i];
          const record::Row end = chunk.first_row + chunk.rows();
          if (end <= first || chunk.first_row >= last) continue;
          counts.take(i, std::max(first, chunk.first_row) - chunk.first_row, std::min(last, end) - chunk.first_row);
        }
        result.count = counts.count;
        for (std::uint32_t i = 0; i < counts.events.size(); ++i) {
          const record::EventFormat& event = *view.names().events[i];
          Result::Line line{QString::fromStdString(event.name), counts.events[i], {}};
          EventValues& values = counts.values[i];
          if (!values.durations.empty())
            line.values.push_back({{}, record::measure(std::move(values.durations)), false});
          std::ranges::sort(values.fields, {}, [](const auto& one) { return one.field->name; });
          for (auto& [field, all] : values.fields)
            if (!all.empty())
              line.values.push_back({QString::fromStdString(field->name), record::measure(std::move(all)),
                                     record::number_style(event, field->name) != record::NumberStyle::Decimal});
          // An event without records of its own here may have durations: its calls are known by their returns.
          if (!counts.events[i] && line.values.empty()) continue;
          result.events.push_back(std::move(line));
        }
        const std::vector<std::uint64_t>& tasks = counts.tasks;
        for (std::uint32_t i = 0; i < tasks.size(); ++i)
          if (tasks[i]) result.tasks.push_back({QString::fromStdString(view.names().tasks[i].title()), tasks[i], {}});
        std::ranges::sort(result.tasks, std::greater<>(), &Result::Line::count);
        return result;
      },
      [this](const Result& result) {
        busy_.reset();
        show(result);
      });
}

void MeasurePanel::show(const Result& result) {
  const double seconds = static_cast<double>(result.to_ns - result.from_ns) / 1e9;
  const QString what = result.is_in_sight ? tr("<b>in sight</b>")
                       : result.is_whole  ? tr("<b>whole trace</b>")
                                          : tr("<b>range</b>");
  const QString records = result.is_filtered
                              ? tr("%1 of %2 records, filtered,").arg(grouped(result.count), grouped(result.all))
                              : tr("%1 records").arg(grouped(result.count));
  head_->setText(tr("%1: %2 in %3").arg(what, records, duration(seconds * 1e9)));
  table_->clear();
  const auto rate = [&](std::uint64_t count) {
    return seconds > 0 ? compactNumber(static_cast<double>(count) / seconds) + QStringLiteral("/s") : QString();
  };
  const auto add = [&](const QString& title, const std::vector<Result::Line>& lines) {
    auto* group = new QTreeWidgetItem(table_, {title, grouped(lines.size())});
    group->setExpanded(true);
    for (const Result::Line& line : lines) {
      auto* item = new QTreeWidgetItem(group, {line.name, grouped(line.count), rate(line.count)});
      item->setExpanded(true);
      for (const auto& [name, m, is_hex] : line.values) {
        const bool is_duration = name.isEmpty();
        if (is_hex) {  // addresses, flags, ids: no mean; as doubles the greatest of them are not exact
          const QString none = QStringLiteral("–");
          const auto hex = [&](double value) {
            constexpr double kExact = 1ull << 53;
            return value < 0 || value > kExact ? none : QStringLiteral("0x%1").arg(static_cast<quint64>(value), 0, 16);
          };
          new QTreeWidgetItem(item, {name, grouped(m.count), {}, hex(m.least), none, none, none, hex(m.greatest)});
          continue;
        }
        const auto text = [&](double value) { return is_duration ? duration(value) : compactNumber(value); };
        new QTreeWidgetItem(item, {is_duration ? tr("duration") : name,
                                   grouped(m.count),
                                   {},
                                   text(m.least),
                                   text(m.mean),
                                   text(m.p50),
                                   text(m.p99),
                                   text(m.greatest)});
      }
    }
  };
  if (result.count == 0) return;
  add(tr("Events"), result.events);
  add(tr("Tasks"), result.tasks);
  table_->expandAll();
  for (int column = 0; column < table_->columnCount(); ++column) table_->resizeColumnToContents(column);
}

// Shows the distance of each marker to every other one; only the first ones if there are many.
void MeasurePanel::showMarkers() {
  constexpr std::size_t kMostColumns = 8;
  const QSignalBlocker blocker(markers_);
  markers_->clear();
  const auto& all = timeline_.markers();
  markers_->setVisible(!all.empty());
  const auto delta = [](std::uint64_t to, std::uint64_t from) {
    return (to < from ? QStringLiteral("−") : QStringLiteral("+")) +
           duration(static_cast<double>(to < from ? from - to : to - from));
  };
  QStringList heads = {tr("Marker"), tr("Note"), tr("Time")};
  for (std::size_t i = 0; i < std::min(all.size(), kMostColumns); ++i) heads.append(tr("from %1").arg(all[i].name));
  markers_->setColumnCount(static_cast<int>(heads.size()));
  markers_->setHeaderLabels(heads);
  for (const Marker& marker : all) {
    QStringList cells = {marker.name, marker.note, absoluteTime(marker.ns)};
    for (std::size_t i = 0; i < std::min(all.size(), kMostColumns); ++i)
      cells.append(&marker == &all[i] ? QString() : delta(marker.ns, all[i].ns));
    auto* item = new QTreeWidgetItem(markers_, cells);
    item->setFlags(item->flags() | Qt::ItemIsEditable);
  }
  for (int column = 0; column < markers_->columnCount(); ++column) markers_->resizeColumnToContents(column);
  markers_->setColumnWidth(kNoteColumn, std::max(markers_->columnWidth(kNoteColumn), 110));
}

void MeasurePanel::takeMarkerEdit(QTreeWidgetItem* item, int column) {
  std::vector<Marker> all = timeline_.markers();
  const auto at = static_cast<std::size_t>(markers_->indexOfTopLevelItem(item));
  if (at >= all.size()) return;
  if (column == kNoteColumn) all[at].note = item->text(kNoteColumn);
  if (column == kNameColumn && !item->text(kNameColumn).isEmpty()) all[at].name = item->text(kNameColumn);
  // The edited item must not be deleted while its editor is open.
  QMetaObject::invokeMethod(
      this, [this, all = std::move(all)] { timeline_.setMarkers(all); }, Qt::QueuedConnection);
}

}  // namespace kevt::gui
