// Runs a print fmt over a record.
//
//   "(%lx) fd=%d", REC->__probe_ip, REC->fd   →   (vfs_read+0x0/0x140) fd=3
//
// Three departures from the text, all what the kernel's own `trace` file does: an address of a probe is printed as
// its symbol, where a function returned to stands in front of the function (format files say it the other way round),
// and a string that could not be read is `(fault)` without quotes. Numbers are 64 bits wide inside and cut to what the
// conversion takes, as libtraceevent does it; a division by 0 is 0.
#include "tracefs-compat/record/print/print_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "tracefs-compat/record/analysis/columns.h"
#include "tracefs-compat/record/print/print_parse.h"

namespace kevt::record {
namespace {

constexpr std::uint64_t kMaxArray = 4096;
constexpr std::size_t kMaxPrinted = 64 << 10;  // the kernel itself prints no more than 8 KiB

// How the items of a counted array are printed: the letter of a probe's type, `s` of `__data_loc s32[]`. 0: it is a
// kernel's own array, which is hexadecimal.
char probe_type(const Field& field) {
  const std::string_view type = field.type;
  const auto at = type.rfind(' ') + 1;
  const auto letter = type.substr(at, 1), bits = type.substr(at + letter.size());
  const bool is_known =
      field.kind == FieldKind::DynamicNumbers && letter.size() == 1 && std::string_view("usxof").contains(letter[0]);
  return is_known && bits == fmt::format("{}[]", 8 * field.item_bytes) ? letter[0] : 0;
}

class Printing {
 public:
  Printing(const std::vector<PrintNode>& nodes, std::span<const std::uint8_t> record, const Symbols& symbols)
      : nodes_(nodes), record_(record), symbols_(symbols) {}

  std::uint64_t number(std::uint32_t index) const {
    const PrintNode& node = nodes_[index];
    switch (node.kind) {
      case NodeKind::Constant:
        return node.number;
      case NodeKind::Field:
        return value_of(*node.field, record_, item(node)).number;
      case NodeKind::Negate:
        return 0 - number(node.child[0]);
      case NodeKind::Invert:
        return ~number(node.child[0]);
      case NodeKind::Not:
        return number(node.child[0]) == 0;
      case NodeKind::Binary:
        return binary(node);
      case NodeKind::Choose:
        return number(node.child[number(node.child[0]) ? 1 : 2]);
      case NodeKind::Cast:
        return cast(node, number(node.child[0]));
      case NodeKind::DataLength:
        return dynamic_bytes(*node.field, record_).size();
      case NodeKind::Text:
      case NodeKind::FieldText:
      case NodeKind::Flags:
      case NodeKind::Name:
      case NodeKind::Hex:
      case NodeKind::Array:
        return 0;
    }
    return 0;
  }

  // A string that the record has only the address of.
  void string_of_kernel(std::uint64_t address, std::string& out) const {
    if (const std::string* string = symbols_.string_at(address))
      out += *string;
    else
      append_address(address, out);
  }

  // Appends what a %s prints.
  void text(std::uint32_t index, std::string& out) const {
    const PrintNode& node = nodes_[index];
    switch (node.kind) {
      case NodeKind::Text:
        out += node.text;
        return;
      case NodeKind::FieldText: {
        const Value value = value_of(*node.field, record_, item(node));
        out += value.kind == Value::Kind::Text ? value.text : std::string_view("(fault)");
        return;
      }
      case NodeKind::Choose:
        return text(node.child[number(node.child[0]) ? 1 : 2], out);
      case NodeKind::Cast:
        return text(node.child[0], out);
      case NodeKind::Flags:
        return flags(node, out);
      case NodeKind::Name:
        return name(node, out);
      case NodeKind::Hex:
        return hex(node, out);
      case NodeKind::Array:
        return array(node, out);
      case NodeKind::Constant:
      case NodeKind::Field:
      case NodeKind::Negate:
      case NodeKind::Invert:
      case NodeKind::Not:
      case NodeKind::Binary:
      case NodeKind::DataLength:
        return string_of_kernel(number(index), out);
    }
  }

