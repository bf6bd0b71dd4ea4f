// Error and assertion plumbing: the only two ways besides diag::Sink in which kevtrace reports trouble.
#include "common/error.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/assert.h"

namespace kevt {

Error::Error(std::string text, int errno_value) : text_(std::move(text)), errno_value_(errno_value) {}

Error Error::of_errno(int value) { return Error(std::strerror(value), value); }

Error Error::from_errno(std::string what) {
  const int saved = errno;
  return Error(what + ": " + std::strerror(saved), saved);
}

Error Error::while_doing(std::string what) && {
  causes_.push_back(std::move(what));
  return std::move(*this);
}

std::string Error::message() const {
  std::string line = text_;
  for (const std::string& cause : causes_) line += ", while " + cause;
  return line;
}

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "kevtrace: internal error: %s does not hold at %s:%d\n", expression, file, line);
  std::abort();
}

}  // namespace kevt
