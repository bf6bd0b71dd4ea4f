// Whoever holds a process by ptrace must not die in the middle of a change: the process would go on with
// half of it. And the probes must leave when kevtrace is killed. SIGKILL cannot be caught, so it hits a
// process that holds nothing:
//
//   kevtrace ──fork── tracer ──ptrace── target
//      │ waits, passes Ctrl-C on    │ sees that its parent has gone: detaches, ends
//
// With OwnSession also a SIGKILL for the whole process group or terminal passes it by. What kills the
// tracer itself (by its own id, the OOM killer) between two changes leaves the probes in the target, where
// their records are lost once the rings are full; the target goes on.
#include "cli/front.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "cli/exit_status.h"
#include "cli/print.h"

namespace kevt::cli {

namespace {

pid_t front = 0;            // in the tracer
volatile pid_t tracer = 0;  // in front of it
volatile Behind place = Behind::OwnSession;
volatile std::int64_t asked_at_ms = 0;

std::int64_t now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

// timeout(1) and some terminals send one wish twice.
constexpr std::int64_t kSameWishMs = 100;

// A terminal's Ctrl-C reaches both when they share its session: then there is nothing to pass on.
void on_signal(int signal, siginfo_t* info, void*) {
  if (asked_at_ms && now_ms() - asked_at_ms > kSameWishMs) _exit(kSignalBase + signal);
  if (!asked_at_ms) asked_at_ms = now_ms();
  if (place == Behind::OwnSession || info->si_code <= 0) kill(tracer, signal);
}

void catch_signals() {
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  struct sigaction hangup;  // ignored under nohup
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

int wait_for_tracer() {
  int status = 0;
  while (waitpid(tracer, &status, 0) < 0)
    if (errno != EINTR) return kOurFailure;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  print_to(stderr,
           "kevtrace: error: the tracing process was ended by signal {}; what it traced may still hold probes\n",
           WTERMSIG(status));
  return kSignalBase + WTERMSIG(status);
}

}  // namespace

bool is_abandoned() { return front != 0 && getppid() != front; }

int run_behind(Behind where, const std::function<int()>& work) {
  const pid_t self = getpid();
  place = where;
  signal(SIGCHLD, SIG_DFL);
  sigset_t all, before;  // no signal is lost between the fork and the handlers
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t child = fork();
  if (child == 0) {
    front = self;
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // wakes it from a write that nobody reads
    prctl(PR_SET_NAME, "kevtrace-tracer");
    if (where == Behind::OwnSession) setsid();
    sigprocmask(SIG_SETMASK, &before, nullptr);
    std::exit(work());
  }
  if (child > 0) {
    tracer = child;
    catch_signals();
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return child < 0 ? work() : wait_for_tracer();
}

}  // namespace kevt::cli
