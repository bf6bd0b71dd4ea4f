// ptrace, with PTRACE_SEIZE throughout: no SIGSTOP is ever sent, and PTRACE_INTERRUPT stops a
// thread wherever it is. A signal that arrives first is let through (its handler frame is set up,
// or the process dies of it) and the stop comes right after, so that a stopped thread is always in
// an event stop and can work for us. So is a breakpoint's or fault's signal that the kernel has put
// behind our stop: it tells of the instruction at which the thread stands, and must not reach it
// elsewhere, on its way back from work for a tracer that has died.
//
// A thread in read() leaves it with -ERESTARTSYS, and the kernel starts the call again when the thread
// goes on, as long as its registers are what they were. A few calls (epoll_wait, semop …) leave with
// -EINTR instead, although no signal came: these are started again by us.
#include "runtime-user/runtime/inproc/process/tracee.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/seccomp.h>
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

#include "common/proc.h"
#include "compiler/target/process/process_map.h"
#include "runtime-user/runtime/inproc/process/attach_refusal.h"
#include "runtime-user/runtime/inproc/process/thread_report.h"

namespace kevt::inproc {

namespace {

// Entries and exits of system calls stop with SIGTRAP and this bit: what PTRACE_GET_SYSCALL_INFO needs, too.
constexpr int kAlways = PTRACE_O_TRACESYSGOOD;

// Calls that fail with EINTR whenever something woke them, signal or not (signal(7)).
constexpr int kNotRestarted[] = {SYS_epoll_wait,      SYS_epoll_pwait, 441 /* epoll_pwait2 */,
                                 SYS_semop,           SYS_semtimedop,  SYS_io_getevents,
                                 SYS_rt_sigtimedwait, SYS_read,        SYS_readv,
                                 SYS_msgrcv,          SYS_msgsnd,      426 /* io_uring_enter */};

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

// In the forked child: waits until it is held, then becomes `argv`. If the tracer ended or failed before, nobody writes
// to `go`, and the child ends.
[[noreturn]] void become(const std::vector<std::string>& argv, int go, int failed) {
  char byte;
  ssize_t got = 0;
  while ((got = ::read(go, &byte, 1)) < 0 && errno == EINTR) {
  }
  if (got != 1) _exit(127);
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
      refuses_calls_(other.refuses_calls_),
      memory_(std::move(other.memory_)),
      pidfd_(std::move(other.pidfd_)),
      asked_(std::move(other.asked_)),
      ignored_at_start_(other.ignored_at_start_),
      work_place_(other.work_place_),
      deferred_signals_(std::move(other.deferred_signals_)),
      work_(std::exchange(other.work_, std::nullopt)),
      while_stopping_(std::move(other.while_stopping_)) {}

Tracee::~Tracee() { release(); }

Error Tracee::gone() { return Error("the process is gone", ESRCH); }

Result<Tracee> Tracee::spawn(const std::vector<std::string>& argv) {
  int go[2], failed[2];
  if (pipe2(go, O_CLOEXEC) < 0 || pipe2(failed, O_CLOEXEC) < 0) return std::unexpected(Error::from_errno("pipe"));
  UniqueFd go_read(go[0]), go_write(go[1]), failed_read(failed[0]), failed_write(failed[1]);
  signal(SIGCHLD, SIG_DFL);  // ignored, as it may be inherited, it would take our wait status away
  const pid_t pid = fork();
  if (pid < 0) return std::unexpected(Error::from_errno("fork"));
  if (pid == 0) {
    go_write.reset();
    become(argv, go[0], failed[1]);
  }

  Tracee tracee;
  tracee.pid_ = pid;
  failed_write.reset();
  const char* failing = nullptr;
  if (ptrace(PTRACE_SEIZE, pid, 0, kAlways | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0)
    failing = "ptrace ";
  else if (::write(go_write.get(), "", 1) != 1)
    failing = "starting ";
  if (failing) {
    const int why = errno;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, __WALL);
    errno = why;
    return std::unexpected(Error::from_errno(failing + argv[0]));
  }
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
  tracee.ignored_at_start_ = proc::status_signals(pid, "SigIgn");
  tracee.memory_ = UniqueFd(open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDWR | O_CLOEXEC));
  if (!tracee.memory_) return std::unexpected(Error::from_errno("memory of " + argv[0]));
  return tracee;
}

Result<Tracee> Tracee::attach(pid_t pid) {
  KEVT_TRY(check_attachable(pid));
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
  tracee.ignored_at_start_ = proc::status_signals(pid, "SigIgn");
  return tracee;
}

Result<Tracee> Tracee::adopt(pid_t pid) {
  Tracee tracee;
  tracee.pid_ = pid;
  tracee.threads_ = {pid};
  ptrace(PTRACE_SETOPTIONS, pid, 0, kAlways | PTRACE_O_TRACEEXEC);
  tracee.pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  tracee.memory_ = UniqueFd(open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDWR | O_CLOEXEC));
  if (!tracee.pidfd_ || !tracee.memory_)
    return std::unexpected(Error::from_errno("memory of process " + std::to_string(pid)));
  tracee.ignored_at_start_ = proc::status_signals(pid, "SigIgn");
  return tracee;
}

// ---- stopping and letting go ----------------------------------------------------------------

bool Tracee::note_end(pid_t tid, int status) {
  if (WIFSTOPPED(status)) return false;
  if (tid == pid_) exit_status_ = status;
  return true;
}

// A container's filter is ours, too, and lets us do our work.
bool Tracee::has_own_filter(pid_t tid) const {
  return is_strict(tid) ||
         proc::status_number(tid, "Seccomp_filters") > proc::status_number(getpid(), "Seccomp_filters");
}

// NSpid has one number for each PID namespace, the innermost last.
std::uint64_t Tracee::pid_in_its_namespace() const {
  const std::string numbers = proc::status(pid_, "NSpid");
  return std::strtoull(numbers.c_str() + numbers.find_last_of(" \t") + 1, nullptr, 10);
}

bool Tracee::is_strict(pid_t tid) const { return proc::status_number(tid, "Seccomp") == SECCOMP_MODE_STRICT; }

// A seccomp filter is suspended while we hold the thread, where we may do that (CAP_SYS_ADMIN, no filter of our own).
bool Tracee::seize(pid_t tid) {
  const bool has_filter = has_own_filter(tid);
  if (ptrace(PTRACE_SEIZE, tid, 0, kAlways | (has_filter ? PTRACE_O_SUSPEND_SECCOMP : 0)) == 0) return true;
  if (!has_filter || (errno != EPERM && errno != EINVAL) || ptrace(PTRACE_SEIZE, tid, 0, kAlways) < 0) return false;
  refuses_calls_ = true;
  return true;
}

Result<bool> Tracee::interrupt_thread(pid_t tid) {
  if (std::ranges::find(asked_, tid) != asked_.end()) return true;
  if (!seize(tid)) {
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
  auto r = kernel_registers(tid);
  if (!r || static_cast<std::int64_t>(r->rax) != -EINTR) return;
  if (std::ranges::find(kNotRestarted, static_cast<int>(r->orig_rax)) == std::end(kNotRestarted)) return;
  r->rax = r->orig_rax;
  r->rip -= 2;
  r->orig_rax = ~0ull;
  (void)set_kernel_registers(tid, *r);
}

// Whether the signal of an instruction waits for the thread, which has not seen it yet.
bool Tracee::has_fault_pending(pid_t tid) const {
  constexpr std::uint64_t kOfInstructions = 1ull << (SIGTRAP - 1) | 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) |
                                            1ull << (SIGILL - 1) | 1ull << (SIGFPE - 1) | 1ull << (SIGSYS - 1);
  constexpr std::uint64_t kMostLooked = 1024;
  std::array<siginfo_t, 8> waiting = {};
  const auto mask = kernel_mask(tid);
  if (!mask) return false;
  for (std::uint64_t from = 0; from < kMostLooked; from += waiting.size()) {
    __ptrace_peeksiginfo_args which = {.off = from, .flags = 0, .nr = static_cast<std::int32_t>(waiting.size())};
    const auto got = ptrace(PTRACE_PEEKSIGINFO, tid, &which, waiting.data());
    for (std::size_t i = 0; got > 0 && i < static_cast<std::size_t>(got); ++i) {
      const std::uint64_t bit = 1ull << (waiting.at(i).si_signo - 1);
      if (waiting.at(i).si_code > 0 && bit & kOfInstructions & ~*mask) return true;
    }
    if (got < static_cast<long>(waiting.size())) break;
  }
  return false;
}

// Looks at a thread that was asked to stop: true when it is held, or has ended. From any other stop it is continued, to
// stop again.
bool Tracee::has_come(pid_t tid) {
  for (;;) {
    const auto report = report_of(tid, WSTOPPED | WEXITED);
    if (!report) return false;
    if (!report->ended() && report->event() != PTRACE_EVENT_STOP) {
      ptrace(PTRACE_INTERRUPT, tid, 0, 0);  // where it has stopped for us already, it was let go for its signal
      ptrace(PTRACE_CONT, tid, 0, report->signal_to_deliver());
      continue;
    }
    if (!report->ended() && has_fault_pending(tid)) {
      ptrace(PTRACE_CONT, tid, 0, 0);  // it stops for the signal
      continue;
    }
    std::erase(asked_, tid);
    if (report->ended()) {
      if (report->status) note_end(tid, *report->status);
      return true;
    }
    restart_interrupted_call(tid);
    threads_.push_back(tid);
    return true;
  }
}

// Threads that were killed while held stay until they are waited for, and the leader's end is not told before.
void Tracee::collect_ended() {
  std::erase_if(threads_, [&](pid_t tid) {
    int status = 0;
    return waitpid(tid, &status, __WALL | WNOHANG) == tid && note_end(tid, status);
  });
}

// All threads are looked at in turn: the end of the process reaches them in any order.
Result<void> Tracee::await_stops(std::vector<pid_t> asked) {
  constexpr unsigned kQuickTries = 100, kAllTries = 20'000;  // 10 s
  for (unsigned tries = 0; tries < kAllTries; ++tries) {
    std::erase_if(asked, [this](pid_t tid) { return has_come(tid); });
    if (asked.empty()) return {};
    collect_ended();
    if (while_stopping_) while_stopping_();
    const timespec pause = {0, tries < kQuickTries ? 2'000 : 500'000};
    nanosleep(&pause, nullptr);
  }
  return std::unexpected(Error("thread " + std::to_string(asked.front()) +
                               " does not stop: it sleeps uninterruptibly, or waits for a vfork child to exec"));
}

// Threads that were asked to stop and did not in time: they are detached as soon as they stop, and collected when they
// have ended.
void Tracee::let_late_ones_go() {
  std::erase_if(asked_, [&](pid_t tid) {
    const auto report = report_of(tid, WSTOPPED | WEXITED);
    if (!report) return false;
    if (!report->ended()) return ptrace(PTRACE_DETACH, tid, 0, report->signal_to_deliver()) == 0;
    if (report->status) note_end(tid, *report->status);
    return true;
  });
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
        (void)await_stops(asked);
        release();
        return std::unexpected(std::move(coming.error()));
      }
      if (*coming) asked.push_back(tid);
    }
    const std::size_t before = threads_.size();
    if (auto held = await_stops(asked); !held) {
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
    // A thread that was killed while held stays a zombie until it is waited for, and its leader with it.
    if (ptrace(PTRACE_DETACH, tid, 0, 0) < 0 && errno == ESRCH && tid != pid_)
      while (waitpid(tid, nullptr, __WALL) < 0 && errno == EINTR) {
      }
  }
  for (const siginfo_t& info : deferred_signals_) kill(pid_, info.si_signo);
  deferred_signals_.clear();
  threads_.clear();
}