  // Of a node that is a field.
  Value value(std::uint32_t index) const {
    const PrintNode& node = nodes_[index];
    return value_of(*node.field, record_, item(node));
  }

  // The string itself, when it is one of the record's; else nullopt.
  std::optional<Value> plain_text(std::uint32_t index) const {
    const PrintNode& node = nodes_[index];
    if (node.kind != NodeKind::FieldText) return std::nullopt;
    return value_of(*node.field, record_, item(node));
  }

  // The probe's address that a node prints, if it does.
  const Field* place(std::uint32_t index) const {
    const PrintNode* node = &nodes_[index];
    if (node->kind == NodeKind::Name || node->kind == NodeKind::Cast) node = &nodes_[node->child[0]];
    const bool is_place = node->kind == NodeKind::Field && node->field->role != PlaceRole::None;
    return is_place ? node->field : nullptr;
  }

  void symbol(std::uint64_t address, SymbolOffset offset, std::string& out) const {
    append_symbol(symbols_, address, offset, out);
  }
  std::uint64_t field_number(const Field& field) const { return value_of(field, record_).number; }

 private:
  std::uint32_t item(const PrintNode& node) const {
    if (node.child[0] == 0) return 0;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(number(node.child[0]), 0xffffff));
  }

  static std::uint64_t cast(const PrintNode& node, std::uint64_t value) {
    if (node.bytes >= 8) return value;
    const unsigned shift = 64 - 8 * node.bytes;
    if (node.is_signed) return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
    return value << shift >> shift;
  }

  std::uint64_t binary(const PrintNode& node) const {
    const std::uint64_t a = number(node.child[0]);
    if (node.op == BinaryOp::LogicalAnd) return a && number(node.child[1]);
    if (node.op == BinaryOp::LogicalOr) return a || number(node.child[1]);
    const std::uint64_t b = number(node.child[1]);
    const auto sa = static_cast<std::int64_t>(a), sb = static_cast<std::int64_t>(b);
    const bool left_is_unsigned = nodes_[node.child[0]].is_wide_unsigned;
    const bool is_unsigned = left_is_unsigned || nodes_[node.child[1]].is_wide_unsigned;
    const bool is_less = is_unsigned ? a < b : sa < sb;
    switch (node.op) {
      case BinaryOp::Add:
        return a + b;
      case BinaryOp::Subtract:
        return a - b;
      case BinaryOp::Multiply:
        return a * b;
      case BinaryOp::Divide:
        if (is_unsigned) return b == 0 ? 0 : a / b;
        return b == 0 ? 0 : sb == -1 ? 0 - a : static_cast<std::uint64_t>(sa / sb);
      case BinaryOp::Remainder:
        if (is_unsigned) return b == 0 ? 0 : a % b;
        return b == 0 || sb == -1 ? 0 : static_cast<std::uint64_t>(sa % sb);
      case BinaryOp::ShiftLeft:
        return a << (b & 63);  // as the machines that run the kernel do
      case BinaryOp::ShiftRight:
        return left_is_unsigned ? a >> (b & 63) : static_cast<std::uint64_t>(sa >> (b & 63));
      case BinaryOp::And:
        return a & b;
      case BinaryOp::Or:
        return a | b;
      case BinaryOp::Xor:
        return a ^ b;
      case BinaryOp::Less:
        return is_less;
      case BinaryOp::LessEqual:
        return is_less || a == b;
      case BinaryOp::Greater:
        return !is_less && a != b;
      case BinaryOp::GreaterEqual:
        return !is_less;
      case BinaryOp::Equal:
        return a == b;
      case BinaryOp::NotEqual:
        return a != b;
      case BinaryOp::LogicalAnd:
      case BinaryOp::LogicalOr:
        return 0;
    }
    return 0;
  }

