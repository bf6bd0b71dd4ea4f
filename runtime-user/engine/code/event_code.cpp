// Enabling many events at once is one compilation and one stop for each target:
//
//   requests ─► which need new code ─► compile, install (all in one batch) ─► replace: new ones armed, old ones
//   disarmed
//
// Every target resolves names for itself, since functions lie elsewhere in each; code for equal arguments is compiled
// once for all. What a target refuses leaves all as it was, and code that was installed for it goes. Where programs
// are followed, a target goes without what it does not have, as long as another one has it. A target that has ended is
// left out.
#include "runtime-user/engine/code/event_code.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "common/assert.h"

namespace kevt::engine {

struct EventCode::Change {
  const CodeRequest* request = nullptr;
  Version next;
  bool is_new = false;     // `next` replaces what is there
  bool is_former = false;  // and was made before
  bool completes = false;  // and is what is there, with what targets lack of it
};

namespace {

std::string key_of(const CodeRequest& request) {
  std::string key = request.filter_text + '\n' + request.inline_key + (request.wants_stack ? "\nstack " : "\n");
  for (const EventProbe& probe : request.event->probes) key += std::to_string(probe.serial) + ' ';
  return key;
}

}  // namespace

EventCode::EventCode(std::vector<TracedTarget*> targets, Needs needs, const pipeline::CodeStore* precompiled)
    : targets_(std::move(targets)), needs_(needs), precompiled_(precompiled) {
  if (const StaticEvents* statics = static_events())
    for (const StaticEvent& event : statics->all()) statics_.add(catalog_entry(event));
}

StaticEvents* EventCode::static_events() const {
  for (TracedTarget* target : targets_)
    if (StaticEvents* statics = target->static_events()) return statics;
  return nullptr;
}

bool EventCode::sees_misses() const {
  return std::ranges::all_of(targets_,
                             [](TracedTarget* target) { return target->runtime().capabilities().sees_misses; });
}

Result<void> EventCode::can_have_stacks(TracedTarget& target) {
  if (target.runtime().capabilities().takes_stacks) return {};
  KEVT_TRY(target.unwinder());
  return {};
}

Result<void> EventCode::can_have_stacks() const {
  for (TracedTarget* target : targets_)
    if (target->is_alive()) KEVT_TRY(can_have_stacks(*target));
  return {};
}

// They have no code: they are on or off.
Result<void> EventCode::switch_static(std::span<const CodeRequest> requests) {
  std::vector<std::uint32_t> on, off;
  for (const CodeRequest& request : requests) {
    if (!request.event->is_static() || codes_[request.event->id].armed == request.armed) continue;
    (request.armed ? on : off).push_back(request.event->id);
  }
  StaticEvents* const statics = static_events();
  for (const bool wanted : {false, true}) {
    std::vector<std::uint32_t> ids;
    for (const CodeRequest& request : requests)
      if (request.event->is_static() && request.armed && request.wants_stack == wanted)
        ids.push_back(request.event->id);
    if (ids.empty()) continue;
    KEVT_ASSERT(statics != nullptr);
    KEVT_TRY(statics->set_stacks(ids, wanted));
  }
  if (on.empty() && off.empty()) return {};
  KEVT_TRY(statics->change(on, off));
  for (std::uint32_t id : on) codes_[id].armed = true;
  for (std::uint32_t id : off) codes_[id].armed = false;
  return {};
}

const SampledType* EventCode::sampled(std::uint32_t type) const {
  const auto it = sampled_.find(type);
  return it == sampled_.end() ? nullptr : &it->second;
}

// A probe has no code in this target, which lives.
bool EventCode::lacks(const Version& version, std::size_t target) const {
  if (!targets_[target]->is_alive()) return false;
  if (target >= version.handles.size() || version.handles[target].empty()) return true;
  return !std::ranges::all_of(version.handles[target], is_placed);
}

bool EventCode::is_whole(const Version& version) const {
  for (std::size_t t = 0; t < targets_.size(); ++t)
    if (lacks(version, t)) return false;
  return true;
}

bool EventCode::is_in_no_target(const Version& version) {
  for (std::size_t i = 0; i < version.serials.size(); ++i)
    if (std::ranges::none_of(version.handles, [i](const Handles& of_target) {
          return i < of_target.size() && of_target[i] != kRefused;
        }))
      return true;
  return false;
}

// The same code as before in every target that lives: what goes to and fro uses up nothing.
bool EventCode::take_former(const Code& code, Change& change) const {
  const auto found = std::ranges::find_if(
      code.former, [&](const Version& one) { return one.key == change.next.key && is_whole(one); });
  if (found == code.former.end()) return false;
  change.next = *found;
  return true;
}

// Of what is new, what this target lacks.
std::optional<CodeRefusal> EventCode::install_in(std::size_t target, std::vector<Change>& changes,
                                                 std::vector<CodeRefusal>& refusals) {
  std::vector<Change*> lacking;
  std::vector<const CodeRequest*> requests;
  for (Change& change : changes) {
    if (!change.is_new || change.is_former || !lacks(change.next, target)) continue;
    lacking.push_back(&change);
    requests.push_back(change.request);
  }
  if (requests.empty()) return std::nullopt;
  TracedTarget& where = *targets_[target];
  auto handles = needs_ == Needs::EveryTarget ? install(requests, where) : install_each(requests, where, refusals);
  if (!handles) return std::move(handles.error());
  for (std::size_t i = 0; i < lacking.size(); ++i) lacking[i]->next.handles[target] = std::move((*handles)[i]);
  return std::nullopt;
}

std::optional<CodeRefusal> EventCode::prepare(std::span<const CodeRequest> requests, std::vector<Change>& changes) {
  const bool any_alive = std::ranges::any_of(targets_, &TracedTarget::is_alive);
  bool any_new = false;
  for (const CodeRequest& request : requests) {
    if (!has_code(*request.event)) continue;
    Change change{.request = &request, .next = {.key = key_of(request), .handles = {}, .serials = {}, .triggers = {}}};
    for (const EventProbe& probe : request.event->probes) change.next.serials.push_back(probe.serial);
    for (const model::HitHistogram& one : request.histograms) change.next.triggers.push_back(one.trigger);
    const Code& code = codes_[request.event->id];
    const bool is_same = code.now.key == change.next.key;
    change.completes = request.armed && !code.armed && is_same && !is_whole(code.now);
    change.is_new = change.completes || (request.armed && !is_same && (any_alive || !code.armed));
    if (change.completes)
      change.next = code.now;
    else
      change.is_former = change.is_new && take_former(code, change);
    change.next.handles.resize(targets_.size());
    any_new = any_new || (change.is_new && !change.is_former);
    changes.push_back(std::move(change));
  }
  if (!any_new) return std::nullopt;
  if (!any_alive) return CodeRefusal{Error("nothing to trace: every traced process has ended", ESRCH), ""};
  std::vector<CodeRefusal> refusals;
  for (std::size_t t = 0; t < targets_.size(); ++t)
    if (auto refusal = install_in(t, changes, refusals)) return refusal;
  if (needs_ == Needs::NoTarget) {
    left_out_ = std::move(refusals);
    return std::nullopt;
  }
  for (const Change& change : changes) {
    if (!change.is_new || change.is_former || !is_in_no_target(change.next)) continue;
    const auto is_of_it = [&](const CodeRefusal& one) {
      return one.command.empty() || std::ranges::any_of(change.request->event->probes, [&](const EventProbe& probe) {
               return probe.definition().command == one.command;
             });
    };
    const auto why = std::ranges::find_if(refusals, is_of_it);
    KEVT_ASSERT(why != refusals.end());
    return std::move(*why);
  }
  left_out_ = std::move(refusals);
  return std::nullopt;
}

EventCode::Handles EventCode::placed_of(const Handles& handles) {
  Handles placed;
  std::ranges::copy_if(handles, std::back_inserter(placed), is_placed);
  return placed;
}

Result<void> EventCode::exchange(std::span<const Change> changes, std::size_t target) {
  Handles armed, disarmed;
  for (const Change& change : changes) {
    const Code& code = codes_[change.request->event->id];
    const Handles now = target < code.now.handles.size() ? code.now.handles[target] : Handles{};
    const Handles& next = change.is_new ? change.next.handles[target] : now;
    if (code.armed && (change.is_new || !change.request->armed))
      std::ranges::copy_if(now, std::back_inserter(disarmed), is_placed);
    if (change.request->armed && (change.is_new || !code.armed))
      std::ranges::copy_if(next, std::back_inserter(armed), is_placed);
  }
  if (armed.empty() && disarmed.empty()) return {};
  KEVT_TRY(targets_[target]->runtime().replace(armed, disarmed));
  auto noted = targets_[target]->note_armed();
  if (!noted) (void)targets_[target]->runtime().replace(disarmed, armed);
  return noted;
}

std::expected<void, CodeRefusal> EventCode::apply(std::span<const CodeRequest> requests) {
  std::vector<Change> changes;
  left_out_.clear();
  auto refusal = prepare(requests, changes);
  expected_.clear();
  if (refusal) {
    take_back(changes);
    return std::unexpected(*std::move(refusal));
  }
  // A request is about static events or about probes, hardly ever both: what is switched here stays where the rest
  // fails.
  if (auto done = switch_static(requests); !done) {
    take_back(changes);
    return std::unexpected(CodeRefusal{std::move(done.error()), ""});
  }
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    if (!targets_[t]->is_alive()) continue;
    auto done = exchange(changes, t);
    if (done || !targets_[t]->is_alive()) continue;
    take_back(changes);
    Error error = std::move(done.error()).while_doing("changing " + targets_[t]->name());
    return std::unexpected(CodeRefusal{Error(error.message(), error.errno_value() ? error.errno_value() : EINVAL), ""});
  }
  for (Change& change : changes) take_over(change);
  return {};
}

