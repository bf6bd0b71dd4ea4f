// define() works on a draft: every definition is checked against the catalog *with* those before
// it, every filter against its event; only when nothing is wrong is anything compiled, installed
// and kept.
#include "runtime-user/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include "common/assert.h"
#include "compiler/pipeline/compile.h"
#include "compiler/target/fixed_target.h"
#include "runtime-user/engine/stack_samples.h"

namespace kevt::engine {

namespace {

void hide_stack_samples(std::vector<Problem>& problems) {
  for (Problem& problem : problems) hide_stack_sample(problem.diagnostic);
}

}  // namespace

const target::CatalogEntry* Engine::find(std::string_view group, std::string_view event) const {
  return catalog_.find(group, event);
}

void Engine::Batch::add(pipeline::CheckedEvent event, std::optional<model::FilterExpr> filter, std::uint32_t id,
                        std::size_t index) {
  events.push_back(std::move(event));
  sinks.push_back({std::move(filter)});
  ids.push_back(id);
  indices.push_back(index);
}

std::optional<model::Injection> Engine::injection_of(const model::Definition& definition) const {
  for (const EventInjection& one : injections_)
    if (names_event(one.event, definition)) return one.injection;
  return std::nullopt;
}

// Only what is defined can inject.
Result<void> Engine::check_injections(const Draft& draft) const {
  for (const EventInjection& one : injections_) {
    const bool is_there = std::ranges::any_of(
        draft.entries(), [&](const Draft::Entry& entry) { return names_event(one.event, entry.event.definition); });
    if (!is_there) return std::unexpected(Error("`" + one.event + "` is to inject and is not defined here", ENOENT));
  }
  return {};
}

// The event at `position` of events_.
void Engine::add_to(Batch& batch, pipeline::CheckedEvent event, std::optional<model::FilterExpr> filter,
                    std::size_t position, std::size_t index) const {
  event.injection = injection_of(event.definition);
  event.definition.command = without_stack_sample(event.definition.command);  // for messages
  batch.add(std::move(event), std::move(filter), kFirstId + static_cast<std::uint32_t>(position), index);
}

Result<pipeline::CompiledEvents> Engine::compile(const Batch& batch) const {
  return pipeline::compile_events(batch.events, batch.sinks, env_, pipeline::Artifacts::CodeOnly,
                                  runtime_.capabilities().code, made_);
}

Result<std::vector<Engine::Placed>> Engine::place(const model::CompiledBatch& compiled,
                                                  std::span<const std::uint32_t> ids) {
  auto probes = runtime_.install(compiled, ids);
  if (!probes) return std::unexpected(std::move(probes.error()));
  std::vector<Placed> placed;
  for (std::size_t i = 0; i < probes->size(); ++i) placed.push_back({(*probes)[i], ids[i]});
  return placed;
}

// All or none.
Result<std::vector<Engine::Placed>> Engine::install(const Batch& batch) {
  if (batch.events.empty()) return std::vector<Placed>();
  auto compiled = compile(batch);
  if (!compiled) return std::unexpected(std::move(compiled.error()));
  return place(compiled->batch, batch.ids);
}

void Engine::note_event(const Draft::Entry& entry, std::size_t position) {
  const pipeline::CheckedEvent& made = entry.event;
  if (position == events_->size())
    events_->push_back({made.definition.group,
                        made.definition.event,
                        kFirstId + static_cast<std::uint32_t>(position),
                        made.definition,
                        made.layout,
                        {},
                        entry.filter_text});
  (*events_)[position].listings.push_back(made.listing);
  probes_.resize(events_->size());
}

void Engine::keep(std::span<const Placed> probes) {
  for (const auto& [probe, id] : probes) {
    const std::size_t position = id - kFirstId;
    probes_[position].push_back(probe);
    by_probe_.resize(std::max<std::size_t>(by_probe_.size(), probe + 1), nullptr);
    by_probe_[probe] = &(*events_)[position];
  }
}

// A wrong filter takes all down: its event must not be recorded without it.
Result<bool> Engine::define(std::span<const std::string> definitions, std::span<const EventFilter> filters,
                            std::vector<Problem>& problems, Together together) {
  KEVT_ASSERT(events_.use_count() == 1);
  Draft draft(catalog_, statics_);
  const auto forms = missing_ == Missing::Waits ? pipeline::Forms::RunnableLater : pipeline::Forms::Runnable;
  draft.check(definitions, filters, env_, forms, problems);
  hide_stack_samples(problems);
  const auto takes_all_down = [&](const Problem& problem) {
    return together == Together::AllOrNothing || problem.kind == Problem::Kind::Filter;
  };
  if (std::ranges::any_of(problems, takes_all_down) || (draft.entries().empty() && !problems.empty())) return false;
  if (problems.empty())
    if (auto known = check_injections(draft); !known) return std::unexpected(std::move(known.error()));
  Batch batch;
  std::vector<std::size_t> positions;
  for (const Draft::Entry& entry : draft.entries()) {
    const auto& [group, event] = std::tie(entry.event.definition.group, entry.event.definition.event);
    positions.push_back(draft.catalog().position(group, event));
    if (positions.back() > kLastId - kFirstId)
      return std::unexpected(
          Error(fmt::format("more than {} events: common_type has 16 bits", kLastId - kFirstId + 1)));
    if (!entry.event.waits) add_to(batch, entry.event, entry.filter, positions.back(), entry.index);
  }
  auto installed = together == Together::EachByItself ? install_each(batch, problems) : install(batch);
  if (!installed) return std::unexpected(std::move(installed.error()));

  for (std::size_t i = 0; i < positions.size(); ++i) {
    const Draft::Entry& entry = draft.entries()[i];
    note_event(entry, positions[i]);
    if (entry.event.waits) waiting_.push_back(defined_->size());
    defined_->push_back({entry.event.definition.command, entry.filter_text, positions[i]});
  }
  catalog_ = draft.take_catalog();
  keep(*installed);
  return true;
}

void Engine::define_as(const Engine& other) {
  events_ = other.events_;
  probes_.assign(events_->size(), {});
  defined_ = other.defined_;
  injections_ = other.injections_;
  waiting_.resize(defined_->size());
  std::iota(waiting_.begin(), waiting_.end(), std::size_t{0});
}

// A line that has mistakes is not kept: they are reported wherever it is looked at.
void Engine::expect_waiting() {
  std::vector<const model::Definition*> expected;
  for (std::size_t index : waiting_) {
    Defined& one = (*defined_)[index];
    diag::Sink sink;
    if (!one.written) one.written = pipeline::parse_event(one.definition, sink);
    if (!sink.empty()) one.written.reset();
    if (one.written) expected.push_back(&*one.written);
  }
  pipeline::expect_functions(expected, env_);
}

std::optional<pipeline::CheckedEvent> Engine::check_arrived(const Defined& one, diag::Sink& sink) const {
  const target::FixedCatalog nothing;
  if (one.written) return pipeline::check_event(*one.written, env_, nothing, pipeline::Forms::RunnableLater, sink);
  return pipeline::check_event(one.definition, env_, nothing, pipeline::Forms::RunnableLater, sink);
}

// The event exists already, so it is looked at by itself.
Result<std::vector<runtime::ProbeHandle>> Engine::define_arrived(std::vector<Problem>& problems) {
  Batch batch;
  expect_waiting();
  std::vector<std::size_t> still;
  for (std::size_t index : waiting_) {
    Defined& one = (*defined_)[index];
    diag::Sink sink;
    auto checked = check_arrived(one, sink);
    if (checked && checked->waits) {
      still.push_back(index);
      continue;
    }
    std::optional<model::FilterExpr> filter;
    if (checked && one.filter) {
      auto bound = pipeline::check_filter(*one.filter, *checked, sink);
      if (bound) filter = std::move(*bound);
    }
    for (diag::Diagnostic& diagnostic : sink.take()) {
      hide_stack_sample(diagnostic);
      problems.push_back({Problem::Kind::Definition, one.event, std::move(diagnostic)});
    }
    if (checked) add_to(batch, std::move(*checked), std::move(filter), one.event, one.event);
  }
  waiting_ = std::move(still);
  const std::vector<Placed> placed = install_each(batch, problems);
  keep(placed);
  std::vector<runtime::ProbeHandle> probes;
  for (const Placed& one : placed) probes.push_back(one.probe);
  return probes;
}

Problem Engine::Batch::problem(std::size_t i, std::string why) const {
  return {Problem::Kind::Definition, indices[i],
          diag::Diagnostic{.kind = diag::Kind::FailRegProbe,
                           .location = diag::Location::Kevtrace,
                           .command = events[i].definition.command,
                           .column = 0,
                           .errno_value = EINVAL,
                           .detail = std::move(why),
                           .notes = {},
                           .fixits = {}}};
}

// One that cannot be placed takes no other down. Those that the runtime refuses are left out and the others installed
// together; whatever else goes wrong with one is found by installing one by one.
std::vector<Engine::Placed> Engine::install_each(const Batch& batch, std::vector<Problem>& problems) {
  if (batch.events.empty()) return {};
  auto compiled = compile(batch);
  const auto refusals = compiled ? runtime_.refusals(compiled->batch) : Result<std::vector<std::string>>();
  if (!compiled || !refusals) return install_one_by_one(batch, problems);
  std::vector<Problem> refused;
  model::CompiledBatch rest = std::move(compiled->batch);
  std::vector<model::CompiledEvent> all = std::exchange(rest.events, {});
  std::vector<std::uint32_t> ids;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (const std::string& why = (*refusals)[i]; !why.empty()) {
      refused.push_back(batch.problem(i, why));
      continue;
    }
    rest.events.push_back(std::move(all[i]));
    ids.push_back(batch.ids[i]);
  }
  auto placed = place(rest, ids);
  if (!placed) return install_one_by_one(batch, problems);
  std::ranges::move(refused, std::back_inserter(problems));
  return *std::move(placed);
}

