// The editor of definitions.
//
// A keystroke starts a check in a worker once nothing was typed for a moment; of several only the last one's result is
// shown. What the world is (a process's functions) is read in the same worker, the first time it is needed.
#include "gui/view/definition_editor.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QFontDatabase>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMap>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QStandardItemModel>
#include <QTextBlock>
#include <QTimer>
#include <QToolTip>

#include "compiler/target/process_env.h"
#include "gui/model/completion.h"
#include "gui/view/definition_highlighter.h"
#include "gui/view/theme.h"

namespace kevt::gui {

// What the worker knows; one worker at a time uses it.
struct DefinitionEditor::World {
  int pid = 0;
  QString kernel_list;
  bool is_read = false;
  std::optional<target::ProcessEnv> env;
  std::shared_ptr<const SymbolIndex> symbols = std::make_shared<SymbolIndex>();

  void read() {
    if (is_read) return;
    is_read = true;
    if (!kernel_list.isEmpty())
      symbols = std::make_shared<SymbolIndex>(SymbolIndex::ofKernelList(kernel_list.toStdString()));
    if (pid == 0) return;
    if (auto made = target::ProcessEnv::of_process(pid, {})) env = *std::move(made);
    if (auto index = SymbolIndex::ofProcess(pid)) symbols = std::make_shared<SymbolIndex>(*std::move(index));
  }
};

class EditorMargin : public QWidget {
 public:
  explicit EditorMargin(DefinitionEditor* editor) : QWidget(editor), editor_(editor) {}
  void paintEvent(QPaintEvent* event) override { editor_->paintMargin(event); }

