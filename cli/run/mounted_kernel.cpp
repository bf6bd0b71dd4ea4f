// The running kernel behind a mount: probes by bpf or kmod, static events by perf. A CMD starts once DIR is mounted;
// the whole machine is traced.
#include <sys/utsname.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>

#include "cli/exit_status.h"
#include "cli/run/kernel_side.h"
#include "cli/run/mounted_targets.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/session/interrupts.h"
#include "runtime-user/session/kernel_target.h"
#include "runtime-user/session/started_command.h"
#include "runtime-user/session/supervisor.h"

namespace kevt::cli {

namespace {

// The running kernel's dialect, with the forms that kevtrace runs whether the kernel has them or not.
dialect::Dialect running_dialect() {
  utsname kernel{};
  unsigned major = 0, minor = 0;
  uname(&kernel);
  if (std::sscanf(kernel.release, "%u.%u", &major, &minor) != 2) return dialect::Dialect::superset();
  return dialect::Dialect::running(major, minor);
}

class MountedKernel final : public MountedTargets {
 public:
  MountedKernel(const MountVerbOptions& options, const Reporter& report) : options_(options), report_(report) {}

  std::optional<int> take() override;
  std::vector<engine::TracedTarget*> targets() const override { return {target_.get()}; }
  unsigned possible_cpus() const override { return target_->known_env().possible_cpus(); }
  // The dialect of the running kernel, since tools for it expect its language and its errors.
  sema::CheckRequest check() const override { return {.dialect = running_dialect()}; }
  void abandon() override {
    if (command_) command_->abandon();
  }
  std::optional<int> go() override { return options_.hold ? std::nullopt : let_go(); }
  void step(engine::Tracing&) override;
  bool has_ended() const override { return told_end_ || not_started_; }
  bool leave() override;
  void settle(engine::Tracing& tracing) override;
  int exit_status() override;

 private:
  int status_of_command();
  std::optional<int> let_go();
  const MountVerbOptions& options_;
  const Reporter& report_;
  std::unique_ptr<session::KernelTarget> target_;
  std::optional<session::StartedCommand> command_;
  bool told_end_ = false;
  std::optional<int> not_started_;  // the status that says why
  bool hidden_ = false;
  std::size_t open_ = 0;  // static events that are off but still open
  bool is_held_ = true;
};

std::optional<int> MountedKernel::take() {
  raise_file_limit();
  // A kernel that knows names of arguments gives `$arg1` its type; of an older one only who asks for a name has types.
  const bool has_names = running_dialect().has(dialect::Feature::ArgumentNames);
  auto target = session::KernelTarget::open(
      {.runtime = options_.runtime,
       .types = has_names ? target::TypeSource::Kernel : target::TypeSource::DebugInformation,
       .statics = std::nullopt});
  if (!target) {
    report_.error(target.error());
    return kMissing;
  }
  target_ = std::move(*target);
  if (target_->static_events()->all().empty())
    report_.status("no tracefs can be read here: the kernel's own events are not listed");
  if (options_.command.empty()) return std::nullopt;
  auto command = session::StartedCommand::start(options_.command);
  if (!command) {
    report_.error(command.error());
    return kOurFailure;
  }
  command_ = std::move(*command);
  return std::nullopt;
}

std::optional<int> MountedKernel::let_go() {
  is_held_ = false;
  if (!command_) return std::nullopt;
  auto gone = command_->go();
  if (gone) return std::nullopt;
  report_.error(gone.error());
  return gone.error().errno_value() == ENOENT ? kNotFound : kNotExecutable;
}

void MountedKernel::step(engine::Tracing& tracing) {
  if (!hidden_) tracing.hide_own_threads();
  hidden_ = true;
  if (is_held_ && tracing.instances().is_any_on()) not_started_ = let_go();
  if (not_started_) command_.reset();
  if (!command_ || told_end_ || !command_->poll_exit()) return;
  told_end_ = true;
  report_.status(options_.command.front() + " has ended" +
                 (options_.keep ? "; " + options_.directory + " stays until Ctrl-C or umount" : ""));
}

bool MountedKernel::leave() {
  if (is_held_) abandon();
  open_ = target_->switch_statics_off();
  target_->settle();
  return true;
}

void MountedKernel::settle(engine::Tracing& tracing) {
  if (auto off = tracing.switcher().set_probes_armed(false); !off) report_.error(off.error());
  (void)target_->switch_statics_off();
  target_->settle();
}

int MountedKernel::exit_status() {
  const int status = status_of_command();
  close_statics(*target_, open_, report_);
  return status;
}

// Waits for CMD, unless kevtrace was told to leave (SIGTERM): CMD then goes on without it.
int MountedKernel::status_of_command() {
  if (!command_ || is_held_) return not_started_.value_or(kOk);
  const timespec pause = {0, 10'000'000};
  while (!command_->poll_exit() && !session::is_abandoned() && !session::is_told_to_leave()) nanosleep(&pause, nullptr);
  const int status = command_->poll_exit().value_or(0);
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

std::unique_ptr<MountedTargets> mounted_kernel(const MountVerbOptions& options, const Reporter& report) {
  return std::make_unique<MountedKernel>(options, report);
}

}  // namespace kevt::cli
