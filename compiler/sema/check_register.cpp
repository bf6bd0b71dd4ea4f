// What the kernel finds only when it arms a kprobe: data symbols, instruction boundaries, blacklists.
//
//   p vfs_read+1         →  BadInsnBndry, EILSEQ
//   p vfs_read @nosymbol →  BadProbeAddr with the caret at the PLACE: that is where the kernel puts it
//
// A place whose module is not loaded is not checked, and its data symbols are not either: the probe waits.
// Mirrors __register_trace_kprobe() of kernel/trace/trace_kprobe.c and register_kprobe() (6.1).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/model/span_context.h"
#include "compiler/sema/definition_check.h"

namespace kevt::sema {
namespace {

std::string missing_text(const model::SymbolBase* symbol, const target::LookupError& error) {
  if (!error.why.empty()) return error.why;
  if (error.failure == target::LookupFailure::NotUnique)
    return fmt::format("several files have it: {}", fmt::join(error.candidates, ", "));
  if (symbol != nullptr) return fmt::format("no data symbol `{}`", symbol->symbol);
  return fmt::format("no file that the program has loaded publishes spans of OpenTelemetry (thread-local `{}`)",
                     model::kSpanContextSymbol);
}

void check_data_symbols(const DefinitionCheck& check) {
  const auto is_missing = [&](const model::FetchExpr& expr) {
    const auto* base = std::get_if<model::SymbolBase>(&expr.base);
    const bool is_span = std::holds_alternative<model::SpanIdBase>(expr.base);
    if (base == nullptr && !is_span) return false;
    const auto found = check.env.find_data(is_span ? model::kSpanContextSymbol : base->symbol);
    if (found || found.error().failure == target::LookupFailure::NotChecked) return false;
    if (is_span) {
      check.report({.kind = diag::Kind::SymbolMissing,
                    .column = expr.base_span.begin,
                    .order = diag::kStepRegister,
                    .errno_value = ENOENT,
                    .logged = false,
                    .detail = missing_text(nullptr, found.error())});
      return true;
    }
    check.report({.kind = diag::Kind::BadProbeAddr,
                  .column = check.place_column(),
                  .order = diag::kStepRegister,
                  .errno_value = ENOENT,
                  .detail = missing_text(base, found.error())});
    return true;
  };
  for (const model::FetchArg& arg : check.definition.args)
    if (!arg.text.empty()) model::any_expression(arg, is_missing);
}

// Whether the function of an `f` probe is a glob, or a number: ftrace takes a number for an index into its list.
bool is_glob(const std::string& symbol) { return symbol.find_first_of("*?[") != std::string::npos; }
bool is_number(const std::string& symbol) { return !symbol.empty() && symbol[0] >= '0' && symbol[0] <= '9'; }

}  // namespace

void check_function_symbols(DefinitionCheck& check) {
  const bool one_kernel = check.request.dialect.version().has_value();
  const bool at_definition = one_kernel && check.has(dialect::Feature::FprobeMaxactive);
  const auto* place = std::get_if<model::SymbolPlace>(&check.definition.place);
  if (place != nullptr && !check.env.is_running_kernel()) {  // otherwise check_hook_place() has looked
    std::optional<std::string_view> module;
    if (place->module) module = *place->module;
    const auto found = check.env.find_function(module, place->symbol);
    const bool missing = !found && (found.error().failure == target::LookupFailure::NotFound ||
                                    found.error().failure == target::LookupFailure::ModuleMissing);
    const bool listed = at_definition && is_number(place->symbol);
    if (missing && !listed && !is_glob(place->symbol)) {
      check.report({.kind = at_definition ? diag::Kind::FailRegProbe : diag::Kind::BadProbeAddr,
                    .column = check.place_column(),
                    .order = diag::kStepRegister,
                    .detail = fmt::format("no function `{}`", place->symbol)});
    }
  }
  // Later kernels look for data when the event is enabled.
  if (!one_kernel || at_definition) check_data_symbols(check);
}

void check_registration(DefinitionCheck& check) {
  if (check.place != PlaceState::Found) return;
  const auto report = [&](diag::Kind kind, int errno_value) {
    check.report(
        {.kind = kind, .column = check.place_column(), .order = diag::kStepRegister, .errno_value = errno_value});
  };
  switch (check.env.probeability(check.place_address)) {
    case target::Probeability::Ok:
    case target::Probeability::NotChecked:
      return check_data_symbols(check);
    case target::Probeability::NotInstructionBoundary:
      check_data_symbols(check);
      return report(diag::Kind::BadInsnBndry, EILSEQ);
    case target::Probeability::Blacklisted:
    case target::Probeability::NotExecutable:
      return report(diag::Kind::FailRegProbe, EINVAL);
  }
}

}  // namespace kevt::sema
