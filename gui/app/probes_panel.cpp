// The page for writing definitions. Before Apply writes, the panel shows what it would write: as a difference, and as
// equal shell commands.
//
// An event is removed only when this window made it. Its switch, filter and triggers are written again after a change.
//
// A recording's definitions replace the user's text in the editor for as long as the recording is shown. The user's
// text is kept: sessions save it, and the next target gets it.
#include "gui/app/probes_panel.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>

#include "gui/model/event_tree.h"
#include "gui/model/live_state.h"
#include "gui/model/row_text.h"
#include "gui/model/text_forms.h"
#include "gui/model/tracing_service.h"
#include "gui/view/definition_editor.h"

namespace kevt::gui {

namespace {
constexpr char kExample[] = "p:opening libc:open64 path=+0(%di):string";
}

// One Apply: redo carries out the plan, undo the opposite plan.
class ApplyCommand : public QUndoCommand {
 public:
  ApplyCommand(ProbesPanel& panel, std::vector<PlanStep> plan) : panel_(panel), plan_(std::move(plan)) {
    setText(QObject::tr("apply %1 definitions").arg(plan_.size()));
    for (const PlanStep& step : plan_) {
      if (step.kind == PlanStep::Kind::Add) back_.push_back({PlanStep::Kind::Remove, step.name, step.wanted, {}});
      if (step.kind == PlanStep::Kind::Remove) back_.push_back({PlanStep::Kind::Add, step.name, {}, step.present});
      if (step.kind == PlanStep::Kind::Change)
        back_.push_back({PlanStep::Kind::Change, step.name, step.wanted, step.present});
    }
  }
  void redo() override { panel_.carryOut(plan_); }
  void undo() override { panel_.carryOut(back_); }

