// KevtraceChild: the program `kevtrace`, started by another of our programs or by a caller of the library: what it
// writes, what it says, and its end. When the caller dies, what it traces ends.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt {

class KevtraceChild {
 public:
  // `program`: the path of kevtrace, or a name that PATH tells; `words`: its arguments. The first of them that is
  // kOutput stands for a file whose bytes read() gives; without it, they are what is written to standard output. The
  // caller's own standard output and error are the program's where `keeps_output`.
  static constexpr std::string_view kOutput = "\1";
  static Result<KevtraceChild> start(const std::string& program, std::vector<std::string> words, std::string_view input,
                                     bool keeps_output);

  KevtraceChild(KevtraceChild&&) noexcept;
  KevtraceChild& operator=(KevtraceChild&&) = delete;
  ~KevtraceChild();  // ends it as stop() does, and waits

  // Waits up to `timeout_ms` (negative: for ever) until there is something new. False: nothing came in time.
  bool wait(int timeout_ms);
  // Appends what it has written; false: there is nothing at the moment.
  bool read(std::string& out);
  bool has_ended() const { return has_ended_; }
  // The exit status, 128 + N for signal N; -1: it has not ended, or somebody else has waited for it.
  int status() const { return status_; }
  bool was_stopped() const { return is_stopped_; }
  const std::string& messages() const { return messages_; }
  void stop();  // SIGINT: tracing ends, what is recorded still comes
  int fd() const { return poll_.get(); }

 private:
  KevtraceChild() = default;
  void take_messages();
  void look_for_end();
  // A process that the caller has forked has the object, too, and the child is not its own.
  bool is_mine() const;
  void interrupt();

  pid_t owner_ = -1;  // the process that started it; -1: nothing was started
  UniqueFd pidfd_, output_, output_kept_, messages_in_, messages_kept_, poll_;
  std::string messages_;
  int status_ = -1;
  bool has_ended_ = false, is_stopped_ = false, has_command_ = false;
};

}  // namespace kevt
