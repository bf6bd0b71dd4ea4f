// Enabling many events at once is one compilation and one stop for each target:
//
//   requests ─► which need new code ─► compile, install (all in one batch) ─► replace: new ones armed, old ones
//   disarmed
//
// Every target compiles for itself, since functions lie elsewhere in each. What a target refuses leaves all as it was;
// code that was installed then stays unused. A target that has ended is left out.
#include "runtime-user/engine/event_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "common/assert.h"

namespace kevt::engine {

struct EventCode::Change {
  const CodeRequest* request = nullptr;
  Version next;
  bool is_new = false;     // `next` replaces what is there
  bool is_former = false;  // and was made before
};

namespace {

std::string key_of(const CodeRequest& request) {
  std::string key = request.filter_text + '\n' + request.switches_text + (request.samples_stack ? "\nstack " : "\n");
  for (const EventProbe& probe : request.event->probes) key += std::to_string(probe.serial) + ' ';
  return key;
}

// Below those of dynamic events; the kernel's own events, whose types lie there, are no process's.
constexpr std::uint32_t kFirstSampledType = 64, kSampledTypes = 16384;

bool has_code(const TracedEvent& event) { return event.owner != target::EventOwner::Synthetic && !event.is_static(); }

}  // namespace

EventCode::EventCode(std::vector<TracedTarget*> targets) : targets_(std::move(targets)) {
  if (const StaticEvents* statics = static_events())
    for (const StaticEvent& event : statics->all()) statics_.add(catalog_entry(event));
}

StaticEvents* EventCode::static_events() const {
  for (TracedTarget* target : targets_)
    if (StaticEvents* statics = target->static_events()) return statics;
  return nullptr;
}

// They have no code: they are on or off.
Result<void> EventCode::switch_static(std::span<const CodeRequest> requests) {
  std::vector<std::uint32_t> on, off;
  for (const CodeRequest& request : requests) {
    if (!request.event->is_static() || codes_[request.event->id].armed == request.armed) continue;
    (request.armed ? on : off).push_back(request.event->id);
  }
  if (on.empty() && off.empty()) return {};
  StaticEvents* statics = static_events();
  KEVT_ASSERT(statics != nullptr);
  if (auto changed = statics->change(on, off); !changed) return changed;
  for (std::uint32_t id : on) codes_[id].armed = true;
  for (std::uint32_t id : off) codes_[id].armed = false;
  return {};
}

std::expected<std::optional<CheckedProbe>, CodeRefusal> EventCode::check(const CodePlacer& placer,
                                                                         const EventProbe& probe,
                                                                         const CodeRequest& request) {
  auto checked = placer.check(probe, request);
  if (!checked || !*checked || !request.samples_stack) return checked;
  const auto type = sampled_type_of(*request.event, (*checked)->event.layout);
  if (!type)
    return std::unexpected(
        CodeRefusal{Error("there are as many events with stacks as types", ENOSPC), probe.definition.command});
  (*checked)->type = *type;
  return checked;
}

namespace {

// Why a probe would wait for its library for ever; empty: it would not.
std::string why_not_watched(TracedTarget& target) {
  const auto watched = target.watch_libraries();
  if (watched && *watched) return "";
  const std::string why = watched ? "it reports no libraries that it loads" : watched.error().message();
  return fmt::format("its library is not loaded in {}: {}", target.name(), why);
}

}  // namespace

std::expected<std::vector<EventCode::Handles>, CodeRefusal> EventCode::install(
    std::span<const CodeRequest* const> requests, std::size_t target) {
  TracedTarget& where = *targets_[target];
  CodePlacer placer(where, statics_);
  std::vector<CheckedProbe> probes;
  std::vector<Handles> handles;
  std::vector<const model::Definition*> expected;
  for (const CodeRequest* request : requests)
    for (const EventProbe& probe : request->event->probes) expected.push_back(&probe.definition);
  pipeline::expect_functions(expected, where.env());
  for (const CodeRequest* request : requests) {
    handles.emplace_back();
    for (const EventProbe& probe : request->event->probes) {
      auto checked = check(placer, probe, *request);
      if (checked && !*checked) {
        if (auto why = why_not_watched(where); !why.empty())
          return std::unexpected(CodeRefusal{Error(std::move(why), ENOENT), probe.definition.command});
        checked = check(placer, probe, *request);  // it may have come before it was watched
      }
      if (!checked) return std::unexpected(std::move(checked.error()));
      handles.back().push_back(*checked ? 0 : kDeferred);
      if (*checked) probes.push_back(**std::move(checked));
    }
  }
  auto installed = placer.install(probes);
  if (!installed) return std::unexpected(std::move(installed.error()));
  auto next = installed->begin();
  for (Handles& of_event : handles)
    for (runtime::ProbeHandle& handle : of_event)
      if (is_placed(handle)) handle = *next++;
  return handles;
}

// Taken in turn, so that one is not somebody else's while records of it may be under way.
std::optional<std::uint32_t> EventCode::sampled_type_of(const TracedEvent& event, const model::RecordLayout& layout) {
  if (const auto known = sampled_of_.find(event.id); known != sampled_of_.end()) return known->second;
  auto samples = StackSamples::of(layout);
  KEVT_ASSERT(samples.has_value());
  for (std::uint32_t tries = 0; tries < kSampledTypes; ++tries) {
    const std::uint32_t type = kFirstSampledType + next_sampled_++ % kSampledTypes;
    if (sampled_.contains(type)) continue;
    sampled_.emplace(type, SampledType{event.id, *std::move(samples)});
    sampled_of_[event.id] = type;
    return type;
  }
  return std::nullopt;
}

const SampledType* EventCode::sampled(std::uint32_t type) const {
  const auto it = sampled_.find(type);
  return it == sampled_.end() ? nullptr : &it->second;
}

// In every target that lives each probe has code.
bool EventCode::is_whole(const Version& version) const {
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    if (!targets_[t]->is_alive()) continue;
    if (t >= version.handles.size() || version.handles[t].empty()) return false;
    if (!std::ranges::all_of(version.handles[t], is_placed)) return false;
  }
  return true;
}

