// A definition was checked when it was written. But its names mean something else in each target, and may have changed
// since: so each target resolves them again and gets code of its own.
//
// A library that is not loaded yet is no reason to refuse: the probe is placed when the library is loaded
// (EventCode::place_deferred).
#include "runtime-user/engine/code/code_placer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "compiler/pipeline/runnable.h"

namespace kevt::engine {

namespace {

CodeRefusal refusal(const std::string& text, const TracedTarget& target, int errno_value, const EventProbe& probe) {
  return {Error(fmt::format("{} ({})", text, target.name()), errno_value), probe.definition().command, probe.serial,
          text};
}

CodeRefusal refusal(Error error, const CheckedProbe& probe) {
  std::string reason = error.message();
  return {std::move(error), probe.event.definition.command, probe.serial, std::move(reason)};
}

std::vector<std::uint32_t> types_of(std::span<const CheckedProbe> probes) {
  std::vector<std::uint32_t> types;
  for (const CheckedProbe& probe : probes) types.push_back(probe.type);
  return types;
}

bool counts_any(std::span<const CheckedProbe> probes) {
  return std::ranges::any_of(probes, [](const CheckedProbe& probe) { return !probe.event.histograms.empty(); });
}

// A hit whose stack is not known yet cannot count: it is recorded, and the reader has to see the stack.
bool takes_stacks(std::span<const model::HitHistogram> histograms) {
  return std::ranges::any_of(histograms, &model::HitHistogram::has_stack_key);
}

// The first probes whose histograms fit into `tables` keep them; hits of the others are recorded.
std::vector<CheckedProbe> with_tables(std::span<const CheckedProbe> probes, std::size_t tables) {
  std::vector<CheckedProbe> fitting(probes.begin(), probes.end());
  for (CheckedProbe& probe : fitting) {
    if (probe.event.histograms.size() > tables) probe.event.histograms.clear();
    tables -= probe.event.histograms.size();
  }
  return fitting;
}

}  // namespace

std::expected<std::optional<CheckedProbe>, CodeRefusal> CodePlacer::check(const EventProbe& probe,
                                                                          const CodeRequest& request) const {
  diag::Sink sink;
  const target::TargetEnv& env = target_.known_env();
  if (!pipeline::can_run(probe.definition(), env, sink))
    return std::unexpected(refusal(sink.diagnostics().front().detail, target_, EOPNOTSUPP, probe));
  if (const auto* place = std::get_if<model::EventPlace>(&probe.definition().place);
      probe.definition().kind == model::EventKind::Eprobe && (!place || !statics_.find(place->system, place->event)))
    return std::unexpected(CodeRefusal{Error("nothing here makes records of the event it stands on", EOPNOTSUPP),
                                       probe.definition().command, probe.serial});
  auto checked =
      pipeline::check_event(model::Definition(probe.written), env, statics_, pipeline::Forms::RunnableLater, sink);
  if (checked && checked->is_deferred) return std::nullopt;
  if (checked) return ready(probe, request, *std::move(checked));
  const auto mistakes = sink.take();
  if (mistakes.empty()) return std::unexpected(refusal("nothing to run", target_, EINVAL, probe));
  const diag::Diagnostic& first = mistakes.front();
  std::string text(diag::kernel_text(first.kind));
  if (!first.detail.empty()) text += ": " + first.detail;
  const bool not_here = first.kind == diag::Kind::NotSupportedByRuntime || first.kind == diag::Kind::UnsupportedForm;
  auto refused = refusal(text, target_, not_here ? EOPNOTSUPP : first.errno_value, probe);
  refused.is_missing = first.kind == diag::Kind::BadProbeAddr;
  return std::unexpected(std::move(refused));
}

CheckedProbe CodePlacer::ready(const EventProbe& probe, const CodeRequest& request,
                               pipeline::CheckedEvent checked) const {
  checked.definition.group = probe.definition().group;
  checked.definition.event = probe.definition().event;
  checked.switches = request.inline_triggers;
  checked.histograms = request.histograms;
  checked.injection = request.injection;
  checked.takes_stack = request.wants_stack || takes_stacks(request.histograms);
  return {.request = &request, .event = std::move(checked), .type = request.event->id, .serial = probe.serial};
}

Result<model::CompiledBatch> CodePlacer::compile(std::span<const CheckedProbe> probes) const {
  std::vector<const pipeline::CheckedEvent*> events;
  std::vector<std::vector<std::optional<model::FilterExpr>>> filters;  // one sink each
  for (const CheckedProbe& probe : probes) {
    events.push_back(&probe.event);
    filters.push_back({probe.request->filter});
  }
  auto compiled = KEVT_TRY(pipeline::compile_events(events, filters, target_.known_env(), pipeline::Artifacts::CodeOnly,
                                                    target_.runtime().capabilities().code, made_));
  return std::move(compiled.batch);
}

std::expected<std::vector<runtime::ProbeHandle>, CodeRefusal> CodePlacer::install(
    std::span<const CheckedProbe> probes) {
  if (!counts_any(probes)) return install_so(probes);
  const auto fitting = with_tables(probes, target_.runtime().free_hit_tables());
  auto installed = install_so(fitting);
  if (installed || !counts_any(fitting)) return installed;
  return install_so(with_tables(probes, 0));
}

Result<void> CodePlacer::prepare_stacks(std::span<const CheckedProbe> probes) {
  const auto takes_stack = [](const CheckedProbe& probe) { return probe.event.takes_stack; };
  return std::ranges::any_of(probes, takes_stack) ? target_.prepare_stacks() : Result<void>();
}

std::expected<std::vector<runtime::ProbeHandle>, CodeRefusal> CodePlacer::install_so(
    std::span<const CheckedProbe> probes) {
  if (probes.empty()) return std::vector<runtime::ProbeHandle>();
  if (auto prepared = prepare_stacks(probes); !prepared)
    return std::unexpected(CodeRefusal{std::move(prepared.error()), ""});
  auto compiled = compile(probes);
  if (!compiled) return std::unexpected(CodeRefusal{std::move(compiled.error()), ""});
  auto installed = target_.runtime().install(*compiled, types_of(probes));
  if (installed) return *std::move(installed);
  Error error = std::move(installed.error());
  if (!error.errno_value()) error = Error(error.message(), EINVAL);
  if (probes.size() == 1) return std::unexpected(refusal(std::move(error), probes.front()));
  return std::unexpected(CodeRefusal{std::move(error), ""});
}

// Leaves out the probes that the runtime refuses and installs the others together. If that fails, installs one by one
// to find the probe that is to blame.
std::vector<std::optional<runtime::ProbeHandle>> CodePlacer::install_each(std::span<const CheckedProbe> probes,
                                                                          std::vector<CodeRefusal>& refusals) {
  std::vector<CheckedProbe> fitting;
  if (counts_any(probes)) probes = fitting = with_tables(probes, target_.runtime().free_hit_tables());
  std::vector<std::optional<runtime::ProbeHandle>> handles(probes.size());
  if (probes.empty()) return handles;
  const auto prepared = prepare_stacks(probes);
  auto compiled = prepared ? compile(probes) : std::unexpected(prepared.error());
  const auto refused =
      compiled ? target_.runtime().refusals(*compiled) : Result<std::vector<std::string>>(std::vector<std::string>());
  if (compiled && refused) {
    std::vector<model::CompiledEvent> all = std::exchange(compiled->events, {});
    std::vector<std::size_t> taken;
    std::vector<std::uint32_t> types;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!(*refused)[i].empty()) continue;
      taken.push_back(i);
      types.push_back(probes[i].type);
      compiled->events.push_back(std::move(all[i]));
    }
    if (auto installed = target_.runtime().install(*compiled, types)) {
      for (std::size_t i = 0; i < taken.size(); ++i) handles[taken[i]] = (*installed)[i];
      for (std::size_t i = 0; i < all.size(); ++i)
        if (!handles[i]) refusals.push_back(refusal(Error((*refused)[i], EINVAL), probes[i]));
      return handles;
    }
  }
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (auto installed = install(probes.subspan(i, 1)))
      handles[i] = installed->front();
    else
      refusals.push_back(refusal(std::move(installed.error().error), probes[i]));
  }
  return handles;
}

}  // namespace kevt::engine
