// DefinitionEditor: definitions, one per line, highlighted and checked while one types.
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
  bool isChecked() const { return !is_busy_ && !is_pending_; }  // whether checked() is about the present text
  // The mistakes of the cursor's line; those at the cursor come first.
  std::vector<const Mistake*> mistakesAtCursor() const;
  // Applies the fix at the cursor, as an undo step. If there are several at the cursor, or none there but several in
  // the line, a menu opens. While the text is being checked, waits for the result.
  void applyFix();
  QMenu* fixMenu() const { return fix_menu_; }  // while it is open; else nullptr
  void goTo(int line, int column);
  void replaceText(const QString& text);  // as one undoable step
  // Rewrites the cursor's line without names that only types resolve, so that it means the same without types. False:
  // the line has no such names.
  bool writeOut();
  void complete();  // asks for completions at the cursor, and shows them when they come
  bool isCompleting() const { return is_completing_; }
  bool showsCompletion() const;
  QStringList suggestions() const;
  void setHits(const QMap<QString, QString>& hits);  // GROUP/EVENT → text for the margin
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
  bool wants_fix_ = false;  // apply the fix once the text is checked
  QPointer<QMenu> fix_menu_;
};

}  // namespace kevt::gui
