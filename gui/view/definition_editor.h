// DefinitionEditor: definitions, one a line, highlighted and checked as one types.
#pragma once

#include <QMenu>
#include <QPlainTextEdit>
#include <QPointer>
#include <memory>
#include <vector>

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
  // Of the cursor's line, those at the cursor first.
  std::vector<const Mistake*> mistakesAtCursor() const;
  // Carries out the fix at the cursor; where that is more than one, or none and the line has several, a menu of them
  // opens. Undo takes it back. When the text is being checked, as soon as it was.
  void applyFix();
  QMenu* fixMenu() const { return fix_menu_; }  // while it is open; else nullptr
  void goTo(int line, int column);
  void replaceText(const QString& text);  // as one undoable step
  // The cursor's line without names that only types resolve: it means the same where there are none. False: it has
  // none.
  bool writeOut();
  void complete();  // what can stand at the cursor, when the answer is there
  bool isCompleting() const { return is_completing_; }
  bool showsCompletion() const;
  QStringList suggestions() const;
  void setHits(const QMap<QString, QString>& hits);  // GROUP/EVENT → what stands in the margin
  QString marginText(int line) const;

 Q_SIGNALS:
  void checkedChanged();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;
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
  void carryOut(int line, const TextFix& fix);
  void say(const QString& text);  // beside the cursor, for a moment
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
  bool wants_fix_ = false;  // when the text was checked
  QPointer<QMenu> fix_menu_;
};

}  // namespace kevt::gui
