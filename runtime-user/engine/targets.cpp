// When a target is added it gets code for every armed event; from then on the EventSwitcher changes the code of all
// targets together.
#include "runtime-user/engine/targets.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/assert.h"
#include "common/clock.h"

namespace kevt::engine {

std::vector<CodeRefusal> Targets::add(TracedTarget& target) {
  KEVT_ASSERT(state_.options.follows);
  records_.drain();
  std::vector<CodeRequest> requests;
  for (const auto& [id, event] : state_.events.events())
    if (state_.instances.is_armed(id)) requests.push_back(switcher_.request_for(*event));
  std::vector<CodeRefusal> refusals;
  if (!switcher_.uses_jumps())
    if (auto done = target.runtime().use_jumps(false); !done) refusals.push_back({std::move(done.error()), ""});
  std::ranges::move(state_.code.add_target(target, requests), std::back_inserter(refusals));
  return refusals;
}

bool Targets::remove(TracedTarget& target) {
  records_.drain();
  if (records_.is_any_pending(target)) return false;
  aggregation_.collect();
  state_.code.remove_target(target);
  return true;
}

void Targets::forget(const TracedTarget& target) {
  tasks_.forget(target);
  stacks_.forget(target);
}

std::vector<CodeRefusal> Targets::libraries_changed(TracedTarget& target) {
  records_.drain();
  const auto deferred = state_.code.defer_gone(target);
  aggregation_.collect();  // of code that is gone, before its tables are used again
  std::vector<CodeRequest> requests;
  for (const auto& [id, event] : state_.events.events())
    if (state_.code.installed().is_deferred(id, target)) requests.push_back(switcher_.request_for(*event));
  auto refusals = state_.code.place_deferred(requests, target);
  if (!deferred && target.is_alive()) refusals.push_back({deferred.error(), ""});
  for (const CodeRefusal& refusal : refusals)
    state_.instances.top().errors.add(refusal.error.message(), refusal.command, now_ns());
  return refusals;
}

std::vector<CodeRefusal> Targets::code_moved(TracedTarget& target) {
  tasks_.note_new_names();
  return libraries_changed(target);
}

bool Targets::waits(const TracedTarget& target) const {
  return std::ranges::any_of(state_.events.events(), [&](const auto& entry) {
    return state_.code.installed().is_deferred(entry.first, target);
  });
}

}  // namespace kevt::engine
