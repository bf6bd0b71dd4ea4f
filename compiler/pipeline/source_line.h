// A definition whose place is a line of the source stands for uprobes at all places of the line's statement, in the
// kernel's own language; variables by their names become fetch arguments.
//
//   p:ev app:shapes.c:42 scale s->w name=s->label:string
//   ─►  p:ev /usr/bin/app:0x11b4 scale=+12(%sp):s32 w=+8(%bx):s32 name=+0(+16(%bx)):string
//   p:ev app:area_of:3 $vars                                    the line that is 3 lines below the function's first one
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/model/histogram.h"
#include "compiler/target/target_env.h"

namespace kevt::pipeline {

// The parts of FILE:SOURCE:LINE, SOURCE being a source file or a function.
struct LineName {
  std::string_view file, source;
  std::uint32_t line = 0;
};
std::optional<LineName> line_name(std::string_view place);
// The line that is the place of the definition `line`; nullopt: the place is no line.
std::optional<LineName> line_in(std::string_view line);

// The default event name of a definition with a line: `main_L3`, `shapes_c_L42`; nullopt: a name is written, or the
// place is no line.
std::optional<model::EventName> nameless_line(std::string_view line);

// One line for each place. nullopt: `line` names no line of a source, or the target cannot tell, and the definition
// stays as it is. An error: a mistake in the definition, or a line or variable that the target does not have.
std::expected<std::optional<std::vector<std::string>>, diag::Diagnostic> expand_line(std::string_view line,
                                                                                     const target::TargetEnv& env);

}  // namespace kevt::pipeline
