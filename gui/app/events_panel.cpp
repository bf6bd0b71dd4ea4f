// Events. Each change is one write to one file of the directory. The file's answer is shown, and an undo step makes the
// opposite write.
#include "gui/app/events_panel.h"

#include <QCheckBox>
#include <QFontDatabase>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QScrollArea>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTabWidget>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/app/write_command.h"
#include "gui/model/event_tree.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/view/sparkline.h"

namespace kevt::gui {

namespace {

// Filters the tree by name; "only active" keeps events that are on or were hit.
class EventFilter : public QSortFilterProxyModel {
 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;
  void setOnlyActive(bool only) {
    only_active_ = only;
    invalidateFilter();
  }

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override {
    const auto* tree = static_cast<const EventTree*>(sourceModel());
    const LiveEvent* event = tree->eventAt(tree->index(row, 0, parent));
    if (only_active_ && (!event || (!event->is_enabled && event->hits == 0))) return false;
    return QSortFilterProxyModel::filterAcceptsRow(row, parent);
  }

 private:
  bool only_active_ = false;
};

}  // namespace

EventsPanel::EventsPanel(const Parts& parts, QWidget* parent) : QWidget(parent), parts_(parts) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(4, 4, 4, 4);
  auto* splitter = new QSplitter(Qt::Vertical, this);
  layout->addWidget(splitter, 1);
  splitter->addWidget(makeTree());
  makeTabs(splitter);
  splitter->setStretchFactor(0, 1);
  splitter->setStretchFactor(1, 1);
  splitter->setChildrenCollapsible(false);
  connect(view_->selectionModel(), &QItemSelectionModel::currentChanged, this, &EventsPanel::showEvent);
  connect(&parts_.events, &QAbstractItemModel::modelReset, view_, &QTreeView::expandAll);
  connect(&parts_.events, &EventTree::enableWanted, this, &EventsPanel::enable);
  connect(filter_, &FilterPage::writeWanted, this, &EventsPanel::writeFilter);
  connect(trigger_, &TriggerPage::writeWanted, this, &EventsPanel::writeTrigger);
}

QWidget* EventsPanel::makeTree() {
  auto* page = new QWidget(this);
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  auto* bar = new QHBoxLayout;
  auto* search = new QLineEdit(page);
  search->setPlaceholderText(tr("find an event"));
  search->setAccessibleName(tr("Find an event"));
  search->setClearButtonEnabled(true);
  auto* active = new QCheckBox(tr("only active"), page);
  bar->addWidget(search, 1);
  bar->addWidget(active);
  layout->addLayout(bar);
  auto* filter = new EventFilter(this);
  sorted_ = filter;
  sorted_->setSourceModel(&parts_.events);
  sorted_->setRecursiveFilteringEnabled(true);
  sorted_->setFilterCaseSensitivity(Qt::CaseInsensitive);
  view_ = new QTreeView(page);
  view_->setModel(sorted_);
  view_->setDragEnabled(true);
  view_->setDragDropMode(QAbstractItemView::DragOnly);
  view_->setUniformRowHeights(true);
  view_->setAccessibleName(tr("Events"));
  view_->setItemDelegateForColumn(EventTree::Rate, new SparklineDelegate(view_));
  view_->setToolTip(tr("Space: on or off · F filter · T trigger · P plot · Enter format"));
  view_->installEventFilter(this);
  static constexpr int kWidths[EventTree::Columns] = {128, 60, 52, 136, 96, 110, 110, 130};
  for (int column = 0; column < EventTree::Columns; ++column) view_->header()->resizeSection(column, kWidths[column]);
  connect(sorted_, &QAbstractItemModel::rowsInserted, this, &EventsPanel::widenNames);
  connect(sorted_, &QAbstractItemModel::modelReset, this, &EventsPanel::widenNames);
  layout->addWidget(view_, 1);
  connect(search, &QLineEdit::textChanged, this, [this](const QString& text) {
    sorted_->setFilterFixedString(text);
    if (!text.isEmpty()) view_->expandAll();
  });
  connect(active, &QCheckBox::toggled, this, [this, filter](bool only) {
    filter->setOnlyActive(only);
    view_->expandAll();
  });
  return page;
}

