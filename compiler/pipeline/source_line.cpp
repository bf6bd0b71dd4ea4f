// Each place has its own line, since a variable may be elsewhere at each; all of them are probes of one event.
#include "compiler/pipeline/source_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <utility>

#include "common/error.h"
#include "compiler/pipeline/variable_arguments.h"
#include "compiler/pipeline/words.h"

namespace kevt::pipeline {

namespace {

// The mistake has the kernel's error name: the kernel would look for a symbol of that name, and find none.
diag::Diagnostic line_not_found(std::string_view line, const Word& place, const LineName& name,
                                const target::LookupError& why) {
  std::string detail = fmt::format("`{}` has no place for `{}:{}`", name.file, name.source, name.line);
  std::string_view lead = why.why.empty() ? "; near it: " : "; lines near it that have code: ";
  if (why.failure == target::LookupFailure::ModuleMissing)
    detail = fmt::format("`{}` is not loaded; the lines of a file that comes later are found by its path", name.file);
  if (why.failure == target::LookupFailure::NotUnique) {
    detail = fmt::format("`{}` is the name of several", name.source);
    lead = ": ";
  }
  if (!why.why.empty()) detail += ": " + why.why;
  for (std::size_t i = 0; i < why.candidates.size(); ++i)
    detail += fmt::format("{}`{}`", i ? ", " : lead, why.candidates[i]);
  return mistake_at(line, place, std::move(detail), diag::Kind::BadProbeAddr);
}

std::string where(const LineName& name, const target::LinePlace& place) {
  const std::string copy = place.inlined_into.empty() ? "" : fmt::format(", inlined into `{}`", place.inlined_into);
  return fmt::format("{}:{} (`{}`{}, {:#x})", name.source, name.line, place.function, copy, place.address);
}

std::string event_name(const LineName& name) {
  std::string made(name.source.substr(name.source.rfind('/') + 1));
  for (char& c : made)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  if (!made.empty() && std::isdigit(static_cast<unsigned char>(made[0]))) made.insert(made.begin(), '_');
  return made + "_L" + std::to_string(name.line);
}

}  // namespace

std::optional<LineName> line_name(std::string_view place) {
  const std::size_t line_at = place.rfind(':');
  if (line_at == std::string_view::npos || line_at == 0) return std::nullopt;
  const std::size_t source_at = place.find(':');
  if (source_at == 0 || source_at + 1 >= line_at) return std::nullopt;
  LineName made{.file = place.substr(0, source_at), .source = place.substr(source_at + 1, line_at - source_at - 1)};
  const std::string_view number = place.substr(line_at + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), made.line);
  if (number.empty() || error != std::errc() || end != number.data() + number.size() || made.source.front() == ':')
    return std::nullopt;
  return made;
}

std::optional<LineName> line_in(std::string_view line) { return line_name(place_in(line)); }

std::optional<model::EventName> nameless_line(std::string_view line) {
  const auto name = line_in(line);
  if (!name || words_of(line)[0].text.contains(':')) return std::nullopt;
  return model::EventName{"uprobes", event_name(*name)};
}

std::expected<std::optional<std::vector<std::string>>, diag::Diagnostic> expand_line(std::string_view line,
                                                                                     const target::TargetEnv& env) {
  const auto name = line_in(line);
  if (!name) return std::nullopt;
  const std::vector<Word> words = words_of(line);
  // PATH:OFFSET of a file whose name has a colon is the kernel's own meaning.
  const std::string_view path = words[1].text.substr(0, words[1].text.rfind(':'));
  if (env.file_status(path) == target::FileStatus::Regular) return std::nullopt;
  target::LineQuestion question{.module = name->file, .source = name->source, .line = name->line};
  ask_for_variables(words, question);
  auto found = env.find_line(question);
  if (found && !has_all_variables(question, *found)) {  // an error shall name those that are there
    question.all_locals = true;
    found = env.find_line(question);
  }
  if (!found && found.error().failure == target::LookupFailure::NotChecked) return std::nullopt;
  if (!found) return std::unexpected(line_not_found(line, words[1], *name, found.error()));
  if (!words[0].text.starts_with('p'))
    return std::unexpected(mistake_at(line, words[0], "a line is a place, not a function: `p` probes it"));
  const auto arguments = KEVT_TRY(VariableArguments(line, words, *found, [&](const target::LinePlace& place) {
                                    return where(*name, place);
                                  }).texts());
  const std::string_view head = words[0].text;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < found->places.size(); ++i) {
    const target::LinePlace& place = found->places[i];
    lines.push_back(fmt::format("{}{}{} {}:{:#x}{}", head, head.contains(':') ? "" : ":",
                                head.contains(':') ? "" : event_name(*name), place.path, place.offset, arguments[i]));
  }
  return lines;
}

}  // namespace kevt::pipeline
