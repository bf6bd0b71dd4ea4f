// Writes two recordings, or parts of them, compared as a page (compare_html.h).
#pragma once

#include <string>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/record/analysis/analysis.h"
#include "tracefs-compat/record/analysis/query.h"

namespace kevt::gui {

struct ComparedPart {
  std::string path;  // a file, or an address of a fleet
  record::MomentRange range = {};
};

struct ComparisonWish {
  ComparedPart before, now;
  std::string align_on = {};                   // as CompareRequest has it
  std::vector<record::ValueName> values = {};  // that percentiles and distributions are told of, if either has them
  std::string page = {};                       // the file
};

// Reads both to their ends. What could not be read is in the error.
Result<void> writeComparison(const ComparisonWish& wish);

// Both files are open beside one another (record/beside.h): `range` has times of them together, in nanoseconds, and
// each part the same times in its own file. Reads both as far as they are aligned.
Result<void> takeRangeOfBoth(const std::string& opened, const record::MomentRange& range, ComparisonWish& wish);

}  // namespace kevt::gui
