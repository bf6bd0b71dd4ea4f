// Mount: a tree as a directory of the system, through libfuse3. Nothing is decided here: requests become calls of the
// tree, and the tree's errors become errno.
//
// With RefusedProcesses there are two threads: one takes requests from the kernel, and the thread that called serve()
// carries them out. Otherwise the thread of serve() does both. Only that thread touches the tree. A read that has to
// wait is put aside, and answered when there is something to read or its caller is interrupted.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/fuse/refused_processes.h"
#include "tracefs-compat/tree/tree.h"

namespace kevt::fuse {

struct MountOptions {
  std::string directory;
  std::optional<gid_t> group;                       // of all files; nullopt: the mounting user's
  std::shared_ptr<const RefusedProcesses> refused;  // their requests fail with EDEADLK; nullptr: nobody is ever refused
  bool hides_files = false;                         // the directory need not be empty
};

// A thread that has opened a file of the mount.
struct MountUser {
  pid_t tid = 0;
  std::string path;
};

class Mount {
 public:
  // First removes a dead mount that is still on the directory.
  // ENOTEMPTY: the directory is not empty.
  static Result<std::unique_ptr<Mount>> open(tree::Tree& tree, MountOptions options);
  // Unmounts, even if files are open (see users()); requests for those fail from then on.
  ~Mount();

  // Serves until somebody unmounts the directory or `step` returns false. `step` is called about every millisecond
  // while something is armed, else every 50 ms; waiting readers are answered after each call.
  void serve(const std::function<bool()>& step);
  // In a copy of the process (fork): lets go of the connection to the kernel, so that the mount ends with the process
  // that serves it. Nothing else of the copy's Mount may be used.
  void let_go_in_copy();
  // The open files; after serve(), those that are still open.
  std::vector<MountUser> users() const;
  // Whether a reader of a stream has not seen the end yet, or files are open and one was used in the last second.
  bool is_being_read() const;

  struct State;  // private to this folder

 private:
  void serve_with_receiver(const std::function<bool()>& step);
  void serve_alone(const std::function<bool()>& step);
  explicit Mount(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kevt::fuse
