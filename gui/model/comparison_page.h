// Writes two recordings compared as a page (compare_html.h).
#pragma once

#include <string>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/record/analysis/analysis.h"

namespace kevt::gui {

// Reads both to their ends. `before`, `now`: files, or addresses of a fleet; `values`: those that percentiles and
// distributions are told of, as far as either has them; `align_on`: as CompareRequest has it. What could not be read is
// in the error.
Result<void> writeComparison(const std::string& before, const std::string& now,
                             const std::vector<record::ValueName>& values, const std::string& align_on,
                             const std::string& page);

}  // namespace kevt::gui
