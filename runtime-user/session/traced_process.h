// TracedProcess: a process that is traced, as a target of the engine.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "compiler/target/kernel/place_sides.h"
#include "runtime-user/engine/traced_target.h"
#include "runtime-user/session/jit_watch.h"
#include "runtime-user/session/launch.h"

namespace kevt::session {

class TracedProcess final : public engine::TracedTarget {
 public:
  explicit TracedProcess(HeldProgram program);

  std::string name() const override { return name_; }
  std::int32_t pid() const override { return pid_; }
  bool takes(std::string_view definition) const override {
    return !sides || sides->of(definition) != target::PlaceSides::Side::Kernel;
  }
  inproc::InprocRuntime& runtime() override { return *held.runtime; }
  // First checks whether libraries were loaded or unloaded, unless the process reports each change itself.
  const target::TargetEnv& env() override;
  std::uint64_t env_version() const override { return env_version_; }
  const target::TargetEnv& known_env() const override { return *held.env; }
  bool is_alive() override;
  Result<bool> watch_libraries() override { return runtime().watch_libraries(); }
  Result<void> note_armed() override;
  std::string functions() const override;
  Result<void> prepare_stacks() override;
  std::optional<MappedFile> file_at(std::uint64_t address) const override;

  // To be called when records will hold addresses to be named: keeps the symbol files of libraries as they are loaded
  // and unloaded.
  Result<void> keep_names_of_libraries();
  // settle_if_ended(): once the process has ended, counts unfinished records as lost. True: it did so in this call.
  bool has_settled() const { return settled_; }
  bool settle_if_ended();
  // To be called when a library was loaded or unloaded.
  void look_at_files() override { look_at_mappings(); }
  // To be called when a JIT compiler has told of new code.
  void look_at_jit();
  // Whether names of addresses that records hold are printed.
  bool prints_names() const { return keeps_files(); }
  // True once: in the first call after the process became another program by exec, or ended.
  bool has_become_another();
  bool has_just_ended();
  // Whether it has neither ended nor become another program. Forked children do not matter.
  bool is_traced() const {
    return !is_over && !settled_ && !has_given_way_ && held.runtime && !held.runtime->poll_exit();
  }
  // To be called when it has become another program, which is traced as another target.
  void give_way();
  bool has_given_way() const { return has_given_way_; }
  // To be called when it has ended and was removed from the engine: drops all but the names of its addresses.
  void keep_names();

  JitWatch jit;
  HeldProgram held;
  bool is_over = false;                             // see FollowedEnds
  std::shared_ptr<const target::PlaceSides> sides;  // where the kernel is traced beside it; nullptr: it is not

 private:
  void look_at_mappings();
  void look_again(std::string mappings);

  pid_t pid_ = 0;
  std::string name_;
  std::string mappings_;  // lines of /proc/PID/maps with a file, when its libraries were last looked at
  std::uint64_t env_version_ = 0;
  bool settled_ = false;
  bool replaced_ = false;  // by exec
  bool told_replaced_ = false;
  bool told_ended_ = false;
  bool names_libraries_ = false;
  bool tells_of_libraries_ = false;  // by itself, so that env() need not look
  bool has_given_way_ = false;
  unsigned looks_ = 0;
  // Whether its addresses may be looked up after it has ended.
  bool keeps_files() const { return has_stacks_ || names_libraries_ || held.origin == Origin::Followed; }
  bool has_stacks_ = false;
};

}  // namespace kevt::session
