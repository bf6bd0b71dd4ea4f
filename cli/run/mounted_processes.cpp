// Processes behind a mount: CMD, held until DIR is mounted, or running processes that are seized; with --follow-forks
// also the programs that they become or start by exec.
#include <fmt/format.h>
#include <sys/wait.h>

#include "cli/exit_status.h"
#include "cli/run/kernel_side.h"
#include "cli/run/mounted_targets.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/session/interrupts.h"
#include "runtime-user/session/supervisor.h"
#include "runtime-user/session/traced_processes.h"

namespace kevt::cli {

namespace {

constexpr std::uint64_t kMountRingBytes = 4u << 20;  // per CPU and process, for hits between two rounds
constexpr std::uint32_t kRows = 16384;               // probes and filters, over the whole life of the mount
constexpr std::size_t kNamesKept = 256;              // of programs that have ended: their records may still be read

class MountedProcesses final : public MountedTargets {
 public:
  MountedProcesses(const MountVerbOptions& options, const Reporter& report) : options_(options), report_(report) {}

  std::optional<int> take() override;
  std::vector<engine::TracedTarget*> targets() const override { return kernel_.beside(processes_.targets()); }
  unsigned possible_cpus() const override { return inproc::possible_cpus(); }
  std::shared_ptr<const fuse::RefusedProcesses> refused() const override { return refused_; }
  bool follows() const override { return options_.follow || !options_.choice.empty(); }
  void abandon() override { processes_.abandon(); }
  std::optional<int> go() override {
    if (!options_.hold) let_go();
    return std::nullopt;
  }
  void step(engine::Tracing& tracing) override;
  bool has_ended() const override {
    return options_.pids.empty() && (processes_.command().has_settled() || processes_.command().has_given_way());
  }
  bool leave() override;
  void settle(engine::Tracing& tracing) override {
    kernel_.stop(tracing, report_);
    processes_.settle();
  }
  int exit_status() override;

 private:
  void let_go() {
    processes_.go();
    is_held_ = false;
  }

  const MountVerbOptions& options_;
  const Reporter& report_;
  KernelSide kernel_;
  engine::Tracing* tracing_ = nullptr;  // since the first step()
  session::TracedProcesses processes_{{.ring_bytes = kMountRingBytes,
                                       .rows = kRows,
                                       .follows_exec = options_.follow,
                                       .files = std::make_shared<inproc::ProbedFiles>()},
                                      kNamesKept,
                                      report_};
  const std::shared_ptr<fuse::RefusedProcesses> refused_ = std::make_shared<fuse::RefusedProcesses>();
  bool is_held_ = true;
  bool has_told_end_ = false;  // of all that is traced
};

std::optional<int> MountedProcesses::take() {
  if (!options_.defined.with_kernel.empty()) {
    if (auto failed = kernel_.open(options_.defined.with_kernel, kMountRingBytes, std::nullopt, processes_, report_))
      return failed;
  }
  if (options_.pids.empty())
    if (auto failed = processes_.start(options_.command)) return failed;
  for (int pid : options_.pids)
    if (auto failed = processes_.attach(pid)) return failed;
  if (kernel_.is_open()) raise_file_limit();  // CMD keeps its own
  if (!options_.choice.empty()) processes_.watch_for(options_.choice);
  for (const auto& process : processes_.all()) refused_->add(process->pid());
  processes_.listen({.added = [this](session::TracedProcess& process) { refused_->add(process.pid()); },
                     .removed = [this](session::TracedProcess& process) { refused_->remove(process.pid()); }});
  return std::nullopt;
}

void MountedProcesses::step(engine::Tracing& tracing) {
  if (kernel_.is_open() && !tracing_) tracing.hide_own_threads();
  tracing_ = &tracing;
  if (is_held_ && tracing.instances().is_any_on()) let_go();
  if (!is_held_) processes_.step(tracing);
  for (const auto& process : processes_.all()) {
    if (process->held.origin == session::Origin::Followed || !process->settle_if_ended()) continue;
    tracing.drain();
    const bool stays = options_.keep || !options_.pids.empty();
    report_.status(process->name() + " has ended" +
                   (stays ? "; " + options_.directory + " stays until Ctrl-C or umount" : ""));
  }
  const bool is_over = std::ranges::none_of(processes_.all(), [](const auto& process) { return process->is_traced(); });
  if (is_over && !std::exchange(has_told_end_, true) && (options_.keep || !options_.pids.empty()))
    report_.status(
        (kernel_.is_open() ? "all programs have ended, the kernel is traced on; " : "all that is traced has ended; ") +
        options_.directory + " stays until Ctrl-C or umount");
}

bool MountedProcesses::leave() {
  if (is_held_) {
    abandon();
    return true;
  }
  if (tracing_) kernel_.stop(*tracing_, report_);
  const bool all_good = processes_.leave();
  processes_.settle();
  processes_.report_untraced();
  return all_good;
}

// Waits for CMD, our child, unless kevtrace was told to leave (SIGTERM): CMD then goes on without it. If a program that
// CMD became could not be traced, its end is unknown.
int MountedProcesses::exit_status() {
  kernel_.close(report_);
  if (is_held_ || !options_.pids.empty()) return kOk;
  if (processes_.command().has_given_way()) return kFailed;
  inproc::InprocRuntime& runtime = processes_.command().runtime();
  const timespec pause = {0, 10'000'000};
  while (!runtime.poll_exit() && !session::is_abandoned() && !session::is_told_to_leave()) nanosleep(&pause, nullptr);
  const int status = runtime.poll_exit().value_or(0);
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

std::unique_ptr<MountedTargets> mounted_processes(const MountVerbOptions& options, const Reporter& report) {
  return std::make_unique<MountedProcesses>(options, report);
}

}  // namespace kevt::cli
