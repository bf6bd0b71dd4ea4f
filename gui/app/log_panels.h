// ProblemsPanel: lists problems, each with advice. FilesPanel: lists the writes to the tracing directory.
#pragma once

#include <QTreeWidget>

namespace kevt::gui {

struct CheckedText;
struct FileWrite;

class ProblemsPanel : public QTreeWidget {
  Q_OBJECT

 public:
  explicit ProblemsPanel(QWidget* parent = nullptr);
  void showMistakes(const CheckedText& checked);
  // Adds a problem of the recording, target or directory; an equal one is not added again.
  void add(const QString& kind, const QString& text, const QString& help);
  // Sets the one line of `kind`; an empty text removes the line.
  void set(const QString& kind, const QString& text, const QString& help);
  bool has(const QString& part) const;

 Q_SIGNALS:
  void lineWanted(int line, int column);
};

class FilesPanel : public QTreeWidget {
  Q_OBJECT

 public:
  explicit FilesPanel(QWidget* parent = nullptr);
  void add(const FileWrite& write);
};

}  // namespace kevt::gui
