// Processes behind a mount: CMD, held until DIR is there, or running ones that are seized; with --follow-forks also
// what they become or start by exec.
//
//   CMD (Started) ─ fork, exec ─► Followed: another target     has ended, nothing can hit it ─► its names stay a while
//         └──────── exec ───────► Started: another target, CMD from now on; the one before has given way
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <deque>
#include <set>

#include "cli/exit_status.h"
#include "cli/followed_ends.h"
#include "cli/front.h"
#include "cli/interrupts.h"
#include "cli/mounted_process.h"
#include "cli/mounted_targets.h"
#include "common/proc.h"
#include "runtime-user/runtime/inproc/forked_children.h"

namespace kevt::cli {

namespace {

constexpr std::uint64_t kMountRingBytes = 4u << 20;  // per CPU and process: what waits between two rounds
constexpr std::uint32_t kRows = 16384;               // probes and filters, over the whole life of the mount
constexpr std::size_t kNamesKept = 256;              // of programs that have ended: their records may still be read

class MountedProcesses final : public MountedTargets {
 public:
  MountedProcesses(const MountVerbOptions& options, const Reporter& report) : options_(options), report_(report) {}

  std::optional<int> take() override;
  std::vector<engine::TracedTarget*> targets() const override;
  unsigned possible_cpus() const override { return inproc::possible_cpus(); }
  std::shared_ptr<const fuse::RefusedProcesses> refused() const override { return refused_; }
  bool follows() const override { return options_.follow; }
  void abandon() override {
    for (const auto& process : processes_) end_held(process->held);
  }
  std::optional<int> go() override {
    if (!options_.hold) let_go();
    return std::nullopt;
  }
  void step(engine::Tracing& tracing) override;
  bool has_ended() const override {
    return options_.pids.empty() && (command().has_settled() || command().has_given_way());
  }
  bool leave() override;
  int exit_status() override;

 private:
  void let_go() {
    for (const auto& process : processes_) process->runtime().go();
    is_held_ = false;
  }
  // What CMD is now.
  MountedProcess& command() const {
    const auto is_it = [](const auto& process) { return process->held.origin == Origin::Started; };
    return **std::ranges::find_if(processes_.rbegin(), processes_.rend(), is_it);
  }
  void add(HeldProgram program);
  void follow(engine::Tracing& tracing);
  void take_over(inproc::Tracee program, engine::Tracing& tracing);
  void let_go_of_ended(engine::Tracing& tracing);
  bool leave(MountedProcess& process, const inproc::SharedSessions& sessions);

