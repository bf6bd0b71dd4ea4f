#include "compiler/pipeline/file_function.h"

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

constexpr std::string_view kArgument = "$arg", kEveryArgument = "$arg*", kParameters = "$params";

bool is_decimal(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Where `+8` or `%return` begins behind a function's name, whose own parentheses and angle brackets may hold anything.
std::size_t end_of_name(std::string_view text) {
  int open = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '(' || text[at] == '<') ++open;
    if (text[at] == ')' || text[at] == '>') --open;
    const bool is_offset = text[at] == '+' && at + 1 < text.size() && is_decimal(text[at + 1]);
    if (open == 0 && (is_offset || text[at] == '%')) return at;
  }
  return text.size();
}

bool returns(const FileFunction& name, std::string_view head) {
  return head.starts_with('r') || name.behind == "%return";
}

// The name that the kernel would give a probe of a module's function.
std::string event_of_module(const FileFunction& name, std::string_view head) {
  std::string made = fmt::format("{}_{}_{}_0", head.front(), name.path, name.function);
  for (char& c : made)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return made;
}

std::string file_event_name(const FileFunction& name, std::string_view head) {
  std::string made(name.function.substr(0, name.function.find('(')));
  for (char& c : made)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  std::string once;  // `Shape::area` is Shape_area
  for (const char c : made)
    if (c != '_' || !once.ends_with('_')) once += c;
  constexpr std::size_t kMost = 50;
  once.resize(std::min(once.size(), kMost));
  return once + (returns(name, head) ? "__return" : "");
}

// The mistake is the kernel's, which would read a number there.
diag::Diagnostic no_such_function(std::string_view line, const Word& place, const FileFunction& name,
                                  const target::LookupError& why) {
  std::string detail = fmt::format("`{}` has no function `{}`", name.path, name.function);
  std::string_view lead = "; near it: ";
  if (why.failure == target::LookupFailure::NotUnique) {
    detail = fmt::format("`{}` is the name of several functions", name.function);
    lead = ": ";
  }
  if (!why.why.empty()) detail = fmt::format("`{}` of `{}`: {}", name.function, name.path, why.why);
  for (std::size_t i = 0; i < why.candidates.size(); ++i)
    detail += fmt::format("{}`{}`", i ? ", " : lead, why.candidates[i]);
  const auto behind_colon = static_cast<std::uint32_t>(place.column + name.path.size() + 1);
  diag::Diagnostic made = mistake_at(line, {place.text, behind_colon}, std::move(detail), diag::Kind::BadUprobeOffs);
  made.location = diag::Location::Uprobe;
  return made;
}

// What `$argN` of x86-64 is at a function's entry.
std::string place_of_argument(std::uint32_t number) {
  const target::ArgumentLocation where = target::argument_location(number);
  if (!where.in_register) return fmt::format("+{}(%sp)", where.offset);
  for (const std::string_view name : target::register_names())
    if (target::register_offset(name) == where.offset) return fmt::format("%{}", name);
  return "";
}

// `text` with the places of the arguments that it numbers.
std::string with_places(std::string text) {
  constexpr std::uint32_t kMost = 64;
  for (std::size_t at = text.find(kArgument); at != std::string::npos; at = text.find(kArgument, at + 1)) {
    std::uint32_t number = 0;
    const char* const begin = text.data() + at + kArgument.size();
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
    if (error != std::errc() || number == 0 || number > kMost) continue;  // other rules judge it
    text.replace(at, static_cast<std::size_t>(end - text.data()) - at, place_of_argument(number));
  }
  return text;
}

// nullopt: it is no FILE:FUNCTION.
std::optional<FileFunction> parts_of_place(std::string_view place) {
  const std::size_t colon = place.find(':');
  if (colon == 0 || colon == std::string_view::npos || colon + 1 == place.size() || is_decimal(place[colon + 1]))
    return std::nullopt;
  const std::string_view name = place.substr(colon + 1);
  const std::size_t name_ends = end_of_name(name);
  FileFunction made{.path = place.substr(0, colon), .function = name.substr(0, name_ends), .offset = {}, .behind = {}};
  const std::string_view rest = name.substr(name_ends);
  const std::size_t percent = std::min(rest.find('%'), rest.size());
  made.offset = rest.substr(0, percent);
  made.behind = rest.substr(percent);
  return made.function.empty() ? std::nullopt : std::optional(made);
}

}  // namespace

