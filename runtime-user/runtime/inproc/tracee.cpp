// ptrace, with PTRACE_SEIZE throughout: no SIGSTOP is ever sent, and PTRACE_INTERRUPT stops a
// thread wherever it is. A signal that arrives first is let through (its handler frame is set up,
// or the process dies of it) and the stop comes right after, so that a stopped thread is always in
// an event stop and can work for us.
//
// A thread in read() leaves it with -ERESTARTSYS, and the kernel starts the call again when the thread
// goes on, as long as its registers are what they were. A few calls (epoll_wait, semop …) leave with
// -EINTR instead, although no signal came: these are started again by us.
// While a thread works for us all signals but the three it may cause are blocked in it: they wait in
// the kernel, with all that was sent along.
#include "runtime-user/runtime/inproc/tracee.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "runtime-user/runtime/inproc/attach_refusal.h"

namespace kevt::inproc {

namespace {

constexpr int kEventStop = 128;  // PTRACE_EVENT_STOP
constexpr std::uint64_t kSynchronous = 1ull << (SIGTRAP - 1) | 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1);

// Calls that fail with EINTR whenever something woke them, signal or not (signal(7)).
constexpr int kNotRestarted[] = {SYS_epoll_wait,      SYS_epoll_pwait, 441 /* epoll_pwait2 */,
                                 SYS_semop,           SYS_semtimedop,  SYS_io_getevents,
                                 SYS_rt_sigtimedwait, SYS_read,        SYS_readv,
                                 SYS_msgrcv,          SYS_msgsnd,      426 /* io_uring_enter */};

Error gone() { return Error("the process is gone", ESRCH); }

std::vector<pid_t> tasks_of(pid_t pid) {
  std::vector<pid_t> tasks;
  DIR* dir = opendir(("/proc/" + std::to_string(pid) + "/task").c_str());
  if (!dir) return tasks;
  while (const dirent* entry = readdir(dir))
    if (entry->d_name[0] != '.') tasks.push_back(static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)));
  closedir(dir);
  return tasks;
}

// A thread that has ended but is still listed: a main thread that left by pthread_exit stays until the last one.
bool is_dead(pid_t pid, pid_t tid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/stat");
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(") ");
  return name_end == std::string::npos || line[name_end + 2] == 'Z' || line[name_end + 2] == 'X';
}

std::uint64_t ignored_signals(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("SigIgn:")) return std::strtoull(line.c_str() + 7, nullptr, 16);
  return 0;
}

[[noreturn]] void become(const std::vector<std::string>& argv, int go, int failed) {
  char byte;
  while (::read(go, &byte, 1) < 0 && errno == EINTR) {
  }
  std::vector<char*> arguments;
  for (const std::string& word : argv) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int saved = errno;
  (void)!::write(failed, &saved, sizeof saved);
  _exit(127);
}

}  // namespace

Tracee::Tracee(Tracee&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      threads_(std::exchange(other.threads_, {})),
      exit_status_(other.exit_status_),
      memory_(std::move(other.memory_)),
      pidfd_(std::move(other.pidfd_)),
      asked_(std::move(other.asked_)),
      ignored_at_start_(other.ignored_at_start_),
      syscall_at_(other.syscall_at_),
      deferred_signals_(std::move(other.deferred_signals_)),
      worker_mask_(std::exchange(other.worker_mask_, std::nullopt)) {}

Tracee::~Tracee() { release(); }

Result<Tracee> Tracee::spawn(const std::vector<std::string>& argv) {
  int go[2], failed[2];
  if (pipe2(go, O_CLOEXEC) < 0 || pipe2(failed, O_CLOEXEC) < 0) return std::unexpected(Error::from_errno("pipe"));
  UniqueFd go_read(go[0]), go_write(go[1]), failed_read(failed[0]), failed_write(failed[1]);
  signal(SIGCHLD, SIG_DFL);  // ignored, as it may be inherited, it would take our wait status away
  const pid_t pid = fork();
  if (pid < 0) return std::unexpected(Error::from_errno("fork"));
  if (pid == 0) become(argv, go[0], failed[1]);

  Tracee tracee;
  tracee.pid_ = pid;
  failed_write.reset();
  if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0) {
    Error error = Error::from_errno("ptrace " + argv[0]);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return std::unexpected(std::move(error));
  }
  (void)!::write(go_write.get(), "", 1);
  int status = 0;
  for (;;) {
    if (waitpid(pid, &status, __WALL) < 0) {
      if (errno == EINTR) continue;
      return std::unexpected(Error::from_errno("waiting for " + argv[0]));
    }
    if (!WIFSTOPPED(status) || status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) break;
    ptrace(PTRACE_CONT, pid, 0, status >> 16 ? 0 : WSTOPSIG(status));
  }
  if (!WIFSTOPPED(status)) {
    int why = 0;
    if (::read(failed_read.get(), &why, sizeof why) == sizeof why)
      return std::unexpected(Error(argv[0] + ": " + std::strerror(why), why));
    return std::unexpected(Error(argv[0] + ": ended before it started"));
  }
  tracee.threads_ = {pid};
  tracee.ignored_at_start_ = ignored_signals(pid);
  tracee.memory_ = UniqueFd(open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDWR | O_CLOEXEC));
  if (!tracee.memory_) return std::unexpected(Error::from_errno("memory of " + argv[0]));
  return tracee;
}

