// Triggers of event scripts, checked against the events that are known.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/dialect/dialect.h"
#include "compiler/model/histogram.h"
#include "compiler/sema/sema.h"
#include "compiler/target/event_catalog.h"

namespace kevt::script {

struct TriggerText {
  model::EventName event;
  std::string text;
  std::string instance = {};  // the instance it belongs to; empty: the top one
};

struct TriggerMistake {
  std::size_t trigger = 0;  // index of the trigger
  diag::Diagnostic diagnostic;
};
struct TriggerResult {
  std::vector<TriggerMistake> mistakes;  // at most one for each trigger
  std::vector<std::optional<std::string>>
      listings;  // as the event's `trigger` file shows them; nullopt: wrong or unchecked
  std::vector<sema::Unchecked> unchecked;
};

// Checks triggers in the order given; when a trigger is checked, the earlier ones of its instance are set. If the
// catalog lacks the event, only the trigger's form is checked; with CatalogScope::Partial a trigger may also refer to
// events that the catalog lacks.
TriggerResult check_triggers(std::span<const TriggerText> triggers, const target::EventCatalog& catalog,
                             sema::CatalogScope scope, dialect::Dialect dialect = dialect::Dialect::superset());

}  // namespace kevt::script
