#include "cli/options/choice_options.h"

#include "cli/exit_status.h"

namespace kevt::cli {

void add_process_choice(CLI::App& verb, proc::ProcessChoice& choice) {
  verb.add_option("--comm", choice.comms,
                  "trace the processes of this name, * and ? allowed, also those that come later")
      ->type_name("NAME")
      ->allow_extra_args(false);
  verb.add_option("--cgroup", choice.cgroups, "likewise, those in a control group or below it")
      ->type_name("PATH")
      ->allow_extra_args(false);
  verb.add_option("--container", choice.containers,
                  "likewise, those in a container: its id or the beginning of it, or its name")
      ->type_name("ID")
      ->allow_extra_args(false);
}

void take_process_choice(const proc::ProcessChoice& choice, const std::vector<std::string>& command,
                         std::vector<int>& pids) {
  if (choice.empty()) return;
  if (!command.empty()) throw CLI::ValidationError(choice.text(), "CMD and running processes exclude each other");
  const auto chosen = proc::chosen_processes(choice);
  if (chosen.empty()) throw CLI::RuntimeError(choice.text() + ": no process fits", kFailed);
  pids.insert(pids.end(), chosen.begin(), chosen.end());
}

}  // namespace kevt::cli
