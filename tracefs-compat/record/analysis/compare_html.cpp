// Names come from files that others wrote: they are text here, never markup. The flame graph has a script of its own,
// so it stands in a frame that may do nothing else.
#include "tracefs-compat/record/analysis/compare_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tracefs-compat/record/analysis/call_tree.h"
#include "tracefs-compat/record/formats/flame_graph.h"
#include "tracefs-compat/record/formats/xml_text.h"

namespace kevt::record {
namespace {

constexpr std::size_t kMostNames = 40, kMostPaths = 20, kMostDefinitions = 40;

constexpr const char* kPageHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Two recordings compared</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-src 'self'">
<style>
:root { color-scheme: light dark; --a: #0072b2; --b: #d55e00; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1240px; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .9rem .2rem 0; text-align: right; vertical-align: top; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child, table.texts :is(th, td) { text-align: left; overflow-wrap: anywhere; }
.a { color: var(--a); } .b { color: var(--b); } .more { color: #b3261e; } .less { color: #1e6fb3; } .only { font-weight: 600; }
pre { margin: 0; font-size: .85rem; white-space: pre-wrap; text-align: left; }
svg.bars { width: 100%; max-width: 900px; height: auto; } svg.bars text { font: 12px monospace; fill: currentColor; }
iframe { width: 100%; border: 1px solid var(--line); background: #fdfbf5; }
</style></head><body>
)";

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), "\u2009");
  return digits;
}

// Of what is heavier and lighter; `only` one of them has it.
std::string change_cell(double a, double b) {
  const std::string_view kind = a == b ? "" : a == 0 ? "only more" : b == 0 ? "only less" : b > a ? "more" : "less";
  const std::string text = a == 0 && b != 0 ? "new" : b == 0 && a != 0 ? "gone" : change_text(a, b);
  return fmt::format(R"(<td class="{}">{}</td>)", kind, text);
}

// Rows of two numbers; the largest difference comes first where there are more than `most`.
std::string counts_table(std::string_view what, const CountsOfBoth& counts, std::size_t most,
                         std::pair<double, double> seconds) {
  std::vector<const CountsOfBoth::value_type*> rows;
  for (const auto& one : counts) rows.push_back(&one);
  const auto difference = [](const CountsOfBoth::value_type* one) {
    const auto [a, b] = one->second;
    return a > b ? a - b : b - a;
  };
  if (rows.size() > most) std::ranges::stable_sort(rows, std::ranges::greater(), difference);
  std::string out =
      fmt::format("<table><tr><th>{}</th><th class=\"a\">A</th><th class=\"b\">B</th><th>change</th>", what);
  const bool has_rates = seconds.first > 0 && seconds.second > 0;
  out += has_rates ? "<th class=\"a\">A a second</th><th class=\"b\">B a second</th><th>change</th></tr>\n" : "</tr>\n";
  for (const auto* one : std::span(rows).first(std::min(rows.size(), most))) {
    const auto [a, b] = one->second;
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td>{}", as_xml(one->first), grouped(a), grouped(b),
                       change_cell(static_cast<double>(a), static_cast<double>(b)));
    if (has_rates) {
      const double x = rate_of(a, seconds.first), y = rate_of(b, seconds.second);
      out += fmt::format("<td>{:.1f}</td><td>{:.1f}</td>{}", x, y, change_cell(x, y));
    }
    out += "</tr>\n";
  }
  out += "</table>\n";
  if (rows.size() > most) out += fmt::format("<p>The {} that differ most, of {}.</p>\n", most, grouped(rows.size()));
  return out;
}

// Two bars for each power of two, as parts of all numbers of their recording.
std::string distribution(const Histogram& a, const Histogram& b) {
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> cells;  // by their begin
  std::map<std::uint64_t, std::uint64_t> ends;
  for (const auto& [histogram, is_first] : {std::pair(&a, true), std::pair(&b, false)})
    for (const Histogram::Row& row : histogram->rows()) {
      (is_first ? cells[row.from].first : cells[row.from].second) = row.count;
      ends[row.from] = row.to;
    }
  if (cells.empty()) return "";
  constexpr double kRow = 30, kBar = 12, kLeft = 260, kWidth = 560;
  const auto part = [](std::uint64_t count, const Histogram& of) {
    return of.count() ? static_cast<double>(count) / static_cast<double>(of.count()) : 0;
  };
  double most = 0;
  for (const auto& [from, counts] : cells) most = std::max({most, part(counts.first, a), part(counts.second, b)});
  std::string out =
      fmt::format("<svg class=\"bars\" viewBox=\"0 0 900 {}\" role=\"img\" aria-label=\"distribution of A and B\">\n",
                  kRow * static_cast<double>(cells.size()));
  double top = 0;
  for (const auto& [from, counts] : cells) {
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{} – {}</text>", kLeft - 8, top + 17, grouped(from),
                       grouped(ends[from]));
    for (const auto& [share, below, color] :
         {std::tuple(part(counts.first, a), 2.0, "--a"), {part(counts.second, b), 2 + kBar, "--b"}}) {
      const double width = most > 0 ? kWidth * share / most : 0;
      out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" style=\"fill:var({})\"/>", kLeft,
                         top + below, width, kBar - 1, color);
      if (share > 0)
        out += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{} %</text>", kLeft + width + 5, top + below + 10,
                           share < 0.001 ? "&lt; 0.1" : fmt::format("{:.1f}", share * 100));
    }
    out += "\n";
    top += kRow;
  }
  return out + "</svg>\n";
}

