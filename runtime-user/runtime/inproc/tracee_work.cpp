// A thread of the target that works for us: system calls and calls of functions on its behalf, steps, runs to a place.
// Meanwhile all signals but the three it may cause are blocked in it: they wait in the kernel, with all that was sent
// along.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

#include "runtime-user/runtime/inproc/tracee.h"

#include "common/proc.h"

namespace kevt::inproc {

namespace {
constexpr std::uint64_t kSynchronous = 1ull << (SIGTRAP - 1) | 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1);

// Why the signal came that a thread has stopped for.
enum class Cause : std::uint8_t { Sent, Breakpoint, Fault, Other };
Cause cause_of(pid_t tid) {
  siginfo_t info{};
  if (ptrace(PTRACE_GETSIGINFO, tid, 0, &info) < 0) return Cause::Other;
  if (info.si_code <= 0) return Cause::Sent;
  if (info.si_signo != SIGTRAP) return Cause::Fault;
  return info.si_code == SI_KERNEL ? Cause::Breakpoint : Cause::Other;
}
}  // namespace

// The thread may have run into an int3 or a fault and not been told yet. That signal would be taken for the end of our
// own step, and be lost: it is taken back, and the thread does the same again once it goes on.
Result<void> Tracee::take_back_own_signals() {
  const pid_t tid = threads_.front();
  for (;;) {
    auto mask = signal_mask(tid);
    if (!mask) return std::unexpected(std::move(mask.error()));
    if (!(proc::status_signals(tid, "SigPnd") & ~*mask & kSynchronous)) return {};
    if (ptrace(PTRACE_CONT, tid, 0, 0) < 0) return std::unexpected(Error::from_errno("resuming the target"));
    auto status = wait_for(tid);
    if (!status) return std::unexpected(std::move(status.error()));
    if (*status >> 16) continue;
    const Cause cause = cause_of(tid);
    if (cause == Cause::Sent) deferred_signals_.push_back(WSTOPSIG(*status));
    if (cause == Cause::Breakpoint) {
      auto r = registers(tid);
      if (!r) return std::unexpected(std::move(r.error()));
      --r->rip;
      if (auto set = set_registers(tid, *r); !set) return set;
    }
  }
}

// The step behind a system call is a SIGTRAP: blocked, it would cost the program its SIGTRAP handler.
Result<void> Tracee::begin_work() {
  if (worker_mask_) return {};
  if (auto taken = take_back_own_signals(); !taken) return taken;
  auto mask = signal_mask(threads_.front());
  if (!mask) return std::unexpected(std::move(mask.error()));
  if (auto set = set_signal_mask(threads_.front(), ~kSynchronous); !set) return set;
  worker_mask_ = *mask;
  return {};
}

void Tracee::end_work() {
  const auto mask = std::exchange(worker_mask_, std::nullopt);
  if (mask && !threads_.empty()) (void)set_signal_mask(threads_.front(), *mask);
}

// The next stop of one thread. While it works for us, the others may be killed: they are collected, since the
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
  worker_mask_.reset();
  std::erase(threads_, tid);
  release();
  return std::unexpected(gone());
}

Result<void> Tracee::resume_until_trap(pid_t tid, int request) {
  int deliver = 0;
  for (;;) {
    if (ptrace(static_cast<__ptrace_request>(request), tid, 0, deliver) < 0)
      return std::unexpected(Error::from_errno("resuming the target"));
    deliver = 0;
    auto waited = wait_for(tid);
    if (!waited) return std::unexpected(std::move(waited.error()));
    const int status = *waited;
    if (status >> 16) continue;  // event stops: ours, or a group stop
    const Cause cause = cause_of(tid);
    if (WSTOPSIG(status) == SIGTRAP && cause != Cause::Sent) return {};
    if (cause == Cause::Fault) {  // it happens again until its signal is delivered; what somebody sent can wait
      deliver = WSTOPSIG(status);
    } else {
      deferred_signals_.push_back(WSTOPSIG(status));
    }
  }
}

// Any `syscall` of the vDSO: every process has one, and nothing of ours is mapped yet.
Result<RemoteAddr> Tracee::syscall_instruction() {
  if (syscall_at_.value) return syscall_at_;
  std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with("[vdso]")) continue;
    char* end = nullptr;
    const std::uint64_t begin = std::strtoull(line.c_str(), &end, 16);
    const std::uint64_t limit = std::strtoull(end + 1, nullptr, 16);
    std::vector<std::uint8_t> code(limit - begin);
    if (auto got = read(RemoteAddr{begin}, code); !got) return std::unexpected(std::move(got.error()));
    for (std::size_t i = 0; i + 1 < code.size(); ++i)
      if (code[i] == 0x0f && code[i + 1] == 0x05) return syscall_at_ = RemoteAddr{begin + i};
  }
  return std::unexpected(
      Error("the target has no vDSO to make system calls from (valgrind's tools hide it: they translate a "
            "program's code, and what lies in its text is never run)"));
}