std::vector<Engine::Placed> Engine::install_one_by_one(const Batch& batch, std::vector<Problem>& problems) {
  std::vector<Placed> placed;
  for (std::size_t i = 0; i < batch.events.size(); ++i) {
    Batch one;
    one.add(batch.events[i], batch.sinks[i].front(), batch.ids[i], batch.indices[i]);
    if (auto installed = install(one)) {
      placed.push_back(installed->front());
    } else {
      problems.push_back(batch.problem(i, installed.error().message()));
    }
  }
  return placed;
}

std::vector<std::string> Engine::waiting() const {
  std::vector<std::string> texts;
  for (std::size_t index : waiting_) texts.push_back(without_stack_sample((*defined_)[index].definition));
  return texts;
}

std::vector<runtime::ProbeHandle> Engine::all_probes() const {
  std::vector<runtime::ProbeHandle> probes;
  for (const auto& of_event : probes_) probes.insert(probes.end(), of_event.begin(), of_event.end());
  return probes;
}

Result<void> Engine::enable_all() { return runtime_.arm(all_probes()); }
Result<void> Engine::disable_all() { return runtime_.disarm(all_probes()); }

const Event* Engine::by_probe(runtime::ProbeHandle probe) const {
  return probe < by_probe_.size() ? by_probe_[probe] : nullptr;
}

runtime::EventCounts Engine::counts(const Event& event) const {
  runtime::EventCounts sum;
  for (runtime::ProbeHandle probe : probes(event)) sum += runtime_.counts(probe);
  return sum;
}

}  // namespace kevt::engine
