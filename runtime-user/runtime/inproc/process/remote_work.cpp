// A thread of the target that works for us: system calls and calls of functions on its behalf, steps, runs to a place.
//
// It works from a place that holds its way back (work_code.h). The order keeps it safe at every instant:
//
//   begin   the code is written; the thread is put on its way back; only then are its signals blocked
//   work    it makes a system call, behind which its way back begins again
//   end     its signals come back; it is put where it was; only then is the code erased
//
// Meanwhile signals wait in the kernel, with all that was sent along.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/error.h"
#include "common/proc.h"
#include "runtime-user/runtime/inproc/process/tracee.h"
#include "runtime-user/runtime/inproc/process/work_code.h"
#include "runtime-user/runtime/inproc/x86/machine.h"

namespace kevt::inproc {

namespace {
constexpr std::uint64_t kAllSignals = ~0ull;

constexpr std::uint64_t kRoomBelow =
    1024;  // bytes that stay untouched below the thread's stack pointer: its red zone and more

// The signal that a thread has stopped for, as it was sent; where that cannot be asked, as if kill() had sent it.
siginfo_t signal_of(pid_t tid, int signal) {
  siginfo_t info{};
  if (ptrace(PTRACE_GETSIGINFO, tid, 0, &info) == 0) return info;
  info.si_signo = signal;
  return info;
}

// Why the signal came that a thread has stopped for.
enum class Cause : std::uint8_t { Sent, Fault, Other };
Cause cause_of(pid_t tid) {
  siginfo_t info{};
  if (ptrace(PTRACE_GETSIGINFO, tid, 0, &info) < 0) return Cause::Other;
  if (info.si_code <= 0) return Cause::Sent;
  return info.si_signo == SIGTRAP ? Cause::Other : Cause::Fault;
}

// Where in a system call a thread has stopped: PTRACE_SYSCALL_INFO_ENTRY, _EXIT, or _NONE.
int place_in_call(pid_t tid) {
  struct __ptrace_syscall_info info = {};
  const auto got = ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof info, &info);
  return got > 0 ? info.op : static_cast<int>(PTRACE_SYSCALL_INFO_NONE);
}
}  // namespace

// What the thread goes back to by itself.
Result<void> Tracee::write_way_back(const Work& work) {
  auto put = write(work_place_, WorkCode::build(with_call_restarted(work.registers), work.mask));
  if (!put) return std::unexpected(std::move(put.error()).while_doing("preparing a thread to work for the tracer"));
  return {};
}

Result<void> Tracee::begin_work() {
  if (work_) return {};
  if (threads_.empty()) return std::unexpected(gone());
  if (refuses_calls_)
    return std::unexpected(
        Error("the process has a seccomp filter, which could end it for a system call of ours, and "
              "suspending that needs CAP_SYS_ADMIN",
              EPERM));
  if (!work_place_.value) {
    work_place_ = KEVT_TRY(find_work_place(*this));
  }
  const pid_t tid = threads_.front();
  auto own = KEVT_TRY(kernel_registers(tid));
  auto mask = KEVT_TRY(kernel_mask(tid));
  const Work work{own, mask};
  KEVT_TRY(write_way_back(work));
  KEVT_TRY(put_on_way_back(own));
  KEVT_TRY(set_kernel_mask(tid, kAllSignals));
  work_ = work;
  return {};
}

// `registers`: any whose stack pointer is the thread's.
Result<void> Tracee::put_on_way_back(user_regs_struct registers) {
  registers.rip = work_place_.value + WorkCode::kBackAt;
  registers.orig_rax = ~0ull;
  return set_kernel_registers(threads_.front(), registers);
}

void Tracee::end_work() {
  const auto work = std::exchange(work_, std::nullopt);
  if (!work || threads_.empty()) return;
  const pid_t tid = threads_.front();
  if (set_kernel_mask(tid, work->mask) && set_kernel_registers(tid, work->registers))
    (void)erase_work_place(*this, work_place_);
  else
    (void)put_on_way_back(work->registers);  // it goes by itself
}

