// The problem: `x=v` defines a variable, `keys=v` a key, and `onmax($x).save(v)` is an action.
//
// The idea: as the kernel does, a part with '=' is sorted by its beginning (what begins with none of the
// known words is a variable), a part without by the whole word or a handler's beginning.
//
//   key=a      → keys "a"        xkeys=a   → var "xkeys=a"        onfoo($x)   → mistake
//
// Fields, expressions, modifiers and limits are checked when the histogram is built (sema). Mirrors
// parse_hist_trigger_attrs(), parse_assignment() and parse_action() of kernel/trace/trace_events_hist.c, 6.1.
#include "grammar/parse_trigger_hist.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "grammar/parse_definition_text.h"

namespace kevt::grammar {
namespace {

using diag::Kind;
using model::HistPart;
using model::Span;

struct Prefix {
  std::string_view written;
  std::string_view name;
};

constexpr std::array<Prefix, 9> kAssignments = {{{"key=", "keys"},
                                                 {"keys=", "keys"},
                                                 {"val=", "vals"},
                                                 {"vals=", "vals"},
                                                 {"values=", "vals"},
                                                 {"sort=", "sort"},
                                                 {"name=", "name"},
                                                 {"clock=", "clock"},
                                                 {"size=", "size"}}};
constexpr std::array<Prefix, 4> kWords = {
    {{"pause", "pause"}, {"cont", "cont"}, {"continue", "cont"}, {"clear", "clear"}}};
constexpr std::array<Prefix, 3> kHandlers = {{{"onmatch(", "onmatch"}, {"onmax(", "onmax"}, {"onchange(", "onchange"}}};

diag::Diagnostic unlogged(std::string_view command, Span span, std::string detail) {
  return {.kind = Kind::HistSyntax,
          .location = diag::Location::Kevtrace,
          .command = std::string(command),
          .column = span.begin,
          .errno_value = EINVAL,
          .logged = false,
          .detail = std::move(detail),
          .notes = {},
          .fixits = {}};
}

// The kernel searches its copy of the command for the part, so the caret is at the first like it.
diag::Diagnostic logged(std::string_view command, Kind kind, std::string_view part) {
  diag::Diagnostic diagnostic{.kind = kind,
                              .location = diag::Location::Hist,
                              .command = hist_command(command),
                              .column = 0,
                              .errno_value = EINVAL,
                              .detail = {},
                              .notes = {},
                              .fixits = {}};
  const std::size_t found = diagnostic.command.find(part);
  if (found != std::string::npos) diagnostic.column = static_cast<std::uint32_t>(found);
  return diagnostic;
}

// The table has 2^7 to 2^17 entries; the size is rounded up to a power of two. 0, or write(2)'s errno.
int map_size_error(std::string_view text) {
  constexpr std::uint64_t kMostThatRoundsTooLow = 64;
  constexpr std::uint64_t kMost = 131072;
  const Number size = parse_unsigned(text, kAutoBase);
  if (size.error != 0) return size.error;
  return size.value > kMostThatRoundsTooLow && size.value <= kMost ? 0 : EINVAL;
}

// `top=10` is kevtrace's own. In a kernel it is a variable of that name, so it is one here, too, if it is no number.
bool is_top(std::string_view part, dialect::Dialect dialect) {
  constexpr std::string_view kWritten = "top=";
  constexpr std::uint64_t kMost = 131072;
  if (!dialect.has_own_forms() || !part.starts_with(kWritten)) return false;
  const Number count = parse_unsigned(part.substr(kWritten.size()), kAutoBase);
  return count.error == 0 && count.value > 0 && count.value <= kMost;
}

std::optional<HistPart> read_assignment(std::string_view command, Span span, dialect::Dialect dialect,
                                        diag::Sink& sink) {
  const std::string_view part = command.substr(span.begin, span.end - span.begin);
  if (part.find('=') + 1 == part.size()) {
    sink.report(logged(command, Kind::HistEmptyAssignment, part));
    return std::nullopt;
  }
  if (is_top(part, dialect)) return HistPart{"top", std::string(part.substr(part.find('=') + 1)), span};
  for (const Prefix& known : kAssignments) {
    if (!part.starts_with(known.written)) continue;
    const std::string_view value = part.substr(known.written.size());
    const int size_error = known.name == "size" ? map_size_error(value) : 0;
    if (size_error != 0) {
      diag::Diagnostic mistake = unlogged(command, span, "size is a number from 65 to 131072");
      mistake.errno_value = size_error;
      sink.report(std::move(mistake));
      return std::nullopt;
    }
    return HistPart{std::string(known.name), std::string(value), span};
  }
  return HistPart{"var", std::string(part), span};
}

}  // namespace

std::optional<HistPart> read_hist_part(std::string_view command, Span span, dialect::Dialect dialect,
                                       diag::Sink& sink) {
  const std::string_view part = command.substr(span.begin, span.end - span.begin);
  if (part.find('=') != std::string_view::npos) return read_assignment(command, span, dialect, sink);
  for (const Prefix& word : kWords) {
    if (part == word.written) return HistPart{std::string(word.name), {}, span};
  }
  const bool hides = part == "nohitcount" || part == "NOHC";
  if (hides && dialect.has(dialect::Feature::HideHitcount)) return HistPart{"nohitcount", {}, span};
  if (part == "drop" && dialect.has_own_forms()) return HistPart{"drop", {}, span};
  for (const Prefix& handler : kHandlers) {
    if (part.starts_with(handler.written)) return HistPart{std::string(handler.name), std::string(part), span};
  }
  sink.report(unlogged(command, span,
                       hides ? "`nohitcount` " + dialect::when_text(dialect::Feature::HideHitcount)
                             : "`" + std::string(part) +
                                   "` is no part of a histogram; known: keys= vals= sort= size= name= clock= VAR= "
                                   "pause cont clear nohitcount top=N drop onmatch(..) onmax(..) onchange(..)"));
  return std::nullopt;
}

bool has_room(std::string_view command, const std::vector<HistPart>& before, const HistPart& part, diag::Sink& sink) {
  constexpr std::ptrdiff_t kMostVariableParts = 16;
  constexpr std::ptrdiff_t kMostHandlers = 8;
  const auto is_handler = [](const HistPart& other) { return other.name.starts_with("on"); };
  if (part.name == "var" && std::ranges::count(before, "var", &HistPart::name) == kMostVariableParts) {
    sink.report(logged(command, Kind::HistTooManyVars, part.text));
    return false;
  }
  if (is_handler(part) && std::ranges::count_if(before, is_handler) == kMostHandlers) {
    diag::Diagnostic mistake = unlogged(command, part.span, {});
    mistake.kind = Kind::HistTooManyActions;
    sink.report(std::move(mistake));
    return false;
  }
  return true;
}

std::string hist_command(std::string_view command) {
  const std::size_t separator = command.find_first_of(": \t");
  if (separator == std::string_view::npos) return "hist:";
  const std::size_t rest = command.find_first_not_of(" \t", separator + 1);
  return "hist:" + std::string(rest == std::string_view::npos ? std::string_view{} : command.substr(rest));
}

}  // namespace kevt::grammar
