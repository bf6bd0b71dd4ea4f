// Rules about running, after the definition itself was found right.
#pragma once

#include "common/error.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/model/compiled_event.h"
#include "compiler/pipeline/compile.h"
#include "compiler/sema/sema.h"
#include "compiler/target/target_env.h"

namespace kevt::pipeline {

// Whether a runtime runs this form there; reports NotSupportedByRuntime otherwise.
bool can_run(const model::Definition& definition, const target::TargetEnv& env, diag::Sink& sink);
// Binds an eprobe's `if` to the record it reads; false where code cannot ask it, which is reported.
bool attach_filter(const model::Definition& definition, const target::EventCatalog& catalog, CheckedEvent& event,
                   diag::Sink& sink);
// Whether the probed place is in the target now (or the target knows no places); reports otherwise.
bool is_there(const sema::CheckedDefinition& checked, const target::TargetEnv& env, diag::Sink& sink);
// Whether the place is in a library that the target has not loaded, but that there is: a file, or a name by which the
// dynamic linker would find one. A misspelt name is none.
bool waits_for_library(const sema::CheckedDefinition& checked, const target::TargetEnv& env);
// Fills SlotSource::address: what the code reads from its data block, known now and not when it was compiled.
Result<void> resolve_slots(model::CompiledEvent& event, const target::TargetEnv& env);

}  // namespace kevt::pipeline