// The same code as before in every target that lives: what goes to and fro uses up nothing.
bool EventCode::take_former(const Code& code, Change& change) const {
  const auto found = std::ranges::find_if(
      code.former, [&](const Version& one) { return one.key == change.next.key && is_whole(one); });
  if (found == code.former.end()) return false;
  change.next = *found;
  return true;
}

std::optional<CodeRefusal> EventCode::prepare(std::span<const CodeRequest> requests, std::vector<Change>& changes) {
  const bool any_alive = std::ranges::any_of(targets_, &TracedTarget::is_alive);
  std::vector<const CodeRequest*> to_install;
  for (const CodeRequest& request : requests) {
    if (!has_code(*request.event)) continue;
    Change change{.request = &request, .next = {.key = key_of(request), .handles = {}, .serials = {}}};
    for (const EventProbe& probe : request.event->probes) change.next.serials.push_back(probe.serial);
    const Code& code = codes_[request.event->id];
    const bool lacks_probes = !code.armed && !code.now.key.empty() && !is_whole(code.now);
    change.is_new = request.armed && (code.now.key != change.next.key || lacks_probes) && (any_alive || !code.armed);
    change.is_former = change.is_new && take_former(code, change);
    change.next.handles.resize(targets_.size());
    if (change.is_new && !change.is_former) to_install.push_back(&request);
    changes.push_back(std::move(change));
  }
  if (to_install.empty()) return std::nullopt;
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    if (!targets_[t]->is_alive()) continue;
    auto installed = install(to_install, t);
    if (!installed) return std::move(installed.error());
    auto next = installed->begin();
    for (Change& change : changes)
      if (change.is_new && !change.is_former) change.next.handles[t] = std::move(*next++);
  }
  if (!any_alive) return CodeRefusal{Error("nothing to trace: every traced process has ended", ESRCH), ""};
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
  if (auto done = targets_[target]->runtime().replace(armed, disarmed); !done) return done;
  auto noted = targets_[target]->note_armed();
  if (!noted) (void)targets_[target]->runtime().replace(disarmed, armed);
  return noted;
}

