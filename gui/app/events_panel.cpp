// Events. Everything that is changed here is one write to one file of the directory, and what that file answers is
// shown.
#include "gui/app/events_panel.h"

#include <QFontDatabase>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTabWidget>
#include <QTreeView>
#include <QVBoxLayout>

#include "gui/model/event_tree.h"
#include "gui/model/row_text.h"
#include "gui/model/trace_document.h"
#include "gui/model/trace_filter.h"
#include "gui/model/tracing_service.h"
#include "gui/view/sparkline.h"

namespace kevt::gui {

EventsPanel::EventsPanel(TracingService& service, EventTree& events, TraceDocument& document, QWidget* parent)
    : QWidget(parent), service_(service), events_(events), document_(document) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(4, 4, 4, 4);
  auto* search = new QLineEdit(this);
  search->setPlaceholderText(tr("find an event"));
  search->setAccessibleName(tr("Find an event"));
  search->setClearButtonEnabled(true);
  layout->addWidget(search);
  auto* splitter = new QSplitter(Qt::Vertical, this);
  layout->addWidget(splitter, 1);
  sorted_ = new QSortFilterProxyModel(this);
  sorted_->setSourceModel(&events_);
  sorted_->setRecursiveFilteringEnabled(true);
  sorted_->setFilterCaseSensitivity(Qt::CaseInsensitive);
  view_ = new QTreeView(splitter);
  view_->setModel(sorted_);
  view_->setUniformRowHeights(true);
  view_->setAccessibleName(tr("Events"));
  view_->setItemDelegateForColumn(EventTree::Rate, new SparklineDelegate(view_));
  view_->header()->setStretchLastSection(true);
  view_->header()->resizeSection(EventTree::Name, 150);
  view_->header()->resizeSection(EventTree::Hits, 60);
  view_->header()->resizeSection(EventTree::Missed, 54);
  view_->header()->resizeSection(EventTree::Rate, 150);
  connect(search, &QLineEdit::textChanged, this, [this](const QString& text) {
    sorted_->setFilterFixedString(text);
    if (!text.isEmpty()) view_->expandAll();
  });
  auto* tabs = new QTabWidget(splitter);
  format_ = new QPlainTextEdit(tabs);
  format_->setReadOnly(true);
  format_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  format_->setLineWrapMode(QPlainTextEdit::NoWrap);
  format_->setAccessibleName(tr("Format of the event"));
  tabs->addTab(format_, tr("Format"));
  auto* filter_page = new QWidget(tabs);
  auto* filter_layout = new QVBoxLayout(filter_page);
  filter_ = new QLineEdit(filter_page);
  filter_->setAccessibleName(tr("Filter of the event"));
  filter_->setPlaceholderText(tr("count > 4096 && common_pid != 1    (empty: no filter)"));
  filter_verdict_ = new QLabel(filter_page);
  filter_verdict_->setWordWrap(true);
  auto* write = new QPushButton(tr("Write the filter"), filter_page);
  filter_layout->addWidget(filter_);
  filter_layout->addWidget(filter_verdict_);
  filter_layout->addWidget(write, 0, Qt::AlignLeft);
  filter_layout->addStretch();
  tabs->addTab(filter_page, tr("Filter"));
  auto* trigger_page = new QWidget(tabs);
  auto* trigger_layout = new QVBoxLayout(trigger_page);
  triggers_ = new QLabel(trigger_page);
  triggers_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  trigger_ = new QLineEdit(trigger_page);
  trigger_->setAccessibleName(tr("Trigger of the event"));
  trigger_->setPlaceholderText(tr("traceoff:1 if count > 100000    (in front of it !: take it away)"));
  trigger_verdict_ = new QLabel(trigger_page);
  trigger_verdict_->setWordWrap(true);
  auto* add = new QPushButton(tr("Write the trigger"), trigger_page);
  trigger_layout->addWidget(triggers_);
  trigger_layout->addWidget(trigger_);
  trigger_layout->addWidget(trigger_verdict_);
  trigger_layout->addWidget(add, 0, Qt::AlignLeft);
  trigger_layout->addStretch();
  tabs->addTab(trigger_page, tr("Trigger"));
  splitter->setStretchFactor(0, 3);
  splitter->setStretchFactor(1, 2);
  connect(view_->selectionModel(), &QItemSelectionModel::currentChanged, this, &EventsPanel::showEvent);
  connect(&events_, &QAbstractItemModel::modelReset, view_, &QTreeView::expandAll);
  connect(filter_, &QLineEdit::textChanged, this, &EventsPanel::judgeFilter);
  connect(filter_, &QLineEdit::returnPressed, this, &EventsPanel::writeFilter);
  connect(write, &QPushButton::clicked, this, &EventsPanel::writeFilter);
  connect(trigger_, &QLineEdit::returnPressed, this, &EventsPanel::writeTrigger);
  connect(add, &QPushButton::clicked, this, &EventsPanel::writeTrigger);
  connect(&events_, &EventTree::enableWanted, this, [this](const QString& system, const QString& name, bool on) {
    const QString folder = name.isEmpty() ? system : system + QLatin1Char('/') + name;
    service_.write(
        {{QStringLiteral("events/%1/enable").arg(folder), on ? QStringLiteral("1") : QStringLiteral("0"), false, {}}},
        {});
  });
}

