#include "compiler/pipeline/shorthand.h"

#include <algorithm>
#include <utility>

#include "compiler/pipeline/all_members.h"
#include "compiler/pipeline/file_function.h"
#include "compiler/pipeline/place_glob.h"
#include "compiler/pipeline/source_line.h"
#include "compiler/pipeline/usdt.h"
#include "compiler/pipeline/words.h"

namespace kevt::pipeline {

namespace {

constexpr std::string_view kBlanks = " \t";

// `line` without the blanks inside the brackets of its place; nullopt: the place has no such blanks.
std::optional<std::string> joined_place(std::string_view line) {
  const std::size_t head = line.find_first_not_of(kBlanks);
  const std::size_t head_ends = line.find_first_of(kBlanks, head);
  const std::size_t place = line.find_first_not_of(kBlanks, head_ends);
  if (head_ends == std::string_view::npos || place == std::string_view::npos) return std::nullopt;
  const std::size_t colon = line.find(':', place);
  const bool is_offset =
      colon != std::string_view::npos && colon + 1 < line.size() && line[colon + 1] >= '0' && line[colon + 1] <= '9';
  if (line[place] == '/' && is_offset) return std::nullopt;  // brackets behind an offset are a reference counter's
  std::string joined(line.substr(0, place));
  int open = 0;
  bool has_blanks = false;
  std::size_t at = place;
  for (; at < line.size() && (open > 0 || !kBlanks.contains(line[at])); ++at) {
    if (line[at] == '(' || line[at] == '<') ++open;
    if (line[at] == ')' || line[at] == '>') --open;
    if (kBlanks.contains(line[at]))
      has_blanks = true;
    else
      joined += line[at];
  }
  if (!has_blanks || open != 0) return std::nullopt;
  return joined + std::string(line.substr(at));
}

// A marker or a line with a name and no group: by their form they would be kprobes.
std::optional<model::EventName> groupless_uprobe(std::string_view line) {
  if (!usdt_in(line) && !line_in(line)) return std::nullopt;
  const std::string_view head = words_of(line)[0].text;
  const std::size_t colon = head.find(':');
  const std::string_view name = colon == std::string_view::npos ? "" : head.substr(colon + 1);
  if (name.empty() || name.find_first_of("/.") != std::string_view::npos) return std::nullopt;
  return model::EventName{"uprobes", std::string(name)};
}

// A mistake in the place of PATH:FUNCTION. A mount over a kernel answers as the kernel, which takes no name there.
bool is_of_place(const diag::Diagnostic& mistake) {
  return mistake.kind == diag::Kind::BadUprobeOffs || mistake.kind == diag::Kind::FileNotFound;
}

}  // namespace

std::optional<model::EventName> shorthand_event(std::string_view line) {
  auto marker = nameless_usdt(line);
  if (marker) return marker;
  auto of_line = nameless_line(line);
  if (of_line) return of_line;
  auto groupless = groupless_uprobe(line);
  if (groupless) return groupless;
  const std::optional<std::string> joined = joined_place(line);
  return nameless_file_function(joined ? std::string_view(*joined) : line);
}

bool is_function_of_file(std::string_view line) { return function_in_file(place_in(line)).has_value(); }

std::string_view what_shorthand_means(std::string_view line) {
  if (usdt_in(line))
    return "`FILE:PROVIDER:NAME` is a marker (USDT): `run`, `mount` and `explain` know its places in the program";
  if (line_in(line))
    return "`FILE:SOURCE:LINE` is a line of the source: `run`, `mount` and `explain` know its places in the program";
  if (is_function_of_file(line))
    return "`PATH:FUNCTION` is a function of a file: `run`, `mount` and `explain` know its offset in the file";
  return "";
}

std::expected<std::optional<std::vector<std::string>>, diag::Diagnostic> expand_shorthand(std::string_view line,
                                                                                          const target::TargetEnv& env,
                                                                                          Globs globs) {
  const std::optional<std::string> joined = joined_place(line);
  const std::string_view whole = joined ? std::string_view(*joined) : line;
  auto markers = expand_usdt(whole, env);
  if (!markers || *markers) return markers;
  auto lines = expand_line(whole, env);
  if (!lines || *lines) return lines;
  auto function = expand_file_function(whole, env);
  if (!function && globs == Globs::OfNamedFiles && env.is_running_kernel() && is_of_place(function.error()))
    return std::nullopt;
  if (!function || *function) return function;
  auto members = expand_all_members(whole, env);
  if (!members) return std::unexpected(std::move(members.error()));
  if (*members) return std::vector<std::string>{**std::move(members)};
  if (joined && !is_function_of_file(*joined)) return std::vector<std::string>{*joined};
  if (globs == Globs::OfNamedFiles && (env.is_running_kernel() || !names_file(line))) return std::nullopt;
  return expand_place_glob(line, env);
}

}  // namespace kevt::pipeline
