// Sema: model + world → checked model. One rule per file; this page names them all in order.
#pragma once

#include <optional>

#include "compiler/diag/diagnostic.h"
#include "compiler/model/definition.h"
#include "compiler/model/filter.h"
#include "compiler/model/record_layout.h"
#include "compiler/target/event_catalog.h"
#include "compiler/target/target_env.h"

namespace kevt::sema {

// Fills default names and implied types, resolves the place, applies every rule of language.md A
// and B that Debian's 6.1 has. nullopt when anything was reported, by this function or into the sink
// before: together with grammar::parse_line_leniently every mistake of a line is found, the kernel's
// first one first, one for each argument.
struct CheckedDefinition {
  model::Definition definition;
  std::uint64_t function_address = 0;  // start of the probed function; 0: not resolved (LookupFailure::NotChecked)
  std::uint64_t place_address = 0;     // function_address + offset, or the address given
  bool waits = false;                  // the place's module is not loaded: the probe is armed when it is
};
std::optional<CheckedDefinition> check_definition(model::Definition definition, const target::TargetEnv& env,
                                                  const target::EventCatalog& catalog, diag::Sink& sink);

// Binds every predicate to a field of `layout` or a generic field. `text` is the whole filter, for
// diagnostics.
std::optional<model::FilterExpr> check_filter(model::FilterExpr filter, std::string_view text,
                                              const model::RecordLayout& layout, diag::Sink& sink);

}  // namespace kevt::sema
