// Comparing two recordings: per event how many, how often, and percentiles of fields and latencies.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tracefs-compat/record/analysis/analysis.h"
#include "tracefs-compat/record/analysis/folded_paths.h"
#include "tracefs-compat/record/analysis/histogram.h"
#include "tracefs-compat/record/analysis/query.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

struct CompareRequest {
  std::vector<ValueName> values;          // percentiles of these
  std::vector<LatencyRequest> latencies;  // and of these times
  bool wants_paths = false;               // tasks and paths of calls, too
  // An event: both are compared from their first record of it on, as long as both go on. Empty: all that is read.
  std::string align_on;
};

struct RecordingSummary {
  std::map<std::string, std::uint64_t> events, tasks;  // records by SYSTEM:NAME, and by the thread's name
  std::vector<Histogram> histograms;                   // values, then latencies
  FoldedPaths::Folded paths;
  double seconds = 0;  // of the part that was asked for (QueriedReader::length_ns); or between first and last record
  std::optional<std::uint64_t> from_ns, to_ns;  // that part's ends
};

struct Comparison {
  CompareRequest request;
  RecordingSummary a, b;
  double aligned_seconds = 0;  // with CompareRequest::align_on: how much of each is compared

  // Of a histogram: its value's name, or its two events.
  std::string head_of(std::size_t histogram) const;
};

// What each recording has of something, by its name.
using CountsOfBoth = std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>;
CountsOfBoth in_both(const std::map<std::string, std::uint64_t>& a, const std::map<std::string, std::uint64_t>& b);
// "+12.0%", "new", "gone", "=".
std::string change_text(double a, double b);
// Records a second.
double rate_of(std::uint64_t records, double seconds);

// Reads both to their ends, twice to align them. An error when neither has what is asked for, or one lacks the event to
// align on.
Result<Comparison> compare_recordings(QueriedReader& a, QueriedReader& b, const CompareRequest& request);
// "A from 12.000000 to 13.500000; all of B", "1.500000 s of each, from the first gc_begin on"; empty where all of both
// is compared.
std::string compared_text(const Comparison& both);
// The table as text, names in it as `controls` want them; the same as JSON.
std::string comparison_text(const Comparison& both, Controls controls);
std::string comparison_json(const Comparison& both);

}  // namespace kevt::record
