// The compiler, stage by stage: text → checked event → fetch IR → machine code.
//
// Mistakes of the user go to the sink (nullopt then), trouble of the world or of LLVM is an Error.
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

// A definition that is right for this target: everything about the event but its code.
struct CheckedEvent {
  model::Definition definition;
  model::RecordLayout layout;
  std::string listing;
  std::uint64_t function_address = 0;
  std::uint64_t place_address = 0;
  std::uint64_t semaphore_address = 0;            // of PATH:OFFSET(REF_CTR); 0: it has none there
  std::optional<lower::AttachedFilter> attached;  // an eprobe's `if`
  bool uses_target_types = false;                 // the target's types told what something in it means
  bool is_deferred = false;                       // for its library: there is no address yet, and code cannot be made
  std::optional<model::Injection> injection;      // asked for beside the definition
  bool takes_stack = false;                       // likewise: its records come with the stack of the hit
  model::InlineTriggers switches;                 // likewise; with one sink
  std::vector<model::HitHistogram> histograms;    // likewise, without switches
};

struct CompiledEvents {
  model::CompiledBatch batch;
  std::vector<ir::Program> programs;
  std::string llvm_ir;  // of the whole batch, when asked for
};

// Unresolved: CodeOnly, and slots have no addresses: those are found where the code will run; so are the numbers that
// the types of that kernel tell (BPF code of events that are `uses_target_types`).
enum class Artifacts : std::uint8_t { CodeOnly, KeepAll, Unresolved };

// Which forms are taken. Runnable: those whose code can be made (lower::lowerable) at a place that is there.
// RunnableLater: also where the place may come when a library is loaded, and synthetic events, which have no code:
// their records are made of others'. All: the language.
enum class Forms : std::uint8_t { Runnable, RunnableLater, All };

// One line of dynamic_events as it is written, the same in every target. Blank and comment lines: nullopt and no
// diagnostic; a line with mistakes may be a definition all the same, in which more are found.
std::optional<model::Definition> parse_event(std::string_view line, diag::Sink& sink);
std::optional<CheckedEvent> check_event(model::Definition written, const target::TargetEnv& env,
                                        const target::EventCatalog& catalog, Forms forms, diag::Sink& sink);
// Both.
std::optional<CheckedEvent> check_event(std::string_view line, const target::TargetEnv& env,
                                        const target::EventCatalog& catalog, Forms forms, diag::Sink& sink);

// Tells the environment which functions these definitions name, before they are checked one by one.
void expect_functions(std::span<const model::Definition* const> definitions, const target::TargetEnv& env);

// A filter for an event's records.
std::optional<model::FilterExpr> check_filter(std::string_view text, const CheckedEvent& event, diag::Sink& sink);

// Code for events that are defined together. `filters[i]` has one element per sink of event i. What `made` has of it is
// not compiled again.
Result<CompiledEvents> compile_events(std::span<const CheckedEvent* const> events,
                                      const std::vector<std::vector<std::optional<model::FilterExpr>>>& filters,
                                      const target::TargetEnv& env, Artifacts artifacts,
                                      model::CodeKind kind = model::CodeKind::Native, MadeCode made = {});
Result<CompiledEvents> compile_events(const std::vector<CheckedEvent>& events,
                                      const std::vector<std::vector<std::optional<model::FilterExpr>>>& filters,
                                      const target::TargetEnv& env, Artifacts artifacts,
                                      model::CodeKind kind = model::CodeKind::Native, MadeCode made = {});

}  // namespace kevt::pipeline
