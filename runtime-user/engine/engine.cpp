// define() works on a draft: every definition is checked against the catalog *with* those before
// it, every filter against its event; only when nothing is wrong is anything compiled, installed
// and kept.
#include "runtime-user/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/pipeline/compile.h"

namespace kevt::engine {

namespace {

constexpr std::uint32_t kFirstId = 20000;  // above the kernel's own ids
constexpr std::uint32_t kLastId = 65535;

}  // namespace

const target::CatalogEntry* Engine::find(std::string_view group, std::string_view event) const {
  return catalog_.find(group, event);
}

Result<bool> Engine::define(std::span<const std::string> definitions, std::span<const EventFilter> filters,
                            std::vector<Problem>& problems) {
  Draft draft(catalog_);
  draft.check(definitions, filters, env_, pipeline::Forms::Runnable, problems);
  if (!problems.empty()) return false;
  std::vector<pipeline::CheckedEvent> events;
  std::vector<std::vector<std::optional<model::FilterExpr>>> sinks;  // one each
  for (Draft::Entry& entry : draft.entries()) {
    events.push_back(std::move(entry.event));
    sinks.push_back({std::move(entry.filter)});
  }

  auto compiled =
      pipeline::compile_events(events, sinks, env_, pipeline::Artifacts::CodeOnly, runtime_.capabilities().code);
  if (!compiled) return std::unexpected(std::move(compiled.error()));
  Catalog catalog = draft.take_catalog();
  std::vector<std::uint32_t> ids;
  for (const pipeline::CheckedEvent& event : events)
    ids.push_back(kFirstId +
                  static_cast<std::uint32_t>(catalog.position(event.definition.group, event.definition.event)));
  if (!ids.empty() && std::ranges::max(ids) > kLastId)
    return std::unexpected(Error(fmt::format("more than {} events: common_type has 16 bits", kLastId - kFirstId + 1)));
  auto installed = runtime_.install(compiled->batch, ids);
  if (!installed) return std::unexpected(std::move(installed.error()));

  catalog_ = std::move(catalog);
  for (std::size_t i = 0; i < events.size(); ++i) {
    pipeline::CheckedEvent& made = events[i];
    if (ids[i] - kFirstId == events_.size())
      events_.push_back({made.definition.group,
                         made.definition.event,
                         ids[i],
                         made.definition,
                         made.layout,
                         {},
                         {},
                         draft.entries()[i].filter_text});
    Event& event = events_[ids[i] - kFirstId];
    event.probes.push_back((*installed)[i]);
    event.listings.push_back(made.listing);
    by_probe_.resize(std::max<std::size_t>(by_probe_.size(), (*installed)[i] + 1), nullptr);
    by_probe_[(*installed)[i]] = &event;
  }
  return true;
}

std::vector<runtime::ProbeHandle> Engine::all_probes() const {
  std::vector<runtime::ProbeHandle> probes;
  for (const Event& event : events_) probes.insert(probes.end(), event.probes.begin(), event.probes.end());
  return probes;
}

Result<void> Engine::enable_all() { return runtime_.arm(all_probes()); }
Result<void> Engine::disable_all() { return runtime_.disarm(all_probes()); }

const Event* Engine::by_probe(runtime::ProbeHandle probe) const {
  return probe < by_probe_.size() ? by_probe_[probe] : nullptr;
}

runtime::EventCounts Engine::counts(const Event& event) const {
  runtime::EventCounts sum;
  for (runtime::ProbeHandle probe : event.probes) sum += runtime_.counts(probe);
  return sum;
}

}  // namespace kevt::engine
