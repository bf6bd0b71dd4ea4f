// A definition whose place is a function of a file stands for a uprobe at the function's first instruction, in the
// kernel's own language: this is how functions of programs are named where the kernel runs the probe, which takes
// offsets only. Parameters by their names become fetch arguments, and so do `$arg1` and on.
//
//   p:ev /usr/bin/app:area_of scale s->w n=$arg2     ─►  p:ev /usr/bin/app:0x11b4 scale=%dx:s32 w=+8(%di):s32 n=%si
//   r:ev /usr/bin/app:area_of got=$retval:s32        ─►  r:ev /usr/bin/app:0x11b4 got=$retval:s32
//   p /usr/bin/app:Shape::area+4                     ─►  p:Shape_area /usr/bin/app:0x1204
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/model/histogram.h"
#include "compiler/target/target_env.h"

namespace kevt::pipeline {

// The parts of PATH:FUNCTION[+OFFSET][%return].
struct FileFunction {
  std::string_view path, function;
  std::string_view offset;  // with its sign; empty: none
  std::string_view behind;  // "%return"
};
// nullopt: the place is none; a number behind the colon is the kernel's own PATH:OFFSET.
std::optional<FileFunction> function_in_file(std::string_view place);

// The default event name of such a definition: `area_of`, `area_of__return`; nullopt: a name is written, or the place
// is no function of a file.
std::optional<model::EventName> nameless_file_function(std::string_view line);

// nullopt: `line` names no function of a file, or the target cannot tell, and the definition stays as it is. An error:
// a mistake in the definition, or a function or parameter that the file does not have.
std::expected<std::optional<std::vector<std::string>>, diag::Diagnostic> expand_file_function(
    std::string_view line, const target::TargetEnv& env);

}  // namespace kevt::pipeline
