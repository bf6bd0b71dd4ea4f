// The problem: users' texts are bytes, not always UTF-8, and columns of error_log are bytes.
//
// The idea: give ANTLR the UTF-8 encoding of the text read as Latin-1. A character's index is then its
// byte's, any byte is legal, and the grammars can name the bytes the kernel's ctype table takes for letters.
//
//   "\xc3\xa9"  two characters, U+00C3 U+00A9
#include "grammar/antlr_input.h"

namespace kevt::grammar {

std::string as_latin1(std::string_view bytes) {
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

}  // namespace kevt::grammar