// Asks for the end only. wait() would also tell what a traced process stops for, and would tell it once: that is for
// others to see (exec_follower.cpp).
std::optional<int> Tracee::ended_child() const {
  siginfo_t info = {};
  const int kinds = WEXITED | WNOHANG | WNOWAIT | __WALL;
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, kinds) < 0 || info.si_pid == 0) return std::nullopt;
  if (info.si_code != CLD_EXITED && info.si_code != CLD_KILLED && info.si_code != CLD_DUMPED) return std::nullopt;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG | __WALL) != pid_ || WIFSTOPPED(status)) return std::nullopt;
  return status;
}

// Of a process that is not our child the end is seen by its pidfd; its status, only when it ended while held. A child
// may end between the two questions: its status is there once its pidfd says so.
std::optional<int> Tracee::poll_exit() {
  if (exit_status_ || pid_ <= 0) return exit_status_;
  if (!asked_.empty() && !is_stopped()) let_late_ones_go();
  if (exit_status_) return exit_status_;
  exit_status_ = ended_child();
  if (exit_status_ || !pidfd_) return exit_status_;
  pollfd ended = {pidfd_.get(), POLLIN, 0};
  if (poll(&ended, 1, 0) == 1) exit_status_ = ended_child().value_or(0);
  return exit_status_;
}

