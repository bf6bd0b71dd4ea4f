// What a run is asked to trace, given to its Tracing: the same for processes and for the kernel.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cli/definitions/run_request.h"
#include "cli/reporter.h"
#include "runtime-user/engine/tracing.h"

namespace kevt::cli {

// An instance of a run.
struct RunInstance {
  engine::Instance* instance = nullptr;
  std::vector<const engine::TracedEvent*> events;  // whose records may come, in the order of their ids
  std::string output;                              // a file; "" or "-": standard output
};

class RunDefinitions {
 public:
  // Both outlive it.
  RunDefinitions(const RunRequest& request, const Reporter& report) : request_(request), report_(report) {}

  // Makes the instances, defines it all and sets filters and triggers; nothing is armed. An exit status when something
  // is wrong; it has been reported, with the target where there are several.
  std::optional<int> define(engine::Tracing& tracing);
  // Of every instance what is to be on. The top one: what is defined but for what scripts say is off, what --hist
  // counts and what other instances alone name; and what is named of the kernel's own. Others: what they name.
  std::vector<engine::EventSwitcher::InstanceEvent> to_switch_on(engine::Tracing& tracing) const;
  // The top one first. Each tells of what is on in it, and of what is off and may be switched on.
  std::vector<RunInstance> instances(engine::Tracing& tracing) const;
  // Tells what could not be armed and took nothing else down.
  void report_left_out(std::span<const engine::CodeRefusal> left_out) const;

 private:
  bool is_told_of(const InstanceTexts& instance, const engine::TracedEvent& event) const;
  bool is_on(const InstanceTexts& instance, const engine::TracedEvent& event) const;
  std::optional<int> make_instances(engine::Tracing& tracing) const;

  const RunRequest& request_;
  const Reporter& report_;
  std::vector<std::vector<std::uint64_t>> serials_;  // of each definition's probes
};

}  // namespace kevt::cli
