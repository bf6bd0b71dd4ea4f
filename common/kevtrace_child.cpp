// Pipes are handed over by their names in /proc, not by inheritance: the program opens them itself, and so nothing that
// it starts has them. This side keeps an end for writing, so a pipe never says that it has ended; the program's end
// does (a pidfd), and what is in the pipes then is read before it is told.
#include "common/kevtrace_child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace kevt {

namespace {

constexpr std::size_t kMostMessages = 1 << 20;

// Away from the standard descriptors, which a caller may have closed.
Result<UniqueFd> away(int fd) {
  UniqueFd given(fd);
  UniqueFd moved(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!moved) return std::unexpected(Error::from_errno("a file descriptor"));
  return moved;
}

Result<std::array<UniqueFd, 2>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return std::unexpected(Error::from_errno("pipe"));
  auto first = away(ends[0]), second = away(ends[1]);
  if (!first || !second) return std::unexpected(Error("no file descriptor is left"));
  return std::array{std::move(*first), std::move(*second)};
}

std::string name_of(const UniqueFd& fd) { return fmt::format("/proc/{}/fd/{}", ::getpid(), fd.get()); }

void discard(int fd) {
  char bytes[4096];
  while (::read(fd, bytes, sizeof bytes) > 0) {
  }
}

void write_text(int fd, std::string_view text) {
  [[maybe_unused]] const ssize_t ignored = ::write(fd, text.data(), text.size());
}

// All signals, while this object lives.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

bool drain(int fd, std::string& out) {
  bool any = false;
  char bytes[65536];
  for (ssize_t got; (got = ::read(fd, bytes, sizeof bytes)) > 0; any = true)
    out.append(bytes, static_cast<std::size_t>(got));
  return any;
}

// A file in memory with the text, at its beginning.
Result<UniqueFd> text_file(std::string_view text) {
  const int made = ::memfd_create("kevtrace-text", MFD_CLOEXEC);
  if (made < 0) return std::unexpected(Error::from_errno("memfd_create"));
  UniqueFd file = KEVT_TRY(away(made));
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written <= 0) return std::unexpected(Error::from_errno("writing a file in memory"));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

}  // namespace

Result<KevtraceChild> KevtraceChild::start(const std::string& program, std::vector<std::string> words,
                                           std::string_view input, bool keeps_output) {
  KevtraceChild child;
  auto output = KEVT_TRY(make_pipe());
  auto said = KEVT_TRY(make_pipe());
  auto given = KEVT_TRY(text_file(input));
  if (const auto own = std::ranges::find(words, kOutput); own != words.end()) *own = name_of(output[1]);
  child.has_command_ = std::ranges::find(words, "--") != words.end();
  words.insert(words.begin(), {program, "--messages", name_of(said[1])});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  // A signal to the child before exec() must not meet the caller's handlers. Behind fork() there are only functions
  // that a signal handler may call: the caller may have threads.
  pid_t pid = -1;
  {
    const SignalsBlocked blocked;
    pid = ::fork();
    if (pid == 0) {
      for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) ::signal(signal, SIG_DFL);
      sigset_t none;
      sigemptyset(&none);
      sigprocmask(SIG_SETMASK, &none, nullptr);
      if (!keeps_output) {
        ::dup2(given.get(), STDIN_FILENO);
        ::dup2(output[1].get(), STDOUT_FILENO);
        ::dup2(said[1].get(), STDERR_FILENO);
        for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
      }
      ::execvp(arguments[0], arguments.data());
      const char* why = ::strerrordesc_np(errno);
      for (const char* text : {static_cast<const char*>(arguments[0]), " cannot be started: ", why ? why : "", "\n"})
        write_text(said[1].get(), text);
      ::_exit(127);
    }
  }
  if (pid < 0) return std::unexpected(Error::from_errno("fork"));
  child.owner_ = ::getpid();
  child.pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  child.output_ = std::move(output[0]);
  child.output_kept_ = std::move(output[1]);
  child.messages_in_ = std::move(said[0]);
  child.messages_kept_ = std::move(said[1]);
  child.poll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  for (const int fd : {child.pidfd_.get(), child.output_.get(), child.messages_in_.get()}) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    if (fd < 0 || ::epoll_ctl(child.poll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
      return std::unexpected(Error::from_errno("waiting for kevtrace"));
  }
  return child;
}

KevtraceChild::KevtraceChild(KevtraceChild&& other) noexcept
    : owner_(std::exchange(other.owner_, -1)),
      pidfd_(std::move(other.pidfd_)),
      output_(std::move(other.output_)),
      output_kept_(std::move(other.output_kept_)),
      messages_in_(std::move(other.messages_in_)),
      messages_kept_(std::move(other.messages_kept_)),
      poll_(std::move(other.poll_)),
      messages_(std::move(other.messages_)),
      status_(other.status_),
      has_ended_(other.has_ended_),
      is_stopped_(other.is_stopped_),
      has_command_(other.has_command_) {}

bool KevtraceChild::is_mine() const { return owner_ == ::getpid() && pidfd_; }

void KevtraceChild::interrupt() { ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGINT, nullptr, 0); }

// What it writes meanwhile is read, so that it does not wait for a reader. With a program that it has started it would
// wait for that program's end: a second signal ends it at once, and its supervisor takes the probes out.
KevtraceChild::~KevtraceChild() {
  if (!is_mine()) return;
  using Clock = std::chrono::steady_clock;
  const auto patience = std::chrono::milliseconds(has_command_ ? 500 : 3000);
  stop();
  for (auto next = Clock::now() + patience; !has_ended();) {
    pollfd end = {.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
    ::poll(&end, 1, 10);
    discard(output_.get());
    discard(messages_in_.get());
    look_for_end();
    if (Clock::now() < next) continue;
    interrupt();
    next += patience;
  }
}

void KevtraceChild::stop() {
  if (is_mine() && !has_ended() && !std::exchange(is_stopped_, true)) interrupt();
}

bool KevtraceChild::wait(int timeout_ms) {
  if (!is_mine()) has_ended_ = true;
  epoll_event event;
  const bool any = ::epoll_wait(poll_.get(), &event, 1, has_ended() ? 0 : timeout_ms) > 0;
  take_messages();
  look_for_end();
  if (has_ended()) take_messages();  // its last ones
  return any;
}

bool KevtraceChild::read(std::string& out) { return drain(output_.get(), out); }

void KevtraceChild::take_messages() {
  if (messages_.size() > kMostMessages) messages_.erase(0, messages_.size() - kMostMessages / 2);
  drain(messages_in_.get(), messages_);
}

void KevtraceChild::look_for_end() {
  if (has_ended() || !is_mine()) return;
  siginfo_t end{};
  const int result = ::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &end, WEXITED | WNOHANG);
  if (result == 0 && end.si_pid == 0) return;
  if (result != 0 && errno != ECHILD) return;
  has_ended_ = true;
  if (result == 0) status_ = end.si_code == CLD_EXITED ? end.si_status : 128 + end.si_status;
}

}  // namespace kevt
