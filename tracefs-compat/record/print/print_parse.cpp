// `print fmt: "fd=%d %s", REC->fd, __print_flags(REC->f, "|", {1, "A"})` → pieces and expression nodes.
//
// The kernel's source expressions, macros expanded, are a small C: literals, REC->field, casts, operators, ?: and the
// __print_/__get_ helpers. Recursive descent over the text, depth limited; whatever is not known makes the whole
// format "not understood", and the event is printed by its fields. Field pointers go to the event's own fields.
#include "tracefs-compat/record/print/print_parse.h"

#include <algorithm>
#include <charconv>

namespace kevt::record {
namespace {

constexpr int kMaxNesting = 100;
constexpr std::size_t kMaxNodes = 4096;

struct Operator {
  std::string_view text;
  int level;  // binds tighter when higher
  BinaryOp op;
};
// Longer ones first.
constexpr Operator kOperators[] = {
    {"<<", 7, BinaryOp::ShiftLeft},    {">>", 7, BinaryOp::ShiftRight}, {"<=", 6, BinaryOp::LessEqual},
    {">=", 6, BinaryOp::GreaterEqual}, {"==", 5, BinaryOp::Equal},      {"!=", 5, BinaryOp::NotEqual},
    {"&&", 1, BinaryOp::LogicalAnd},   {"||", 0, BinaryOp::LogicalOr},  {"<", 6, BinaryOp::Less},
    {">", 6, BinaryOp::Greater},       {"+", 8, BinaryOp::Add},         {"-", 8, BinaryOp::Subtract},
    {"*", 9, BinaryOp::Multiply},      {"/", 9, BinaryOp::Divide},      {"%", 9, BinaryOp::Remainder},
    {"&", 4, BinaryOp::And},           {"^", 3, BinaryOp::Xor},         {"|", 2, BinaryOp::Or},
};

// Types that the kernel's formats cast to, on x86-64. `unsigned` and `int` are words of their own.
struct TypeName {
  std::string_view name;
  std::uint8_t bytes;
  bool is_unsigned;
};
constexpr TypeName kTypeNames[] = {
    {"char", 1, false},    {"bool", 1, true},       {"short", 2, false},      {"long", 8, false},
    {"u8", 1, true},       {"__u8", 1, true},       {"uint8_t", 1, true},     {"s8", 1, false},
    {"__s8", 1, false},    {"u16", 2, true},        {"__u16", 2, true},       {"uint16_t", 2, true},
    {"s16", 2, false},     {"__s16", 2, false},     {"umode_t", 2, true},     {"u32", 4, true},
    {"__u32", 4, true},    {"uint32_t", 4, true},   {"s32", 4, false},        {"__s32", 4, false},
    {"pid_t", 4, false},   {"uid_t", 4, true},      {"gid_t", 4, true},       {"dev_t", 4, true},
    {"gfp_t", 4, true},    {"fmode_t", 4, true},    {"blk_opf_t", 4, true},   {"u64", 8, true},
    {"__u64", 8, true},    {"uint64_t", 8, true},   {"size_t", 8, true},      {"s64", 8, false},
    {"__s64", 8, false},   {"loff_t", 8, false},    {"ssize_t", 8, false},    {"ino_t", 8, true},
    {"sector_t", 8, true}, {"dma_addr_t", 8, true}, {"phys_addr_t", 8, true},
};

char escaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case '0':
      return '\0';
    default:
      return c;
  }
}

}  // namespace

void PrintParser::blanks() {
  const auto at = text_.find_first_not_of(" \t\n");
  text_.remove_prefix(at == std::string_view::npos ? text_.size() : at);
}

bool PrintParser::take(std::string_view token) {
  blanks();
  if (!text_.starts_with(token)) return false;
  text_.remove_prefix(token.size());
  return true;
}

std::string_view PrintParser::word() {
  blanks();
  std::size_t length = 0;
  while (length < text_.size() && is_word_char(text_[length])) ++length;
  const std::string_view found = text_.substr(0, length);
  text_.remove_prefix(length);
  return found;
}

