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

// The types that are known at a definition's place.
struct PlaceTypes {
  target::TypeSource source = target::TypeSource::None;
  std::optional<target::FunctionTypes> function;
  std::string why;  // why there is no `function`; may be empty
};

// The argument as it was written: a view of the definition's command.
std::string_view argument_word(const model::Definition& definition, const model::FetchArg& arg);
// Reports `finding` at the argument's column. Its note is the function's prototype, or why that is not known.
void report_argument_word(DefinitionCheck& check, const PlaceTypes& place, Finding finding, const model::FetchArg& arg);

// Replaces `$arg*` and `$argN` among the definition's arguments. False: a mistake was reported, and the arguments must
// not be resolved.
bool expand_argument_words(DefinitionCheck& check, const PlaceTypes& place);

}  // namespace kevt::sema
