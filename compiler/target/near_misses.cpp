// "`opne`: not found; is `libc.so.6:open` meant?"
//
// The distance counts edits, a swap of neighbours as one (opne → open is 1). Only a band of the usual
// table within the limit is filled, and names whose lengths differ by more than the limit are skipped, so all
// names of all loaded libraries can be compared (some 50 000 take a few ms).
// Not done: names that differ in their meaning, not in spelling (open for openat).
#include "compiler/target/near_misses.h"

#include <algorithm>
#include <array>

namespace kevt::target {
namespace {
constexpr unsigned kLimit = 2;
constexpr std::size_t kMost = 5;
constexpr std::size_t kLongestName = 255;
}  // namespace

unsigned edit_distance(std::string_view a, std::string_view b, unsigned limit) {
  const unsigned too_far = limit + 1;
  if (a.size() > kLongestName || b.size() > kLongestName) return a == b ? 0 : too_far;
  if (a.size() > b.size() + limit || b.size() > a.size() + limit) return too_far;
  std::array<std::array<unsigned, kLongestName + 1>, 3> rows;  // two rows back, for swaps
  for (unsigned j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (unsigned i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i + 2) % 3];
    const auto& above2 = rows[(i + 1) % 3];
    row[0] = i;
    unsigned least = i;
    for (unsigned j = 1; j <= b.size(); ++j) {
      const unsigned replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], above2[j - 2] + 1);
      least = std::min(least, row[j]);
    }
    if (least > too_far) return too_far;
  }
  return std::min(rows[a.size() % 3][b.size()], too_far);
}

void NearMisses::consider(std::string_view name, std::string_view module) {
  const unsigned limit = std::min<unsigned>(kLimit, static_cast<unsigned>(wanted_.size()) / 3 + 1);
  const unsigned distance = edit_distance(wanted_, name, limit);
  if (distance > limit) return;
  candidates_.push_back({distance, (module.empty() ? "" : std::string(module) + ":") + std::string(name)});
}

std::vector<std::string> NearMisses::best() const {
  std::vector<Candidate> sorted = candidates_;
  std::ranges::sort(sorted);
  const auto tail = std::ranges::unique(sorted);
  sorted.erase(tail.begin(), tail.end());
  std::vector<std::string> labels;
  for (const Candidate& candidate : sorted) {
    if (labels.size() == kMost) break;
    labels.push_back(candidate.label);
  }
  return labels;
}

}  // namespace kevt::target
