// StartedCommand: CMD as a child that waits for go() before it becomes the program.
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

  // Fails where there is no such program or it cannot be executed.
  Result<void> go();
  // Its status once it has ended, as waitpid gives it.
  std::optional<int> poll_exit();
  // Ends a child that was never let go.
  void abandon();

 private:
  StartedCommand() = default;
  pid_t pid_ = -1;
  UniqueFd gate_;    // one byte lets the child go on
  UniqueFd result_;  // errno of its exec; closed by a good one
  std::optional<int> status_;
};

}  // namespace kevt::session
