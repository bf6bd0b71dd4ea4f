// EventCode: the code of events in their targets: compiled when an event is first armed, exchanged when its filter or
// its probes change.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/error.h"
#include "compiler/model/filter.h"
#include "compiler/target/fixed_target.h"
#include "runtime-user/engine/event_table.h"
#include "runtime-user/engine/stack_samples.h"
#include "runtime-user/engine/traced_target.h"

namespace kevt::engine {

// What an event's code shall be.
struct CodeRequest {
  const TracedEvent* event = nullptr;
  bool armed = false;
  // Decided at the hit; `filter_text` names it: code with the same text is kept.
  std::optional<model::FilterExpr> filter;
  std::string filter_text;
  // Likewise, with `switches_text`.
  model::HitSwitches switches;
  std::string switches_text;
  bool samples_stack = false;  // its records are of a SampledType
};

// Records of this type are an event's, with a stack sample.
struct SampledType {
  std::uint32_t event = 0;
  StackSamples samples;
};

// Why the code of an event cannot be made.
struct CodeRefusal {
  Error error;
  std::string command;  // of the definition; empty: it is about none of them
};

class EventCode {
 public:
  explicit EventCode(std::vector<TracedTarget*> targets);

  // All of it in every living target, or nothing is changed and the refusal says why.
  std::expected<void, CodeRefusal> apply(std::span<const CodeRequest> requests);
  // Takes an event's code out, whatever state it is in; its counts are forgotten.
  void forget(std::uint32_t event);

  // Over all targets and all code the event has had.
  runtime::EventCounts counts(std::uint32_t event) const;
  // Of one of its probes.
  runtime::EventCounts counts(std::uint32_t event, std::uint64_t serial) const;
  // Of one probe of the event as it is armed now, in each target.
  std::vector<runtime::ArmStatus> arm_status(std::uint32_t event, std::size_t probe) const;
  const std::vector<TracedTarget*>& targets() const { return targets_; }
  // nullptr: an event's own type, or nobody's.
  const SampledType* sampled(std::uint32_t type) const;
  // Of the first target that has any.
  StaticEvents* static_events() const;

 private:
  using Handles = std::vector<runtime::ProbeHandle>;
  struct Version {
    std::string key;                     // of what it was compiled from; empty: there is none
    std::vector<Handles> handles;        // for each target; one per probe; empty where the target had ended
    std::vector<std::uint64_t> serials;  // of the probes
  };
  struct Code {
    Version now;
    std::vector<Version> former;  // disarmed: their counts are the event's, and each may come back
    bool armed = false;
  };
  struct Change;
  std::expected<std::vector<Handles>, CodeRefusal> install(std::span<const CodeRequest* const> requests,
                                                           std::size_t target);
  bool take_former(const Code& code, Change& change) const;
  std::optional<CodeRefusal> prepare(std::span<const CodeRequest> requests, std::vector<Change>& changes);
  Result<void> switch_static(std::span<const CodeRequest> requests);
  Result<void> exchange(std::span<const Change> changes, std::size_t target);

  std::optional<std::uint32_t> sampled_type_of(const TracedEvent& event, const model::RecordLayout& layout);

  std::vector<TracedTarget*> targets_;
  target::FixedCatalog statics_;  // what eprobes stand on
  std::unordered_map<std::uint32_t, Code> codes_;
  std::unordered_map<std::uint32_t, SampledType> sampled_;       // by type
  std::unordered_map<std::uint32_t, std::uint32_t> sampled_of_;  // event to type: the same as long as the event lives
  std::uint32_t next_sampled_ = 0;
};

}  // namespace kevt::engine
