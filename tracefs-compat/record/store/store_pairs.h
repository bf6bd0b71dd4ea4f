// SlicePairs: which record ends what which other one began: function entry and return, by task.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tracefs-compat/record/event_format.h"
#include "tracefs-compat/record/store/store_chunk.h"

namespace kevt::record {

// What a record of an event does to its task's open slices. The key is a field's number (the probed function's
// address), or one of the event's own where names pair them: sys_enter_X and sys_exit_X, X_entry and X_exit, X_begin
// and X_end.
struct PairRule {
  enum class Role : std::uint8_t { None, Opens, Closes } role = Role::None;
  const Field* field = nullptr;
  std::uint64_t key = 0;
};
PairRule pair_rule(const EventFormat& event);
std::uint64_t pair_key(const PairRule& rule, std::span<const std::uint8_t> bytes);

class SlicePairs {
 public:
  struct Opened {
    std::uint32_t depth = 0;
  };
  struct Closed {
    Row begin = 0;
    std::uint64_t begin_ns = 0;
    std::uint32_t depth = 0;
    std::uint32_t event = 0;  // that began it
  };
  struct Step {
    Row row = 0;
    std::uint64_t time_ns = 0;
    std::uint32_t task = 0;
    std::uint32_t event = 0;
    std::uint64_t key = 0;
  };
  Opened open(const Step& step);
  std::optional<Closed> close(const Step& step);

 private:
  struct Open {
    std::uint64_t key;
    std::uint64_t time_ns;
    Row row;
    std::uint32_t event;
  };
  struct Task {
    std::vector<Open> stack;
    std::uint32_t epoch = 0;
    std::uint64_t closed_key = 0;  // by the last close, with nothing opened since
    std::uint32_t closed_by = ~0u;
  };
  void forget_never_closed(Task& task);

  static constexpr std::size_t kMaxOpen = 64;
  static constexpr std::size_t kMaxKeys = 1 << 20;  // looked at and not answered yet: more are no functions
  static constexpr std::uint32_t kTrials = 8;       // openings after which a key that was never closed is given up
  std::vector<Task> tasks_;
  std::unordered_map<std::uint64_t, std::uint32_t> unanswered_;  // openings of keys that were not closed yet
  std::unordered_set<std::uint64_t> answered_, never_;
  std::uint32_t epoch_ = 0;
};

}  // namespace kevt::record