// The next stop of one thread. While that thread works for us, others may be killed: they are collected, since the
// leader's end is not reported before theirs.
Result<int> Tracee::wait_for(pid_t tid) {
  int status = 0;
  for (unsigned tries = 0;; ++tries) {
    const bool alone = threads_.size() <= 1;
    const pid_t got = waitpid(tid, &status, alone ? __WALL : __WALL | WNOHANG);
    if (got == tid) break;
    if (got < 0 && errno != EINTR) return std::unexpected(Error::from_errno("waiting for the target"));
    if (alone) continue;
    std::erase_if(threads_, [&](pid_t other) {
      int ended = 0;
      return other != tid && waitpid(other, &ended, __WALL | WNOHANG) == other && note_end(other, ended);
    });
    const timespec pause = {0, tries < 50 ? 2'000 : 100'000};
    nanosleep(&pause, nullptr);
  }
  if (!note_end(tid, status)) return status;
  work_.reset();
  std::erase(threads_, tid);
  release();
  return std::unexpected(gone());
}

// Continues one thread until it enters or leaves a system call (`wanted`). A signal that stops the whole process is
// delivered at once; other signals that were sent wait until the thread is let go.
Result<void> Tracee::resume_until_call(pid_t tid, int wanted) {
  int deliver = 0;
  for (;;) {
    if (ptrace(PTRACE_SYSCALL, tid, 0, deliver) < 0) return std::unexpected(Error::from_errno("resuming the target"));
    deliver = 0;
    auto status = KEVT_TRY(wait_for(tid));
    if (status >> 16) continue;  // event stops: ours, or a group stop
    const int place = place_in_call(tid);
    if (place == wanted) return {};
    if (place != PTRACE_SYSCALL_INFO_NONE) continue;
    const int signal = WSTOPSIG(status);
    if (signal == SIGSTOP || cause_of(tid) == Cause::Fault)
      deliver = signal;  // a fault happens again until its signal is delivered
    else
      deferred_signals_.push_back(signal_of(tid, signal));
  }
}

Result<std::int64_t> Tracee::syscall(std::int64_t number, std::array<std::uint64_t, 6> arguments) {
  KEVT_TRY(begin_work());
  const pid_t tid = threads_.front();
  user_regs_struct r = work_->registers;
  r.rip = work_place_.value + WorkCode::kSyscallAt;
  r.rax = static_cast<unsigned long long>(number);
  r.orig_rax = ~0ull;  // no restart of the call it was stopped in
  r.rdi = arguments[0];
  r.rsi = arguments[1];
  r.rdx = arguments[2];
  r.r10 = arguments[3];
  r.r8 = arguments[4];
  r.r9 = arguments[5];
  KEVT_TRY(set_kernel_registers(tid, r));
  for (const int stop : {PTRACE_SYSCALL_INFO_ENTRY, PTRACE_SYSCALL_INFO_EXIT}) KEVT_TRY(resume_until_call(tid, stop));
  auto after = KEVT_TRY(kernel_registers(tid));
  return static_cast<std::int64_t>(after.rax);
}

// It works in place of the first one, whose signals wait meanwhile.
Result<std::int64_t> Tracee::syscall_of(pid_t tid, std::int64_t number, std::array<std::uint64_t, 6> arguments) {
  end_work();
  const auto wanted = std::ranges::find(threads_, tid);
  if (wanted == threads_.end()) return std::unexpected(gone());
  const pid_t first = threads_.front();
  auto of_first = std::exchange(deferred_signals_, {});
  std::iter_swap(threads_.begin(), wanted);
  auto result = syscall(number, arguments);
  const auto sent = result && !deferred_signals_.empty() ? send_again() : Result<void>();
  end_work();
  deferred_signals_.insert(deferred_signals_.begin(), of_first.begin(), of_first.end());
  if (const auto back = std::ranges::find(threads_, first); back != threads_.end())
    std::iter_swap(threads_.begin(), back);
  if (!sent) return std::unexpected(sent.error());
  return result;
}

// Signals that came while the thread could not block them are sent again, so that they wait in the kernel as they were
// sent. The thread itself sends them: it alone may use another sender's siginfo (rt_tgsigqueueinfo(2)).
Result<void> Tracee::send_again() {
  for (const siginfo_t& info : std::exchange(deferred_signals_, {})) {
    const std::uint64_t at = ((work_->registers.rsp - kRoomBelow) & ~0xfull) - sizeof info;
    KEVT_TRY(write(RemoteAddr{at}, {reinterpret_cast<const std::uint8_t*>(&info), sizeof info}));
    auto pid = syscall(SYS_getpid, {}), tid = syscall(SYS_gettid, {});
    if (!pid || !tid) return std::unexpected(std::move(pid ? tid.error() : pid.error()));
    auto sent =
        KEVT_TRY(syscall(SYS_rt_tgsigqueueinfo, {static_cast<std::uint64_t>(*pid), static_cast<std::uint64_t>(*tid),
                                                 static_cast<std::uint64_t>(info.si_signo), at, 0, 0}));
    if (sent < 0) deferred_signals_.push_back(info);  // release() sends it
  }
  return {};
}

