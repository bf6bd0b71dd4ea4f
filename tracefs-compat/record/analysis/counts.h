// Counts: how often each text came, the most frequent ones first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracefs-compat/record/analysis/key_room.h"

namespace kevt::record {

// Bounded, by their number and by `room`: what comes first is kept, the rest counts as "(others)".
class Counts {
 public:
  static constexpr std::size_t kMaxKeys = 100'000;
  static constexpr std::string_view kOthers = "(others)";

  // `room`: of all tables of an analysis; it outlives them.
  explicit Counts(KeyRoom& room) : room_(&room) {}
  void add(const std::string& key, std::uint64_t by = 1) {
    const auto it = counts_.find(key);
    if (it != counts_.end())
      it->second += by;
    else if (counts_.size() < kMaxKeys && room_->take(KeyRoom::kNodeBytes + key.size()))
      counts_[key] += by;
    else
      counts_[std::string(kOthers)] += by;
  }
  // Most first, then by name.
  std::vector<std::pair<std::string, std::uint64_t>> top(std::size_t rows) const {
    std::vector<std::pair<std::string, std::uint64_t>> out(counts_.begin(), counts_.end());
    std::ranges::sort(out, [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    if (out.size() > rows) out.resize(rows);
    return out;
  }
  std::uint64_t of(const std::string& key) const {
    const auto it = counts_.find(key);
    return it == counts_.end() ? 0 : it->second;
  }
  std::size_t size() const { return counts_.size(); }
  void clear() {
    for (const auto& [key, count] : counts_)
      if (key != kOthers) room_->give_back(KeyRoom::kNodeBytes + key.size());
    counts_.clear();
  }

 private:
  KeyRoom* room_;
  std::unordered_map<std::string, std::uint64_t> counts_;
};

}  // namespace kevt::record
