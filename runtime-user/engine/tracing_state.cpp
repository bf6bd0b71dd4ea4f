#include "runtime-user/engine/tracing_state.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace kevt::engine {

namespace {

Needs needs_of(const TracingOptions& options) {
  if (options.keep_going || options.leaves_out) return Needs::NoTarget;
  return options.follows ? Needs::OneTarget : Needs::EveryTarget;
}

std::span<std::uint64_t> cells_of(const std::vector<TracedTarget*>& targets, const TracingOptions& options) {
  if (options.follows || targets.size() != 1) return {};
  return targets.front()->runtime().shared_cells();
}

}  // namespace

TracingState::TracingState(std::vector<TracedTarget*> targets, TracingOptions tracing_options)
    : options(std::move(tracing_options)),
      events(options.check),
      code(std::move(targets), needs_of(options), options.precompiled),
      cells(cells_of(code.installed().targets(), options)),
      instances(options.cpus, options.buffer_kb) {
  for (const target::CatalogEntry& event : options.static_events) events.add_static(event);
  StaticEvents* statics = code.installed().static_events();
  if (!statics) return;
  for (const StaticEvent& event : statics->all()) events.add_running(event);
  statics->on_fork([this](std::int32_t parent, std::int32_t child) {
    for (const auto& instance : instances) instance->note_fork(parent, child);
  });
}

bool TracingState::has_both_sides() const {
  const auto& targets = code.installed().targets();
  const auto is_kernel = [](TracedTarget* target) { return target->known_env().is_running_kernel(); };
  return targets.size() > 1 && std::ranges::any_of(targets, is_kernel) && !std::ranges::all_of(targets, is_kernel);
}

bool TracingState::is_of_other_side(const TracedEvent& event, std::string_view definition) const {
  const auto& targets = code.installed().targets();
  return !event.probes.empty() && !targets.empty() && std::ranges::none_of(targets, [&](TracedTarget* target) {
    return target->takes(definition) && target->takes(event.probes.front().written.command);
  });
}

std::vector<const target::TargetEnv*> TracingState::envs(std::string_view definition) {
  static const target::UncheckedTargetEnv unchecked;
  if (options.env) return {options.env};
  std::vector<const target::TargetEnv*> envs;
  for (TracedTarget* target : code.installed().targets())
    if ((envs.empty() || options.follows) && target->is_alive() && target->takes(definition))
      envs.push_back(&target->env());
  if (!envs.empty()) return envs;
  const auto& targets = code.installed().targets();
  const auto taker = std::ranges::find_if(targets, [&](TracedTarget* target) { return target->takes(definition); });
  return {taker == targets.end() ? &unchecked : &(*taker)->known_env()};
}

void TracingState::hide_own_threads() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored))
    hidden_threads.push_back(std::atoi(entry.path().filename().c_str()));
}

bool TracingState::is_hidden(std::int32_t tid) const {
  if (hidden_threads.empty()) return false;
  return std::ranges::find(hidden_threads, tid) != hidden_threads.end() ||
         (tid != 0 && std::ranges::find(hidden_copies, tid) != hidden_copies.end());
}

void TracingState::hide_copy(std::int32_t pid) {
  if (pid != 0) hidden_copies[next_copy++ % hidden_copies.size()] = pid;
}

}  // namespace kevt::engine
