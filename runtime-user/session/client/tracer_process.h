// TracerProcess: `kevtrace mount` as a child: it starts or seizes what is traced and serves its tracing directory.
//
// The client needs no privileges of its own, and the records are in the tracer: when the client is killed, the tracer
// still serves the directory, and another client may use it. So the tracer depends on nothing that ends with the
// client: it has a session of its own, and the output of tracer and program goes to a file in a temporary folder:
//
//   /tmp/kevtrace-client-XXXXXX/tracing    the directory
// /output their output
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/process_choice.h"
#include "common/unique_fd.h"

namespace kevt::session {

// What is to be traced: a command, or processes that run, or the kernel.
struct TracerRequest {
  std::vector<std::string> command;  // the directory stays when the command has ended
  std::vector<pid_t> pids;
  proc::ProcessChoice choice;  // processes that run, and those that come later
  std::string runtime;         // "bpf" or "kmod": the kernel
  bool follows = false;        // also trace programs that it starts or becomes by exec
  std::string with_kernel;     // the runtime that traces the kernel beside it: "auto", "bpf", "kmod"; empty: none
  std::string script;          // a script to apply before the program runs; empty: none
  bool is_unsafe = false;
};

class TracerProcess {
 public:
  // `kevtrace`: path of the program. The directory is ready when look() has returned `is_mounted`.
  static Result<std::unique_ptr<TracerProcess>> start(const std::string& kevtrace, const TracerRequest& request);
  TracerProcess(const TracerProcess&) = delete;
  // Calls finish() with a patience of 5 s, and removes the folder.
  ~TracerProcess();

  // $KEVTRACE, the one beside this program, or the one in PATH; empty: none.
  static std::string find_kevtrace();
  // Removes folders that killed clients have left in `folder`: those of this user that are no longer mounted and older
  // than 10 minutes.
  static void remove_abandoned(const std::string& folder);

  // What has happened since the last look(). Never waits.
  struct News {
    std::vector<std::string> lines;    // written by the tracer or the program
    bool is_mounted = false;           // just now
    bool programs_ended = false;       // just now, all traced ones; the directory stays
    std::optional<std::string> ended;  // how the tracer has ended, just now
  };
  News look();

  const std::string& directory() const { return directory_; }
  pid_t pid() const { return pid_; }                // of the tracer
  pid_t traced_pid() const { return traced_pid_; }  // the first process that is traced; 0: not known yet, or the kernel
  bool is_running() const { return is_running_; }
  // Asks the tracer to remove all probes and to end, and sends SIGTERM to a program that was started here. Does not
  // wait: look() tells when the tracer has ended.
  void terminate();
  // terminate(), then waits for the tracer's end; kills the tracer after `patience`.
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
  std::string rest_;  // an output line that is not complete yet
  pid_t pid_ = 0, traced_pid_ = 0;
  pid_t running_ = 0;  // traced_pid_ until that process has ended; 0 then, since the pid may be reused
  bool is_running_ = false, is_mounted_ = false, is_ours_ = false;
};

}  // namespace kevt::session