// The function returns to the way back. The thread is stopped behind the first system call there, which has restored
// its own signal mask.
Result<void> Tracee::call(RemoteAddr function, std::span<std::uint64_t> words) {
  KEVT_TRY(begin_work());
  const pid_t tid = threads_.front();
  user_regs_struct r = work_->registers;
  r.rdi = (r.rsp - kRoomBelow - words.size_bytes()) & ~0xfull;
  r.rsi = words.size();
  r.rsp = r.rdi - 8;
  const std::span<std::uint8_t> copy(reinterpret_cast<std::uint8_t*>(words.data()), words.size_bytes());
  KEVT_TRY(write(RemoteAddr{r.rdi}, copy));
  const std::uint64_t returns_to = work_place_.value + WorkCode::kReturnAt;
  KEVT_TRY(write(RemoteAddr{r.rsp}, {reinterpret_cast<const std::uint8_t*>(&returns_to), 8}));
  r.rip = function.value;
  r.orig_rax = ~0ull;
  KEVT_TRY(set_kernel_registers(tid, r));
  KEVT_TRY(set_kernel_mask(tid, kMaskOfCalls));
  for (;;) {
    KEVT_TRY(resume_until_call(tid, PTRACE_SYSCALL_INFO_EXIT));
    auto left = KEVT_TRY(kernel_registers(tid));
    if (left.rip - work_place_.value >= WorkCode::kRoom) continue;  // a system call of the function's own
    KEVT_TRY(put_on_way_back(work_->registers));
    KEVT_TRY(set_kernel_mask(tid, kAllSignals));
    KEVT_TRY(read(RemoteAddr{r.rdi}, copy));
    return send_again();
  }
}

// ---- a target that has one thread and has not run yet ---------------------------------------

Result<void> Tracee::resume_until_trap(pid_t tid, int request) {
  int deliver = 0;
  for (;;) {
    if (ptrace(static_cast<__ptrace_request>(request), tid, 0, deliver) < 0)
      return std::unexpected(Error::from_errno("resuming the target"));
    deliver = 0;
    auto waited = KEVT_TRY(wait_for(tid));
    const int status = waited;
    if (status >> 16) continue;  // event stops: ours, or a group stop
    const Cause cause = cause_of(tid);
    const bool is_call = (WSTOPSIG(status) & 0x80) != 0;
    if (is_call || (WSTOPSIG(status) == SIGTRAP && cause != Cause::Sent)) return {};
    if (cause == Cause::Fault) {  // it happens again until its signal is delivered; what somebody sent can wait
      deliver = WSTOPSIG(status);
    } else {
      deferred_signals_.push_back(signal_of(tid, WSTOPSIG(status)));
    }
  }
}

Result<void> Tracee::step() {
  end_work();
  return resume_until_trap(threads_.front(), PTRACE_SINGLESTEP);
}

Result<void> Tracee::run_to(RemoteAddr at) {
  end_work();
  const pid_t tid = threads_.front();
  std::uint8_t original = 0;
  KEVT_TRY(read(at, {&original, 1}));
  KEVT_TRY(write(at, {&x86::kBreakpoint, 1}));
  KEVT_TRY(resume_until_trap(tid, PTRACE_CONT));
  KEVT_TRY(write(at, {&original, 1}));
  auto r = KEVT_TRY(registers(tid));
  if (r.rip != at.value + 1) return std::unexpected(Error("the target stopped somewhere else"));
  r.rip = at.value;
  return set_registers(tid, r);
}

Result<user_regs_struct> Tracee::run_to_system_call() {
  end_work();
  const pid_t tid = threads_.front();
  KEVT_TRY(resume_until_trap(tid, PTRACE_SYSCALL));
  return registers(tid);
}

}  // namespace kevt::inproc
