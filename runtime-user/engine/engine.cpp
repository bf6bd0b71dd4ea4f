// define() works on a draft: every definition is checked against the catalog *with* those before
// it, every filter against its event; only when nothing is wrong is anything compiled, installed
// and kept.
#include "runtime-user/engine/engine.h"

#include <algorithm>

#include "compiler/pipeline/compile.h"

namespace kevt::engine {

namespace {

bool names(const EventFilter& filter, const model::Definition& definition) {
  const std::string& group = definition.group;
  const std::string& event = definition.event;
  return filter.event == event || filter.event == group + ":" + event || filter.event == group + "/" + event ||
         filter.event == group + "." + event;
}

target::EventOwner owner_of(model::EventKind kind) {
  switch (kind) {
    case model::EventKind::Kprobe:
      return target::EventOwner::Kprobe;
    case model::EventKind::Uprobe:
      return target::EventOwner::Uprobe;
    case model::EventKind::Eprobe:
      return target::EventOwner::Eprobe;
    case model::EventKind::Fprobe:
      return target::EventOwner::Fprobe;
    case model::EventKind::Tprobe:
      return target::EventOwner::Tprobe;
    case model::EventKind::Synthetic:
      return target::EventOwner::Synthetic;
    case model::EventKind::Watchpoint:
      return target::EventOwner::Watchpoint;
  }
  return target::EventOwner::Static;
}

diag::Diagnostic missing_event(const EventFilter& filter) {
  return {.kind = diag::Kind::EventMissing,
          .location = diag::Location::Filter,
          .command = filter.event + ":" + filter.text,
          .column = 0,
          .errno_value = 2,
          .detail = "`" + filter.event + "` is not defined here",
          .notes = {},
          .fixits = {}};
}

}  // namespace

// Events being defined: the engine's catalog with the new ones added.
struct Engine::Draft final : target::EventCatalog {
  explicit Draft(const Engine& engine) : entries(engine.catalog_) {}

  const target::CatalogEntry* find(std::string_view group, std::string_view event) const override {
    for (const target::CatalogEntry& entry : entries)
      if (entry.group == group && entry.event == event) return &entry;
    return nullptr;
  }
  void add(const pipeline::CheckedEvent& event) {
    const model::Definition& d = event.definition;
    for (target::CatalogEntry& entry : entries)
      if (entry.group == d.group && entry.event == d.event) return entry.siblings.push_back(d);
    entries.push_back({d.group, d.event, owner_of(d.kind), {d}, event.layout});
  }

  std::deque<target::CatalogEntry> entries;
  std::vector<pipeline::CheckedEvent> events;
  std::vector<std::vector<std::optional<model::FilterExpr>>> filters;  // one sink each
  std::vector<std::optional<std::string>> filter_texts;
};

const target::CatalogEntry* Engine::find(std::string_view group, std::string_view event) const {
  for (const target::CatalogEntry& entry : catalog_)
    if (entry.group == group && entry.event == event) return &entry;
  return nullptr;
}

Result<bool> Engine::define(std::span<const std::string> definitions, std::span<const EventFilter> filters,
                            std::vector<Problem>& problems) {
  Draft draft(*this);
  const auto note = [&](Problem::Kind kind, std::size_t index, diag::Sink& sink) {
    for (diag::Diagnostic& diagnostic : sink.take()) problems.push_back({kind, index, std::move(diagnostic)});
  };
  for (std::size_t i = 0; i < definitions.size(); ++i) {
    diag::Sink sink;
    auto checked = pipeline::check_event(definitions[i], env_, draft, sink);
    note(Problem::Kind::Definition, i, sink);
    if (!checked) continue;
    draft.add(*checked);
    draft.events.push_back(std::move(*checked));
    draft.filters.push_back({std::nullopt});
    draft.filter_texts.emplace_back();
  }
  const bool definitions_are_good = problems.empty();
  for (std::size_t f = 0; f < filters.size(); ++f) {
    diag::Sink sink;
    bool used = false;
    for (std::size_t i = 0; i < draft.events.size(); ++i) {
      if (!names(filters[f], draft.events[i].definition)) continue;
      used = true;
      if (!sink.empty()) continue;
      if (auto bound = pipeline::check_filter(filters[f].text, draft.events[i], sink)) {
        draft.filters[i].front() = std::move(*bound);
        draft.filter_texts[i] = filters[f].text;
      }
    }
    if (!used && definitions_are_good) sink.report(missing_event(filters[f]));
    note(Problem::Kind::Filter, f, sink);
  }
  if (!problems.empty()) return false;

  auto compiled = pipeline::compile_events(draft.events, draft.filters, env_, pipeline::Artifacts::CodeOnly);
  if (!compiled) return std::unexpected(std::move(compiled.error()));
  std::vector<std::uint32_t> ids;
  std::uint32_t next = next_id_;
  for (std::size_t i = 0; i < draft.events.size(); ++i) {
    const model::Definition& d = draft.events[i].definition;
    std::uint32_t id = 0;
    for (const Event& event : events_)
      if (event.group == d.group && event.name == d.event) id = event.id;
    for (std::size_t k = 0; k < i; ++k)
      if (draft.events[k].definition.group == d.group && draft.events[k].definition.event == d.event) id = ids[k];
    ids.push_back(id ? id : next++);
  }
  auto installed = runtime_.install(compiled->batch, ids);
  if (!installed) return std::unexpected(std::move(installed.error()));

  next_id_ = next;
  catalog_ = std::move(draft.entries);
  for (std::size_t i = 0; i < draft.events.size(); ++i) {
    pipeline::CheckedEvent& made = draft.events[i];
    auto it = std::ranges::find(events_, ids[i], &Event::id);
    if (it == events_.end()) {
      events_.push_back({made.definition.group, made.definition.event, ids[i], made.definition, made.layout, {}, {},
                         draft.filter_texts[i]});
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
