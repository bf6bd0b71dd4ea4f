// Expressions of histograms: operands joined by + - * /.
//
// The problem: `14-7-5` is (14-7)-5, `a*b+c` is (a*b)+c, and there are no parentheses except behind a leading
// minus. 6.1 splits the text at the operator that is applied last and reads both sides:
//
//   v*p-i-1   →  [v*p-i] - [1]  →  [v*p] - [i] …        at most 3 operators
//   -(v+p)    →  a minus over [v+p];  -v, v*-1 and v-(-p) are refused
//
// The idea: the same recursion over views of one text, so that each mistake names the piece that 6.1 names.
// If both operands are constants, or variables that hold constants, the result is a constant. `cut` is where 6.1
// wrote the first NUL into the text. Mirrors parse_expr(), parse_unary(), parse_atom() and contains_operator() of
// kernel/trace/trace_events_hist.c, 6.1. Not here: which modifiers a key or a value may have.
#include <algorithm>
#include <utility>

#include "compiler/sema/trigger_hist.h"
#include "grammar/parse_definition_text.h"

namespace kevt::sema {
namespace {

using diag::Kind;
using model::EventName;
using model::HistField;
using model::HistOperator;
using model::HistSource;

constexpr unsigned kMaxOperators = 3;
constexpr std::size_t kNone = std::string_view::npos;

struct RootOperator {
  HistOperator op = HistOperator::Plus;
  std::size_t at = 0;
};

// The operator that is applied last: the rightmost of + and -, else the rightmost of * and /.
std::optional<RootOperator> root_operator(std::string_view text) {
  const std::size_t minus = text.rfind('-');
  if (minus == 0) return RootOperator{HistOperator::Negate, 0};
  for (const std::string_view pair : {"+-", "*/"}) {
    const std::size_t at = text.find_last_of(pair);
    if (at == kNone) continue;
    switch (text[at]) {
      case '+':
        return RootOperator{HistOperator::Plus, at};
      case '-':
        return RootOperator{HistOperator::Minus, at};
      case '*':
        return RootOperator{HistOperator::Multiply, at};
      case '/':
        return RootOperator{HistOperator::Divide, at};
    }
  }
  return std::nullopt;
}

char sign_of(HistOperator op) {
  switch (op) {
    case HistOperator::Plus:
      return '+';
    case HistOperator::Minus:
    case HistOperator::Negate:
      return '-';
    case HistOperator::Multiply:
      return '*';
    case HistOperator::Divide:
      return '/';
  }
  std::unreachable();
}

std::uint64_t fold(HistOperator op, std::uint64_t left, std::uint64_t right) {
  switch (op) {
    case HistOperator::Plus:
      return left + right;
    case HistOperator::Minus:
      return left - right;
    case HistOperator::Multiply:
      return left * right;
    case HistOperator::Divide:
      return left / right;
    case HistOperator::Negate:
      return 0 - left;
  }
  std::unreachable();
}

std::string operand_text(const HistField& field, bool shows_buckets) {
  if (field.source == HistSource::Reference) return field.listed.empty() ? "$" + field.name : field.listed;
  std::string text = field.source == HistSource::Constant ? std::to_string(field.constant) : field.name;
  std::string_view modifier = modifier_text(field);
  if (modifier.empty() && field.source == HistSource::Stacktrace) modifier = "stacktrace";
  if (!modifier.empty()) text += "." + std::string(modifier);
  if (shows_buckets && field.buckets != 0) text += "=" + std::to_string(field.buckets);
  return text;
}

std::string binary_text(const HistField& expression, bool shows_buckets) {
  return operand_text(expression.operands[0], shows_buckets) + sign_of(expression.op) +
         operand_text(expression.operands[1], shows_buckets);
}

// The text of a negated operand. 6.1 loses it ("") if the operand is itself negated or has a measuring modifier.
std::string negated_text(const HistField& operand, bool shows_buckets) {
  const bool measures = model::is_measuring(operand.modifier);
  const bool nested = operand.source == HistSource::Expression && operand.op == HistOperator::Negate;
  if (measures || nested) return "";
  return "-(" +
         (operand.source == HistSource::Expression ? binary_text(operand, shows_buckets)
                                                   : operand_text(operand, shows_buckets)) +
         ")";
}

class Reader {
 public:
  Reader(HistCheck& check, std::string_view whole) : check_(check), whole_(whole) {}
  // `whole` is a copy of the definition's text, which is cut as it is read: `y=v+$y` is v+v.
  Reader(HistCheck& check, std::string_view whole, VariableText& definition)
      : check_(check), whole_(whole), definition_(&definition) {}

