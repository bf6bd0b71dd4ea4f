// A trigger split into parts, for a form with choices.
#pragma once

#include <QString>
#include <optional>

#include "gui/model/trace_filter.h"
#include "tracefs-compat/record/event_format.h"

namespace kevt::gui {

struct TriggerParts {
  QString kind;                // traceon, traceoff, snapshot, stacktrace, enable_event, disable_event, hist
  QString target;              // SYSTEM:EVENT of enable_event and disable_event
  QString keys, values, sort;  // hist
  QString count;               // how often; empty: always. hist: its size
  QString filter;              // behind `if`; empty: always
};

QString triggerText(const TriggerParts& parts);
// nullopt: the trigger has something that the parts cannot express (`!`, hist's actions and variables).
std::optional<TriggerParts> triggerParts(const QString& text);

// nullopt: the trigger is correct, as far as one event's format tells.
std::optional<FilterMistake> judgeTrigger(const QString& text, const record::EventFormat& format);

}  // namespace kevt::gui
