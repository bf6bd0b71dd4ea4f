// Each place has its own line, since a variable may be elsewhere at each; all of them are probes of one event.
//
// Words that name no variable stay as they are. `$vars` stands for all variables in sight that an argument can hold at
// every place, `$params` for the parameters among them.
#include "compiler/pipeline/source_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <set>
#include <utility>

#include "common/error.h"
#include "compiler/pipeline/variable_path.h"
#include "compiler/pipeline/words.h"

namespace kevt::pipeline {

namespace {

constexpr std::string_view kAllVariables = "$vars", kAllParameters = "$params";

// `NAME=+8(PATH):TYPE`, cut.
struct WrittenArgument {
  std::string_view name;            // empty: none is written
  std::string_view before, behind;  // "+8(" and ")"
  std::string_view operand;         // what stands innermost
  std::string_view type;            // with its ':'
  std::string_view length;          // EXPRESSION of `string(EXPRESSION)`; a part of `type`
};

WrittenArgument cut(std::string_view text) {
  WrittenArgument made;
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos) made.name = text.substr(0, equals);
  std::string_view value = equals == std::string_view::npos ? text : text.substr(equals + 1);
  made.type = value.substr(std::min(value.find(':'), value.size()));
  value.remove_suffix(made.type.size());
  const std::size_t inner = value.rfind('(') + 1;  // 0: there is none
  made.before = value.substr(0, inner);
  made.operand = value.substr(inner, value.find(')', inner) - inner);
  made.behind = value.substr(inner + made.operand.size());
  const std::size_t open = made.type.find('('), close = made.type.rfind(')');
  if (open != std::string_view::npos && close != std::string_view::npos && close > open)
    made.length = made.type.substr(open + 1, close - open - 1);
  return made;
}

bool is_all(std::string_view word) { return word == kAllVariables || word == kAllParameters; }

diag::Diagnostic line_mistake(std::string_view line, const Word& word, std::string detail,
                              diag::Kind kind = diag::Kind::UnsupportedForm) {
  return {.kind = kind,
          .location = kind == diag::Kind::UnsupportedForm ? diag::Location::Kevtrace : diag::Location::Kprobe,
          .command = std::string(line),
          .column = word.column,
          .errno_value = EINVAL,
          .detail = std::move(detail),
          .notes = {},
          .fixits = {}};
}

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
  return line_mistake(line, place, std::move(detail), diag::Kind::BadProbeAddr);
}

