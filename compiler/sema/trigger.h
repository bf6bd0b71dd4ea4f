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

// The world a trigger is checked against.
struct TriggerWorld {
  const target::EventCatalog& catalog;
  const TriggerTable& table;
  dialect::Dialect dialect = dialect::Dialect::superset();
};

// What an accepted write does, in order; nothing where it removes what is not there.
struct TriggerChange {
  std::vector<TriggerStep> steps;
  // 6.1 writes error_log entries for some histograms that it takes; the newest first.
  std::vector<diag::Diagnostic> remarks;
};

// Sets or removes a trigger of `event`, which must be in the catalog. nullopt when refused: then the sink
// holds what is wrong. 6.1 may log several entries for one mistake: all of them are reported, the newest
// (what error_log ends with) first; where the mistake itself has no entry, it stands in front, not `logged`.
std::optional<TriggerChange> check_trigger(const model::TriggerSpec& spec, const model::EventName& event,
                                           const TriggerWorld& world, diag::Sink& sink);

// The same of a text as it is written, whatever is wrong with it.
std::optional<TriggerChange> write_trigger(std::string_view text, const model::EventName& event,
                                           const TriggerWorld& world, diag::Sink& sink);

// What opening the file for truncation does: histograms and (en|dis)able_hist go, other triggers stay.
std::vector<TriggerStep> truncate_triggers(const model::EventName& event, const TriggerTable& table);

// One line of the file, without '\n'.
std::string print_trigger(const model::Trigger& trigger);
// The file: its lines, or the names of all triggers where none is set.
std::string trigger_file_text(std::span<const model::Trigger> triggers);

}  // namespace kevt::sema
