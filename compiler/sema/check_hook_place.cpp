// Places of `f`, `t` and `w` probes in a kernel that runs them.
//
//   f vfs_raed          →  BadProbeAddr, with near misses        f x_* (a pattern)  →  BadProbeAddr
//   w r@jiffies         →  FailRegProbe: x86 has no such watchpoint
//   t no_such_thing     →  NoTracepoint                          t sched_switch $arg9  →  NoBtfarg
//
// Problem: the kernel's own `f` takes patterns and names that several functions have, and its `t` waits for modules.
// Idea: our probe stands at exactly one function or tracepoint that is loaded now; anything else is refused here, with
// the kernel's error names. Not here: expressions (check_arguments.cpp).
#include <fmt/format.h>

#include "compiler/sema/definition_check.h"

namespace kevt::sema {
namespace {

std::string near_ones(const target::LookupError& error) {
  std::string list;
  for (const std::string& candidate : error.candidates)
    list += fmt::format("{} `{}`", list.empty() ? "" : ",", candidate);
  return list;
}

void report_place(DefinitionCheck& check, diag::Kind kind, std::string detail) {
  check.report({.kind = kind, .column = check.place_column(), .order = diag::kStepSymbol, .detail = std::move(detail)});
}

void check_function(DefinitionCheck& check, const model::SymbolPlace& place) {
  std::optional<std::string_view> module;
  if (place.module) module = *place.module;
  const auto found = check.env.find_function(module, place.symbol);
  if (found) {
    check.function_address = check.place_address = found->address;
    const target::Probeability answer = check.env.probeability(found->address);
    if (answer == target::Probeability::Ok || answer == target::Probeability::NotChecked) return;
    return report_place(check, diag::Kind::FailRegProbe, "the kernel allows no probe there");
  }
  const std::string near = near_ones(found.error());
  switch (found.error().failure) {
    case target::LookupFailure::NotUnique:
      return report_place(check, diag::Kind::NonUniqSymbol, "one of" + near);
    case target::LookupFailure::ModuleMissing:
      return report_place(check, diag::Kind::BadProbeAddr, fmt::format("no module `{}`", *place.module));
    case target::LookupFailure::NotChecked:
      return;
    case target::LookupFailure::NotFound:
      return report_place(check, diag::Kind::BadProbeAddr,
                          fmt::format("no function `{}`{}{}", place.symbol, near.empty() ? "" : "; near it:", near));
  }
}

}  // namespace

void check_hook_place(DefinitionCheck& check) {
  if (const auto* place = std::get_if<model::SymbolPlace>(&check.definition.place))
    return check_function(check, *place);
  const auto* place = std::get_if<model::TracepointPlace>(&check.definition.place);
  if (place == nullptr) return;
  const auto found = check.env.find_tracepoint(place->tracepoint);
  if (!found && found.error().failure == target::LookupFailure::NotChecked) return;
  if (!found)
    return report_place(check, diag::Kind::NoTracepoint,
                        fmt::format("no tracepoint `{}` is loaded", place->tracepoint));
  check.function_address = check.place_address = found->address;
}

void check_watched_memory(DefinitionCheck& check, const model::WatchPlace& place) {
  constexpr std::uint64_t kFirstKernelAddress = 0xffff'8000'0000'0000;
  std::uint64_t address = static_cast<std::uint64_t>(place.offset);
  if (place.symbol) {
    const auto found = check.env.find_data(*place.symbol);
    if (!found) return;  // check_watchpoint() reports it
    address += found->address;
  }
  check.place_address = address;
  if (place.access == "r")
    return report_place(check, diag::Kind::FailRegProbe, "a CPU watches writes or both: write `w@` or `rw@`");
  if (address < kFirstKernelAddress)
    return report_place(check, diag::Kind::FailRegProbe, "it is no address of the kernel");
  if (address % place.length != 0)
    report_place(check, diag::Kind::FailRegProbe,
                 fmt::format("0x{:x} is not a multiple of {}, its length", address, place.length));
}

void check_tracepoint_arguments(const DefinitionCheck& check) {
  const auto* place = std::get_if<model::TracepointPlace>(&check.definition.place);
  if (place == nullptr) return;
  const std::vector<model::FetchArg>& args = check.definition.args;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const auto is_missing = [&](const model::FetchExpr& expr) {
      const auto* base = std::get_if<model::ArgumentBase>(&expr.base);
      if (base == nullptr) return false;
      const auto types = check.env.tracepoint_types(place->tracepoint);
      if (!types || base->number <= types->parameters) return false;
      check.report({.kind = diag::Kind::NoBtfarg,
                    .column = leaf_column(check.definition, expr),
                    .order = diag::argument_order(i, diag::kArgBase),
                    .errno_value = ENOENT,
                    .detail = fmt::format("`{}` has {} arguments", place->tracepoint, types->parameters)});
      return true;
    };
    model::any_expression(args[i], is_missing);
  }
}

}  // namespace kevt::sema
