// RecordTap: takes the records of instances in place of their buffers, as they are read from the targets.
//
// `kevtrace run` prints or writes each record once: storing it first would cost a copy and the order of time, which a
// recording of pages for each CPU does not need (docs/adr/0028).
#pragma once

#include <cstdint>
#include <span>

#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::engine {

struct Instance;
struct TracedEvent;
class TracedTarget;

class RecordTap {
 public:
  virtual ~RecordTap() = default;
  // Takes a record of `event` for this instance, in the event's format. The record is stored nowhere else, and is valid
  // until this returns. False: nobody wants it any more, so it counts as filtered.
  virtual bool take(const Instance& instance, const TracedEvent& event, TracedTarget& target,
                    const runtime::Record& record) = 0;
  // Takes the stack of the record `of`, which is the last record taken for this instance. `frames`: code addresses,
  // innermost first.
  virtual void take_stack(const Instance& instance, TracedTarget& target, const runtime::Record& of,
                          std::span<const std::uint64_t> frames) = 0;
};

// The order in which a tap gets the records of one target. ByCpu: one CPU after the other, each in the order of its
// hits, without a copy; only where nothing depends on the order of time (no triggers). Records of several targets are
// always merged by time.
enum class DrainOrder : std::uint8_t { ByTime, ByCpu };

}  // namespace kevt::engine
