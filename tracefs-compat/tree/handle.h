// Handle: an open file of the tree. Errors carry the errno that the kernel's own file answers with.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/error.h"

namespace kevt::tree {

// The thread that opens or writes.
struct Caller {
  pid_t tid = 0;
  std::string comm;
};

struct OpenRequest {
  bool reads = true;
  bool writes = false;
  bool truncates = false;
  Caller caller;
};

enum class Waiting : std::uint8_t { Allowed, Refused };  // O_NONBLOCK

// What poll(2) is told of a file.
struct PollState {
  bool is_readable = true;
  bool is_writable = true;
  bool has_news = false;  // POLLPRI
  bool is_gone = false;   // POLLERR
};

class Handle {
 public:
  virtual ~Handle() = default;
  // Reads into `out` from `offset`; 0: end of file. EAGAIN: there is nothing yet; with Waiting::Allowed the caller
  // tries again once is_ready() is true. A stream ignores `offset` and goes on behind the last read.
  virtual Result<std::size_t> read(std::uint64_t offset, std::span<char> out, Waiting waiting) = 0;
  // One call is one write(2). Returns how many bytes were taken; the caller writes the rest in another call.
  virtual Result<std::size_t> write(std::string_view data, const Caller& caller) = 0;
  virtual bool is_ready() { return true; }
  virtual PollState poll() { return {.is_readable = is_ready()}; }
  // Whether a poll that waits is to ask again. Changes nothing.
  virtual bool wakes_poll() { return is_ready(); }
  // Whether this is a stream that has not reported its end to its reader yet.
  virtual bool awaits_end() const { return false; }
};

// A file whose text is made anew when it is read from its start, and whose writes are commands.
struct TextFile {
  std::function<Result<std::string>()> read;                           // empty: EINVAL
  std::function<Result<void>(std::string_view, const Caller&)> write;  // empty: EINVAL
  std::function<Result<std::size_t>(std::string_view)> write_some;     // instead of `write`
};
std::unique_ptr<Handle> open_text(TextFile file);
// A text file that can only be read.
std::unique_ptr<Handle> read_only(std::function<Result<std::string>()> read);

inline std::unexpected<Error> fails(int value) { return std::unexpected(Error::of_errno(value)); }

// Parses as kstrtoul(): a number and at most one '\n'; base 0: 0x is hexadecimal, a leading 0 octal, else decimal.
// EINVAL, ERANGE.
Result<std::uint64_t> parse_number(std::string_view text, int base);
std::string_view stripped(std::string_view text);

}  // namespace kevt::tree
