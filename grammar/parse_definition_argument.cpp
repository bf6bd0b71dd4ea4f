// Fetch-args: `[NAME=]EXPRESSION[:TYPE]`, one word each.
//
// Problem: an expression nests, and the column of a mistake inside it must be the kernel's, also where
// that is odd: the kernel forgets to count the 'u' of `+u0( )`, so columns behind it are one too
// small. Idea: walk the grammar's pieces from the outside in, keeping the kernel's column beside the
// true one.
//
//   p=+8(+0(%di)):string  ->  name "p", base %di, dereferences {+0, +8}, type string
//
// Not here: what depends on the world or the kind of place ($argN, %REG, room for operations): sema.
// Mirrors traceprobe_parse_probe_arg() and parse_probe_arg() of kernel/trace/trace_probe.c (6.1).
#include <algorithm>
#include <limits>

#include "grammar/parse_definition_limits.h"
#include "grammar/parse_definition_parts.h"

namespace kevt::grammar {
namespace {

constexpr std::string_view kReservedNames[] = {"common_type", "common_flags", "common_preempt_count", "common_pid",
                                               "common_tgid", "__probe_ip",   "__probe_ret_ip",       "__probe_func"};
constexpr std::size_t kFirstArgumentWord = 2;

std::uint32_t saturate(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max()));
}

// One argument's way through the parser. Columns are bytes of the word.
class ArgumentParser {
 public:
  ArgumentParser(const LineContext& line, std::size_t word)
      : line_(line), word_(word), index_(word - kFirstArgumentWord) {}

  model::FetchArg parse(const std::vector<model::FetchArg>& earlier);

 private:
  bool report(diag::Kind kind, std::uint32_t column, diag::ArgumentStep step, int errno_value = EINVAL) {
    line_.report({.kind = kind,
                  .word = word_,
                  .column = column,
                  .order = diag::argument_order(index_, step),
                  .errno_value = errno_value});
    return false;
  }
  bool base_mistake(diag::Kind kind, std::uint32_t column, int errno_value = EINVAL) {
    return report(kind, column, diag::kArgBase, errno_value);
  }

  bool take_name(const ArgumentPieces& pieces, const std::vector<model::FetchArg>& earlier);
  bool take_body(const Piece& body);
  bool take_expression(const BodyPieces& body, std::uint32_t column);
  bool take_dereference(const DereferencePieces& pieces, std::uint32_t column, std::uint32_t kernel_column);
  bool take_base(std::string_view text, std::uint32_t column);
  bool refuse_register(std::uint32_t column);
  bool take_variable(std::string_view name, std::uint32_t column);
  bool take_memory(std::string_view text, std::uint32_t column);
  bool take_symbol(std::string_view text);
  bool take_immediate(std::string_view text, std::uint32_t column);

  const LineContext& line_;
  std::size_t word_;
  std::size_t index_;
  model::FetchArg arg_;
};

model::FetchArg ArgumentParser::parse(const std::vector<model::FetchArg>& earlier) {
  arg_.span = line_.word_span(word_);
  const ArgumentPieces pieces = cut_argument(line_.words[word_]);
  const bool readable = take_name(pieces, earlier) && take_body(pieces.body);
  if (!readable) arg_.text.clear();
  return std::move(arg_);
}

bool ArgumentParser::take_name(const ArgumentPieces& pieces, const std::vector<model::FetchArg>& earlier) {
  arg_.name = "arg" + std::to_string(index_ + 1);
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
  if (body.text.size() > kMaxExpressionBytes) return report(diag::Kind::ArgTooLong, body.begin, diag::kArgLength);
  if (body.text.empty()) return report(diag::Kind::NoArgBody, body.begin, diag::kArgLength);
  arg_.text = body.text;
  const BodyPieces pieces = cut_body(body.text);
  const auto type = parse_type(line_, {.word = word_, .argument = index_, .column = body.begin}, pieces);
  if (!type) return false;
  arg_.type = *type;
  return take_expression(pieces, body.begin);
}

