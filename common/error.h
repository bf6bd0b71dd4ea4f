// Error: the world refused (a file, a system call, a process). Mistakes in the user's text go to
// diag::Sink instead, our own bugs to KEVT_ASSERT.
//
//   std::expected<UniqueFd, Error> open_it() {
//     ...
//     return std::unexpected(Error::from_errno("open " + path));
//   }
//   UniqueFd fd = KEVT_TRY(open_it());  // an error is returned to the caller
//   if (!fd) return std::unexpected(std::move(fd.error()).while_doing("reading the symbols of " + name));
#pragma once

#include <expected>
#include <string>
#include <utility>
#include <vector>

namespace kevt {

class Error {
 public:
  // `text` says what was tried and what was seen; lower case, no final dot.
  explicit Error(std::string text, int errno_value = 0);
  // The text of strerror(value) alone.
  static Error of_errno(int value);
  // Appends strerror(errno) and keeps errno.
  static Error from_errno(std::string what);

  // Adds a cause, outermost last: "… while reading the symbols of libz.so.1".
  Error while_doing(std::string what) &&;

  // errno of the system call that failed, or 0.
  int errno_value() const { return errno_value_; }
  // One line: "open /x: No such file or directory, while …".
  std::string message() const;

 private:
  std::string text_;
  std::vector<std::string> causes_;
  int errno_value_;
};

template <class T>
using Result = std::expected<T, Error>;

}  // namespace kevt

// The value of a std::expected; where it holds an error, the function (or lambda) returns that error. An expression of
// GNU C++ (ADR 0035); a `break` or `return` of the argument's own would leave it as well.
#define KEVT_TRY(...)                                        \
  __extension__({                                            \
    auto&& kevt_tried = (__VA_ARGS__);                       \
    if (!kevt_tried) [[unlikely]]                            \
      return std::unexpected(std::move(kevt_tried).error()); \
    *std::move(kevt_tried);                                  \
  })
