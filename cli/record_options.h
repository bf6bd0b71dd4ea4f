// What the command line asks of recordings, as plain data. CLI11's side is in record_options.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace kevt::cli {

// What is read: a file and the part of it that is wanted.
struct InputOptions {
  std::string file;
  std::vector<std::string> filters;  // EVENT: EXPRESSION, or EVENT
  std::string from, to;              // moments
  std::optional<std::uint64_t> limit;
};

struct ReportOptions {
  InputOptions input;
  std::string format = "text";
  std::string output;
  std::string times = "absolute";
  std::vector<std::string> columns;
};

struct ConvertOptions {
  InputOptions input;
  std::string output;
  std::string format;  // empty: by the output's ending
};

struct RecordingVerb {
  std::variant<std::monostate, ReportOptions, ConvertOptions> verb;
};

// Of `run -f`.
CLI::Validator run_format();
std::string run_format_help();

// Adds the verbs; the one that was given is in `out` when parsing is done.
void add_recording_verbs(CLI::App& app, RecordingVerb& out);

}  // namespace kevt::cli
