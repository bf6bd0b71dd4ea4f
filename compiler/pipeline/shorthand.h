// Short forms of definitions, and the lines of the kernel's own language that they mean (docs/adr/0032). They are
// replaced before parsing, so listings show only lines that a kernel accepts.
//
//   p:ev app:provider:marker n=$arg1          uprobes at all places of the marker (usdt.h)
//   p:ev app:shapes.c:42 scale s->w            uprobes at all places of the line, with its variables (source_line.h)
//   p:ev /usr/bin/app:area_of s->w             a uprobe at the function's first instruction (file_function.h)
//   p libc:*alloc n=%di                       a line for each function that matches (place_glob.h)
//   p:ev area_of s->*                         an argument for each member of the structure (all_members.h)
//   p:ev app:Shape::scale(int, double)        a name of the source, with blanks between its parentheses
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

// The event of a definition whose place is one of the first three, where the name or the group is not written; nullopt
// where both are, and for every other definition.
std::optional<model::EventName> shorthand_event(std::string_view line);
// If the definition's place is a marker, a line or a function of a file, a sentence that says so; else empty.
std::string_view what_shorthand_means(std::string_view line);

// Which globs in places are expanded. The files of a mount answer as a kernel's do, and a kernel refuses each of them:
// there only globs in a named program or library count, which no kernel's line means.
enum class Globs : std::uint8_t { All, OfNamedFiles };

// Whether the place is PATH:FUNCTION. It is a uprobe's, so the file kprobe_events does not take it.
bool is_function_of_file(std::string_view line);

// The lines that replace `line`; nullopt: `line` is no short form and stays. An error: a mistake in a short form.
std::expected<std::optional<std::vector<std::string>>, diag::Diagnostic> expand_shorthand(std::string_view line,
                                                                                          const target::TargetEnv& env,
                                                                                          Globs globs = Globs::All);

}  // namespace kevt::pipeline
