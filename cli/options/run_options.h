// What `kevtrace run`, and every verb that traces, is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kevt::cli {

inline constexpr std::uint64_t kDefaultBufferKb = 4096;

// What an instance has of the events: the top one, or the one of an `--instance NAME` that stands before.
struct InstanceOptions {
  std::string name;                      // empty: the top one
  std::vector<std::string> definitions;  // their events are on in this instance
  std::vector<std::string> filters;      // EVENT:EXPRESSION
  std::vector<std::string> triggers;     // EVENT:TRIGGER
  std::vector<std::string> histograms;   // EVENT:keys=…: counted, not recorded
  std::vector<std::string> enabled;      // events that are there: GROUP:EVENT of the kernel's own, or what is defined
  std::string output;                    // empty or "-": standard output
};

struct RunOptions : InstanceOptions {
  std::vector<InstanceOptions> instances;  // the others
  std::vector<std::string> definition_files;
  std::optional<double> interval;  // seconds after which histograms are printed and begin anew
  std::string histogram_format;    // empty: by histogram_output's ending, else text
  std::string histogram_output;    // empty: behind the trace lines
  std::vector<int> event_pids;     // hits of these threads alone are recorded; empty: of all
  std::optional<double> seconds;
  std::optional<std::uint64_t> events;
  std::string format;                      // empty: by the output's ending, else text
  std::optional<std::uint64_t> max_bytes;  // of the output
  bool stack = false;                      // record the stack of each hit, too
  bool overwrite = false;                  // keep the newest records: max_bytes in all, or buffer_kb of each CPU
  std::optional<std::uint64_t> buffer_kb;  // per CPU
  std::vector<std::string> fail_on;        // "lost", "missed"
  std::string runtime = "auto";
  std::vector<int> pids;                // running processes, instead of a command
  bool follow = false;                  // through exec, also of what is forked
  std::vector<std::string> injections;  // EVENT:ret=VALUE …
  bool unsafe = false;                  // what changes the way the program takes is allowed
  bool keep_going = false;              // definitions that are wrong are left out, the others traced
  std::vector<std::string> command;
};

}  // namespace kevt::cli
