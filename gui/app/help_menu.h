// The menu Help: the guide, the keys of commands, what this program is.
#pragma once

#include <QDialog>
#include <QTreeWidget>

namespace kevt::gui {

class MainWindow;

void addHelpMenu(MainWindow& window);

// The keys of all commands, by menu.
class KeysDialog : public QDialog {
  Q_OBJECT

 public:
  explicit KeysDialog(MainWindow& window);
  QTreeWidget& keys() { return *keys_; }

 private:
  QTreeWidget* keys_;
};

}  // namespace kevt::gui
