// Workspaces: three arrangements of the window's pages, switched by one key each, and each as it was left.
//
//   Author    the editor large; the event's pages beside it; mistakes and the directory's files below
//   Live      the timeline large; events with their counts beside it; the histogram below
//   Analyse   timeline and table; measures and the flame graph below, side by side
#pragma once

#include <QByteArray>
#include <QMap>
#include <QObject>
#include <QString>
#include <QStringList>

class QActionGroup;
class QDockWidget;
class QEvent;
class QMainWindow;
class QSettings;
class QSplitter;
class QToolBar;

namespace kevt::gui {

enum class Workspace { Author, Live, Analyse };

class Workspaces : public QObject {
  Q_OBJECT

 public:
  // Names in sessions and settings, in the order of the enumeration.
  static const QStringList& names();

  // `centre`: timeline over table. The docks are the window's; those that a workspace does not have are hidden in it,
  // and View shows them.
  Workspaces(QMainWindow& window, QSplitter& centre);

  // Three buttons; their actions are the window's, too.
  void addButtons(QToolBar& bar);

  Workspace current() const { return current_; }
  // Arranges the window as the workspace was left, or as it is at first.
  void show(Workspace workspace);
  // As show(), unless the user has chosen one: what was opened proposes where it is looked at.
  void propose(Workspace workspace);
  // Arranges the current one as at first.
  void reset();

  // Name of a workspace → how it was left (QMainWindow::saveState and QSplitter::saveState).
  QMap<QString, QByteArray> arrangements() const;
  // Unknown names, and arrangements of another program, are ignored. `name` empty: the current one stays.
  void take(const QString& name, const QMap<QString, QByteArray>& arrangements);

  // The user's own, from one start to the next.
  void load(QSettings& settings);
  void save(QSettings& settings) const;

  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QByteArray arrangement() const;
  bool restore(const QByteArray& arrangement);
  void arrange(Workspace workspace);
  QDockWidget* dock(const char* name) const;
  void check();

  QMainWindow& window_;
  QSplitter& centre_;
  QActionGroup* actions_;
  Workspace current_ = Workspace::Author;
  bool is_chosen_ = false;  // by the user, a session or settings
  QMap<QString, QByteArray> left_;
};

}  // namespace kevt::gui