// What the definition asks of its line: the variables that its arguments name.
target::LineQuestion question_of(const LineName& name, const std::vector<Word>& words) {
  target::LineQuestion question{.module = name.file, .source = name.source, .line = name.line};
  for (std::size_t i = 2; i < words.size(); ++i) {
    const WrittenArgument argument = cut(words[i].text);
    question.all_locals = question.all_locals || is_all(words[i].text);
    for (const std::string_view path : {argument.operand, argument.length})
      if (is_variable_path(path)) question.names.emplace_back(variable_of_path(path));
  }
  return question;
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

// Whether `$vars` may give the name to an argument: an identifier (Go has `~r0`), not too long, none of a record's own.
bool may_be_argument(const std::string& name) {
  constexpr std::size_t kLongest = 31;  // MAX_ARG_NAME_LEN
  return variable_of_path(name) == name && name.size() <= kLongest && !name.starts_with("common_") &&
         !name.starts_with("__probe_");
}
constexpr std::size_t kMostArguments = 128;  // MAX_TRACE_ARGS

// Makes the lines of one definition.
class LineExpansion {
 public:
  LineExpansion(std::string_view line, const std::vector<Word>& words, const LineName& name,
                const target::LinePlaces& found)
      : line_(line), words_(words), name_(name), found_(found), arguments_(found.places.size()) {}

  std::expected<std::vector<std::string>, diag::Diagnostic> lines() {
    for (std::size_t i = 2; i < words_.size(); ++i) KEVT_TRY(add(words_[i]));
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < found_.places.size(); ++i) {
      const target::LinePlace& place = found_.places[i];
      lines.push_back(fmt::format("{} {}:{:#x}{}", head(), place.path, place.offset, arguments_[i]));
    }
    return lines;
  }

 private:
  std::string head() const {
    const std::string_view written = words_[0].text;
    return written.contains(':') ? std::string(written) : fmt::format("{}:{}", written, event_name(name_));
  }

  std::expected<void, diag::Diagnostic> add(const Word& word) {
    if (is_all(word.text)) return add_all(word);
    const WrittenArgument argument = cut(word.text);
    const bool is_path = is_variable_path(argument.operand), has_length = is_variable_path(argument.length);
    if (!is_path && !has_length) {
      for (std::string& text : arguments_) text += fmt::format(" {}", word.text);
      return {};
    }
    const std::string name = name_of(argument, is_path);
    std::string first_type;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      std::string type(argument.type), operand(argument.operand);
      if (has_length) {
        const auto length = KEVT_TRY(fetch(word, argument.length, "", i));
        const auto at = static_cast<std::size_t>(argument.length.data() - argument.type.data());
        type.replace(at, argument.length.size(), length.operand + length.type);
      }
      if (is_path) {
        // Behind `+8(`…`)` the type is that of the value that is read there, not the variable's.
        if (argument.before.empty()) {
          auto made = KEVT_TRY(fetch(word, argument.operand, type, i));
          operand = std::move(made.operand);
          type = std::move(made.type);
        } else {
          operand = KEVT_TRY(address(word, argument.operand, i));
        }
      }
      if (i == 0) first_type = type.substr(0, type.find('('));
      if (argument.type.empty() && type.substr(0, type.find('(')) != first_type)
        return std::unexpected(
            line_mistake(line_, word,
                         fmt::format("`{}` is `{}` at {} and `{}` at {}: write a type, or name one of the functions",
                                     argument.operand, first_type.substr(1), where(name_, found_.places[0]),
                                     type.substr(1), where(name_, found_.places[i])),
                         diag::Kind::NoBtfarg));
      arguments_[i] += fmt::format(" {}={}{}{}{}", name, argument.before, operand, argument.behind, type);
    }
    return {};
  }

  // Leaves out what no argument can hold, or what cannot be read at every place.
  std::expected<void, diag::Diagnostic> add_all(const Word& word) {
    std::size_t added = 0;
    for (const target::SourceVariable& variable : found_.places.front().variables) {
      if (!may_be_argument(variable.name) || names_.size() >= kMostArguments ||
          (word.text == kAllParameters && !variable.is_parameter))
        continue;
      std::vector<VariableFetch> made;
      for (const target::LinePlace& place : found_.places)
        if (auto one = fetch_of_path(variable.name, "", place, *found_.types)) made.push_back(*std::move(one));
      const bool is_one_type = std::ranges::all_of(made, [&](const auto& one) { return one.type == made[0].type; });
      if (made.size() != arguments_.size() || !is_one_type || !names_.insert(variable.name).second) continue;
      ++added;
      for (std::size_t i = 0; i < made.size(); ++i)
        arguments_[i] += fmt::format(" {}={}{}", variable.name, made[i].operand, made[i].type);
    }
    if (added == 0 && names_.empty())
      return std::unexpected(line_mistake(line_, word, "no variable can be read at " + where(name_, found_.places[0])));
    return {};
  }

  std::expected<VariableFetch, diag::Diagnostic> fetch(const Word& word, std::string_view path, std::string_view type,
                                                       std::size_t place) const {
    auto made = fetch_of_path(path, type, found_.places[place], *found_.types);
    if (made) return *std::move(made);
    return std::unexpected(
        line_mistake(line_, word, fmt::format("`{}` at {}: {}", path, where(name_, found_.places[place]), made.error()),
                     diag::Kind::NoBtfarg));
  }

  std::expected<std::string, diag::Diagnostic> address(const Word& word, std::string_view path,
                                                       std::size_t place) const {
    auto made = address_of_path(path, found_.places[place], *found_.types);
    if (made) return *std::move(made);
    return std::unexpected(
        line_mistake(line_, word, fmt::format("`{}` at {}: {}", path, where(name_, found_.places[place]), made.error()),
                     diag::Kind::NoBtfarg));
  }

  // The name that is written, or the path's last one, or `argN`.
  std::string name_of(const WrittenArgument& argument, bool is_path) {
    ++number_;
    std::string name(argument.name);
    if (name.empty() && is_path && argument.before.empty()) name = last_name_of_path(argument.operand);
    if (name.empty() || (argument.name.empty() && names_.contains(name))) name = fmt::format("arg{}", number_);
    names_.insert(name);
    return name;
  }

  std::string_view line_;
  const std::vector<Word>& words_;
  LineName name_;
  const target::LinePlaces& found_;
  std::vector<std::string> arguments_;  // of each place
  std::set<std::string> names_;         // of the arguments
  std::size_t number_ = 0;
};

// Whether all variables that are asked for are in sight at each place; if not, an error shall name those that are.
bool has_all(const target::LineQuestion& question, const target::LinePlaces& found) {
  return std::ranges::all_of(found.places, [&](const target::LinePlace& place) {
    return std::ranges::all_of(question.names, [&](const std::string& name) {
      return std::ranges::find(place.variables, name, &target::SourceVariable::name) != place.variables.end();
    });
  });
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
  target::LineQuestion question = question_of(*name, words);
  auto found = env.find_line(question);
  if (found && !has_all(question, *found)) {
    question.all_locals = true;
    found = env.find_line(question);
  }
  if (!found && found.error().failure == target::LookupFailure::NotChecked) return std::nullopt;
  if (!found) return std::unexpected(line_not_found(line, words[1], *name, found.error()));
  if (!words[0].text.starts_with('p'))
    return std::unexpected(line_mistake(line, words[0], "a line is a place, not a function: `p` probes it"));
  return KEVT_TRY(LineExpansion(line, words, *name, *found).lines());
}

}  // namespace kevt::pipeline