Result<Tracee> Tracee::attach(pid_t pid) {
  if (auto possible = check_attachable(pid); !possible) return std::unexpected(std::move(possible.error()));
  Tracee tracee;
  tracee.pid_ = pid;
  tracee.pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!tracee.pidfd_) return std::unexpected(attach_refusal(pid, errno));
  if (auto stopped = tracee.stop(); !stopped) {
    if (stopped.error().errno_value() != EPERM && stopped.error().errno_value() != ESRCH)
      return std::unexpected(stopped.error());
    return std::unexpected(attach_refusal(pid, stopped.error().errno_value()));
  }
  tracee.memory_ = UniqueFd(open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDWR | O_CLOEXEC));
  if (!tracee.memory_) return std::unexpected(Error::from_errno("memory of process " + std::to_string(pid)));
  tracee.ignored_at_start_ = ignored_signals(pid);
  return tracee;
}

// ---- stopping and letting go ----------------------------------------------------------------

bool Tracee::note_end(pid_t tid, int status) {
  if (WIFSTOPPED(status)) return false;
  if (tid == pid_) exit_status_ = status;
  return true;
}

Result<bool> Tracee::interrupt_thread(pid_t tid) {
  if (std::ranges::find(asked_, tid) != asked_.end()) return true;
  if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0) {
    if (errno == ESRCH || (errno == EPERM && is_dead(pid_, tid))) return false;  // ended meanwhile
    return std::unexpected(Error::from_errno("ptrace"));
  }
  ptrace(PTRACE_INTERRUPT, tid, 0, 0);
  asked_.push_back(tid);
  return true;
}

// At -EINTR with the call's number still there, the thread is on its way out of the call and no handler has run: the
// interruption was ours.
void Tracee::restart_interrupted_call(pid_t tid) const {
  auto r = registers(tid);
  if (!r || static_cast<std::int64_t>(r->rax) != -EINTR) return;
  if (std::ranges::find(kNotRestarted, static_cast<int>(r->orig_rax)) == std::end(kNotRestarted)) return;
  r->rax = r->orig_rax;
  r->rip -= 2;
  r->orig_rax = ~0ull;
  (void)set_registers(tid, *r);
}

Result<void> Tracee::await_stop(pid_t tid) {
  constexpr unsigned kQuickTries = 100, kAllTries = 20'000;  // 10 s
  for (unsigned tries = 0; tries < kAllTries;) {
    int status = 0;
    const pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) {
      const timespec pause = {0, tries++ < kQuickTries ? 2'000 : 500'000};
      nanosleep(&pause, nullptr);
      continue;
    }
    if (got == tid && WIFSTOPPED(status) && status >> 16 != kEventStop) {
      ptrace(PTRACE_CONT, tid, 0, status >> 16 ? 0 : WSTOPSIG(status));
      continue;
    }
    std::erase(asked_, tid);
    if (got < 0 || note_end(tid, status)) return {};
    restart_interrupted_call(tid);
    threads_.push_back(tid);
    return {};
  }
  return std::unexpected(Error("thread " + std::to_string(tid) +
                               " does not stop: it sleeps uninterruptibly, or waits for a vfork child to exec"));
}

Result<void> Tracee::stop() {
  if (is_stopped()) return {};
  if (exit_status_) return std::unexpected(gone());
  for (bool is_new = true; is_new;) {
    is_new = false;
    std::vector<pid_t> asked;
    for (pid_t tid : tasks_of(pid_)) {
      if (std::ranges::find(threads_, tid) != threads_.end()) continue;
      auto coming = interrupt_thread(tid);
      if (!coming) {
        for (pid_t other : asked) (void)await_stop(other);
        release();
        return std::unexpected(std::move(coming.error()));
      }
      if (*coming) asked.push_back(tid);
    }
    const std::size_t before = threads_.size();
    for (pid_t tid : asked)
      if (auto held = await_stop(tid); !held) {
        release();
        return held;
      }
    is_new = threads_.size() > before;
  }
  if (threads_.empty()) return std::unexpected(gone());
  // The main thread works for us, if it is still there.
  if (auto it = std::ranges::find(threads_, pid_); it != threads_.end()) std::iter_swap(threads_.begin(), it);
  return {};
}

