// fork, wait at a pipe, exec. A successful exec closes the second pipe; a failed one writes errno to it.
#include "runtime-user/session/started_command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kevt::session {

namespace {

[[noreturn]] void become(const std::vector<std::string>& command, int gate, int result) {
  char byte = 0;
  if (::read(gate, &byte, 1) != 1) _exit(0);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  const int reason = errno;
  (void)!::write(result, &reason, sizeof reason);
  _exit(127);
}

}  // namespace

Result<StartedCommand> StartedCommand::start(const std::vector<std::string>& command) {
  int gate[2], result[2];
  if (::pipe2(gate, O_CLOEXEC) != 0) return std::unexpected(Error::from_errno("pipe"));
  const UniqueFd gate_read(gate[0]);
  StartedCommand out;
  out.gate_ = UniqueFd(gate[1]);
  if (::pipe2(result, O_CLOEXEC) != 0) return std::unexpected(Error::from_errno("pipe"));
  out.result_ = UniqueFd(result[0]);
  const UniqueFd result_write(result[1]);
  out.pid_ = ::fork();
  if (out.pid_ < 0) return std::unexpected(Error::from_errno("fork"));
  if (out.pid_ == 0) {
    out.gate_.reset();
    become(command, gate_read.get(), result_write.get());
  }
  return out;
}

Result<void> StartedCommand::go() {
  (void)!::write(gate_.get(), "", 1);
  gate_.reset();
  int reason = 0;
  ssize_t got;
  while ((got = ::read(result_.get(), &reason, sizeof reason)) < 0 && errno == EINTR) {
  }
  if (got != sizeof reason) return {};
  return std::unexpected(Error(std::string("starting CMD: ") + std::strerror(reason), reason));
}

std::optional<int> StartedCommand::poll_exit() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_;
}

void StartedCommand::abandon() {
  gate_.reset();
  int status = 0;
  while (!status_ && ::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  status_ = status;
}

}  // namespace kevt::session
