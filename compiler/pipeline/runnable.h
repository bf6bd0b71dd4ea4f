// Rules about running a definition that has no mistakes.
#pragma once

#include "common/error.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/model/compiled_event.h"
#include "compiler/pipeline/compile.h"
#include "compiler/sema/sema.h"
#include "compiler/target/target_env.h"

namespace kevt::pipeline {

// Whether a runtime runs this form in the target; if not, NotSupportedByRuntime is reported.
bool can_run(const model::Definition& definition, const target::TargetEnv& env, diag::Sink& sink);
// Binds an eprobe's `if` to the record that the eprobe reads. False: a mistake, or a filter that code cannot evaluate,
// was reported.
bool attach_filter(const model::Definition& definition, const target::EventCatalog& catalog, CheckedEvent& event,
                   diag::Sink& sink);
// Whether the probed place is in the target now (or the target knows no places); if not, that is reported.
bool is_there(const sema::CheckedDefinition& checked, const target::TargetEnv& env, diag::Sink& sink);
// Whether the place is in an existing library that the target has not loaded: a file, or a name by which the dynamic
// linker would find one. A misspelt name is no such library.
bool waits_for_library(const sema::CheckedDefinition& checked, const target::TargetEnv& env);
// Fills SlotSource::address: addresses that the code reads from its data block. They are known only where it runs.
Result<void> resolve_slots(model::CompiledEvent& event, const target::TargetEnv& env);

}  // namespace kevt::pipeline
