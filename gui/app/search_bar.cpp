// The search line under the filter. It searches at every keystroke; Enter and F3 go to the next hit, with Shift to the
// previous one; Escape closes it.
#include "gui/app/search_bar.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>

#include "gui/model/row_text.h"

namespace kevt::gui {

SearchBar::SearchBar(TraceDocument& document, EventRows& rows, QWidget* parent)
    : QWidget(parent),
      search_(document, rows, this),
      edit_(new QLineEdit(this)),
      case_(new QCheckBox(tr("Case"), this)),
      regex_(new QCheckBox(tr("Expression"), this)),
      verdict_(new QLabel(this)) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(6, 0, 6, 4);
  edit_->setPlaceholderText(tr("find in the records' lines"));
  edit_->setAccessibleName(tr("Find in the records"));
  const auto button = [&](const QString& text, const QString& name, auto run) {
    auto* made = new QToolButton(this);
    made->setText(text);
    made->setToolTip(name);
    made->setAccessibleName(name);
    connect(made, &QToolButton::clicked, this, run);
    layout->addWidget(made);
  };
  layout->addWidget(edit_, 1);
  layout->addWidget(case_);
  layout->addWidget(regex_);
  button(QStringLiteral("▲"), tr("Previous hit (Shift+F3)"), [this] { step(-1); });
  button(QStringLiteral("▼"), tr("Next hit (F3)"), [this] { step(1); });
  verdict_->setTextFormat(Qt::PlainText);
  layout->addWidget(verdict_);
  button(QStringLiteral("✕"), tr("Close the search (Escape)"), [this] {
    edit_->clear();
    hide();
    Q_EMIT closed();
  });
  connect(edit_, &QLineEdit::textChanged, this, &SearchBar::start);
  connect(case_, &QCheckBox::toggled, this, &SearchBar::start);
  connect(regex_, &QCheckBox::toggled, this, &SearchBar::start);
  connect(&search_, &RecordSearch::hitsChanged, this, &SearchBar::showCounts);
  hide();
}

QString SearchBar::verdict() const { return verdict_->text(); }

void SearchBar::open() {
  show();
  edit_->setFocus();
  edit_->selectAll();
}

void SearchBar::setCurrent(record::Row row) {
  current_ = row;
  showCounts();
}

void SearchBar::start() {
  error_.clear();
  (void)search_.start({edit_->text(), regex_->isChecked(), case_->isChecked()}, error_);
  showCounts();
}

void SearchBar::step(int direction) {
  const record::Row row = direction > 0 ? search_.next(current_) : search_.previous(current_);
  if (row == record::kNoRow) return;
  current_ = row;
  Q_EMIT rowWanted(row);
  showCounts();
}

void SearchBar::showCounts() {
  if (!error_.isEmpty()) return verdict_->setText(QStringLiteral("⚠ ") + error_);
  if (!search_.isActive()) return verdict_->clear();
  const QString hits =
      grouped(search_.hits().size()) + (search_.hits().size() >= RecordSearch::kMostHits ? QStringLiteral("+")
                                        : search_.isBusy()                               ? QStringLiteral(" …")
                                                                                         : QString());
  const int number = search_.numberOf(current_);
  verdict_->setText(number ? tr("%1 of %2").arg(grouped(static_cast<std::uint64_t>(number)), hits)
                           : tr("%1 hits").arg(hits));
}

void SearchBar::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    edit_->clear();
    hide();
    Q_EMIT closed();
  } else if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
    step(event->modifiers() & Qt::ShiftModifier ? -1 : 1);
  } else {
    QWidget::keyPressEvent(event);
  }
}

}  // namespace kevt::gui