bool ArgumentParser::take_expression(const BodyPieces& body, std::uint32_t column) {
  const std::uint32_t word_begin = line_.words.begin(word_);
  std::uint32_t at = 0;         // where the operand stands in the body
  std::uint32_t uncounted = 0;  // 'u's the kernel forgets
  for (const DereferencePieces& pieces : body.dereferences) {
    if (!take_dereference(pieces, column, column + at - uncounted)) return false;
    if (pieces.offset.text.starts_with('u')) ++uncounted;
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

bool ArgumentParser::take_base(std::string_view text, std::uint32_t column) {
  const char first = text.empty() ? '\0' : text[0];
  if (first == '$') return take_variable(text.substr(1), column);
  if (first == '@') return take_memory(text.substr(1), column);
  if (first == '\\') return take_immediate(text.substr(1), column);
  if (first == '%' && line_.kind == model::EventKind::Eprobe) return refuse_register(column);
  if (first == '%') {
    arg_.expr.base = model::RegisterBase{.name = std::string(text.substr(1))};
    return true;
  }
  return base_mistake(diag::Kind::BadFetchArg, column);
}

// Events have no registers: the kernel logs BAD_VAR, then BAD_FETCH_ARG.
bool ArgumentParser::refuse_register(std::uint32_t column) {
  line_.report({.kind = diag::Kind::BadFetchArg,
                .word = word_,
                .column = column,
                .order = diag::argument_order(index_, diag::kArgBase),
                .prelude = diag::Prelude{diag::Kind::BadVar, column}});
  return false;
}

bool ArgumentParser::take_variable(std::string_view name, std::uint32_t column) {
  constexpr std::string_view kStack = "stack";
  constexpr std::string_view kArg = "arg";
  if (line_.kind == model::EventKind::Eprobe) {
    arg_.expr.base = model::EventFieldBase{.name = std::string(name)};
  } else if (name == "retval") {
    arg_.expr.base = model::ReturnValueBase{};
  } else if (name == kStack) {
    arg_.expr.base = model::StackPointerBase{};
  } else if (name.starts_with(kStack)) {
    const std::string_view digits = name.substr(kStack.size());
    const Number index = parse_unsigned(digits, 10);
    if (index.error != 0 || !is_digit(digits[0])) return base_mistake(diag::Kind::BadVar, column);
    arg_.expr.base = model::StackSlotBase{.index = saturate(index.value)};
  } else if (name == "comm" || name == "COMM") {
    arg_.expr.base = model::CommBase{};
  } else if (name.starts_with(kArg) && line_.kind == model::EventKind::Kprobe) {
    const Number number = parse_unsigned(name.substr(kArg.size()), 10);
    if (number.error != 0) return base_mistake(diag::Kind::BadVar, column);
    arg_.expr.base = model::ArgumentBase{.number = saturate(number.value)};
  } else {
    return base_mistake(diag::Kind::BadVar, column);
  }
  return true;
}

// After '@': an address, a byte of the file, or a data symbol.
bool ArgumentParser::take_memory(std::string_view text, std::uint32_t column) {
  const bool in_file = line_.kind == model::EventKind::Uprobe;
  if (!text.empty() && is_digit(text[0])) {
    const Number address = parse_unsigned(text, kAutoBase);
    if (address.error != 0) return base_mistake(diag::Kind::BadMemAddr, column, address.error);
    arg_.expr.base = model::MemoryBase{.address = address.value};
    return true;
  }
  if (text.starts_with('+')) {
    if (!in_file) return base_mistake(diag::Kind::FileOnKprobe, column);
    const Number offset = parse_signed(text.substr(1), kAutoBase);
    if (offset.error != 0) return base_mistake(diag::Kind::BadFileOffs, column, offset.error);
    arg_.expr.base = model::FileOffsetBase{.offset = offset.value};
    return true;
  }
  if (in_file) return base_mistake(diag::Kind::SymOnUprobe, column);
  return take_symbol(text);
}

// A wrong offset is found only when the probe is armed, and blamed on the place.
bool ArgumentParser::take_symbol(std::string_view text) {
  const std::size_t sign = text.find_first_of("+-");
  model::SymbolBase base{.symbol = std::string(text.substr(0, sign))};
  if (sign != std::string_view::npos) {
    const Number offset = parse_signed(text.substr(sign), kAutoBase);
    if (offset.error != 0 && line_.kind == model::EventKind::Eprobe) {
      line_.report({.kind = diag::Kind::BadMemAddr,
                    .word = word_,
                    .column = arg_.expr_span.begin - arg_.span.begin,
                    .order = diag::argument_order(index_, diag::kArgAttach),
                    .errno_value = offset.error,
                    .logged = false});
    } else if (offset.error != 0) {
      line_.report(
          {.kind = diag::Kind::FailRegProbe, .word = 1, .order = diag::kStepRegister, .errno_value = offset.error});
    }
    base.offset = static_cast<std::int64_t>(offset.value);
  }
  arg_.expr.base = std::move(base);
  return true;
}

bool ArgumentParser::take_immediate(std::string_view text, std::uint32_t column) {
  if (text.starts_with('"')) {
    const std::string_view quoted = text.substr(1);
    if (!quoted.ends_with('"')) {
      const auto past_end = column + 2 + static_cast<std::uint32_t>(quoted.size());
      return base_mistake(diag::Kind::ImmstrNoClose, past_end);
    }
    arg_.expr.base = model::ImmediateStringBase{.text = std::string(quoted.substr(0, quoted.rfind('"')))};
    return true;
  }
  Number number{.error = EINVAL};
  if (!text.empty() && is_digit(text[0])) number = parse_unsigned(text, kAutoBase);
  if (text.starts_with('-')) number = parse_signed(text, kAutoBase);
  if (text.starts_with('+')) number = parse_signed(text.substr(1), kAutoBase);
  if (number.error != 0) return base_mistake(diag::Kind::BadImm, column + 1, number.error);
  arg_.expr.base = model::ImmediateBase{.value = number.value};
  return true;
}

}  // namespace

void parse_arguments(const LineContext& line, std::size_t end, model::Definition& definition) {
  // 6.1 drops what stands behind the 128th argument.
  end = std::min(end, kFirstArgumentWord + kMaxArguments);
  for (std::size_t word = kFirstArgumentWord; word < end; ++word) {
    definition.args.push_back(ArgumentParser(line, word).parse(definition.args));
  }
}

}  // namespace kevt::grammar
