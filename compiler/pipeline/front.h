// The front half of the compiler. All that look at a definition use it: `run` and scripts, the files of a mount,
// `check`, the editor.
//
//   parsed definition ─► checked in a target, against the existing events ─► laid out
//
// FixedCatalog::add_probe then makes the event known to the definitions that follow.
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

// Parses each line as parse_event() does, on all CPUs. One result for each line, with the line's mistakes.
struct ParsedEvent {
  std::optional<model::Definition> definition;
  std::vector<diag::Diagnostic> mistakes;
};
std::vector<ParsedEvent> parse_events(std::span<const std::string> lines);

struct LaidOut {
  sema::CheckedDefinition checked;
  model::RecordLayout layout;      // offsets are final
  bool uses_target_types = false;  // the target's types were needed to understand the definition as written
};

// Whether types are needed to understand the definition. For a checked definition: types were needed, and none were
// known.
bool needs_types(const model::Definition& definition);

// nullopt: there are mistakes, which go to `sink`, also that the record is too large.
std::optional<LaidOut> check_and_lay_out(model::Definition written, const target::TargetEnv& env,
                                         const target::EventCatalog& catalog, const sema::CheckRequest& request,
                                         diag::Sink& sink);

}  // namespace kevt::pipeline
