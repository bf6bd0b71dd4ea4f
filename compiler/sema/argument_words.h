// The words `$arg*` and `$argN`, which a kernel replaces by the names of the function's parameters before it reads
// them. Mirrors traceprobe_expand_meta_args() of kernel/trace/trace_probe.c (6.12, 7.3).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/sema/definition_check.h"
#include "compiler/target/target_env.h"

namespace kevt::sema {

inline constexpr std::string_view kArgumentWord = "$arg";

// What is known of the types at a definition's place.
struct PlaceTypes {
  target::TypeSource source = target::TypeSource::None;
  std::optional<target::FunctionTypes> function;
  std::string why;  // there is none
};

// The argument as it was written.
std::string_view argument_word(const model::Definition& definition, const model::FetchArg& arg);
// At the word's column, with the function's prototype, or why it is not known, as its note.
void report_argument_word(DefinitionCheck& check, const PlaceTypes& place, Finding finding, const model::FetchArg& arg);

// Replaces the definition's arguments. False: a mistake is reported, and the arguments are not looked at.
bool expand_argument_words(DefinitionCheck& check, const PlaceTypes& place);

}  // namespace kevt::sema
