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
// first diagnostic reported is the kernel's; further ones, if any, are not `logged`.
// What only a kernel can run (`.function`, `CPUS{}`) is refused or judged as the request says. `functions` knows those
// that a filter names; nullptr: nobody does, and any name is good.
std::optional<model::FilterExpr> compile_filter(std::string_view text, const model::RecordLayout& layout,
                                                diag::Sink& sink, CheckRequest request = {},
                                                const target::TargetEnv* functions = nullptr);
// Holds it a predicate that was only judged? Such a filter cannot be lowered.
bool is_only_judged(const model::FilterExpr& filter);
// Functions that a bound filter names and `env` cannot look up.
std::vector<Unchecked> unchecked_functions(const model::FilterExpr& filter, const target::TargetEnv& env);

// What an event's filter file reads after `mistake` (docs/language.md): the text, a caret, the message. The
// caret never stands right of the text's end, unlike the one in error_log.
std::string filter_file_text(const diag::Diagnostic& mistake);

// The shortest text that parses to the same tree: `a > 3 && !(b == 1 || c ~ "x*")`. For a bound tree what
// the user wrote is printed, not what it was bound to.
std::string print_filter(const model::FilterExpr& filter);

}  // namespace kevt::sema
