// Random conditions over given values, aimed at holding about half of the time.
#pragma once

#include "tests/support/random_program.h"

namespace kevt::test {

struct ConditionOperands {
  const ir::Program& program;
  const std::vector<ir::ValueId>& integers;  // not empty
  const std::vector<ir::ValueId>& texts;
  const RandomOptions& options;
};

// `depth`: levels left, at least 1.
ir::Condition random_condition(Random& random, const ConditionOperands& operands, std::uint32_t depth);

// A pattern of `kind` made from `word`, which it often matches; globs may be malformed.
std::string random_pattern(Random& random, model::GlobKind kind, const std::string& word);

}  // namespace kevt::test