// ---- memory ---------------------------------------------------------------------------------

Result<void> Tracee::read(RemoteAddr at, std::span<std::uint8_t> out) const {
  const ssize_t got = pread(memory_.get(), out.data(), out.size(), static_cast<off_t>(at.value));
  if (got == static_cast<ssize_t>(out.size())) return {};
  if (got >= 0) errno = EFAULT;
  return std::unexpected(Error::from_errno("reading the target's memory"));
}

// A read that fails for want of memory succeeds the next time, mostly.
Result<bool> Tracee::read_if_mapped(RemoteAddr at, std::span<std::uint8_t> out) const {
  if (read(at, out)) return true;
  auto got = read(at, out);
  if (got) return true;
  const auto maps = target::read_maps(pid_);
  const auto is_mapped = [&maps](std::uint64_t byte) {
    return std::ranges::any_of(*maps, [byte](const target::Mapping& one) { return one.contains(RemoteAddr{byte}); });
  };
  if (!maps || (is_mapped(at.value) && is_mapped(at.value + out.size() - 1)))
    return std::unexpected(std::move(got.error()));
  return false;
}

// A read that ends early is tried again where it ended: memory ends only where that fails, too.
Result<std::size_t> Tracee::read_some(RemoteAddr at, std::span<std::uint8_t> out) const {
  std::size_t done = 0;
  for (int failures = 0; done < out.size() && failures < 2;) {
    const ssize_t got = pread(memory_.get(), out.data() + done, out.size() - done, static_cast<off_t>(at.value + done));
    if (got > 0) done += static_cast<std::size_t>(got);
    failures = got > 0 ? 0 : failures + 1;
  }
  if (!done) KEVT_TRY(read_if_mapped(at, out.first(std::min<std::size_t>(out.size(), 1))));
  return done;
}

