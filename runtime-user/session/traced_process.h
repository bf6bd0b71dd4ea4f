// TracedProcess: a process that is traced, as a target of the engine.
#pragma once

#include <optional>
#include <string>

#include "runtime-user/engine/traced_target.h"
#include "runtime-user/session/launch.h"

namespace kevt::session {

class TracedProcess final : public engine::TracedTarget {
 public:
  explicit TracedProcess(HeldProgram program);

  std::string name() const override { return name_; }
  std::int32_t pid() const override { return pid_; }
  inproc::InprocRuntime& runtime() override { return *held.runtime; }
  // Looks whether libraries have come or gone, unless it tells of each.
  const target::TargetEnv& env() override;
  std::uint64_t env_version() const override { return env_version_; }
  const target::TargetEnv& known_env() const override { return *held.env; }
  bool is_alive() override;
  Result<bool> watch_libraries() override { return runtime().watch_libraries(); }
  Result<void> note_armed() override;
  std::string functions() const override;
  Result<target::StackUnwinder*> unwinder() override;
  std::optional<MappedFile> file_at(std::uint64_t address) const override;

  // Records of it hold addresses that need names: those of its libraries are kept, as they come and go.
  Result<void> keep_names_of_libraries();
  // After its end: what was under way is counted as lost. True when that happened now.
  bool has_settled() const { return settled_; }
  bool settle_if_ended();
  // A library has come or gone.
  void refresh_libraries();
  // True when it became another program (exec), or ended, since the last call.
  bool has_become_another();
  bool has_just_ended();
  // Neither ended nor another program by now; children that it forked are not asked.
  bool is_traced() const {
    return !is_over && !settled_ && !has_given_way_ && held.runtime && !held.runtime->poll_exit();
  }
  // It has, and that one is traced as another target.
  void give_way();
  bool has_given_way() const { return has_given_way_; }
  // It has ended and is nobody's target any more: only its names are kept.
  void keep_names();

  HeldProgram held;
  bool is_over = false;  // see FollowedEnds

 private:
  void look_at_mappings();

  pid_t pid_ = 0;
  std::string name_;
  std::string mappings_;  // of files, when its libraries were last looked at
  std::uint64_t env_version_ = 0;
  bool settled_ = false;
  bool replaced_ = false;  // by exec
  bool told_replaced_ = false;
  bool told_ended_ = false;
  bool names_libraries_ = false;
  bool tells_of_libraries_ = false;  // so that nothing need be looked for meanwhile
  bool has_given_way_ = false;
  unsigned looks_ = 0;
  // Its addresses are looked up when it has ended.
  bool keeps_files() const { return unwinder_ || names_libraries_ || held.origin == Origin::Followed; }
  std::optional<target::StackUnwinder> unwinder_;  // once asked for
};

}  // namespace kevt::session
