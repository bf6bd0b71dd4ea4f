// What `kevtrace run` is asked for when scripts have had their say.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/definitions/script_texts.h"
#include "cli/options/options.h"
#include "cli/reporter.h"

namespace kevt::cli {

struct RunRequest {
  RunOptions options;                      // the command line wins over scripts; a command or processes are there
  Texts texts;                             // without what is off
  std::optional<std::string> mapped_file;  // each process must have it mapped
  std::vector<engine::EventInjection> injections;
  std::vector<engine::EventTrigger> triggers;  // of scripts, then of the command line
  std::vector<Source> trigger_sources;
  std::vector<model::EventName> trigger_targets;   // that each of them switches; empty: none
  std::vector<engine::EventTrigger> only_counted;  // those of --hist: their events are not recorded for that alone
  std::optional<Source> output_source;             // the line of the script that named the output
  // The kernel's own events: those that are to be on in some instance; and those, too, that are off or that triggers
  // name.
  std::set<model::EventName> statics, known_statics;
  // Events that the instance tells of: what is on in it, what is off, what its triggers stand on or switch.
  bool tells_of(const InstanceTexts& instance, const model::EventName& event) const;
};

// Whether the kernel is traced, not a process: asked for by --runtime or by the script's target.
bool traces_kernel(const RunRequest& request);

// Whether a file that a script names lies in the working directory or below, whatever links are there.
bool stays_here(const std::string& path);

// The definitions alone, with all that belongs to them; there may be none. nullopt as below.
std::optional<RunRequest> read_definitions(const RunOptions& options, const Reporter& report, int& status);

// Says where machine code comes from that nobody here has compiled.
void warn_of_brought_code(const RunRequest& request, const Reporter& report);

// nullopt: there is nothing to run, or it cannot be run here; said why, and `status` is what kevtrace ends with.
std::optional<RunRequest> read_run_request(const RunOptions& options, const Reporter& report, int& status);

// Does the process have this file mapped?
bool has_mapped(int pid, const std::string& path);

}  // namespace kevt::cli
