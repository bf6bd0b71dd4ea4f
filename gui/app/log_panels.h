// ProblemsPanel: what is wrong, each with what to do. FilesPanel: what was written to the tracing directory.
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
  // Of the recording, the target, the directory; said once.
  void add(const QString& kind, const QString& text, const QString& help);
  // One line of `kind`, replaced; an empty text removes it.
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
