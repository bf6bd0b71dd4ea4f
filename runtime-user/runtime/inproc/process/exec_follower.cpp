// The controller's side of runtime-user/agent/exec.c:
//
//   ASKED    seize the thread with PTRACE_O_TRACEEXEC, READY      it makes the call
//   stopped by PTRACE_EVENT_EXEC                                  the new program, held before its first instruction
//   FAILED   interrupt, detach, FREE                              it goes on with the error
//
// The memory belongs to hostile processes, each of which may write asks in the name of others. A thread is believed to
// have asked where it sleeps on the futex of that ask, which nobody but itself can make it do, in a process that has
// the session's memory mapped. Any other thread is never touched: its ask is answered, so that whoever waits there goes
// on. An ask of no awaited thread is freed after a while, also if its thread died before it asked.
#include "runtime-user/runtime/inproc/process/exec_follower.h"

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
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "common/proc.h"
#include "runtime-user/runtime/inproc/process/forked_children.h"
#include "runtime-user/runtime/inproc/process/thread_report.h"

namespace kevt::inproc {

namespace {

constexpr std::size_t kMostAwaited = std::size_t{2} * KEVT_EXEC_ASKS;
// From the question to the futex, where CPUs are busy; the thread waits 10 s for the first answer that comes late.
constexpr std::chrono::seconds kUntilAsleep{5};
constexpr std::chrono::seconds kUntilExpired{2};

bool is_exec(const ThreadReport& report) { return !report.ended() && report.event() == PTRACE_EVENT_EXEC; }

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

// Only if the ask is as it was seen: a thread that was slow may ask by now.
void ExecFollower::free(std::uint32_t ask, kevt_exec_ask seen) const {
  kevt_exec_ask& there = memory_.session().execs[ask];
  if (__atomic_load_n(&there.tid, __ATOMIC_ACQUIRE) != seen.tid) return;
  std::uint32_t& word = there.state;
  if (__atomic_compare_exchange_n(&word, &seen.state, KEVT_EXEC_FREE, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Told by what the kernel says the thread is doing: `/proc/TID/syscall`, "202 0x6f00…f04 0x0 0x2 …", or "running".
ExecFollower::Asker ExecFollower::asker_of(std::uint32_t ask, pid_t tid) const {
  if (tid <= 1 || !proc::process_of(tid)) return Asker::Forged;
  std::ifstream file("/proc/" + std::to_string(tid) + "/syscall");
  long number = 0;
  std::uint64_t word = 0, operation = 0, expected = 0;
  const bool is_in_call = static_cast<bool>(file >> number >> std::hex >> word >> operation >> expected);
  const std::uint64_t own = memory_.tables().session + offsetof(kevt_session, execs) + sizeof(kevt_exec_ask) * ask +
                            offsetof(kevt_exec_ask, state);
  const bool sleeps_there = is_in_call && number == SYS_futex && word == own && operation == FUTEX_WAIT;
  if (is_in_call && !sleeps_there) return Asker::Forged;
  if (!shares_session(tid, memory_.file(MapPiece::From::Session))) return Asker::Forged;
  return sleeps_there && expected == KEVT_EXEC_ASKED ? Asker::Real : Asker::Unclear;
}

// An asker that is not followed gets its answer, too, and goes on untraced.
void ExecFollower::take_up(std::uint32_t ask, pid_t tid, Clock::duration age) {
  const Asker asker = asker_of(ask, tid);
  if (asker == Asker::Unclear && age < kUntilAsleep) return;
  if (asker == Asker::Real) {
    let_go_of(ask);
    const pid_t process = proc::process_of(tid);
    if (process && awaited_.size() < kMostAwaited && ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACEEXEC) == 0)
      awaited_.push_back({tid, process, ask});
    else
      ++unseen_;  // another tracer has it, for instance
  } else if (asker == Asker::Unclear) {
    ++unseen_;
  }
  set(ask, KEVT_EXEC_READY);
}

// Lets go of the thread that is awaited for this ask, if any: its exec failed, or its ask was overwritten.
void ExecFollower::let_go_of(std::uint32_t ask) {
  const auto awaited = std::ranges::find(awaited_, ask, &Awaited::ask);
  if (awaited == awaited_.end()) return;
  awaited->ask = kNoAsk;
  awaited->is_let_go = true;
  ptrace(PTRACE_INTERRUPT, awaited->tid, 0, 0);
}

// Somebody else waits for the end of the session's own process.
int ExecFollower::kinds_for(pid_t tid) const { return tid == own_ ? WSTOPPED : WSTOPPED | WEXITED; }

// A thread that becomes a program has its process's pid from then on, also if it was not the first thread.
ExecFollower::Step ExecFollower::advance(const Awaited& awaited) const {
  if (awaited.tid != awaited.process) {
    const auto first = report_of(awaited.process, WSTOPPED);
    if (first && is_exec(*first)) return Step::Became;
  }
  const auto report = report_of(awaited.tid, kinds_for(awaited.tid));
  if (!report) return Step::Waits;
  if (report->ended()) return awaited.tid == awaited.process || kill(awaited.process, 0) < 0 ? Step::Done : Step::Waits;
  if (is_exec(*report)) return Step::Became;
  if (awaited.is_let_go) {
    detach(awaited.tid, *report);
    return Step::Done;
  }
  go_on(awaited.tid, *report);
  return Step::Waits;
}

void ExecFollower::look_at(std::uint32_t ask, Clock::time_point now, Whose whose) {
  const kevt_exec_ask& there = memory_.session().execs[ask];
  // In the order opposite to the thread's: the tid is that of who asks, not of who asked before.
  const std::uint32_t state = __atomic_load_n(&there.state, __ATOMIC_ACQUIRE);
  const kevt_exec_ask seen = {.tid = __atomic_load_n(&there.tid, __ATOMIC_ACQUIRE), .state = state};
  Found& found = found_[ask];
  if (seen.tid != found.ask.tid || seen.state != found.ask.state) found = {seen, now};
  const bool is_awaited = std::ranges::find(awaited_, ask, &Awaited::ask) != awaited_.end();
  const bool waits = seen.state == KEVT_EXEC_ASKED || seen.state == KEVT_EXEC_FAILED;
  if (waits && whose == Whose::Others && proc::process_of(static_cast<pid_t>(seen.tid)) == own_) return;
  if (seen.state == KEVT_EXEC_ASKED) return take_up(ask, static_cast<pid_t>(seen.tid), now - found.since);
  if (seen.state == KEVT_EXEC_FAILED) {
    let_go_of(ask);
    return set(ask, KEVT_EXEC_FREE);
  }
  if (seen.state != KEVT_EXEC_FREE && !is_awaited && now - found.since > kUntilExpired) free(ask, seen);
}

std::vector<Tracee> ExecFollower::look() {
  answer(Whose::All);
  return std::exchange(became_, {});
}

void ExecFollower::answer(Whose whose) {
  if (!begun_) return;
  const Clock::time_point now = Clock::now();
  for (std::uint32_t ask = 0; ask < KEVT_EXEC_ASKS; ++ask) look_at(ask, now, whose);
  std::erase_if(awaited_, [&](const Awaited& awaited) {
    if (whose == Whose::Others && awaited.process == own_) return false;
    const Step step = advance(awaited);
    if (step == Step::Waits) return false;
    if (awaited.ask != kNoAsk) set(awaited.ask, KEVT_EXEC_FREE);
    if (step != Step::Became) return true;
    if (auto tracee = Tracee::adopt(awaited.process)) {
      became_.push_back(std::move(*tracee));
    } else {
      ptrace(PTRACE_DETACH, awaited.process, 0, 0);
      ++without_descriptor_;
    }
    return true;
  });
}

ExecFollower::Untraced ExecFollower::untraced() const {
  const std::uint64_t unanswered = __atomic_load_n(&memory_.session().execs_unanswered, __ATOMIC_RELAXED);
  return {.without_descriptor = without_descriptor_, .without_answer = unseen_ + unanswered};
}

void ExecFollower::end() {
  if (!begun_) return;
  begun_ = false;
  became_.clear();
  __atomic_store_n(&memory_.tables().follower, 0, __ATOMIC_RELEASE);
  for (const Awaited& awaited : awaited_) ptrace(PTRACE_INTERRUPT, awaited.tid, 0, 0);
  const timespec pause = {0, 50'000};
  for (int tries = 0; tries < 20'000 && !awaited_.empty(); ++tries) {  // 1 s at least, for all together
    std::erase_if(awaited_, [this](const Awaited& awaited) {
      const auto report = report_of(awaited.tid, kinds_for(awaited.tid));
      if (report && !report->ended()) detach(awaited.tid, *report);
      return report.has_value();
    });
    if (!awaited_.empty()) nanosleep(&pause, nullptr);
  }
  awaited_.clear();
  for (std::uint32_t ask = 0; ask < KEVT_EXEC_ASKS; ++ask) set(ask, KEVT_EXEC_READY);
}

}  // namespace kevt::inproc
