// Comparing two recordings: per event how many, how often, and percentiles of fields and latencies.
#pragma once

#include <string>
#include <vector>

#include "tracefs-compat/record/analysis/analysis.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

struct CompareRequest {
  std::vector<ValueName> values;          // percentiles of these
  std::vector<LatencyRequest> latencies;  // and of these times
};
// Reads both to their ends; the table as text, names in it as `controls` want them, or JSON. An error when neither has
// what is asked for.
Result<std::string> compare_recordings(RecordReader& a, RecordReader& b, const CompareRequest& request,
                                       Controls controls, AnswerForm form = AnswerForm::Text);

}  // namespace kevt::record