// Of a change that is not to be: what was installed for it goes, and in targets that have it already it is disarmed.
void EventCode::take_back(std::span<const Change> changes) {
  for (const Change& change : changes) {
    if (!change.is_new) continue;
    const Code& code = codes_[change.request->event->id];
    for (std::size_t t = 0; t < change.next.handles.size(); ++t) {
      const Handles next = placed_of(change.next.handles[t]);
      if (!targets_[t]->is_alive() || next.empty()) continue;
      const bool was_there =
          change.is_former || (t < code.now.handles.size() && code.now.handles[t] == change.next.handles[t]);
      (void)(was_there ? targets_[t]->runtime().disarm(next) : targets_[t]->runtime().remove(next));
    }
  }
}

void EventCode::take_over(Change& change) {
  Code& code = codes_[change.request->event->id];
  code.armed = change.request->armed;
  if (!change.is_new) return;
  if (change.is_former) code.former.erase(std::ranges::find(code.former, change.next.handles, &Version::handles));
  if (change.completes)  // what stays is not counted twice
    for (std::size_t t = 0; t < code.now.handles.size(); ++t)
      if (code.now.handles[t] == change.next.handles[t]) code.now.handles[t].clear();
  if (!std::ranges::all_of(code.now.handles, &Handles::empty)) code.former.push_back(std::move(code.now));
  code.now = std::move(change.next);
  retire_oldest(code);
}

