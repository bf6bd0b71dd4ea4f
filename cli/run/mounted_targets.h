// MountedTargets: what stands behind a mount: processes, or the running kernel.
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
  // An exit status when it failed; it has been reported.
  virtual std::optional<int> take() = 0;
  virtual std::vector<engine::TracedTarget*> targets() const = 0;
  virtual unsigned possible_cpus() const = 0;
  // Whose language definitions are in.
  virtual sema::CheckRequest check() const { return {}; }
  // Processes that must not use the mount, now or later; nullptr: there will never be any.
  virtual std::shared_ptr<const fuse::RefusedProcesses> refused() const { return nullptr; }
  // Whether targets come and go.
  virtual bool follows() const { return false; }
  // The mount was not made: nothing of it stays.
  virtual void abandon() = 0;
  // Let go what waits for the mount. An exit status when that failed.
  virtual std::optional<int> go() = 0;
  // Once a round of the serving thread.
  virtual void step(engine::Tracing& tracing) = 0;
  // CMD has ended: what it recorded is there to be drained.
  virtual bool has_ended() const = 0;
  // After the mount: everything is taken out. False: reported where that failed.
  virtual bool leave() = 0;
  // What CMD ended with, when it has ended.
  virtual int exit_status() = 0;
};

std::unique_ptr<MountedTargets> mounted_processes(const MountVerbOptions& options, const Reporter& report);
std::unique_ptr<MountedTargets> mounted_kernel(const MountVerbOptions& options, const Reporter& report);

}  // namespace kevt::cli
