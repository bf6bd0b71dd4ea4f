#include "runtime-user/engine/code/code_installer.h"

#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <utility>

#include "common/assert.h"

namespace kevt::engine {

namespace {

constexpr std::size_t kMostKept = 4096;  // code images; bounded, since a filter may change any number of times

// Why a probe would wait in vain for its library; empty: the target reports libraries.
std::string why_not_watched(TracedTarget& target) {
  const auto watched = target.watch_libraries();
  if (watched && *watched) return "";
  const std::string why = watched ? "it reports no libraries that it loads" : watched.error().message();
  return fmt::format("its library is not loaded in {}: {}", target.name(), why);
}

}  // namespace

struct CodeInstaller::LookedUp {
  std::vector<CheckedProbe> probes;
  std::vector<ProbeHandles> handles;  // by request; 0 stands for the next of `probes`
};

CodeInstaller::CodeInstaller(const StaticEvents* statics, const pipeline::CodeStore* precompiled)
    : precompiled_(precompiled) {
  if (!statics) return;
  for (const StaticEvent& event : statics->all()) statics_.add(catalog_entry(event));
}

CodePlacer CodeInstaller::placer(TracedTarget& target) {
  if (kept_.images().size() > kMostKept) kept_ = {};
  return {target, statics_, {.precompiled = precompiled_, .kept = &kept_}};
}

std::optional<pipeline::CheckedEvent> CodeInstaller::take_expected(const TracedTarget& target, std::uint64_t serial) {
  const auto of_target = expected_.find(&target);
  if (of_target == expected_.end()) return std::nullopt;
  auto taken = of_target->second.extract(serial);
  if (!taken || taken.mapped().env_version != target.env_version()) return std::nullopt;
  return std::move(taken.mapped().checked);
}

std::expected<std::optional<CheckedProbe>, CodeRefusal> CodeInstaller::check(const CodePlacer& placer,
                                                                             const TracedTarget& target,
                                                                             const EventProbe& probe,
                                                                             const CodeRequest& request) {
  if (auto expected = take_expected(target, probe.serial)) return placer.ready(probe, request, *std::move(expected));
  return placer.check(probe, request);
}

// A probe may wait for its library only if the target reports libraries. Once that is so it is looked up once more: the
// library may have been loaded just before. `refusals` nullptr: returns the first refusal.
std::expected<CodeInstaller::LookedUp, CodeRefusal> CodeInstaller::look_up(std::span<const CodeRequest* const> requests,
                                                                           TracedTarget& target,
                                                                           std::vector<CodeRefusal>* refusals) {
  const CodePlacer placer = this->placer(target);
  LookedUp found;
  std::vector<const model::Definition*> expected;
  for (const CodeRequest* request : requests)
    for (const EventProbe& probe : request->event->probes)
      if (target.takes(probe.written.command)) expected.push_back(&probe.written);
  pipeline::expect_functions(expected, target.env());
  std::optional<std::string> why_not;
  const auto look = [&](const EventProbe& probe, const CodeRequest& request) {
    auto checked = check(placer, target, probe, request);
    if (!checked || *checked) return checked;
    if (!why_not) {
      why_not = why_not_watched(target);
      target.env();
      checked = check(placer, target, probe, request);
      if (!checked || *checked) return checked;
    }
    if (why_not->empty()) return checked;
    checked = std::unexpected(CodeRefusal{Error(*why_not, ENOENT), probe.definition().command, probe.serial});
    return checked;
  };
  for (const CodeRequest* request : requests) {
    found.handles.emplace_back();
    for (const EventProbe& probe : request->event->probes) {
      if (!target.takes(probe.written.command)) {
        found.handles.back().push_back(kOfOthers);
        continue;
      }
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

std::expected<std::vector<ProbeHandles>, CodeRefusal> CodeInstaller::install(
    std::span<const CodeRequest* const> requests, TracedTarget& target) {
  auto found = KEVT_TRY(look_up(requests, target, nullptr));
  auto installed = KEVT_TRY(placer(target).install(found.probes));
  auto next = installed.begin();
  for (ProbeHandles& of_event : found.handles)
    for (runtime::ProbeHandle& handle : of_event)
      if (is_placed(handle)) handle = *next++;
  return std::move(found.handles);
}

std::vector<ProbeHandles> CodeInstaller::install_each(std::span<const CodeRequest* const> requests,
                                                      TracedTarget& target, std::vector<CodeRefusal>& refusals) {
  auto found = look_up(requests, target, &refusals);
  KEVT_ASSERT(found.has_value());
  const auto installed = placer(target).install_each(found->probes, refusals);
  auto next = installed.begin();
  for (ProbeHandles& of_event : found->handles)
    for (runtime::ProbeHandle& handle : of_event)
      if (is_placed(handle)) handle = (next++)->value_or(kRefused);
  return std::move(found->handles);
}

ProbeHandles CodeInstaller::install_deferred(std::span<const DeferredProbes> deferred, TracedTarget& target,
                                             std::vector<CodeRefusal>& refusals) {
  CodePlacer placer = this->placer(target);
  std::vector<CheckedProbe> probes;
  std::vector<runtime::ProbeHandle*> places;  // where their handles go
  for (const auto& [request, handles] : deferred)
    for (std::size_t i = 0; i < handles->size(); ++i) {
      runtime::ProbeHandle& handle = (*handles)[i];
      if (handle != kDeferred) continue;
      auto checked = check(placer, target, request->event->probes[i], *request);
      if (checked && !*checked) continue;  // it was another library that was loaded
      handle = kRefused;
      if (!checked) {
        refusals.push_back(std::move(checked.error()));
        continue;
      }
      probes.push_back(**std::move(checked));
      places.push_back(&handle);
    }
  const auto installed = placer.install_each(probes, refusals);
  ProbeHandles placed;
  for (std::size_t i = 0; i < installed.size(); ++i)
    if (installed[i]) placed.push_back(*places[i] = *installed[i]);
  return placed;
}

}  // namespace kevt::engine
