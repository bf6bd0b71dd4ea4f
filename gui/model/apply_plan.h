// ApplyPlan: the difference between the definitions that are there and those of the editor, before anything is written.
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
  QString present;  // as dynamic_events lists it
  QString wanted;   // the editor's line
};

// Events made by others are left alone; one of the editor's that has the name of such an event is a conflict.
// `present`: what dynamic_events reads. `owned`: GROUP/EVENT of what this program has made. `writes_out`: names that
// types resolve are replaced by what they stand for.
std::vector<PlanStep> planApply(const QString& text, const CheckedText& checked, const QString& present,
                                const std::set<QString>& owned, bool writes_out = false);
bool changesAnything(const std::vector<PlanStep>& plan);
bool hasConflict(const std::vector<PlanStep>& plan);
// "+ p:open libc:open64 …", one a line, for people.
QString planText(const std::vector<PlanStep>& plan);

// "GROUP/EVENT" of a line of dynamic_events; empty where there is none.
QString nameOfListing(const QString& line);

}  // namespace kevt::gui