  void flags(const PrintNode& node, std::string& out) const {
    std::uint64_t left = number(node.child[0]);
    const std::uint64_t all = left;
    bool any = false;
    for (const NamedNumber& one : node.names) {
      if (one.number == 0 ? all != 0 : (left & one.number) != one.number) continue;
      if (any) out += node.text;
      out += one.name;
      any = true;
      left &= ~one.number;
      if (one.number == 0) return;
    }
    if (left == 0 && (any || all == 0)) return;
    if (any) out += node.text;
    fmt::format_to(std::back_inserter(out), "0x{:x}", left);
  }

  void name(const PrintNode& node, std::string& out) const {
    const std::uint64_t value = number(node.child[0]);
    const auto it = std::ranges::lower_bound(node.names, value, {}, &NamedNumber::number);
    if (it != node.names.end() && it->number == value)
      out += it->name;
    else
      fmt::format_to(std::back_inserter(out), "0x{:x}", value);
  }

  void hex(const PrintNode& node, std::string& out) const {
    auto bytes = dynamic_bytes(*node.field, record_);
    bytes = bytes.first(std::min<std::uint64_t>(bytes.size(), number(node.child[0])));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      fmt::format_to(std::back_inserter(out), "{}{:02x}", i ? std::string_view(node.text) : "", bytes[i]);
  }

  // An array that a probe has counted: the type says how its items are printed. libtraceevent prints them as unsigned.
  void counted(const PrintNode& node, char letter, std::string& out) const {
    out += '{';
    for (std::uint32_t i = 0, items = items_of(*node.field, record_); i < items && i < kMaxArray; ++i) {
      if (i) out += ',';
      const Value value = value_of(*node.field, record_, i);
      if (letter == 'x')
        fmt::format_to(std::back_inserter(out), "0x{:x}", value.number);
      else if (letter == 'o')
        fmt::format_to(std::back_inserter(out), "0{:o}", value.number);
      else
        append_plain(value, out);
    }
    out += '}';
  }

  void array(const PrintNode& node, std::string& out) const {
    if (const char letter = probe_type(*node.field)) return counted(node, letter, out);
    const auto bytes = dynamic_bytes(*node.field, record_);
    const std::uint64_t size = std::clamp<std::uint64_t>(number(node.child[1]), 1, 8);
    const std::uint64_t count = std::min({number(node.child[0]), bytes.size() / size, kMaxArray});
    out += '{';
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data() + i * size, size);
      fmt::format_to(std::back_inserter(out), "{}0x{:x}", i ? "," : "", value);
    }
    out += '}';
  }

  const std::vector<PrintNode>& nodes_;
  std::span<const std::uint8_t> record_;
  const Symbols& symbols_;
};

void append_padded_text(const PrintPiece& piece, std::string_view text, std::string& out) {
  const std::size_t missing = piece.width > text.size() ? piece.width - text.size() : 0;
  if (!piece.left) out.append(missing, ' ');
  out += text;
  if (piece.left) out.append(missing, ' ');
}

std::uint64_t cut(std::uint64_t value, std::uint8_t bytes) {
  return bytes >= 8 ? value : value & ~(~0ull << 8 * bytes);
}

