// The editor of definitions.
//
// A check runs in a worker once nothing was typed for a moment; only the result of the last check is shown. Completions
// and tool tips are asked for in the same way, so the UI thread never waits. While the editor has the focus its keys
// are its own: no action of the window takes them.
#include "gui/view/definition_editor.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QFontDatabase>
#include <QHeaderView>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMap>
#include <QPainter>
#include <QScrollBar>
#include <QStandardItemModel>
#include <QTextBlock>
#include <QTimer>
#include <QToolTip>
#include <QTreeView>
#include <algorithm>
#include <utility>

#include "gui/view/definition_highlighter.h"
#include "gui/view/theme.h"

namespace kevt::gui {

namespace {

constexpr int kPatienceMs = 200;

bool is_fix_key(const QKeyEvent& event) {
  return event.modifiers() & Qt::AltModifier && (event.key() == Qt::Key_Return || event.key() == Qt::Key_Enter);
}

bool is_completion_key(const QKeyEvent& event) {
  return event.modifiers() & Qt::ControlModifier && event.key() == Qt::Key_Space;
}

}  // namespace

class EditorMargin : public QWidget {
 public:
  explicit EditorMargin(DefinitionEditor* editor) : QWidget(editor), editor_(editor) {}
  void paintEvent(QPaintEvent* event) override { editor_->paintMargin(event); }

