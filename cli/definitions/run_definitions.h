// Defines what a run is asked to trace in its Tracing; the same for processes and for the kernel.
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
  std::vector<const engine::TracedEvent*> events;  // events whose records may come, by id
  std::string output;                              // a file; "" or "-": standard output
};

class RunDefinitions {
 public:
  // Both arguments outlive this object.
  RunDefinitions(const RunRequest& request, const Reporter& report) : request_(request), report_(report) {}

  // Makes the instances, defines all events and sets filters and triggers; arms nothing. Returns an exit status if
  // something is wrong; it has been reported, with the target if there are several.
  std::optional<int> define(engine::Tracing& tracing);
  // The events to be switched on in each instance. In the top one: all defined events and all kernel events that it
  // names, except those that scripts switch off, that --hist only counts, or that only other instances name. In another
  // one: the events that it names.
  std::vector<engine::EventSwitcher::InstanceEvent> to_switch_on(engine::Tracing& tracing) const;
  // The instances, the top one first, each with its events that are on or may be switched on later.
  std::vector<RunInstance> instances(engine::Tracing& tracing) const;
  // Reports the probes that could not be armed while the run goes on. An exit status if it cannot: without --keep-going
  // only functions of globs may be left out, and not all of a glob.
  std::optional<int> report_left_out(std::span<const engine::CodeRefusal> left_out) const;

 private:
  void report_globs() const;
  // The definition that the refused probe is of; nullopt: none.
  std::optional<std::size_t> definition_of(const engine::CodeRefusal& refusal) const;
  bool is_told_of(const InstanceTexts& instance, const engine::TracedEvent& event) const;
  bool is_on(const InstanceTexts& instance, const engine::TracedEvent& event) const;
  std::optional<int> make_instances(engine::Tracing& tracing) const;

  const RunRequest& request_;
  const Reporter& report_;
  std::vector<std::vector<std::uint64_t>> serials_;  // by definition, then by probe
};

}  // namespace kevt::cli
