// MountedProcess: a process behind a mount, as a target of the engine.
#pragma once

#include <optional>
#include <string>

#include "cli/launch.h"
#include "runtime-user/engine/traced_target.h"

namespace kevt::cli {

class MountedProcess final : public engine::TracedTarget {
 public:
  explicit MountedProcess(HeldProgram program);

  std::string name() const override { return name_; }
  inproc::InprocRuntime& runtime() override { return *held.runtime; }
  // Looks whether libraries have come or gone.
  const target::TargetEnv& env() override;
  const target::TargetEnv& known_env() const override { return *held.env; }
  bool is_alive() override;
  Result<bool> watch_libraries() override { return runtime().watch_libraries(); }
  Result<void> note_armed() override;
  std::string functions() const override;
  Result<target::StackUnwinder*> unwinder() override;
  std::optional<MappedFile> file_at(std::uint64_t address) const override;

  pid_t pid() const { return pid_; }
  // After its end: what was under way is counted as lost. True when that happened now.
  bool has_settled() const { return settled_; }
  bool settle_if_ended();
  // A library has come or gone: the process waits until answer_for_libraries() of its runtime. What is known of it has
  // been refreshed.
  bool asks_about_libraries();
  // True when it became another program (exec) since the last call.
  bool has_become_another();
  // It has, and that one is traced as another target.
  void give_way();
  bool has_given_way() const { return has_given_way_; }
  // It has ended and is nobody's target any more: only its names are kept.
  void keep_names();

  HeldProgram held;
  bool is_over = false;  // see FollowedEnds

 private:
  pid_t pid_ = 0;
  std::string name_;
  std::string mappings_;  // of files, when its libraries were last looked at
  bool settled_ = false;
  bool replaced_ = false;  // by exec
  bool told_replaced_ = false;
  bool has_given_way_ = false;
  unsigned looks_ = 0;
  // Its addresses are looked up when it has ended.
  bool keeps_files() const { return unwinder_ || held.origin == Origin::Followed; }
  std::optional<target::StackUnwinder> unwinder_;  // once asked for
};

}  // namespace kevt::cli
