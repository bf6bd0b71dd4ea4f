// Messages to the user: standard error, coloured when asked for.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "common/error.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/diag/report.h"
#include "runtime-user/engine/events/draft.h"
#include "runtime-user/session/notices.h"

namespace kevt::cli {

// A definition or filter and where it was written.
struct Source {
  std::string text;
  std::string origin;  // "<event 1>", a file name
  int line = 1;
};

class Reporter final : public session::Notices {
 public:
  explicit Reporter(const GlobalOptions& options);
  bool is_quiet() const { return options_.quiet > 0; }

  using Notices::error;
  void error(const std::string& message) const override;   // "kevtrace: error: …"
  void status(const std::string& message) const override;  // "kevtrace: …", not with -q
  // "ORIGIN:LINE: note: …", not with -q.
  void note(const Source& source, const std::string& message) const;
  void diagnostic(const diag::Located& mistake) const;
  bool shows_all() const { return options_.diagnostics != Format::Kernel; }
  // A whole report as one object, for json and sarif.
  bool is_object() const { return options_.diagnostics == Format::Json || options_.diagnostics == Format::Sarif; }
  void object(const diag::Report& report, std::FILE* stream) const;
  // All of them, and how many the kernel would have shown.
  struct Sources {
    std::span<const Source> definitions, filters, triggers;
  };
  void problems(std::span<const engine::Problem> problems, const Sources& sources) const;

 private:
  GlobalOptions options_;
  diag::Color color_;
};

// The diagnostic with advice, and its columns in the line as it was written.
diag::Located locate(diag::Diagnostic diagnostic, const Source& source);

// Filters of the command line, each with where it was written.
struct Filters {
  std::vector<engine::EventFilter> filters;
  std::vector<Source> sources;
};
// What messages about an option say.
struct OptionWords {
  const char* noun;
  const char* form;
  const char* twice;  // of an event that has it two times: "event `a` has …"
};
// Splits each "EVENT:TEXT" or "GROUP:EVENT:TEXT"; fails when no event is named, or one twice.
Result<std::vector<engine::EventFilter>> split_by_event(const std::vector<std::string>& words, const OptionWords& say);
// Splits each "EVENT:EXPR" or "GROUP:EVENT:EXPR"; fails when no event is named.
Result<Filters> collect_filters(const std::vector<std::string>& words);

std::vector<std::string> texts_of(std::span<const Source> sources);

// -e words and files, in that order; comments and blank lines are kept out. Fails when a file cannot be read.
Result<std::vector<Source>> collect_definitions(const std::vector<std::string>& words,
                                                const std::vector<std::string>& files);

}  // namespace kevt::cli
