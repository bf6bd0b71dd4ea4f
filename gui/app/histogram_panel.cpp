// Live, the event's file `hist` is read once a second while the panel is seen, whoever wrote the triggers. A recording
// has its texts.
#include "gui/app/histogram_panel.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QTimer>
#include <QToolButton>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>
#include <map>
#include <utility>

#include "gui/model/histogram_rows.h"
#include "gui/model/row_text.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/model/trigger_text.h"
#include "gui/view/histogram_view.h"

namespace kevt::gui {

namespace {

constexpr int kEveryMs = 1000;
constexpr std::size_t kMostEntries = 48;  // with a line each
constexpr int kMostGroups = 500;          // to choose from

QToolButton* button(const QString& text, const QString& tip, QWidget* parent) {
  auto* made = new QToolButton(parent);
  made->setText(text);
  made->setToolTip(tip);
  return made;
}

// "hist:…:clear if …"
QString withCommand(const QString& trigger, const QString& command) {
  const qsizetype condition = trigger.indexOf(QStringLiteral(" if "));
  return trigger.left(condition) + command + (condition < 0 ? QString() : trigger.mid(condition));
}

}  // namespace

HistogramPanel::HistogramPanel(TracingService& service, TraceDocument& document, QWidget* parent)
    : QWidget(parent),
      service_(service),
      document_(document),
      which_(new QComboBox(this)),
      group_(new QComboBox(this)),
      keys_(new QLineEdit(this)),
      values_(new QLineEdit(this)),
      condition_(new QLineEdit(this)),
      head_(new QLabel(this)),
      clear_(button(tr("Clear"), tr("set all its counts to 0"), this)),
      pause_(button(tr("Pause"), tr("stop counting; what was counted stays"), this)),
      remove_(button(tr("Remove"), tr("take the trigger away, and what it has counted"), this)),
      shown_(button(tr("Show only these"), tr("the records of the chosen line, in table and timeline (Return)"), this)),
      recorded_(button(tr("Record only these…"), tr("the chosen line as the event's own filter"), this)),
      count_(new QPushButton(tr("Count"), this)),
      scroll_(new QScrollArea(this)),
      picture_(new HistogramView(this)),
      rows_(new HistogramRows(this)),
      table_(new QTreeView(this)),
      timer_(new QTimer(this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(4, 4, 4, 4);
  auto* bar = new QWidget(this);
  makeBar(bar);
  line_ = new QWidget(this);
  makeLine(line_);
  auto* splitter = new QSplitter(Qt::Horizontal, this);
  scroll_->setWidgetResizable(true);
  scroll_->setWidget(picture_);
  table_->setModel(rows_);
  table_->setRootIsDecorated(false);
  table_->setUniformRowHeights(true);
  table_->setSortingEnabled(true);
  table_->header()->setSortIndicator(-1, Qt::AscendingOrder);
  table_->setAccessibleName(tr("Entries of the histogram"));
  splitter->addWidget(scroll_);
  splitter->addWidget(table_);
  splitter->setStretchFactor(0, 3);
  splitter->setStretchFactor(1, 2);
  splitter->setChildrenCollapsible(false);
  layout->addWidget(line_);
  layout->addWidget(bar);
  layout->addWidget(splitter, 1);
  timer_->setInterval(kEveryMs);
  connect(timer_, &QTimer::timeout, this, &HistogramPanel::ask);
  timer_->start();
  connect(&document_, &TraceDocument::reset, this, &HistogramPanel::startOver);
  connect(&document_, &TraceDocument::stateChanged, this, [this] {
    if (isOfRecording()) takeRecording();
  });
  connect(which_, &QComboBox::activated, this, &HistogramPanel::showTrack);
  connect(group_, &QComboBox::activated, this, &HistogramPanel::showPicture);
  connect(picture_, &HistogramView::currentChanged, this, [this] {
    const bool has_filter = !lineFilter().isEmpty();
    shown_->setEnabled(has_filter);
    recorded_->setEnabled(has_filter && !isOfRecording());
  });
  connect(picture_, &HistogramView::lineWanted, this, &HistogramPanel::wantShown);
  connect(picture_, &HistogramView::resized, this, [this] {
    if (picture_->picture().is_scale && picture_->picture().lines.size() != picture_->roomForRanges()) showPicture();
  });
  showTrack();
}

void HistogramPanel::makeBar(QWidget* bar) {
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(0, 0, 0, 0);
  which_->setAccessibleName(tr("Histogram"));
  which_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  which_->setToolTip(tr("the histograms that there are"));
  group_->setAccessibleName(tr("Entries"));
  group_->hide();
  group_->setToolTip(tr("all entries together, or those that the other keys name"));
  group_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  head_->setTextFormat(Qt::PlainText);
  head_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  for (QWidget* one : std::initializer_list<QWidget*>{which_, group_}) row->addWidget(one);
  row->addWidget(head_, 1);
  for (QWidget* one : std::initializer_list<QWidget*>{shown_, recorded_}) row->addWidget(one);
  connect(shown_, &QToolButton::clicked, this, &HistogramPanel::wantShown);
  connect(recorded_, &QToolButton::clicked, this,
          [this] { Q_EMIT recordedWanted(event_.system, event_.name, lineFilter()); });
}

void HistogramPanel::makeLine(QWidget* line) {
  auto* row = new QHBoxLayout(line);
  row->setContentsMargins(0, 0, 0, 0);
  keys_->setAccessibleName(tr("Keys"));
  keys_->setPlaceholderText(tr("count by: comm, len.log2, ret.loglinear, addr.sym"));
  values_->setAccessibleName(tr("Values"));
  values_->setPlaceholderText(tr("sum up: len, or len.avg, len.max"));
  condition_->setAccessibleName(tr("Condition"));
  condition_->setPlaceholderText(tr("if: len > 0"));
  count_->setToolTip(tr("write the trigger: hits are counted, and recorded only where the event is on"));
  row->addWidget(keys_, 2);
  row->addWidget(values_, 1);
  row->addWidget(condition_, 1);
  auto* latency = button(tr("Latency…"), tr("the time from this event to another one, as an event of its own"), line);
  connect(latency, &QToolButton::clicked, this, &HistogramPanel::latencyWanted);
  for (QWidget* one : std::initializer_list<QWidget*>{count_, latency, clear_, pause_, remove_}) row->addWidget(one);
  connect(clear_, &QToolButton::clicked, this, [this] { writeCommand(QStringLiteral(":clear")); });
  connect(pause_, &QToolButton::clicked, this, [this] {
    if (const auto shown = track())
      writeCommand(shown->head().is_paused ? QStringLiteral(":cont") : QStringLiteral(":pause"));
  });
  connect(remove_, &QToolButton::clicked, this, [this] {
    if (const auto shown = track())
      Q_EMIT triggerWanted(QLatin1Char('!') + QString::fromStdString(shown->head().trigger));
  });
  connect(count_, &QPushButton::clicked, this, &HistogramPanel::writeCount);
  connect(keys_, &QLineEdit::returnPressed, this, &HistogramPanel::writeCount);
  connect(values_, &QLineEdit::returnPressed, this, &HistogramPanel::writeCount);
  connect(condition_, &QLineEdit::returnPressed, this, &HistogramPanel::writeCount);
}

std::shared_ptr<const HistogramTrack> HistogramPanel::track() const {
  const int at = which_->currentIndex();
  return at < 0 || static_cast<std::size_t>(at) >= tracks_.size() ? nullptr : tracks_[static_cast<std::size_t>(at)];
}

QString HistogramPanel::head() const { return head_->text(); }
bool HistogramPanel::isOfRecording() const { return !service_.isRunning(); }

void HistogramPanel::startOver() {
  tracks_.clear();
  since_.invalidate();
  fillWhich();
  showTrack();
}

void HistogramPanel::setEvent(const ShownEvent& event) {
  const bool is_other = !event_.isSame(event);
  event_ = event;
  count_->setEnabled(!isOfRecording() && !event.name.isEmpty());
  if (!is_other || isOfRecording()) return;
  startOver();
  ask();
}

void HistogramPanel::showEvent(QShowEvent*) {
  if (isOfRecording())
    takeRecording();
  else
    ask();
}

// All histograms of a recording stand in one list: their events may have no records, and then no place in the tree.
void HistogramPanel::takeRecording() {
  tracks_.clear();
  for (const record::HistogramReading& reading : document_.metadata()->histograms) {
    std::map<std::string, std::size_t> seen;  // how many of the event this reading had
    for (record::HistFileTable& table : record::read_hist_file(reading.text)) {
      std::size_t nth = seen[table.event + '\n' + table.trigger]++;
      auto found = tracks_.begin();
      while (found != tracks_.end() && !((*found)->goesOn(table) && nth-- == 0)) ++found;
      if (found == tracks_.end()) found = tracks_.insert(found, std::make_shared<HistogramTrack>());
      (*found)->takeSpan(std::move(table));
    }
  }
  fillWhich();
  showTrack();
}

void HistogramPanel::ask() {
  if (isOfRecording() || event_.name.isEmpty() || !isVisible() || is_asking_) return;
  is_asking_ = true;
  service_.read(QStringLiteral("events/%1/%2/hist").arg(event_.system, event_.name),
                [this, asked = event_](bool is_there, const QString& text) {
                  is_asking_ = false;
                  if (!asked.isSame(event_)) return ask();
                  if (!since_.isValid()) since_.start();
                  take(static_cast<double>(since_.elapsed()) / 1e3, is_there ? text.toStdString() : std::string());
                });
}

void HistogramPanel::take(double at_s, const std::string& text) {
  std::vector<record::HistFileTable> tables = record::read_hist_file(text);
  bool are_same = tables.size() == tracks_.size();
  for (std::size_t i = 0; are_same && i < tables.size(); ++i) are_same = tracks_[i]->goesOn(tables[i]);
  if (!are_same) tracks_ = goingOn(tables);
  for (std::size_t i = 0; i < tables.size(); ++i) tracks_[i]->takeTotals(at_s, std::move(tables[i]));
  if (!are_same) fillWhich();
  showTrack();
}

// A track for each table: the one that it goes on with, or a new one.
std::vector<std::shared_ptr<HistogramTrack>> HistogramPanel::goingOn(const std::vector<record::HistFileTable>& tables) {
  std::vector<std::shared_ptr<HistogramTrack>> tracks;
  for (const record::HistFileTable& table : tables) {
    const auto old = std::ranges::find_if(tracks_, [&](const auto& one) { return one && one->goesOn(table); });
    tracks.push_back(old == tracks_.end() ? std::make_shared<HistogramTrack>() : std::exchange(*old, nullptr));
  }
  return tracks;
}

void HistogramPanel::fillWhich() {
  const QString chosen = which_->currentText();
  which_->clear();
  for (const auto& one : tracks_) {
    const QString event = QString::fromStdString(one->head().event);
    which_->addItem(event.isEmpty() ? titleOf(one->head()) : event + QStringLiteral(": ") + titleOf(one->head()));
    which_->setItemData(which_->count() - 1, QString::fromStdString(one->head().trigger), Qt::ToolTipRole);
  }
  which_->setCurrentIndex(std::max(0, which_->findText(chosen)));
  which_->setVisible(!tracks_.empty());
}

// Groups: by the keys beside the measuring one.
void HistogramPanel::fillGroups() {
  const auto shown = track();
  QStringList groups;
  if (shown && shown->head().measuring_key() && shown->head().keys.size() > 1) {
    std::map<QString, std::uint64_t> hits;
    for (const std::uint32_t entry : shown->order()) hits[groupOf(*shown, entry)] += shown->entries()[entry].hits;
    for (const auto& [group, count] : hits) groups.append(group);
    std::ranges::stable_sort(groups, std::greater<>(), [&](const QString& group) { return hits[group]; });
    if (groups.size() > kMostGroups) groups.resize(kMostGroups);
  }
  if (groups == groups_ || group_->view()->isVisible()) return;  // somebody may be choosing
  groups_ = groups;
  group_->setVisible(!groups.empty());
  const QString chosen = group_->currentIndex() > 0 ? group_->currentText() : QString();
  group_->clear();
  if (groups.empty()) return;
  group_->addItem(tr("all"));
  group_->addItems(groups);
  group_->setCurrentIndex(std::max(0, group_->findText(chosen)));
}

void HistogramPanel::showTrack() {
  const auto shown = track();
  const bool is_live = !isOfRecording();
  line_->setVisible(is_live);
  for (QToolButton* one : {clear_, pause_, remove_, recorded_}) one->setVisible(is_live && shown != nullptr);
  shown_->setVisible(shown != nullptr);
  pause_->setText(shown && shown->head().is_paused ? tr("Continue") : tr("Pause"));
  table_->setVisible(shown != nullptr);
  picture_->setHint(
      !is_live ? tr("This recording has no histograms. kevtrace run --hist 'EVENT: keys=…' -o FILE keeps them.")
      : event_.name.isEmpty() ? tr("Select an event; its hits are counted by the keys that you write above.")
                              : tr("No histogram counts hits of %1. Write its keys above: a field, "
                                   "FIELD.log2, FIELD.loglinear, common_pid.execname, …")
                                    .arg(event_.name));
  const int columns = rows_->columnCount();
  rows_->show(shown);
  if (rows_->columnCount() != columns)
    for (int column = 0; column < rows_->columnCount(); ++column) table_->resizeColumnToContents(column);
  fillGroups();
  showPicture();
}

void HistogramPanel::showPicture() {
  const auto shown = track();
  if (!shown) {
    head_->clear();
    return picture_->setPicture({});
  }
  const std::optional<QString> group = group_->currentIndex() > 0 ? std::optional(group_->currentText()) : std::nullopt;
  const bool is_scale = shown->head().measuring_key().has_value();
  HistogramPicture picture = pictureOf(*shown, group, is_scale ? picture_->roomForRanges() : kMostEntries);
  QString text = tr("%1 hits, %2 entries").arg(grouped(shown->hits()), grouped(shown->order().size()));
  if (shown->dropped()) text += tr(", %1 dropped").arg(grouped(shown->dropped()));
  if (const auto most = shown->head().others_at_most) text += tr(", any other %1 or fewer").arg(grouped(*most));
  if (const auto values = percentilesOf(*shown, group))
    text += tr(" · p50 %1 · p90 %2 · p99 %3 · max %4")
                .arg(grouped((*values)[0]), grouped((*values)[1]), grouped((*values)[2]), grouped((*values)[3]));
  if (picture.left_out) text += tr(" · %1 more entries in the table").arg(grouped(picture.left_out));
  if (shown->head().is_paused) text += tr(" · paused");
  head_->setText(text);
  picture_->setPicture(std::move(picture));
}

QString HistogramPanel::lineFilter() const {
  const auto shown = track();
  const auto line = picture_->current();
  if (!shown || !line) return {};
  return filterOf(*shown, picture_->picture().lines[*line], formatOf(*shown));
}

// A recording's histogram has an event of its own, whatever is selected.
const record::EventFormat* HistogramPanel::formatOf(const HistogramTrack& track) const {
  if (track.head().event.empty()) return event_.format.get();
  const std::string& event = track.head().event;
  for (const record::EventFormat& format : document_.metadata()->formats.all())
    if (event.ends_with(format.system + ':' + format.name)) return &format;
  return nullptr;
}

void HistogramPanel::wantShown() {
  const QString filter = lineFilter();
  if (filter.isEmpty()) return;
  const QString of = QString::fromStdString(track()->head().event);
  const QString name = of.isEmpty() ? event_.name : of.section(QLatin1Char(':'), -1);
  Q_EMIT shownWanted(name + QStringLiteral(": ") + filter);
}

void HistogramPanel::writeCount() {
  if (keys_->text().trimmed().isEmpty() || !count_->isEnabled()) return;
  Q_EMIT triggerWanted(triggerText({.kind = QStringLiteral("hist"),
                                    .target = {},
                                    .keys = keys_->text().trimmed(),
                                    .values = values_->text().trimmed(),
                                    .sort = {},
                                    .count = {},
                                    .filter = condition_->text().trimmed()}));
}

void HistogramPanel::writeCommand(const QString& command) {
  if (const auto shown = track())
    Q_EMIT triggerWanted(withCommand(QString::fromStdString(shown->head().trigger), command));
}

}  // namespace kevt::gui
