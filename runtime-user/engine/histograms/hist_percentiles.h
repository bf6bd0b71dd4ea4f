// Percentiles of a histogram by a `.loglinear` key.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime-user/engine/histograms/hist_snapshot.h"

namespace kevt::engine {

struct Percentile {
  std::string_view name;
  unsigned percent;
};
inline constexpr std::array<Percentile, 4> kPercentiles = {{{"p50", 50}, {"p90", 90}, {"p99", 99}, {"max", 100}}};

// Percentiles of the hits whose other keys are `others`. Each value is the greatest of its bucket: at most 1.6 % above
// the value that was hit.
struct HistPercentiles {
  std::vector<HistCell> others;  // by Histogram::keys, without the measured one
  std::array<std::uint64_t, kPercentiles.size()> values;
};

// The index of the `.loglinear` key; nullopt unless exactly one key is.
std::optional<std::size_t> log_linear_key(const model::Histogram& histogram);
// One for each combination of the other keys, sorted by them; empty without a `.loglinear` key.
std::vector<HistPercentiles> hist_percentiles(const HistSnapshot& snapshot);

}  // namespace kevt::engine