 private:
  ProbesPanel& panel_;
  std::vector<PlanStep> plan_, back_;
};

ProbesPanel::ProbesPanel(TracingService& service, CompilerService& compiler, EventTree& events, QWidget* parent)
    : QWidget(parent),
      service_(service),
      events_(events),
      editor_(new DefinitionEditor(compiler, this)),
      verdict_(new QLabel(this)),
      apply_(new QPushButton(tr("Apply"), this)),
      fix_(new QPushButton(tr("Fix"), this)),
      recorded_(new QPushButton(tr("Recorded"), this)),
      tabs_(new QTabWidget(this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(4, 4, 4, 4);
  auto* splitter = new QSplitter(Qt::Vertical, this);
  auto* bar = new QHBoxLayout;
  verdict_->setWordWrap(true);
  verdict_->setTextFormat(Qt::PlainText);
  bar->addWidget(verdict_, 1);
  bar->addWidget(recorded_);
  bar->addWidget(fix_);
  bar->addWidget(apply_);
  difference_ = readOnlyText(tr("What Apply would change"), tabs_);
  difference_->setPlaceholderText(tr("what Apply would change"));
  same_ = new ExportAsPage(tabs_);
  tabs_->addTab(difference_, tr("Difference"));
  tabs_->addTab(same_, tr("Same as"));
  splitter->addWidget(editor_);
  splitter->addWidget(tabs_);
  splitter->setStretchFactor(0, 3);
  splitter->setStretchFactor(1, 2);
  layout->addWidget(splitter, 1);
  layout->addLayout(bar);
  recorded_->setCheckable(true);
  recorded_->setToolTip(tr("the definitions that made the recording, which cannot be changed; off: what you write"));
  recorded_->hide();
  connect(recorded_, &QPushButton::toggled, this, &ProbesPanel::showRecorded);
  connect(editor_, &DefinitionEditor::checkedChanged, this, &ProbesPanel::showPlan);
  connect(editor_, &QPlainTextEdit::cursorPositionChanged, this, &ProbesPanel::showPlan);
  connect(apply_, &QPushButton::clicked, this, &ProbesPanel::apply);
  connect(fix_, &QPushButton::clicked, this, [this] {
    if (editor_->mistakesAtCursor().empty() && !editor_->checked().mistakes.empty())
      editor_->goTo(editor_->checked().mistakes.front().line, editor_->checked().mistakes.front().begin);
    editor_->applyFix();
  });
  showPlan();
}

QString ProbesPanel::differenceText() const { return difference_->toPlainText(); }

bool ProbesPanel::canApply() const {
  return service_.isRunning() && has_state_ && !is_writing_ && editor_->isChecked() && !editor_->isReadOnly() &&
         editor_->checked().mistakes.empty() && changesAnything(plan_) && !hasConflict(plan_);
}

void ProbesPanel::takeState(const LiveState& state) {
  QMap<QString, QString> hits;
  for (const LiveEvent& event : state.events)
    if (event.has_profile)
      hits[event.system + QLatin1Char('/') + event.name] = compactNumber(static_cast<double>(event.hits));
  editor_->setHits(hits);
  has_state_ = true;
  is_writing_ = writes_ != 0;
  if (state.definitions == present_) return apply_->setEnabled(canApply());
  present_ = state.definitions;
  showPlan();
}

void ProbesPanel::showPlan() {
  const CheckedText& checked = editor_->checked();
  plan_ = planApply(editor_->toPlainText(), checked, present_, owned_, writes_out_);
  const QString text = editor_->isReadOnly() ? tr("nothing: these definitions made the recording") : planText(plan_);
  if (difference_->toPlainText() != text) difference_->setPlainText(text);
  showSameAs();
  showVerdict();
  apply_->setEnabled(canApply());
  apply_->setToolTip(service_.isRunning() ? tr("write the difference to the tracing directory (Ctrl+Return)")
                     : is_recording_      ? tr("a recording is open: start a target or open a directory to apply")
                                          : tr("nothing is traced yet: start a target or open a directory to apply"));
  Q_EMIT mistakesChanged();
}

// All mistakes of the cursor's line, or of the first line that has any.
void ProbesPanel::showVerdict() {
  const CheckedText& checked = editor_->checked();
  std::vector<const Mistake*> mistakes = editor_->mistakesAtCursor();
  if (mistakes.empty())
    for (const Mistake& mistake : checked.mistakes)
      if (mistake.line == checked.mistakes.front().line) mistakes.push_back(&mistake);
  QStringList lines, help;
  const TextFix* fix = nullptr;
  std::size_t fixes = 0;
  for (const Mistake* mistake : mistakes) {
    lines.append(tr("⚠ line %1, column %2: %3").arg(mistake->line + 1).arg(mistake->begin + 1).arg(mistake->text));
    if (!mistake->help.isEmpty()) help.append(mistake->help);
    fixes += mistake->fixes.size();
    if (!fix && !mistake->fixes.empty()) fix = &mistake->fixes.front();
  }
  fix_->setVisible(fix && !editor_->isReadOnly());
  if (fix) fix_->setText(fixes == 1 ? tr("Fix: %1").arg(fix->label) : tr("Fix … (%1)").arg(fixes));
  verdict_->setToolTip(plainTip(help.join(u'\n')));
  if (editor_->isReadOnly())
    verdict_->setText(tr("the definitions that made the recording; they cannot be changed"));
  else if (!lines.isEmpty())
    verdict_->setText(lines.join(u'\n'));
  else if (hasConflict(plan_))
    verdict_->setText(tr("⚠ an event of that name was made by another tool"));
  else
    verdict_->setText(checked.right.empty() ? tr("one definition a line; Ctrl+Space completes")
                                            : tr("✓ %1 definitions, checked in %2")
                                                  .arg(checked.right.size())
                                                  .arg(duration(static_cast<double>(checked.took_us) * 1000)));
}

QString ProbesPanel::verdictText() const { return verdict_->text(); }

QString ProbesPanel::ownText() const { return recorded_->isChecked() ? own_ : editor_->toPlainText(); }

void ProbesPanel::setOwnText(const QString& text) {
  if (recorded_->isChecked())
    own_ = text;
  else
    editor_->replaceText(text);
}

void ProbesPanel::showRecording(const QStringList& definitions) {
  recorded_->setChecked(false);
  is_recording_ = true;
  definitions_ = definitions;
  recorded_->setVisible(!definitions.isEmpty());
  editor_->setPlaceholderText(definitions.isEmpty() ? tr("the recording does not say\nwhich definitions made it")
                                                    : QString::fromLatin1(kExample));
  recorded_->setChecked(!definitions.isEmpty() && editor_->toPlainText().trimmed().isEmpty());
  showPlan();
}

void ProbesPanel::endRecording() {
  recorded_->setChecked(false);
  recorded_->hide();
  is_recording_ = false;
  definitions_.clear();
  editor_->setPlaceholderText(QString::fromLatin1(kExample));
  showPlan();
}

void ProbesPanel::showRecorded(bool recorded) {
  if (recorded) own_ = editor_->toPlainText();
  editor_->setPlainText(recorded ? definitions_.join(u'\n') : own_);
  editor_->setReadOnly(recorded);
  showPlan();
}

void ProbesPanel::showSameAs() {
  const QStringList lines = editor_->toPlainText().split(QLatin1Char('\n'));
  std::vector<WrittenEvent> events;
  for (const RightLine& right : editor_->checked().right) {
    WrittenEvent event{lines.value(right.line).trimmed(), right.group, right.event, right.filter, {}, right.is_on};
    if (const qsizetype comment = event.definition.indexOf(QLatin1String(" #")); comment > 0)
      event.definition.truncate(comment);
    for (const QString& trigger : right.triggers) event.triggers.append(trigger);
    events.push_back(std::move(event));
  }
  same_->show(events, target_);
}

void ProbesPanel::setTarget(const WrittenTarget& target) {
  target_ = target;
  showSameAs();
}

std::vector<FileWrite> ProbesPanel::writesOf(const std::vector<PlanStep>& plan) const {
  std::vector<FileWrite> writes, on_first, on_last;
  const QString file = QStringLiteral("dynamic_events");
  for (const PlanStep& step : plan) {
    const QModelIndex at =
        events_.find(step.name.section(QLatin1Char('/'), 0, 0), step.name.section(QLatin1Char('/'), 1));
    const LiveEvent* event = events_.eventAt(at);
    const QString folder = QStringLiteral("events/") + step.name;
    const bool removes = step.kind == PlanStep::Kind::Remove || step.kind == PlanStep::Kind::Change;
    if (removes && event) {
      for (const QString& trigger : event->trigger.split(QLatin1Char('\n'), Qt::SkipEmptyParts))
        writes.push_back({folder + QStringLiteral("/trigger"), QLatin1Char('!') + trigger, true, {}});
      if (event->is_enabled) writes.push_back({folder + QStringLiteral("/enable"), QStringLiteral("0"), false, {}});
    }
    if (removes) writes.push_back({file, QStringLiteral("-:") + step.name, true, {}});
    if (step.kind == PlanStep::Kind::Add || step.kind == PlanStep::Kind::Change)
      for (const QString& line : step.wanted.split(QLatin1Char('\n'), Qt::SkipEmptyParts))
        writes.push_back({file, line, true, {}});
    if (step.kind == PlanStep::Kind::Change && event) {
      if (!event->filter.isEmpty()) writes.push_back({folder + QStringLiteral("/filter"), event->filter, false, {}});
      for (const QString& trigger : event->trigger.split(QLatin1Char('\n'), Qt::SkipEmptyParts))
        writes.push_back({folder + QStringLiteral("/trigger"), trigger, true, {}});
    }
    const bool was_on = step.kind == PlanStep::Kind::Change && event && event->is_enabled;
    if (step.kind == PlanStep::Kind::Add || was_on) {
      bool is_on = true;
      for (const RightLine& right : editor_->checked().right) {
        if (right.group + QLatin1Char('/') + right.event != step.name || step.kind != PlanStep::Kind::Add) continue;
        is_on = right.is_on;
        if (!right.filter.isEmpty()) writes.push_back({folder + QStringLiteral("/filter"), right.filter, false, {}});
        for (const QString& trigger : right.triggers)
          writes.push_back({folder + QStringLiteral("/trigger"), trigger, true, {}});
      }
      const FileWrite on{folder + QStringLiteral("/enable"), QStringLiteral("1"), false, {}};
      // Returns first: an entry probe alone would record calls that seem never to end.
      if (is_on && step.wanted.startsWith(QLatin1Char('r')))
        on_first.push_back(on);
      else if (is_on)
        on_last.push_back(on);
    }
  }
  writes.insert(writes.end(), on_first.begin(), on_first.end());
  writes.insert(writes.end(), on_last.begin(), on_last.end());
  return writes;
}

void ProbesPanel::carryOut(const std::vector<PlanStep>& plan) {
  ++writes_;
  is_writing_ = true;
  service_.write(writesOf(plan), [this, plan](const std::vector<FileWrite>& made) {
    --writes_;
    bool taken = true;
    for (const FileWrite& write : made) taken &= write.error.isEmpty();
    for (const PlanStep& step : plan) {
      if (step.kind == PlanStep::Kind::Add || step.kind == PlanStep::Kind::Change) owned_.insert(step.name);
      if (step.kind == PlanStep::Kind::Remove && taken) owned_.erase(step.name);
    }
    showPlan();
    Q_EMIT applied(taken);
  });
}

void ProbesPanel::apply() {
  if (!canApply()) return;
  std::vector<PlanStep> plan;
  for (const PlanStep& step : plan_)
    if (step.kind == PlanStep::Kind::Add || step.kind == PlanStep::Kind::Change || step.kind == PlanStep::Kind::Remove)
      plan.push_back(step);
  undo_.push(new ApplyCommand(*this, std::move(plan)));
}

}  // namespace kevt::gui
