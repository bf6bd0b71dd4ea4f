// CommandPalette: every action of the window by its name.
#pragma once

#include <QDialog>
#include <QList>

class QAction;
class QLineEdit;
class QListWidget;

namespace kevt::gui {

class CommandPalette : public QDialog {
  Q_OBJECT

 public:
  CommandPalette(const QList<QAction*>& actions, QWidget* parent);
  QLineEdit& edit() { return *edit_; }
  void run();  // what is selected

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void fill();
  QList<QAction*> actions_;
  QLineEdit* edit_;
  QListWidget* list_;
};

// How well `text` contains all letters of `pattern` in order: the smaller the better; -1: not at all.
int fuzzyRank(const QString& text, const QString& pattern);

}  // namespace kevt::gui
