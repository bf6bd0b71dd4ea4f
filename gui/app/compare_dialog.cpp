// A range that is offered has a name before it, which is no part of it: "selected: 5070.4,5071".
#include "gui/app/compare_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "tracefs-compat/record/analysis/query.h"

namespace kevt::gui {

namespace {

QString rangeOf(const QComboBox& box) { return box.currentText().section(QLatin1Char(':'), -1).trimmed(); }

bool isAddress(const QString& path) { return path.contains(QLatin1String("://")); }

}  // namespace

CompareDialog::CompareDialog(const CompareOffer& offer, QWidget* parent)
    : QDialog(parent),
      offer_(offer),
      before_(new QComboBox(this)),
      before_range_(new QComboBox(this)),
      range_(new QComboBox(this)),
      align_(new QComboBox(this)),
      page_(new QLineEdit(this)),
      verdict_(new QLabel(this)),
      compare_(new QPushButton(tr("Compare"), this)) {
  setWindowTitle(tr("Compare two recordings"));
  resize(720, 0);
  auto* form = new QFormLayout;
  const auto browsed = [this](QWidget* field, const QString& name, auto browse) {
    auto* row = new QHBoxLayout;
    auto* button = new QPushButton(tr("Browse…"), this);
    button->setAutoDefault(false);
    button->setAccessibleName(name);
    row->addWidget(field, 1);
    row->addWidget(button);
    connect(button, &QPushButton::clicked, this, browse);
    return row;
  };

  before_->setEditable(true);
  before_->setInsertPolicy(QComboBox::NoInsert);
  before_->setAccessibleName(tr("Earlier recording"));
  before_->addItems(offer.recordings);
  before_->setMinimumContentsLength(40);
  before_->setEditText(offer.before);
  before_->lineEdit()->setPlaceholderText(tr("a recording; the open one, too"));
  auto* before = browsed(before_, tr("Browse for the earlier recording"), [this] {
    const QString path = QFileDialog::getOpenFileName(this, tr("Compare with an earlier recording"), {},
                                                      tr("Recordings (*.dat);;All files (*)"));
    if (!path.isEmpty()) before_->setEditText(path);
  });
  form->addRow(tr("Earlier (A)"), before);
  addRange(*form, tr("Part of A"), before_range_);
  auto* now = new QLabel(offer.now, this);
  now->setTextFormat(Qt::PlainText);
  now->setWordWrap(true);
  form->addRow(tr("This one (B)"), now);
  addRange(*form, offer.are_beside ? tr("Part of both") : tr("Part of B"), range_);
  if (!offer.ranges.empty()) range_->setCurrentIndex(1);
  align_->setAccessibleName(tr("Both from"));
  align_->addItem(tr("their beginnings"));
  for (const QString& event : offer.events) align_->addItem(tr("their first %1").arg(event), event);
  form->addRow(tr("Both from"), align_);
  if (offer.are_beside) {
    form->setRowVisible(before_range_, false);
    form->setRowVisible(align_, false);
    before_->setEnabled(false);
  }
  page_->setAccessibleName(tr("Page"));
  page_->setText(
      QDir(QFileInfo(isAddress(offer.now) ? QString() : offer.now.section(QLatin1Char(','), 0, 0)).absolutePath())
          .filePath(QStringLiteral("comparison.html")));
  form->addRow(tr("Page"), browsed(page_, tr("Browse for the page"), [this] {
                 const QString path =
                     QFileDialog::getSaveFileName(this, tr("Write the comparison"), page_->text(), tr("Page (*.html)"));
                 if (!path.isEmpty()) page_->setText(path);
               }));
  verdict_->setWordWrap(true);
  verdict_->setTextFormat(Qt::PlainText);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
  buttons->addButton(compare_, QDialogButtonBox::AcceptRole);
  compare_->setDefault(true);
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(form);
  layout->addWidget(verdict_);
  layout->addWidget(buttons);
  for (QComboBox* box : {before_, before_range_, range_, align_})
    connect(box, &QComboBox::currentTextChanged, this, &CompareDialog::judge);
  connect(page_, &QLineEdit::textChanged, this, &CompareDialog::judge);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(compare_, &QPushButton::clicked, this, [this] {
    compare_->setEnabled(false);
    verdict_->setText(tr("both are read …"));
    Q_EMIT compareWanted(choice());
  });
  judge();
}

void CompareDialog::addRange(QFormLayout& form, const QString& label, QComboBox* box) {
  box->setEditable(true);
  box->setInsertPolicy(QComboBox::NoInsert);
  box->setAccessibleName(label);
  box->addItem(QString());
  for (const auto& [name, range] : offer_.ranges) box->addItem(name + QStringLiteral(": ") + range);
  box->lineEdit()->setPlaceholderText(tr("all of it; or FROM,TO in seconds: 5070.4,5071   +1,+2   ,+5"));
  form.addRow(label, box);
}

QString CompareDialog::verdict() const { return verdict_->text(); }

CompareChoice CompareDialog::choice() const {
  return {.before = before_->currentText().trimmed(),
          .before_range = rangeOf(offer_.are_beside ? *range_ : *before_range_),
          .range = rangeOf(*range_),
          .align_on = offer_.are_beside ? QString() : align_->currentData().toString(),
          .page = page_->text().trimmed()};
}

// Why it cannot be compared; empty: it can.
QString CompareDialog::mistake() const {
  const CompareChoice wanted = choice();
  if (wanted.before.isEmpty()) return tr("Which recording is the earlier one?");
  if (!offer_.are_beside && !isAddress(wanted.before) && !QFileInfo(wanted.before).isFile())
    return tr("There is no recording %1").arg(wanted.before);
  for (const QString& range : {wanted.before_range, wanted.range})
    if (!range.isEmpty() && !record::parse_range(range.toStdString()))
      return tr("`%1` is no FROM,TO: two moments, seconds as they are printed or +seconds, of which one may be missing")
          .arg(range);
  const bool is_same = !offer_.are_beside && QFileInfo(wanted.before) == QFileInfo(offer_.now);
  if (is_same && wanted.before_range == wanted.range) return tr("This is one recording: which two parts of it?");
  if (wanted.page.isEmpty()) return tr("Where is the page written?");
  for (const QString& recording : {wanted.before, offer_.now})
    if (QFileInfo(recording) == QFileInfo(wanted.page)) return tr("The page would take the place of a recording");
  return {};
}

void CompareDialog::judge() {
  const QString why = mistake();
  verdict_->setText(why);
  compare_->setEnabled(why.isEmpty());
}

void CompareDialog::takeResult(const QString& error) {
  if (error.isEmpty()) return accept();
  judge();
  verdict_->setText(QStringLiteral("⚠ ") + error);
}

}  // namespace kevt::gui
