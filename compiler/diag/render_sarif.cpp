// Reports for editors and code review: SARIF 2.1.0 (OASIS), one run, one result a mistake.
//
//   {"version":"2.1.0","runs":[{"tool":{"driver":{"name":"kevtrace","rules":[…]}},"results":[{"ruleId":"BAD_REG_NAME",…}]}]}
//
// Problem: the format has hundreds of fields and few are needed. Idea: rules (once each, in order of use), results with
// a region and, where there are fix-its, `fixes`; what was not checked becomes notifications of the invocation. Columns
// are counted in code points (`columnKind`), so bytes of a line that is no ASCII are converted. Ends of regions are
// exclusive, as SARIF has them.
#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "compiler/diag/report.h"

namespace kevt::diag {
namespace {

using nlohmann::ordered_json;

std::string_view rule_id(Kind kind) {
  const std::string_view id = kernel_id(kind);
  return id.empty() ? kind_name(kind) : id;
}

// 1-based; a byte that continues a UTF-8 character does not count.
std::size_t code_points(std::string_view text, std::size_t bytes) {
  const std::string_view before = text.substr(0, std::min(bytes, text.size()));
  const auto continuing =
      std::ranges::count_if(before, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; });
  return bytes - static_cast<std::size_t>(continuing) + 1;
}

std::string percent_encoded(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string uri;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && (std::isalnum(byte) || std::string_view("-._~/").contains(c))) {
      uri += c;
    } else {
      uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return uri;
}

ordered_json artifact(const std::string& origin) { return {{"uri", percent_encoded(origin)}}; }

ordered_json physical_location(const Located& located) {
  ordered_json region = {{"startLine", located.line}};
  if (located.column) region["startColumn"] = code_points(located.source, *located.column);
  region["snippet"] = {{"text", located.source}};
  return {{"artifactLocation", artifact(located.origin)}, {"region", region}};
}

ordered_json sarif_fix(const FixIt& fix, const Located& located) {
  const ordered_json deleted = {{"startLine", located.line},
                                {"startColumn", code_points(located.source, fix.begin)},
                                {"endLine", located.line},
                                {"endColumn", code_points(located.source, fix.end)}};
  const ordered_json replacement = {{"deletedRegion", deleted}, {"insertedContent", {{"text", fix.replacement}}}};
  const ordered_json change = {{"artifactLocation", artifact(located.origin)},
                               {"replacements", ordered_json::array({replacement})}};
  return {{"description", {{"text", fix_text(fix, located.source)}}},
          {"artifactChanges", ordered_json::array({change})}};
}

std::string message_of(const Diagnostic& diagnostic) {
  std::string message(kernel_text(diagnostic.kind));
  if (!diagnostic.detail.empty()) message += ": " + diagnostic.detail;
  for (const Note& note : diagnostic.notes) message += "\n" + note.text;
  return message;
}

// Rules in order of first use.
class Rules {
 public:
  std::size_t index(Kind kind) {
    const auto [entry, fresh] = indexes_.try_emplace(rule_id(kind), list_.size());
    if (fresh) {
      ordered_json rule = {
          {"id", rule_id(kind)}, {"name", kind_name(kind)}, {"shortDescription", {{"text", kernel_text(kind)}}}};
      if (const auto help = help_text(kind); !help.empty()) rule["help"] = {{"text", help}};
      list_.push_back(std::move(rule));
    }
    return entry->second;
  }
  ordered_json take() { return std::move(list_); }

 private:
  std::map<std::string_view, std::size_t> indexes_;
  ordered_json list_ = ordered_json::array();
};

ordered_json result_json(const Located& located, Rules& rules) {
  const Diagnostic& diagnostic = located.diagnostic;
  const std::size_t rule = rules.index(diagnostic.kind);
  ordered_json out = {{"ruleId", rule_id(diagnostic.kind)},
                      {"ruleIndex", rule},
                      {"level", "error"},
                      {"message", {{"text", message_of(diagnostic)}}}};
  out["locations"] = ordered_json::array({{{"physicalLocation", physical_location(located)}}});
  if (!located.fixits.empty()) out["fixes"] = ordered_json::array();
  for (const FixIt& fix : located.fixits) out["fixes"].push_back(sarif_fix(fix, located));
  return out;
}

ordered_json invocation_json(const Report& report) {
  ordered_json notifications = ordered_json::array();
  const auto add = [&](const std::string& text) {
    notifications.push_back({{"level", "note"}, {"message", {{"text", text}}}});
  };
  for (const Remark& remark : report.remarks) add(remark.origin + ": " + remark.text);
  for (const std::string& rule : report.not_checked) add("not checked: " + rule);
  return {{"executionSuccessful", true}, {"toolExecutionNotifications", notifications}};
}

}  // namespace

std::string render_sarif(const Report& report) {
  Rules rules;
  ordered_json results = ordered_json::array();
  for (const Located& located : report.mistakes) results.push_back(result_json(located, rules));
  const ordered_json driver = {{"name", "kevtrace"}, {"version", report.tool_version}, {"rules", rules.take()}};
  ordered_json run = {{"tool", {{"driver", driver}}}, {"columnKind", "unicodeCodePoints"}};
  run["invocations"] = ordered_json::array({invocation_json(report)});
  run["results"] = std::move(results);
  const ordered_json log = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                            {"version", "2.1.0"},
                            {"runs", ordered_json::array({std::move(run)})}};
  return log.dump(2, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace kevt::diag
