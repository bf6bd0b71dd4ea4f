// Calls write(2) until everything is written. EINTR is retried unless the user's process is gone (is_abandoned()).
#include "cli/run/run_output.h"

#include <unistd.h>
#include <algorithm>

#include <cerrno>

#include "runtime-user/session/supervisor.h"

namespace kevt::cli {

RunOutput::RunOutput(OutputPlace place, std::string name)
    : place_(std::move(place)),
      fd_(place_.file ? place_.file.get() : STDOUT_FILENO),
      controls_(controls_for(fd_)),
      name_(std::move(name)) {}

Result<RunOutput> RunOutput::open(const std::string& name) {
  if (name.empty() || name == "-") return RunOutput({}, "standard output");
  auto place = KEVT_TRY(open_output(name));
  return RunOutput(std::move(place), name);
}

void RunOutput::add_line(std::string_view line) {
  const std::size_t begin = buffer_.size();
  buffer_ += line.substr(0, line.size() - 1);
  escape_from(begin, controls_, buffer_);
  buffer_ += '\n';
}

void RunOutput::add_lines(std::string_view text) {
  while (!text.empty()) {
    if (text.front() == '\t') {
      buffer_ += '\t';
      text.remove_prefix(1);
    }
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    add_line(text.substr(0, end));
    text.remove_prefix(end);
  }
}

Result<void> RunOutput::flush() {
  std::size_t at = 0;
  while (at < buffer_.size()) {
    const ssize_t put = ::write(fd_, buffer_.data() + at, buffer_.size() - at);
    if (put < 0 && errno == EINTR && !session::is_abandoned()) continue;
    if (put < 0 && errno == EINTR) errno = EPIPE;
    if (put < 0) {
      Error error = Error::from_errno("writing " + name_);
      buffer_.clear();
      return std::unexpected(std::move(error));
    }
    at += static_cast<std::size_t>(put);
  }
  buffer_.clear();
  return {};
}

}  // namespace kevt::cli
