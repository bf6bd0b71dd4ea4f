// Enabling many events at once is one compilation and one stop for each target:
//
//   requests ─► which need new code ─► compile, install (all in one batch) ─► replace: new ones armed, old ones
//   disarmed
//
// Names are resolved for each target, since functions have other addresses in each; code for equal arguments is
// compiled once for all targets. If a target refuses something, nothing is changed, and code that was installed for the
// change is removed. Where programs are followed, a target may lack a probe as long as another target has it. Targets
// that have ended are left out.
#include "runtime-user/engine/code/event_code.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>
#include <utility>

#include "common/assert.h"

namespace kevt::engine {

struct EventCode::Change {
  const CodeRequest* request = nullptr;
  CodeVersion next;
  bool is_new = false;     // `next` replaces the present code
  bool is_former = false;  // and `next` is former code
  bool completes = false;  // and `next` is the present code, plus what some targets lack
};

namespace {

std::string key_of(const CodeRequest& request) {
  std::string key = request.filter_text + '\n' + request.inline_key + (request.wants_stack ? "\nstack " : "\n");
  for (const EventProbe& probe : request.event->probes) key += std::to_string(probe.serial) + ' ';
  return key;
}

// Whether a living target takes some probe of the event.
bool is_about_the_living(const TracedEvent& event, const std::vector<TracedTarget*>& targets) {
  return std::ranges::any_of(targets, [&](TracedTarget* target) {
    return target->is_alive() && std::ranges::any_of(event.probes, [target](const EventProbe& probe) {
             return target->takes(probe.written.command);
           });
  });
}

bool has_code(const TracedEvent& event) { return !event.is_made_by_reader() && !event.is_static(); }

}  // namespace

// Static events have no code: they are only switched on or off.
Result<void> EventCode::switch_static(std::span<const CodeRequest> requests) {
  std::vector<std::uint32_t> on, off;
  for (const CodeRequest& request : requests) {
    if (!request.event->is_static() || table_.events[request.event->id].armed == request.armed) continue;
    (request.armed ? on : off).push_back(request.event->id);
  }
  StaticEvents* const statics = table_.static_events();
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
  for (std::uint32_t id : on) table_.events[id].armed = true;
  for (std::uint32_t id : off) table_.events[id].armed = false;
  return {};
}

// Installs the new code that this target lacks.
std::optional<CodeRefusal> EventCode::install_in(std::size_t target, std::vector<Change>& changes,
                                                 std::vector<CodeRefusal>& refusals) {
  std::vector<Change*> lacking;
  std::vector<const CodeRequest*> requests;
  for (Change& change : changes) {
    if (!change.is_new || change.is_former || !table_.lacks(change.next, target)) continue;
    lacking.push_back(&change);
    requests.push_back(change.request);
  }
  if (requests.empty()) return std::nullopt;
  TracedTarget& where = *table_.targets[target];
  auto handles = needs_ == Needs::EveryTarget ? installer_.install(requests, where)
                                              : installer_.install_each(requests, where, refusals);
  if (!handles) return std::move(handles.error());
  for (std::size_t i = 0; i < lacking.size(); ++i) lacking[i]->next.handles[target] = std::move((*handles)[i]);
  return std::nullopt;
}

// Former code that every living target still has is used again, so that switching to and fro uses up nothing.
EventCode::Change EventCode::change_for(const CodeRequest& request) const {
  static const EventVersions kNone;
  Change change{.request = &request, .next = {.key = key_of(request), .handles = {}, .serials = {}, .triggers = {}}};
  for (const EventProbe& probe : request.event->probes) change.next.serials.push_back(probe.serial);
  for (const model::HitHistogram& one : request.histograms) change.next.triggers.push_back(one.trigger);
  const EventVersions* const found = table_.find(request.event->id);
  const EventVersions& versions = found ? *found : kNone;
  const bool is_same = versions.now.key == change.next.key;
  change.completes = request.armed && !versions.armed && is_same && !table_.is_whole(versions.now);
  change.is_new = change.completes || (request.armed && !is_same &&
                                       (!versions.armed || is_about_the_living(*request.event, table_.targets)));
  const auto same_former = std::ranges::find_if(versions.former, [&](const CodeVersion& former) {
    return former.key == change.next.key && table_.is_whole(former);
  });
  change.is_former = change.is_new && !change.completes && same_former != versions.former.end();
  if (change.completes) change.next = versions.now;
  if (change.is_former) change.next = *same_former;
  change.next.handles.resize(table_.targets.size());
  return change;
}

std::optional<CodeRefusal> EventCode::prepare(std::span<const CodeRequest> requests, std::vector<Change>& changes) {
  for (const CodeRequest& request : requests)
    if (has_code(*request.event)) changes.push_back(change_for(request));
  const auto is_made_now = [](const Change& change) { return change.is_new && !change.is_former; };
  if (std::ranges::none_of(changes, is_made_now)) return std::nullopt;
  for (const Change& change : changes)
    if (is_made_now(change) && !is_about_the_living(*change.request->event, table_.targets))
      return CodeRefusal{Error("nothing to trace: every traced process has ended", ESRCH), ""};
  std::vector<CodeRefusal> refusals;
  for (std::size_t t = 0; t < table_.targets.size(); ++t)
    if (auto refusal = install_in(t, changes, refusals)) return refusal;
  for (const Change& change : changes) {
    if (needs_ == Needs::NoTarget || !is_made_now(change) || !change.next.is_in_no_target()) continue;
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

Result<void> EventCode::exchange(std::span<const Change> changes, std::size_t target) {
  ProbeHandles armed, disarmed;
  for (const Change& change : changes) {
    const EventVersions& versions = table_.events[change.request->event->id];
    const ProbeHandles now = target < versions.now.handles.size() ? versions.now.handles[target] : ProbeHandles{};
    const ProbeHandles& next = change.is_new ? change.next.handles[target] : now;
    if (versions.armed && (change.is_new || !change.request->armed))
      std::ranges::copy_if(now, std::back_inserter(disarmed), is_placed);
    if (change.request->armed && (change.is_new || !versions.armed))
      std::ranges::copy_if(next, std::back_inserter(armed), is_placed);
  }
  if (armed.empty() && disarmed.empty()) return {};
  KEVT_TRY(table_.targets[target]->runtime().replace(armed, disarmed));
  auto noted = table_.targets[target]->note_armed();
  if (!noted) (void)table_.targets[target]->runtime().replace(disarmed, armed);
  return noted;
}

std::expected<void, CodeRefusal> EventCode::apply(std::span<const CodeRequest> requests) {
  ++table_.changes;
  std::vector<Change> changes;
  left_out_.clear();
  auto refusal = prepare(requests, changes);
  installer_.expect_nothing();
  if (refusal) {
    take_back(changes);
    return std::unexpected(*std::move(refusal));
  }
  // Requests are hardly ever about both static events and probes, so static events stay switched if the rest fails.
  if (auto done = switch_static(requests); !done) {
    take_back(changes);
    return std::unexpected(CodeRefusal{std::move(done.error()), ""});
  }
  for (std::size_t t = 0; t < table_.targets.size(); ++t) {
    TracedTarget& target = *table_.targets[t];
    if (!target.is_alive()) continue;
    auto done = exchange(changes, t);
    if (done || !target.is_alive()) continue;
    take_back(changes);
    Error error = std::move(done.error()).while_doing("changing " + target.name());
    return std::unexpected(CodeRefusal{Error(error.message(), error.errno_value() ? error.errno_value() : EINVAL), ""});
  }
  for (Change& change : changes) take_over(change);
  return {};
}

// Undoes changes that failed: removes code that was installed for them, and disarms code that was there before.
void EventCode::take_back(std::span<const Change> changes) {
  for (const Change& change : changes) {
    if (!change.is_new) continue;
    const CodeVersion& now = table_.events[change.request->event->id].now;
    for (std::size_t t = 0; t < change.next.handles.size(); ++t) {
      const ProbeHandles next = placed_of(change.next.handles[t]);
      if (!table_.targets[t]->is_alive() || next.empty()) continue;
      runtime::ProbeRuntime& runtime = table_.targets[t]->runtime();
      const bool was_there = change.is_former || (t < now.handles.size() && now.handles[t] == change.next.handles[t]);
      (void)(was_there ? runtime.disarm(next) : runtime.remove(next));
    }
  }
}

void EventCode::take_over(Change& change) {
  EventVersions& versions = table_.events[change.request->event->id];
  versions.armed = change.request->armed;
  if (!change.is_new) return;
  if (change.is_former)
    versions.former.erase(std::ranges::find(versions.former, change.next.handles, &CodeVersion::handles));
  if (change.completes)  // handles that stay must not be counted twice
    for (std::size_t t = 0; t < versions.now.handles.size(); ++t)
      if (versions.now.handles[t] == change.next.handles[t]) versions.now.handles[t].clear();
  if (!std::ranges::all_of(versions.now.handles, &ProbeHandles::empty))
    versions.former.push_back(std::move(versions.now));
  versions.now = std::move(change.next);
  retire_oldest(versions);
}

// An event whose filter changes all the time keeps only its newest former code. Code that counts histograms stays,
// since its counts are still read. In the kernel all code stays: retiring it would free nothing there.
void EventCode::retire_oldest(EventVersions& versions) {
  for (std::size_t t = 0; t < versions.now.handles.size(); ++t) {
    const bool gives_back = table_.targets[t]->runtime().capabilities().code == model::CodeKind::Native;
    if (!gives_back && !placed_of(versions.now.handles[t]).empty()) return;
  }
  constexpr std::ptrdiff_t kKept = 8;
  const auto may_come_back = [](const CodeVersion& version) {
    return !version.key.empty() && version.triggers.empty();
  };
  for (auto excess = std::ranges::count_if(versions.former, may_come_back) - kKept; excess > 0; --excess) {
    const auto oldest = std::ranges::find_if(versions.former, may_come_back);
    oldest->key.clear();
    retire_in_targets(*oldest);
  }
}

void EventCode::retire_in_targets(const CodeVersion& version) {
  for (std::size_t t = 0; t < version.handles.size(); ++t)
    if (table_.targets[t]->is_alive()) table_.targets[t]->runtime().retire(placed_of(version.handles[t]));
}

void EventCode::retire(std::uint32_t event, const std::function<bool(std::uint64_t trigger)>& is_there) {
  const auto it = table_.events.find(event);
  if (it == table_.events.end()) return;
  EventVersions& versions = it->second;
  const auto is_over = [&](const CodeVersion& version) {
    return !version.triggers.empty() && std::ranges::none_of(version.triggers, is_there);
  };
  if (!versions.armed && is_over(versions.now)) versions.former.push_back(std::exchange(versions.now, {}));
  for (CodeVersion& version : versions.former) {
    if (!is_over(version)) continue;
    version.key.clear();
    version.triggers.clear();
    retire_in_targets(version);
  }
}

Result<void> EventCode::disarm_in(const TracedTarget& target) {
  const std::size_t t = table_.index_of(target);
  ProbeHandles armed;
  for (const auto& [event, versions] : table_.events)
    if (versions.armed && t < versions.now.handles.size())
      std::ranges::copy_if(versions.now.handles[t], std::back_inserter(armed), is_placed);
  return armed.empty() ? Result<void>() : table_.targets[t]->runtime().disarm(armed);
}

void EventCode::forget(std::uint32_t event) {
  ++table_.changes;
  if (const EventVersions* const versions = table_.find(event))
    versions->for_each([this](const CodeVersion& version) {
      for (std::size_t t = 0; t < version.handles.size(); ++t)
        if (table_.targets[t]->is_alive()) (void)table_.targets[t]->runtime().remove(placed_of(version.handles[t]));
    });
  table_.events.erase(event);
}

std::vector<CodeRefusal> EventCode::add_target(TracedTarget& target, std::span<const CodeRequest> requests) {
  ++table_.changes;
  table_.targets.push_back(&target);
  for (auto& [id, versions] : table_.events)
    versions.for_each([this](CodeVersion& version) { version.handles.resize(table_.targets.size()); });
  std::vector<const CodeRequest*> armed;
  for (const CodeRequest& request : requests)
    if (has_code(*request.event) && request.armed && table_.events[request.event->id].armed) armed.push_back(&request);
  std::vector<CodeRefusal> refusals;
  std::vector<ProbeHandles> handles = installer_.install_each(armed, target, refusals);
  ProbeHandles placed;
  for (std::size_t i = 0; i < armed.size(); ++i) {
    std::ranges::copy_if(handles[i], std::back_inserter(placed), is_placed);
    table_.events[armed[i]->event->id].now.handles.back() = std::move(handles[i]);
  }
  auto done = target.runtime().arm(placed);
  if (done) done = target.note_armed();
  if (!done && target.is_alive()) refusals.push_back({std::move(done.error()), ""});
  return refusals;
}

}  // namespace kevt::engine
