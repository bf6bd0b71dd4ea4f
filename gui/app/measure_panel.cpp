// Measuring a range: a worker walks its records once; durations come from slices that end in it.
#include "gui/app/measure_panel.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <map>

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

using Values = std::map<std::pair<std::uint32_t, QString>, std::vector<double>>;

// Collects the durations of slices that end in the range. A slice counts once, also if the filter keeps only one of its
// ends.
std::optional<std::pair<record::Row, record::Row>> slice_to_take(const record::StoreView& view, record::Row row,
                                                                 record::Row last, const KeptRows* kept) {
  const record::Row other = view.match(row);
  if (other == record::kNoRow) return std::nullopt;
  if (other < row) return std::pair(other, row);
  if (kept && other < last && !kept->all().contains(other)) return std::pair(row, other);
  return std::nullopt;
}

void take_values(const record::StoreView& view, record::Row row, Values& values) {
  const record::EventFormat& format = view.format(row);
  const std::uint32_t event = view.event(row);
  for (const record::Field& field : format.fields) {
    if (field.role != record::PlaceRole::None) continue;
    const auto number = fieldNumber(field, view.bytes(row));
    if (!number) continue;
    auto& all = values[{event, QString::fromStdString(field.name)}];
    if (all.size() < kMaxValues) all.push_back(*number);
  }
}

void take_duration(const record::StoreView& view, std::pair<record::Row, record::Row> slice, Values& values) {
  auto& all = values[{view.event(slice.first), QString()}];
  if (all.size() < kMaxValues)
    all.push_back(static_cast<double>(view.time_ns(slice.second) - view.time_ns(slice.first)));
}

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

void MeasurePanel::setKept(std::shared_ptr<const KeptRows> kept) { watch_->setKept(std::move(kept)); }

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
        std::vector<std::uint64_t> events(view.names().events.size()), tasks(view.names().tasks.size());
        Values values;
        const record::Row first = view.lower_bound(result.from_ns), last = view.lower_bound(result.to_ns + 1);
        result.all = last - first;
        result.is_filtered = kept != nullptr;
        const std::size_t begin = kept ? kept->all().lower_bound(first) : first;
        const std::size_t end = kept ? kept->all().lower_bound(last) : last;
        for (std::size_t i = begin; i < end; ++i) {
          if (i % 8192 == 0 && cancelled) return Result();
          const record::Row row = kept ? kept->all()[i] : static_cast<record::Row>(i);
          ++result.count;
          ++events[view.event(row)];
          ++tasks[view.task(row)];
          take_values(view, row, values);
          if (const auto slice = slice_to_take(view, row, last, kept.get())) take_duration(view, *slice, values);
        }
        for (std::uint32_t i = 0; i < events.size(); ++i) {
          Result::Line line{QString::fromStdString(view.names().events[i]->name), events[i], {}};
          for (auto& [key, all] : values)
            if (key.first == i) {
              const record::EventFormat& event = *view.names().events[i];
              const bool is_plain = key.second.isEmpty() || record::number_style(event, key.second.toStdString()) ==
                                                                record::NumberStyle::Decimal;
              line.values.push_back({key.second, record::measure(std::move(all)), !is_plain});
            }
          // An event without records of its own here may have durations: its calls are known by their returns.
          if (!events[i] && line.values.empty()) continue;
          result.events.push_back(std::move(line));
        }
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
