// StartedCommand: CMD as a child process that waits for go() before it calls exec.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::session {

class StartedCommand {
 public:
  static Result<StartedCommand> start(const std::vector<std::string>& command);
  StartedCommand(StartedCommand&&) = default;
  StartedCommand& operator=(StartedCommand&&) = default;

  // Lets the child call exec. Fails if the program does not exist or cannot be executed.
  Result<void> go();
  pid_t pid() const { return pid_; }
  // The status of waitpid() once the child has ended; nullopt before.
  std::optional<int> poll_exit();
  // Ends a child that was never let go.
  void abandon();

 private:
  StartedCommand() = default;
  pid_t pid_ = -1;
  UniqueFd gate_;    // a byte written here lets the child go on
  UniqueFd result_;  // the child writes errno of a failed exec here; a successful exec closes it
  std::optional<int> status_;
};

}  // namespace kevt::session
