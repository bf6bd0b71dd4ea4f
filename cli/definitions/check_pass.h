// Definitions and filters judged by their text, for one kernel or for all: what `kevtrace check` is about.
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

// One definition that is right.
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
  std::vector<sema::Unchecked> unchecked;  // each once
  std::size_t wrong_definitions = 0;
  bool not_judged = false;       // a form this version reads no further
  target::FixedCatalog catalog;  // of the events that are right
};

// Every definition against the ones before it, every filter against its event. `kernel` absent: the superset.
// What `env` does not know is not checked.
CheckResult check_texts(std::span<const Source> definitions, const Filters& filters,
                        std::optional<dialect::Kernel> kernel, const target::TargetEnv& env);

}  // namespace kevt::cli
