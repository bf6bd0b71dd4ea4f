// The running kernel beside programs in one session: `--with-kernel` (docs/adr/0040).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "cli/definitions/run_request.h"
#include "runtime-user/session/kernel_target.h"

namespace kevt::engine {
class Tracing;
}  // namespace kevt::engine
namespace kevt::session {
class TracedProcesses;
}  // namespace kevt::session

namespace kevt::cli {

// The kernel events to read: those that are named, and those that event probes stand on.
std::set<model::EventName> needed_statics(const RunRequest& request);

// Each static event that is on takes a descriptor per CPU, and there are about 1,500 such events.
void raise_file_limit();

// Lets another process close the target's static events where there are so many that the user would wait; says so.
// `open`: as KernelTarget::switch_statics_off() returned.
void close_statics(session::KernelTarget& target, std::size_t open, const Reporter& report);

class KernelSide {
 public:
  // Opens the kernel by this runtime, before `processes` has any. Returns an exit status if that failed; it has been
  // reported. `statics`: as of KernelTarget::Request.
  std::optional<int> open(const std::string& runtime, std::uint64_t ring_bytes,
                          std::optional<std::set<model::EventName>> statics, session::TracedProcesses& processes,
                          const Reporter& report);
  bool is_open() const { return target_ != nullptr; }
  // All targets of the session; the programs come first.
  std::vector<engine::TracedTarget*> beside(std::vector<engine::TracedTarget*> programs) const;
  // Says what is armed in the kernel.
  void report_armed(engine::Tracing& tracing, const Reporter& report) const;
  // From now on nothing in the kernel hits: the next drain gets the rest.
  void stop(engine::Tracing& tracing, const Reporter& report);
  // At the very end: close_statics().
  void close(const Reporter& report);

 private:
  std::unique_ptr<session::KernelTarget> target_;
  std::size_t open_ = 0;  // static events that are off but still open
};

}  // namespace kevt::cli
