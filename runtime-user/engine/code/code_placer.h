// CodePlacer: looks probes up in one target, compiles code for the target, and installs the code there.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "compiler/model/filter.h"
#include "compiler/pipeline/code_store.h"
#include "compiler/pipeline/compile.h"
#include "compiler/target/event_catalog.h"
#include "runtime-user/engine/events/event_table.h"
#include "runtime-user/engine/traced_target.h"

namespace kevt::engine {

// What code an event is to have.
struct CodeRequest {
  const TracedEvent* event = nullptr;
  bool armed = false;
  // The filter that the hit itself checks. `filter_text` is its identity: for the same text the same code is used
  // again.
  std::optional<model::FilterExpr> filter;
  std::string filter_text;
  // Triggers that the hit itself carries out; their identity is `inline_key`.
  model::InlineTriggers inline_triggers;
  std::string inline_key;
  // Histograms that the hit itself counts; their identity is `inline_key`. With any of these, inline_triggers and
  // filter are empty.
  std::vector<model::HitHistogram> histograms = {};
  bool wants_stack = false;                   // its records come with the stack of the hit
  std::optional<model::Injection> injection;  // the same as long as the event lives
};

// Why the code of an event cannot be made.
struct CodeRefusal {
  Error error;
  std::string command;       // the definition; empty: the refusal is about no single definition
  std::uint64_t serial = 0;  // of the probe; 0: about no single probe
  std::string reason = {};   // the error without the target's name, to compare across targets
  bool is_missing = false;   // no file of the target has the function
};

// One probe that was checked for the target and is ready to be compiled.
struct CheckedProbe {
  const CodeRequest* request = nullptr;
  pipeline::CheckedEvent event;
  std::uint32_t type = 0;  // common_type of its records
  std::uint64_t serial = 0;
};

class CodePlacer {
 public:
  // `statics`: the static events that eprobes may stand on; `made`: code that need not be compiled. All arguments
  // outlive the placer.
  CodePlacer(TracedTarget& target, const target::EventCatalog& statics, pipeline::MadeCode made)
      : target_(target), statics_(statics), made_(made) {}

  // Looks the probe's definition up again, in the target as it was at the last TracedTarget::env(). nullopt: the
  // probe's library is not loaded yet, but may be later.
  std::expected<std::optional<CheckedProbe>, CodeRefusal> check(const EventProbe& probe,
                                                                const CodeRequest& request) const;
  // Makes a CheckedProbe for this request of a definition that was looked up already.
  CheckedProbe ready(const EventProbe& probe, const CodeRequest& request, pipeline::CheckedEvent checked) const;
  // Installs the probes disarmed, in one compilation: all, or none and the reason. Where hits cannot count their
  // histograms themselves (no free table, or code for it cannot be compiled), hits are recorded instead and the reader
  // counts.
  std::expected<std::vector<runtime::ProbeHandle>, CodeRefusal> install(std::span<const CheckedProbe> probes);
  // Installs each probe that can be installed. For another the result is nullopt, and the reason is appended to
  // `refusals`.
  std::vector<std::optional<runtime::ProbeHandle>> install_each(std::span<const CheckedProbe> probes,
                                                                std::vector<CodeRefusal>& refusals);

 private:
  Result<void> prepare_stacks(std::span<const CheckedProbe> probes);
  std::expected<std::vector<runtime::ProbeHandle>, CodeRefusal> install_so(std::span<const CheckedProbe> probes);
  Result<model::CompiledBatch> compile(std::span<const CheckedProbe> probes) const;

  TracedTarget& target_;
  const target::EventCatalog& statics_;
  pipeline::MadeCode made_;
};

}  // namespace kevt::engine
