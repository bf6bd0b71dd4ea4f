// The formats of both events are read when they are chosen; until both are there nothing can be written.
#include "gui/app/latency_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCompleter>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPointer>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/app/event_pages.h"

namespace kevt::gui {

namespace {

QStringList wordsOf(const QString& text) {
  QStringList words;
  for (const QString& word : text.split(QLatin1Char(',')))
    if (!word.trimmed().isEmpty()) words.append(word.trimmed());
  return words;
}

// Other choices, the old one if it is among them.
void refill(QComboBox& box, const QStringList& choices) {
  const QSignalBlocker quiet(box);
  const QString old = box.currentText();
  box.clear();
  box.addItems(choices);
  box.setCurrentIndex(std::max(0, box.findText(old)));
}

QComboBox* eventBox(const QStringList& events, const QString& name, QWidget* parent) {
  auto* box = new QComboBox(parent);
  box->setEditable(true);
  box->setInsertPolicy(QComboBox::NoInsert);
  box->addItems(events);
  box->completer()->setFilterMode(Qt::MatchContains);
  box->completer()->setCompletionMode(QCompleter::PopupCompletion);
  box->setAccessibleName(name);
  box->setMinimumContentsLength(28);
  return box;
}

}  // namespace

LatencyDialog::LatencyDialog(TracingService& service, const QStringList& events, const QString& first, QWidget* parent)
    : QDialog(parent),
      service_(service),
      name_(new QLineEdit(this)),
      unit_(new QComboBox(this)),
      kept_(new QLineEdit(this)),
      counted_by_(new QLineEdit(this)),
      recorded_(new QCheckBox(tr("record it"), this)),
      files_(readOnlyText(tr("What is written"), this)),
      verdict_(new QLabel(this)),
      apply_(new QPushButton(tr("Apply"), this)) {
  setWindowTitle(tr("Latency between two events"));
  resize(860, 420);
  files_->setLineWrapMode(QPlainTextEdit::WidgetWidth);
  auto* form = new QFormLayout;
  const std::array names = {tr("From"), tr("To")};
  for (const Side side : {Begin, End}) {
    Chosen& one = sides_[side];
    one.event = eventBox(events, names[side], this);
    one.key = new QComboBox(this);
    one.key->setAccessibleName(tr("%1: key").arg(names[side]));
    one.key->setToolTip(tr("the field whose value pairs a hit of one event with a hit of the other"));
    auto* row = new QHBoxLayout;
    row->addWidget(one.event, 2);
    row->addWidget(new QLabel(tr("paired by"), this));
    row->addWidget(one.key, 1);
    form->addRow(names[side], row);
    connect(one.event, &QComboBox::currentTextChanged, this, [this, side] { readFormat(side); });
    connect(one.key, &QComboBox::currentTextChanged, this,
            side == Begin ? &LatencyDialog::offerKeys : &LatencyDialog::judge);
  }
  name_->setAccessibleName(tr("Name"));
  unit_->addItems({tr("microseconds"), tr("nanoseconds")});
  unit_->setAccessibleName(tr("Unit"));
  auto* row = new QHBoxLayout;
  row->addWidget(name_, 1);
  row->addWidget(new QLabel(tr("in"), this));
  row->addWidget(unit_);
  form->addRow(tr("Called"), row);
  kept_->setAccessibleName(tr("Fields kept"));
  kept_->setPlaceholderText(tr("other fields of the second event: fd, ret"));
  form->addRow(tr("Keeps"), kept_);
  counted_by_->setAccessibleName(tr("Counted by"));
  counted_by_->setPlaceholderText(tr("keys of its histogram; none: it is not counted"));
  recorded_->setChecked(true);
  row = new QHBoxLayout;
  row->addWidget(counted_by_, 1);
  row->addWidget(recorded_);
  form->addRow(tr("Counted by"), row);
  verdict_->setWordWrap(true);
  verdict_->setTextFormat(Qt::PlainText);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
  buttons->addButton(apply_, QDialogButtonBox::AcceptRole);
  apply_->setDefault(true);
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(form);
  layout->addWidget(files_, 1);
  layout->addWidget(verdict_);
  layout->addWidget(buttons);
  connect(name_, &QLineEdit::textEdited, this, [this] { is_named_ = true; });
  connect(counted_by_, &QLineEdit::textEdited, this, [this] { is_counted_by_changed_ = true; });
  for (QLineEdit* line : {name_, kept_, counted_by_})
    connect(line, &QLineEdit::textChanged, this, &LatencyDialog::judge);
  connect(unit_, &QComboBox::currentIndexChanged, this, &LatencyDialog::judge);
  connect(recorded_, &QCheckBox::toggled, this, &LatencyDialog::judge);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(apply_, &QPushButton::clicked, this, [this] {
    apply_->setEnabled(false);
    Q_EMIT applyWanted(latency());
  });

  const int begin = std::max(0, static_cast<int>(events.indexOf(first)));
  sides_[Begin].event->setCurrentIndex(begin);
  sides_[End].event->setCurrentIndex(begin + 1 < events.size() ? begin + 1 : 0);
  for (const Side side : {Begin, End}) readFormat(side);
  judge();
}

QString LatencyDialog::filesText() const { return files_->toPlainText(); }
QString LatencyDialog::verdict() const { return verdict_->text(); }

LatencyEvent LatencyDialog::latency() const {
  return {.begin = {sides_[Begin].format, sides_[Begin].key->currentText()},
          .end = {sides_[End].format, sides_[End].key->currentText()},
          .name = name_->text().trimmed(),
          .is_in_ns = unit_->currentIndex() == 1,
          .kept = wordsOf(kept_->text()),
          .is_recorded = recorded_->isChecked(),
          .counted_by = counted_by_->text().trimmed()};
}

void LatencyDialog::readFormat(Side side) {
  Chosen& one = sides_[side];
  const QString asked = one.event->currentText().trimmed();
  if (asked == one.asked) return;
  one.asked = asked;
  one.format = nullptr;
  offerKeys();
  const QString system = asked.section(QLatin1Char(':'), 0, 0), name = asked.section(QLatin1Char(':'), 1);
  if (system.isEmpty() || name.isEmpty() || asked.contains(QLatin1Char('/'))) return;
  service_.read(QStringLiteral("events/%1/%2/format").arg(system, name), [this, side, asked, alive = QPointer(this)](
                                                                             bool is_there, const QString& text) {
    if (!alive || sides_[side].asked != asked || !is_there) return;
    auto format = record::parse_format(asked.section(QLatin1Char(':'), 0, 0).toStdString(), text.toStdString());
    if (!format) return;
    sides_[side].format = std::make_shared<const record::EventFormat>(*std::move(format));
    offerKeys();
  });
}

void LatencyDialog::offerKeys() {
  Chosen &begin = sides_[Begin], &end = sides_[End];
  if (begin.format) refill(*begin.key, keysOf(*begin.format));
  if (begin.format && end.format) {
    refill(*end.key, keysLike(*end.format, *begin.format, begin.key->currentText()));
    // A field of the same name is meant; another one is chosen behind it.
    const int same = end.key->findText(begin.key->currentText());
    if (same >= 0) end.key->setCurrentIndex(same);
  }
  judge();
}

void LatencyDialog::judge() {
  LatencyEvent shown = latency();
  const bool are_known = shown.begin.format && shown.end.format;
  if (are_known && !is_named_) {
    const QSignalBlocker quiet(name_);
    name_->setText(latencyName(*shown.begin.format, *shown.end.format));
  }
  if (!is_counted_by_changed_) {
    const QSignalBlocker quiet(counted_by_);
    counted_by_->setText(QLatin1String(shown.field()) + QStringLiteral(".log2"));
  }
  shown = latency();
  const QString mistake = mistakeOf(shown);
  verdict_->setText(mistake);
  apply_->setEnabled(mistake.isEmpty());
  QStringList lines;
  if (mistake.isEmpty())
    for (const FileWrite& one : writesOf(shown)) lines.append(one.asCommand());
  files_->setPlainText(lines.join(QLatin1Char('\n')));
}

void LatencyDialog::takeResult(const QString& error) {
  if (error.isEmpty()) return accept();
  judge();
  verdict_->setText(QStringLiteral("⚠ ") + error);
}

}  // namespace kevt::gui
