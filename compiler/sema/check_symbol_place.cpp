// Places by symbol and by address.
//
//   r vfs_read+8  →  BadRetprobe     p twice  →  NonUniqSymbol, with the candidates     p nomod:f  →  waits
//
// Problem: a bare symbol must exist exactly once, a symbol of a module that is not loaded is
// accepted and waits, and whether the place is a function's entry decides which arguments it has.
// Mirrors __trace_kprobe_create() of kernel/trace/trace_kprobe.c and kprobe_on_func_entry() (6.1).
// Not here: whether the place can be probed (check_register.cpp).
#include <fmt/format.h>

#include "compiler/sema/definition_check.h"

namespace kevt::sema {
namespace {

std::string list_of(const std::vector<std::string>& candidates, std::string_view lead) {
  if (candidates.empty()) return "";
  constexpr std::size_t kShown = 4;
  std::string list(lead);
  for (std::size_t i = 0; i < candidates.size() && i < kShown; ++i) {
    list += fmt::format("{}`{}`", i == 0 ? " " : ", ", candidates[i]);
  }
  return list;
}

int symbol_errno(const DefinitionCheck& check, int old) {
  return check.has(dialect::Feature::SymbolIsEinval) ? EINVAL : old;
}

bool is_return(const DefinitionCheck& check) { return check.definition.probe_kind == model::ProbeKind::Return; }

// The fix-it for a place that is only a misspelt name, if exactly one name is near it.
std::vector<diag::FixIt> fixes(const DefinitionCheck& check, const std::string& symbol,
                               const target::LookupError& error) {
  const model::Span span = check.definition.place_span;
  const std::string_view place = std::string_view(check.definition.command).substr(span.begin, span.end - span.begin);
  if (error.candidates.size() != 1 || place != symbol) return {};
  return {{.begin = span.begin, .end = span.end, .replacement = error.candidates[0]}};
}

void report_missing(const DefinitionCheck& check, const std::string& symbol, const target::LookupError& error,
                    std::uint32_t order) {
  const std::string more = error.why.empty() ? list_of(error.candidates, "; near it:") : ": " + error.why;
  check.report({.kind = diag::Kind::BadProbeAddr,
                .column = check.place_column(),
                .order = order,
                .errno_value = order == diag::kStepSymbol ? symbol_errno(check, ENOENT) : ENOENT,
                .detail = fmt::format("no function `{}`{}", symbol, more),
                .fixits = fixes(check, symbol, error)});
}

void take_lookup_failure(DefinitionCheck& check, const model::SymbolPlace& place, const target::LookupError& error) {
  check.entry = FunctionEntry::Unknown;
  check.place = error.failure == target::LookupFailure::NotChecked ? PlaceState::NotChecked : PlaceState::Waits;
  switch (error.failure) {
    case target::LookupFailure::NotFound:
      return report_missing(check, place.symbol, error, place.module ? diag::kStepRegister : diag::kStepSymbol);
    case target::LookupFailure::NotUnique:
      return check.report({.kind = diag::Kind::NonUniqSymbol,
                           .column = check.place_column(),
                           .order = diag::kStepSymbol,
                           .errno_value = symbol_errno(check, EADDRNOTAVAIL),
                           .detail = list_of(error.candidates, "one of")});
    case target::LookupFailure::ModuleMissing:
      return;
    case target::LookupFailure::NotChecked:
      check.entry = place.offset == 0 ? FunctionEntry::Yes : FunctionEntry::No;
      return;
  }
}

}  // namespace

void check_symbol_place(DefinitionCheck& check, const model::SymbolPlace& place) {
  std::optional<std::string_view> module;
  if (place.module) module = *place.module;
  const auto symbol = check.env.find_function(module, place.symbol);
  if (!symbol) {
    take_lookup_failure(check, place, symbol.error());
  } else {
    check.function_address = symbol->address;
    check.place_address = symbol->address + place.offset;
    check.entry = place.offset == 0 ? FunctionEntry::Yes : FunctionEntry::No;
    if (symbol->size != 0 && place.offset >= symbol->size && !check.env.symbolize(check.place_address)) {
      check.entry = FunctionEntry::Unknown;
      return report_missing(check, place.symbol + "+" + std::to_string(place.offset), {}, diag::kStepRegister);
    }
  }
  if (is_return(check) && check.entry == FunctionEntry::No) {
    check.report({.kind = diag::Kind::BadRetprobe, .column = check.place_column(), .order = diag::kStepSymbol});
  }
}

void check_address_place(DefinitionCheck& check, const model::AddressPlace& place) {
  check.place_address = place.address;
  const auto symbol = check.env.symbolize(place.address);
  if (symbol) check.function_address = symbol->address;
  check.place = symbol ? PlaceState::Found : PlaceState::Waits;
  if (place.address == 0) {
    check.report({.kind = diag::Kind::FailRegProbe, .column = check.place_column(), .order = diag::kStepRegister});
  }
}

}  // namespace kevt::sema
