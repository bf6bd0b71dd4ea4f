// Messages to the user: standard error, coloured when asked for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/options.h"
#include "common/error.h"
#include "compiler/diag/diagnostic.h"
#include "runtime-user/engine/engine.h"

namespace kevt::cli {

// A definition or filter and where it was written.
struct Source {
  std::string text;
  std::string origin;  // "<event 1>", a file name
  int line = 1;
};

class Reporter {
 public:
  explicit Reporter(const GlobalOptions& options);

  void error(const std::string& message) const;    // "kevtrace: error: …"
  void error(const Error& error) const { this->error(error.message()); }
  void status(const std::string& message) const;   // "kevtrace: …", not with -q
  void diagnostic(const diag::Diagnostic& diagnostic, const Source& source) const;
  // All of them, and how many the kernel would have shown.
  void problems(std::span<const engine::Problem> problems, std::span<const Source> definitions,
                std::span<const Source> filters) const;

 private:
  GlobalOptions options_;
  diag::Color color_;
};

// Splits "EVENT:EXPR"; an empty event name when there is no ':'.
engine::EventFilter split_filter(const std::string& text);

// -e words and files, in that order; comments and blank lines are kept out. Fails when a file cannot be read.
Result<std::vector<Source>> collect_definitions(const std::vector<std::string>& words,
                                                const std::vector<std::string>& files);

}  // namespace kevt::cli
