// The format string of a print fmt → pieces: conversions and what stands between them.
#include <algorithm>
#include <charconv>

#include "tracefs-compat/record/print/print_parse.h"

namespace kevt::record {
namespace {

std::uint16_t small_number(std::string_view& text) {
  std::uint16_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return std::min<std::uint16_t>(value, 512);
}

}  // namespace

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

}  // namespace kevt::record
