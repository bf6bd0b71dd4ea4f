// Mount: a tree as a directory of the system, through libfuse3. Nothing is decided here: requests become calls of the
// tree, its errors errno.
//
// Two threads where processes may be refused: one takes requests from the kernel; the one that called serve() carries
// them out, and nobody else touches the tree. Otherwise that one does both. A read that has to wait is put aside and
// answered when there is something, or when its caller is interrupted.
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
  std::optional<gid_t> group;                       // of all files; else the mounting user's
  std::shared_ptr<const RefusedProcesses> refused;  // their requests fail with EDEADLK; nullptr: nobody is ever refused
  bool hides_files = false;                         // the directory need not be empty
};

// Who has a file open.
struct MountUser {
  pid_t tid = 0;
  std::string path;
};

class Mount {
 public:
  // A dead mount that is still on the directory is taken away first.
  // ENOTEMPTY: the directory is not empty.
  static Result<std::unique_ptr<Mount>> open(tree::Tree& tree, MountOptions options);
  // Unmounts, also where it is busy (users() says by whom): nothing of it answers then.
  ~Mount();

  // Serves until somebody unmounts it or `step` says no. `step` is called about every millisecond while something is
  // armed, else a few times a second, and before readers that wait are looked at.
  void serve(const std::function<bool()>& step);
  // Files that are open; after serve(): that nobody has closed by then.
  std::vector<MountUser> users() const;
  // Does somebody read a stream whose end was not told yet, or was something else that is open used a moment ago?
  bool is_being_read() const;

  struct State;  // private to this folder

 private:
  void serve_with_receiver(const std::function<bool()>& step);
  void serve_alone(const std::function<bool()>& step);
  explicit Mount(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kevt::fuse
