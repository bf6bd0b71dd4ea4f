// The command palette: a few letters of an action's name, Enter.
#include "gui/app/command_palette.h"

#include <QAction>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QVBoxLayout>
#include <algorithm>

namespace kevt::gui {

int fuzzyRank(const QString& text, const QString& pattern) {
  if (pattern.isEmpty()) return 0;
  if (const qsizetype at = text.indexOf(pattern, 0, Qt::CaseInsensitive); at >= 0) return static_cast<int>(at);
  int rank = 1000;
  qsizetype at = -1;
  for (const QChar c : pattern) {
    if (c.isSpace()) continue;
    const qsizetype next = text.indexOf(c, at + 1, Qt::CaseInsensitive);
    if (next < 0) return -1;
    rank += static_cast<int>(next - at - 1);
    at = next;
  }
  return rank;
}

CommandPalette::CommandPalette(const QList<QAction*>& actions, QWidget* parent)
    : QDialog(parent), actions_(actions), edit_(new QLineEdit(this)), list_(new QListWidget(this)) {
  setWindowTitle(tr("Commands"));
  resize(560, 380);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(edit_);
  layout->addWidget(list_);
  edit_->setPlaceholderText(tr("what to do"));
  edit_->setAccessibleName(tr("Command"));
  edit_->installEventFilter(this);
  connect(edit_, &QLineEdit::textChanged, this, &CommandPalette::fill);
  connect(edit_, &QLineEdit::returnPressed, this, &CommandPalette::run);
  connect(list_, &QListWidget::itemActivated, this, &CommandPalette::run);
  fill();
}

void CommandPalette::fill() {
  list_->clear();
  std::vector<std::pair<int, QAction*>> ranked;
  for (QAction* action : actions_) {
    const QString text = action->text().remove(QLatin1Char('&'));
    const int rank = text.isEmpty() || action->isSeparator() ? -1 : fuzzyRank(text, edit_->text());
    if (rank >= 0) ranked.emplace_back(rank, action);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<int, QAction*>::first);
  for (const auto& [rank, action] : ranked) {
    QString text = action->text().remove(QLatin1Char('&'));
    if (!action->shortcut().isEmpty())
      text += QStringLiteral("    ") + action->shortcut().toString(QKeySequence::NativeText);
    auto* item = new QListWidgetItem(text, list_);
    item->setData(Qt::UserRole, QVariant::fromValue(static_cast<QObject*>(action)));
    if (!action->isEnabled()) item->setFlags(Qt::NoItemFlags);
  }
  list_->setCurrentRow(0);
}

void CommandPalette::run() {
  const QListWidgetItem* item = list_->currentItem();
  auto* action = item ? qobject_cast<QAction*>(item->data(Qt::UserRole).value<QObject*>()) : nullptr;
  accept();
  if (action && action->isEnabled()) action->trigger();
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    const int step = key == Qt::Key_Down ? 1 : key == Qt::Key_Up ? -1 : 0;
    if (step) {
      list_->setCurrentRow(std::clamp(list_->currentRow() + step, 0, list_->count() - 1));
      return true;
    }
  }
  return QDialog::eventFilter(watched, event);
}

}  // namespace kevt::gui
