#include "runtime-user/engine/histograms/hist_percentiles.h"

#include <map>

namespace kevt::engine {

namespace {

using Buckets = std::map<std::uint64_t, std::uint64_t>;  // hits by the bucket's begin

// The first bucket up to whose end at least `percent` of the hits are.
std::uint64_t value_at(const Buckets& buckets, std::uint64_t hits, unsigned percent) {
  const std::uint64_t wanted = hits / 100 * percent + (hits % 100 * percent + 99) / 100;  // rounded up
  std::uint64_t so_far = 0;
  for (const auto& [begin, count] : buckets) {
    so_far += count;
    if (so_far >= wanted) return model::log_linear_end(begin);
  }
  return 0;
}

}  // namespace

std::optional<std::size_t> log_linear_key(const model::Histogram& histogram) {
  if (histogram.top != 0) return std::nullopt;  // some of the buckets are not there
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < histogram.keys.size(); ++i) {
    if (histogram.keys[i].modifier != model::HistModifier::LogLinear) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

std::vector<HistPercentiles> hist_percentiles(const HistSnapshot& snapshot) {
  const auto measured = log_linear_key(snapshot.trigger.histogram);
  if (!measured) return {};
  std::map<std::vector<HistCell>, Buckets> groups;
  for (const HistSnapshot::Row& row : snapshot.rows) {
    std::vector<HistCell> others = row.keys;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(*measured));
    groups[std::move(others)][row.keys[*measured].number] += row.hits;
  }
  std::vector<HistPercentiles> all;
  for (const auto& [others, buckets] : groups) {
    std::uint64_t hits = 0;
    for (const auto& [begin, count] : buckets) hits += count;
    HistPercentiles& one = all.emplace_back(HistPercentiles{.others = others, .values = {}});
    for (std::size_t i = 0; i < kPercentiles.size(); ++i)
      one.values[i] = value_at(buckets, hits, kPercentiles[i].percent);
  }
  return all;
}

}  // namespace kevt::engine
