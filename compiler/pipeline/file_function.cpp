#include "compiler/pipeline/file_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <utility>

#include "common/error.h"
#include "compiler/pipeline/globbed_names.h"
#include "compiler/pipeline/variable_arguments.h"
#include "compiler/pipeline/words.h"
#include "compiler/target/elf/source_names.h"

namespace kevt::pipeline {

namespace {

constexpr std::string_view kArgument = "$arg", kEveryArgument = "$arg*", kParameters = "$params";

bool is_decimal(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// How many bytes of `text` are the sign of an operator.
std::size_t operator_length(std::string_view text) {
  // Longer signs before those that they begin with.
  static constexpr std::string_view kSigns[] = {
      "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++",
      "--",  "+=",  "-=",  "*=",  "/=", "%=", "^=", "&=", "|=", "->", "()", "[]", "<",
      ">",   "+",   "-",   "*",   "/",  "%",  "^",  "&",  "|",  "~",  "!",  "=",  ","};
  for (const std::string_view sign : kSigns)
    if (text.starts_with(sign)) return sign.size();
  return 0;
}

constexpr std::string_view kOperator = "operator";

// Where `+8` or `%return` begins behind a function's name, whose own parentheses and angle brackets may hold anything.
std::size_t end_of_name(std::string_view text) {
  int open = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at).starts_with(kOperator) && (at == 0 || text[at - 1] == ':')) {
      const std::size_t behind = at + kOperator.size();
      if (const std::size_t sign = operator_length(text.substr(behind))) at = behind + sign;
      if (at >= text.size()) break;
    }
    if (text[at] == '(' || text[at] == '<') ++open;
    if (text[at] == ')' || text[at] == '>') --open;
    const bool is_offset = text[at] == '+' && at + 1 < text.size() && is_decimal(text[at + 1]);
    if (open == 0 && (is_offset || text[at] == '%')) return at;
  }
  return text.size();
}

// `V::operator*` is none, `cooperator_*` is one.
bool names_operator(std::string_view function) {
  for (std::size_t at = function.find(kOperator); at != std::string_view::npos; at = function.find(kOperator, at + 1))
    if ((at == 0 || function[at - 1] == ':') && operator_length(function.substr(at + kOperator.size())) != 0)
      return true;
  return false;
}

bool is_glob(std::string_view function) {
  return function.find_first_of("*?") != std::string_view::npos &&
         function.find_first_of("(<") == std::string_view::npos && !names_operator(function);
}

bool returns(const FileFunction& name, std::string_view head) {
  return head.starts_with('r') || name.behind == "%return";
}

// ---- names of events, of 63 bytes at most
constexpr std::size_t kMostOfName = 63;

std::string as_identifier(std::string_view text) {
  std::string made;  // `Shape::area` is Shape_area
  for (const char c : text) {
    const bool is_letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (is_letter || (!made.empty() && !made.ends_with('_'))) made += is_letter ? c : '_';
  }
  while (made.ends_with('_')) made.pop_back();
  return made.empty() ? "function" : made;
}

// The function's name without its parameters. Go's `main.(*pair).sum` has none behind its parentheses.
std::string_view without_parameters(std::string_view function) {
  const std::size_t close = function.rfind(')');
  const std::string_view behind = close == std::string_view::npos ? "none" : function.substr(close + 1);
  const bool has_parameters =
      behind.empty() || behind.starts_with("const") || behind.starts_with("volatile") || behind.starts_with('&');
  return has_parameters ? target::qualified_name(function) : function;
}

// The name that the kernel would give a probe of a module's function.
std::string event_of_module(const FileFunction& name, std::string_view head) {
  const std::string function = as_identifier(without_parameters(name.function));
  std::string made = fmt::format("{}_{}_{}_0", head.front(), as_identifier(name.path), function);
  if (made.size() > kMostOfName) made = fmt::format("{}_{}", head.front(), function).substr(0, kMostOfName);
  return made;
}

