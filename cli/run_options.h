// What `kevtrace run`, and every verb that traces, is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kevt::cli {

struct RunOptions {
  std::vector<std::string> definitions;
  std::vector<std::string> definition_files;
  std::vector<std::string> filters;  // EVENT:EXPRESSION
  std::optional<double> seconds;
  std::optional<std::uint64_t> events;
  std::string output;                      // empty or "-": standard output
  std::string format;                      // empty: by the output's ending, else text
  std::optional<std::uint64_t> max_bytes;  // of the output
  std::optional<std::uint64_t> buffer_kb;  // per CPU
  std::vector<std::string> fail_on;        // "lost", "missed"
  std::string runtime = "auto";
  std::vector<int> pids;  // running processes, instead of a command
  std::vector<std::string> command;
};

}  // namespace kevt::cli