std::optional<FileFunction> function_in_file(std::string_view place) {
  return place.substr(0, place.find(':')).contains('/') ? parts_of_place(place) : std::nullopt;
}

std::optional<model::EventName> nameless_file_function(std::string_view line) {
  const auto name = function_in_file(place_in(line));
  if (!name) return std::nullopt;
  const std::string_view head = words_of(line)[0].text;
  if (head.contains(':')) return std::nullopt;
  return model::EventName{"uprobes", file_event_name(*name, head)};
}

std::expected<std::optional<std::vector<std::string>>, diag::Diagnostic> expand_file_function(
    std::string_view line, const target::TargetEnv& env) {
  const auto name = parts_of_place(place_in(line));
  if (!name) return std::nullopt;
  // A function that is there in copies only, which a compiler has made, has no symbol of its name.
  const bool only_copies = !name->path.contains('/');
  if (only_copies ? env.is_running_kernel() : env.file_status(name->path) != target::FileStatus::Regular)
    return std::nullopt;
  std::vector<Word> words = words_of(line);
  const bool is_glob = name->function.find_first_of("*?") != std::string_view::npos;
  if (is_glob && only_copies) return std::nullopt;
  if (is_glob)
    return std::unexpected(mistake_at(line, words[1],
                                      "no glob stands behind a path: name one function; in process `FILE:GLOB`, by the "
                                      "name of a library that is loaded, means all that match"));
  for (Word& word : words)
    if (word.text == kEveryArgument) word.text = kParameters;
  target::LineQuestion question{
      .module = name->path, .source = name->function, .at_entry = true, .only_copies = only_copies};
  ask_for_variables(words, question);
  question.asks_for_arguments =
      std::ranges::any_of(words, [](const Word& word) { return word.text.contains(kArgument); });
  const bool is_asked = question.all_locals || !question.names.empty();
  if (only_copies &&
      !env.find_line({.module = name->path, .source = name->function, .at_entry = true, .only_copies = true}))
    return std::nullopt;
  if (is_asked && (!name->offset.empty() || returns(*name, words[0].text)))
    return std::unexpected(mistake_at(line, words[1],
                                      "names of parameters stand for what was passed, at the entry: `p:ev "
                                      "PATH:FUNCTION`; a return probe has `$retval`, and a line of the function its "
                                      "variables, `PATH:FUNCTION:LINE`"));
  auto found = env.find_line(question);
  if (found && !has_all_variables(question, *found)) {  // an error shall name those that are there
    question.all_locals = true;
    found = env.find_line(question);
  }
  if (!found && found.error().failure == target::LookupFailure::NotChecked) return std::nullopt;
  if (!found) return std::unexpected(no_such_function(line, words[1], *name, found.error()));
  const auto arguments = KEVT_TRY(VariableArguments(line, words, *found, [&](const target::LinePlace& place) {
                                    return fmt::format("the entry of `{}` ({:#x})", name->function, place.address);
                                  }).texts());
  std::uint64_t more = 0;
  if (!name->offset.empty()) {
    const std::string_view digits = name->offset.substr(1);
    const bool is_hex = digits.starts_with("0x") || digits.starts_with("0X");
    const char* const begin = digits.data() + (is_hex ? 2 : 0);
    const auto [end, error] = std::from_chars(begin, digits.data() + digits.size(), more, is_hex ? 16 : 10);
    if (error != std::errc() || end != digits.data() + digits.size())
      return std::unexpected(mistake_at(line, words[1], fmt::format("`{}` is no offset", name->offset)));
  }
  const std::string_view head = words[0].text;
  std::string named(head);
  if (!head.contains(':'))
    named += only_copies ? ":kprobes/" + event_of_module(*name, head) : ":" + file_event_name(*name, head);
  else if (only_copies && !head.contains('/'))
    named.insert(head.find(':') + 1, "kprobes/");
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < found->places.size(); ++i)
    lines.push_back(fmt::format("{} {}:{:#x}{}{}", named, found->places[i].path, found->places[i].offset + more,
                                name->behind, with_places(arguments[i])));
  return lines;
}

}  // namespace kevt::pipeline