 private:
  DefinitionEditor* editor_;
};

DefinitionEditor::DefinitionEditor(QWidget* parent)
    : QPlainTextEdit(parent),
      world_(std::make_shared<World>()),
      margin_(new EditorMargin(this)),
      completer_(new QCompleter(this)),
      suggestions_(new QStandardItemModel(this)),
      delay_(new QTimer(this)),
      jobs_(this, 1) {
  setAccessibleName(tr("Definitions"));
  setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  setLineWrapMode(NoWrap);
  setPlaceholderText(tr("p:opening libc:open64 path=+0(%di):string"));
  new DefinitionHighlighter(document());
  completer_->setModel(suggestions_);
  completer_->setWidget(this);
  completer_->setCompletionMode(QCompleter::UnfilteredPopupCompletion);
  connect(completer_, qOverload<const QString&>(&QCompleter::activated), this, &DefinitionEditor::insertCompletion);
  delay_->setSingleShot(true);
  delay_->setInterval(60);
  connect(delay_, &QTimer::timeout, this, &DefinitionEditor::startCheck);
  connect(this, &QPlainTextEdit::textChanged, this, [this] {
    is_pending_ = true;
    delay_->start();
  });
  connect(this, &QPlainTextEdit::updateRequest, this, [this](const QRect& rect, int dy) {
    if (dy)
      margin_->scroll(0, dy);
    else
      margin_->update(0, rect.y(), margin_->width(), rect.height());
  });
  setViewportMargins(marginWidth(), 0, 0, 0);
}

DefinitionEditor::~DefinitionEditor() {
  if (busy_) *busy_ = true;
}

void DefinitionEditor::setProcess(int pid) {
  world_ = std::make_shared<World>();
  world_->pid = pid;
  is_pending_ = true;
  delay_->start();
}

void DefinitionEditor::setKernelFunctions(const QString& list) {
  world_ = std::make_shared<World>();
  world_->kernel_list = list;
  is_pending_ = true;
  delay_->start();
}

void DefinitionEditor::startCheck() {
  if (busy_) *busy_ = true;
  is_pending_ = false;
  busy_ = jobs_.start(
      [text = toPlainText(), world = world_](const std::atomic<bool>&) {
        world->read();
        return checkDefinitions(text, world->env ? &*world->env : nullptr);
      },
      [this](CheckedText checked) {
        busy_.reset();
        checked_ = std::move(checked);
        showMistakes();
        margin_->update();
        Q_EMIT checkedChanged();
      });
}

void DefinitionEditor::showMistakes() {
  const LaneColors colors(palette());
  QList<QTextEdit::ExtraSelection> selections;
  for (const Mistake& mistake : checked_.mistakes) {
    const QTextBlock block = document()->findBlockByNumber(mistake.line);
    if (!block.isValid()) continue;
    QTextEdit::ExtraSelection selection;
    selection.cursor = QTextCursor(block);
    const int length = block.length() - 1;
    int begin = std::clamp(mistake.begin, 0, length);
    const int end = std::clamp(mistake.end, begin, length);
    if (begin == end && begin > 0) --begin;  // behind the end of the line
    selection.cursor.setPosition(block.position() + begin);
    selection.cursor.setPosition(block.position() + end, QTextCursor::KeepAnchor);
    selection.format.setUnderlineStyle(QTextCharFormat::WaveUnderline);
    selection.format.setUnderlineColor(colors.gap);
    QColor back = colors.gap;
    back.setAlpha(40);
    selection.format.setBackground(back);
    selections.append(selection);
  }
  setExtraSelections(selections);
}

const Mistake* DefinitionEditor::mistakeAt(int line, int column) const {
  const Mistake* first = nullptr;
  for (const Mistake& mistake : checked_.mistakes) {
    if (mistake.line != line) continue;
    if (column >= mistake.begin && column <= mistake.end) return &mistake;
    if (!first) first = &mistake;
  }
  return first;
}

const Mistake* DefinitionEditor::mistakeAtCursor() const {
  return mistakeAt(textCursor().blockNumber(), textCursor().positionInBlock());
}

bool DefinitionEditor::applyFix() {
  const Mistake* mistake = mistakeAtCursor();
  if (!mistake || mistake->fixes.empty()) return false;
  const TextFix& fix = mistake->fixes.front();
  const QTextBlock block = document()->findBlockByNumber(mistake->line);
  if (!block.isValid() || fix.end > block.length() - 1) return false;
  QTextCursor cursor(block);
  cursor.setPosition(block.position() + fix.begin);
  cursor.setPosition(block.position() + fix.end, QTextCursor::KeepAnchor);
  cursor.insertText(fix.replacement);
  return true;
}

void DefinitionEditor::replaceText(const QString& text) {
  QTextCursor cursor(document());
  cursor.select(QTextCursor::Document);
  cursor.insertText(text);
}

void DefinitionEditor::setHits(const QMap<QString, QString>& hits) {
  if (hits == hits_) return;
  hits_ = hits;
  setViewportMargins(marginWidth(), 0, 0, 0);
  margin_->setGeometry(contentsRect().left(), contentsRect().top(), marginWidth(), contentsRect().height());
  margin_->update();
}

// ---- completion

void DefinitionEditor::complete(bool asked) {
  const QTextCursor cursor = textCursor();
  const Completion found = completeDefinition(cursor.block().text(), cursor.positionInBlock(), *world_->symbols);
  const int typed = cursor.positionInBlock() - found.begin;
  if (found.suggestions.empty() || (!asked && typed < 1)) return completer_->popup()->hide();
  if (found.suggestions.size() == 1 && found.suggestions.front().text.size() == typed)
    return completer_->popup()->hide();
  completion_begin_ = found.begin;
  suggestions_->clear();
  for (const Suggestion& suggestion : found.suggestions) {
    auto* item = new QStandardItem(suggestion.text);
    item->setToolTip(suggestion.note);
    suggestions_->appendRow(item);
  }
  QRect rect = cursorRect();
  rect.setWidth(380);
  completer_->complete(rect);
  completer_->popup()->setCurrentIndex(suggestions_->index(0, 0));
}

void DefinitionEditor::insertCompletion(const QString& text) {
  QTextCursor cursor = textCursor();
  cursor.setPosition(cursor.block().position() + completion_begin_, QTextCursor::KeepAnchor);
  cursor.insertText(text);
}

void DefinitionEditor::keyPressEvent(QKeyEvent* event) {
  const bool shows = completer_->popup()->isVisible();
  if (shows && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Tab ||
                event->key() == Qt::Key_Escape))
    return event->ignore();
  const bool alt = event->modifiers() & Qt::AltModifier;
  if (alt && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)) {
    applyFix();
    return;
  }
  if (event->modifiers() & Qt::ControlModifier && event->key() == Qt::Key_Space) return complete(true);
  QPlainTextEdit::keyPressEvent(event);
  if (!event->text().isEmpty() && event->text().at(0).isPrint()) complete(false);
}

