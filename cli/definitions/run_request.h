// What `kevtrace run` is asked for by the command line and scripts together.
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
  RunOptions options;                      // the command line wins over scripts
  Texts texts;                             // without events that are off
  std::optional<std::string> mapped_file;  // each process must have it mapped
  std::vector<engine::EventInjection> injections;
  std::vector<engine::EventTrigger> triggers;  // of scripts, then of the command line
  std::vector<Source> trigger_sources;
  std::vector<model::EventName> trigger_targets;   // the event that each trigger switches; empty: none
  std::vector<engine::EventTrigger> only_counted;  // those of --hist, which do not make an event record
  std::optional<Source> output_source;             // the line of the script that named the output
  // Kernel events: `statics` are to be on in some instance; `known_statics` are these and those that are off or that
  // triggers name.
  std::set<model::EventName> statics, known_statics;
  // Whether the instance reports on the event: it is on or off in the instance, or a trigger there stands on it or
  // switches it.
  bool tells_of(const InstanceTexts& instance, const model::EventName& event) const;
};

// Whether the kernel is traced, as --runtime or the script's target says, and not a process.
bool traces_kernel(const RunRequest& request);

// How many places are globs. How many events there will be is known when they are looked up.
std::size_t globs_of(const RunRequest& request);
inline bool has_globs(const RunRequest& request) { return globs_of(request) != 0; }

// Whether a file that a script names lies in or below the working directory once links are resolved.
bool stays_here(const std::string& path);

// Reads only the definitions and what belongs to them; there may be none. nullopt: as in read_run_request().
std::optional<RunRequest> read_definitions(const RunOptions& options, const Reporter& report, int& status);

// Reports which scripts bring machine code that was not compiled here.
void warn_of_brought_code(const RunRequest& request, const Reporter& report);

// nullopt: there is nothing to run, or it cannot be run here; the reason has been reported, and `status` is kevtrace's
// exit status.
std::optional<RunRequest> read_run_request(const RunOptions& options, const Reporter& report, int& status);

// Whether the process has this file mapped.
bool has_mapped(int pid, const std::string& path);

}  // namespace kevt::cli
