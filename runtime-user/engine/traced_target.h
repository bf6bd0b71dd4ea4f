// TracedTarget: one thing that is traced, as the engine sees it: a runtime and what the compiler must know of it.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>

#include "common/error.h"
#include "compiler/target/process/stack_unwinder.h"
#include "compiler/target/target_env.h"
#include "runtime-user/engine/static_events.h"
#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::engine {

class TracedTarget {
 public:
  virtual ~TracedTarget() = default;
  virtual std::string name() const = 0;           // "process 12 (python3)"
  virtual std::int32_t pid() const { return 0; }  // of the process; 0: it is none
  virtual runtime::ProbeRuntime& runtime() = 0;
  // As it is now: what has been loaded since is there. Good until the next call.
  virtual const target::TargetEnv& env() = 0;
  // Grows whenever env() has found something changed.
  virtual std::uint64_t env_version() const { return 0; }
  // The one env() gave last, for texts about addresses.
  virtual const target::TargetEnv& known_env() const = 0;
  virtual bool is_alive() = 0;
  // From now on Targets::libraries_changed() is called before code of a library that it loads later runs. False: it
  // reports no libraries.
  virtual Result<bool> watch_libraries() { return false; }
  // Probes of it were armed or disarmed.
  virtual Result<void> note_armed() { return {}; }
  // What can be probed by name, as available_filter_functions lists it: "NAME" or "NAME [MODULE]", a line each.
  virtual std::string functions() const { return ""; }
  // Of stacks that its hits sampled, where they do not take them themselves (Capabilities::takes_stacks); the first
  // call makes it. EOPNOTSUPP: hits here cannot sample theirs.
  virtual Result<target::StackUnwinder*> unwinder() {
    return std::unexpected(Error("probes of " + name() + " have no stacks", EOPNOTSUPP));
  }
  // What is mapped at an address, as far as it is known. nullopt: no file.
  struct MappedFile {
    std::string path;
    std::uint64_t start = 0;  // of the mapping
  };
  virtual std::optional<MappedFile> file_at(std::uint64_t) const { return std::nullopt; }
  // What it has of itself; nullptr: nothing.
  virtual StaticEvents* static_events() { return nullptr; }
};

}  // namespace kevt::engine
