// CodePlacer: the code of probes in one target: looked up there, compiled for it, installed in it.
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

// What an event's code shall be.
struct CodeRequest {
  const TracedEvent* event = nullptr;
  bool armed = false;
  // Decided at the hit; `filter_text` names it: code with the same text is kept.
  std::optional<model::FilterExpr> filter;
  std::string filter_text;
  // Likewise, with `inline_key`.
  model::InlineTriggers inline_triggers;
  std::string inline_key;
  // Counted at the hit, with `inline_key`; without inline_triggers and filter.
  std::vector<model::HitHistogram> histograms = {};
  bool wants_stack = false;                   // by the code, or by a sample: its records are of a SampledType then
  std::optional<model::Injection> injection;  // the same as long as the event lives
};

// Why the code of an event cannot be made.
struct CodeRefusal {
  Error error;
  std::string command;       // of the definition; empty: it is about none of them
  std::uint64_t serial = 0;  // of the probe; 0: likewise
  std::string reason = {};   // the error without the target's name: the same in others
};

// One probe that is right for the target, ready to be compiled.
struct CheckedProbe {
  const CodeRequest* request = nullptr;
  pipeline::CheckedEvent event;
  std::uint32_t type = 0;  // of its records: common_type
  std::uint64_t serial = 0;
};

class CodePlacer {
 public:
  // `statics`: what eprobes may stand on; `made`: what need not be compiled. All of them outlive the placer.
  CodePlacer(TracedTarget& target, const target::EventCatalog& statics, pipeline::MadeCode made)
      : target_(target), statics_(statics), made_(made) {}

  // Looks the probe's definition up again, in this target as it was last looked at (TracedTarget::env). nullopt: its
  // library may come and is not loaded yet.
  std::expected<std::optional<CheckedProbe>, CodeRefusal> check(const EventProbe& probe,
                                                                const CodeRequest& request) const;
  // What was looked up already, as code of this request.
  CheckedProbe ready(const EventProbe& probe, const CodeRequest& request, pipeline::CheckedEvent checked) const;
  // Whether its hits copy some of their stack into the record, to be unwound by the reader.
  bool samples_stack(const CodeRequest& request) const;
  // Installs them disarmed, in one compilation: all, or none and why. Where hits cannot count (no table is free,
  // nothing here compiles code for it), they are recorded, and the reader counts.
  std::expected<std::vector<runtime::ProbeHandle>, CodeRefusal> install(std::span<const CheckedProbe> probes);
  // Installs each that can be: nullopt for the others; why is appended to `refusals`.
  std::vector<std::optional<runtime::ProbeHandle>> install_each(std::span<const CheckedProbe> probes,
                                                                std::vector<CodeRefusal>& refusals);

 private:
  std::expected<std::vector<runtime::ProbeHandle>, CodeRefusal> install_so(std::span<const CheckedProbe> probes);
  Result<model::CompiledBatch> compile(std::span<const CheckedProbe> probes) const;

  TracedTarget& target_;
  const target::EventCatalog& statics_;
  pipeline::MadeCode made_;
};

}  // namespace kevt::engine
