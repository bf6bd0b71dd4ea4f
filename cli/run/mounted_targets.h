// MountedTargets: the targets behind a mount: processes, or the running kernel.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cli/options/options_mount.h"
#include "cli/reporter.h"
#include "compiler/sema/sema.h"
#include "tracefs-compat/fuse/refused_processes.h"

namespace kevt::engine {
class Tracing;
class TracedTarget;
}  // namespace kevt::engine

namespace kevt::cli {

class MountedTargets {
 public:
  virtual ~MountedTargets() = default;
  // Starts or attaches to the targets. Returns an exit status if that failed; it has been reported.
  virtual std::optional<int> take() = 0;
  virtual std::vector<engine::TracedTarget*> targets() const = 0;
  virtual unsigned possible_cpus() const = 0;
  // The dialect of definitions.
  virtual sema::CheckRequest check() const { return {}; }
  // Processes that must not use the mount, now or later; nullptr: there are never any.
  virtual std::shared_ptr<const fuse::RefusedProcesses> refused() const { return nullptr; }
  // Whether targets come and go.
  virtual bool follows() const { return false; }
  // To be called if the mount could not be made: undoes take().
  virtual void abandon() = 0;
  // Lets processes that waited for the mount run. Returns an exit status if that failed.
  virtual std::optional<int> go() = 0;
  // Called once in each round of the serving thread.
  virtual void step(engine::Tracing& tracing) = 0;
  // Whether CMD has ended, so that all its records can be drained.
  virtual bool has_ended() const = 0;
  // Removes everything from the targets, after serving. False: that failed, and has been reported.
  virtual bool leave() = 0;
  // In a session::Keeper, when this process's original has died and the probes are out: instead of leave().
  virtual void settle(engine::Tracing& tracing) = 0;
  // The exit status of CMD, once it has ended.
  virtual int exit_status() = 0;
};

std::unique_ptr<MountedTargets> mounted_processes(const MountVerbOptions& options, const Reporter& report);
std::unique_ptr<MountedTargets> mounted_kernel(const MountVerbOptions& options, const Reporter& report);

}  // namespace kevt::cli
