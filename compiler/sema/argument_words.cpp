// The words `$arg*` and `$argN` of a kernel, which become names of parameters.
#include "compiler/sema/argument_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "compiler/sema/resolve_fields.h"

namespace kevt::sema {
namespace {

using model::FetchArg;
using model::VariableBase;
using model::VariableKind;
using target::TypeSource;

constexpr std::size_t kMaxExpandedBytes = 128;  // MAX_BTF_ARGS_LEN

class ArgumentWords {
 public:
  ArgumentWords(DefinitionCheck& check, const PlaceTypes& place) : check_(check), place_(place) {}

  // False: a mistake was reported, and the arguments must not be resolved.
  bool expand();

 private:
  bool report_word(diag::Kind kind, const FetchArg& arg, int errno_value, std::uint32_t order) const {
    report_argument_word(check_, place_, {.kind = kind, .order = order, .errno_value = errno_value}, arg);
    return false;
  }
  std::string parameter_name(std::uint32_t index) const;
  bool take_room(std::size_t bytes, const FetchArg& arg);
  void keep(std::size_t index, FetchArg arg, std::int32_t longer, std::vector<FetchArg>& out);
  bool expand_all(std::size_t index, std::vector<FetchArg>& out);
  bool expand_number(std::size_t index, std::vector<FetchArg>& out);
  bool refuse_as_variables(std::uint32_t logged, bool (*is_all)(const FetchArg&));
  void rename_unknown() const;
  void renumber() const;
  void check_names();

  DefinitionCheck& check_;
  const PlaceTypes& place_;
  std::size_t used_ = 0;  // bytes of the parameters' names so far
};

std::string ArgumentWords::parameter_name(std::uint32_t index) const {
  const auto parameters = place_.function->table->members(place_.function->table->type(place_.function->prototype));
  const std::size_t at = std::size_t{place_.function->first_parameter} + index;
  return at < parameters.size() ? std::string(place_.function->table->name(parameters[at].name)) : "";
}

bool ArgumentWords::take_room(std::size_t bytes, const FetchArg& arg) {
  const bool limited = place_.source == TypeSource::Kernel;
  if (limited && bytes >= kMaxExpandedBytes - used_)
    return report_word(diag::Kind::Args2long, arg, E2BIG, diag::kStepArgumentWords + 2u);
  used_ += bytes + 1;
  return true;
}

// Appends `arg`, which comes from word `index`, to `out`. A default name `argN` gets the new number.
void ArgumentWords::keep(std::size_t index, FetchArg arg, std::int32_t longer, std::vector<FetchArg>& out) {
  if (!arg.name_written && arg.name == fmt::format("arg{}", index + 1)) arg.name = fmt::format("arg{}", out.size() + 1);
  out.push_back(std::move(arg));
  check_.replaced.arguments.push_back({index, longer});
}

bool ArgumentWords::expand_all(std::size_t index, std::vector<FetchArg>& out) {
  const FetchArg& arg = check_.definition.args[index];
  for (std::uint32_t i = 0; i < place_.function->parameters; ++i) {
    const std::string name = parameter_name(i);
    if (!take_room(name.size(), arg)) return false;
    FetchArg one;
    one.span = one.expr_span = one.expr.base_span = arg.span;
    one.text = one.name = name;
    one.expr.base = VariableBase{.name = name, .kind = VariableKind::Name};
    one.needs_types = true;
    if (name.empty()) {  // `...`
      check_.report({.kind = diag::Kind::NoArgBody,
                     .column = arg.span.begin,
                     .order = diag::argument_order(out.size(), diag::kArgLength)});
    }
    keep(index, std::move(one), 0, out);
  }
  return true;
}

// Replaces `$argN[:TYPE]`. The type is not checked here: the kernel looks at the number first.
bool ArgumentWords::expand_number(std::size_t index, std::vector<FetchArg>& out) {
  FetchArg arg = check_.definition.args[index];
  const std::string_view text = argument_word(check_.definition, arg);
  const std::size_t end = std::min(text.find_first_not_of("0123456789", kArgumentWord.size()), text.size());
  std::uint32_t number = 0;
  const auto parsed = std::from_chars(text.data() + kArgumentWord.size(), text.data() + end, number);
  if (parsed.ec != std::errc() || number == 0 || (end < text.size() && text[end] != ':')) {  // found elsewhere
    keep(index, std::move(arg), 0, out);
    return true;
  }
  if (number > place_.function->parameters)
    return report_word(diag::Kind::NoBtfarg, arg, ENOENT, diag::kStepArgumentWords + 2u);
  const std::string name = parameter_name(number - 1);
  if (!take_room(name.size() + text.size() - end, arg)) return false;
  if (!name.empty()) {
    const bool file_name = text.ends_with(":%pd") || text.ends_with(":%pD");
    arg.name = file_name ? fmt::format("arg{}", out.size() + 1) : name;
    if (!arg.text.empty()) arg.text = name + std::string(text.substr(end));
    arg.expr.base = VariableBase{.name = name, .kind = VariableKind::Name};
    arg.needs_types = true;
  }
  keep(index, std::move(arg), static_cast<std::int32_t>(name.size()) - static_cast<std::int32_t>(end), out);
  return true;
}

// Reports each `$arg*` as an unknown variable and leaves it unreplaced. True: the arguments are resolved all the same.
bool ArgumentWords::refuse_as_variables(std::uint32_t logged, bool (*is_all)(const FetchArg&)) {
  check_.replaced.unknown_arguments = logged;
  const std::vector<FetchArg>& args = check_.definition.args;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (is_all(args[i])) report_word(diag::Kind::BadVar, args[i], EINVAL, diag::argument_order(i, diag::kArgBase));
  }
  return true;
}

bool ArgumentWords::expand() {
  rename_unknown();
  std::vector<FetchArg>& args = check_.definition.args;
  constexpr auto is_all = [](const FetchArg& arg) {
    const auto* base = std::get_if<VariableBase>(&arg.expr.base);
    return base != nullptr && base->kind == VariableKind::AllArguments;
  };
  const auto is_number = [&](const FetchArg& arg) {
    return place_.source == TypeSource::Kernel && argument_word(check_.definition, arg).starts_with(kArgumentWord);
  };
  const auto all = std::ranges::find_if(args, is_all);
  const bool asked = all != args.end() || std::ranges::any_of(args, is_number);
  if (!asked) return true;
  if (!place_.function || place_.function->parameters == 0) {
    if (all == args.end()) return true;
    if (place_.function.has_value() && place_.source == TypeSource::DebugInformation) {
      args.erase(all);  // a function without parameters has no arguments to show
      return true;
    }
    // The kernel reports the last such word.
    const FetchArg& last = *std::ranges::find_if(args.rbegin(), args.rend(),
                                                 [&](const FetchArg& arg) { return is_all(arg) || is_number(arg); });
    if (check_.has(dialect::Feature::AllArgumentsGoesOn)) return refuse_as_variables(last.span.begin, is_all);
    return report_word(diag::Kind::NosupBtfarg, last, EOPNOTSUPP, diag::kStepArgumentWords + 1u);
  }
  std::vector<FetchArg> out;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (is_all(args[i])) {
      if (!expand_all(i, out)) return false;
    } else if (is_number(args[i])) {
      if (!expand_number(i, out)) return false;
    } else {
      keep(i, args[i], 0, out);
    }
  }
  args = std::move(out);
  check_.replaced.by_argument_words = true;
  renumber();
  check_names();
  return true;
}