// An event whose filter is written all day keeps code of the newest ones. What counts histograms stays: it is read. In
// the kernel all stays: nothing would be given back there.
void EventCode::retire_oldest(Code& code) {
  const auto gives_back = [](TracedTarget* target) {
    return target->runtime().capabilities().code == model::CodeKind::Native;
  };
  if (!std::ranges::all_of(targets_, gives_back)) return;
  constexpr std::ptrdiff_t kKept = 8;
  const auto may_come_back = [](const Version& version) { return !version.key.empty() && version.triggers.empty(); };
  for (auto excess = std::ranges::count_if(code.former, may_come_back) - kKept; excess > 0; --excess) {
    const auto oldest = std::ranges::find_if(code.former, may_come_back);
    oldest->key.clear();
    retire_in_targets(*oldest);
  }
}

void EventCode::retire_in_targets(const Version& version) {
  for (std::size_t t = 0; t < version.handles.size(); ++t)
    if (targets_[t]->is_alive()) targets_[t]->runtime().retire(placed_of(version.handles[t]));
}

void EventCode::forget(std::uint32_t event) {
  const auto it = codes_.find(event);
  if (it == codes_.end()) return;
  const auto remove = [this](const Version& version) {
    for (std::size_t t = 0; t < version.handles.size(); ++t)
      if (targets_[t]->is_alive()) (void)targets_[t]->runtime().remove(placed_of(version.handles[t]));
  };
  remove(it->second.now);
  std::ranges::for_each(it->second.former, remove);
  codes_.erase(it);
  if (const auto type = sampled_of_.find(event); type != sampled_of_.end()) {
    sampled_.erase(type->second);
    sampled_of_.erase(type);
  }
}

void EventCode::retire(std::uint32_t event, const std::function<bool(std::uint64_t trigger)>& is_there) {
  const auto it = codes_.find(event);
  if (it == codes_.end()) return;
  Code& code = it->second;
  const auto is_over = [&](const Version& version) {
    return !version.triggers.empty() && std::ranges::none_of(version.triggers, is_there);
  };
  if (!code.armed && is_over(code.now)) code.former.push_back(std::exchange(code.now, {}));
  for (Version& version : code.former) {
    if (!is_over(version)) continue;
    version.key.clear();
    version.triggers.clear();
    retire_in_targets(version);
  }
}

