// define() works on a draft: every definition is checked against the catalog *with* those before
// it, every filter against its event; only when nothing is wrong is anything compiled, installed
// and kept.
#include "runtime-user/engine/engine.h"

#include <algorithm>

#include "compiler/pipeline/compile.h"

namespace kevt::engine {

const target::CatalogEntry* Engine::find(std::string_view group, std::string_view event) const {
  for (const target::CatalogEntry& entry : catalog_)
    if (entry.group == group && entry.event == event) return &entry;
  return nullptr;
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

  auto compiled = pipeline::compile_events(events, sinks, env_, pipeline::Artifacts::CodeOnly);
  if (!compiled) return std::unexpected(std::move(compiled.error()));
  std::vector<std::uint32_t> ids;
  std::uint32_t next = next_id_;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const model::Definition& d = events[i].definition;
    std::uint32_t id = 0;
    for (const Event& event : events_)
      if (event.group == d.group && event.name == d.event) id = event.id;
    for (std::size_t k = 0; k < i; ++k)
      if (events[k].definition.group == d.group && events[k].definition.event == d.event) id = ids[k];
    ids.push_back(id ? id : next++);
  }
  auto installed = runtime_.install(compiled->batch, ids);
  if (!installed) return std::unexpected(std::move(installed.error()));

  next_id_ = next;
  catalog_ = draft.take_catalog();
  for (std::size_t i = 0; i < events.size(); ++i) {
    pipeline::CheckedEvent& made = events[i];
    auto it = std::ranges::find(events_, ids[i], &Event::id);
    if (it == events_.end()) {
      events_.push_back({made.definition.group,
                         made.definition.event,
                         ids[i],
                         made.definition,
                         made.layout,
                         {},
                         {},
                         draft.entries()[i].filter_text});
      it = std::prev(events_.end());
    }
    it->probes.push_back((*installed)[i]);
    it->listings.push_back(made.listing);
    by_probe_.resize(std::max<std::size_t>(by_probe_.size(), (*installed)[i] + 1), nullptr);
    by_probe_[(*installed)[i]] = &*it;
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
  for (runtime::ProbeHandle probe : event.probes) {
    const runtime::EventCounts one = runtime_.counts(probe);
    sum.attempts += one.attempts;
    sum.recorded += one.recorded;
    sum.filtered += one.filtered;
    sum.lost += one.lost;
    sum.missed += one.missed;
    sum.faults += one.faults;
  }
  return sum;
}

}  // namespace kevt::engine
