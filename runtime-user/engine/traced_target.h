// TracedTarget: one thing that is traced, as the engine sees it: a runtime and what the compiler must know of it.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/error.h"
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
  // Whether a definition, as it was written, is about this target. Programs and the kernel that are traced together
  // share no place, so what is about one side is neither looked up nor placed on the other (docs/adr/0040).
  virtual bool takes(std::string_view) const { return true; }
  // The environment as it is now, with libraries loaded since the last call. Valid until the next call.
  virtual const target::TargetEnv& env() = 0;
  // Looks at what the target has mapped again, also where it tells of its libraries: code may come without a word.
  virtual void look_at_files() { (void)env(); }
  // Grows whenever env() finds that something has changed.
  virtual std::uint64_t env_version() const { return 0; }
  // What env() returned last, without looking again; names addresses in texts.
  virtual const target::TargetEnv& known_env() const = 0;
  virtual bool is_alive() = 0;
  // From now on Targets::libraries_changed() is called for each library that the target loads, before the library's
  // code runs. False: the target cannot report libraries.
  virtual Result<bool> watch_libraries() { return false; }
  // Told after probes of this target were armed or disarmed.
  virtual Result<void> note_armed() { return {}; }
  // The functions that can be probed by name, as available_filter_functions lists them: a line "NAME" or "NAME
  // [MODULE]" for each.
  virtual std::string functions() const { return ""; }
  // To be called before code is installed whose records come with stacks: it reads what is needed to unwind them, since
  // the target may have ended when they are read. EOPNOTSUPP: hits of this target have no stacks.
  virtual Result<void> prepare_stacks() {
    return std::unexpected(Error("probes of " + name() + " have no stacks", EOPNOTSUPP));
  }
  // The file mapped at an address, as far as the target knows. nullopt: no file.
  struct MappedFile {
    std::string path;
    std::uint64_t start = 0;  // of the mapping
  };
  virtual std::optional<MappedFile> file_at(std::uint64_t) const { return std::nullopt; }
  // The events that the target brings with it; nullptr: none.
  virtual StaticEvents* static_events() { return nullptr; }
};

}  // namespace kevt::engine
