#include "compiler/pipeline/variable_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/error.h"
#include "compiler/pipeline/all_members.h"
#include "compiler/pipeline/variable_path.h"

namespace kevt::pipeline {

// `NAME=+8(PATH):TYPE`, cut.
struct WrittenArgument {
  std::string_view name;            // empty: none is written
  std::string_view before, behind;  // "+8(" and ")"
  std::string_view operand;         // what stands innermost
  std::string_view type;            // with its ':'
  std::string_view length;          // EXPRESSION of `string(EXPRESSION)`, `s32[EXPRESSION]`; a part of `type`
};

namespace {

constexpr std::string_view kAllVariables = "$vars", kAllParameters = "$params";

// Where the parentheses or brackets of a type begin; its size: there are none.
std::size_t length_begin(std::string_view type) { return std::min(type.find_first_of("(["), type.size()); }

// The type without its length, which differs from place to place. The number of an array's items is no such length.
std::string without_length(std::string_view type) {
  const std::size_t begin = length_begin(type);
  const bool is_number =
      begin + 1 < type.size() && type[begin] == '[' && type[begin + 1] >= '0' && type[begin + 1] <= '9';
  return std::string(is_number ? type : type.substr(0, begin));
}

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
  const std::size_t open = length_begin(made.type), close = made.type.find_last_of(")]");
  if (open != made.type.size() && close != std::string_view::npos && close > open)
    made.length = made.type.substr(open + 1, close - open - 1);
  if (made.length.starts_with("..")) made.length.remove_prefix(2);
  return made;
}

bool is_all(std::string_view word) { return word == kAllVariables || word == kAllParameters; }

constexpr std::size_t kMostArguments = 128;  // MAX_TRACE_ARGS

}  // namespace

bool is_argument_name(std::string_view name) {
  constexpr std::size_t kLongest = 31;  // MAX_ARG_NAME_LEN
  return variable_of_path(name) == name && name.size() <= kLongest && !name.starts_with("common_") &&
         !name.starts_with("__probe_");
}

std::set<std::string> written_names(const std::vector<Word>& words) {
  std::set<std::string> names;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const WrittenArgument argument = cut(words[i].text);
    const bool has_own = argument.name.empty() && argument.before.empty() && is_variable_path(argument.operand);
    if (!path_of_all_members(words[i].text))
      names.emplace(has_own ? last_name_of_path(argument.operand) : argument.name);
  }
  return names;
}

std::string member_argument_name(std::string_view path, std::string_view member, std::set<std::string>& names) {
  for (const std::string& name : {std::string(member), fmt::format("{}_{}", last_name_of_path(path), member)})
    if (is_argument_name(name) && names.size() < kMostArguments && names.insert(name).second) return name;
  return "";
}

diag::Diagnostic mistake_at(std::string_view line, const Word& word, std::string detail, diag::Kind kind) {
  return {.kind = kind,
          .location = kind == diag::Kind::UnsupportedForm ? diag::Location::Kevtrace : diag::Location::Kprobe,
          .command = std::string(line),
          .column = word.column,
          .errno_value = EINVAL,
          .detail = std::move(detail),
          .notes = {},
          .fixits = {}};
}

void ask_for_variables(const std::vector<Word>& words, target::LineQuestion& question) {
  for (std::size_t i = 2; i < words.size(); ++i) {
    const WrittenArgument argument = cut(words[i].text);
    question.all_locals = question.all_locals || is_all(words[i].text);
    for (const std::string_view path : {argument.operand, argument.length})
      if (is_variable_path(path)) question.names.emplace_back(variable_of_path(path));
  }
}

bool has_all_variables(const target::LineQuestion& question, const target::LinePlaces& found) {
  return std::ranges::all_of(found.places, [&](const target::LinePlace& place) {
    return std::ranges::all_of(question.names, [&](const std::string& name) {
      return std::ranges::find(place.variables, name, &target::SourceVariable::name) != place.variables.end();
    });
  });
}

std::expected<std::vector<std::string>, diag::Diagnostic> VariableArguments::texts() && {
  for (std::size_t i = 2; i < words_.size(); ++i) KEVT_TRY(add(words_[i]));
  return std::move(arguments_);
}

diag::Diagnostic VariableArguments::mistake(const Word& word, std::string detail) const {
  return mistake_at(line_, word, std::move(detail), diag::Kind::NoBtfarg);
}

