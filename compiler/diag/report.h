// A report: the mistakes and remarks about some texts, with the places of the texts. It is rendered for people
// (render_text), as JSON for scripts, as SARIF 2.1.0 for editors and code review.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"

namespace kevt::diag {

// A diagnostic and where its text was written. Columns are bytes of `source`, 0 = the first.
struct Located {
  Diagnostic diagnostic;
  std::string origin;  // a file, "<event 1>", "<stdin>"
  int line = 1;
  std::string source;                   // the line as it was written
  std::optional<std::uint32_t> column;  // nullopt if the diagnostic has none
  std::vector<FixIt> fixits;            // Diagnostic::fixits in these columns
};

struct Remark {
  std::string origin;
  int line = 1;
  std::string text;
};

struct Report {
  std::string tool_version;
  std::string kernel;  // the kernel that was asked for: "6.12"; empty: none
  std::uint32_t definitions = 0;
  std::vector<Located> mistakes;
  std::vector<Remark> remarks;
  std::vector<std::string> not_checked;  // "function `vfs_read`"
  std::vector<std::string> listing;      // of the definitions without mistakes
};

std::string render_text(const Located& located, Color color);
// One JSON object with a newline behind it; docs/cli.md lists the fields. Bytes that are no UTF-8 become U+FFFD.
std::string render_json(const Report& report);
// One SARIF 2.1.0 log with one run; columns are code points.
std::string render_sarif(const Report& report);

// "EINVAL"
std::string errno_name(int value);

}  // namespace kevt::diag
