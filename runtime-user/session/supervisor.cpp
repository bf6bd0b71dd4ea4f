// Whoever holds a process by ptrace may die at any moment: by a signal to its pid, by the OOM killer, by a defect of
// ours. The target is safe to run at every instant (docs/adr/0026), but our probes would stay in it. And the probes
// must leave when kevtrace is killed. SIGKILL cannot be caught, so two processes watch each other:
//
//   kevtrace ──fork── tracer ──ptrace── target
//      │ waits, passes Ctrl-C on    │ sees that its parent has gone: detaches, ends
//      │ sees that the tracer died, or failed to leave: takes the probes out of what it has left (left_session.h)
//      │ if the tracer died: calls its keeper (keeper.h), which finishes the trace
//
// With OwnGroup even a SIGKILL for the whole process group does not reach the tracer. If both processes are killed at
// once, the probes stay in the target: the target goes on, and records are lost once the rings are full.
//
// It is no session of its own: the kernel gives each session a share of the CPUs (autogroups, sched(7)). On busy CPUs
// Linux 6.18 left the only process of a session without CPU for up to 30 seconds, while targets waited for it.
#include "runtime-user/session/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "common/clock.h"
#include "common/print.h"
#include "common/proc.h"
#include "common/unique_fd.h"
#include "runtime-user/runtime/inproc/process/left_session.h"
#include "runtime-user/session/exit_status.h"

