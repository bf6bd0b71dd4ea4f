// Checks definitions and filters by their text, for one kernel or for all. Used by `kevtrace check`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/reporter.h"
#include "compiler/dialect/dialect.h"
#include "compiler/model/filter.h"
#include "compiler/model/record_layout.h"
#include "compiler/sema/sema.h"
#include "compiler/target/fixed_target.h"

namespace kevt::cli {

// One correct definition.
struct RightDefinition {
  std::size_t source = 0;  // into the definitions given
  model::Definition definition;
  model::RecordLayout layout;
  std::string listing;
  std::optional<model::FilterExpr> filter;
  bool needs_types = false;  // the layout is a guess
};

struct CheckResult {
  std::vector<RightDefinition> right;
  std::vector<diag::Located> mistakes;
  std::vector<diag::Remark> remarks;
  std::vector<sema::Unchecked> unchecked;  // without repetitions
  std::size_t wrong_definitions = 0;
  bool not_judged = false;       // something has a form that this version does not read
  target::FixedCatalog catalog;  // the correct events
};

// Checks every definition against the ones before it, and every filter against its event. `kernel`: nullopt for the
// superset of all kernels.
// Names that `env` does not know are not checked.
CheckResult check_texts(std::span<const Source> definitions, const Filters& filters,
                        std::optional<dialect::Kernel> kernel, const target::TargetEnv& env);

}  // namespace kevt::cli