std::expected<void, diag::Diagnostic> VariableArguments::add(const Word& word) {
  if (is_all(word.text)) return add_all(word);
  if (const auto path = path_of_all_members(word.text)) return add_members(word, *path);
  if (const std::string_view misuse = all_members_misuse(word.text); !misuse.empty())
    return std::unexpected(mistake(word, std::string(misuse)));
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
    if (i == 0) first_type = without_length(type);
    if (argument.type.empty() && without_length(type) != first_type)
      return std::unexpected(mistake(
          word,
          fmt::format("`{}` is `{}` at {} and `{}` at {}: write a type, or name one of the functions", argument.operand,
                      first_type.substr(1), where_(found_.places[0]), type.substr(1), where_(found_.places[i]))));
    arguments_[i] += fmt::format(" {}={}{}{}{}", name, argument.before, operand, argument.behind, type);
  }
  return {};
}

// Leaves out what no argument can hold, or what cannot be read at every place.
std::expected<void, diag::Diagnostic> VariableArguments::add_all(const Word& word) {
  std::size_t added = 0;
  for (const target::SourceVariable& variable : found_.places.front().variables) {
    if (!is_argument_name(variable.name) || names_.size() >= kMostArguments ||
        (word.text == kAllParameters && !variable.is_parameter))
      continue;
    const auto made = fetch_everywhere(variable.name);
    if (made.empty() || !names_.insert(variable.name).second) continue;
    ++added;
    append(variable.name, made);
  }
  if (added == 0 && names_.empty())
    return std::unexpected(mistake_at(line_, word, "no variable can be read at " + where_(found_.places[0])));
  return {};
}

// At each place, with one type; empty: it cannot be read somewhere, or its types differ.
std::vector<VariableFetch> VariableArguments::fetch_everywhere(const std::string& path) const {
  std::vector<VariableFetch> made;
  for (const target::LinePlace& place : found_.places) {
    auto one = fetch_of_path(path, "", place, *found_.types);
    if (!one || (!made.empty() && one->type != made[0].type)) return {};
    made.push_back(*std::move(one));
  }
  return made;
}

void VariableArguments::append(std::string_view name, const std::vector<VariableFetch>& made) {
  for (std::size_t i = 0; i < made.size(); ++i)
    arguments_[i] += fmt::format(" {}={}{}", name, made[i].operand, made[i].type);
}

// `path` ends in `->` or `.`.
std::expected<void, diag::Diagnostic> VariableArguments::add_members(const Word& word, std::string_view path) {
  const auto members = members_at_path(path, found_.places.front(), *found_.types);
  if (!members) return std::unexpected(mistake(word, fmt::format("`{}`: {}", word.text, members.error())));
  std::set<std::string> taken = written_names(words_);
  taken.insert(names_.begin(), names_.end());
  std::size_t added = 0;
  for (const std::string& member : *members) {
    const auto made = fetch_everywhere(std::string(path) + member);
    if (made.empty()) continue;
    const std::string name = member_argument_name(path, member, taken);
    if (name.empty()) continue;
    names_.insert(name);
    append(name, made);
    ++added;
  }
  if (added == 0 && !members->empty())
    for (std::size_t i = 0; i < found_.places.size(); ++i)
      KEVT_TRY(fetch(word, std::string(path) + members->front(), "", i));  // says why
  if (added == 0)
    return std::unexpected(
        mistake(word, fmt::format("`{}`: no member can be read at {}", word.text, where_(found_.places[0]))));
  return {};
}

std::expected<VariableFetch, diag::Diagnostic> VariableArguments::fetch(const Word& word, std::string_view path,
                                                                        std::string_view type,
                                                                        std::size_t place) const {
  auto made = fetch_of_path(path, type, found_.places[place], *found_.types);
  if (made) return *std::move(made);
  return std::unexpected(
      mistake(word, fmt::format("`{}` at {}: {}", path, where_(found_.places[place]), made.error())));
}

std::expected<std::string, diag::Diagnostic> VariableArguments::address(const Word& word, std::string_view path,
                                                                        std::size_t place) const {
  auto made = address_of_path(path, found_.places[place], *found_.types);
  if (made) return *std::move(made);
  return std::unexpected(
      mistake(word, fmt::format("`{}` at {}: {}", path, where_(found_.places[place]), made.error())));
}

// The name that is written, or the path's last one, or `argN`.
std::string VariableArguments::name_of(const WrittenArgument& argument, bool is_path) {
  ++number_;
  std::string name(argument.name);
  if (name.empty() && is_path && argument.before.empty()) name = last_name_of_path(argument.operand);
  const bool is_id = argument.operand == "$trace_id" || argument.operand == "$span_id";
  if (name.empty() && is_id) name = argument.operand.substr(1);
  if (name.empty() || (argument.name.empty() && names_.contains(name))) name = fmt::format("arg{}", number_);
  names_.insert(name);
  return name;
}

}  // namespace kevt::pipeline