void append_converted(const PrintPiece& piece, std::uint64_t value, std::string& out) {
  char digits[32];
  char* const end = digits + sizeof digits;
  char* at = digits;
  int base = piece.conversion == 'x' || piece.conversion == 'X' ? 16 : piece.conversion == 'o' ? 8 : 10;
  bool negative = false;
  if (piece.conversion == 'd') {
    const unsigned shift = 64 - 8 * piece.bytes;
    const std::int64_t wanted = static_cast<std::int64_t>(value << shift) >> shift;
    negative = wanted < 0;
    value = negative ? 0 - static_cast<std::uint64_t>(wanted) : static_cast<std::uint64_t>(wanted);
  } else {
    value = cut(value, piece.bytes);
  }
  at = std::to_chars(digits, end, value, base).ptr;
  std::string_view text(digits, static_cast<std::size_t>(at - digits));
  if (piece.width == 0 && piece.precision < 0 && !piece.prefix && !piece.plus && piece.conversion != 'X') {
    if (negative) out += '-';
    out += text;
    return;
  }
  std::string whole;
  if (negative || piece.plus) whole += negative ? '-' : '+';
  if (piece.prefix && base == 16 && value) whole += "0x";
  const std::size_t least = piece.precision >= 0 ? static_cast<std::size_t>(piece.precision)
                            : piece.zero && !piece.left && piece.width > whole.size() ? piece.width - whole.size()
                                                                                      : 0;
  if (least > text.size()) whole.append(least - text.size(), '0');
  whole += text;
  if (piece.conversion == 'X')
    std::ranges::transform(whole, whole.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
  append_padded_text(piece, whole, out);
}

void append_string(const PrintPiece& piece, const Printing& printing, std::string& out) {
  if (const auto plain = printing.plain_text(piece.node)) {
    if (plain->kind != Value::Kind::Text) {
      out += "(fault)";
      return;
    }
    std::string_view text = plain->text;
    if (piece.precision >= 0) text = text.substr(0, static_cast<std::size_t>(piece.precision));
    if (piece.quoted) out += '"';
    append_padded_text(piece, text, out);
    if (piece.quoted) out += '"';
    return;
  }
  if (piece.width == 0 && piece.precision < 0) return printing.text(piece.node, out);
  std::string text;
  printing.text(piece.node, text);
  if (piece.precision >= 0) text.resize(std::min<std::size_t>(text.size(), static_cast<std::size_t>(piece.precision)));
  append_padded_text(piece, text, out);
}

}  // namespace

void append_place(const Symbols& symbols, std::uint64_t address, PlaceRole role, PlaceStyle style, std::string& out) {
  if (style == PlaceStyle::Symbols && symbols.find(address))
    return append_symbol(symbols, address, role == PlaceRole::Function ? SymbolOffset::Hidden : SymbolOffset::Shown,
                         out);
  fmt::format_to(std::back_inserter(out), fmt::runtime(style == PlaceStyle::Addresses ? "0x{:x}" : "0x{:08x}"),
                 address);
}

std::optional<PrintFormat> PrintFormat::compile(const EventFormat& event) {
  PrintFormat made;
  if (!PrintParser(event, made).parse()) return std::nullopt;
  return made;
}

std::size_t PrintFormat::parts() const {
  std::size_t count = nodes_.size() + pieces_.size();
  for (const PrintNode& node : nodes_) count += node.names.size();
  return count;
}

NumberStyle PrintFormat::style_of(std::string_view field) const {
  for (const PrintPiece& piece : pieces_) {
    const PrintNode* node = &nodes_[piece.node];
    // Recordings of ours name the addresses of symbols so (symbolic_format.h).
    const bool names_addresses =
        node->kind == NodeKind::Name && !node->names.empty() && node->names.back().number >> 32;
    while (node->kind == NodeKind::Cast || (names_addresses && node->kind == NodeKind::Name))
      node = &nodes_[node->child[0]];
    if (node->kind == NodeKind::Array && node->field->name == field)
      return probe_type(*node->field) == 'x' ? NumberStyle::Hex : NumberStyle::Decimal;
    if (node->kind != NodeKind::Field || node->field->name != field) continue;
    if (names_addresses) return NumberStyle::Symbol;
    if (piece.conversion == 'S' || piece.conversion == 'y') return NumberStyle::Symbol;
    return std::string_view("xXp").contains(piece.conversion) ? NumberStyle::Hex : NumberStyle::Decimal;
  }
  return NumberStyle::Decimal;
}

NumberStyle number_style(const EventFormat& event, std::string_view field) {
  if (const Field* found = event.find(field); found && found->role != PlaceRole::None) return NumberStyle::Symbol;
  const auto print = PrintFormat::compile(event);
  return print ? print->style_of(field) : NumberStyle::Decimal;
}