// Moves the parser's mistakes to the arguments' new numbers: the parser counted the words as written.
void ArgumentWords::renumber() const {
  const auto& arguments = check_.replaced.arguments;
  for (diag::Diagnostic& mistake : check_.sink.take()) {
    const bool in_argument = mistake.order >= diag::kStepArguments && mistake.order < diag::kStepCounter;
    const std::size_t word = (mistake.order - diag::kStepArguments) / diag::kStepsPerArgument;
    // NoArgBody, the mistake about `...`, has the new number already.
    const auto now = std::ranges::find(arguments, word, &ReplacedWords::Argument::word);
    if (in_argument && now != arguments.end() && mistake.kind != diag::Kind::NoArgBody) {
      const auto moved = static_cast<std::uint32_t>(now - arguments.begin() - static_cast<std::ptrdiff_t>(word));
      mistake.order += diag::kStepsPerArgument * moved;
    }
    check_.sink.report(std::move(mistake));
  }
}

// Reports names that two arguments have, now that parameters gave some of them.
void ArgumentWords::check_names() {
  const std::vector<FetchArg>& args = check_.definition.args;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const bool used = std::ranges::any_of(args.begin(), args.begin() + static_cast<std::ptrdiff_t>(i),
                                          [&](const FetchArg& earlier) { return earlier.name == args[i].name; });
    if (!used || args[i].name.empty()) continue;
    check_.report({.kind = diag::Kind::UsedArgName,
                   .column = args[i].span.begin,
                   .order = diag::argument_order(i, diag::kArgName)});
  }
}

// Changes the kind of mistakes about unknown names if the function has no known parameters at all.
void ArgumentWords::rename_unknown() const {
  if (place_.function && place_.function->parameters != 0) return;
  for (diag::Diagnostic& mistake : check_.sink.take()) {
    if (mistake.kind == diag::Kind::NoBtfarg) mistake.kind = diag::Kind::NoBtfEntry;
    check_.sink.report(std::move(mistake));
  }
}

}  // namespace

std::string_view argument_word(const model::Definition& definition, const model::FetchArg& arg) {
  return std::string_view(definition.command).substr(arg.span.begin, arg.span.end - arg.span.begin);
}

void report_argument_word(DefinitionCheck& check, const PlaceTypes& place, Finding finding,
                          const model::FetchArg& arg) {
  finding.column = arg.span.begin;
  finding.note = place.function ? FieldResolver(check, 0, place.function).prototype() : place.why;
  check.report(std::move(finding));
}

bool expand_argument_words(DefinitionCheck& check, const PlaceTypes& place) {
  return ArgumentWords(check, place).expand();
}

}  // namespace kevt::sema
