// Sema: model + target + existing events → checked model. check_definition.cpp names the rules in order.
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

// The rules that an environment without enough knowledge leaves open, by what they ask.
enum class UncheckedRule : std::uint8_t {
  Function,    // does it exist exactly once; does an instruction start at the offset
  Address,     // does an instruction start there
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

// How forms are treated that only the target's types resolve, and kinds of probes that no runtime here runs.
enum class NewerForms : std::uint8_t {
  Refused,  // with UnsupportedForm
  Judged,   // checked as far as their text allows
};

// Whether the catalog holds all events. An event that a Partial catalog lacks is unknown, not missing.
enum class CatalogScope : std::uint8_t { Whole, Partial };

struct CheckRequest {
  dialect::Dialect dialect = dialect::Dialect::superset();
  NewerForms newer_forms = NewerForms::Refused;
  CatalogScope catalog = CatalogScope::Whole;
};

// A definition without mistakes, with default names and implied types filled in.
struct CheckedDefinition {
  model::Definition definition;
  std::uint64_t function_address = 0;  // start of the probed function; 0: not resolved (LookupFailure::NotChecked)
  std::uint64_t place_address = 0;     // function_address + offset, or the address given
  bool is_deferred = false;            // the place's module is not loaded: the probe is armed once it is loaded
  std::vector<Unchecked> unchecked;    // what the environment could not tell
};
// Fills default names and implied types, resolves the place, applies every rule of docs/language.md
// that the dialect has. nullopt if anything was reported, by this function or into the sink
// before: together with grammar::parse_line_leniently every mistake of a line is found, the kernel's
// first one first, one for each argument.
std::optional<CheckedDefinition> check_definition(model::Definition definition, const target::TargetEnv& env,
                                                  const target::EventCatalog& catalog, diag::Sink& sink,
                                                  CheckRequest request = {});

// The forms in a definition that not every kernel has; `definition` must have been read with the superset dialect.
struct FeatureUse {
  dialect::Feature feature;
  model::Span span;  // in the command
};
std::vector<FeatureUse> features_used(const model::Definition& definition);

// Binds every predicate to a field of `layout` or a generic field. `text` is the whole filter, for
// diagnostics. nullopt: a mistake was reported.
std::optional<model::FilterExpr> check_filter(model::FilterExpr filter, std::string_view text,
                                              const model::RecordLayout& layout, diag::Sink& sink);

}  // namespace kevt::sema
