// Pages of the selected event. They write nothing themselves: a signal says what is to be written.
#include "gui/app/event_pages.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QCompleter>
#include <QFontDatabase>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QStringListModel>
#include <QTabWidget>
#include <QTimer>
#include <QVBoxLayout>

#include "gui/model/row_text.h"
#include "gui/model/trace_document.h"
#include "gui/model/trace_filter.h"
#include "gui/model/trigger_text.h"

namespace kevt::gui {

namespace {

constexpr record::Row kCounted = 1'000'000;  // so many of the last records are counted, in a worker

QLabel* verdictLabel(QWidget* parent) {
  auto* label = new QLabel(parent);
  label->setWordWrap(true);
  label->setTextFormat(Qt::PlainText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

QString mistakeText(const FilterMistake& mistake) {
  QString out = QStringLiteral("⚠ ") + mistake.text;
  if (mistake.column >= 0) out += QObject::tr(" (column %1)").arg(mistake.column + 1);
  return mistake.help.isEmpty() ? out : out + QLatin1Char('\n') + mistake.help.trimmed();
}

}  // namespace

QPlainTextEdit* readOnlyText(const QString& name, QWidget* parent) {
  auto* text = new QPlainTextEdit(parent);
  text->setReadOnly(true);
  text->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  text->setLineWrapMode(QPlainTextEdit::NoWrap);
  text->setAccessibleName(name);
  return text;
}

// ---- filter

FilterPage::FilterPage(TraceDocument& document, QWidget* parent)
    : QWidget(parent),
      document_(document),
      edit_(new QLineEdit(this)),
      verdict_(verdictLabel(this)),
      completer_(new QCompleter(this)),
      words_(new QStringListModel(this)),
      recount_(new QTimer(this)),
      jobs_(this, 1) {
  auto* layout = new QVBoxLayout(this);
  edit_->setAccessibleName(tr("Filter of the event"));
  edit_->setPlaceholderText(tr("count > 4096 && common_pid != 1    (empty: no filter)"));
  auto* write = new QPushButton(tr("Write the filter"), this);
  layout->addWidget(edit_);
  layout->addWidget(verdict_);
  layout->addWidget(write, 0, Qt::AlignLeft);
  layout->addStretch();
  completer_->setModel(words_);
  completer_->setWidget(edit_);
  completer_->setCompletionMode(QCompleter::UnfilteredPopupCompletion);
  // The completer knows whole lines only; here it completes the word before the cursor.
  connect(completer_, qOverload<const QString&>(&QCompleter::activated), this, [this](const QString& word) {
    std::vector<QString> fields;
    const int begin = completeFilter(edit_->text(), edit_->cursorPosition(), fields).begin;
    edit_->setSelection(begin, edit_->cursorPosition() - begin);
    edit_->insert(word);
  });
  connect(edit_, &QLineEdit::textEdited, this, [this] {
    std::vector<QString> fields;
    if (event_.format)
      for (const record::Field& field : event_.format->fields) fields.push_back(QString::fromStdString(field.name));
    const Completion found = completeFilter(edit_->text(), edit_->cursorPosition(), fields);
    QStringList words;
    const QString typed = edit_->text().mid(found.begin, edit_->cursorPosition() - found.begin);
    for (const Suggestion& one : found.suggestions)
      if (!typed.isEmpty() && one.text != typed) words.append(one.text);
    words_->setStringList(words);
    if (words.isEmpty())
      completer_->popup()->hide();
    else
      completer_->complete();
  });
  recount_->setSingleShot(true);
  recount_->setInterval(400);
  connect(recount_, &QTimer::timeout, this, &FilterPage::judge);
  connect(&document_, &TraceDocument::viewChanged, this, [this] {
    if (isVisible() && !recount_->isActive()) recount_->start();
  });
  connect(edit_, &QLineEdit::textChanged, this, &FilterPage::judge);
  connect(edit_, &QLineEdit::returnPressed, this, [this] { Q_EMIT writeWanted(edit_->text().trimmed()); });
  connect(write, &QPushButton::clicked, this, [this] { Q_EMIT writeWanted(edit_->text().trimmed()); });
}

QString FilterPage::verdict() const { return verdict_->text(); }
void FilterPage::setVerdict(const QString& text) { verdict_->setText(text); }

void FilterPage::show(const ShownEvent& event) {
  const bool is_other = !event_.isSame(event);
  event_ = event;
  if (is_other) edit_->setText(event.filter);
  if (is_other || !event.format) judge();
}

void FilterPage::judge() {
  if (counting_) *counting_ = true;
  const QString text = edit_->text().trimmed();
  if (event_.name.isEmpty()) return verdict_->setText(tr("no event is selected"));
  if (text.isEmpty()) return verdict_->setText(tr("no filter: every hit is recorded"));
  const record::StoreView& view = document_.view();
  record::StoreNames names;
  if (event_.format) names.events.push_back(event_.format);
  FilterMistake mistake;
  if (event_.format && !TraceFilter::compile(text, names, mistake)) return verdict_->setText(mistakeText(mistake));
  const QString whole = QStringLiteral("%1/%2: %3").arg(event_.system, event_.name, text);
  const auto filter = TraceFilter::compile(whole, view.names(), mistake);
  if (!filter)
    return verdict_->setText(event_.format ? tr("✓ right; nothing of this event is loaded") : mistakeText(mistake));
  struct Count {
    std::uint64_t kept = 0, all = 0;
  };
  counting_ = jobs_.start(
      [view, filter, system = event_.system.toStdString(),
       name = event_.name.toStdString()](const std::atomic<bool>& cancelled) {
        Count count;
        for (record::Row row = view.rows() - std::min(view.rows(), kCounted); row < view.rows(); ++row) {
          if (row % 8192 == 0 && cancelled) break;
          const record::EventFormat& format = view.format(row);
          if (format.name != name || format.system != system) continue;
          ++count.all;
          count.kept += filter->keeps(view, row);
        }
        return count;
      },
      [this](const Count& count) {
        verdict_->setText(tr("✓ would have kept %1 of the last %2").arg(grouped(count.kept), grouped(count.all)));
      });
}

// ---- triggers

TriggerPage::TriggerPage(QWidget* parent)
    : QWidget(parent),
      present_(new QListWidget(this)),
      kind_(new QComboBox(this)),
      target_(new QLineEdit(this)),
      keys_(new QLineEdit(this)),
      values_(new QLineEdit(this)),
      count_(new QLineEdit(this)),
      filter_(new QLineEdit(this)),
      edit_(new QLineEdit(this)),
      verdict_(verdictLabel(this)) {
  auto* layout = new QVBoxLayout(this);
  auto* remove = new QPushButton(tr("Take the selected trigger away"), this);
  present_->setAccessibleName(tr("Triggers that are set"));
  present_->setMaximumHeight(64);
  layout->addWidget(present_);
  layout->addWidget(remove, 0, Qt::AlignLeft);
  auto* form = new QFormLayout;
  kind_->addItems({QStringLiteral("traceoff"), QStringLiteral("traceon"), QStringLiteral("snapshot"),
                   QStringLiteral("stacktrace"), QStringLiteral("enable_event"), QStringLiteral("disable_event"),
                   QStringLiteral("hist")});
  kind_->setAccessibleName(tr("Kind of trigger"));
  const auto row = [&](const QString& title, QLineEdit* edit, const QString& hint) {
    edit->setPlaceholderText(hint);
    edit->setAccessibleName(title);
    form->addRow(title, edit);
    connect(edit, &QLineEdit::textEdited, this, &TriggerPage::compose);
  };
  form->addRow(tr("what"), kind_);
  row(tr("event"), target_, tr("SYSTEM:EVENT"));
  row(tr("keys"), keys_, tr("common_pid,fd"));
  row(tr("values"), values_, tr("hitcount,count"));
  row(tr("times"), count_, tr("for ever"));
  row(tr("if"), filter_, tr("always"));
  layout->addLayout(form);
  edit_->setAccessibleName(tr("Trigger of the event"));
  edit_->setPlaceholderText(tr("traceoff:1 if count > 100000"));
  auto* add = new QPushButton(tr("Write the trigger"), this);
  layout->addWidget(edit_);
  layout->addWidget(verdict_);
  layout->addWidget(add, 0, Qt::AlignLeft);
  layout->addStretch();
  connect(kind_, &QComboBox::currentIndexChanged, this, &TriggerPage::compose);
  connect(edit_, &QLineEdit::textChanged, this, &TriggerPage::decompose);
  const auto write = [this] {
    if (!edit_->text().trimmed().isEmpty()) Q_EMIT writeWanted(edit_->text().trimmed());
  };
  connect(edit_, &QLineEdit::returnPressed, this, write);
  connect(add, &QPushButton::clicked, this, write);
  connect(remove, &QPushButton::clicked, this, [this] {
    if (const QListWidgetItem* item = present_->currentItem()) Q_EMIT writeWanted(QLatin1Char('!') + item->text());
  });
  compose();
  edit_->clear();
}

QString TriggerPage::verdict() const { return verdict_->text(); }
void TriggerPage::setVerdict(const QString& text) { verdict_->setText(text); }

void TriggerPage::show(const ShownEvent& event) {
  const bool is_other = !event_.isSame(event);
  const bool are_new = is_other || event_.triggers != event.triggers;
  event_ = event;
  if (is_other) verdict_->clear();
  if (!are_new) return;
  present_->clear();
  present_->addItems(event.triggers);
}

void TriggerPage::compose() {
  const QString kind = kind_->currentText();
  const bool is_hist = kind == QLatin1String("hist");
  const bool is_event = kind.endsWith(QLatin1String("_event"));
  target_->setEnabled(is_event);
  keys_->setEnabled(is_hist);
  values_->setEnabled(is_hist);
  if (is_mine_) return;
  is_mine_ = true;
  edit_->setText(triggerText({kind,
                              is_event ? target_->text() : QString(),
                              keys_->text(),
                              values_->text(),
                              {},
                              count_->text().trimmed(),
                              filter_->text().trimmed()}));
  is_mine_ = false;
  judge();
}

void TriggerPage::decompose() {
  if (is_mine_) return;
  if (const auto parts = triggerParts(edit_->text())) {
    is_mine_ = true;
    kind_->setCurrentText(parts->kind);
    target_->setText(parts->target);
    keys_->setText(parts->keys);
    values_->setText(parts->values);
    count_->setText(parts->count);
    filter_->setText(parts->filter);
    is_mine_ = false;
    compose();  // enables what belongs to the kind
  }
  judge();
}

void TriggerPage::judge() {
  const QString text = edit_->text().trimmed();
  if (text.isEmpty() || !event_.format) return verdict_->clear();
  if (text.startsWith(QLatin1Char('!'))) return verdict_->setText(tr("takes it away"));
  const auto mistake = judgeTrigger(text, *event_.format);
  verdict_->setText(mistake ? mistakeText(*mistake) : tr("✓ right"));
}

// ---- code

CodePage::CodePage(CompilerService& compiler, QWidget* parent)
    : QWidget(parent), compiler_(compiler), text_(readOnlyText(tr("Generated code"), this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(text_);
}

QString CodePage::text() const { return text_->toPlainText(); }

void CodePage::show(const ShownEvent& event) {
  event_ = event;
  if (isVisible()) ask();
}

void CodePage::showEvent(QShowEvent*) { ask(); }

void CodePage::ask() {
  const QString wanted = event_.definition + QLatin1Char('\n') + event_.filter;
  if (wanted == shown_) return;
  shown_ = wanted;
  if (event_.definition.isEmpty()) {
    text_->setPlainText(event_.name.isEmpty() ? tr("no event is selected")
                                              : tr("the kernel's own event: its code is the kernel's"));
    return;
  }
  text_->setPlainText(tr("compiling …"));
  compiler_.code(event_.definition, event_.filter, [this, wanted](const EventCode& code) {
    if (wanted == shown_) text_->setPlainText(code.text());
  });
}

// ---- the same in a terminal

ExportAsPage::ExportAsPage(QWidget* parent) : QWidget(parent) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  auto* tabs = new QTabWidget(this);
  tabs->setDocumentMode(true);
  layout->addWidget(tabs);
  const QString names[] = {tr("Shell script"), tr("Command"), tr("Event script"), tr("perf"), tr("bpftrace")};
  for (int i = 0; i < 5; ++i) {
    auto* page = new QWidget(tabs);
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(0, 0, 0, 0);
    texts_[i] = readOnlyText(tr("The same as: %1").arg(names[i]), page);
    auto* copy = new QPushButton(tr("Copy"), page);
    connect(copy, &QPushButton::clicked, this,
            [this, i] { QApplication::clipboard()->setText(texts_[i]->toPlainText()); });
    column->addWidget(texts_[i]);
    column->addWidget(copy, 0, Qt::AlignLeft);
    tabs->addTab(page, names[i]);
  }
}

QString ExportAsPage::text(int form) const { return texts_[form]->toPlainText(); }

void ExportAsPage::show(const std::vector<WrittenEvent>& events, const WrittenTarget& target) {
  const QString texts[] = {asShellScript(events, target), asCommand(events, target), asEventScript(events, target),
                           asPerfProbe(events, target), asBpftrace(events, target)};
  for (int i = 0; i < 5; ++i)
    if (texts_[i]->toPlainText() != texts[i]) texts_[i]->setPlainText(events.empty() ? QString() : texts[i]);
}

}  // namespace kevt::gui
