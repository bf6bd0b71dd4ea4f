// `PATH->*` and `PATH.*`: all members of a structure, each an argument of its own.
//
//   p:open do_filp_open op->*           op->open_flag op->mode op->acc_mode op->intent op->lookup_flags
//   p:ev app:shapes.c:42 s->* t->*      w=… h=… and, where a name is taken already, t_w=… t_h=…
//
// Members that no argument can hold are left out: structures, unions, and what cannot be read at the place.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/diag/diagnostic.h"
#include "compiler/target/target_env.h"

namespace kevt::pipeline {

// The path and its last separator, "op->" of `op->*`; nullopt: the word is not of this form.
std::optional<std::string_view> path_of_all_members(std::string_view word);

// A word of this form with a name or a type, which several arguments cannot have: what is wrong with it; empty:
// nothing.
std::string_view all_members_misuse(std::string_view word);

// The line with members in place of such words, of a definition at a function's entry or return; nullopt: it has none,
// or the environment knows no types. An error: the path leads to no structure.
std::expected<std::optional<std::string>, diag::Diagnostic> expand_all_members(std::string_view line,
                                                                               const target::TargetEnv& env);

// For --kernel: kernels take one member at a time.
std::optional<diag::Diagnostic> all_members_mistake(std::string_view line);

}  // namespace kevt::pipeline
