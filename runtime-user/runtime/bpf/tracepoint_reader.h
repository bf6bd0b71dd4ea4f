// TracepointReader: records of the kernel's static events, as perf hands them out. Nothing of tracefs is written.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/error.h"
#include "common/unique_fd.h"
#include "runtime-user/runtime/bpf/deferred_close.h"
#include "runtime-user/runtime/bpf/event_group.h"
#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::bpf {

class TracepointReader {
 public:
  // `bytes` of each CPU's ring: a power of two, and a multiple of a page.
  static Result<TracepointReader> create(unsigned cpus, std::uint32_t bytes);
  TracepointReader(TracepointReader&&) noexcept = default;
  TracepointReader& operator=(TracepointReader&&) = delete;
  ~TracepointReader();

  // Switches events on and off: all of them, or an error and nothing is changed. An event that is off stays open for a
  // while (deferred_close.h).
  Result<void> change(std::span<const std::uint32_t> on, std::span<const std::uint32_t> off);
  // Switches all events off; records of earlier hits can still be drained. Returns how many events are still open; the
  // destructor closes them.
  std::size_t switch_off();
  // Leaves the closing to a new process, which ends when the kernel has closed all events. Call it last, when all
  // events are off. Returns its pid; 0: there is none, this process closes them.
  pid_t close_behind();
  // From now on hits of these events come with the kernel's stack, or without it.
  Result<void> set_stacks(std::span<const std::uint32_t> ids, bool wanted);
  // `call` is called while the rings are read, before KernelEvents hands out the records of that drain.
  void on_fork(std::function<void(std::int32_t parent, std::int32_t child)> call) { on_fork_ = std::move(call); }
  // Over all the time an event was on. Its hits are recorded or lost; none is missed.
  runtime::EventCounts counts(std::uint32_t id) const;

  struct Hit {
    std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC
    std::uint32_t cpu = 0;
    std::string_view comm;                // of the thread that hit
    std::span<const std::uint8_t> bytes;  // the record, and up to 7 bytes behind it
    std::vector<std::uint64_t> stack;     // innermost first
  };
  // In a copy of this process (fork), which has the rings open, but not mapped: perf_mmap() sees to that. Lets go of
  // events that are off.
  void let_go_in_copy();
  // What the kernel has written, CPU after CPU. Bytes live until `take` returns.
  std::size_t drain(const std::function<void(const Hit&)>& take);

 private:
  struct Ring {
    unsigned cpu = 0;
    UniqueFd fd;  // of an event that only tells forks and names of threads
    std::uint8_t* page = nullptr;
    std::uint32_t bytes = 0;
  };
  struct Event {
    OpenEvent open;  // not open: off, and perhaps parked
    bool with_stacks = false;
    std::uint64_t read = 0;
    std::uint64_t lost = 0;  // when it was on earlier
  };
  struct Woken {  // about to be on
    std::uint32_t id = 0;
    OpenEvent event;
  };
  TracepointReader() = default;
  Result<void> open_ring(unsigned cpu, std::uint32_t bytes);
  static Result<void> map(Ring& ring);
  Result<std::shared_ptr<EventGroup>> open_group() const;
  Result<OpenEvent> open_event(std::uint32_t id, std::shared_ptr<EventGroup> group, bool with_stacks) const;
  Result<std::vector<Woken>> open_all(std::span<const std::uint32_t> ids);
  Result<void> wake_together(std::vector<Woken>& all);
  void park_all(std::vector<Woken>& all);
  void park_all(std::span<const std::uint32_t> ids);
  void take_sample(std::span<const std::uint8_t> record, const std::function<void(const Hit&)>& take);
  std::size_t drain_ring(Ring& ring, const std::function<void(const Hit&)>& take);
  void note_task(std::span<const std::uint8_t> record, std::uint32_t type);
  const std::string& comm_of(std::int32_t tid);

  UniqueFd lives_;  // closed last
  std::vector<Ring> rings_;
  std::unique_ptr<DeferredClose> parked_ = std::make_unique<DeferredClose>();
  std::map<std::uint32_t, Event> events_;
  std::unordered_map<std::int32_t, std::string> comms_;
  std::function<void(std::int32_t, std::int32_t)> on_fork_;
  std::vector<std::uint8_t> piece_;  // a record that wraps
};

}  // namespace kevt::bpf
