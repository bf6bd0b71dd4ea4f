// define() works on a draft: every definition is checked against the catalog *with* those before
// it, every filter against its event; only when nothing is wrong is anything compiled, installed
// and kept.
#include "runtime-user/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

#include "compiler/pipeline/compile.h"
#include "compiler/target/fixed_target.h"

namespace kevt::engine {

namespace {

constexpr std::uint32_t kFirstId = 20000;  // above the kernel's own ids
constexpr std::uint32_t kLastId = 65535;

}  // namespace

const target::CatalogEntry* Engine::find(std::string_view group, std::string_view event) const {
  return catalog_.find(group, event);
}

void Engine::Batch::add(pipeline::CheckedEvent event, std::optional<model::FilterExpr> filter, std::uint32_t id) {
  events.push_back(std::move(event));
  sinks.push_back({std::move(filter)});
  ids.push_back(id);
}

Result<std::vector<runtime::ProbeHandle>> Engine::install(const Batch& batch) {
  if (batch.events.empty()) return std::vector<runtime::ProbeHandle>();
  auto compiled = pipeline::compile_events(batch.events, batch.sinks, env_, pipeline::Artifacts::CodeOnly,
                                           runtime_.capabilities().code, made_);
  if (!compiled) return std::unexpected(std::move(compiled.error()));
  return runtime_.install(compiled->batch, batch.ids);
}

void Engine::note_event(const Draft::Entry& entry, std::size_t position) {
  const pipeline::CheckedEvent& made = entry.event;
  if (position == events_.size())
    events_.push_back({made.definition.group,
                       made.definition.event,
                       kFirstId + static_cast<std::uint32_t>(position),
                       made.definition,
                       made.layout,
                       {},
                       {},
                       entry.filter_text});
  events_[position].listings.push_back(made.listing);
}

void Engine::keep(const Batch& batch, std::span<const runtime::ProbeHandle> probes) {
  for (std::size_t i = 0; i < probes.size(); ++i) {
    Event& event = events_[batch.ids[i] - kFirstId];
    event.probes.push_back(probes[i]);
    by_probe_.resize(std::max<std::size_t>(by_probe_.size(), probes[i] + 1), nullptr);
    by_probe_[probes[i]] = &event;
  }
}

Result<bool> Engine::define(std::span<const std::string> definitions, std::span<const EventFilter> filters,
                            std::vector<Problem>& problems) {
  Draft draft(catalog_);
  const auto forms = missing_ == Missing::Waits ? pipeline::Forms::RunnableLater : pipeline::Forms::Runnable;
  draft.check(definitions, filters, env_, forms, problems);
  if (!problems.empty()) return false;
  Batch batch;
  std::vector<std::size_t> positions;
  for (const Draft::Entry& entry : draft.entries()) {
    const auto& [group, event] = std::tie(entry.event.definition.group, entry.event.definition.event);
    positions.push_back(draft.catalog().position(group, event));
    if (positions.back() > kLastId - kFirstId)
      return std::unexpected(
          Error(fmt::format("more than {} events: common_type has 16 bits", kLastId - kFirstId + 1)));
    if (!entry.event.waits)
      batch.add(entry.event, entry.filter, kFirstId + static_cast<std::uint32_t>(positions.back()));
  }
  auto installed = install(batch);
  if (!installed) return std::unexpected(std::move(installed.error()));

  for (std::size_t i = 0; i < positions.size(); ++i) {
    const Draft::Entry& entry = draft.entries()[i];
    note_event(entry, positions[i]);
    all_.push_back({entry.event.definition.command, entry.filter_text, positions[i]});
    if (entry.event.waits) waiting_.push_back(all_.back());
  }
  catalog_ = draft.take_catalog();
  keep(batch, *installed);
  return true;
}

void Engine::define_as(const Engine& other) {
  events_ = other.events_;
  for (Event& event : events_) event.probes.clear();
  catalog_ = other.catalog_;
  all_ = other.all_;
  waiting_ = all_;
}

// The event exists already, so it is looked at by itself.
Result<std::vector<runtime::ProbeHandle>> Engine::define_arrived(std::vector<Problem>& problems) {
  const target::FixedCatalog nothing;
  Batch batch;
  std::vector<Waiting> still;
  for (Waiting& one : waiting_) {
    diag::Sink sink;
    auto checked = pipeline::check_event(one.definition, env_, nothing, pipeline::Forms::RunnableLater, sink);
    if (checked && checked->waits) {
      still.push_back(std::move(one));
      continue;
    }
    std::optional<model::FilterExpr> filter;
    if (checked && one.filter) {
      auto bound = pipeline::check_filter(*one.filter, *checked, sink);
      if (bound) filter = std::move(*bound);
    }
    for (diag::Diagnostic& diagnostic : sink.take())
      problems.push_back({Problem::Kind::Definition, one.event, std::move(diagnostic)});
    if (checked) batch.add(std::move(*checked), std::move(filter), kFirstId + static_cast<std::uint32_t>(one.event));
  }
  waiting_ = std::move(still);
  if (auto installed = install(batch)) {
    keep(batch, *installed);
    return *installed;
  }
  return install_one_by_one(std::move(batch), problems);
}

// One that cannot be placed takes no other down.
std::vector<runtime::ProbeHandle> Engine::install_one_by_one(Batch batch, std::vector<Problem>& problems) {
  std::vector<runtime::ProbeHandle> probes;
  for (std::size_t i = 0; i < batch.events.size(); ++i) {
    Batch one;
    one.add(batch.events[i], std::move(batch.sinks[i].front()), batch.ids[i]);
    if (auto installed = install(one)) {
      keep(one, *installed);
      probes.push_back(installed->front());
    } else {
      problems.push_back({Problem::Kind::Definition, batch.ids[i] - kFirstId,
                          diag::Diagnostic{.kind = diag::Kind::FailRegProbe,
                                           .location = diag::Location::Kevtrace,
                                           .command = batch.events[i].definition.command,
                                           .column = 0,
                                           .errno_value = EINVAL,
                                           .detail = installed.error().message(),
                                           .notes = {},
                                           .fixits = {}}});
    }
  }
  return probes;
}

std::vector<std::string> Engine::waiting() const {
  std::vector<std::string> texts;
  for (const Waiting& one : waiting_) texts.push_back(one.definition);
  return texts;
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
