// The options that choose running processes: --comm, --cgroup, --container.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "common/process_choice.h"

namespace kevt::cli {

void add_process_choice(CLI::App& verb, proc::ProcessChoice& choice);
// Adds the processes that are meant to `pids`. Throws a CLI::ValidationError if there is a command, too, and a
// CLI::RuntimeError if no process is meant.
void take_process_choice(const proc::ProcessChoice& choice, const std::vector<std::string>& command,
                         std::vector<int>& pids);

}  // namespace kevt::cli