std::string file_event_name(const FileFunction& name, std::string_view head) {
  const std::string end =
      (name.offset.empty() ? "" : fmt::format("_{}", name.offset.substr(1))) + (returns(name, head) ? "__return" : "");
  const std::string function = as_identifier(without_parameters(name.function));
  return function.substr(0, kMostOfName - std::min(end.size(), kMostOfName - 1)) + end;
}

// ---- mistakes, with the nearest of the kernel's texts: it takes numbers alone behind the colon of a path
diag::Diagnostic wrong_place(std::string_view line, const Word& place, const FileFunction& name, std::string detail) {
  if (!name.path.contains('/')) return mistake_at(line, place, std::move(detail), diag::Kind::BadProbeAddr);
  const auto behind_colon = static_cast<std::uint32_t>(place.column + name.path.size() + 1);
  diag::Diagnostic made = mistake_at(line, {place.text, behind_colon}, std::move(detail), diag::Kind::BadUprobeOffs);
  made.location = diag::Location::Uprobe;
  return made;
}

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
  return wrong_place(line, place, name, std::move(detail));
}

// What `$argN` of x86-64 is at a function's entry.
std::string place_of_argument(std::uint32_t number) {
  const target::ArgumentLocation where = target::argument_location(number);
  if (!where.in_register) return fmt::format("+{}(%sp)", where.offset);
  return fmt::format("%{}", target::register_at(where.offset));
}

// `text` with the places of the arguments that it numbers, outside its own texts (`\"$arg1\"`).
std::string with_places(std::string text) {
  constexpr std::uint32_t kMost = 64;
  for (std::size_t at = text.find(kArgument); at != std::string::npos; at = text.find(kArgument, at + 1)) {
    if (std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '"') % 2 != 0) continue;
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
  if (!name || is_glob(name->function)) return std::nullopt;
  const std::string_view head = words_of(line)[0].text;
  if (head.contains(':')) return std::nullopt;
  return model::EventName{"uprobes", file_event_name(*name, head)};
}

namespace {

// The offset behind the name; nullopt: it is none.
std::optional<std::uint64_t> offset_of(const FileFunction& name) {
  if (name.offset.empty()) return 0;
  constexpr std::uint64_t kMost = 1u << 31;
  const std::string_view digits = name.offset.substr(1);
  const bool is_hex = digits.starts_with("0x") || digits.starts_with("0X");
  const char* const begin = digits.data() + (is_hex ? 2 : 0);
  std::uint64_t offset = 0;
  const auto [end, error] = std::from_chars(begin, digits.data() + digits.size(), offset, is_hex ? 16 : 10);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size() && begin != end;
  return is_number && offset < kMost ? std::optional(offset) : std::nullopt;
}

// The first word of the lines, with the event's name. FILE:FUNCTION is a kprobe by its form, whatever it stands for.
std::string named_head(const FileFunction& name, std::string_view head, bool only_copies) {
  std::string named(head);
  if (!head.contains(':'))
    named += only_copies ? ":kprobes/" + event_of_module(name, head) : ":" + file_event_name(name, head);
  else if (only_copies && !head.contains('/'))
    named.insert(head.find(':') + 1, "kprobes/");
  return named;
}

// PATH:OFFSET of a file whose name has a colon is the kernel's own meaning.
bool is_offset_in_file(std::string_view place, const FileFunction& name, const target::TargetEnv& env) {
  const std::string_view whole = place.substr(0, place.rfind(':'));
  return whole != name.path && env.file_status(whole) == target::FileStatus::Regular;
}

diag::Diagnostic no_such_file(std::string_view line, const Word& place) {
  diag::Diagnostic made = mistake_at(line, place, "", diag::Kind::FileNotFound);
  made.location = diag::Location::Uprobe;
  made.errno_value = ENOENT;
  return made;
}

std::string entry_of(const target::LinePlace& at) {
  return fmt::format("the entry of `{}` ({:#x})", at.function, at.address);
}

// A line for each function, whose arguments may be elsewhere in each.
std::expected<std::vector<std::string>, diag::Diagnostic> globbed_lines(std::string_view line, const FileFunction& name,
                                                                        const std::vector<Word>& words,
                                                                        const target::LinePlaces& found,
                                                                        std::uint64_t offset) {
  GlobbedNames events(words[0].text);
  std::vector<std::string> lines;
  for (const target::LinePlace& entry : found.places) {
    const target::LinePlaces one{found.types, {entry}};
    const auto arguments = KEVT_TRY(VariableArguments(line, words, one, entry_of).texts());
    lines.push_back(fmt::format("{} {}:{:#x}{}{}", events.head_in_file(entry.function, returns(name, words[0].text)),
                                entry.path, entry.offset + offset, name.behind, with_places(arguments[0])));
  }
  return lines;
}

constexpr std::string_view kAtTheEntry =
    "names of parameters and `$argN` stand for what was passed, at the entry: `p:ev PATH:FUNCTION`; a return probe has "
    "`$retval`, and a line of the function its variables, `PATH:FUNCTION:LINE`";

}  // namespace

