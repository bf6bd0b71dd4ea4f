// ApplyPlan: the difference between the existing definitions and those of the editor, made before anything is written.
#pragma once

#include <QString>
#include <set>
#include <vector>

#include "gui/model/definition_check.h"

namespace kevt::gui {

struct PlanStep {
  enum class Kind { Add, Change, Remove, Keep, Foreign, Conflict };
  Kind kind = Kind::Keep;
  QString name;     // GROUP/EVENT
  QString present;  // the line of dynamic_events
  QString wanted;   // the editor's line
};

// Events that others made are left alone; a definition of the editor with the name of such an event is a conflict.
// `present`: the text of dynamic_events. `owned`: GROUP/EVENT of events that this program made. `writes_out`: names
// that only types resolve are replaced by registers and offsets.
std::vector<PlanStep> planApply(const QString& text, const CheckedText& checked, const QString& present,
                                const std::set<QString>& owned, bool writes_out = false);
bool changesAnything(const std::vector<PlanStep>& plan);
bool hasConflict(const std::vector<PlanStep>& plan);
// The plan for people, a step per line: "+ p:open libc:open64 …".
QString planText(const std::vector<PlanStep>& plan);

// "GROUP/EVENT" of a line of dynamic_events; empty if the line names no event.
QString nameOfListing(const QString& line);

}  // namespace kevt::gui
