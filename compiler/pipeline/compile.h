// The compiler, stage by stage: text → checked event → fetch IR → machine code.
//
// Mistakes of the user go to the sink, and the result is nullopt; failures of the system or of LLVM are an Error.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/ir/program.h"
#include "compiler/lower/lower.h"
#include "compiler/model/compiled_event.h"
#include "compiler/model/definition.h"
#include "compiler/model/filter.h"
#include "compiler/model/record_layout.h"
#include "compiler/pipeline/code_store.h"
#include "compiler/target/event_catalog.h"
#include "compiler/target/target_env.h"

namespace kevt::pipeline {

// A definition without mistakes for this target: everything about the event but its code.
struct CheckedEvent {
  model::Definition definition;
  model::RecordLayout layout;
  std::string listing;
  std::uint64_t function_address = 0;
  std::uint64_t place_address = 0;
  std::uint64_t semaphore_address = 0;            // of PATH:OFFSET(REF_CTR); 0: no semaphore, or it is not mapped
  std::optional<lower::AttachedFilter> attached;  // an eprobe's `if`
  bool uses_target_types = false;                 // the target's types were needed to understand the definition
  bool is_deferred = false;                       // its library is not loaded: no address yet, no code can be made
  // Set by the caller, as no definition says them:
  std::optional<model::Injection> injection;
  bool takes_stack = false;                     // the event's records come with the stack of the hit
  model::InlineTriggers switches;               // only with one sink
  std::vector<model::HitHistogram> histograms;  // only with one sink, without switches
};

struct CompiledEvents {
  model::CompiledBatch batch;
  std::vector<ir::Program> programs;
  std::string llvm_ir;  // of the whole batch; only when asked for
};

// What compile_events() makes. KeepAll: also LLVM's text. Unresolved: code for other machines. Slots get no addresses,
// and numbers that depend on the kernel's types stay open (in BPF code of events with `uses_target_types`): both are
// filled in on the machine that runs the code.
enum class Artifacts : std::uint8_t { CodeOnly, KeepAll, Unresolved };

// Which forms are accepted. Runnable: those for which code can be made (lower::lowerable), at a place that the target
// has now. RunnableLater: also a place that comes when a library is loaded, and synthetic events, which have no code of
// their own. All: the whole language.
enum class Forms : std::uint8_t { Runnable, RunnableLater, All };

// Parses one line of dynamic_events; no target is needed. Blank and comment lines give nullopt and no diagnostic. A
// line with mistakes may give a definition all the same, so that check_event() can find more mistakes in it.
std::optional<model::Definition> parse_event(std::string_view line, diag::Sink& sink);
std::optional<CheckedEvent> check_event(model::Definition written, const target::TargetEnv& env,
                                        const target::EventCatalog& catalog, Forms forms, diag::Sink& sink);
// Parses and checks.
std::optional<CheckedEvent> check_event(std::string_view line, const target::TargetEnv& env,
                                        const target::EventCatalog& catalog, Forms forms, diag::Sink& sink);

// Announces the functions of these definitions to the environment, before the definitions are checked one by one.
void expect_functions(std::span<const model::Definition* const> definitions, const target::TargetEnv& env);

// Checks a filter for an event's records.
std::optional<model::FilterExpr> check_filter(std::string_view text, const CheckedEvent& event, diag::Sink& sink);

// Makes code for events that are defined together. `filters[i]` has one element per sink of event i. Code that `made`
// holds is taken from there instead of being compiled.
Result<CompiledEvents> compile_events(std::span<const CheckedEvent* const> events,
                                      const std::vector<std::vector<std::optional<model::FilterExpr>>>& filters,
                                      const target::TargetEnv& env, Artifacts artifacts,
                                      model::CodeKind kind = model::CodeKind::Native, MadeCode made = {});
Result<CompiledEvents> compile_events(const std::vector<CheckedEvent>& events,
                                      const std::vector<std::vector<std::optional<model::FilterExpr>>>& filters,
                                      const target::TargetEnv& env, Artifacts artifacts,
                                      model::CodeKind kind = model::CodeKind::Native, MadeCode made = {});

}  // namespace kevt::pipeline
