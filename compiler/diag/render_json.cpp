// Reports for scripts: one JSON object with a version.
//
//   {"v":1,"type":"diagnostics","kernel":"6.12","definitions":2,"errors":1,"diagnostics":[{"file":"events.txt","line":3,…}]}
//
// Problem: scripts must not parse text that is written for people. Idea: the same Report, every field by its name;
// columns are 1-based bytes of the line as it was written, and `caret` is the kernel's own column, 0-based.
// docs/cli.md lists the fields: a field may be added, but no field changes its meaning without a new `v`.
// Not here: where the object is written to.
#include <string.h>

#include <nlohmann/json.hpp>

#include "compiler/diag/report.h"

namespace kevt::diag {
namespace {

using nlohmann::ordered_json;

constexpr int kVersion = 1;

ordered_json fix_json(const FixIt& fix, const Located& located) {
  return {{"file", located.origin},    {"line", located.line},    {"column", fix.begin + 1},
          {"end_column", fix.end + 1}, {"text", fix.replacement}, {"what", fix_text(fix, located.source)}};
}

ordered_json mistake_json(const Located& located) {
  const Diagnostic& diagnostic = located.diagnostic;
  ordered_json out = {{"severity", "error"}, {"file", located.origin}, {"line", located.line}};
  out["column"] = located.column ? ordered_json(*located.column + 1) : ordered_json();
  out["kind"] = kind_name(diagnostic.kind);
  out["id"] = kernel_id(diagnostic.kind);
  out["location"] = location_name(diagnostic.location);
  out["text"] = kernel_text(diagnostic.kind);
  out["detail"] = diagnostic.detail;
  const auto caret = diagnostic.log ? diagnostic.log->column : diagnostic.column;
  out["command"] = diagnostic.log ? diagnostic.log->command : diagnostic.command;
  out["caret"] = caret ? ordered_json(*caret) : ordered_json();
  out["errno"] = errno_name(diagnostic.errno_value);
  out["logged"] = diagnostic.logged;
  out["notes"] = ordered_json::array();
  for (const Note& note : diagnostic.notes) out["notes"].push_back(note.text);
  out["fixes"] = ordered_json::array();
  for (const FixIt& fix : located.fixits) out["fixes"].push_back(fix_json(fix, located));
  return out;
}

}  // namespace

std::string errno_name(int value) {
  const char* name = strerrorname_np(value);
  return name == nullptr || value == 0 ? "" : name;
}

std::string render_json(const Report& report) {
  ordered_json out = {{"v", kVersion}, {"type", "diagnostics"}, {"tool", "kevtrace " + report.tool_version}};
  out["kernel"] = report.kernel.empty() ? ordered_json() : ordered_json(report.kernel);
  out["definitions"] = report.definitions;
  out["errors"] = report.mistakes.size();
  out["diagnostics"] = ordered_json::array();
  for (const Located& located : report.mistakes) out["diagnostics"].push_back(mistake_json(located));
  out["notes"] = ordered_json::array();
  for (const Remark& remark : report.remarks) {
    out["notes"].push_back({{"file", remark.origin}, {"line", remark.line}, {"text", remark.text}});
  }
  out["not_checked"] = report.not_checked;
  out["listing"] = report.listing;
  return out.dump(-1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace kevt::diag
