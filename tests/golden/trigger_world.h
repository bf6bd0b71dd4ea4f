// The events of the trigger corpus, and the triggers that are written to them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/sema/trigger.h"
#include "tests/golden/definition_world.h"

namespace kevt::golden {

struct TriggerResult {
  int errno_value = 0;
  // The newest first. Where the write was taken: what was logged all the same.
  std::vector<diag::Diagnostic> mistakes;
};

class TriggerWorld {
 public:
  explicit TriggerWorld(dialect::Dialect dialect = dialect::Dialect::of(dialect::Kernel::Linux6_1))
      : events_(dialect), dialect_(dialect) {}

  // One write(2) to the `trigger` file of "system/event".
  TriggerResult write(std::string_view event, std::string_view text);
  // Opening that file for truncation.
  void truncate(std::string_view event);
  // Removes all triggers of all events.
  void clear_triggers() { table_ = {}; }
  // What it reads.
  std::string read(std::string_view event) const;

  DefinitionWorld& events() { return events_; }
  const target::EventCatalog& catalog() const { return events_.catalog(); }
  const sema::TriggerTable& table() const { return table_; }

 private:
  void apply(const std::vector<sema::TriggerStep>& steps);

  DefinitionWorld events_;
  dialect::Dialect dialect_;
  sema::TriggerTable table_;
};

// ta(i m v p), tb and tc(id val), ts(s n who) of uprobes, synthetic tsyn(id d who): as the corpus defines them.
void define_trigger_events(TriggerWorld& world);

}  // namespace kevt::golden
