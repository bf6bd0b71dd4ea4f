// Variables of a program and what they lead to, as fetch arguments at one place.
//
//   scale             +12(%sp) of type s32           this->name_   a std::string:  +0(+0(+8(%bx))) of type string
//   shapes[2].w       +40(%sp) of type s32           s->corner[1]  +20(%bx) of type s32
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target/line_places.h"

namespace kevt::pipeline {

struct VariableFetch {
  std::string operand;  // "+8(%bx)"
  std::string type;     // ":s32"; of a path with a written type: that type
};

// A structure or a union.
bool is_structure(const target::Type& type);
// Whether `text` is written as a path: it begins with a letter.
bool is_variable_path(std::string_view text);
// The variable at which the path begins: "s" of `s->corner[1]`.
std::string_view variable_of_path(std::string_view path);
// The last name in the path: "corner".
std::string_view last_name_of_path(std::string_view path);

// `type`: as written, with its ':'; empty: the variable's own. An error says what is wrong with the path, or why the
// variable cannot be read at `place`.
std::expected<VariableFetch, std::string> fetch_of_path(std::string_view path, std::string_view type,
                                                        const target::LinePlace& place, const target::TypeTable& types);

// The names of the members of the structure behind a path that ends in `->` or `.`, with those of anonymous structures
// in it and of bases.
std::expected<std::vector<std::string>, std::string> members_at_path(std::string_view path,
                                                                     const target::LinePlace& place,
                                                                     const target::TypeTable& types);

// What stands in `+8(PATH)`: a pointer's value, or a number's.
std::expected<std::string, std::string> address_of_path(std::string_view path, const target::LinePlace& place,
                                                        const target::TypeTable& types);

}  // namespace kevt::pipeline
