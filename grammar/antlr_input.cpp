// The problem: users' texts are bytes, not always UTF-8, and columns of error_log are bytes. ANTLR's own input decodes
// UTF-8 into a copy of 32-bit characters, and its indices count those.
//
// The idea: hand out the bytes themselves. A character's index is then its byte's, any byte is legal, and the grammars
// can name the bytes the kernel's ctype table takes for letters.
//
//   "\xc3\xa9"  two characters, U+00C3 U+00A9
#include "grammar/antlr_input.h"

#include <algorithm>

namespace kevt::grammar {
namespace {

std::string as_utf8(std::string_view bytes) {
  std::string utf8;
  utf8.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      utf8.push_back(c);
    } else {
      utf8.push_back(static_cast<char>(0xc0 | (byte >> 6)));
      utf8.push_back(static_cast<char>(0x80 | (byte & 0x3f)));
    }
  }
  return utf8;
}

}  // namespace

size_t ByteStream::LA(ssize_t offset) {
  if (offset == 0) return 0;
  // LA(1) is the next byte, LA(-1) the one before.
  const auto index = static_cast<ssize_t>(at_) + offset - (offset > 0 ? 1 : 0);
  if (index < 0 || index >= static_cast<ssize_t>(text_.size())) return IntStream::EOF;
  return static_cast<unsigned char>(text_[static_cast<std::size_t>(index)]);
}

std::string ByteStream::getText(const antlr4::misc::Interval& interval) {
  if (interval.a < 0 || interval.b < interval.a || static_cast<std::size_t>(interval.a) >= text_.size()) return "";
  const auto begin = static_cast<std::size_t>(interval.a);
  const auto last = std::min(static_cast<std::size_t>(interval.b), text_.size() - 1);
  return as_utf8(text_.substr(begin, last - begin + 1));
}

std::string ByteStream::toString() const { return as_utf8(text_); }

}  // namespace kevt::grammar
