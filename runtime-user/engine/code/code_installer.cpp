#include "runtime-user/engine/code/code_installer.h"

#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <utility>

#include "common/assert.h"
#include "runtime-user/engine/code/installed_code.h"

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

bool is_address(const model::Definition& definition) {
  return std::holds_alternative<model::AddressPlace>(definition.place);
}

// Whether it is known in which library the place is.
bool names_library(const model::Definition& definition) {
  const auto* symbol = std::get_if<model::SymbolPlace>(&definition.place);
  return symbol == nullptr || symbol->module.has_value();
}

}  // namespace

struct CodeInstaller::LookedUp {
  std::vector<CheckedProbe> probes;
  std::vector<ProbeHandles> handles;  // by request; 0 stands for the next of `probes`
};

CodeInstaller::CodeInstaller(const CodeTable& table, const pipeline::CodeStore* precompiled)
    : table_(table), precompiled_(precompiled) {
  const StaticEvents* const statics = table.static_events();
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

// A probe that was there before and names no library waits: nothing tells whether its library will come again.
std::expected<std::optional<CheckedProbe>, CodeRefusal> CodeInstaller::check(const CodePlacer& placer,
                                                                             const TracedTarget& target,
                                                                             const EventProbe& probe,
                                                                             const CodeRequest& request) {
  if (auto expected = take_expected(target, probe.serial)) return placer.ready(probe, request, *std::move(expected));
  auto checked = placer.check(probe, request);
  const bool may_come_again = !checked && checked.error().is_missing && !names_library(probe.definition()) &&
                              InstalledCode(table_).was_placed(request.event->id, probe.serial, target);
  if (may_come_again) return std::nullopt;
  return checked;
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
      const EventProbe& probe = request->event->probes[i];
      const bool was_there = InstalledCode(table_).was_placed(request->event->id, probe.serial, target);
      if (was_there && is_address(probe.definition())) continue;  // anything may come there
      auto checked = check(placer, target, probe, *request);
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
