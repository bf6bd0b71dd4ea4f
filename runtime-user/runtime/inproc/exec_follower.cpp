// The controller's side of runtime-user/agent/exec.c:
//
//   ASKED    seize the thread with PTRACE_O_TRACEEXEC, READY      it makes the call
//   stopped by PTRACE_EVENT_EXEC                                  the new program, held before its first instruction
//   FAILED   interrupt, detach, FREE                              it goes on with the error
//
// The memory belongs to a hostile process: a tid is believed only where that process has the session's memory mapped.
#include "runtime-user/runtime/inproc/exec_follower.h"

#include <linux/futex.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>

#include "common/proc.h"
#include "runtime-user/runtime/inproc/forked_children.h"

namespace kevt::inproc {

namespace {

constexpr int kExecStop = SIGTRAP | PTRACE_EVENT_EXEC << 8;

struct Report {
  bool ended = false;
  int stop = 0;  // signal | event << 8
};

// What a traced thread has to report, if anything. One that nobody can wait for counts as ended.
std::optional<Report> report_of(pid_t tid, int kinds) {
  siginfo_t info = {};
  int failed = 0;
  do failed = waitid(P_PID, static_cast<id_t>(tid), &info, kinds | WNOHANG | __WALL);
  while (failed < 0 && errno == EINTR);
  if (failed < 0) return Report{.ended = true};
  if (info.si_pid == 0) return std::nullopt;
  const bool stopped = info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED;
  return Report{.ended = !stopped, .stop = info.si_status};
}

void go_on(pid_t tid, int stop) {
  const int signal = stop & 0xff, event = stop >> 8;
  if (event == PTRACE_EVENT_STOP && signal != SIGTRAP)
    ptrace(PTRACE_LISTEN, tid, 0, 0);  // the whole process was stopped
  else
    ptrace(PTRACE_CONT, tid, 0, event ? 0 : signal);
}

// A thread that is in the agent and stops as soon as it is asked to.
void let_go(pid_t tid, int kinds) {
  if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0) return;
  const timespec pause = {0, 50'000};
  for (int tries = 0; tries < 20'000; ++tries) {  // 1 s at least
    if (const auto report = report_of(tid, kinds)) {
      if (!report->ended) ptrace(PTRACE_DETACH, tid, 0, report->stop >> 8 ? 0 : report->stop & 0xff);
      return;
    }
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

void ExecFollower::begin() {
  begun_ = true;
  __atomic_store_n(&memory_.tables().follower, answerer_of(own_), __ATOMIC_RELEASE);
}

void ExecFollower::set(std::uint32_t ask, std::uint32_t state) const {
  std::uint32_t& word = memory_.session().execs[ask].state;
  __atomic_store_n(&word, state, __ATOMIC_RELEASE);
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void ExecFollower::take_up(std::uint32_t ask) {
  const auto tid = static_cast<pid_t>(__atomic_load_n(&memory_.session().execs[ask].tid, __ATOMIC_ACQUIRE));
  const pid_t process = tid > 1 ? proc::process_of(tid) : 0;
  if (!process || !shares_session(tid, memory_.file(MapPiece::From::Session)) ||
      ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACEEXEC) < 0)
    return set(ask, KEVT_EXEC_READY);  // not to be followed: it goes on by itself
  awaited_.push_back({tid, process, ask});
  set(ask, KEVT_EXEC_READY);
}

// The end of the session's own process is somebody else's to wait for.
int ExecFollower::kinds_for(pid_t tid) const { return tid == own_ ? WSTOPPED : WSTOPPED | WEXITED; }

// A thread that becomes a program is its process from then on, also where another one was its first.
ExecFollower::Step ExecFollower::advance(const Awaited& awaited) const {
  if (awaited.tid != awaited.process) {
    const auto first = report_of(awaited.process, WSTOPPED);
    if (first && !first->ended && first->stop == kExecStop) return Step::Became;
  }
  const auto report = report_of(awaited.tid, kinds_for(awaited.tid));
  if (!report) return Step::Waits;
  if (report->ended) return awaited.tid == awaited.process || kill(awaited.process, 0) < 0 ? Step::Done : Step::Waits;
  if (report->stop == kExecStop) return Step::Became;
  go_on(awaited.tid, report->stop);
  return Step::Waits;
}

std::vector<Tracee> ExecFollower::look() {
  std::vector<Tracee> became;
  if (!begun_) return became;
  for (std::uint32_t ask = 0; ask < KEVT_EXEC_ASKS; ++ask) {
    const std::uint32_t state = __atomic_load_n(&memory_.session().execs[ask].state, __ATOMIC_ACQUIRE);
    const auto awaited = std::ranges::find(awaited_, ask, &Awaited::ask);
    if (state == KEVT_EXEC_ASKED) take_up(ask);
    if (state != KEVT_EXEC_FAILED) continue;
    if (awaited != awaited_.end()) {
      let_go(awaited->tid, kinds_for(awaited->tid));
      awaited_.erase(awaited);
    }
    set(ask, KEVT_EXEC_FREE);
  }
  std::erase_if(awaited_, [&](const Awaited& awaited) {
    const Step step = advance(awaited);
    if (step == Step::Waits) return false;
    set(awaited.ask, KEVT_EXEC_FREE);
    if (step != Step::Became) return true;
    if (auto tracee = Tracee::adopt(awaited.process)) {
      became.push_back(std::move(*tracee));
    } else {
      ptrace(PTRACE_DETACH, awaited.process, 0, 0);
      ++let_pass_;
    }
    return true;
  });
  return became;
}

void ExecFollower::end() {
  if (!begun_) return;
  begun_ = false;
  __atomic_store_n(&memory_.tables().follower, 0, __ATOMIC_RELEASE);
  for (const Awaited& awaited : awaited_) let_go(awaited.tid, kinds_for(awaited.tid));
  awaited_.clear();
  for (std::uint32_t ask = 0; ask < KEVT_EXEC_ASKS; ++ask) set(ask, KEVT_EXEC_READY);
}

}  // namespace kevt::inproc
