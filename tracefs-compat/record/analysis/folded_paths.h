// FoldedPaths: "comm;outer;inner" paths of a recording and what they weigh, as flame graphs and profiles have them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracefs-compat/record/analysis/analysis.h"
#include "tracefs-compat/record/analysis/call_pairs.h"
#include "tracefs-compat/record/analysis/call_tree.h"
#include "tracefs-compat/record/analysis/key_room.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

// What a path weighs.
struct FoldRequest {
  enum class By : std::uint8_t {
    WhatIsThere,  // stacks; without any the time of calls; without any the records
    Stacks,       // or records, where there are no stacks: their number
    Time,         // nanoseconds in calls, those inside them left out
    Value         // the sum of a value: of the record that a stack belongs to, or of records
  } by = By::WhatIsThere;
  ValueName value = {};  // a number; a negative one weighs nothing
};

class FoldedPaths {
 public:
  explicit FoldedPaths(const Metadata& metadata, FoldRequest request = {})  // `metadata` must outlive it
      : metadata_(metadata), request_(std::move(request)) {}
  void add(const TypedRecord& record);
  // What would do instead of records: the stacks of all events, where the recording has stacks.
  static std::vector<CountWish> wishes(const Metadata& metadata);
  // `dropped`: hits whose stack had no room.
  void add(std::span<const CountedStack> stacks, std::uint64_t dropped);
  // What is not in the result, if anything.
  std::optional<std::string> note() const;

  struct Folded {
    PathWeights weights;
    std::string counts;  // what a weight is a number of: "stacks", "ns", "records", or the value's name
  };
  // Of all that was added.
  Folded folded() const;

 private:
  using Weights = std::unordered_map<std::string, std::uint64_t>;
  void add_stack(const TypedRecord& record);
  std::string path_of(std::string_view comm, std::uint64_t thread, std::span<const std::uint64_t> addresses);
  void weigh(Weights& weights, std::string key, std::uint64_t weight);
  const std::string& name_of(std::uint64_t thread, std::uint64_t address);

  std::uint64_t weight_of(const TypedRecord& record) const;
  PathWeights calls_that_return() const;

  const Metadata& metadata_;
  FoldRequest request_;
  std::unordered_map<std::uint64_t, std::uint64_t>
      last_;  // by thread: the weight of its newest record that is no stack
  CallPairs calls_;
  KeyRoom room_;
  Weights stacks_, paths_, events_;
  std::uint64_t sums_[3] = {};  // of each of them
  std::uint64_t dropped_ = 0;
  std::map<std::pair<const Symbols*, std::uint64_t>, std::string> names_;
};

}  // namespace kevt::record
