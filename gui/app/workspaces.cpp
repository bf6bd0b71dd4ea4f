#include "gui/app/workspaces.h"

#include <QAction>
#include <QActionGroup>
#include <QDataStream>
#include <QDockWidget>
#include <QEvent>
#include <QIODevice>
#include <QKeySequence>
#include <QMainWindow>
#include <QSettings>
#include <QSplitter>
#include <QToolBar>
#include <initializer_list>

namespace kevt::gui {

namespace {

constexpr int kLayoutVersion = 1;  // of saveState(): others are ignored

QString nameOf(Workspace workspace) { return Workspaces::names()[static_cast<int>(workspace)]; }

}  // namespace

const QStringList& Workspaces::names() {
  static const QStringList kNames = {QStringLiteral("author"), QStringLiteral("live"), QStringLiteral("analyse")};
  return kNames;
}

Workspaces::Workspaces(QMainWindow& window, QSplitter& centre)
    : QObject(&window), window_(window), centre_(centre), actions_(new QActionGroup(this)) {
  const auto action = [this](const QString& text, const QString& key, const QString& tip, Workspace workspace) {
    auto* one = new QAction(text, actions_);
    one->setCheckable(true);
    one->setShortcut(QKeySequence(key));
    one->setToolTip(tr("%1 (%2)").arg(tip, key));
    connect(one, &QAction::triggered, this, [this, workspace] {
      is_chosen_ = true;
      show(workspace);
    });
    window_.addAction(one);
  };
  action(tr("Author"), QStringLiteral("F7"), tr("write probes: the editor large, the event's pages beside it"),
         Workspace::Author);
  action(tr("Live"), QStringLiteral("F8"), tr("watch: the timeline large, events with their counts beside it"),
         Workspace::Live);
  action(tr("Analyse"), QStringLiteral("F9"), tr("timeline and table, measures and the flame graph below"),
         Workspace::Analyse);
  window_.installEventFilter(this);
  arrange(current_);
  check();
}

// Only now the window has the size that the pages share.
bool Workspaces::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Show) {
    window_.removeEventFilter(this);
    if (!restore(left_.value(nameOf(current_)))) arrange(current_);
  }
  return QObject::eventFilter(watched, event);
}

void Workspaces::addButtons(QToolBar& bar) {
  for (QAction* action : actions_->actions()) bar.addAction(action);
}

QDockWidget* Workspaces::dock(const char* name) const { return window_.findChild<QDockWidget*>(QLatin1String(name)); }

void Workspaces::check() { actions_->actions()[static_cast<int>(current_)]->setChecked(true); }

QByteArray Workspaces::arrangement() const {
  QByteArray bytes;
  QDataStream out(&bytes, QIODevice::WriteOnly);
  out.setVersion(QDataStream::Qt_6_0);
  out << window_.saveState(kLayoutVersion) << centre_.saveState();
  return bytes;
}

bool Workspaces::restore(const QByteArray& arrangement) {
  QByteArray docks, centre;
  QDataStream in(arrangement);
  in.setVersion(QDataStream::Qt_6_0);
  in >> docks >> centre;
  if (in.status() != QDataStream::Ok || !window_.restoreState(docks, kLayoutVersion)) return false;
  centre_.restoreState(centre);
  return true;
}

void Workspaces::show(Workspace workspace) {
  left_[nameOf(current_)] = arrangement();
  current_ = workspace;
  if (!restore(left_.value(nameOf(workspace)))) arrange(workspace);
  check();
}

void Workspaces::propose(Workspace workspace) {
  if (!is_chosen_ && workspace != current_) show(workspace);
}

void Workspaces::reset() {
  left_.remove(nameOf(current_));
  arrange(current_);
}

QMap<QString, QByteArray> Workspaces::arrangements() const {
  QMap<QString, QByteArray> all = left_;
  all[nameOf(current_)] = arrangement();
  return all;
}