std::optional<std::string> PrintParser::string() {
  if (!take("\"")) return std::nullopt;
  std::string out;
  while (!text_.empty()) {
    const char c = text_[0];
    text_.remove_prefix(1);
    if (c == '"') {
      blanks();
      if (!text_.starts_with('"')) return out;
      text_.remove_prefix(1);  // "a" "b"
      continue;
    }
    if (c == '\\' && !text_.empty()) {
      out += escaped(text_[0]);
      text_.remove_prefix(1);
    } else {
      out += c;
    }
  }
  return std::nullopt;
}

// C's conversions, as far as they matter where numbers are kept in 64 bits.
bool PrintParser::is_wide_unsigned(const PrintNode& node) const {
  const auto of_child = [&](std::size_t i) { return out_.nodes_[node.child[i]].is_wide_unsigned; };
  switch (node.kind) {
    case NodeKind::Constant:
      return node.is_wide_unsigned;
    case NodeKind::Field:
      return node.field->item_bytes == 8 && !node.field->is_signed;
    case NodeKind::Cast:
      return node.bytes == 8 && !node.is_signed;
    case NodeKind::Negate:
    case NodeKind::Invert:
      return of_child(0);
    case NodeKind::Choose:
      return of_child(1) || of_child(2);
    case NodeKind::Binary:
      if (node.op == BinaryOp::ShiftLeft || node.op == BinaryOp::ShiftRight) return of_child(0);
      return node.op < BinaryOp::Less && (of_child(0) || of_child(1));
    default:
      return false;
  }
}

PrintParser::Node PrintParser::add(PrintNode node) {
  if (out_.nodes_.size() >= kMaxNodes) return 0;
  node.is_wide_unsigned = is_wide_unsigned(node);
  out_.nodes_.push_back(std::move(node));
  return static_cast<Node>(out_.nodes_.size() - 1);
}

bool PrintParser::parse() {
  out_.nodes_.assign(1, {});
  const auto format = string();
  if (!format || !pieces(*format) || !arguments()) return false;
  blanks();
  join_quotes();
  swap_places();
  print_floats();
  return text_.empty();
}

bool PrintParser::arguments() {
  for (PrintPiece& piece : out_.pieces_) {
    if (piece.conversion == 0) continue;
    if (!take(",")) return false;
    piece.node = choose();
    if (piece.node == 0) return false;
  }
  return true;
}

PrintParser::Node PrintParser::choose() {
  if (++depth_ > kMaxNesting) return 0;
  Node condition = binary(0);
  if (condition && take("?")) {
    const Node yes = choose();
    if (!yes || !take(":")) return 0;
    const Node no = choose();
    if (!no) return 0;
    condition = add({.kind = NodeKind::Choose, .child = {condition, yes, no}});
  }
  --depth_;
  return condition;
}

PrintParser::Node PrintParser::binary(int level) {
  constexpr int kLevels = 10;
  if (level == kLevels) return unary();
  Node left = binary(level + 1);
  while (left) {
    blanks();
    const auto* found =
        std::ranges::find_if(kOperators, [&](const Operator& op) { return text_.starts_with(op.text); });
    if (found == std::end(kOperators) || found->level != level) return left;
    text_.remove_prefix(found->text.size());
    const Node right = binary(level + 1);
    if (!right) return 0;
    left = add({.kind = NodeKind::Binary, .op = found->op, .child = {left, right, 0}});
  }
  return left;
}

PrintParser::Node PrintParser::unary() {
  if (++depth_ > kMaxNesting) return 0;
  Node made = 0;
  blanks();
  const auto one = [&](NodeKind kind) {
    const Node child = unary();
    return child ? add({.kind = kind, .child = {child, 0, 0}}) : 0;
  };
  if (take("!"))
    made = one(NodeKind::Not);
  else if (take("~"))
    made = one(NodeKind::Invert);
  else if (take("-"))
    made = one(NodeKind::Negate);
  else if (take("+"))
    made = unary();
  else
    made = postfix();
  --depth_;
  return made;
}

