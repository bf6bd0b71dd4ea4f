// DefinitionEditor: definitions, one a line, highlighted and checked as one types.
#pragma once

#include <QPlainTextEdit>
#include <memory>

#include "gui/model/compiler_service.h"

class QCompleter;
class QStandardItemModel;
class QTimer;

namespace kevt::gui {

class DefinitionEditor : public QPlainTextEdit {
  Q_OBJECT

 public:
  explicit DefinitionEditor(CompilerService& compiler, QWidget* parent = nullptr);
  ~DefinitionEditor() override;

  const CheckedText& checked() const { return checked_; }
  bool isChecked() const { return !is_busy_ && !is_pending_; }  // is checked() about the present text?
  // The mistake at the cursor, or the first one of its line.
  const Mistake* mistakeAtCursor() const;
  // Carries out the first fix of that mistake; undo takes it back.
  bool applyFix();
  void replaceText(const QString& text);  // as one undoable step
  // The cursor's line without names that only types resolve: it means the same where there are none. False: it has
  // none.
  bool writeOut();
  void complete();  // what can stand at the cursor, when the answer is there
  bool isCompleting() const { return is_completing_; }
  QStringList suggestions() const;
  void setHits(const QMap<QString, QString>& hits);  // GROUP/EVENT → what stands in the margin

 Q_SIGNALS:
  void checkedChanged();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  friend class EditorMargin;
  void startCheck();
  void showMistakes();
  void ask(bool asked);
  void showCompletion(const Completion& found, bool asked);
  QString mistakesTip(int line) const;
  void paintInlays();
  void insertCompletion(const QString& text);
  const Mistake* mistakeAt(int line, int column) const;
  void paintMargin(QPaintEvent* event);
  int marginWidth() const;

  CompilerService& compiler_;
  CheckedText checked_;
  QMap<QString, QString> hits_;
  QWidget* margin_;
  QCompleter* completer_;
  QStandardItemModel* suggestions_;
  int completion_begin_ = 0;
  QTimer* delay_;
  bool is_busy_ = false, is_pending_ = false, is_completing_ = false;
};

}  // namespace kevt::gui
