// Writes two recordings, or parts of them, compared as a page (compare_html.h).
#pragma once

#include <atomic>
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

// Reads both to their ends. Gives what could not be read of them, if anything.
Result<std::string> writeComparison(const ComparisonWish& wish, const std::atomic<bool>& cancelled);

// Both files are open beside one another (record/beside.h): `range` has moments of them together, none of them
// relative, and each part is the same time in its own file. Reads both as far as they are aligned.
Result<void> takeRangeOfBoth(const std::string& opened, const record::MomentRange& range, ComparisonWish& wish);

}  // namespace kevt::gui
