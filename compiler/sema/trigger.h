// Triggers of one event: what a write to its `trigger` file does, and what the file reads (docs/language.md).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/dialect/dialect.h"
#include "compiler/model/trigger.h"
#include "compiler/sema/trigger_table.h"
#include "compiler/target/event_catalog.h"

namespace kevt::sema {

// What a trigger is checked against: the events, the triggers that are set, the dialect.
struct TriggerWorld {
  const target::EventCatalog& catalog;
  const TriggerTable& table;
  dialect::Dialect dialect = dialect::Dialect::superset();
};

// What an accepted write does, in order; no steps if it removes a trigger that is not set.
struct TriggerChange {
  std::vector<TriggerStep> steps;
  // Entries that 6.1 writes to error_log for some histograms although it accepts them; the newest first.
  std::vector<diag::Diagnostic> remarks;
};

// Sets or removes a trigger of `event`, which must be in the catalog. nullopt: refused, and the sink holds the
// mistakes. 6.1 may log several entries for one mistake: all of them are reported, the newest (the last one of
// error_log) first; if the mistake itself has no entry, it is reported before them, not `logged`.
std::optional<TriggerChange> check_trigger(const model::TriggerSpec& spec, const model::EventName& event,
                                           const TriggerWorld& world, diag::Sink& sink);

// Parses `text`, as it is written to the file, and does the same; syntax mistakes go to the sink, too.
std::optional<TriggerChange> write_trigger(std::string_view text, const model::EventName& event,
                                           const TriggerWorld& world, diag::Sink& sink);

// What opening the file for truncation does: removes (en|dis)able_hist and all histograms, but no histogram if another
// one refers to a variable of any of them. Other triggers stay.
std::vector<TriggerStep> truncate_triggers(const model::EventName& event, const TriggerTable& table);

// One line of the file, without '\n'.
std::string print_trigger(const model::Trigger& trigger);
// The file: its lines, or the names of all triggers where none is set.
std::string trigger_file_text(std::span<const model::Trigger> triggers);

}  // namespace kevt::sema
