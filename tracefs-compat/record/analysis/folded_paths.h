// FoldedPaths: "comm;outer;inner" paths of a recording and what they weigh, as flame graphs and profiles have them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "tracefs-compat/record/analysis/call_pairs.h"
#include "tracefs-compat/record/analysis/key_room.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

class FoldedPaths {
 public:
  explicit FoldedPaths(const Metadata& metadata) : metadata_(metadata) {}  // `metadata` must outlive it
  void add(const TypedRecord& record);

  struct Folded {
    std::map<std::string, std::uint64_t> weights;
    std::string_view counts;  // what a weight is a number of: "stacks", "ns", "records"
  };
  // Of all that was added.
  Folded folded() const;

 private:
  using Weights = std::unordered_map<std::string, std::uint64_t>;
  void add_stack(const TypedRecord& record);
  void weigh(Weights& weights, std::string key, std::uint64_t weight);
  const std::string& name_of(std::int32_t pid, std::uint64_t address);

  const Metadata& metadata_;
  CallPairs calls_;
  KeyRoom room_;
  Weights stacks_, paths_, events_;
  std::map<std::pair<const Symbols*, std::uint64_t>, std::string> names_;
};

}  // namespace kevt::record
