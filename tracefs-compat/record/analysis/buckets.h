// Hits by buckets of numbers: percentiles, and the axis of a heat map or of bars, which has few ranges of numbers
// without gaps, each of which takes whole buckets.
//
//   .log2 3 and 6 are there       5-8, 9-16, 17-32, 33-64
//   .buckets=10, 0-9 and 30-39    0-9, 10-19, 20-29, 30-39; with less room 0-19, 20-39
//   .loglinear                    parts of powers of two: 64-71, 72-79, …; with less room 64-79, …
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tracefs-compat/record/analysis/hist_file.h"

namespace kevt::record {

// `modifier`: of a key that is_measuring(); `buckets`: those that have hits, in any order; `most`: at least 1. Returns
// the lines from the least bucket to the greatest: at most `most`, but one for each power of two even if that is more.
std::vector<HistFileRange> bucket_lines(std::string_view modifier, std::span<const HistFileRange> buckets,
                                        std::size_t most);
// The index of the line that the bucket lies in; nullopt: in none.
std::optional<std::size_t> line_of(std::span<const HistFileRange> lines, const HistFileRange& bucket);

// Hits by bucket.
using BucketHits = std::map<HistFileRange, std::uint64_t>;
// The greatest number of the first bucket up to which at least `percent` of the hits are; 0 without hits.
std::uint64_t bucket_percentile(const BucketHits& buckets, unsigned percent);

}  // namespace kevt::record