void Workspaces::take(const QString& name, const QMap<QString, QByteArray>& arrangements) {
  for (const QString& one : names())
    if (arrangements.contains(one)) left_[one] = arrangements[one];
  const qsizetype number = names().indexOf(name);
  is_chosen_ |= number >= 0;
  if (number >= 0) current_ = static_cast<Workspace>(number);
  if (!restore(left_.value(nameOf(current_)))) arrange(current_);
  check();
}

void Workspaces::load(QSettings& settings) {
  QMap<QString, QByteArray> kept;
  for (const QString& name : names()) kept[name] = settings.value(QStringLiteral("workspaces/") + name).toByteArray();
  take({}, kept);
}

void Workspaces::save(QSettings& settings) const {
  const QMap<QString, QByteArray> all = arrangements();
  for (auto one = all.begin(); one != all.end(); ++one)
    settings.setValue(QStringLiteral("workspaces/") + one.key(), one.value());
}

// Each workspace says where its docks are; the others are hidden at the bottom, where View shows them.
void Workspaces::arrange(Workspace workspace) {
  using Docks = std::initializer_list<const char*>;
  const auto stack = [this](Qt::DockWidgetArea area, Docks names) {
    QDockWidget* first = nullptr;
    for (const char* name : names) {
      QDockWidget* one = dock(name);
      first ? window_.tabifyDockWidget(first, one) : window_.addDockWidget(area, one);
      if (!first) first = one;
      one->show();
    }
    first->raise();
    return first;
  };
  const auto hide = [this](Docks names) {
    for (const char* name : names) {
      window_.addDockWidget(Qt::BottomDockWidgetArea, dock(name));
      dock(name)->hide();
    }
  };
  for (QDockWidget* one : window_.findChildren<QDockWidget*>()) {
    one->setFloating(false);
    window_.removeDockWidget(one);
  }
  const int width = window_.width(), height = window_.height();
  switch (workspace) {
    case Workspace::Author: {
      QDockWidget* probes = stack(Qt::LeftDockWidgetArea, {"probes"});
      QDockWidget* events = stack(Qt::RightDockWidgetArea, {"events"});
      QDockWidget* below = stack(Qt::BottomDockWidgetArea, {"problems", "directory", "files", "histogram"});
      hide({"measure", "flame"});
      window_.resizeDocks({probes, events}, {width * 40 / 100, width * 28 / 100}, Qt::Horizontal);
      window_.resizeDocks({below}, {height * 22 / 100}, Qt::Vertical);
      centre_.setSizes({1, 1});
      break;
    }
    case Workspace::Live: {
      QDockWidget* events = stack(Qt::LeftDockWidgetArea, {"events", "probes"});
      QDockWidget* below = stack(Qt::BottomDockWidgetArea, {"histogram", "measure", "problems", "files"});
      hide({"flame", "directory"});
      window_.resizeDocks({events}, {width * 26 / 100}, Qt::Horizontal);
      window_.resizeDocks({below}, {height * 22 / 100}, Qt::Vertical);
      centre_.setSizes({3, 1});
      break;
    }
    case Workspace::Analyse: {
      QDockWidget* flame = stack(Qt::BottomDockWidgetArea, {"flame"});
      QDockWidget* measure = stack(Qt::BottomDockWidgetArea, {"measure"});
      window_.splitDockWidget(measure, flame, Qt::Horizontal);  // before it has tabs: with them it gets one more
      for (const char* beside : {"histogram", "problems"}) {
        window_.tabifyDockWidget(measure, dock(beside));
        dock(beside)->show();
      }
      measure->raise();
      hide({"probes", "events", "files", "directory"});
      window_.resizeDocks({measure, flame}, {width / 2, width / 2}, Qt::Horizontal);
      window_.resizeDocks({measure, flame}, {height * 32 / 100, height * 32 / 100}, Qt::Vertical);
      centre_.setSizes({3, 2});
      break;
    }
  }
}

}  // namespace kevt::gui