// Names are shown whole, as far as there is room. What the user makes narrower stays so until others come.
void EventsPanel::widenNames() {
  constexpr int kMost = 260, kMostRows = 100, kGap = 8;
  int width = view_->columnWidth(EventTree::Name);
  for (int system = 0; system < sorted_->rowCount(); ++system) {
    const QModelIndex parent = sorted_->index(system, EventTree::Name);
    for (int row = 0; row < std::min(sorted_->rowCount(parent), kMostRows); ++row) {
      const QString name = sorted_->index(row, EventTree::Name, parent).data().toString();
      width = std::max(width, view_->fontMetrics().horizontalAdvance(name) + 3 * view_->indentation() + kGap);
    }
  }
  view_->setColumnWidth(EventTree::Name, std::min(width, kMost));
}

void EventsPanel::makeTabs(QWidget* parent) {
  tabs_ = new QTabWidget(parent);
  tabs_->setUsesScrollButtons(true);
  format_ = new QPlainTextEdit(tabs_);
  format_->setReadOnly(true);
  format_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  format_->setLineWrapMode(QPlainTextEdit::NoWrap);
  format_->setAccessibleName(tr("Format of the event"));
  format_->setPlaceholderText(tr("the format of the event that is selected above"));
  format_->setTabStopDistance(format_->fontMetrics().horizontalAdvance(QLatin1Char(' ')) * 2);
  filter_ = new FilterPage(parts_.document, tabs_);
  trigger_ = new TriggerPage(tabs_);
  code_ = new CodePage(parts_.compiler, tabs_);
  same_ = new ExportAsPage(tabs_);
  const auto scrolled = [this](QWidget* page) {
    auto* area = new QScrollArea(tabs_);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setWidget(page);
    return area;
  };
  tabs_->addTab(format_, tr("Format"));
  tabs_->addTab(scrolled(filter_), tr("Filter"));
  tabs_->addTab(scrolled(trigger_), tr("Trigger"));
  tabs_->addTab(code_, tr("Code"));
  tabs_->addTab(same_, tr("Same as"));
}

QString EventsPanel::filterVerdict() const { return filter_->verdict(); }
QString EventsPanel::formatText() const { return format_->toPlainText(); }
QString EventsPanel::folder() const { return QStringLiteral("events/%1/%2").arg(event_.system, event_.name); }

void EventsPanel::setTarget(const WrittenTarget& target) {
  target_ = target;
  refresh();
}

void EventsPanel::select(const QString& system, const QString& name) {
  const QModelIndex at = sorted_->mapFromSource(parts_.events.find(system, name));
  if (at.isValid()) view_->setCurrentIndex(at);
}

