// The form of times, the meaning of colours, the mouse's behaviour: settings that a session also saves.
#include <QAction>
#include <QActionGroup>
#include <QInputDialog>
#include <QMenu>
#include <algorithm>

#include "gui/app/main_window.h"
#include "gui/model/event_rows.h"
#include "gui/model/row_text.h"
#include "gui/model/session.h"
#include "gui/model/trace_document.h"
#include "gui/model/trigger_watch.h"
#include "gui/view/event_table.h"
#include "gui/view/timeline_view.h"

namespace kevt::gui {

namespace {

QAction* choice(QActionGroup* group, QAction* action) {
  action->setCheckable(true);
  group->addAction(action);
  return action;
}

}  // namespace

void MainWindow::makeLookActions(QMenu* menu) {
  menu->addSeparator();
  auto* times = new QActionGroup(this);
  const auto time = [&](const QString& text, TimeFormat format) {
    time_formats_.append(choice(times, add(menu, text, {}, [this, format] { setTimeFormat(format); })));
  };
  time(tr("Times as the trace has them"), TimeFormat::Trace);
  time(tr("Times behind the first record"), TimeFormat::Relative);
  time(tr("Times by the wall clock"), TimeFormat::Wall);
  menu->addSeparator();
  auto* colours = new QActionGroup(this);
  const auto by = [&](const QString& text, ColourBy what) {
    colour_by_.append(choice(colours, add(menu, text, {}, [this, what] { colourBy(what); })));
  };
  by(tr("Colour by event"), ColourBy::Event);
  by(tr("Colour by task"), ColourBy::Task);
  by(tr("Colour by CPU"), ColourBy::Cpu);
  by(tr("Colour by a field …"), ColourBy::Field);
  by(tr("Colour by outcome (negative results)"), ColourBy::Outcome);
  patterns_ = add(menu, tr("Patterns besides colours"), {}, [this] { timeline_->setPatterns(patterns_->isChecked()); });
  patterns_->setCheckable(true);
  menu->addSeparator();
  kernelshark_ = add(menu, tr("Mouse and markers as in KernelShark"), {},
                     [this] { setMouse(kernelshark_->isChecked() ? QStringLiteral("kernelshark") : QString()); });
  kernelshark_->setCheckable(true);
  for (const QString& name : {QStringLiteral("A"), QStringLiteral("B")})
    active_markers_.append(
        add(menu, tr("Double clicks set marker %1").arg(name), {}, [this, name] { timeline_->setActiveMarker(name); }));
  setMouse({});
  showLook();
}

void MainWindow::setTimeFormat(TimeFormat format) {
  rows_->setTimeFormat(format);
  timeline_->setTimeFormat(format);
  table_->fitColumns();
  showLook();
}

void MainWindow::colourBy(ColourBy what) {
  QString field;
  if (what == ColourBy::Field) {
    QStringList names;
    for (const std::string& name : rows_->fieldNames()) names.append(QString::fromStdString(name));
    bool ok = !names.isEmpty();
    if (ok) field = QInputDialog::getItem(this, tr("Colour by a field"), tr("Field"), names, 0, false, &ok);
    if (!ok) return showLook();
  }
  timeline_->setColouring({what, field});
  showLook();
}

// As in KernelShark, Ctrl+A and Ctrl+B choose the marker that the next double click sets.
void MainWindow::setMouse(const QString& whose) {
  const bool is_theirs = whose == QLatin1String("kernelshark");
  timeline_->setMouse(is_theirs ? TimelineView::Mouse::KernelShark : TimelineView::Mouse::Own);
  kernelshark_->setChecked(is_theirs);
  active_markers_[0]->setShortcut(is_theirs ? QKeySequence(tr("Ctrl+A")) : QKeySequence());
  active_markers_[1]->setShortcut(is_theirs ? QKeySequence(tr("Ctrl+B")) : QKeySequence());
  for (QAction* action : active_markers_) action->setVisible(is_theirs);
}

// Flags where triggers fired and where a recording's clock went back.
void MainWindow::showFlags() {
  std::vector<Flag> flags;
  for (const TriggerWatch::Firing& one : triggers_->firings()) flags.push_back({one.ns, Flag::Kind::Trigger, one.text});
  for (const TraceDocument::ClockJump& jump : document_->clockJumps())
    flags.push_back({jump.at_ns, Flag::Kind::Clock,
                     tr("the clock went back by %1").arg(duration(static_cast<double>(jump.back_ns)))});
  std::ranges::stable_sort(flags, {}, &Flag::ns);
  timeline_->setFlags(std::move(flags));
}

void MainWindow::showLook() {
  time_formats_[static_cast<int>(timeline_->timeFormat())]->setChecked(true);
  colour_by_[static_cast<int>(timeline_->colouring().by)]->setChecked(true);
  patterns_->setChecked(timeline_->hasPatterns());
}

void MainWindow::keepLook(Session& s) const {
  s.time_format = static_cast<int>(timeline_->timeFormat());
  s.colour_by = static_cast<int>(timeline_->colouring().by);
  s.colour_field = timeline_->colouring().field;
  s.has_patterns = timeline_->hasPatterns();
  if (timeline_->mouse() == TimelineView::Mouse::KernelShark) s.mouse = QStringLiteral("kernelshark");
  const LanePrefs& wishes = timeline_->wishes();
  s.latencies = QStringList(wishes.latencies.begin(), wishes.latencies.end());
  s.heats = QStringList(wishes.heats.begin(), wishes.heats.end());
}

// Unknown numbers of a newer program are ignored.
void MainWindow::takeLook(const Session& s) {
  LanePrefs& wishes = timeline_->wishes();
  wishes.latencies.assign(s.latencies.begin(), s.latencies.end());
  wishes.heats.assign(s.heats.begin(), s.heats.end());
  if (s.colour_by >= 0 && s.colour_by <= static_cast<int>(ColourBy::Outcome))
    timeline_->setColouring({static_cast<ColourBy>(s.colour_by), s.colour_field});
  timeline_->setPatterns(s.has_patterns);
  setMouse(s.mouse);
  if (s.time_format >= 0 && s.time_format <= static_cast<int>(TimeFormat::Wall))
    setTimeFormat(static_cast<TimeFormat>(s.time_format));
  showLook();
}

}  // namespace kevt::gui
