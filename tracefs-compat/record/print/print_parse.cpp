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

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

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

std::uint16_t small_number(std::string_view& text) {
  std::uint16_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return std::min<std::uint16_t>(value, 512);
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

bool PrintParser::pieces(std::string_view format) {
  PrintPiece piece;
  while (!format.empty()) {
    const char c = format[0];
    format.remove_prefix(1);
    if (c != '%' || format.starts_with('%')) {
      if (c == '%') format.remove_prefix(1);
      piece.before += c;
      continue;
    }
    if (!conversion(format, piece)) return false;
    out_.pieces_.push_back(std::move(piece));
    piece = {};
  }
  if (!piece.before.empty()) out_.pieces_.push_back(std::move(piece));
  return true;
}

bool PrintParser::set_pointer_kind(std::string_view& format, PrintPiece& piece) {
  piece.bytes = 8;
  piece.conversion = 'p';
  if (format.starts_with('S') || format.starts_with('F') || format.starts_with('B')) piece.conversion = 'S';
  if (format.starts_with('s') || format.starts_with('f')) piece.conversion = 'y';
  if (piece.conversion != 'p') {
    format.remove_prefix(1);
    return true;
  }
  if (format.starts_with('K') || format.starts_with('x')) format.remove_prefix(1);
  return format.empty() || !is_word_char(format[0]);  // %pI4, %pM and more are not known
}

bool PrintParser::conversion(std::string_view& format, PrintPiece& piece) {
  for (; !format.empty(); format.remove_prefix(1)) {
    if (format[0] == '-')
      piece.left = true;
    else if (format[0] == '0')
      piece.zero = true;
    else if (format[0] == '#')
      piece.prefix = true;
    else if (format[0] == '+')
      piece.plus = true;
    else if (format[0] != ' ')
      break;
  }
  piece.width = small_number(format);
  if (format.starts_with('.')) {
    format.remove_prefix(1);
    piece.precision = static_cast<std::int16_t>(small_number(format));
  }
  for (; !format.empty(); format.remove_prefix(1)) {
    if (format[0] == 'l' || format[0] == 'L' || format[0] == 'z' || format[0] == 'q' || format[0] == 'j')
      piece.bytes = 8;
    else if (format[0] == 'h')
      piece.bytes = piece.bytes == 2 ? 1 : 2;
    else
      break;
  }
  if (format.empty()) return false;
  const char c = format[0];
  format.remove_prefix(1);
  if (c == 'p') return set_pointer_kind(format, piece);
  piece.conversion = c == 'i' ? 'd' : c;
  return std::string_view("duxXocs").find(piece.conversion) != std::string_view::npos;
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

// "(%lx <- %lx)", REC->__probe_func, REC->__probe_ret_ip: `trace` prints them the other way round.
void PrintParser::swap_places() {
  const auto role = [&](const PrintPiece& piece) {
    const PrintNode& node = out_.nodes_[piece.node];
    return node.kind == NodeKind::Field ? node.field->role : PlaceRole::None;
  };
  for (std::size_t i = 0; i + 1 < out_.pieces_.size(); ++i)
    if (role(out_.pieces_[i]) == PlaceRole::Function && role(out_.pieces_[i + 1]) == PlaceRole::ReturnedTo)
      return std::swap(out_.pieces_[i].node, out_.pieces_[i + 1].node);
}

// `x=0x%Lx` of a floating point number, whose bits are what other tools can print (layout::print_format).
void PrintParser::print_floats() {
  for (PrintPiece& piece : out_.pieces_) {
    const PrintNode& node = out_.nodes_[piece.node];
    if (piece.conversion != 'x' || node.kind != NodeKind::Field || !node.field->is_float) continue;
    if (!piece.before.ends_with("0x")) continue;
    piece.before.resize(piece.before.size() - 2);
    piece.conversion = 'f';
  }
}

// `s="%s"` of a string that could not be read prints `s=(fault)`.
void PrintParser::join_quotes() {
  for (std::size_t i = 0; i < out_.pieces_.size(); ++i) {
    PrintPiece& piece = out_.pieces_[i];
    const bool text = piece.conversion == 's' && out_.nodes_[piece.node].kind == NodeKind::FieldText;
    if (!text || !piece.before.ends_with('"')) continue;
    if (i + 1 == out_.pieces_.size() || !out_.pieces_[i + 1].before.starts_with('"')) continue;
    piece.quoted = true;
    piece.before.pop_back();
    out_.pieces_[i + 1].before.erase(0, 1);
  }
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
    return add({.kind = NodeKind::Constant, .number = number});
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
  const bool is_wide_unsigned = (is_unsigned && is_long) || value >> 63 != 0;
  return add({.kind = NodeKind::Constant, .is_wide_unsigned = is_wide_unsigned, .number = value});
}

// `unsigned long`, `u32`, `s64`, `void *` … in front of `)`.
bool PrintParser::cast(PrintNode& node) {
  const std::string_view before = text_;
  bool any = false, is_unsigned = false;
  node.bytes = 0;
  int longs = 0;
  for (;;) {
    const std::string_view name = word();
    if (name.empty()) break;
    any = true;
    if (name == "unsigned") is_unsigned = true;
    if (name == "long") ++longs;
    if (name == "short") node.bytes = 2;
    if (name == "char" || name == "bool") node.bytes = 1;
    if (name == "u8" || name == "__u8" || name == "uint8_t") node.bytes = 1, is_unsigned = true;
    if (name == "u16" || name == "__u16" || name == "uint16_t") node.bytes = 2, is_unsigned = true;
    if (name == "u32" || name == "__u32" || name == "uint32_t") node.bytes = 4, is_unsigned = true;
    if (name == "u64" || name == "__u64" || name == "uint64_t" || name == "size_t") node.bytes = 8, is_unsigned = true;
    if (name == "s8" || name == "__s8") node.bytes = 1;
    if (name == "s16" || name == "__s16") node.bytes = 2;
    if (name == "int" || name == "s32" || name == "__s32" || name == "pid_t") node.bytes = node.bytes ? node.bytes : 4;
    if (name == "s64" || name == "__s64") node.bytes = 8;
  }
  while (take("*")) node.bytes = 8, is_unsigned = true;
  if (longs) node.bytes = 8;
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
    const Node value = choose();
    if (!value || out_.nodes_[value].kind != NodeKind::Constant) {
      if (!value || out_.nodes_[value].kind != NodeKind::Negate) return false;
      one.number = 0 - out_.nodes_[out_.nodes_[value].child[0]].number;
    } else {
      one.number = out_.nodes_[value].number;
    }
    if (!take(",")) return false;
    auto text = string();
    if (!text || !take("}")) return false;
    one.name = std::move(*text);
    out.push_back(std::move(one));
    if (out.size() > kMaxNodes) return false;
  }
  return true;
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
  const std::size_t before = out_.nodes_.size();
  if (!named_numbers(node.names) || !take(")")) return 0;
  out_.nodes_.resize(before);  // the numbers were only read
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
