// TracerProcess: `kevtrace mount` as a child: it starts or seizes what is traced and serves its tracing directory.
//
// Who asks needs no privileges of its own, and what is recorded lives there: when the asker is killed the directory is
// still served, and another one may take it up. So the two share nothing that ends with the asker: the tracer has a
// session of its own, and what it and the program write goes to a file in a temporary folder:
//
//   /tmp/kevtrace-client-XXXXXX/tracing    the directory
//                              /output     what was written
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::session {

// What is to be traced: a command, or processes that run, or the kernel.
struct TracerRequest {
  std::vector<std::string> command;  // its directory stays when it has ended
  std::vector<pid_t> pids;
  std::string runtime;   // "bpf" or "kmod": the kernel
  bool follows = false;  // the programs that it starts or becomes by exec, too
  std::string script;    // what the tracer takes before the program runs; empty: none
  bool is_unsafe = false;
};

class TracerProcess {
 public:
  // `kevtrace`: the program. Ready when a look says `is_mounted`.
  static Result<std::unique_ptr<TracerProcess>> start(const std::string& kevtrace, const TracerRequest& request);
  TracerProcess(const TracerProcess&) = delete;
  // finish(), with a patience of five seconds.
  ~TracerProcess();

  // $KEVTRACE, the one beside this program, or the one in PATH; empty: none.
  static std::string find_kevtrace();
  // Folders that askers which were killed have left in `folder`: ours, not mounted any more, and not just made.
  static void remove_abandoned(const std::string& folder);

  // What has happened since the last look. Never waits.
  struct News {
    std::vector<std::string> lines;    // that the tracer or the program have written
    bool is_mounted = false;           // just now
    bool programs_ended = false;       // all that are traced, just now; the directory stays
    std::optional<std::string> ended;  // the tracer, just now: how
  };
  News look();

  const std::string& directory() const { return directory_; }
  pid_t pid() const { return pid_; }                // of the tracer
  pid_t traced_pid() const { return traced_pid_; }  // the first process that is traced; 0: not known yet, or the kernel
  bool is_running() const { return is_running_; }
  // Everything is taken out of what is traced again, and a program that was started here is told to end. A look tells
  // when.
  void terminate();
  // The same, and waits; who has not ended then is killed.
  void finish(std::chrono::milliseconds patience);

 private:
  TracerProcess() = default;
  Result<void> make_folder();
  Result<void> spawn(const std::string& kevtrace, const std::vector<std::string>& words);
  bool read_output(News& news);
  void take_line(const std::string& line, News& news);
  bool reap(News* news);

  std::string folder_, directory_;
  UniqueFd output_;
  std::string rest_;  // of a line whose end has not come
  pid_t pid_ = 0, traced_pid_ = 0;
  pid_t running_ = 0;  // the process of traced_pid_, until it has ended: the number may be another's then
  bool is_running_ = false, is_mounted_ = false, is_ours_ = false;
};

}  // namespace kevt::session
