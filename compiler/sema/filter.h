// Filters of one event: text or tree → tree bound to the record's fields, with the kernel's mistakes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/diag/diagnostic.h"
#include "compiler/model/filter.h"
#include "compiler/model/record_layout.h"
#include "compiler/sema/sema.h"

namespace kevt::sema {

// Parses and binds in the kernel's order: an unknown field wins over a syntax mistake to its right. The
// first diagnostic reported is the kernel's; further ones, if any, are not `logged`. nullopt: a mistake was reported.
// Forms that only a kernel can run (`.function`, `CPUS{}`) are refused or judged as the request says. `functions` looks
// up the functions that a filter names; nullptr: they are not looked up, and any name is accepted.
std::optional<model::FilterExpr> compile_filter(std::string_view text, const model::RecordLayout& layout,
                                                diag::Sink& sink, CheckRequest request = {},
                                                const target::TargetEnv* functions = nullptr);
// Whether a predicate of the filter was only judged (NewerForms::Judged). Such a filter cannot be lowered.
bool is_only_judged(const model::FilterExpr& filter);
// Functions that a bound filter names and `env` cannot look up.
std::vector<Unchecked> unchecked_functions(const model::FilterExpr& filter, const target::TargetEnv& env);

// What an event's filter file reads after `mistake` (docs/language.md): the text, a caret, the message. The
// caret never stands right of the text's end, unlike the one in error_log.
std::string filter_file_text(const diag::Diagnostic& mistake);

// The shortest text that parses to the same tree: `a > 3 && !(b == 1 || c ~ "x*")`. For a bound tree the names and
// values that the user wrote are printed, not those they were bound to.
std::string print_filter(const model::FilterExpr& filter);

}  // namespace kevt::sema