QString EventsPanel::filterVerdict() const { return filter_verdict_->text(); }
QString EventsPanel::formatText() const { return format_->toPlainText(); }

void EventsPanel::select(const QString& system, const QString& name) {
  const QModelIndex at = sorted_->mapFromSource(events_.find(system, name));
  if (at.isValid()) view_->setCurrentIndex(at);
}

void EventsPanel::takeState(const LiveState&) {
  const QModelIndex at = events_.find(system_, name_);
  if (const LiveEvent* event = events_.eventAt(at))
    triggers_->setText(event->trigger.isEmpty() ? tr("no trigger") : event->trigger);
}

void EventsPanel::showEvent() {
  const LiveEvent* event = events_.eventAt(sorted_->mapToSource(view_->currentIndex()));
  if (!event) return;
  if (event->system == system_ && event->name == name_) return;
  system_ = event->system;
  name_ = event->name;
  filter_->setText(event->filter);
  triggers_->setText(event->trigger.isEmpty() ? tr("no trigger") : event->trigger);
  trigger_verdict_->clear();
  service_.read(QStringLiteral("events/%1/%2/format").arg(system_, name_),
                [this, name = name_](bool, const QString& text) {
                  if (name == name_) format_->setPlainText(text);
                });
}

void EventsPanel::judgeFilter() {
  const QString text = filter_->text().trimmed();
  if (text.isEmpty() || name_.isEmpty()) return filter_verdict_->setText(tr("no filter: every hit is recorded"));
  FilterMistake mistake;
  const record::StoreView& view = document_.view();
  const QString whole = QStringLiteral("%1/%2: ").arg(system_, name_);
  const auto filter = TraceFilter::compile(whole + text, view.names(), mistake);
  if (!filter) {
    const bool is_about_text = mistake.column >= whole.size();
    filter_verdict_->setText(is_about_text ? QStringLiteral("⚠ %1\n%2").arg(mistake.text, mistake.help)
                                           : tr("nothing of this event is loaded: the kernel's file will judge it"));
    return;
  }
  // Of what is loaded: the last fifty thousand records are enough to tell, and cost no pause.
  const record::Row from = view.rows() > 50'000 ? view.rows() - 50'000 : 0;
  std::uint64_t kept = 0, all = 0;
  for (record::Row row = from; row < view.rows(); ++row) {
    if (view.format(row).name != name_.toStdString()) continue;
    ++all;
    kept += filter->keeps(view, row);
  }
  filter_verdict_->setText(tr("✓ would have kept %1 of the last %2").arg(grouped(kept), grouped(all)));
}

void EventsPanel::writeFilter() {
  if (name_.isEmpty()) return;
  const QString text = filter_->text().trimmed();
  const QString path = QStringLiteral("events/%1/%2/filter").arg(system_, name_);
  service_.write({{path, text.isEmpty() ? QStringLiteral("0") : text, false, {}}},
                 [this](const std::vector<FileWrite>& made) {
                   if (made.empty()) return;
                   filter_verdict_->setText(made.front().error.isEmpty() ? tr("✓ written")
                                                                         : QStringLiteral("⚠ ") + made.front().error);
                 });
}

void EventsPanel::writeTrigger() {
  const QString text = trigger_->text().trimmed();
  if (name_.isEmpty() || text.isEmpty()) return;
  const QString path = QStringLiteral("events/%1/%2/trigger").arg(system_, name_);
  service_.write({{path, text, true, {}}}, [this](const std::vector<FileWrite>& made) {
    if (made.empty()) return;
    trigger_verdict_->setText(made.front().error.isEmpty() ? tr("✓ written")
                                                           : QStringLiteral("⚠ ") + made.front().error);
    if (made.front().error.isEmpty()) trigger_->clear();
  });
}

}  // namespace kevt::gui
