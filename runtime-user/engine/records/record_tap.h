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
  // A record of `event` for this instance, as the event's format describes it; one that is stored nowhere else. It
  // lives until this returns.
  virtual void take(const Instance& instance, const TracedEvent& event, TracedTarget& target,
                    const runtime::Record& record) = 0;
  // The stack that belongs to the record `of`, which was taken last for this instance: code addresses, innermost first.
  virtual void take_stack(const Instance& instance, TracedTarget& target, const runtime::Record& of,
                          std::span<const std::uint64_t> frames) = 0;
};

// How records of one target's CPUs come to a tap. ByCpu: those of each CPU in their order, one CPU after the other, at
// once and without a copy; only where nothing depends on the order of time (there are no triggers). Several targets are
// always merged.
enum class DrainOrder : std::uint8_t { ByTime, ByCpu };

}  // namespace kevt::engine
