// TreePanel: the tracing directory as files: shows what each file reads, writes lines to it, and makes instances.
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
  void open();  // shows the directory anew, from its root
  // Shows a file such as "events/kprobes/op/filter"; its folders need not be unfolded.
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
