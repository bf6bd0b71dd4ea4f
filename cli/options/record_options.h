// What the command line asks of recordings, as plain data. CLI11's side is in record_options.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/options/live_options.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace kevt::cli {

// A recording to read, and which part of it.
struct InputOptions {
  std::string file;
  std::vector<std::string> filters;  // EVENT: EXPRESSION, or EVENT
  std::string from, to;              // moments
  std::string instance;              // "top", or a name
  std::optional<std::uint64_t> limit;
};

struct ReportOptions {
  InputOptions input;
  std::string format;  // empty: by the output's ending, else text
  std::string output;
  std::string times = "absolute";
  std::vector<std::string> columns;
  bool raw_format = false;  // without libtraceevent's plugins
};

struct ConvertOptions {
  InputOptions input;
  std::string output;
  std::string format;  // empty: by the output's ending
};

struct FlameOptions {
  InputOptions input;
  std::string before;        // another recording, to compare with
  std::string before_range;  // its part, FROM,TO; empty: the same as of the first one
  std::string weight;        // "", "hits", "time", or a field
  bool bottom_up = false;
  double least = 0.5;  // percent
  std::string format, output;
};

struct RecordingVerb {
  std::variant<std::monostate, ReportOptions, ConvertOptions, FlameOptions, StatOptions, DiffOptions, CountOptions,
               HistOptions, LatOptions, TopOptions, StreamOptions>
      verb;
};

// Adds the options that say what is traced and how long (options_run.cpp).
void add_tracing(CLI::App& app, RunOptions& run);
// The formats of `run -f`.
CLI::Validator run_format();
std::string run_format_help();

// Adds the verbs; after parsing `out` has the options of the given verb. `command`: the words behind `--`, for verbs
// that also take words of their own.
void add_recording_verbs(CLI::App& app, RecordingVerb& out, const std::vector<std::string>& command);
// If the verb is one of these, cuts argv at `--` and returns the words behind it.
std::vector<std::string> take_command(int& argc, char** argv);

}  // namespace kevt::cli
