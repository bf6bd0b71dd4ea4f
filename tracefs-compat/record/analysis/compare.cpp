// Each recording is read once; what is kept of it are counts and histograms, whatever its length.
#include "tracefs-compat/record/analysis/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tracefs-compat/record/analysis/columns.h"
#include "tracefs-compat/record/analysis/histogram.h"
#include "tracefs-compat/record/formats/json_object.h"
#include "tracefs-compat/record/record_filter.h"

namespace kevt::record {
namespace {

constexpr std::size_t kMaxOpenCalls = 4096, kMaxOpenThreads = 1 << 16, kMaxOpenOfAll = 1 << 20, kMostTasks = 10'000;
constexpr const char* kOthers = "(others)";

// Both included.
struct TimeRange {
  std::uint64_t from_ns = 0, to_ns = ~std::uint64_t{0};
};

class Summing {
 public:
  explicit Summing(const CompareRequest& request) : request_(request), open_(request.latencies.size()) {
    made_.histograms.resize(request.values.size() + request.latencies.size());
  }

  RecordingSummary run(QueriedReader& reader, const TimeRange& range) {
    FoldedPaths paths(reader.metadata());
    TypedRecord record;
    std::uint64_t first = 0, last = 0, count = 0;
    while (reader.next(record)) {
      if (record.time_ns < range.from_ns || record.time_ns > range.to_ns) continue;
      if (count++ == 0) first = record.time_ns;
      last = std::max(last, record.time_ns);
      ++made_.events[record.event->system + ":" + record.event->name];
      if (request_.wants_paths) {
        paths.add(record);
        add_task(record);
      }
      for (std::size_t i = 0; i < request_.values.size(); ++i)
        if (const auto value = number_or_text(request_.values[i], record); value && value->is_integer())
          made_.histograms[i].add(value->number);
      for (std::size_t i = 0; i < request_.latencies.size(); ++i) add_latency(i, record);
    }
    made_.from_ns = reader.from_ns();
    made_.to_ns = reader.to_ns();
    const bool is_part = made_.from_ns || made_.to_ns;
    made_.seconds = static_cast<double>(is_part ? reader.length_ns() : last - first) / 1e9;
    if (request_.wants_paths) made_.paths = paths.folded();
    return std::move(made_);
  }

 private:
  void add_task(const TypedRecord& record) {
    const auto known = made_.tasks.find(std::string(record.comm));
    if (known != made_.tasks.end())
      ++known->second;
    else
      ++made_.tasks[made_.tasks.size() < kMostTasks ? std::string(record.comm) : kOthers];
  }

  void add_latency(std::size_t index, const TypedRecord& record) {
    const LatencyRequest& wanted = request_.latencies[index];
    auto thread = open_[index].find(record.thread());
    if (thread != open_[index].end() && !thread->second.empty() && is_named(*record.event, wanted.end)) {
      auto& stack = thread->second;
      made_.histograms[request_.values.size() + index].add(record.time_ns - std::min(record.time_ns, stack.back()));
      stack.pop_back();
      --open_of_all_;
    }
    if (!is_named(*record.event, wanted.start) || open_of_all_ >= kMaxOpenOfAll) return;
    if (thread == open_[index].end()) {
      if (open_[index].size() >= kMaxOpenThreads) return;
      thread = open_[index].try_emplace(record.thread()).first;
    }
    if (thread->second.size() >= kMaxOpenCalls) return;
    thread->second.push_back(record.time_ns);
    ++open_of_all_;
  }