  const MountVerbOptions& options_;
  const Reporter& report_;
  const inproc::SessionOptions session_ = {.ring_bytes = kMountRingBytes,
                                           .rows = kRows,
                                           .follows_exec = options_.follow,
                                           .files = std::make_shared<inproc::ProbedFiles>()};
  std::vector<std::unique_ptr<MountedProcess>> processes_;
  std::deque<std::unique_ptr<MountedProcess>> ended_;  // for names
  const std::shared_ptr<fuse::RefusedProcesses> refused_ = std::make_shared<fuse::RefusedProcesses>();
  FollowedEnds ends_;
  std::set<std::string> told_;  // definitions that a followed program could not have, each once
  bool is_held_ = true;
};

std::optional<int> MountedProcesses::take() {
  int status = kOurFailure;
  if (options_.pids.empty()) {
    auto held = launch_held(options_.command, session_, report_, status);
    if (!held) return status;
    add(std::move(*held));
    return std::nullopt;
  }
  for (int pid : options_.pids) {
    auto held = attach_running(pid, session_, report_, status);
    if (!held) return status;
    add(std::move(*held));
  }
  return std::nullopt;
}

void MountedProcesses::add(HeldProgram program) {
  processes_.push_back(std::make_unique<MountedProcess>(std::move(program)));
  refused_->add(processes_.back()->pid());
}

std::vector<engine::TracedTarget*> MountedProcesses::targets() const {
  std::vector<engine::TracedTarget*> targets;
  for (const auto& process : processes_) targets.push_back(process.get());
  return targets;
}

// A child of its own, or one of ours that has become another program: that one is over.
void MountedProcesses::take_over(inproc::Tracee program, engine::Tracing& tracing) {
  const pid_t pid = program.pid();
  Origin origin = Origin::Followed;
  for (const auto& process : processes_) {
    if (process->pid() != pid || process->has_given_way()) continue;
    if (process->held.origin == Origin::Started) origin = Origin::Started;
    process->give_way();
  }
  auto held = adopt_followed(std::move(program), origin, session_);
  if (!held) {
    report_.status(
        fmt::format("process {} ({}) is not followed through exec: {}", pid, proc::comm(pid), held.error().message()));
    return;
  }
  add(*std::move(held));
  MountedProcess& process = *processes_.back();
  for (const engine::CodeRefusal& refusal : tracing.add_target(process))
    if (told_.insert(refusal.command).second)
      report_.status(fmt::format("not in {}, which was followed: {}{}{}", process.name(), refusal.command,
                                 refusal.command.empty() ? "" : ": ", refusal.error.message()));
  process.runtime().go();
}

void MountedProcesses::follow(engine::Tracing& tracing) {
  for (std::size_t i = 0; i < processes_.size(); ++i)
    for (inproc::Tracee& program : processes_[i]->runtime().followed()) take_over(std::move(program), tracing);
  let_go_of_ended(tracing);
}

// Lines of their records are made when somebody reads them: what names them needs is kept for the last ones.
void MountedProcesses::let_go_of_ended(engine::Tracing& tracing) {
  ends_.note(processes_);
  if (std::ranges::none_of(processes_, [](const auto& process) { return process->is_over; })) return;
  std::vector<std::unique_ptr<MountedProcess>> stay;
  for (auto& process : processes_) {
    if (!process->is_over || !tracing.remove_target(*process)) {
      stay.push_back(std::move(process));
      continue;
    }
    refused_->remove(process->pid());
    process->keep_names();
    ended_.push_back(std::move(process));
  }
  processes_ = std::move(stay);
  for (; ended_.size() > kNamesKept; ended_.pop_front()) tracing.forget_target(*ended_.front());
}

void MountedProcesses::step(engine::Tracing& tracing) {
  if (is_held_ && tracing.is_any_on()) let_go();
  if (options_.follow && !is_held_) follow(tracing);
  for (const auto& process : processes_) {
    if (process->asks_about_libraries()) {
      tracing.libraries_changed(*process);
      process->runtime().answer_for_libraries();
    }
    if (process->has_become_another())
      report_.status(process->name() + " has become another program (exec): nothing of it can be traced any more");
    if (process->held.origin == Origin::Followed || !process->settle_if_ended()) continue;
    tracing.drain();
    const bool stays = options_.keep || !options_.pids.empty();
    report_.status(process->name() + " has ended" +
                   (stays ? "; " + options_.directory + " stays until Ctrl-C or umount" : ""));
  }
}

bool MountedProcesses::leave(MountedProcess& process, const inproc::SharedSessions& sessions) {
  bool good = true;
  const auto note = [&](const Result<inproc::Leftover>& left, std::string_view whose) {
    if (left) return;
    good = false;
    report_.error(Error(left.error()).while_doing(fmt::format("removing the probes of {}{}", whose, process.name())));
  };
  inproc::InprocRuntime& runtime = process.runtime();
  if (!runtime.poll_exit()) {
    const auto detached = runtime.detach();
    if (detached || !runtime.poll_exit()) note(detached, "");
  }
  if (!runtime.poll_exit() || runtime.may_be_hit(sessions)) note(runtime.leave_children(), "forked children of ");
  runtime.settle();
  return good;
}

bool MountedProcesses::leave() {
  if (is_held_) {
    abandon();
    return true;
  }
  const auto sessions = inproc::SharedSessions::look();
  return std::ranges::count_if(processes_, [&](const auto& process) { return !leave(*process, sessions); }) == 0;
}

// CMD, which is our child, is waited for; not when we are to leave (SIGTERM): it goes on without us then. Where what it
// has become could not be traced, nobody knows its end.
int MountedProcesses::exit_status() {
  if (is_held_ || !options_.pids.empty()) return kOk;
  if (command().has_given_way()) return kFailed;
  inproc::InprocRuntime& runtime = command().runtime();
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
