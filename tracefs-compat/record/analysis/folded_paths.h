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
// Of a word: "" what is there, "hits" stacks, "time", or a value's name.
FoldRequest parse_fold_request(const std::string& weight);

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
  using Weights = std::unordered_map<std::string, std::uint64_t>;  // an entry stays where it is
  struct Sums {
    Weights weights;
    std::uint64_t sum = 0;  // of all
  };
  // What has been made of a thread's records, so that its next ones need no text: most of them are of a path that was
  // there before.
  struct ThreadPaths {
    struct OfEvent {
      const EventFormat* event;
      std::uint64_t* weight;
    };
    std::string comm;
    std::uint32_t calls = 0;  // the node of paths_known_ where its calls begin
    std::vector<OfEvent> events;
  };
  // A call in a call …: by the node of the outer one and the function's address.
  struct PathNode {
    std::uint32_t outer;
    std::uint64_t function;
    bool operator==(const PathNode&) const = default;
  };
  struct PathNodeHash {
    std::size_t operator()(const PathNode& node) const {
      return (node.function ^ node.outer * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu >> 7;
    }
  };
  struct PathKnown {
    std::uint32_t number = 0;
    std::uint64_t* weight = nullptr;  // nullptr: no call of this path has ended yet
  };
  void add_stack(const TypedRecord& record);
  std::string path_of(std::string_view comm, std::uint64_t thread, std::span<const std::uint64_t> addresses);
  std::uint64_t& slot_of(Sums& sums, std::string key);
  static void weigh(Sums& sums, std::uint64_t& slot, std::uint64_t weight);
  ThreadPaths& paths_of(const TypedRecord& record);
  std::uint64_t& events_slot(ThreadPaths& thread, const TypedRecord& record);
  std::uint64_t& calls_slot(const TypedRecord& record, const Call& call);
  void forget_paths();
  const std::string& name_of(std::uint64_t thread, std::uint64_t address);

  std::uint64_t weight_of(const TypedRecord& record) const;
  PathWeights calls_that_return() const;

  const Metadata& metadata_;
  FoldRequest request_;
  std::unordered_map<std::uint64_t, std::uint64_t>
      last_;  // by thread: the weight of its newest record that is no stack
  CallPairs calls_;
  KeyRoom room_;
  Sums stacks_, paths_, events_;
  std::unordered_map<std::uint64_t, ThreadPaths> threads_;  // by TypedRecord::thread()
  std::unordered_map<PathNode, PathKnown, PathNodeHash> paths_known_;
  std::uint32_t nodes_ = 0;  // numbers that were given
  std::uint64_t dropped_ = 0;
  std::map<std::pair<const Symbols*, std::uint64_t>, std::string> names_;
};

}  // namespace kevt::record
