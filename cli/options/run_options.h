// What `kevtrace run`, and every verb that traces, is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/process_choice.h"

namespace kevt::cli {

inline constexpr std::uint64_t kDefaultBufferKb = 4096;

// The events of one instance: of the top one, or of the last `--instance NAME` before the options.
struct InstanceOptions {
  std::string name;                      // empty: the top one
  std::vector<std::string> definitions;  // the events are on in this instance
  std::vector<std::string> filters;      // EVENT:EXPRESSION
  std::vector<std::string> triggers;     // EVENT:TRIGGER
  std::vector<std::string> histograms;   // EVENT:keys=…: counted, not recorded
  std::vector<std::string> enabled;      // existing events: kernel events as GROUP:EVENT, or defined ones
  std::string output;                    // empty or "-": standard output
};

struct RunOptions : InstanceOptions {
  std::vector<InstanceOptions> instances;  // all but the top one
  std::vector<std::string> definition_files;
  std::optional<double> interval;  // seconds; histograms are printed and start over each time
  std::string histogram_format;    // empty: by histogram_output's ending, else text
  std::string histogram_output;    // empty: behind the trace lines
  std::vector<int> event_pids;     // only hits of these threads are recorded; empty: all
  std::optional<double> seconds;
  std::optional<std::uint64_t> events;
  std::string format;                      // empty: by the output's ending, else text
  std::optional<std::uint64_t> max_bytes;  // of the output
  std::string recording_id;                // hexadecimal digits that the ids of recordings begin with
  bool stack = false;                      // record the stack of each hit, too
  bool overwrite = false;                  // keep the newest records: max_bytes in all, else buffer_kb per CPU
  std::optional<std::uint64_t> buffer_kb;  // per CPU
  std::vector<std::string> fail_on;        // "lost", "missed"
  std::string runtime = "auto";
  std::string with_kernel;              // the runtime that traces the kernel beside programs; empty: it is not traced
  std::vector<int> pids;                // running processes, instead of a command
  proc::ProcessChoice choice;           // likewise, also those that come later
  bool follow = false;                  // also trace what they or their children exec
  std::vector<std::string> injections;  // EVENT:ret=VALUE …
  bool unsafe = false;                  // allows injections, which change what the program does
  bool kernel_drops = false;            // full tables of histograms drop hits of new keys
  bool keep_going = false;              // leave wrong definitions out and trace the others
  std::vector<std::string> command;
};

}  // namespace kevt::cli