runtime::EventCounts EventCode::counts(std::uint32_t event) const {
  runtime::EventCounts sum;
  if (const StaticEvents* statics = static_events()) sum += statics->counts(event);
  const auto it = codes_.find(event);
  if (it == codes_.end()) return sum;
  const auto add = [&](const Version& version) {
    for (std::size_t t = 0; t < version.handles.size(); ++t)
      for (runtime::ProbeHandle handle : placed_of(version.handles[t])) sum += targets_[t]->runtime().counts(handle);
  };
  add(it->second.now);
  std::ranges::for_each(it->second.former, add);
  for (const auto& [serial, counts] : it->second.gone) sum += counts;
  return sum;
}

runtime::EventCounts EventCode::counts(std::uint32_t event, std::uint64_t serial) const {
  runtime::EventCounts sum;
  const auto it = codes_.find(event);
  if (it == codes_.end()) return sum;
  if (const auto gone = it->second.gone.find(serial); gone != it->second.gone.end()) sum += gone->second;
  const auto add = [&](const Version& version) {
    const auto probe = static_cast<std::size_t>(std::ranges::find(version.serials, serial) - version.serials.begin());
    for (std::size_t t = 0; t < version.handles.size(); ++t)
      if (probe < version.handles[t].size() && is_placed(version.handles[t][probe]))
        sum += targets_[t]->runtime().counts(version.handles[t][probe]);
  };
  add(it->second.now);
  std::ranges::for_each(it->second.former, add);
  return sum;
}

runtime::EventCounts EventCode::counts(std::uint32_t event, const TracedTarget& target) const {
  runtime::EventCounts sum;
  const auto it = codes_.find(event);
  if (it == codes_.end()) return sum;
  const std::size_t t = index_of(target);
  const auto add = [&](const Version& version) {
    if (t >= version.handles.size()) return;
    for (runtime::ProbeHandle handle : placed_of(version.handles[t])) sum += targets_[t]->runtime().counts(handle);
  };
  add(it->second.now);
  std::ranges::for_each(it->second.former, add);
  return sum;
}

void EventCode::take_hit_counts(std::uint32_t event,
                                const std::function<void(TracedTarget&, const runtime::HitCount&)>& use) {
  const auto it = codes_.find(event);
  if (it == codes_.end()) return;
  const auto take = [&](const Version& version) {
    for (std::size_t t = 0; t < version.handles.size(); ++t)
      for (runtime::ProbeHandle handle : placed_of(version.handles[t]))
        targets_[t]->runtime().take_hit_counts(handle,
                                               [&](const runtime::HitCount& count) { use(*targets_[t], count); });
  };
  take(it->second.now);
  std::ranges::for_each(it->second.former, take);
}

bool EventCode::always_asks(std::uint32_t event, std::string_view filter_text) const {
  const auto it = codes_.find(event);
  if (it == codes_.end() || !it->second.former.empty()) return false;
  const std::string& key = it->second.now.key;
  return key.starts_with(filter_text) && key.size() > filter_text.size() && key[filter_text.size()] == '\n';
}

std::optional<runtime::ArmStatus> EventCode::arm_status(std::uint32_t event, std::uint64_t serial,
                                                        const TracedTarget& target) const {
  const auto it = codes_.find(event);
  if (it == codes_.end()) return std::nullopt;
  const Version& now = it->second.now;
  const std::size_t t = index_of(target);
  const auto probe = static_cast<std::size_t>(std::ranges::find(now.serials, serial) - now.serials.begin());
  if (t >= now.handles.size() || probe >= now.handles[t].size() || !is_placed(now.handles[t][probe]))
    return std::nullopt;
  return targets_[t]->runtime().arm_status(now.handles[t][probe]);
}

std::vector<runtime::ArmStatus> EventCode::arm_status(std::uint32_t event, std::size_t probe) const {
  std::vector<runtime::ArmStatus> states;
  const auto it = codes_.find(event);
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    const bool known =
        it != codes_.end() && t < it->second.now.handles.size() && probe < it->second.now.handles[t].size();
    const runtime::ProbeHandle handle = known ? it->second.now.handles[t][probe] : kRefused;
    if (handle == kDeferred)
      states.push_back({runtime::ArmState::Deferred, "its library is not loaded"});
    else
      states.push_back(is_placed(handle) ? targets_[t]->runtime().arm_status(handle) : runtime::ArmStatus{});
  }
  return states;
}

}  // namespace kevt::engine
