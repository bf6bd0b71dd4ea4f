// Messages to the user: on standard error, coloured if so asked.
#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "cli/definitions/sources.h"
#include "cli/options/options.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/diag/report.h"
#include "runtime-user/engine/events/draft.h"
#include "runtime-user/session/notices.h"

namespace kevt::cli {

class Reporter final : public session::Notices {
 public:
  explicit Reporter(const GlobalOptions& options);
  bool is_quiet() const { return options_.quiet > 0; }

  using Notices::error;
  void error(const std::string& message) const override;   // "kevtrace: error: …"
  void status(const std::string& message) const override;  // "kevtrace: …"; silent with -q
  // "ORIGIN:LINE: note: …"; silent with -q.
  void note(const Source& source, const std::string& message) const;
  void diagnostic(const diag::Located& mistake) const;
  bool shows_all() const { return options_.diagnostics != Format::Kernel; }
  // Whether the whole report is one object: json and sarif.
  bool is_object() const { return options_.diagnostics == Format::Json || options_.diagnostics == Format::Sarif; }
  void object(const diag::Report& report, std::FILE* stream) const;
  // Shows all problems, and how many of them the kernel would have shown.
  struct Sources {
    std::span<const Source> definitions, filters, triggers;
  };
  void problems(std::span<const engine::Problem> problems, const Sources& sources) const;

 private:
  GlobalOptions options_;
  diag::Color color_;
};

// Adds advice to the diagnostic, and moves its columns to the line as it was written.
diag::Located locate(diag::Diagnostic diagnostic, const Source& source);

}  // namespace kevt::cli