Result<void> Tracee::write(RemoteAddr at, std::span<const std::uint8_t> bytes) const {
  const ssize_t put = pwrite(memory_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at.value));
  if (put == static_cast<ssize_t>(bytes.size())) return {};
  if (put >= 0) errno = put == 0 ? ESRCH : EFAULT;
  return std::unexpected(Error::from_errno("writing the target's memory"));
}

Result<user_regs_struct> Tracee::kernel_registers(pid_t tid) const {
  user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, tid, 0, &registers) < 0) return std::unexpected(Error::from_errno("reading registers"));
  return registers;
}

Result<void> Tracee::set_kernel_registers(pid_t tid, const user_regs_struct& registers) const {
  if (ptrace(PTRACE_SETREGS, tid, 0, &registers) < 0) return std::unexpected(Error::from_errno("setting registers"));
  return {};
}

Result<std::uint64_t> Tracee::kernel_mask(pid_t tid) const {
  std::uint64_t mask = 0;
  if (ptrace(PTRACE_GETSIGMASK, tid, sizeof mask, &mask) < 0)
    return std::unexpected(Error::from_errno("reading a thread's signal mask"));
  return mask;
}

Result<void> Tracee::set_kernel_mask(pid_t tid, std::uint64_t mask) const {
  if (ptrace(PTRACE_SETSIGMASK, tid, sizeof mask, &mask) < 0)
    return std::unexpected(Error::from_errno("setting a thread's signal mask"));
  return {};
}

Result<user_regs_struct> Tracee::registers(pid_t tid) const {
  if (is_working(tid)) return work_->registers;
  return kernel_registers(tid);
}

Result<void> Tracee::set_registers(pid_t tid, const user_regs_struct& registers) {
  if (!is_working(tid)) return set_kernel_registers(tid, registers);
  work_->registers = registers;
  return write_way_back(*work_);
}

// A thread in sigsuspend() or ppoll() has two masks: this is the one that the thread goes back to, and the one that
// set_signal_mask() changes. The call, started again, installs the other one itself.
Result<std::uint64_t> Tracee::signal_mask(pid_t tid) const {
  if (is_working(tid)) return work_->mask;
  return kernel_mask(tid);
}

Result<void> Tracee::set_signal_mask(pid_t tid, std::uint64_t mask) {
  if (!is_working(tid)) return set_kernel_mask(tid, mask);
  work_->mask = mask;
  return write_way_back(*work_);
}

}  // namespace kevt::inproc
