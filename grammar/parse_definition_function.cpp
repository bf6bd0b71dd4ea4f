// Places of `f` and `t`: a function's entry or exit, a tracepoint.
//
//   f vfs_read $retval  ->  exit probe: `$retval` makes it one        t sched/x  ->  BadTpName at the '/'
//
// Problem: whether an `f` probe is an exit probe shows only in its arguments. Idea: look for `$retval` in all of them
// before any is parsed, as the kernel does. A '+' cannot be part of a function's name, so it is found here, too.
// Not here: whether the function or tracepoint exists.
// Mirrors parse_symbol_and_return() of kernel/trace/trace_fprobe.c (6.12, 7.3).
#include <algorithm>

#include "grammar/parse_definition_parts.h"

namespace kevt::grammar {
namespace {

constexpr std::size_t kFirstArgumentWord = 2;
constexpr std::string_view kRetval = "$retval";

// False: reported.
bool take_suffix(const LineContext& line, std::size_t percent, model::ProbeKind& point) {
  const std::string_view word = line.words[kPlaceWord];
  if (percent == std::string_view::npos) return true;
  if (line.kind == model::EventKind::Fprobe && word.substr(percent) == "%return") {
    point = model::ProbeKind::Return;
    return true;
  }
  line.report({.kind = diag::Kind::BadAddrSuffix,
               .word = kPlaceWord,
               .column = static_cast<std::uint32_t>(percent),
               .order = diag::kStepPlace});
  return false;
}

// The first argument with `$retval`, and the column of `$retval` in it.
struct RetvalUse {
  std::size_t word = 0;  // 0: none
  std::uint32_t column = 0;
};
RetvalUse find_retval(const Words& words) {
  for (std::size_t word = kFirstArgumentWord; word < words.size(); ++word) {
    const std::size_t at = words[word].find(kRetval);
    if (at == std::string_view::npos) continue;
    const std::size_t end = at + kRetval.size();
    if (end < words[word].size() && is_name_part(words[word][end])) continue;
    return {word, static_cast<std::uint32_t>(at)};
  }
  return {};
}

}  // namespace

std::optional<model::Place> parse_function_place(const LineContext& line, model::ProbeKind& point) {
  const bool tracepoint = line.kind == model::EventKind::Tprobe;
  const std::string_view word = line.words[kPlaceWord];
  const std::size_t percent = word.find('%');
  if (!take_suffix(line, percent, point)) return std::nullopt;
  const std::string symbol(word.substr(0, percent));
  const auto bad = std::ranges::find_if_not(symbol, is_name_part);
  if (tracepoint && bad != symbol.end()) {
    const auto column = static_cast<std::uint32_t>(bad - symbol.begin());
    line.report({.kind = diag::Kind::BadTpName, .word = kPlaceWord, .column = column, .order = diag::kStepPlace});
    return std::nullopt;
  }
  const RetvalUse retval = find_retval(line.words);
  if (tracepoint) {
    if (retval.word != 0) {
      line.report(
          {.kind = diag::Kind::RetvalOnProbe, .word = retval.word, .column = retval.column, .order = diag::kStepPlace});
    }
    return model::TracepointPlace{.tracepoint = symbol};
  }
  if (retval.word != 0 && line.dialect.has(dialect::Feature::ExitByRetval)) point = model::ProbeKind::Return;
  if (symbol.find_first_of("+-") != std::string::npos) {
    // Kernels that take a number of instances look the function up only when they register the probe.
    const bool maxactive = line.dialect.version() && line.dialect.has(dialect::Feature::FprobeMaxactive);
    line.report({.kind = maxactive ? diag::Kind::FailRegProbe : diag::Kind::BadProbeAddr,
                 .word = kPlaceWord,
                 .order = diag::kStepRegister});
  }
  const std::size_t colon = symbol.find(':');
  model::SymbolPlace place{.symbol = symbol.substr(colon == std::string::npos ? 0 : colon + 1)};
  if (colon != std::string::npos) place.module = symbol.substr(0, colon);
  return place;
}

}  // namespace kevt::grammar
