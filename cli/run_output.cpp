// write(2) until everything is out; short writes go on, EINTR is retried as long as somebody waits for us.
#include "cli/run_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "cli/front.h"

namespace kevt::cli {

Result<RunOutput> RunOutput::open(const std::string& name) {
  RunOutput output;
  output.name_ = name.empty() || name == "-" ? "standard output" : name;
  if (name.empty() || name == "-") return output;
  output.file_ = UniqueFd(::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!output.file_) return std::unexpected(Error::from_errno(name));
  output.fd_ = output.file_.get();
  return output;
}

Result<void> RunOutput::flush() {
  std::size_t at = 0;
  while (at < buffer_.size()) {
    const ssize_t put = ::write(fd_, buffer_.data() + at, buffer_.size() - at);
    if (put < 0 && errno == EINTR && !is_abandoned()) continue;
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