bool DefinitionEditor::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QPlainTextEdit::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QTextCursor cursor = cursorForPosition(viewport()->mapFrom(this, help->pos()));
  QString tip;
  for (const Mistake& mistake : checked_.mistakes) {
    if (mistake.line != cursor.blockNumber()) continue;
    tip += QStringLiteral("<p><b>%1</b> %2<br>%3</p>")
               .arg(mistake.text.toHtmlEscaped(), mistake.id,
                    mistake.help.toHtmlEscaped().replace(QLatin1Char('\n'), QLatin1String("<br>")));
    for (const TextFix& fix : mistake.fixes) tip += tr("Alt+Enter: %1").arg(fix.label.toHtmlEscaped());
  }
  for (const RightLine& right : checked_.right)
    if (right.line == cursor.blockNumber() && tip.isEmpty())
      tip = QStringLiteral("<b>%1/%2</b><pre>%3</pre>").arg(right.group, right.event, right.format.toHtmlEscaped());
  QToolTip::showText(help->globalPos(), tip, this);
  return true;
}

void DefinitionEditor::contextMenuEvent(QContextMenuEvent* event) {
  std::unique_ptr<QMenu> menu(createStandardContextMenu());
  setTextCursor(cursorForPosition(event->pos()));
  if (const Mistake* mistake = mistakeAtCursor(); mistake && !mistake->fixes.empty()) {
    auto* fix = new QAction(tr("Fix: %1").arg(mistake->fixes.front().label), menu.get());
    connect(fix, &QAction::triggered, this, &DefinitionEditor::applyFix);
    menu->insertAction(menu->actions().value(0), fix);
  }
  menu->exec(event->globalPos());
}

// ---- margin

int DefinitionEditor::marginWidth() const {
  return fontMetrics().horizontalAdvance(QLatin1Char('0')) * (hits_.isEmpty() ? 4 : 11) + 12;
}

void DefinitionEditor::resizeEvent(QResizeEvent* event) {
  QPlainTextEdit::resizeEvent(event);
  setViewportMargins(marginWidth(), 0, 0, 0);
  margin_->setGeometry(contentsRect().left(), contentsRect().top(), marginWidth(), contentsRect().height());
}

void DefinitionEditor::changeEvent(QEvent* event) {
  QPlainTextEdit::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) showMistakes();
}

void DefinitionEditor::paintMargin(QPaintEvent* event) {
  QPainter painter(margin_);
  const LaneColors colors(palette());
  painter.fillRect(event->rect(), colors.band);
  painter.setFont(font());
  for (QTextBlock block = firstVisibleBlock(); block.isValid(); block = block.next()) {
    const QRectF rect = blockBoundingGeometry(block).translated(contentOffset());
    if (rect.top() > event->rect().bottom()) break;
    QString text = QString::number(block.blockNumber() + 1);
    painter.setPen(colors.faint);
    for (const RightLine& right : checked_.right)
      if (right.line == block.blockNumber())
        if (const QString hits = hits_.value(right.group + QLatin1Char('/') + right.event); !hits.isEmpty())
          text = hits;
    const Mistake* mistake = nullptr;
    for (const Mistake& one : checked_.mistakes)
      if (one.line == block.blockNumber()) mistake = &one;
    if (mistake) {
      painter.setPen(colors.gap);
      text = QStringLiteral("⚠");
    }
    painter.drawText(QRectF(0, rect.top(), margin_->width() - 6, rect.height()), Qt::AlignRight | Qt::AlignVCenter,
                     text);
  }
}

}  // namespace kevt::gui
