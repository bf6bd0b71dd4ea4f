// Keeper: a copy of the tracer that waits, and finishes the trace when the tracer dies.
//
//   kevtrace ──fork── tracer ──fork── keeper: knows what the tracer knew when the copy was made
//      │                 │ dies          │ sleeps
//      ├──────────── "go" ──────────────►│ reads on in the memory that all share: rings, counters, hit tables
//      │ takes the probes out            │
//      └─────────── "out" ──────────────►│ finishes
//
// So what hits count by themselves is exact to the last hit. What the tracer had only in its own memory is as old as
// the copy; the copy is therefore made anew whenever something changes that shared memory does not tell
// (docs/adr/0041).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

namespace kevt::session {

class Keeper {
 public:
  // What the copy does: before it waits, and before renew() returns; when the tracer has died; then again and again, as
  // long as there are probes; and when they are out. It ends behind that.
  struct Work {
    std::function<void()> begin = [] {}, take_over = [] {}, read, finish;
  };
  explicit Keeper(Work work) : work_(std::move(work)) {}
  Keeper(const Keeper&) = delete;
  ~Keeper() { end(); }

  // What a copy knows: which code is where, and what the tracer has counted by itself.
  struct Version {
    std::uint64_t code = 0, counts = 0;
  };
  // Whether a new copy is to be made: when there is none, or of other code, so that copies take a tenth of the time at
  // most; when counts have changed, or something has ended the copy, ten times a second at most, for a hundredth of the
  // time.
  bool is_due(const Version& now);
  // Makes the copy, and ends an older one. Without a supervisor, or where the process cannot be copied (memory,
  // RLIMIT_NPROC), there is none. To be called from the only thread, or where no other holds a lock.
  void renew(const Version& now);
  void end();
  pid_t pid() const { return copy_; }  // 0: there is none

 private:
  Work work_;
  pid_t copy_ = 0;
  bool has_failed_ = false;
  Version version_;  // of the copy
  std::chrono::steady_clock::time_point made_;
  std::chrono::steady_clock::duration cost_{};  // of making it
};

}  // namespace kevt::session
