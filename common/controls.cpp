// The terminal is taken to read UTF-8. Bytes that are none are escaped, too: as a part of something else, or to a
// terminal of another kind, 0x9b begins a command.
//
//   "a\n\033[2Jb\x9bc"   →   a\012\033[2Jb\233c        "naïve"   →   naïve
//
// The form is that of `ls -b` and of the kernel's seq_escape().
#include "common/controls.h"

#include <unistd.h>

namespace kevt {
namespace {

EscapeWhen escape_when = EscapeWhen::Auto;

void append_octal(unsigned char byte, std::string& out) {
  out += '\\';
  out += static_cast<char>('0' + (byte >> 6));
  out += static_cast<char>('0' + (byte >> 3 & 7));
  out += static_cast<char>('0' + (byte & 7));
}

bool is_plain(std::string_view text) {
  for (char c : text)
    if (c < 0x20 || c == 0x7f) return false;  // above 0x7f a char is negative
  return true;
}

}  // namespace

void choose_escaping(EscapeWhen when) { escape_when = when; }

Controls controls_for(int fd) {
  const bool escapes = escape_when == EscapeWhen::Always || (escape_when == EscapeWhen::Auto && isatty(fd));
  return escapes ? Controls::Escaped : Controls::Raw;
}

bool is_control(char32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return true;
  return code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::size_t decode_utf8(std::string_view text, char32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  code = first;
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  code = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  return code < kLeast[length] || is_surrogate || code > 0x10ffff ? 0 : length;
}

void append_escaped(std::string_view text, std::string& out) {
  while (!text.empty()) {
    char32_t code = 0;
    const std::size_t length = decode_utf8(text, code);
    const std::string_view piece = text.substr(0, length ? length : 1);
    if (length && !is_control(code))
      out += piece;
    else
      for (char c : piece) append_octal(static_cast<unsigned char>(c), out);
    text.remove_prefix(piece.size());
  }
}

std::string escaped(std::string_view text) {
  std::string out;
  append_escaped(text, out);
  return out;
}

std::string escaped_lines(std::string_view text) {
  std::string out;
  for (;;) {
    const std::size_t end = text.find_first_of("\n\t");
    append_escaped(text.substr(0, end), out);
    if (end == std::string_view::npos) return out;
    out += text[end];
    text.remove_prefix(end + 1);
  }
}

void escape_from(std::size_t from, Controls controls, std::string& out) {
  if (controls == Controls::Raw || is_plain(std::string_view(out).substr(from))) return;
  const std::string clean = escaped(std::string_view(out).substr(from));
  out.replace(from, std::string::npos, clean);
}

}  // namespace kevt