namespace kevt::session {

namespace {

pid_t supervisor = 0;       // in the tracer
volatile pid_t tracer = 0;  // in the supervisor
volatile Supervised place = Supervised::OwnGroup;
volatile std::int64_t asked_at_ms = 0;
volatile bool has_called_keeper = false;

// What the tracer tells the supervisor, in shared memory.
struct Notes {
  pid_t command = 0;
  std::uint64_t command_began = 0;
  pid_t keeper = 0;
  char directory[PATH_MAX] = {};
  inproc::PreparationNote preparation;
};
Notes* notes = nullptr;

// How a keeper is called: the supervisor writes a byte to `call`, which one of them reads, and closes it when the
// probes are out. `alive` is held by the tracer and its keepers, and never written: it ends when they have all ended.
struct Pipe {
  UniqueFd read, write;
};
struct KeeperLine {
  Pipe call, alive;
};
std::optional<KeeperLine> keeper_line;

std::optional<Pipe> open_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void open_keeper_line() {
  auto call = open_pipe();
  auto alive = open_pipe();
  if (call && alive) keeper_line.emplace(*std::move(call), *std::move(alive));
}

// True: a byte was read; false: nobody will ever write one.
bool await_byte(const UniqueFd& from) {
  char byte = 0;
  ssize_t got = 0;
  while ((got = read(from.get(), &byte, 1)) < 0 && errno == EINTR) {
  }
  return got == 1;
}

void call_keeper() {
  has_called_keeper = true;
  if (keeper_line) (void)!write(keeper_line->call.write.get(), "", 1);
}

// Returns when the keeper has ended, or there is none.
void let_keeper_finish() {
  if (!keeper_line) return;
  keeper_line->call.write.reset();
  (void)await_byte(keeper_line->alive.read);
  has_called_keeper = false;  // its number may be another process's by now
}

std::int64_t now_ms() { return static_cast<std::int64_t>(now_ns() / 1'000'000); }

// timeout(1) and some terminals send the same request twice; a second signal within this time is not a new request.
constexpr std::int64_t kSameWishMs = 100;

// If both processes are in the terminal's process group, Ctrl-C reaches both: such a signal (si_code > 0) is not passed
// on.
void on_signal(int signal, siginfo_t* info, void*) {
  if (asked_at_ms && now_ms() - asked_at_ms > kSameWishMs) {
    if (has_called_keeper && notes && notes->keeper) kill(notes->keeper, SIGKILL);
    _exit(kSignalBase + signal);
  }
  if (!asked_at_ms) asked_at_ms = now_ms();
  if (tracer && (place == Supervised::OwnGroup || info->si_code <= 0)) kill(tracer, signal);
}

void catch_signals() {
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  struct sigaction hangup;  // stays ignored under nohup
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

void clean_up_behind(pid_t dead) {
  if (notes)
    if (auto cleaned = inproc::clean_up(notes->preparation); !cleaned)
      print_to(messages(), "kevtrace: error: {}\n", cleaned.error().message());
  for (const pid_t pid : inproc::processes_left_by(dead)) {
    const std::string name = proc::comm(pid);
    const auto left = inproc::clean_up(pid);
    if (!left && !proc::start_time(pid)) continue;  // it has ended meanwhile, as a short-lived child does
    if (!left)
      print_to(messages(), "kevtrace: error: process {} ({}) still holds probes: {}\n", pid, name,
               left.error().message());
    else if (*left != inproc::DetachResult::Nothing)
      print_to(messages(), "kevtrace: process {} ({}) runs on without probes; some of kevtrace's code stays in it\n",
               pid, name);
    else
      print_to(messages(), "kevtrace: process {} ({}) runs on without probes\n", pid, name);
  }
}

// A mount whose server is gone answers ENOTCONN to everybody.
void unmount(const char* directory) {
  if (!*directory || umount2(directory, MNT_DETACH) == 0) return;
  const pid_t child = fork();
  if (child == 0) {
    execlp("fusermount3", "fusermount3", "-u", "-z", "-q", directory, nullptr);
    _exit(kNotFound);
  }
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// Waits for a process that is not our child.
void wait_for_end(pid_t pid) {
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  pollfd ended = {process.get(), POLLIN, 0};
  while (process && poll(&ended, 1, -1) < 0 && errno == EINTR) {
  }
}

int wait_for_tracer() {
  int status = 0;
  while (waitpid(tracer, &status, 0) < 0)
    if (errno != EINTR) return kOurFailure;
  if (WIFEXITED(status)) {
    if (notes && notes->preparation.has_failed_to_leave) clean_up_behind(tracer);
    return WEXITSTATUS(status);
  }
  print_to(messages(), "kevtrace: error: the tracing process was ended by signal {} ({})\n", WTERMSIG(status),
           sigdescr_np(WTERMSIG(status)));
  const pid_t dead = tracer;
  const bool command_is_there = notes && notes->command && proc::start_time(notes->command) == notes->command_began;
  tracer = command_is_there ? notes->command : 0;  // signals are now passed on to CMD
  call_keeper();
  clean_up_behind(dead);
  if (notes) unmount(notes->directory);
  let_keeper_finish();
  if (tracer) wait_for_end(tracer);
  return kSignalBase + WTERMSIG(status);
}

// An exception means a lack of memory. It ends the work like an error: destructors undo everything, as far as that is
// possible without memory.
int guarded(const std::function<int()>& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    print_to(messages(), "kevtrace: error: out of memory\n");
  } catch (const std::exception& thrown) {
    print_to(messages(), "kevtrace: error: {}\n", thrown.what());
  }
  inproc::note_failed_departure();
  return kOurFailure;
}

}  // namespace

bool is_abandoned() { return supervisor != 0 && getppid() != supervisor; }

bool has_supervisor() { return supervisor != 0 && keeper_line; }

bool wait_for_tracers_end() {
  supervisor = 0;  // this process is not the one that has to end with it
  return await_byte(keeper_line->call.read);
}

bool are_probes_out() {
  pollfd call = {keeper_line->call.read.get(), POLLIN, 0};
  return poll(&call, 1, 1) > 0 && (call.revents & POLLHUP);
}

void note_keeper(pid_t keeper) {
  if (notes) notes->keeper = keeper;
}

void note_started(pid_t command) {
  if (!notes) return;
  notes->command_began = proc::start_time(command);
  notes->command = command;
}

void note_mounted(const std::string& directory) {
  if (notes) std::strncpy(notes->directory, directory.c_str(), sizeof notes->directory - 1);
}

int run_supervised(Supervised where, const std::function<int()>& work) {
  const pid_t self = getpid();
  place = where;
  signal(SIGCHLD, SIG_DFL);
  void* shared = mmap(nullptr, sizeof(Notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared != MAP_FAILED) notes = new (shared) Notes;
  open_keeper_line();
  sigset_t all, before;  // no signal is lost between the fork and the handlers
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t child = fork();
  if (child == 0) {
    supervisor = self;
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // also wakes it from a write to a pipe that nobody reads
    prctl(PR_SET_NAME, "kevtrace-tracer");
    if (notes) inproc::note_preparations_in(&notes->preparation);
    if (keeper_line) {
      keeper_line->call.write.reset();
      keeper_line->alive.read.reset();
    }
    if (where == Supervised::OwnGroup) {
      setpgid(0, 0);
      signal(SIGTTOU, SIG_IGN);  // else it stops where it writes to a terminal with `stty tostop`
    }
    sigprocmask(SIG_SETMASK, &before, nullptr);
    std::exit(guarded(work));
  }
  if (child > 0) {
    tracer = child;
    if (keeper_line) keeper_line->alive.write.reset();
    catch_signals();
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return child < 0 ? guarded(work) : wait_for_tracer();
}

}  // namespace kevt::session