bool EventCode::is_deferred(std::uint32_t event, const TracedTarget& target) const {
  const auto it = codes_.find(event);
  if (it == codes_.end() || !it->second.armed) return false;
  const auto t = static_cast<std::size_t>(std::ranges::find(targets_, &target) - targets_.begin());
  const auto& handles = it->second.now.handles;
  return t < handles.size() && std::ranges::find(handles[t], kDeferred) != handles[t].end();
}

std::vector<CodeRefusal> EventCode::place_deferred(std::span<const CodeRequest> requests, TracedTarget& target) {
  std::vector<CodeRefusal> refusals;
  CodePlacer placer(target, statics_);
  std::vector<CheckedProbe> probes;
  std::vector<runtime::ProbeHandle*> places;  // of their handles
  const auto t = static_cast<std::size_t>(std::ranges::find(targets_, &target) - targets_.begin());
  for (const CodeRequest& request : requests) {
    if (!is_deferred(request.event->id, target)) continue;
    Handles& handles = codes_[request.event->id].now.handles[t];
    for (std::size_t i = 0; i < handles.size(); ++i) {
      if (handles[i] != kDeferred) continue;
      auto checked = check(placer, request.event->probes[i], request);
      if (checked && !*checked) continue;  // another library has come
      handles[i] = kRefused;
      if (!checked) {
        refusals.push_back(std::move(checked.error()));
        continue;
      }
      probes.push_back(**std::move(checked));
      places.push_back(&handles[i]);
    }
  }
  const auto installed = placer.install_each(probes, refusals);
  Handles placed;
  for (std::size_t i = 0; i < installed.size(); ++i)
    if (installed[i]) placed.push_back(*places[i] = *installed[i]);
  // Also where nothing was placed: the library may walk stacks, and return probes must know that.
  if (auto armed = target.runtime().arm(placed); !armed && target.is_alive())
    refusals.push_back({std::move(armed.error()), ""});
  return refusals;
}

std::expected<void, CodeRefusal> EventCode::apply(std::span<const CodeRequest> requests) {
  std::vector<Change> changes;
  if (auto refusal = prepare(requests, changes)) return std::unexpected(*std::move(refusal));
  // A request is about static events or about probes, hardly ever both: what is switched here stays where the rest
  // fails.
  if (auto done = switch_static(requests); !done) return std::unexpected(CodeRefusal{std::move(done.error()), ""});
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    if (!targets_[t]->is_alive()) continue;
    auto done = exchange(changes, t);
    if (done || !targets_[t]->is_alive()) continue;
    // The targets before this one have the change: what they record of it is nobody's, and it is taken back.
    for (std::size_t before = 0; before < t; ++before)
      for (const Change& change : changes)
        if (change.is_new) (void)targets_[before]->runtime().disarm(placed_of(change.next.handles[before]));
    Error error = std::move(done.error()).while_doing("changing " + targets_[t]->name());
    return std::unexpected(CodeRefusal{Error(error.message(), error.errno_value() ? error.errno_value() : EINVAL), ""});
  }
  for (Change& change : changes) {
    Code& code = codes_[change.request->event->id];
    code.armed = change.request->armed;
    if (!change.is_new) continue;
    if (change.is_former) code.former.erase(std::ranges::find(code.former, change.next.handles, &Version::handles));
    if (!code.now.key.empty()) code.former.push_back(std::move(code.now));
    code.now = std::move(change.next);
  }
  return {};
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
  return sum;
}

runtime::EventCounts EventCode::counts(std::uint32_t event, std::uint64_t serial) const {
  runtime::EventCounts sum;
  const auto it = codes_.find(event);
  if (it == codes_.end()) return sum;
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
