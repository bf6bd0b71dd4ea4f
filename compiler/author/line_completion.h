// Completions of lines of the source: PROGRAM:FILE:LINE, PROGRAM:FUNCTION:LINE, and the variables in sight there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/author/prototypes.h"
#include "compiler/author/suggestion.h"
#include "compiler/target/target_env.h"

namespace kevt::author {

// A place that names a line; `digits` is what is typed of its number.
struct LineWord {
  std::string_view module, source, digits;
};
// nullopt: the word is no such place.
std::optional<LineWord> line_word(std::string_view word);

// Source files of a program whose names begin as `word` has it, "app:sha": "app:shapes.c:".
std::vector<Suggestion> files_for(const target::TargetEnv& env, std::string_view word);
// Lines that can be probed and whose number begins with the digits, at most `most`; as whole places.
std::vector<Suggestion> lines_for(const target::TargetEnv& env, const LineWord& typed, std::size_t most);
// The line's variables whose name begins with `typed`.
std::vector<Suggestion> variables_at(const target::TargetEnv& env, const LineWord& line, std::string_view typed);
// Members of the structure that `path` leads to from a variable of the line: "s", "s->at".
std::vector<StructMember> members_at(const target::TargetEnv& env, const LineWord& line, std::string_view path);

}  // namespace kevt::author
