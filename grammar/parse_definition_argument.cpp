// Fetch-args: `[NAME=]EXPRESSION[:TYPE]`, one word each.
//
// Problem: an expression nests, and the column of a mistake inside it must be the kernel's, also where
// that is odd: the kernel forgets to count the 'u' of `+u0( )`, so columns behind it are one too
// small. Idea: walk the grammar's pieces from the outside in, keeping the kernel's column beside the
// true one.
//
//   p=+8(+0(%di)):string  ->  name "p", base %di, dereferences {+0, +8}, type string
//
// `x=file:%pd` is read as what the kernel makes of it, `x=+0x0(+0x28(file)):string`, columns included.
// Not here: what depends on the world or the kind of place ($argN, %REG, room for operations): sema.
// Mirrors traceprobe_parse_probe_arg() and parse_probe_arg() of kernel/trace/trace_probe.c (6.1, 6.12, 7.3).
#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include "grammar/parse_definition_limits.h"
#include "grammar/parse_definition_operand.h"

namespace kevt::grammar {
namespace {

using dialect::Feature;

constexpr std::string_view kReservedNames[] = {"common_type", "common_flags", "common_preempt_count", "common_pid",
                                               "common_tgid", "__probe_ip",   "__probe_ret_ip",       "__probe_func"};
constexpr unsigned kMaxNesting = 8;

bool has_file_name_type(std::string_view word) { return word.ends_with(":%pd") || word.ends_with(":%pD"); }

}  // namespace

PlaceText place_text(const LineContext& line) {
  switch (line.kind) {
    case model::EventKind::Fprobe:
    case model::EventKind::Tprobe:
      return line.probe_kind == model::ProbeKind::Return ? PlaceText::Return : PlaceText::Entry;
    case model::EventKind::Kprobe: {
      const std::string_view word = line.words[1];
      if (parse_unsigned(word, kAutoBase).error == 0) return PlaceText::Elsewhere;
      if (line.probe_kind == model::ProbeKind::Return) return PlaceText::Return;
      const SymbolPlacePieces pieces = cut_symbol_place(word);
      const bool at_entry = !pieces.displacement || parse_signed(pieces.displacement->text, kAutoBase).value == 0;
      return at_entry ? PlaceText::Entry : PlaceText::Elsewhere;
    }
    case model::EventKind::Uprobe:
    case model::EventKind::Eprobe:
    case model::EventKind::Synthetic:
    case model::EventKind::Watchpoint:
      return PlaceText::Elsewhere;
  }
  return PlaceText::Elsewhere;
}

bool ArgumentParser::report(diag::Kind kind, std::uint32_t column, diag::ArgumentStep step, int errno_value) {
  line_.report({.kind = kind,
                .word = word_,
                .column = column,
                .order = diag::argument_order(index_, step),
                .errno_value = errno_value});
  return false;
}

bool ArgumentParser::is_function_probe() const {
  return line_.kind == model::EventKind::Kprobe || line_.kind == model::EventKind::Fprobe ||
         line_.kind == model::EventKind::Tprobe;
}

// The offsets in struct dentry and struct file are written as two digits here; real offsets have two digits, too, so
// the columns are right.
std::string ArgumentParser::expand_file_names(std::string_view word) {
  const bool dentry = word.ends_with('d');
  word.remove_suffix(std::string_view(":%pd").size());
  const std::size_t equals = word.find('=');
  std::string text = equals == std::string_view::npos ? "" : std::string(word.substr(0, equals + 1));
  text += dentry ? "+0x0(+0x00(" : "+0x0(+0x00(+0x00(";
  text += equals == std::string_view::npos ? word : word.substr(equals + 1);
  text += dentry ? ")):string" : "))):string";
  arg_.needs_types = true;
  return text;
}

model::FetchArg ArgumentParser::parse(const std::vector<model::FetchArg>& earlier) {
  arg_.span = line_.word_span(word_);
  const std::string_view written = line_.words[word_];
  const bool expanded = has(Feature::FileNameTypes) && is_function_probe() && has_file_name_type(written);
  const std::string text = expanded ? expand_file_names(written) : std::string(written);
  const ArgumentPieces pieces = cut_argument(text);
  const bool readable = take_name(pieces, earlier) && take_body(pieces.body);
  if (expanded) arg_.text = cut_argument(written).body.text;
  if (!readable) arg_.text.clear();
  return std::move(arg_);
}

void ArgumentParser::generate_name(std::string_view body) {
  const std::string_view expression = body.substr(0, body.find(':'));
  const bool named = has(Feature::NamedByExpression) && is_good_name(expression);
  arg_.name = named ? std::string(expression) : "arg" + std::to_string(index_ + 1);
  const bool is_id = expression == "$trace_id" || expression == "$span_id";
  if (is_id && line_.dialect.has_own_forms()) arg_.name = expression.substr(1);
}

bool ArgumentParser::take_name(const ArgumentPieces& pieces, const std::vector<model::FetchArg>& earlier) {
  generate_name(pieces.body.text);
  if (pieces.name) {
    if (pieces.name->text.size() > kMaxArgumentNameBytes) {
      return report(diag::Kind::ArgNameTooLong, 0, diag::kArgName);
    }
    if (pieces.name->text.empty()) return report(diag::Kind::NoArgName, 0, diag::kArgName);
    if (!is_good_name(pieces.name->text)) return report(diag::Kind::BadArgName, 0, diag::kArgName);
    arg_.name = pieces.name->text;
    arg_.name_written = true;
  }
  const bool used = std::ranges::find(kReservedNames, arg_.name) != std::end(kReservedNames) ||
                    std::ranges::find(earlier, arg_.name, &model::FetchArg::name) != earlier.end();
  return used ? report(diag::Kind::UsedArgName, 0, diag::kArgName) : true;
}

bool ArgumentParser::take_body(const Piece& body) {
  const std::uint32_t begin = line_.words.begin(word_);
  arg_.expr_span = {begin + body.begin, begin + body.end};
  const std::size_t limit = has(Feature::LongExpressions) ? kMaxLongExpressionBytes : kMaxExpressionBytes;
  const BodyPieces pieces = cut_body(body.text);
  const std::size_t of_names = line_.dialect.has_own_forms() ? bytes_of_names(pieces) : 0;
  if (body.text.size() - of_names > limit) {
    return report(diag::Kind::ArgTooLong, body.begin, diag::kArgLength, has(Feature::TooBigIsE2big) ? E2BIG : EINVAL);
  }
  if (body.text.empty()) return report(diag::Kind::NoArgBody, body.begin, diag::kArgLength);
  arg_.text = body.text;
  const auto type = parse_type(line_, {.word = word_, .argument = index_, .column = body.begin}, pieces);
  if (!type) return false;
  arg_.type = *type;
  if (!take_expression(pieces, body.begin)) return false;
  // An `enum` of `$retval` needs the target's types for its names.
  if (type->kind == model::TypeKind::Enum && !type->names &&
      std::holds_alternative<model::ReturnValueBase>(arg_.expr.base))
    arg_.needs_types = true;
  if (!pieces.type || !line_.dialect.has_own_forms()) return true;
  if (const auto count = count_in(line_, *pieces.type)) {
    if (!take_length(count->length, body.begin + count->length.begin)) return false;
    arg_.length->is_end = count->is_end;
    return true;
  }
  const auto length = length_in(*pieces.type);
  return !length || take_length(*length, body.begin + length->begin);
}

// The length is an expression of its own, which may have the type of a number; it begins at `column` of the word.
bool ArgumentParser::take_length(const Piece& length, std::uint32_t column) {
  if (length.text.empty()) return report(diag::Kind::NoArgBody, column, diag::kArgLength);
  const BodyPieces pieces = cut_body(length.text);
  const auto type = parse_type(line_, {.word = word_, .argument = index_, .column = column}, pieces);
  if (!type) return false;
  const bool is_number = type->kind == model::TypeKind::Unsigned || type->kind == model::TypeKind::Signed ||
                         type->kind == model::TypeKind::Hex;
  if (!is_number || type->array_count != 0)
    return report(diag::Kind::BadType, column + (pieces.type ? pieces.type->name.begin : 0), diag::kArgType);
  model::FetchExpr text = std::exchange(arg_.expr, {});
  depth_ = 0;
  const bool readable = take_expression(pieces, column);
  arg_.length = {.expr = std::exchange(arg_.expr, std::move(text)), .type = *type};
  return readable;
}

// Counts one more typecast or dereference, which begins at `column`; too many are reported.
bool ArgumentParser::deepen(std::uint32_t column) {
  if (!has(Feature::DeepNesting) && depth_ >= kMaxNesting) {
    return base_mistake(diag::Kind::TooManyNested, column, E2BIG);
  }
  ++depth_;
  return true;
}

namespace {

std::uint32_t uncounted_bytes(const DereferencePieces& pieces) {
  const bool user = pieces.offset.text.starts_with('u');
  const bool both_signs = pieces.sign.text == "+" && pieces.offset.text.substr(user ? 1 : 0).starts_with('-');
  return (user ? 1U : 0U) + (both_signs ? 1U : 0U);
}

}  // namespace

bool ArgumentParser::take_expression(const BodyPieces& body, std::uint32_t column) {
  const std::uint32_t word_begin = line_.words.begin(word_);
  std::uint32_t at = 0;         // where the operand stands in the body
  std::uint32_t uncounted = 0;  // bytes the kernel forgets: each 'u', and a '+' before a '-'
  for (const DereferencePieces& pieces : body.dereferences) {
    if (!deepen(column + at - uncounted)) return false;
    if (!take_dereference(pieces, column, column + at - uncounted)) return false;
    uncounted += uncounted_bytes(pieces);
    at = pieces.inner;
    if (pieces.closing == DereferenceEnd::NotClosed) {
      return base_mistake(diag::Kind::DerefOpenBrace, column + pieces.end - uncounted);
    }
  }
  arg_.expr.base_span = {word_begin + column + body.leaf.begin, word_begin + column + body.leaf.end};
  const std::uint32_t leaf_column = column + at - uncounted;
  if (!take_base(body.leaf.text, leaf_column)) return false;
  const bool is_text = std::holds_alternative<model::CommBase>(arg_.expr.base) ||
                       std::holds_alternative<model::ImmediateStringBase>(arg_.expr.base);
  if (is_text && !body.dereferences.empty()) return base_mistake(diag::Kind::CommCantDeref, leaf_column);
  std::ranges::reverse(arg_.expr.dereferences);
  return true;
}

bool ArgumentParser::take_dereference(const DereferencePieces& pieces, std::uint32_t column,
                                      std::uint32_t kernel_column) {
  if (pieces.closing == DereferenceEnd::NoBrace) return base_mistake(diag::Kind::DerefNeedBrace, kernel_column);
  model::Dereference dereference;
  std::string_view digits = pieces.offset.text;
  if (digits.starts_with('u')) {
    dereference.space = model::AddressSpace::User;
    digits.remove_prefix(1);
  }
  const std::string number = pieces.sign.text == "-" ? "-" + std::string(digits) : std::string(digits);
  const Number offset = parse_signed(number, kAutoBase);
  if (offset.error != 0) return base_mistake(diag::Kind::BadDerefOffs, kernel_column, offset.error);
  dereference.offset = static_cast<std::int64_t>(offset.value);
  const std::uint32_t base = line_.words.begin(word_) + column;
  dereference.span = {base + pieces.sign.begin, base + pieces.offset.end};
  arg_.expr.dereferences.push_back(dereference);
  return true;
}

namespace {

// The mistake in `$argN[:TYPE]` if N is no number, or 0. The kernel finds it when it replaces such words by parameters'
// names.
struct NumberMistake {
  diag::Kind kind;
  int errno_value;
};
std::optional<NumberMistake> argument_number_mistake(std::string_view word) {
  const std::string_view digits = word.substr(std::string_view("$arg").size());
  const std::size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
  if (end < digits.size() && digits[end] != ':') return NumberMistake{diag::Kind::BadVar, ENOENT};
  if (digits.substr(0, end).find_first_not_of('0') >= end) return NumberMistake{diag::Kind::BadArgNum, EINVAL};
  return std::nullopt;
}

// Checks words that begin with `$arg`, before any argument is parsed; returns the words with a mistake.
std::set<std::size_t> check_argument_words(const LineContext& line, std::size_t end) {
  std::set<std::size_t> bad;
  bool seen_all = false;
  const auto is_argument_word = [&](std::size_t word) { return line.words[word].starts_with("$arg"); };
  if (std::ranges::none_of(std::views::iota(std::min(ArgumentParser::kFirstArgumentWord, end), end), is_argument_word))
    return bad;
  const PlaceText place = place_text(line);
  const bool function =
      place == PlaceText::Entry || (place == PlaceText::Return && line.dialect.has(Feature::ArgumentsAtReturn));
  const auto report = [&](diag::Kind kind, std::size_t word) {
    line.report({.kind = kind, .word = word, .order = diag::kStepArgumentWords});
    bad.insert(word);
  };
  for (std::size_t word = ArgumentParser::kFirstArgumentWord; word < end; ++word) {
    const std::string_view text = line.words[word];
    if (!text.starts_with("$arg")) continue;
    const char next = text.size() > 4 ? text[4] : '\0';
    if (!function) {
      report(diag::Kind::NofentryArgs, word);
    } else if (!is_digit(next) && next != '*') {
      report(diag::Kind::BadVar, word);
    } else if (next == '*' && seen_all) {
      report(diag::Kind::DoubleArgs, word);
    }
    if (next == '*') seen_all = true;
  }
  if (!bad.empty() || !line.dialect.version() || !line.dialect.has(Feature::ArgumentsAtReturn)) return bad;
  for (std::size_t word = ArgumentParser::kFirstArgumentWord; word < end; ++word) {
    const std::string_view text = line.words[word];
    if (!text.starts_with("$arg") || text.starts_with("$arg*")) continue;
    const auto mistake = argument_number_mistake(text);
    if (!mistake) continue;
    line.report(
        {.kind = mistake->kind, .word = word, .order = diag::kStepArgumentWords, .errno_value = mistake->errno_value});
    bad.insert(word);
  }
  return bad;
}

// More than 128 arguments: 6.1 drops the rest, later kernels refuse the line, the newest log a message as well.
void check_count(const LineContext& line, std::size_t count) {
  if (count <= kMaxArguments || !line.dialect.has(Feature::ExtraArgsRefused)) return;
  line.report({.kind = diag::Kind::TooManyArgs,
               .word = ArgumentParser::kFirstArgumentWord,
               .order = line.kind == model::EventKind::Uprobe   ? diag::kStepHead - 1u
                        : line.kind == model::EventKind::Eprobe ? diag::kStepAttach - 1u
                                                                : diag::kStepArgumentWords + 1u,
               .errno_value = E2BIG,
               .logged = line.dialect.has(Feature::ExtraArgsLogged)});
}

model::FetchArg all_arguments(const LineContext& line, std::size_t word) {
  model::FetchArg arg;
  arg.span = arg.expr_span = arg.expr.base_span = line.word_span(word);
  arg.name = arg.text = line.words[word];
  arg.expr.base = model::VariableBase{.name = arg.text, .kind = model::VariableKind::AllArguments};
  arg.needs_types = true;
  return arg;
}

}  // namespace

void parse_arguments(const LineContext& line, std::size_t end, model::Definition& definition) {
  const bool function = line.kind == model::EventKind::Kprobe || line.kind == model::EventKind::Fprobe ||
                        line.kind == model::EventKind::Tprobe;
  check_count(line, end - ArgumentParser::kFirstArgumentWord);
  end = std::min(end, ArgumentParser::kFirstArgumentWord + kMaxArguments);
  std::set<std::size_t> bad;
  const bool early = function && line.dialect.has(Feature::ArgumentWordsFirst);
  if (early) bad = check_argument_words(line, end);
  for (std::size_t word = ArgumentParser::kFirstArgumentWord; word < end; ++word) {
    if (bad.contains(word)) {
      definition.args.push_back({.span = line.word_span(word)});
    } else if (early && line.words[word].starts_with("$arg*")) {
      definition.args.push_back(all_arguments(line, word));
    } else {
      definition.args.push_back(ArgumentParser(line, word).parse(definition.args));
    }
  }
}

}  // namespace kevt::grammar