void append_shown(const Field& field, NumberStyle style, const Symbols& symbols, std::span<const std::uint8_t> record,
                  std::string& out) {
  const bool is_plain = style == NumberStyle::Decimal || field.kind == FieldKind::DynamicBytes || field.is_text() ||
                        field.is_float || field.is_hex;
  if (is_plain) return append_value(field, record, out);
  const std::size_t begin = out.size();
  for (std::uint32_t i = 0, items = items_of(field, record); i < items; ++i) {
    if (out.size() - begin > kMaxPrinted) {
      out += " …";
      return;
    }
    if (i) out += ',';
    const Value value = value_of(field, record, i);
    if (!value.is_number())
      out += "(fault)";
    else if (style == NumberStyle::Symbol)
      append_symbol(symbols, value.number, SymbolOffset::Shown, out);
    else
      fmt::format_to(std::back_inserter(out), "{:#x}", cut(value.number, static_cast<std::uint8_t>(field.item_bytes)));
  }
}

void PrintFormat::print_piece(const PrintPiece& piece, std::span<const std::uint8_t> record, const Symbols& symbols,
                              PlaceStyle style, std::string& out) const {
  const Printing printing(nodes_, record, symbols);
  if (const Field* place = printing.place(piece.node))
    return append_place(symbols, printing.field_number(*place), place->role, style, out);
  switch (piece.conversion) {
    case 0:
      return;
    case 's':
      return append_string(piece, printing, out);
    case 'c':
      out += static_cast<char>(printing.number(piece.node));
      return;
    case 'S':
    case 'y':
      return printing.symbol(printing.number(piece.node),
                             piece.conversion == 'S' ? SymbolOffset::Shown : SymbolOffset::Hidden, out);
    case 'f':
      return append_plain(printing.value(piece.node), out);
    case 'p':
      return append_address(printing.number(piece.node), out);
    default:
      return append_converted(piece, printing.number(piece.node), out);
  }
}

const Field* PrintFormat::place_of(const PrintPiece& piece) const {
  return piece.conversion == 0 ? nullptr : Printing(nodes_, {}, Symbols()).place(piece.node);
}

const Field* PrintFormat::string_of(const PrintPiece& piece) const {
  const PrintNode& node = nodes_[piece.node];
  const bool is_whole = piece.conversion == 's' && piece.width == 0 && piece.precision < 0;
  return is_whole && node.kind == NodeKind::FieldText && node.child[0] == 0 ? node.field : nullptr;
}

const Field* PrintFormat::number_of(const PrintPiece& piece) const {
  const PrintNode& node = nodes_[piece.node];
  const bool is_field = node.kind == NodeKind::Field && node.child[0] == 0 && node.field->kind == FieldKind::Number;
  return is_field && !node.field->is_float ? node.field : nullptr;
}

void PrintFormat::print(std::span<const std::uint8_t> record, const Symbols& symbols, PlaceStyle style,
                        std::string& out) const {
  const std::size_t begin = out.size();
  for (const PrintPiece& piece : pieces_) {
    if (out.size() - begin > kMaxPrinted) break;
    out.append(piece.before, 0, kMaxPrinted + 1);
    if (piece.conversion != 0) print_piece(piece, record, symbols, style, out);
  }
  if (out.size() - begin <= kMaxPrinted) return;
  out.resize(begin + kMaxPrinted);
  out += " …";
}

void print_fields(const EventFormat& event, std::span<const std::uint8_t> record, std::string& out) {
  for (const Field& field : event.fields) {
    fmt::format_to(std::back_inserter(out), " {}=", field.name);
    if (field.kind == FieldKind::DynamicBytes) {
      for (std::uint8_t byte : dynamic_bytes(field, record)) fmt::format_to(std::back_inserter(out), "{:02x}", byte);
      continue;
    }
    const std::uint32_t count = items_of(field, record);
    for (std::uint32_t i = 0; i < count; ++i) {
      const Value value = value_of(field, record, i);
      if (i) out += ',';
      if (value.kind == Value::Kind::Text)
        fmt::format_to(std::back_inserter(out), "\"{}\"", value.text);
      else
        append_plain(value, out);
    }
  }
}

}  // namespace kevt::record