  std::optional<HistField> read(std::string_view text, HistRole role);
  std::optional<HistField> read_operand(std::string_view text, HistRole role);
  std::size_t cut() const { return cut_; }

 private:
  std::optional<HistField> read_negated(std::string_view text);
  std::optional<HistField> read_binary(std::string_view text, RootOperator root);
  std::optional<HistField> read_side(std::string_view text);
  std::optional<HistField> read_number(std::string_view text);
  std::optional<HistField> read_reference(std::string_view text, const std::optional<EventName>& qualifier,
                                          HistRole role);
  std::optional<HistField> join(HistOperator op, HistField left, HistField right, std::string_view right_text);
  // If `field` refers to a variable, the variable's value; otherwise `field` itself.
  const HistField& seen_through(const HistField& field) const;
  void cut_before(std::string_view rest);
  bool shows_buckets() const { return check_.has(dialect::Feature::BucketsInExpressions); }

  HistCheck& check_;
  std::string_view whole_;
  VariableText* definition_ = nullptr;
  unsigned operators_ = 0;
  std::size_t cut_ = kNone;
};

void Reader::cut_before(std::string_view rest) {
  cut_ = std::min(cut_, static_cast<std::size_t>(rest.data() - whole_.data()));
  if (definition_ != nullptr) definition_->text.resize(cut_);
}

const HistField& Reader::seen_through(const HistField& field) const {
  return field.source == HistSource::Reference ? check_.hist.references[field.reference].value : field;
}

std::optional<HistField> Reader::read(std::string_view text, HistRole role) {
  if (operators_ > kMaxOperators) return check_.log.refuse(Kind::HistTooManySubexpr, text);
  const auto root = root_operator(text);
  if (!root) return read_operand(text, role);
  ++operators_;
  return root->op == HistOperator::Negate ? read_negated(text) : read_binary(text, *root);
}

std::optional<HistField> Reader::read_side(std::string_view text) {
  auto side = read(text, HistRole::Operand);
  if (side && side->is_string) return check_.log.refuse(Kind::HistInvalidStrOperand, text);
  return side;
}

// Reads `-(…)`. As in 6.1, the byte behind the '-' is skipped as if it were '(', if a '(' stands anywhere behind.
std::optional<HistField> Reader::read_negated(std::string_view text) {
  if (operators_ > kMaxOperators) return check_.log.refuse(Kind::HistTooManySubexpr, text);
  text.remove_prefix(1);
  if (!text.contains('(')) return check_.log.refuse_unlogged(Kind::HistBadOperand, text, EINVAL);
  text.remove_prefix(1);
  const std::size_t close = text.rfind(')');
  if (close == kNone) return check_.log.refuse_unlogged(Kind::HistBadOperand, text, EINVAL);
  if (close + 1 != text.size()) return check_.log.refuse(Kind::HistUnaryMinusSubexpr, text);
  cut_before(text.substr(close));
  auto operand = read_side(text.substr(0, close));
  if (!operand) return std::nullopt;

  HistField negated{.source = HistSource::Expression, .op = HistOperator::Negate};
  negated.name = negated_text(*operand, shows_buckets());
  if (negated.name.empty() && check_.has(dialect::Feature::NamelessRefused))
    return check_.log.refuse_unlogged(Kind::HistBadOperand, text, EINVAL);
  negated.type = operand->type;
  negated.bytes = operand->bytes;
  negated.is_signed = operand->is_signed;
  negated.is_timestamp = operand->is_timestamp;
  negated.in_usecs = operand->in_usecs;
  negated.operands.push_back(*std::move(operand));
  return negated;
}

std::optional<HistField> Reader::read_binary(std::string_view text, RootOperator root) {
  cut_before(text.substr(root.at));
  const std::string_view left_text = text.substr(0, root.at);
  const std::string_view right_text = text.substr(root.at + 1);
  if (left_text.empty() || right_text.empty()) {
    return check_.log.refuse_unlogged(Kind::HistBadOperand, text, EINVAL);
  }
  auto left = read_side(left_text);
  if (!left) return std::nullopt;
  auto right = read_side(right_text);
  if (!right) return std::nullopt;
  return join(root.op, *std::move(left), *std::move(right), right_text);
}

std::optional<HistField> Reader::join(HistOperator op, HistField left, HistField right, std::string_view right_text) {
  const HistField& left_value = seen_through(left);
  const HistField& right_value = seen_through(right);
  if (left_value.in_usecs != right_value.in_usecs) return check_.log.refuse(Kind::HistTimestampMismatch, "");
  const bool right_constant = right_value.source == HistSource::Constant;
  if (op == HistOperator::Divide && right_constant && right_value.constant == 0) {
    return check_.log.refuse(Kind::HistDivisionByZero, right_text, EDOM);
  }
  HistField joined;
  joined.is_timestamp = left.is_timestamp;
  joined.in_usecs = left.in_usecs;
  if (right_constant && left_value.source == HistSource::Constant) {
    joined.source = HistSource::Constant;
    joined.constant = fold(op, left_value.constant, right_value.constant);
    joined.type = "u64";
    return joined;
  }
  joined.source = HistSource::Expression;
  joined.op = op;
  joined.type = left.type;
  joined.bytes = left.bytes;
  joined.is_signed = left.is_signed;
  joined.operands = {std::move(left), std::move(right)};
  joined.name = binary_text(joined, shows_buckets());
  return joined;
}

std::optional<HistField> Reader::read_number(std::string_view text) {
  const grammar::Number number = grammar::parse_unsigned(text, grammar::kAutoBase);
  if (number.error != 0) return check_.log.refuse(Kind::HistExpectNumber, text);
  HistField constant{.source = HistSource::Constant, .constant = number.value};
  constant.type = "u64";
  return constant;
}

// nullopt: there is no such variable, and that is logged.
std::optional<HistField> Reader::read_reference(std::string_view text, const std::optional<EventName>& qualifier,
                                                HistRole role) {
  const std::string_view name = text.substr(1);
  const auto variable = find_variable(check_, qualifier, name);
  const auto index = variable ? refer_to(check_, *variable, qualifier) : std::nullopt;
  if (!index) return check_.log.refuse(Kind::HistVarNotFound, name);
  const model::HistReference& reference = check_.hist.references[*index];

  HistField field{.source = role == HistRole::Variable ? HistSource::Alias : HistSource::Reference};
  field.name = reference.name;
  if (reference.qualifier) {
    const bool marks_last = check_.has(dialect::Feature::QualifiedReferences);
    const std::string event = reference.qualifier->system + "." + reference.qualifier->event + ".";
    field.name = event + (marks_last ? "$" : "") + field.name;
    if (marks_last) field.listed = field.name;
  }
  field.reference = *index;
  field.type = reference.value.type;
  field.bytes = reference.value.bytes;
  field.is_signed = reference.value.is_signed;
  field.is_timestamp = reference.value.is_timestamp;
  field.in_usecs = reference.value.in_usecs;
  return field;
}

// Any operand with two dots, except a number, is read as SYSTEM.EVENT.REST.
std::optional<HistField> Reader::read_operand(std::string_view text, HistRole role) {
  if (!text.empty() && grammar::is_digit(text.front())) return read_number(text);
  std::optional<EventName> qualifier;
  const std::size_t first = text.find('.');
  const std::size_t second = first == kNone ? kNone : text.find('.', first + 1);
  if (second != kNone) {
    qualifier = EventName{std::string(text.substr(0, first)), std::string(text.substr(first + 1, second - first - 1))};
    cut_before(text.substr(first));
    text.remove_prefix(second + 1);
  }
  if (const auto local = local_field(check_, qualifier, text)) return read_hist_field(check_, *local, role);
  if (is_reference(text)) {
    if (auto field = read_reference(text, qualifier, role)) return field;
  }
  return read_hist_field(check_, text, role);  // an unknown `$x` is no field either: that is logged, too
}

}  // namespace

ExpressionReading read_hist_expression(HistCheck& check, std::string_view text, HistRole role) {
  Reader reader(check, text);
  auto field = reader.read(text, role);
  return {.field = std::move(field), .cut = reader.cut()};
}

std::optional<HistField> read_hist_definition(HistCheck& check, VariableText& definition) {
  const std::string text = definition.text;
  return Reader(check, text, definition).read(text, HistRole::Variable);
}

ExpressionReading read_hist_operand(HistCheck& check, std::string_view text, HistRole role) {
  Reader reader(check, text);
  auto field = reader.read_operand(text, role);
  return {.field = std::move(field), .cut = reader.cut()};
}

}  // namespace kevt::sema