void Tracee::release() {
  end_work();
  for (pid_t tid : threads_) {
    int signal = 0;
    if (tid == threads_.front() && !deferred_signals_.empty()) {
      signal = deferred_signals_.front();
      deferred_signals_.erase(deferred_signals_.begin());
    }
    // A thread that was killed while held stays a zombie until it is waited for, and its leader with it.
    if (ptrace(PTRACE_DETACH, tid, 0, signal) < 0 && errno == ESRCH && tid != pid_)
      while (waitpid(tid, nullptr, __WALL) < 0 && errno == EINTR) {
      }
  }
  for (int signal : deferred_signals_) kill(pid_, signal);
  deferred_signals_.clear();
  threads_.clear();
}

// Of a process that is not our child the end is seen by its pidfd; its status, only when it ended while held.
std::optional<int> Tracee::poll_exit() {
  if (exit_status_ || pid_ <= 0) return exit_status_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG | __WALL) == pid_) note_end(pid_, status);
  if (exit_status_ || !pidfd_) return exit_status_;
  pollfd ended = {pidfd_.get(), POLLIN, 0};
  if (poll(&ended, 1, 0) == 1) exit_status_ = 0;
  return exit_status_;
}

// ---- memory ---------------------------------------------------------------------------------

Result<void> Tracee::read(RemoteAddr at, std::span<std::uint8_t> out) const {
  const ssize_t got = pread(memory_.get(), out.data(), out.size(), static_cast<off_t>(at.value));
  if (got == static_cast<ssize_t>(out.size())) return {};
  if (got >= 0) errno = EFAULT;
  return std::unexpected(Error::from_errno("reading the target's memory"));
}

Result<void> Tracee::write(RemoteAddr at, std::span<const std::uint8_t> bytes) const {
  const ssize_t put = pwrite(memory_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at.value));
  if (put == static_cast<ssize_t>(bytes.size())) return {};
  if (put >= 0) errno = put == 0 ? ESRCH : EFAULT;
  return std::unexpected(Error::from_errno("writing the target's memory"));
}

Result<user_regs_struct> Tracee::registers(pid_t tid) const {
  user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, tid, 0, &registers) < 0) return std::unexpected(Error::from_errno("reading registers"));
  return registers;
}

Result<void> Tracee::set_registers(pid_t tid, const user_regs_struct& registers) const {
  if (ptrace(PTRACE_SETREGS, tid, 0, &registers) < 0) return std::unexpected(Error::from_errno("setting registers"));
  return {};
}

// A thread in sigsuspend() or ppoll() has two masks: this is the one that it goes back to, and that
// setting leaves it with; the call, started again, installs the other one itself.
Result<std::uint64_t> Tracee::signal_mask(pid_t tid) const {
  if (worker_mask_ && tid == threads_.front()) return *worker_mask_;
  std::uint64_t mask = 0;
  if (ptrace(PTRACE_GETSIGMASK, tid, sizeof mask, &mask) < 0)
    return std::unexpected(Error::from_errno("reading a thread's signal mask"));
  return mask;
}

Result<void> Tracee::set_signal_mask(pid_t tid, std::uint64_t mask) {
  if (worker_mask_ && tid == threads_.front()) {
    worker_mask_ = mask;
    return {};
  }
  if (ptrace(PTRACE_SETSIGMASK, tid, sizeof mask, &mask) < 0)
    return std::unexpected(Error::from_errno("setting a thread's signal mask"));
  return {};
}

// ---- working for us -------------------------------------------------------------------------

// The step behind a system call is a SIGTRAP: blocked, it would cost the program its SIGTRAP handler.
Result<void> Tracee::begin_work() {
  if (worker_mask_) return {};
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

namespace {

// A fault happens again until its signal is delivered; signals that somebody sent can wait.
bool is_fault(pid_t tid) {
  siginfo_t info{};
  return ptrace(PTRACE_GETSIGINFO, tid, 0, &info) == 0 && info.si_code > 0 && info.si_code != SI_KERNEL;
}

}  // namespace

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
    if (WSTOPSIG(status) == SIGTRAP) return {};
    if (is_fault(tid)) {
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
  return std::unexpected(Error("the target has no vDSO to make system calls from"));
}

// Returns the registers to go back to.
Result<user_regs_struct> Tracee::prepare_syscall(std::int64_t number, const std::array<std::uint64_t, 6>& arguments) {
  if (threads_.empty()) return std::unexpected(gone());
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

}  // namespace kevt::inproc
