// Text of others on its way to a reader: what a terminal would obey is escaped where a terminal reads.
//
// A traced string, a thread's name, a path or a symbol may hold anything: `\033]52;…` sets a clipboard, a line end
// forges a line. Files get the bytes as they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kevt {

enum class Controls : std::uint8_t { Raw, Escaped };
enum class EscapeWhen : std::uint8_t { Auto, Always, Never };  // Auto: where a terminal reads

// For this process; Auto until it is called.
void choose_escaping(EscapeWhen when);
// Which form to write to this descriptor.
Controls controls_for(int fd);

// A code point that a terminal acts on, or that changes the order in which others are shown.
bool is_control(char32_t code);

// Appends `text`: each byte of a control character, and each byte that is not UTF-8, as `\ooo`; all else as it is, `\`
// too.
void append_escaped(std::string_view text, std::string& out);
std::string escaped(std::string_view text);
// The same for a text that has lines of its own: line ends and tabs stay.
std::string escaped_lines(std::string_view text);
// The same, in place, for the bytes of `out` from `from` on: a line without its end. Does nothing when `controls` are
// Raw.
void escape_from(std::size_t from, Controls controls, std::string& out);

// The length of the UTF-8 sequence at the front, and its code point; 0: there is none. `text` is not empty.
std::size_t decode_utf8(std::string_view text, char32_t& code);

}  // namespace kevt
