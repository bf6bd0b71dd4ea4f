// Processes behind a mount: CMD, held until DIR is there, or running ones that are seized.
#include <fmt/format.h>
#include <sys/wait.h>

#include "cli/exit_status.h"
#include "cli/front.h"
#include "cli/interrupts.h"
#include "cli/mounted_process.h"
#include "cli/mounted_targets.h"

namespace kevt::cli {

namespace {

constexpr std::uint64_t kMountRingBytes = 4u << 20;  // per CPU and process: what waits between two rounds
constexpr std::uint32_t kRows = 16384;               // probes and filters, over the whole life of the mount

class MountedProcesses final : public MountedTargets {
 public:
  MountedProcesses(const MountVerbOptions& options, const Reporter& report) : options_(options), report_(report) {}

  std::optional<int> take() override;
  std::vector<engine::TracedTarget*> targets() const override;
  unsigned possible_cpus() const override { return inproc::possible_cpus(); }
  std::vector<pid_t> refused() const override;
  void abandon() override {
    for (const auto& process : processes_) end_held(process->held());
  }
  std::optional<int> go() override {
    if (!options_.hold) let_go();
    return std::nullopt;
  }
  void step(engine::Tracing& tracing) override;
  bool has_ended() const override { return options_.pids.empty() && processes_.front()->has_settled(); }
  bool leave() override;
  int exit_status() override;

 private:
  void let_go() {
    for (const auto& process : processes_) process->runtime().go();
    is_held_ = false;
  }

  const MountVerbOptions& options_;
  const Reporter& report_;
  std::vector<std::unique_ptr<MountedProcess>> processes_;
  bool is_held_ = true;
};

std::optional<int> MountedProcesses::take() {
  const inproc::SessionOptions session{.ring_bytes = kMountRingBytes, .rows = kRows};
  int status = kOurFailure;
  if (options_.pids.empty()) {
    auto held = launch_held(options_.command, session, report_, status);
    if (!held) return status;
    processes_.push_back(std::make_unique<MountedProcess>(std::move(*held)));
    return std::nullopt;
  }
  for (int pid : options_.pids) {
    auto held = attach_running(pid, session, report_, status);
    if (!held) return status;
    processes_.push_back(std::make_unique<MountedProcess>(std::move(*held)));
  }
  return std::nullopt;
}

std::vector<engine::TracedTarget*> MountedProcesses::targets() const {
  std::vector<engine::TracedTarget*> targets;
  for (const auto& process : processes_) targets.push_back(process.get());
  return targets;
}

std::vector<pid_t> MountedProcesses::refused() const {
  std::vector<pid_t> pids;
  for (const auto& process : processes_) pids.push_back(process->pid());
  return pids;
}

void MountedProcesses::step(engine::Tracing& tracing) {
  if (is_held_ && tracing.is_any_on()) let_go();
  for (const auto& process : processes_) {
    if (process->asks_about_libraries()) {
      tracing.libraries_changed(*process);
      process->runtime().answer_for_libraries();
    }
    if (process->has_become_another())
      report_.status(process->name() + " has become another program (exec): nothing of it can be traced any more");
    if (!process->settle_if_ended()) continue;
    tracing.drain();
    const bool stays = options_.keep || !options_.pids.empty();
    report_.status(process->name() + " has ended" +
                   (stays ? "; " + options_.directory + " stays until Ctrl-C or umount" : ""));
  }
}

bool MountedProcesses::leave() {
  bool good = true;
  if (is_held_) {
    abandon();
    return good;
  }
  for (const auto& process : processes_) {
    const auto note = [&](const Result<inproc::Leftover>& left, std::string_view whose) {
      if (left) return;
      good = false;
      report_.error(
          Error(left.error()).while_doing(fmt::format("removing the probes of {}{}", whose, process->name())));
    };
    inproc::InprocRuntime& runtime = process->runtime();
    if (!runtime.poll_exit()) {
      const auto detached = runtime.detach();
      if (detached || !runtime.poll_exit()) note(detached, "");
    }
    note(runtime.leave_children(), "forked children of ");
    runtime.settle();
  }
  return good;
}

// CMD, which is our child, is waited for; not when we are to leave (SIGTERM): it goes on without us then.
int MountedProcesses::exit_status() {
  if (is_held_ || !options_.pids.empty()) return kOk;
  inproc::InprocRuntime& runtime = processes_.front()->runtime();
  const timespec pause = {0, 10'000'000};
  while (!runtime.poll_exit() && !is_abandoned() && !is_told_to_leave()) nanosleep(&pause, nullptr);
  const int status = runtime.poll_exit().value_or(0);
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

std::unique_ptr<MountedTargets> mounted_processes(const MountVerbOptions& options, const Reporter& report) {
  return std::make_unique<MountedProcesses>(options, report);
}

}  // namespace kevt::cli