std::expected<std::optional<std::vector<std::string>>, diag::Diagnostic> expand_file_function(
    std::string_view line, const target::TargetEnv& env) {
  const std::string_view place = place_in(line);
  const auto name = parts_of_place(place);
  if (!name) return std::nullopt;
  // A function that is there in copies only, which a compiler has made, has no symbol of its name.
  const bool only_copies = !name->path.contains('/');
  if (only_copies ? is_glob(name->function) : is_offset_in_file(place, *name, env)) return std::nullopt;
  target::LineQuestion question{.module = name->path,
                                .source = name->function,
                                .at_entry = true,
                                .only_copies = only_copies,
                                .is_glob = is_glob(name->function)};
  std::vector<Word> words = words_of(line);
  const auto refuse = [&](std::string detail) {
    return std::unexpected(wrong_place(line, words[1], *name, std::move(detail)));
  };
  const target::FileStatus status = only_copies ? target::FileStatus::Regular : env.file_status(name->path);
  if (status == target::FileStatus::Missing) return std::unexpected(no_such_file(line, words[1]));
  if (status != target::FileStatus::Regular) return std::nullopt;
  for (Word& word : words)
    if (word.text == kEveryArgument) word.text = kParameters;
  ask_for_variables(words, question);
  question.asks_for_arguments =
      std::ranges::any_of(words, [](const Word& word) { return with_places(std::string(word.text)) != word.text; });
  const bool is_asked = question.all_locals || !question.names.empty() || question.asks_for_arguments;
  auto found = env.find_line(question);
  if (found && !has_all_variables(question, *found)) {  // an error shall name those that are there
    question.all_locals = true;
    found = env.find_line(question);
  }
  const auto failure = found ? std::nullopt : std::optional(found.error().failure);
  if (failure == target::LookupFailure::NotChecked || (only_copies && failure == target::LookupFailure::ModuleMissing))
    return std::nullopt;
  const auto offset = offset_of(*name);
  if (!offset) return refuse(fmt::format("`{}` is no offset", name->offset));
  if (is_asked && (*offset != 0 || returns(*name, words[0].text))) return refuse(std::string(kAtTheEntry));
  if (!found) return std::unexpected(no_such_function(line, words[1], *name, found.error()));
  if (question.is_glob) return globbed_lines(line, *name, words, *found, *offset);
  const auto arguments = KEVT_TRY(VariableArguments(line, words, *found, entry_of).texts());
  std::vector<std::string> lines;
  const std::string head = named_head(*name, words[0].text, only_copies);
  for (std::size_t i = 0; i < found->places.size(); ++i)
    lines.push_back(fmt::format("{} {}:{:#x}{}{}", head, found->places[i].path, found->places[i].offset + *offset,
                                name->behind, with_places(arguments[i])));
  return lines;
}

}  // namespace kevt::pipeline
