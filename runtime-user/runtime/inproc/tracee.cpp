// ptrace, with PTRACE_SEIZE throughout: no SIGSTOP is ever sent, and PTRACE_INTERRUPT stops a
// thread wherever it is. A signal that arrives first is let through (its handler frame is set up,
// or the process dies of it) and the stop comes right after, so that a stopped thread is always in
// an event stop and can work for us.
#include "runtime-user/runtime/inproc/tracee.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace kevt::inproc {

namespace {

constexpr int kEventStop = 128;  // PTRACE_EVENT_STOP

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
      syscall_at_(other.syscall_at_),
      deferred_signals_(std::move(other.deferred_signals_)) {}

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
  tracee.memory_ = UniqueFd(open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDWR | O_CLOEXEC));
  if (!tracee.memory_) return std::unexpected(Error::from_errno("memory of " + argv[0]));
  return tracee;
}

// ---- stopping and letting go ----------------------------------------------------------------

bool Tracee::note_end(pid_t tid, int status) {
  if (WIFSTOPPED(status)) return false;
  if (tid == pid_) exit_status_ = status;
  return true;
}

Result<void> Tracee::hold_thread(pid_t tid) {
  if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0) {
    if (errno == ESRCH || (errno == EPERM && is_dead(pid_, tid))) return {};  // ended meanwhile
    return std::unexpected(Error::from_errno("ptrace"));
  }
  ptrace(PTRACE_INTERRUPT, tid, 0, 0);
  for (;;) {
    int status = 0;
    if (waitpid(tid, &status, __WALL) < 0) {
      if (errno == EINTR) continue;
      return {};
    }
    if (note_end(tid, status)) return {};
    if (status >> 16 == kEventStop) break;
    ptrace(PTRACE_CONT, tid, 0, status >> 16 ? 0 : WSTOPSIG(status));
  }
  threads_.push_back(tid);
  return {};
}

Result<void> Tracee::stop() {
  if (is_stopped()) return {};
  if (exit_status_) return std::unexpected(gone());
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (pid_t tid : tasks_of(pid_)) {
      if (std::ranges::find(threads_, tid) != threads_.end()) continue;
      const std::size_t before = threads_.size();
      if (auto held = hold_thread(tid); !held) {
        release();
        return held;
      }
      is_new = is_new || threads_.size() > before;
    }
  }
  if (threads_.empty()) return std::unexpected(gone());
  return {};
}

void Tracee::release() {
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

std::optional<int> Tracee::poll_exit() {
  int status = 0;
  if (!exit_status_ && pid_ > 0 && waitpid(pid_, &status, WNOHANG | __WALL) == pid_) note_end(pid_, status);
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

// ---- working for us -------------------------------------------------------------------------

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
  std::erase(threads_, tid);
  release();
  return std::unexpected(gone());
}

Result<void> Tracee::resume_until_trap(pid_t tid, int request) {
  for (;;) {
    if (ptrace(static_cast<__ptrace_request>(request), tid, 0, 0) < 0)
      return std::unexpected(Error::from_errno("resuming the target"));
    auto waited = wait_for(tid);
    if (!waited) return std::unexpected(std::move(waited.error()));
    const int status = *waited;
    if (status >> 16) continue;  // event stops: ours, or a group stop
    if (WSTOPSIG(status) == SIGTRAP) return {};
    deferred_signals_.push_back(WSTOPSIG(status));
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

Result<std::int64_t> Tracee::syscall(std::int64_t number, std::array<std::uint64_t, 6> arguments) {
  const pid_t tid = threads_.front();
  auto at = syscall_instruction();
  if (!at) return std::unexpected(std::move(at.error()));
  auto saved = registers(tid);
  if (!saved) return std::unexpected(std::move(saved.error()));
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
  if (auto set = set_registers(tid, r); !set) return std::unexpected(std::move(set.error()));
  if (auto ran = resume_until_trap(tid, PTRACE_SINGLESTEP); !ran) return std::unexpected(std::move(ran.error()));
  auto after = registers(tid);
  if (!after) return std::unexpected(std::move(after.error()));
  if (auto set = set_registers(tid, *saved); !set) return std::unexpected(std::move(set.error()));
  return static_cast<std::int64_t>(after->rax);
}

Result<std::uint64_t> Tracee::call(RemoteAddr function) {
  const pid_t tid = threads_.front();
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

Result<void> Tracee::step() { return resume_until_trap(threads_.front(), PTRACE_SINGLESTEP); }

Result<void> Tracee::run_to(RemoteAddr at) {
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
