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
  std::string instance = {};  // whose it is; empty: of the top one
};

struct TriggerMistake {
  std::size_t trigger = 0;  // into the triggers given
  diag::Diagnostic diagnostic;
};
struct TriggerResult {
  std::vector<TriggerMistake> mistakes;  // at most one for each trigger
  std::vector<std::optional<std::string>>
      listings;  // as the event's `trigger` file has them; absent: wrong or unchecked
  std::vector<sema::Unchecked> unchecked;
};

// In the order given, each with those of its instance before it set. Of an event that the catalog lacks only the
// trigger's form is checked; with CatalogScope::Partial that holds for the events it refers to, too.
TriggerResult check_triggers(std::span<const TriggerText> triggers, const target::EventCatalog& catalog,
                             sema::CatalogScope scope, dialect::Dialect dialect = dialect::Dialect::superset());

}  // namespace kevt::script
