// Lines of the source at the cursor.
//
//   p:a app:shapes.c:4|          app:shapes.c:41  "s scale width"      app:shapes.c:42 …
//   p:a app:area_of:|            app:area_of:0    lines of a function count from its first one
//   p:a app:shapes.c:42 wi|      width            p:a app:shapes.c:42 s->|     members
//
// Of a long file only the lines are looked at whose number can begin with what is typed: 4, 40 to 49, 400 to 499 …
#include "compiler/author/line_completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace kevt::author {
namespace {

constexpr std::uint32_t kMostLine = 100'000;

// nullopt: none is written.
std::optional<std::uint32_t> number(std::string_view digits) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value > kMostLine) return std::nullopt;
  return value;
}

std::string note_of(const target::ListedLine& line) {
  std::string note;
  for (const std::string& name : line.readable) note += (note.empty() ? "" : " ") + name;
  if (line.places > 1) note += fmt::format("{}({} places)", note.empty() ? "" : " ", line.places);
  return note;
}

}  // namespace

std::optional<LineWord> line_word(std::string_view word) {
  const std::size_t last = word.rfind(':');
  if (last == std::string_view::npos || last == 0 || word.starts_with("0x")) return std::nullopt;
  const std::string_view place = word.substr(0, last), digits = word.substr(last + 1);
  const std::size_t first = place.find(':');
  if (first == std::string_view::npos || first == 0 || first + 1 == place.size()) return std::nullopt;
  if (place[first + 1] == ':' || place.back() == ':' ||
      !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;  // C++ names have `::`
  return LineWord{place.substr(0, first), place.substr(first + 1), digits};
}

// Names that begin so are what the target offers when there is no such file.
std::vector<Suggestion> files_for(const target::TargetEnv& env, std::string_view word) {
  const std::size_t colon = word.find(':');
  std::vector<Suggestion> out;
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == word.size()) return out;
  const std::string_view module = word.substr(0, colon), begin = word.substr(colon + 1);
  const auto listed = env.list_lines({.module = module, .source = begin, .to = 1, .most = 1});
  if (listed && listed->function.empty()) out.push_back({fmt::format("{}:", word), "lines of the file"});
  if (listed) return out;
  for (const std::string& name : listed.error().candidates)
    if (name.starts_with(begin) && name.contains('.'))
      out.push_back({fmt::format("{}:{}:", module, name), "lines of the file"});
  return out;
}

std::vector<Suggestion> lines_for(const target::TargetEnv& env, const LineWord& typed, std::size_t most) {
  const auto begin = typed.digits.empty() ? 0 : number(typed.digits);
  std::vector<Suggestion> out;
  if (!begin) return out;
  const auto add = [&](const target::ListedSource& listed) {
    for (const target::ListedLine& line : listed.lines) {
      const std::string shown = std::to_string(listed.function.empty() ? line.line : line.line - listed.first);
      if (out.size() < most && shown.starts_with(typed.digits))
        out.push_back({fmt::format("{}:{}:{}", typed.module, typed.source, shown), note_of(line)});
    }
  };
  for (std::uint32_t decade = 1; *begin * std::uint64_t{decade} <= kMostLine && out.size() < most; decade *= 10) {
    target::LinesWanted wanted{.module = typed.module, .source = typed.source, .most = most - out.size()};
    if (!typed.digits.empty()) {
      wanted.from = *begin * decade;
      wanted.to = wanted.from + decade - 1;
    }
    const auto listed = env.list_lines(wanted);
    if (!listed) break;
    add(*listed);
    if (typed.digits.empty() || *begin == 0) break;  // no other number begins so
  }
  return out;
}

std::vector<Suggestion> variables_at(const target::TargetEnv& env, const LineWord& line, std::string_view typed) {
  const auto meant = number(line.digits);
  if (!meant) return {};
  const auto found =
      env.find_line({.module = line.module, .source = line.source, .line = *meant, .names = {}, .all_locals = true});
  if (!found) return {};
  std::vector<Suggestion> out;
  for (const target::LinePlace& place : found->places)
    for (const target::SourceVariable& variable : place.variables) {
      const auto is_same = [&](const Suggestion& one) { return one.text == variable.name; };
      if (!variable.name.starts_with(typed) || std::ranges::any_of(out, is_same)) continue;
      const std::string type = found->types ? found->types->type_text(variable.type) : "";
      out.push_back({variable.name, variable.location.can_be_read() ? type : variable.location.why});
    }
  if (!out.empty() && typed.empty()) out.push_back({"$vars", "all variables that can be read"});
  return out;
}

std::vector<StructMember> members_at(const target::TargetEnv& env, const LineWord& line, std::string_view path) {
  const auto meant = number(line.digits);
  if (!meant) return {};
  const std::string name(path.substr(0, path.find_first_of("-.")));
  const auto found = env.find_line({.module = line.module, .source = line.source, .line = *meant, .names = {name}});
  if (!found || !found->types) return {};
  for (const target::LinePlace& place : found->places)
    for (const target::SourceVariable& variable : place.variables)
      if (variable.name == name) return members_of(*found->types, variable.type, path.substr(name.size()));
  return {};
}

}  // namespace kevt::author