std::string percentiles_table(const Histogram& a, const Histogram& b) {
  std::string out = "<table><tr><th></th><th class=\"a\">A</th><th class=\"b\">B</th><th>change</th></tr>\n";
  const auto row = [&](std::string_view name, std::uint64_t x, std::uint64_t y) {
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td>{}</tr>\n", name, grouped(x), grouped(y),
                       change_cell(static_cast<double>(x), static_cast<double>(y)));
  };
  row("count", a.count(), b.count());
  row("least", a.min(), b.min());
  for (const auto& [name, percent] : {std::pair("p50", 50.0), {"p90", 90.0}, {"p99", 99.0}, {"p99.9", 99.9}})
    row(name, a.percentile(percent), b.percentile(percent));
  row("greatest", a.max(), b.max());
  return out + "</table>\n";
}

std::string recordings_table(const Comparison& both, const ComparedRecording& a, const ComparedRecording& b) {
  const auto records = [](const RecordingSummary& of) {
    std::uint64_t sum = 0;
    for (const auto& [event, count] : of.events) sum += count;
    return sum;
  };
  const auto definitions = [](const Metadata& of) {
    std::string lines;
    for (std::size_t i = 0; i < std::min(of.definitions.size(), kMostDefinitions); ++i)
      lines += as_xml(of.definitions[i]) + "\n";
    if (of.definitions.size() > kMostDefinitions)
      lines += fmt::format("and {} others\n", of.definitions.size() - kMostDefinitions);
    return lines;
  };
  std::string out = "<table class=\"texts\"><tr><th></th><th class=\"a\">A</th><th class=\"b\">B</th></tr>\n";
  const auto row = [&out](std::string_view name, const std::string& x, const std::string& y) {
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", name, x, y);
  };
  row("recording", as_xml(a.name), as_xml(b.name));
  row("machine", as_xml(a.metadata->host), as_xml(b.metadata->host));
  row("seconds", fmt::format("{:.6f}", both.a.seconds), fmt::format("{:.6f}", both.b.seconds));
  row("records", grouped(records(both.a)), grouped(records(both.b)));
  row("definitions", "<pre>" + definitions(*a.metadata) + "</pre>", "<pre>" + definitions(*b.metadata) + "</pre>");
  return out + "</table>\n";
}

// A value of srcdoc: the flame graph, whose own text is XML already.
std::string as_frame(std::string_view svg) {
  std::string out;
  for (const char c : svg.substr(svg.find("<svg"))) {
    if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

// Of a frame around it, in pixels; beyond 900 it scrolls.
unsigned height_of(const std::string& svg) {
  constexpr std::string_view kHeight = " height=\"";
  constexpr unsigned kMargins = 24, kMost = 900;
  unsigned height = kMost;
  const std::size_t at = svg.find(kHeight);
  if (at != svg.npos) std::from_chars(svg.data() + at + kHeight.size(), svg.data() + svg.size(), height);
  return std::min(height + kMargins, kMost);
}

// Paths that one of them alone has, and the picture of all.
std::string paths_of(const Comparison& both) {
  const FoldedPaths::Folded &a = both.a.paths, &b = both.b.paths;
  if (a.weights.empty() && b.weights.empty()) return "";
  if (!a.weights.empty() && !b.weights.empty() && a.counts != b.counts)
    return fmt::format("<h2>Calls</h2><p>A has paths of calls in {}, B in {}: they cannot be compared.</p>\n",
                       as_xml(a.counts), as_xml(b.counts));
  const std::string& counts = b.weights.empty() ? a.counts : b.counts;
  CountsOfBoth one_sided;
  for (const auto& [path, weights] : in_both(a.weights, b.weights))
    if (weights.first == 0 || weights.second == 0) one_sided.emplace(path, weights);
  std::string out = fmt::format("<h2>Calls, in {}</h2>\n", as_xml(counts));
  if (!one_sided.empty())
    out += "<p>Paths that one side alone has:</p>\n" + counts_table("path", one_sided, kMostPaths, {0, 0});
  out +=
      "<p>Boxes are as wide as in B; red ones have become a larger part of all, blue ones a smaller. A click "
      "zooms.</p>\n";
  const std::string svg = flame_graph_svg(CallTree::of(b.weights, counts, &a.weights));
  out += fmt::format(
      "<iframe title=\"flame graph\" sandbox=\"allow-scripts allow-modals\" style=\"height:{}px\" "
      "srcdoc=\"{}\"></iframe>\n",
      height_of(svg), as_frame(svg));
  return out;
}

}  // namespace

std::string comparison_html(const Comparison& both, const ComparedRecording& a, const ComparedRecording& b) {
  std::string out = kPageHead;
  out += "<h1><span class=\"a\">A</span> and <span class=\"b\">B</span> compared</h1>\n" + recordings_table(both, a, b);
  if (const std::string compared = compared_text(both); !compared.empty())
    out += fmt::format("<p>Compared are {}.</p>\n", as_xml(compared));
  out += "<h2>Events</h2>\n" + counts_table("event", in_both(both.a.events, both.b.events), ~std::size_t{0},
                                            {both.a.seconds, both.b.seconds});
  out += "<h2>Threads, by name</h2>\n" +
         counts_table("name", in_both(both.a.tasks, both.b.tasks), kMostNames, {both.a.seconds, both.b.seconds});
  for (std::size_t i = 0; i < both.a.histograms.size(); ++i) {
    out += fmt::format("<h2>{}</h2>\n", as_xml(both.head_of(i)));
    out += percentiles_table(both.a.histograms[i], both.b.histograms[i]);
    out += distribution(both.a.histograms[i], both.b.histograms[i]);
  }
  return out + paths_of(both) + "</body></html>\n";
}

}  // namespace kevt::record
