// The filter of what is shown. It is compiled at every keystroke; a mistake is shown at once, and the last correct
// filter stays in effect. It also applies to the next trace, as soon as that has records.
#include "gui/app/filter_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>

#include "gui/model/event_rows.h"
#include "gui/model/row_text.h"
#include "gui/model/text_forms.h"

namespace kevt::gui {

FilterBar::FilterBar(EventRows& rows, QWidget* parent)
    : QWidget(parent), rows_(rows), edit_(new QLineEdit(this)), verdict_(new QLabel(this)) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(6, 4, 6, 4);
  edit_->setPlaceholderText(tr("filter what is shown:  count > 4096 && comm ~ \"py*\""));
  edit_->setToolTip(tr("as the kernel writes filters; `event: expression` is for one event"));
  edit_->setAccessibleName(tr("Filter of the records"));
  edit_->setClearButtonEnabled(true);
  verdict_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  verdict_->setTextFormat(Qt::PlainText);
  layout->addWidget(edit_, 1);
  layout->addWidget(verdict_);
  connect(edit_, &QLineEdit::textChanged, this, &FilterBar::apply);
  edit_->setToolTip(scope());
  connect(&rows_, &EventRows::rowsChanged, this, [this] {
    if (!is_forgotten_ || rows_.rowCount() == 0) return showCounts();
    is_forgotten_ = false;
    apply();
  });
  connect(&rows_, &QAbstractItemModel::modelReset, this, [this] {
    if (!rows_.filterText().isEmpty() || rows_.rowCount() != 0) return;
    is_forgotten_ = !edit_->text().trimmed().isEmpty();
    showCounts();
  });
}

QString FilterBar::scope() {
  return tr(
      "holds for the table, the timeline with its counts, plots and heat maps, and Measure; not for what is "
      "recorded, nor for the counters in Events");
}

QString FilterBar::text() const { return edit_->text(); }
QString FilterBar::verdict() const { return verdict_->text(); }
void FilterBar::setText(const QString& text) { edit_->setText(text); }

void FilterBar::apply() {
  FilterMistake mistake;
  if (rows_.setFilter(edit_->text(), mistake)) {
    edit_->setToolTip(scope());
    return showCounts();
  }
  QString text = mistake.text;
  if (mistake.column >= 0) text += tr(" (column %1)").arg(mistake.column + 1);
  verdict_->setText(QStringLiteral("⚠ ") + text);
  verdict_->setToolTip(plainTip(mistake.help));
  edit_->setToolTip(plainTip(mistake.help));
}

void FilterBar::showCounts() {
  verdict_->setToolTip({});
  if (rows_.isBusy()) return verdict_->setText(tr("filtering …"));
  const auto all = static_cast<std::uint64_t>(rows_.allRows());
  if (!rows_.kept()) return verdict_->setText(tr("%1 records").arg(grouped(all)));
  verdict_->setText(tr("%1 of %2 records, in table, timeline and Measure")
                        .arg(grouped(static_cast<std::uint64_t>(rows_.kept()->size())), grouped(all)));
}

}  // namespace kevt::gui