PrintParser::Node PrintParser::postfix() {
  blanks();
  if (text_.starts_with("REC->") || text_.starts_with("(REC)->")) return field_reference();
  if (take("(")) return parenthesis();
  if (text_.starts_with('"')) {
    auto text = string();
    return text ? add({.kind = NodeKind::Text, .text = std::move(*text)}) : 0;
  }
  if (text_.starts_with('\'') && text_.size() > 2 && text_[2] == '\'') {
    const auto number = static_cast<std::uint64_t>(text_[1]);
    text_.remove_prefix(3);
    return add({.kind = NodeKind::Constant, .is_signed = true, .bytes = 4, .number = number});
  }
  if (!text_.empty() && text_[0] >= '0' && text_[0] <= '9') return literal_number();
  const std::string_view name = word();
  if (name.empty() || !take("(")) return 0;
  return call(name);
}

PrintParser::Node PrintParser::literal_number() {
  std::string_view digits = word();
  bool is_unsigned = false, is_long = false;
  while (!digits.empty() && std::string_view("uUlL").find(digits.back()) != std::string_view::npos) {
    (digits.back() == 'u' || digits.back() == 'U' ? is_unsigned : is_long) = true;
    digits.remove_suffix(1);
  }
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits[0] == '0') {
    base = 8;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return 0;
  const bool is_wide = is_long || value >> 32 != 0 || (!is_unsigned && base == 10 && value >> 31 != 0);
  const bool is_wide_unsigned = (is_unsigned && is_long) || value >> 63 != 0;
  const bool is_signed = !is_unsigned && (is_wide ? value >> 63 == 0 : value >> 31 == 0);
  return add({.kind = NodeKind::Constant,
              .is_signed = is_signed,
              .is_wide_unsigned = is_wide_unsigned,
              .bytes = static_cast<std::uint8_t>(is_wide ? 8 : 4),
              .number = value});
}

// `unsigned long`, `u32`, `s64`, `void *` … in front of `)`.
bool PrintParser::cast(PrintNode& node) {
  const std::string_view before = text_;
  bool any = false, is_unsigned = false;
  node.bytes = 0;
  for (;;) {
    const std::string_view name = word();
    if (name.empty()) break;
    any = true;
    if (name == "unsigned") is_unsigned = true;
    if (name == "int") node.bytes = node.bytes ? node.bytes : 4;  // a long int is long
    const auto* const type = std::ranges::find(kTypeNames, name, &TypeName::name);
    if (type == std::end(kTypeNames)) continue;
    node.bytes = type->bytes;
    is_unsigned |= type->is_unsigned;
  }
  while (take("*")) node.bytes = 8, is_unsigned = true;
  if (is_unsigned && node.bytes == 0) node.bytes = 4;
  if (any && take(")") && node.bytes) {
    node.is_signed = !is_unsigned;
    return true;
  }
  text_ = before;
  return false;
}

PrintParser::Node PrintParser::parenthesis() {
  PrintNode node{.kind = NodeKind::Cast};
  if (cast(node)) {
    node.child[0] = unary();
    return node.child[0] ? add(std::move(node)) : 0;
  }
  const Node inner = choose();
  return inner && take(")") ? inner : 0;
}

PrintParser::Node PrintParser::field_reference() {
  if (!take("REC->") && !take("(REC)->")) return 0;
  const std::string_view name = word();
  const Field* field = event_.find(name);
  if (!field) return 0;
  PrintNode node{.kind = NodeKind::Field, .field = field};
  if (field->is_text()) node.kind = NodeKind::FieldText;
  if (take("[")) {
    node.child[0] = choose();
    if (!node.child[0] || !take("]")) return 0;
  } else if (field->kind == FieldKind::DynamicBytes) {
    return 0;
  }
  return add(std::move(node));
}

PrintParser::Node PrintParser::call(std::string_view name) {
  if (name == "__print_flags" || name == "__print_flags_u64") return names(NodeKind::Flags);
  if (name == "__print_symbolic" || name == "__print_symbolic_u64") return names(NodeKind::Name);
  if (name == "__print_hex") return hex(" ");
  if (name == "__print_hex_str") return hex("");
  if (name == "__print_array") return array();
  if (name == "__builtin_expect") {
    const Node value = choose();
    return value && take(",") && choose() && take(")") ? value : 0;
  }
  const bool text = name == "__get_str" || name == "__get_rel_str";
  const bool length = name == "__get_dynamic_array_len" || name == "__get_rel_dynamic_array_len";
  if (!text && !length) return 0;
  const Field* field = event_.find(word());
  if (!field) return 0;
  PrintNode node{.kind = text ? NodeKind::FieldText : NodeKind::DataLength, .field = field};
  if (text && !field->is_text()) return 0;
  if (take("[")) {
    node.child[0] = choose();
    if (!node.child[0] || !take("]")) return 0;
  }
  return take(")") ? add(std::move(node)) : 0;
}

