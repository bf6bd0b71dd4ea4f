// kevtrace mount: start CMD or seize processes → mount the tree → serve it → unmount → leave everything.
//
// The process the user started waits in front (front.h); the one behind it holds the targets by ptrace and serves the
// mount. When the front is killed the one behind sees it, unmounts and takes every probe out.
#include <fmt/format.h>
#include <grp.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <bit>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/front.h"
#include "cli/mounted_process.h"
#include "cli/print.h"
#include "cli/report.h"
#include "runtime-user/engine/trace_printer.h"
#include "tracefs-compat/fuse/mount.h"

namespace kevt::cli {

namespace {

constexpr std::uint64_t kRingBytes = 4u << 20;  // per CPU and process: what waits between two rounds
constexpr std::uint32_t kRows = 16384;          // probes and filters, over the whole life of the mount

std::atomic<int> interrupts = 0;
void on_interrupt(int) { ++interrupts; }

void catch_signals() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

Result<std::optional<gid_t>> find_group(const std::string& name) {
  if (name.empty()) return std::nullopt;
  gid_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && end == name.data() + name.size()) return number;
  const group* found = getgrnam(name.c_str());
  if (!found) return std::unexpected(Error("there is no group `" + name + "`"));
  return found->gr_gid;
}

std::string comm_of(pid_t tid) {
  std::ifstream file(fmt::format("/proc/{}/comm", tid));
  std::string comm;
  std::getline(file, comm);
  return comm;
}

class MountRun {
 public:
  MountRun(MountVerbOptions options, const GlobalOptions& global) : options_(std::move(options)), report_(global) {}
  int go();

 private:
  std::optional<int> take_processes();
  std::optional<int> open_mount();
  bool step();
  void leave();
  void print_counts() const;
  int exit_status() const;

  MountVerbOptions options_;
  Reporter report_;
  std::vector<std::unique_ptr<MountedProcess>> processes_;
  std::unique_ptr<engine::Tracing> tracing_;
  std::unique_ptr<tree::Tree> tree_;
  std::unique_ptr<fuse::Mount> mount_;
  bool stop_failed_ = false;
};

std::optional<int> MountRun::take_processes() {
  const inproc::SessionOptions session{.ring_bytes = kRingBytes, .rows = kRows};
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

std::optional<int> MountRun::open_mount() {
  auto group = find_group(options_.group);
  if (!group) {
    report_.error(group.error());
    return kUsage;
  }
  std::vector<engine::TracedTarget*> targets;
  std::vector<pid_t> pids;
  for (const auto& process : processes_) {
    targets.push_back(process.get());
    pids.push_back(process->pid());
  }
  engine::TracingOptions tracing{.cpus = inproc::possible_cpus()};
  if (options_.buffer_kb) tracing.buffer_kb = *options_.buffer_kb;
  tracing_ = std::make_unique<engine::Tracing>(targets, tracing);
  tree_ = std::make_unique<tree::Tree>(*tracing_);
  auto mount = fuse::Mount::open(
      *tree_, {.directory = std::filesystem::absolute(options_.directory).string(), .group = *group, .refused = pids});
  if (!mount) {
    report_.error(mount.error());
    return mount.error().errno_value() == ENODEV ? kMissing : kFailed;
  }
  mount_ = std::move(*mount);
  for (const auto& process : processes_) report_.status("mounted on " + options_.directory + ": " + process->name());
  return std::nullopt;
}

// Once a round of the serving thread.
bool MountRun::step() {
  tracing_->drain();
  for (const auto& process : processes_) {
    if (process->has_become_another())
      report_.status(process->name() + " has become another program (exec): nothing of it can be traced any more");
    if (!process->settle_if_ended()) continue;
    tracing_->drain();
    report_.status(process->name() + " has ended; " + options_.directory + " stays until Ctrl-C or umount");
  }
  return interrupts == 0 && !is_abandoned();
}

void MountRun::leave() {
  for (const fuse::MountUser& user : mount_->users())
    report_.status(fmt::format("{} was still open, by {} ({})", user.path, user.tid, comm_of(user.tid)));
  mount_.reset();
  for (const auto& process : processes_) {
    const auto note = [&](const Result<inproc::Leftover>& left, std::string_view whose) {
      if (left) return;
      stop_failed_ = true;
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
  tracing_->drain();
}

void MountRun::print_counts() const {
  if (report_.is_quiet()) return;
  for (const auto& [id, event] : tracing_->events().events()) {
    const runtime::EventCounts c = tracing_->counts(tracing_->top(), *event);
    if (c.attempts == 0) continue;
    print_to(stderr, "{}: hits {} = recorded {} + filtered {} + lost {} + missed {}\n", event->name, c.attempts,
             c.recorded, c.filtered, c.lost, c.missed);
  }
}

// CMD, which is our child, is waited for.
int MountRun::exit_status() const {
  if (stop_failed_) return kFailed;
  if (!options_.pids.empty()) return kOk;
  inproc::InprocRuntime& runtime = processes_.front()->runtime();
  const timespec pause = {0, 10'000'000};
  while (!runtime.poll_exit() && !is_abandoned()) nanosleep(&pause, nullptr);
  const int status = runtime.poll_exit().value_or(0);
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

int MountRun::go() {
  auto failed = take_processes();
  if (!failed) failed = open_mount();
  if (failed || is_abandoned()) {
    for (const auto& process : processes_) end_held(process->held());
    return failed.value_or(kFailed);
  }
  catch_signals();
  for (const auto& process : processes_) process->runtime().go();
  mount_->serve([this] { return step(); });
  leave();
  print_counts();
  return exit_status();
}

}  // namespace

int mount(const MountVerbOptions& options, const GlobalOptions& global) {
  const Reporter report(global);
  if (options.runtime == "bpf" || options.runtime == "kmod") {
    report.error("a mount over the " + options.runtime +
                 " runtime is not there yet; --runtime=inproc traces a program");
    return kMissing;
  }
  const Behind where = options.pids.empty() ? Behind::SameSession : Behind::OwnSession;
  return run_behind(where, [&] { return MountRun(options, global).go(); });
}

}  // namespace kevt::cli