bool EventsPanel::eventFilter(QObject* watched, QEvent* event) {
  if (watched != view_ || event->type() != QEvent::KeyPress || event_.name.isEmpty())
    return QWidget::eventFilter(watched, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  if (key->modifiers() & (Qt::ControlModifier | Qt::AltModifier)) return false;
  switch (key->key()) {
    case Qt::Key_F:
      tabs_->setCurrentIndex(Filter);
      filter_->edit().setFocus();
      return true;
    case Qt::Key_T:
      tabs_->setCurrentIndex(Trigger);
      trigger_->edit().setFocus();
      return true;
    case Qt::Key_P:
      Q_EMIT plotWanted(event_.system, event_.name);
      return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      tabs_->setCurrentIndex(Format);
      return true;
    default:
      return false;
  }
}

void EventsPanel::takeState(const LiveState& state) {
  if (!parts_.events.find(event_.system, event_.name).isValid())
    for (const LiveEvent& event : state.events)
      if (!event.definition.isEmpty()) {
        select(event.system, event.name);
        break;
      }
  refresh();
}

void EventsPanel::takeRecording() {
  if (parts_.service.isRunning()) return;
  parts_.events.takeRecording(parts_.document.view(), *parts_.document.metadata());
  if (event_.name.isEmpty() || !parts_.events.find(event_.system, event_.name).isValid()) {
    const QModelIndex first = sorted_->index(0, 0, sorted_->index(0, 0));
    if (first.isValid()) view_->setCurrentIndex(first);
  }
  refresh();
}

void EventsPanel::takeFormat(const QString& text) {
  format_->setPlainText(text);
  auto format = record::parse_format(event_.system.toStdString(), text.toStdString());
  event_.format = format ? std::make_shared<const record::EventFormat>(*std::move(format)) : nullptr;
  filter_->show(event_);
  trigger_->show(event_);
  Q_EMIT eventShown(event_);
}

void EventsPanel::refresh() {
  const LiveEvent* event = parts_.events.eventAt(parts_.events.find(event_.system, event_.name));
  if (!event) return;
  event_.definition = event->definition;
  event_.filter = event->filter;
  event_.triggers = event->trigger.split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  event_.is_on = event->is_enabled;
  filter_->show(event_);
  trigger_->show(event_);
  code_->show(event_);
  // The file lists a trigger without a count with `:unlimited`, which cannot be written back.
  QStringList triggers;
  for (const QString& trigger : event_.triggers) triggers.append(QString(trigger).remove(QLatin1String(":unlimited")));
  same_->show({{event_.definition, event_.system, event_.name, event_.filter, triggers, true}}, target_);
  Q_EMIT eventShown(event_);
}

void EventsPanel::proposeFilter(const QString& system, const QString& name, const QString& filter) {
  select(system, name);
  tabs_->setCurrentIndex(Filter);
  filter_->edit().setText(filter);
  filter_->edit().setFocus();
}

void EventsPanel::showEvent() {
  const LiveEvent* event = parts_.events.eventAt(sorted_->mapToSource(view_->currentIndex()));
  if (!event) return;
  if (event->system == event_.system && event->name == event_.name) return refresh();
  event_ = {.system = event->system, .name = event->name};
  refresh();
  if (!parts_.service.isRunning()) {
    for (const auto& format : parts_.document.view().names().events)
      if (format->name == event_.name.toStdString() && format->system == event_.system.toStdString())
        return takeFormat(QString::fromStdString(format->text));
    return;
  }
  parts_.service.read(folder() + QStringLiteral("/format"), [this, shown = event_](bool is_there, const QString& text) {
    if (!shown.isSame(event_)) return;
    if (is_there) return takeFormat(text);
    format_->setPlainText(text);
  });
}

void EventsPanel::enable(const QString& system, const QString& name, bool on) {
  const QString path =
      QStringLiteral("events/%1/enable").arg(name.isEmpty() ? system : system + QLatin1Char('/') + name);
  const auto to = [&](bool is_on) {
    return FileWrite{path, is_on ? QStringLiteral("1") : QStringLiteral("0"), false, {}};
  };
  // Undo for a system: each event goes back to its former state.
  std::vector<FileWrite> back;
  if (!name.isEmpty()) back.push_back(to(!on));
  if (name.isEmpty())
    for (const LiveEvent& event : parts_.events.eventsOf(system))
      if (event.is_enabled != on)
        back.push_back({QStringLiteral("events/%1/%2/enable").arg(system, event.name),
                        event.is_enabled ? QStringLiteral("1") : QStringLiteral("0"),
                        false,
                        {}});
  parts_.undo.push(
      new WriteCommand(parts_.service, {to(on)}, back,
                       (on ? tr("switch %1 on") : tr("switch %1 off")).arg(name.isEmpty() ? system : name)));
}

void EventsPanel::writeFilter(const QString& filter) {
  if (event_.name.isEmpty() || !parts_.service.isRunning()) return;
  const auto to = [&](const QString& text) {
    return FileWrite{folder() + QStringLiteral("/filter"), text.isEmpty() ? QStringLiteral("0") : text, false, {}};
  };
  parts_.undo.push(new WriteCommand(parts_.service, {to(filter)}, {to(event_.filter)}, tr("filter %1").arg(event_.name),
                                    [this](const std::vector<FileWrite>& made) {
                                      if (!made.empty())
                                        filter_->setVerdict(made.front().error.isEmpty()
                                                                ? tr("✓ written")
                                                                : QStringLiteral("⚠ ") + made.front().error);
                                    }));
}

void EventsPanel::writeTrigger(const QString& trigger) {
  if (event_.name.isEmpty() || !parts_.service.isRunning()) return;
  const QString path = folder() + QStringLiteral("/trigger");
  const bool removes = trigger.startsWith(QLatin1Char('!'));
  const FileWrite there{path, trigger, true, {}};
  const FileWrite back{path, removes ? trigger.mid(1) : QLatin1Char('!') + trigger, true, {}};
  parts_.undo.push(new WriteCommand(parts_.service, {there}, {back}, tr("trigger of %1").arg(event_.name),
                                    [this](const std::vector<FileWrite>& made) {
                                      if (made.empty()) return;
                                      const bool is_good = made.front().error.isEmpty();
                                      trigger_->setVerdict(is_good ? tr("✓ written")
                                                                   : QStringLiteral("⚠ ") + made.front().error);
                                      if (is_good) trigger_->edit().clear();
                                    }));
}

}  // namespace kevt::gui
