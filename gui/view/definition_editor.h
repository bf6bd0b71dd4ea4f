// DefinitionEditor: definitions, one a line, highlighted and checked as one types.
#pragma once

#include <QPlainTextEdit>
#include <memory>

#include "compiler/target/target_env.h"
#include "gui/model/definition_check.h"
#include "gui/model/job.h"
#include "gui/model/symbol_index.h"

class QCompleter;
class QStandardItemModel;
class QTimer;

namespace kevt::gui {

class DefinitionEditor : public QPlainTextEdit {
  Q_OBJECT

 public:
  explicit DefinitionEditor(QWidget* parent = nullptr);
  ~DefinitionEditor() override;

  // Whose functions are looked up; 0: nobody's, places are not checked.
  void setProcess(int pid);
  void setKernelFunctions(const QString& list);
  const CheckedText& checked() const { return checked_; }
  bool isChecked() const { return !busy_ && !is_pending_; }  // is checked() about the present text?
  // The mistake at the cursor, or the first one of its line.
  const Mistake* mistakeAtCursor() const;
  // Carries out the first fix of that mistake; undo takes it back.
  bool applyFix();
  void replaceText(const QString& text);             // as one undoable step
  void setHits(const QMap<QString, QString>& hits);  // GROUP/EVENT → what stands in the margin

 Q_SIGNALS:
  void checkedChanged();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  friend class EditorMargin;
  struct World;
  void startCheck();
  void showMistakes();
  void complete(bool asked);
  void insertCompletion(const QString& text);
  const Mistake* mistakeAt(int line, int column) const;
  void paintMargin(QPaintEvent* event);
  int marginWidth() const;

  std::shared_ptr<World> world_;
  CheckedText checked_;
  QMap<QString, QString> hits_;
  QWidget* margin_;
  QCompleter* completer_;
  QStandardItemModel* suggestions_;
  int completion_begin_ = 0;
  QTimer* delay_;
  Cancelled busy_;
  bool is_pending_ = false;
  JobQueue jobs_;
};

}  // namespace kevt::gui
