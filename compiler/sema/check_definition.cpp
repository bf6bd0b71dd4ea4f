// Checked definitions: the page that names every rule in order.
//
//   p vfs_read $arg1  →  group kprobes, event p_vfs_read_0, arg1=$arg1 of 8 bytes, place_address resolved
//
// Problem: 6.1 stops at its first mistake, and which one is first follows from the order in which
// four parsers look at the world. Idea: run every rule that can still say something, let each
// finding carry its place in that order (diag/definition_order.h), and keep one finding per argument.
//
// Mirrors __trace_kprobe_create(), __trace_uprobe_create(), __trace_eprobe_create() and
// __create_synth_event() of kernel/trace (6.1), and trace_fprobe_create_internal() (7.3). Not here: text (grammar) and
// record bytes (layout).
#include <fmt/format.h>

#include <set>
#include <utility>

#include "compiler/sema/definition_check.h"
#include "compiler/sema/sema.h"

namespace kevt::sema {
namespace {

void check_kprobe(DefinitionCheck& check) {
  if (const auto* place = std::get_if<model::SymbolPlace>(&check.definition.place)) check_symbol_place(check, *place);
  if (const auto* place = std::get_if<model::AddressPlace>(&check.definition.place)) {
    check_address_place(check, *place);
  }
  fill_names(check);
  resolve_types(check);
  check_arguments(check, nullptr);
  check_entry_arguments(check);
  check_existing(check);
  check_registration(check);
}

void check_uprobe(DefinitionCheck& check) {
  check_file_place(check, std::get<model::FilePlace>(check.definition.place));
  fill_names(check);
  check_arguments(check, nullptr);
  check_entry_arguments(check);
  check_existing(check);
}

void check_eprobe(DefinitionCheck& check) {
  fill_names(check);
  const target::CatalogEntry* attached = check_event_place(check, std::get<model::EventPlace>(check.definition.place));
  if (attached == nullptr) return;
  check.definition.probe_kind = model::ProbeKind::Record;
  check_eprobe_filter(check, *attached);
  resolve_event_typecasts(check, *attached);
  check_arguments(check, attached);
  check_existing(check);
}

// Refuses `f`, `t` and `w` probes outside a kernel; for a function of a program the message names the right letter.
void check_unsupported(const DefinitionCheck& check) {
  const model::Definition& definition = check.definition;
  const bool returns = definition.probe_kind == model::ProbeKind::Return;
  std::string detail = "`f`, `t` and `w` probes run in the kernel, by `--runtime bpf`";
  if (definition.kind == model::EventKind::Fprobe) {
    const model::Span span = definition.place_span;
    std::string_view place = std::string_view(definition.command).substr(span.begin, span.end - span.begin);
    place = place.substr(0, place.find('%'));  // %return
    detail += fmt::format("; for a function of a program write `{} {}`", returns ? "r" : "p", place);
  }
  check.report({.kind = diag::Kind::UnsupportedForm, .logged = false, .detail = std::move(detail)});
}

void check_watchpoint(DefinitionCheck& check) {
  const bool runs = check.env.is_running_kernel();
  if (check.request.newer_forms == NewerForms::Refused && !runs) return check_unsupported(check);
  const auto& place = std::get<model::WatchPlace>(check.definition.place);
  fill_names(check);
  if (runs) check_watched_memory(check, place);
  const auto is_missing = [&](const std::string& symbol) {
    const auto found = check.env.find_data(symbol);
    return !found && found.error().failure != target::LookupFailure::NotChecked;
  };
  if (place.symbol && is_missing(*place.symbol)) {
    const std::size_t at = check.definition.command.find('@', check.definition.place_span.begin);
    check.report({.kind = diag::Kind::WatchBadAddress,
                  .column = static_cast<std::uint32_t>(at + 1),
                  .order = diag::kStepPlace,
                  .errno_value = ENOENT});
  }
  check_arguments(check, nullptr);
  check_existing(check);
}

void check_function_probe(DefinitionCheck& check) {
  const bool runs = check.env.is_running_kernel();
  if (check.request.newer_forms == NewerForms::Refused && !runs) return check_unsupported(check);
  if (runs) check_hook_place(check);
  check.entry = check.definition.probe_kind == model::ProbeKind::Entry ? FunctionEntry::Yes : FunctionEntry::No;
  fill_names(check);
  resolve_types(check);
  if (runs) check_tracepoint_arguments(check);
  check_arguments(check, nullptr);
  check_entry_arguments(check);
  check_existing(check);
  check_function_symbols(check);
}

void run_rules(DefinitionCheck& check) {
  switch (check.definition.kind) {
    case model::EventKind::Kprobe:
      return check_kprobe(check);
    case model::EventKind::Uprobe:
      return check_uprobe(check);
    case model::EventKind::Eprobe:
      return check_eprobe(check);
    case model::EventKind::Synthetic:
      return check_existing(check);
    case model::EventKind::Fprobe:
    case model::EventKind::Tprobe:
      return check_function_probe(check);
    case model::EventKind::Watchpoint:
      return check_watchpoint(check);
  }
}

// Keeps the first mistake of each argument: later ones mostly follow from it.
void keep_first_per_argument(diag::Sink& sink) {
  std::set<std::uint32_t> seen;
  for (diag::Diagnostic& diagnostic : sink.take()) {
    const bool in_argument = diagnostic.order >= diag::kStepArguments && diagnostic.order < diag::kStepCounter;
    if (in_argument && !seen.insert(diagnostic.order / diag::kStepsPerArgument).second) continue;
    sink.report(std::move(diagnostic));
  }
}

// Adds the kernel's entry about `$arg*` to the first mistake: the kernel logs that entry and goes on to the mistake.
void log_unknown_arguments(const DefinitionCheck& check) {
  if (!check.replaced.unknown_arguments) return;
  std::vector<diag::Diagnostic> mistakes = check.sink.take();
  if (!mistakes.empty() && mistakes.front().order >= diag::kStepArguments && !mistakes.front().prelude)
    mistakes.front().prelude = diag::Prelude{diag::Kind::NosupBtfarg, *check.replaced.unknown_arguments};
  for (diag::Diagnostic& mistake : mistakes) check.sink.report(std::move(mistake));
}

}  // namespace

void DefinitionCheck::report(Finding finding) const {
  diag::Diagnostic diagnostic{.kind = finding.kind,
                              .location = location(),
                              .command = definition.command,
                              .column = finding.column,
                              .errno_value = finding.errno_value,
                              .logged = finding.logged,
                              .order = finding.order,
                              .detail = std::move(finding.detail),
                              .notes = {},
                              .fixits = std::move(finding.fixits)};
  if (const auto help = diag::help_text(finding.kind); !help.empty()) diagnostic.notes.push_back({std::string(help)});
  if (!finding.note.empty()) diagnostic.notes.push_back({std::move(finding.note)});
  sink.report(std::move(diagnostic));
}

diag::Location DefinitionCheck::location() const {
  switch (definition.kind) {
    case model::EventKind::Kprobe:
      return diag::Location::Kprobe;
    case model::EventKind::Uprobe:
      return diag::Location::Uprobe;
    case model::EventKind::Eprobe:
      return diag::Location::Eprobe;
    case model::EventKind::Synthetic:
      return diag::Location::Synthetic;
    case model::EventKind::Fprobe:
    case model::EventKind::Tprobe:
      return diag::Location::Fprobe;
    case model::EventKind::Watchpoint:
      return diag::Location::Wprobe;
  }
  return diag::Location::Kevtrace;
}

std::optional<CheckedDefinition> check_definition(model::Definition definition, const target::TargetEnv& env,
                                                  const target::EventCatalog& catalog, diag::Sink& sink,
                                                  CheckRequest request) {
  DefinitionCheck check{.definition = definition, .env = env, .catalog = catalog, .sink = sink, .request = request};
  run_rules(check);
  keep_first_per_argument(sink);
  log_unknown_arguments(check);
  log_replaced_words(check);
  if (!sink.empty()) return std::nullopt;
  std::vector<Unchecked> unchecked = find_unchecked(check);
  return CheckedDefinition{.definition = std::move(definition),
                           .function_address = check.function_address,
                           .place_address = check.place_address,
                           .is_deferred = check.place == PlaceState::Waits,
                           .unchecked = std::move(unchecked)};
}

}  // namespace kevt::sema
