// A comparison of two recordings as one HTML file that needs nothing beside it: tables, distributions as pictures, and
// a flame graph of what has changed.
#pragma once

#include <string>

#include "tracefs-compat/record/analysis/compare.h"

namespace kevt::record {

// What is said of a recording.
struct ComparedRecording {
  std::string name;  // a file, or an address
  const Metadata* metadata = nullptr;
};

// `both` was made with CompareRequest::wants_paths.
std::string comparison_html(const Comparison& both, const ComparedRecording& a, const ComparedRecording& b);

}  // namespace kevt::record
