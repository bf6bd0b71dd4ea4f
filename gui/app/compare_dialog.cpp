// A range that is offered is shown behind its name: "selected: 5070.4,5071".
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

#include "gui/model/text_forms.h"
#include "tracefs-compat/fleet/address.h"
#include "tracefs-compat/record/analysis/query.h"
#include "tracefs-compat/record/beside.h"

namespace kevt::gui {

namespace {

// FROM,TO; empty: all.
QString rangeOf(const QComboBox& box) {
  const QString text = box.currentText().trimmed();
  const int offered = box.findText(text, Qt::MatchExactly | Qt::MatchCaseSensitive);
  return offered > 0 ? box.itemData(offered).toString() : text;
}

// The files that a recording's name stands for; none: it is a fleet's address.
QStringList filesOf(const QString& recording) {
  if (fleet::is_address(recording.toStdString())) return {};
  const auto beside = record::beside_names(recording.toStdString());
  if (!beside) return {recording};
  QStringList files;
  for (const std::string& one : beside->files) files.append(fromUtf8(one));
  return files;
}

bool isSameFile(const QString& one, const QString& other) {
  const QString path = QFileInfo(one).canonicalFilePath();  // empty: there is none
  return !path.isEmpty() && path == QFileInfo(other).canonicalFilePath();
}

}  // namespace

CompareDialog::CompareDialog(const CompareOffer& offer, QWidget* parent)
    : QDialog(parent),
      offer_(offer),
      fields_(new QWidget(this)),
      before_(new QComboBox(this)),
      before_range_(new QComboBox(this)),
      range_(new QComboBox(this)),
      align_(new QComboBox(this)),
      page_(new QLineEdit(this)),
      verdict_(new QLabel(this)),
      compare_(new QPushButton(tr("Compare"), this)) {
  setWindowTitle(tr("Compare two recordings"));
  resize(720, 0);
  auto* form = new QFormLayout(fields_);
  form->setContentsMargins(0, 0, 0, 0);
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
  if (offer.are_beside) {
    before_->setEnabled(false);
    form->addRow(tr("Earlier (A)"), before_);
  } else {
    form->addRow(tr("Earlier (A)"), browsed(before_, tr("Browse for the earlier recording"), [this] {
                   const QString path = QFileDialog::getOpenFileName(this, tr("Compare with an earlier recording"), {},
                                                                     tr("Recordings (*.dat);;All files (*)"));
                   if (!path.isEmpty()) before_->setEditText(path);
                 }));
  }
  addRange(*form, tr("Part of A"), before_range_);
  auto* now = new QLabel(offer.now, this);
  now->setTextFormat(Qt::PlainText);
  now->setWordWrap(true);
  form->addRow(tr("This one (B)"), now);
  addRange(*form, offer.are_beside ? tr("Part of both") : tr("Part of B"), range_);
  if (!offer.selected.isEmpty()) range_->setCurrentIndex(1);
  align_->setAccessibleName(tr("Both from"));
  align_->addItem(tr("their beginnings"));
  for (const QString& event : offer.events) align_->addItem(tr("their first %1").arg(event), event);
  form->addRow(tr("Both from"), align_);
  form->setRowVisible(before_range_, !offer.are_beside);
  form->setRowVisible(align_, !offer.are_beside);
  page_->setAccessibleName(tr("Page"));
  page_->setText(QDir(offer.folder).filePath(QStringLiteral("comparison.html")));
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
  layout->addWidget(fields_);
  layout->addWidget(verdict_);
  layout->addWidget(buttons);
  for (QComboBox* box : {before_, before_range_, range_, align_})
    connect(box, &QComboBox::currentTextChanged, this, &CompareDialog::judge);
  connect(page_, &QLineEdit::textChanged, this, &CompareDialog::judge);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(compare_, &QPushButton::clicked, this, [this] {
    fields_->setEnabled(false);
    compare_->setEnabled(false);
    verdict_->setText(tr("Both are read …"));
    Q_EMIT compareWanted(choice());
  });
  judge();
}

void CompareDialog::addRange(QFormLayout& form, const QString& label, QComboBox* box) {
  box->setEditable(true);
  box->setInsertPolicy(QComboBox::NoInsert);
  box->setAccessibleName(label);
  box->addItem(QString());
  const auto offered = [box](const QString& name, const QString& range) {
    box->addItem(name + QStringLiteral(": ") + range, range);
  };
  if (!offer_.selected.isEmpty()) offered(tr("selected"), offer_.selected);
  for (const auto& [name, range] : offer_.ranges) offered(name, range);
  box->lineEdit()->setPlaceholderText(tr("all of it; or FROM,TO in seconds: 5070.4,5071   +1,+2   ,+5"));
  form.addRow(label, box);
}

QString CompareDialog::verdict() const { return verdict_->text(); }

CompareChoice CompareDialog::choice() const {
  const QString page = page_->text().trimmed();
  return {.before = before_->currentText().trimmed(),
          .before_range = rangeOf(offer_.are_beside ? *range_ : *before_range_),
          .range = rangeOf(*range_),
          .align_on = offer_.are_beside ? QString() : align_->currentData().toString(),
          .page = page.isEmpty() ? page : QFileInfo(page).absoluteFilePath()};
}

// Why it cannot be compared; empty: it can.
QString CompareDialog::mistake() const {
  const CompareChoice wanted = choice();
  if (wanted.before.isEmpty()) return tr("Which recording is the earlier one?");
  const QStringList before = filesOf(wanted.before), now = filesOf(offer_.now);
  for (const QString& file : before)
    if (!QFileInfo(file).isFile()) return tr("There is no recording %1").arg(file);
  for (const QString& range : {wanted.before_range, wanted.range})
    if (!range.isEmpty() && !record::parse_range(range.toStdString()))
      return tr("`%1` is no FROM,TO: %2").arg(range, fromUtf8(record::kRangeHelp));
  const bool is_one = before.size() == 1 && now.size() == 1 && isSameFile(before[0], now[0]);
  if (!offer_.are_beside && (is_one || wanted.before == offer_.now) && wanted.before_range == wanted.range)
    return tr("This is one recording: which two parts of it?");
  if (wanted.page.isEmpty()) return tr("Where is the page written?");
  for (const QString& file : before + now)
    if (isSameFile(file, wanted.page)) return tr("The page would take the place of a recording");
  return {};
}

void CompareDialog::judge() {
  const QString why = mistake();
  compare_->setEnabled(why.isEmpty());
  const QFileInfo page(choice().page);
  verdict_->setText(why.isEmpty() && page.exists() ? tr("%1 is there, and will be replaced").arg(page.fileName())
                                                   : why);
}

void CompareDialog::takeResult(const QString& error) {
  if (error.isEmpty()) return accept();
  fields_->setEnabled(true);
  judge();
  verdict_->setText(QStringLiteral("⚠ ") + error);
}

}  // namespace kevt::gui