// Returns the registers to go back to.
Result<user_regs_struct> Tracee::prepare_syscall(std::int64_t number, const std::array<std::uint64_t, 6>& arguments) {
  if (threads_.empty()) return std::unexpected(gone());
  if (refuses_calls_)
    return std::unexpected(
        Error("the process has a seccomp filter, which could end it for a system call of ours, and "
              "suspending that needs CAP_SYS_ADMIN",
              EPERM));
  if (auto ready = begin_work(); !ready) return std::unexpected(std::move(ready.error()));
  auto at = syscall_instruction();
  if (!at) return std::unexpected(std::move(at.error()));
  auto saved = registers(threads_.front());
  if (!saved) return saved;
  user_regs_struct r = *saved;
  r.rip = at->value;
  r.rax = static_cast<unsigned long long>(number);
  r.orig_rax = ~0ull;  // no restart of the call it was stopped in
  r.rdi = arguments[0];
  r.rsi = arguments[1];
  r.rdx = arguments[2];
  r.r10 = arguments[3];
  r.r8 = arguments[4];
  r.r9 = arguments[5];
  if (auto set = set_registers(threads_.front(), r); !set) return std::unexpected(std::move(set.error()));
  return saved;
}

Result<std::int64_t> Tracee::syscall(std::int64_t number, std::array<std::uint64_t, 6> arguments) {
  auto saved = prepare_syscall(number, arguments);
  if (!saved) return std::unexpected(std::move(saved.error()));
  const pid_t tid = threads_.front();
  if (auto ran = resume_until_trap(tid, PTRACE_SINGLESTEP); !ran) return std::unexpected(std::move(ran.error()));
  auto after = registers(tid);
  if (!after) return std::unexpected(std::move(after.error()));
  if (auto set = set_registers(tid, *saved); !set) return std::unexpected(std::move(set.error()));
  return static_cast<std::int64_t>(after->rax);
}

// Stops at the call's entry and exit, which are no signals. The kernel restarts the interrupted call only on its way
// out of a signal, so that is done here (ERESTARTSYS, -NOINTR, -NOHAND, -_RESTARTBLOCK of include/linux/errno.h).
Result<std::int64_t> Tracee::last_syscall(std::int64_t number, std::array<std::uint64_t, 6> arguments) {
  auto saved = prepare_syscall(number, arguments);
  if (!saved) return std::unexpected(std::move(saved.error()));
  const pid_t tid = threads_.front();
  for (int stop = 0; stop < 2; ++stop)
    if (auto ran = resume_until_trap(tid, PTRACE_SYSCALL); !ran) return std::unexpected(std::move(ran.error()));
  auto after = registers(tid);
  if (!after) return std::unexpected(std::move(after.error()));
  const auto result = static_cast<std::int64_t>(saved->rax);
  if (static_cast<std::int64_t>(saved->orig_rax) >= 0 &&
      (result == -512 || result == -513 || result == -514 || result == -516)) {
    saved->rax = result == -516 ? SYS_restart_syscall : saved->orig_rax;
    saved->rip -= 2;
    saved->orig_rax = ~0ull;
  }
  if (auto set = set_registers(tid, *saved); !set) return std::unexpected(std::move(set.error()));
  return static_cast<std::int64_t>(after->rax);
}

Result<std::uint64_t> Tracee::call(RemoteAddr function) {
  if (threads_.empty()) return std::unexpected(gone());
  const pid_t tid = threads_.front();
  if (auto ready = begin_work(); !ready) return std::unexpected(std::move(ready.error()));
  auto saved = registers(tid);
  if (!saved) return std::unexpected(std::move(saved.error()));
  user_regs_struct r = *saved;
  r.rsp = ((r.rsp - 1024) & ~0xfull) - 8;
  const std::uint64_t nowhere = 0;  // returning there faults, which is how we know
  if (auto put = write(RemoteAddr{r.rsp}, {reinterpret_cast<const std::uint8_t*>(&nowhere), 8}); !put)
    return std::unexpected(std::move(put.error()));
  r.rip = function.value;
  r.orig_rax = ~0ull;
  if (auto set = set_registers(tid, r); !set) return std::unexpected(std::move(set.error()));
  for (;;) {
    if (ptrace(PTRACE_CONT, tid, 0, 0) < 0) return std::unexpected(Error::from_errno("resuming the target"));
    auto status = wait_for(tid);
    if (!status) return std::unexpected(std::move(status.error()));
    if (*status >> 16) continue;
    if (WSTOPSIG(*status) == SIGSEGV) break;
    deferred_signals_.push_back(WSTOPSIG(*status));
  }
  auto after = registers(tid);
  if (!after) return std::unexpected(std::move(after.error()));
  if (auto set = set_registers(tid, *saved); !set) return std::unexpected(std::move(set.error()));
  if (after->rip != nowhere) return std::unexpected(Error("the function did not return cleanly"));
  return after->rax;
}

Result<void> Tracee::step() {
  end_work();
  return resume_until_trap(threads_.front(), PTRACE_SINGLESTEP);
}

Result<void> Tracee::run_to(RemoteAddr at) {
  end_work();
  const pid_t tid = threads_.front();
  std::uint8_t original = 0;
  constexpr std::uint8_t kInt3 = 0xcc;
  if (auto got = read(at, {&original, 1}); !got) return got;
  if (auto put = write(at, {&kInt3, 1}); !put) return put;
  if (auto ran = resume_until_trap(tid, PTRACE_CONT); !ran) return ran;
  if (auto put = write(at, {&original, 1}); !put) return put;
  auto r = registers(tid);
  if (!r) return std::unexpected(std::move(r.error()));
  if (r->rip != at.value + 1) return std::unexpected(Error("the target stopped somewhere else"));
  r->rip = at.value;
  return set_registers(tid, *r);
}

Result<user_regs_struct> Tracee::run_to_system_call() {
  end_work();
  const pid_t tid = threads_.front();
  if (auto ran = resume_until_trap(tid, PTRACE_SYSCALL); !ran) return std::unexpected(std::move(ran.error()));
  return registers(tid);
}

}  // namespace kevt::inproc
