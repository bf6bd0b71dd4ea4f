// The front half of the compiler, which everybody goes through who looks at a definition: `run` and scripts, the files
// of a mount, `check`, the editor.
//
//   parsed definition ─► checked in a target, against the events that are there ─► laid out
//
// FixedCatalog::add_probe makes it known to the definitions behind it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/model/definition.h"
#include "compiler/model/record_layout.h"
#include "compiler/sema/sema.h"
#include "compiler/target/event_catalog.h"
#include "compiler/target/target_env.h"

namespace kevt::pipeline {

// Lines as parse_event() reads each, on all CPUs, with the mistakes of each beside it.
struct ParsedEvent {
  std::optional<model::Definition> definition;
  std::vector<diag::Diagnostic> mistakes;
};
std::vector<ParsedEvent> parse_events(std::span<const std::string> lines);

struct LaidOut {
  sema::CheckedDefinition checked;
  model::RecordLayout layout;      // offsets are final
  bool uses_target_types = false;  // as it was written: the target's types told what something in it means
};

// Whether only types can tell what something in it means. Of a checked definition: nobody had them.
bool needs_types(const model::Definition& definition);

// Mistakes go to `sink`, those of the record's size too: nullopt then.
std::optional<LaidOut> check_and_lay_out(model::Definition written, const target::TargetEnv& env,
                                         const target::EventCatalog& catalog, const sema::CheckRequest& request,
                                         diag::Sink& sink);

}  // namespace kevt::pipeline
