// Sema: model + world → checked model. One rule per file; this page names them all in order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/dialect/dialect.h"
#include "compiler/model/definition.h"
#include "compiler/model/filter.h"
#include "compiler/model/record_layout.h"
#include "compiler/target/event_catalog.h"
#include "compiler/target/target_env.h"

namespace kevt::sema {

// Rules that need what nobody knows here.
enum class UncheckedRule : std::uint8_t {
  Function,    // does it exist, once; is the offset an instruction's
  Address,     // is there an instruction
  File,        // does it exist
  Tracepoint,  // does it exist
  Event,       // the event an eprobe attaches to, and its fields
  Data,        // does the data symbol exist
  Types,       // of arguments and fields
};
struct Unchecked {
  UncheckedRule rule;
  std::string what;  // as written; may be empty
};

// What becomes of forms that only the target's types resolve, and of kinds of probes that nobody runs.
enum class NewerForms : std::uint8_t {
  Refused,  // UnsupportedForm: there is nobody to resolve them
  Judged,   // as far as their text goes
};

// Does the catalog hold all events there are? What it lacks is missing, or merely unknown.
enum class CatalogScope : std::uint8_t { Whole, Partial };

struct CheckRequest {
  dialect::Dialect dialect = dialect::Dialect::superset();
  NewerForms newer_forms = NewerForms::Refused;
  CatalogScope catalog = CatalogScope::Whole;
};

// Fills default names and implied types, resolves the place, applies every rule of docs/language.md
// and B that the dialect has. nullopt when anything was reported, by this function or into the sink
// before: together with grammar::parse_line_leniently every mistake of a line is found, the kernel's
// first one first, one for each argument.
struct CheckedDefinition {
  model::Definition definition;
  std::uint64_t function_address = 0;  // start of the probed function; 0: not resolved (LookupFailure::NotChecked)
  std::uint64_t place_address = 0;     // function_address + offset, or the address given
  bool is_deferred = false;            // the place's module is not loaded: the probe is armed when it is
  std::vector<Unchecked> unchecked;    // what the environment could not tell
};
std::optional<CheckedDefinition> check_definition(model::Definition definition, const target::TargetEnv& env,
                                                  const target::EventCatalog& catalog, diag::Sink& sink,
                                                  CheckRequest request = {});

// The forms a definition uses that not every kernel has; `definition` was read with the superset.
struct FeatureUse {
  dialect::Feature feature;
  model::Span span;  // of the command
};
std::vector<FeatureUse> features_used(const model::Definition& definition);

// Binds every predicate to a field of `layout` or a generic field. `text` is the whole filter, for
// diagnostics.
std::optional<model::FilterExpr> check_filter(model::FilterExpr filter, std::string_view text,
                                              const model::RecordLayout& layout, diag::Sink& sink);

}  // namespace kevt::sema
