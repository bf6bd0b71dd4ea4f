// The command line of `mount` and `exec`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/run_options.h"

namespace CLI {
class App;
}

namespace kevt::cli {

struct MountVerbOptions {
  std::string directory;
  std::string runtime = "auto";
  std::string group;                       // name or number; empty: the user's
  std::optional<std::uint64_t> buffer_kb;  // per CPU
  bool follow = false;                     // also trace programs that they become or start by exec
  bool hold = false;                       // CMD starts once an event is switched on
  bool keep = false;                       // the mount stays when CMD has ended
  bool nonempty = false;                   // DIR may hold files
  RunOptions defined;                      // only events, filters, triggers: from the start
  std::vector<int> pids;                   // running processes, instead of a command
  proc::ProcessChoice choice;              // likewise, also those that come later
  std::vector<std::string> command;
};

struct ExecOptions {
  std::string directory;
  std::vector<std::string> command;
};

void add_mount(CLI::App& app, MountVerbOptions& mount);
void add_exec(CLI::App& app, ExecOptions& exec);

}  // namespace kevt::cli
