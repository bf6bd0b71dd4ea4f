// Globs in places: a definition for each function that the glob matches.
//
//   p libc:*alloc        p libc:malloc, p libc:calloc, …: an event each, named as if written one by one
//   p:mem libc:*alloc    all of them probes of the one event `mem`
//   p:a_* libc:*alloc    an event each: a_malloc, a_calloc, …
//
// Behind a path (`p /lib/libc.so.6:*alloc`) expand_file_function() does it.
// A function that has several names (open, open64, __open) counts once. Functions that cannot be probed are left out,
// and so are names that several functions have.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/target/line_places.h"
#include "compiler/target/target_env.h"

namespace kevt::pipeline {

using target::kMostGlobbed;

// Whether the line is a `p`, `r` or `f` definition whose place looks like a glob.
bool has_place_glob(std::string_view line);

// Whether that place names the file whose functions are meant: `libc:*alloc`.
bool names_file(std::string_view line);

// What a kernel says of such a line; nullopt: it is none.
std::optional<diag::Diagnostic> place_glob_mistake(std::string_view line);

// The lines that replace `line`, a `p`, `r` or `f` definition; nullopt: its place is no glob, or has a path, or the
// target has a function of that very name (`operator*`), or knows none at all. An error: nothing matches, or too much.
std::expected<std::optional<std::vector<std::string>>, diag::Diagnostic> expand_place_glob(
    std::string_view line, const target::TargetEnv& env);

}  // namespace kevt::pipeline
