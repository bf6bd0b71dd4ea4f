// Overview: how many records a fleet has when, without reading any: from the rollups.
//
//   kprobes/open    ▁▁▂▅█▇▂▁▁▁▃
//   kprobes/close   ▁▁▁▂▃▂▁▁▁▁▁
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"

namespace kevt::fleet {

// Times here are nanoseconds since 1970, by the best that is known of each host's clock.
struct TimeSpan {
  std::int64_t from_ns = 0, to_ns = 0;  // the end is not part of it
  bool operator==(const TimeSpan&) const = default;
};

inline constexpr std::int64_t kShortestBarNs = 1'000'000;

struct OverviewLine {
  std::string name;                 // SYSTEM/NAME of an event, or a host
  std::vector<std::uint64_t> hits;  // by bar
};

struct OverviewPicture {
  TimeSpan span;                    // of the bars, all of them
  std::int64_t width_ns = 1;        // of a bar
  std::uint64_t records = 0;        // in all bars
  std::vector<OverviewLine> lines;  // by name
};

// The newest part of a picture that has so many records at most, in whole bars; empty: not even the newest bar that has
// any is so small.
TimeSpan newest_part(const OverviewPicture& picture, std::uint64_t most_records);

class Overview {
 public:
  enum class By : std::uint8_t { Event, Host };
  static constexpr std::size_t kMostBars = 10'000;

  virtual ~Overview() = default;
  // From the first record to the last; both times are the same where there is none.
  virtual TimeSpan all() const = 0;
  // Of 1970 to the times that readers of the same address show (Meant::zero_ns).
  virtual std::int64_t zero_ns() const = 0;
  // At most so many bars (two at least), of whole steps, over the span or a little more of it. Bars are kShortestBarNs
  // at least.
  virtual Result<OverviewPicture> count(TimeSpan span, std::size_t bars, By by) = 0;
};

// The newest part of all times that has so many records at most, asked for in ever shorter bars; nullopt: all of it has
// no more. Where even the shortest bar has more, or `is_stopped` says so, that bar.
Result<std::optional<TimeSpan>> find_newest_part(Overview& overview, std::uint64_t most_records,
                                                 const std::function<bool()>& is_stopped);

// Asks the servers of the address for their recordings. One thread at a time may use it.
// `is_stopped` ends any question to them, also later: error ECANCELED.
Result<std::unique_ptr<Overview>> open_overview(const std::string& address,
                                                const std::function<bool()>& is_stopped = {});

}  // namespace kevt::fleet