bool PrintParser::named_numbers(std::vector<NamedNumber>& out) {
  while (take(",")) {
    if (!take("{")) return false;
    NamedNumber one;
    const std::size_t before = out_.nodes_.size();
    const Node value = choose();
    const auto number = value ? constant(value) : std::nullopt;
    if (!number || !take(",")) return false;
    out_.nodes_.resize(before);  // the number was only read
    auto text = string();
    if (!text || !take("}")) return false;
    one.number = number->value;
    one.name = std::move(*text);
    out.push_back(std::move(one));
    if (out.size() > kMaxNodes) return false;
  }
  return true;
}

std::optional<ConstantNumber> PrintParser::constant(Node of) const {
  const PrintNode& node = out_.nodes_[of];
  const auto child = [&](std::size_t i) { return node.child[i] ? constant(node.child[i]) : std::nullopt; };
  switch (node.kind) {
    case NodeKind::Constant:
      return converted(node.number, node.bytes, node.is_signed);
    case NodeKind::Cast: {
      const auto inner = child(0);
      return inner ? std::optional(converted(inner->value, node.bytes, node.is_signed)) : std::nullopt;
    }
    case NodeKind::Negate:
    case NodeKind::Invert: {
      const auto inner = child(0);
      if (!inner) return std::nullopt;
      const std::uint64_t value = node.kind == NodeKind::Negate ? 0 - inner->value : ~inner->value;
      return converted(value, inner->bytes, inner->is_signed);
    }
    case NodeKind::Not: {
      const auto inner = child(0);
      return inner ? std::optional(ConstantNumber{inner->value == 0}) : std::nullopt;
    }
    case NodeKind::Choose: {
      const auto condition = child(0);
      const auto yes = child(1), no = child(2);
      if (!condition || !yes || !no) return std::nullopt;
      const ConstantNumber common = common_type(*yes, *no);
      return converted((condition->value ? yes : no)->value, common.bytes, common.is_signed);
    }
    case NodeKind::Binary: {
      const auto left = child(0);
      const bool is_and = node.op == BinaryOp::LogicalAnd, is_or = node.op == BinaryOp::LogicalOr;
      if (left && ((is_and && !left->value) || (is_or && left->value))) return ConstantNumber{is_or};
      const auto right = child(1);
      return left && right ? computed(node.op, *left, *right) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

PrintParser::Node PrintParser::names(NodeKind kind) {
  PrintNode node{.kind = kind};
  node.child[0] = choose();
  if (!node.child[0]) return 0;
  if (kind == NodeKind::Flags) {
    if (!take(",")) return 0;
    auto between = string();
    if (!between) return 0;
    node.text = std::move(*between);
  }
  if (!named_numbers(node.names) || !take(")")) return 0;
  if (kind == NodeKind::Name) std::ranges::stable_sort(node.names, {}, &NamedNumber::number);
  return add(std::move(node));
}

PrintParser::Node PrintParser::hex(std::string_view between) {
  PrintNode node{.kind = NodeKind::Hex, .text = std::string(between)};
  const bool dynamic = take("__get_dynamic_array(") || take("__get_rel_dynamic_array(");
  if (!dynamic && !take("REC->")) return 0;
  node.field = event_.find(word());
  if (!node.field || (dynamic && !take(")")) || !take(",")) return 0;
  node.child[0] = choose();
  return node.child[0] && take(")") ? add(std::move(node)) : 0;
}

PrintParser::Node PrintParser::array() {
  PrintNode node{.kind = NodeKind::Array};
  const bool dynamic = take("__get_dynamic_array(") || take("__get_rel_dynamic_array(");
  if (!dynamic && !take("REC->")) return 0;
  node.field = event_.find(word());
  if (!node.field || (dynamic && !take(")")) || !take(",")) return 0;
  node.child[0] = choose();
  if (!node.child[0] || !take(",")) return 0;
  node.child[1] = choose();
  return node.child[1] && take(")") ? add(std::move(node)) : 0;
}

}  // namespace kevt::record