  const CompareRequest& request_;
  std::vector<std::unordered_map<std::uint64_t, std::vector<std::uint64_t>>> open_;
  std::size_t open_of_all_ = 0;
  RecordingSummary made_;
};

std::string seconds_text(std::uint64_t ns) {
  return fmt::format("{}.{:06}", ns / 1'000'000'000, ns / 1000 % 1'000'000);
}

std::string part_text(const char* name, const RecordingSummary& of) {
  std::string out = name;
  if (of.from_ns) out += " from " + seconds_text(*of.from_ns);
  if (of.to_ns) out += " to " + seconds_text(*of.to_ns);
  return of.from_ns || of.to_ns ? out : "all of " + out;
}

void append_histograms(const std::string& head, const Histogram& a, const Histogram& b, std::string& out) {
  const auto at = std::back_inserter(out);
  fmt::format_to(at, "\n{:<36} {:>14} {:>14} {:>10}\n", head, "A", "B", "CHANGE");
  const auto row = [&](std::string_view name, std::uint64_t x, std::uint64_t y) {
    fmt::format_to(at, "{:<36} {:>14} {:>14} {:>10}\n", name, x, y,
                   change_text(static_cast<double>(x), static_cast<double>(y)));
  };
  row("count", a.count(), b.count());
  row("p50", a.percentile(50), b.percentile(50));
  row("p90", a.percentile(90), b.percentile(90));
  row("p99", a.percentile(99), b.percentile(99));
  row("max", a.max(), b.max());
}

}  // namespace

std::string change_text(double a, double b) {
  if (a == 0) return b == 0 ? "=" : "new";
  return b == a ? "=" : fmt::format("{:+.1f}%", (b - a) / a * 100);
}

double rate_of(std::uint64_t records, double seconds) {
  return seconds > 0 ? static_cast<double>(records) / seconds : 0.0;
}

CountsOfBoth in_both(const std::map<std::string, std::uint64_t>& a, const std::map<std::string, std::uint64_t>& b) {
  CountsOfBoth both;
  for (const auto& [name, count] : a) both[name].first = count;
  for (const auto& [name, count] : b) both[name].second = count;
  return both;
}

std::string Comparison::head_of(std::size_t histogram) const {
  if (histogram >= request.values.size()) {
    const LatencyRequest& one = request.latencies[histogram - request.values.size()];
    return one.start + " -> " + one.end + " (ns)";
  }
  const ValueName& name = request.values[histogram];
  return name.event.empty() ? name.field : name.event + "." + name.field;
}

std::string compared_text(const Comparison& both) {
  std::string out;
  const auto is_part = [](const RecordingSummary& of) { return of.from_ns || of.to_ns; };
  if (is_part(both.a) || is_part(both.b)) out = part_text("A", both.a) + "; " + part_text("B", both.b);
  if (both.request.align_on.empty()) return out;
  if (!out.empty()) out += "; ";
  return out + fmt::format("{:.6f} s of each, from the first {} on", both.aligned_seconds, both.request.align_on);
}

std::string comparison_json(const Comparison& both) {
  std::string out;
  const RecordingSummary &first = both.a, &second = both.b;
  {
    JsonObject json(out);
    json.member("v", 1);
    json.member("type", "diff");
    if (!both.request.align_on.empty()) {
      json.member("aligned_on", both.request.align_on);
      json.member("aligned_seconds", both.aligned_seconds);
    }
    for (const auto& [name, ns] : {std::pair("a_from_ns", first.from_ns), std::pair("a_to_ns", first.to_ns),
                                   std::pair("b_from_ns", second.from_ns), std::pair("b_to_ns", second.to_ns)})
      if (ns) json.member(name, *ns);
    json.begin("events", '[');
    for (const auto& [name, n] : in_both(first.events, second.events)) {
      json.begin('{');
      json.member("event", name);
      json.member("a", n.first);
      json.member("b", n.second);
      json.member("a_rate", rate_of(n.first, first.seconds));
      json.member("b_rate", rate_of(n.second, second.seconds));
      json.end();
    }
    json.end();
    json.begin("percentiles", '[');
    for (std::size_t i = 0; i < first.histograms.size(); ++i) {
      json.begin('{');
      json.member("of", both.head_of(i));
      for (const auto& [side, h] : {std::pair("a", &first.histograms[i]), std::pair("b", &second.histograms[i])}) {
        json.begin(side, '{');
        json.member("count", h->count());
        for (const auto& [name, percent] : {std::pair("p50", 50), std::pair("p90", 90), std::pair("p99", 99)})
          json.member(name, h->percentile(percent));
        json.member("max", h->max());
        json.end();
      }
      json.end();
    }
  }

  return out;
}

namespace {

// From the first record of the event to the recording's last one. The reader is at its begin again.
Result<TimeRange> range_from(RecordReader& reader, const std::string& event, const char* name) {
  std::optional<TimeRange> range;
  TypedRecord record;
  while (reader.next(record)) {
    if (!range && is_named(*record.event, event)) range = {record.time_ns, record.time_ns};
    if (range) range->to_ns = std::max(range->to_ns, record.time_ns);
  }
  reader.rewind();
  if (range) return *range;
  return std::unexpected(Error(fmt::format("{} has no record of `{}` to align on", name, event)));
}

}  // namespace

Result<Comparison> compare_recordings(QueriedReader& a, QueriedReader& b, const CompareRequest& request) {
  for (const ValueName& name : request.values)
    if (!is_known(name, a.metadata()) && !is_known(name, b.metadata()))
      return std::unexpected(Error("no event of either recording has a field `" + name.field + "`"));
  TimeRange of_a, of_b;
  double seconds = 0;
  if (!request.align_on.empty()) {
    of_a = KEVT_TRY(range_from(a, request.align_on, "A"));
    of_b = KEVT_TRY(range_from(b, request.align_on, "B"));
    const std::uint64_t both_go_on = std::min(of_a.to_ns - of_a.from_ns, of_b.to_ns - of_b.from_ns);
    of_a.to_ns = of_a.from_ns + both_go_on;
    of_b.to_ns = of_b.from_ns + both_go_on;
    seconds = static_cast<double>(both_go_on) / 1e9;
  }
  Comparison both{.request = request,
                  .a = Summing(request).run(a, of_a),
                  .b = Summing(request).run(b, of_b),
                  .aligned_seconds = seconds};
  if (!request.align_on.empty()) both.a.seconds = both.b.seconds = seconds;
  return both;
}

std::string comparison_text(const Comparison& both, Controls controls) {
  std::string out = compared_text(both);
  if (!out.empty()) out = table_text(out, controls) + "\n";
  out += fmt::format("{:<36} {:>12} {:>12} {:>10} {:>14} {:>14} {:>10}\n", "EVENT", "A", "B", "CHANGE", "A/s", "B/s",
                     "CHANGE");
  for (const auto& [name, n] : in_both(both.a.events, both.b.events)) {
    const double x = rate_of(n.first, both.a.seconds), y = rate_of(n.second, both.b.seconds);
    fmt::format_to(std::back_inserter(out), "{:<36} {:>12} {:>12} {:>10} {:>14.1f} {:>14.1f} {:>10}\n",
                   table_text(name, controls), n.first, n.second,
                   change_text(static_cast<double>(n.first), static_cast<double>(n.second)), x, y, change_text(x, y));
  }
  for (std::size_t i = 0; i < both.a.histograms.size(); ++i)
    append_histograms(both.head_of(i), both.a.histograms[i], both.b.histograms[i], out);
  return out;
}

}  // namespace kevt::record
