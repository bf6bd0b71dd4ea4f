// TreePanel: the tracing directory as files: what each reads, and a line that is written to it; and its instances.
#pragma once

#include <QWidget>

class QCheckBox;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QTimer;
class QTreeWidget;
class QTreeWidgetItem;
class QUndoStack;

namespace kevt::gui {

class TracingService;

class TreePanel : public QWidget {
  Q_OBJECT

 public:
  TreePanel(TracingService& service, QUndoStack& undo, QWidget* parent = nullptr);
  QTreeWidget& tree() { return *tree_; }
  QString text() const;
  void open();  // another directory: it is read from its root
  // The file, "events/kprobes/op/filter"; nothing of it needs to be unfolded.
  void showFile(const QString& path);

 private:
  void fill(QTreeWidgetItem* parent, const QString& path);
  void readFile();
  void write();
  void makeInstance();

  TracingService& service_;
  QUndoStack& undo_;
  QTreeWidget* tree_;
  QLabel* name_;
  QPlainTextEdit* text_;
  QLineEdit* line_;
  QCheckBox* adds_;
  QCheckBox* watches_;
  QTimer* timer_;
  QString path_;
};

}  // namespace kevt::gui