 private:
  DefinitionEditor* editor_;
};

DefinitionEditor::DefinitionEditor(CompilerService& compiler, QWidget* parent)
    : QPlainTextEdit(parent),
      compiler_(compiler),
      margin_(new EditorMargin(this)),
      completer_(new QCompleter(this)),
      suggestions_(new QStandardItemModel(this)),
      delay_(new QTimer(this)) {
  setAccessibleName(tr("Definitions"));
  setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  setLineWrapMode(NoWrap);
  setPlaceholderText(tr("p:opening libc:open64 path=+0(%di):string"));
  new DefinitionHighlighter(document());
  completer_->setModel(suggestions_);
  completer_->setWidget(this);
  auto* popup = new QTreeView;
  popup->setRootIsDecorated(false);
  popup->header()->hide();
  popup->setUniformRowHeights(true);
  popup->setAccessibleName(tr("Completion"));
  completer_->setPopup(popup);
  popup->installEventFilter(this);  // installed after the completer's, so it is called first
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
  connect(&compiler_, &CompilerService::worldChanged, this, [this] {
    is_pending_ = true;
    delay_->start();
  });
  setViewportMargins(marginWidth(), 0, 0, 0);
}

DefinitionEditor::~DefinitionEditor() = default;

void DefinitionEditor::startCheck() {
  is_pending_ = false;
  is_busy_ = true;
  compiler_.check(toPlainText(), [this](CheckedText checked) {
    is_busy_ = false;
    checked_ = std::move(checked);
    showMistakes();
    margin_->update();
    viewport()->update();
    Q_EMIT checkedChanged();
    if (std::exchange(wants_fix_, false)) applyFix();
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
    int begin = std::clamp(mistake.word, 0, length);
    const int end = std::clamp(mistake.end, begin, length);
    if (begin == end && begin > 0) --begin;  // the place is behind the end of the line
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

std::vector<const Mistake*> DefinitionEditor::mistakesAtCursor() const {
  const int line = textCursor().blockNumber(), column = textCursor().positionInBlock();
  std::vector<const Mistake*> out;
  for (const Mistake& mistake : checked_.mistakes)
    if (mistake.line == line) out.push_back(&mistake);
  std::ranges::stable_partition(
      out, [&](const Mistake* mistake) { return column >= mistake->begin && column <= mistake->end; });
  return out;
}

void DefinitionEditor::applyFix() {
  if (isReadOnly()) return say(tr("this text cannot be changed"));
  wants_fix_ = !isChecked();
  if (wants_fix_) return;
  const int line = textCursor().blockNumber(), column = textCursor().positionInBlock();
  std::vector<const TextFix*> all, here;
  for (const Mistake* mistake : mistakesAtCursor())
    for (const TextFix& fix : mistake->fixes) {
      all.push_back(&fix);
      if (column >= mistake->begin && column <= mistake->end) here.push_back(&fix);
    }
  if (all.empty())
    return say(mistakesAtCursor().empty() ? tr("nothing is wrong in this line")
                                          : tr("no fix is known: %1").arg(mistakesAtCursor().front()->text));
  if (here.size() == 1) return carryOut(line, *here.front());
  if (all.size() == 1) return carryOut(line, *all.front());
  fix_menu_ = new QMenu(this);
  fix_menu_->setAttribute(Qt::WA_DeleteOnClose);
  for (const TextFix* fix : here.empty() ? all : here)
    fix_menu_->addAction(
        tr("column %1: %2").arg(fix->begin + 1).arg(QString(fix->label).replace(u'&', QStringLiteral("&&"))), this,
        [this, line, fix = *fix] { carryOut(line, fix); });
  fix_menu_->setActiveAction(fix_menu_->actions().constFirst());
  fix_menu_->popup(viewport()->mapToGlobal(cursorRect().bottomLeft()));
}

void DefinitionEditor::carryOut(int line, const TextFix& fix) {
  const QTextBlock block = document()->findBlockByNumber(line);
  if (!block.isValid() || fix.end > block.length() - 1) return;
  QTextCursor cursor(block);
  cursor.setPosition(block.position() + fix.begin);
  cursor.setPosition(block.position() + fix.end, QTextCursor::KeepAnchor);
  cursor.insertText(fix.replacement);
}

void DefinitionEditor::say(const QString& text) {
  QToolTip::showText(viewport()->mapToGlobal(cursorRect().bottomLeft()),
                     QStringLiteral("<p>%1</p>").arg(text.toHtmlEscaped()), this);
}

void DefinitionEditor::goTo(int line, int column) {
  QTextCursor cursor(document()->findBlockByNumber(line));
  cursor.movePosition(QTextCursor::Right, QTextCursor::MoveAnchor, column);
  setTextCursor(cursor);
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

void DefinitionEditor::complete() { ask(true); }

void DefinitionEditor::ask(bool asked) {
  const QTextCursor cursor = textCursor();
  is_completing_ = true;
  compiler_.complete(cursor.block().text(), cursor.positionInBlock(),
                     [this, asked, line = cursor.block().text(), at = cursor.position()](const Completion& found) {
                       is_completing_ = false;
                       // The user has typed on: the answer is about an older text.
                       if (textCursor().position() != at || textCursor().block().text() != line) return;
                       showCompletion(found, asked);
                     });
  // The first answer about a target takes longer, since its symbols are read first.
  if (asked)
    QTimer::singleShot(kPatienceMs, this, [this, at = cursor.position()] {
      if (is_completing_ && textCursor().position() == at) say(tr("reading the names of the target …"));
    });
}

bool DefinitionEditor::showsCompletion() const { return completer_->popup()->isVisible(); }

void DefinitionEditor::showCompletion(const Completion& found, bool asked) {
  const int typed = textCursor().positionInBlock() - found.begin;
  const QString before = textCursor().block().text().left(found.begin);
  const bool is_member = before.endsWith(QLatin1String("->")) || before.endsWith(QLatin1Char('.'));
  if (asked) QToolTip::hideText();
  if (found.suggestions.empty() || (!asked && typed < 1 && !is_member)) {
    completer_->popup()->hide();
    if (asked) say(tr("nothing is known that could stand here"));
    return;
  }
  if (found.suggestions.size() == 1 && found.suggestions.front().text.size() == typed)
    return completer_->popup()->hide();
  completion_begin_ = found.begin;
  suggestions_->clear();
  for (const Suggestion& suggestion : found.suggestions)
    suggestions_->appendRow({new QStandardItem(suggestion.text), new QStandardItem(suggestion.note)});
  QRect rect = cursorRect();
  auto* popup = static_cast<QTreeView*>(completer_->popup());
  popup->setColumnWidth(0, 210);
  rect.setWidth(520);
  completer_->complete(rect);
  popup->setCurrentIndex(suggestions_->index(0, 0));
}

QStringList DefinitionEditor::suggestions() const {
  QStringList out;
  for (int row = 0; row < suggestions_->rowCount(); ++row) out.append(suggestions_->item(row)->text());
  return out;
}

bool DefinitionEditor::writeOut() {
  const int line = textCursor().blockNumber();
  for (const RightLine& right : checked_.right) {
    if (right.line != line || right.written_out.isEmpty()) continue;
    QTextCursor cursor(document()->findBlockByNumber(line));
    cursor.select(QTextCursor::LineUnderCursor);
    cursor.insertText(right.written_out);
    return true;
  }
  return false;
}

void DefinitionEditor::insertCompletion(const QString& text) {
  QTextCursor cursor = textCursor();
  cursor.setPosition(cursor.block().position() + completion_begin_, QTextCursor::KeepAnchor);
  cursor.insertText(text);
}

void DefinitionEditor::keyPressEvent(QKeyEvent* event) {
  if (is_fix_key(*event)) return applyFix();
  const bool shows = completer_->popup()->isVisible();
  if (shows && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Tab ||
                event->key() == Qt::Key_Escape))
    return event->ignore();
  if (is_completion_key(*event)) return ask(true);
  QPlainTextEdit::keyPressEvent(event);
  if (!event->text().isEmpty() && event->text().at(0).isPrint()) ask(false);
}

QString DefinitionEditor::mistakesTip(int line) const {
  QString tip;
  for (const Mistake& mistake : checked_.mistakes) {
    if (mistake.line != line) continue;
    tip += QStringLiteral("<p><b>⚠ %1</b> %2<br>%3</p>")
               .arg(mistake.text.toHtmlEscaped(), mistake.id.toHtmlEscaped(),
                    mistake.help.toHtmlEscaped().replace(QLatin1Char('\n'), QLatin1String("<br>")));
    for (const TextFix& fix : mistake.fixes) tip += tr("<p>Alt+Enter: %1</p>").arg(fix.label.toHtmlEscaped());
  }
  return tip;
}

// While suggestions are shown, their list gets the keys.
bool DefinitionEditor::eventFilter(QObject* watched, QEvent* event) {
  if (watched != completer_->popup() || event->type() != QEvent::KeyPress ||
      !is_fix_key(*static_cast<QKeyEvent*>(event)))
    return QPlainTextEdit::eventFilter(watched, event);
  completer_->popup()->hide();
  applyFix();
  return true;
}

bool DefinitionEditor::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride) {
    const auto& key = *static_cast<QKeyEvent*>(event);
    if (is_fix_key(key) || is_completion_key(key)) {
      event->accept();
      return true;
    }
  }
  if (event->type() != QEvent::ToolTip) return QPlainTextEdit::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QTextCursor cursor = cursorForPosition(viewport()->mapFrom(this, help->pos()));
  const QString line = cursor.block().text();
  const auto is_part = [&](int at) {
    return at >= 0 && at < line.size() && (line[at].isLetterOrNumber() || QStringLiteral("_%$").contains(line[at]));
  };
  int begin = cursor.positionInBlock(), end = begin;
  while (is_part(begin - 1)) --begin;
  while (is_part(end)) ++end;
  const QString word = line.mid(begin, end - begin), mistakes = mistakesTip(cursor.blockNumber());
  compiler_.facts(line, [this, mistakes, word, at = help->globalPos()](const std::optional<PlaceFacts>& facts) {
    const QString tip = mistakes + (facts ? factsHtml(*facts, word) : QString());
    QToolTip::showText(at, tip, this);
  });
  return true;
}

// Writes behind each correct line, in faint letters, the C names and types of its arguments.
void DefinitionEditor::paintInlays() {
  QPainter painter(viewport());
  painter.setFont(font());
  painter.setPen(LaneColors(palette()).faint);
  for (QTextBlock block = firstVisibleBlock(); block.isValid(); block = block.next()) {
    const QRectF rect = blockBoundingGeometry(block).translated(contentOffset());
    if (rect.top() > viewport()->height()) break;
    if (block.blockNumber() == textCursor().blockNumber() && hasFocus()) continue;  // it would disturb typing
    for (const RightLine& right : checked_.right)
      if (right.line == block.blockNumber() && !right.inlay.isEmpty() && isChecked())
        painter.drawText(QPointF(rect.left() + fontMetrics().horizontalAdvance(block.text()) + 28,
                                 rect.top() + fontMetrics().ascent() + 1),
                         QStringLiteral("← ") + right.inlay);
  }
}

void DefinitionEditor::paintEvent(QPaintEvent* event) {
  QPlainTextEdit::paintEvent(event);
  paintInlays();
}

void DefinitionEditor::contextMenuEvent(QContextMenuEvent* event) {
  std::unique_ptr<QMenu> menu(createStandardContextMenu());
  setTextCursor(cursorForPosition(event->pos()));
  const int line = textCursor().blockNumber();
  QAction* first = menu->actions().value(0);
  for (const Mistake* mistake : mistakesAtCursor())
    for (const TextFix& one : isReadOnly() ? std::vector<TextFix>() : mistake->fixes) {
      auto* fix = new QAction(tr("Fix: %1").arg(one.label), menu.get());
      connect(fix, &QAction::triggered, this, [this, line, one] { carryOut(line, one); });
      menu->insertAction(first, fix);
    }
  for (const RightLine& right : checked_.right)
    if (right.line == line && !right.written_out.isEmpty())
      menu->addAction(tr("Write the line without names of types"), this, &DefinitionEditor::writeOut);
  menu->exec(event->globalPos());
}

// ---- margin

// The margin shows the line's number, or its event's hits, or a mark for mistakes with their number if there are
// several.
QString DefinitionEditor::marginText(int line) const {
  const auto mistakes = std::ranges::count(checked_.mistakes, line, &Mistake::line);
  if (mistakes == 1) return QStringLiteral("⚠");
  if (mistakes > 1) return QStringLiteral("⚠%1").arg(mistakes);
  for (const RightLine& right : checked_.right)
    if (right.line == line)
      if (const QString hits = hits_.value(right.group + QLatin1Char('/') + right.event); !hits.isEmpty()) return hits;
  return QString::number(line + 1);
}

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
    const int line = block.blockNumber();
    const bool is_wrong = std::ranges::any_of(checked_.mistakes, [&](const Mistake& one) { return one.line == line; });
    painter.setPen(is_wrong ? colors.gap : colors.faint);
    const QString text = marginText(line);
    painter.drawText(QRectF(0, rect.top(), margin_->width() - 6, rect.height()), Qt::AlignRight | Qt::AlignVCenter,
                     text);
  }
}

}  // namespace kevt::gui
