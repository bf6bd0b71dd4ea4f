// Code for one target: as it is, when a library comes to it, when it comes itself, and when it goes.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "common/assert.h"
#include "runtime-user/engine/code/event_code.h"

namespace kevt::engine {

namespace {

// Below those of dynamic events; the kernel's own events, whose types lie there, are no process's.
constexpr std::uint32_t kFirstSampledType = 64, kSampledTypes = 16384;

constexpr std::size_t kMostKept = 4096;  // images of code: filters may change for ever

}  // namespace

struct EventCode::LookedUp {
  std::vector<CheckedProbe> probes;
  std::vector<Handles> handles;  // of each request: 0 for the next of `probes`
};

CodePlacer EventCode::placer(TracedTarget& target) {
  if (kept_.images().size() > kMostKept) kept_ = {};
  return {target, statics_, {.precompiled = precompiled_, .kept = &kept_}};
}

std::size_t EventCode::index_of(const TracedTarget& target) const {
  return static_cast<std::size_t>(std::ranges::find(targets_, &target) - targets_.begin());
}

std::optional<pipeline::CheckedEvent> EventCode::take_expected(const TracedTarget& target, std::uint64_t serial) {
  const auto of_target = expected_.find(&target);
  if (of_target == expected_.end()) return std::nullopt;
  auto taken = of_target->second.extract(serial);
  if (!taken || taken.mapped().env_version != target.env_version()) return std::nullopt;
  return std::move(taken.mapped().checked);
}

std::expected<std::optional<CheckedProbe>, CodeRefusal> EventCode::check(const CodePlacer& placer,
                                                                         const TracedTarget& target,
                                                                         const EventProbe& probe,
                                                                         const CodeRequest& request) {
  if (!placer.samples_stack(request))
    if (auto expected = take_expected(target, probe.serial)) return placer.ready(probe, request, *std::move(expected));
  auto checked = placer.check(probe, request);
  if (!checked || !*checked || !placer.samples_stack(request)) return checked;
  const auto type = sampled_type_of(*request.event, (*checked)->event.layout);
  if (!type)
    return std::unexpected(CodeRefusal{Error("there are as many events with stacks as types", ENOSPC),
                                       probe.definition().command, probe.serial});
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

// Those that wait for their library wait only where it is watched, and looked for once more then: it may have come
// before. Without `refusals` the first one is the answer.
std::expected<EventCode::LookedUp, CodeRefusal> EventCode::look_up(std::span<const CodeRequest* const> requests,
                                                                   TracedTarget& target,
                                                                   std::vector<CodeRefusal>* refusals) {
  const CodePlacer placer = this->placer(target);
  LookedUp found;
  std::vector<const model::Definition*> expected;
  for (const CodeRequest* request : requests)
    for (const EventProbe& probe : request->event->probes) expected.push_back(&probe.written);
  pipeline::expect_functions(expected, target.env());
  std::optional<std::string> why_not_watched;
  const auto look = [&](const EventProbe& probe, const CodeRequest& request) {
    auto checked = check(placer, target, probe, request);
    if (!checked || *checked) return checked;
    if (!why_not_watched) {
      why_not_watched = engine::why_not_watched(target);
      target.env();
      checked = check(placer, target, probe, request);
      if (!checked || *checked) return checked;
    }
    if (why_not_watched->empty()) return checked;
    checked = std::unexpected(CodeRefusal{Error(*why_not_watched, ENOENT), probe.definition().command, probe.serial});
    return checked;
  };
  for (const CodeRequest* request : requests) {
    found.handles.emplace_back();
    for (const EventProbe& probe : request->event->probes) {
      auto checked = look(probe, *request);
      if (!checked && !refusals) return std::unexpected(std::move(checked.error()));
      found.handles.back().push_back(!checked ? kRefused : *checked ? 0 : kDeferred);
      if (!checked)
        refusals->push_back(std::move(checked.error()));
      else if (*checked)
        found.probes.push_back(**std::move(checked));
    }
  }
  return found;
}

std::expected<std::vector<EventCode::Handles>, CodeRefusal> EventCode::install(
    std::span<const CodeRequest* const> requests, TracedTarget& target) {
  auto found = KEVT_TRY(look_up(requests, target, nullptr));
  auto installed = KEVT_TRY(placer(target).install(found.probes));
  auto next = installed.begin();
  for (Handles& of_event : found.handles)
    for (runtime::ProbeHandle& handle : of_event)
      if (is_placed(handle)) handle = *next++;
  return std::move(found.handles);
}

// What the target cannot have is kRefused.
std::vector<EventCode::Handles> EventCode::install_each(std::span<const CodeRequest* const> requests,
                                                        TracedTarget& target, std::vector<CodeRefusal>& refusals) {
  auto found = look_up(requests, target, &refusals);
  KEVT_ASSERT(found.has_value());
  const auto installed = placer(target).install_each(found->probes, refusals);
  auto next = installed.begin();
  for (Handles& of_event : found->handles)
    for (runtime::ProbeHandle& handle : of_event)
      if (is_placed(handle)) handle = (next++)->value_or(kRefused);
  return std::move(found->handles);
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

bool EventCode::is_deferred(std::uint32_t event, const TracedTarget& target) const {
  const auto it = codes_.find(event);
  if (it == codes_.end() || !it->second.armed) return false;
  const std::size_t t = index_of(target);
  const auto& handles = it->second.now.handles;
  return t < handles.size() && std::ranges::find(handles[t], kDeferred) != handles[t].end();
}

bool EventCode::is_deferred(std::uint32_t event, std::uint64_t serial, const TracedTarget& target) const {
  const auto it = codes_.find(event);
  if (it == codes_.end()) return false;
  const Version& now = it->second.now;
  const std::size_t t = index_of(target);
  const auto probe = static_cast<std::size_t>(std::ranges::find(now.serials, serial) - now.serials.begin());
  return t < now.handles.size() && probe < now.handles[t].size() && now.handles[t][probe] == kDeferred;
}

std::vector<const EventProbe*> EventCode::waiting(const TracedEvent& event) const {
  std::vector<const EventProbe*> waiting;
  const auto it = codes_.find(event.id);
  if (it == codes_.end() || !it->second.armed) return waiting;
  const Code& code = it->second;
  const auto has = [](const Version& version, std::uint64_t serial, auto is_meant) {
    const auto probe = static_cast<std::size_t>(std::ranges::find(version.serials, serial) - version.serials.begin());
    return std::ranges::any_of(version.handles, [&](const Handles& of_target) {
      return probe < of_target.size() && is_meant(of_target[probe]);
    });
  };
  for (const EventProbe& probe : event.probes) {
    const auto was_in = [&](const Version& version) { return has(version, probe.serial, is_placed); };
    const bool was_placed =
        code.gone.contains(probe.serial) || was_in(code.now) || std::ranges::any_of(code.former, was_in);
    if (!was_placed && has(code.now, probe.serial, [](runtime::ProbeHandle handle) { return handle == kDeferred; }))
      waiting.push_back(&probe);
  }
  return waiting;
}

std::vector<CodeRefusal> EventCode::place_deferred(std::span<const CodeRequest> requests, TracedTarget& target) {
  std::vector<CodeRefusal> refusals;
  CodePlacer placer = this->placer(target);
  std::vector<CheckedProbe> probes;
  std::vector<runtime::ProbeHandle*> places;  // of their handles
  const std::size_t t = index_of(target);
  for (const CodeRequest& request : requests) {
    if (!is_deferred(request.event->id, target)) continue;
    Handles& handles = codes_[request.event->id].now.handles[t];
    for (std::size_t i = 0; i < handles.size(); ++i) {
      if (handles[i] != kDeferred) continue;
      auto checked = check(placer, target, request.event->probes[i], request);
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

std::vector<CodeRefusal> EventCode::add_target(TracedTarget& target, std::span<const CodeRequest> requests) {
  targets_.push_back(&target);
  std::vector<const CodeRequest*> armed;
  for (auto& [id, code] : codes_) {
    code.now.handles.resize(targets_.size());
    for (Version& version : code.former) version.handles.resize(targets_.size());
  }
  for (const CodeRequest& request : requests)
    if (has_code(*request.event) && request.armed && codes_[request.event->id].armed) armed.push_back(&request);
  std::vector<CodeRefusal> refusals;
  // Now: it may have ended when its stacks are read.
  if (std::ranges::any_of(armed, &CodeRequest::wants_stack))
    if (auto can = can_have_stacks(target); !can) refusals.push_back({std::move(can.error()), ""});
  std::vector<Handles> handles = install_each(armed, target, refusals);
  Handles placed;
  for (std::size_t i = 0; i < armed.size(); ++i) {
    std::ranges::copy_if(handles[i], std::back_inserter(placed), is_placed);
    codes_[armed[i]->event->id].now.handles.back() = std::move(handles[i]);
  }
  auto done = target.runtime().arm(placed);
  if (done) done = target.note_armed();
  if (!done && target.is_alive()) refusals.push_back({std::move(done.error()), ""});
  return refusals;
}

void EventCode::remove_target(const TracedTarget& target) {
  const std::size_t t = index_of(target);
  KEVT_ASSERT(t < targets_.size());
  for (auto& [id, code] : codes_) {
    const auto fold = [&](Version& version) {
      if (t >= version.handles.size()) return;
      for (std::size_t i = 0; i < version.handles[t].size(); ++i)
        if (const runtime::ProbeHandle handle = version.handles[t][i]; is_placed(handle))
          code.gone[version.serials[i]] += targets_[t]->runtime().counts(handle);
      version.handles.erase(version.handles.begin() + static_cast<std::ptrdiff_t>(t));
    };
    fold(code.now);
    std::ranges::for_each(code.former, fold);
  }
  targets_.erase(targets_.begin() + static_cast<std::ptrdiff_t>(t));
}

}  // namespace kevt::engine
