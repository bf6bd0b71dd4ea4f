// What a run is asked to trace, given to its Tracing: the same for processes and for the kernel.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cli/definitions/run_request.h"
#include "cli/report.h"
#include "runtime-user/engine/tracing.h"

namespace kevt::cli {

class RunDefinitions {
 public:
  // Both outlive it.
  RunDefinitions(const RunRequest& request, const Reporter& report) : request_(request), report_(report) {}

  // Defines it all and sets filters and triggers; nothing is armed. An exit status when something is wrong; it has been
  // reported, with the target where there are several.
  std::optional<int> define(engine::Tracing& tracing);
  // What is to be on: what is defined but for what scripts say is off and what --hist counts, and what is named of the
  // kernel's own.
  std::vector<const engine::TracedEvent*> to_switch_on(const engine::Tracing& tracing) const;
  // What is told of: the same, and what is off and may be switched on. In the order of their ids.
  std::vector<const engine::TracedEvent*> to_record(const engine::Tracing& tracing) const;
  // Tells what could not be armed and took nothing else down.
  void report_left_out(std::span<const engine::CodeRefusal> left_out) const;

 private:
  const RunRequest& request_;
  const Reporter& report_;
  std::vector<std::vector<std::uint64_t>> serials_;  // of each definition's probes
};

}  // namespace kevt::cli
