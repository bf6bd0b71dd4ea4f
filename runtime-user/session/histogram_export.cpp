// What a key is in each form:
//
//             JSON                            CSV, OpenMetrics
//   number    3                               3
//   .sym …    {"number":4198400,"name":"f"}   f
//   .log2     {"above":32,"to":64}            64        the bucket's upper end; a histogram's `le`
//   .buckets  {"from":16,"to":31}             16-31
//   .loglinear the same                       31        as of .log2
//   text      "cat"                           cat
//   stack     ["f+0x1/0x10","main+…"]         f+0x1/0x10;main+…
#include "runtime-user/session/histogram_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "compiler/sema/trigger.h"
#include "runtime-user/engine/histograms/hist_percentiles.h"
#include "runtime-user/session/histogram_words.h"
#include "tracefs-compat/record/formats/csv_text.h"
#include "tracefs-compat/record/formats/json_text.h"

namespace kevt::session {

namespace {

using engine::HistCell;
using engine::HistSnapshot;
using model::HistField;
using model::HistModifier;

// Indexes of the values that are shown; one that only feeds a variable is not.
std::vector<std::size_t> shown_values(const model::Histogram& histogram) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < histogram.values.size(); ++i)
    if (histogram.values[i].source != model::HistSource::Expression) shown.push_back(i);
  return shown;
}

// ---- JSON -----------------------------------------------------------------------------------

void append_json_key(const HistField& key, const HistCell& cell, std::string& out) {
  const auto to = std::back_inserter(out);
  if (key.source == model::HistSource::Stacktrace) {
    out += '[';
    for (std::size_t i = 0; i < cell.frames.size(); ++i) {
      if (i != 0) out += ',';
      record::append_json_string(cell.frames[i], out);
    }
    out += ']';
  } else if (key.is_string) {
    record::append_json_string(cell.text, out);
  } else if (has_name(key.modifier)) {
    fmt::format_to(to, "{{\"number\":{},\"name\":", number_text(key, cell.number));
    record::append_json_string(cell.text, out);
    out += '}';
  } else if (key.modifier == HistModifier::Log2) {
    const std::string above = cell.number == 0 ? "null" : power_text(cell.number - 1);
    fmt::format_to(to, "{{\"above\":{},\"to\":{}}}", above, power_text(cell.number));
  } else if (model::is_measuring(key.modifier)) {
    fmt::format_to(to, "{{\"from\":{},\"to\":{}}}", number_text(key, cell.number),
                   number_text(key, bucket_end(key, cell.number)));
  } else {
    out += number_text(key, cell.number);
  }
}

void append_member(std::string_view name, std::string& out) {
  record::append_json_string(name, out);
  out += ':';
}

void append_json_row(const HistSnapshot& snapshot, const HistSnapshot::Row& row, std::string& out) {
  const model::Histogram& histogram = snapshot.trigger.histogram;
  const std::vector<std::string> keys = names_of(histogram.keys), values = names_of(histogram.values);
  out += "{\"keys\":{";
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i != 0) out += ',';
    append_member(keys[i], out);
    append_json_key(histogram.keys[i], row.keys[i], out);
  }
  fmt::format_to(std::back_inserter(out), "}},\"hitcount\":{}", row.hits);
  if (histogram.top != 0) fmt::format_to(std::back_inserter(out), ",\"at_least\":{}", row.own_hits());
  out += ",\"values\":{";
  bool is_first = true;
  for (const std::size_t i : shown_values(histogram)) {
    if (!std::exchange(is_first, false)) out += ',';
    append_member(values[i], out);
    out += value_text(histogram.values[i], row.values[i], row.own_hits());
  }
  out += "}}";
}

void append_json_percentiles(const HistSnapshot& snapshot, std::string& out) {
  const std::vector<HistField>& keys = snapshot.trigger.histogram.keys;
  const std::vector<std::string> names = names_of(keys);
  const auto measured = engine::log_linear_key(snapshot.trigger.histogram);
  if (!measured) return;
  out += ",\"percentiles\":[";
  bool is_first = true;
  for (const engine::HistPercentiles& one : engine::hist_percentiles(snapshot)) {
    out += std::exchange(is_first, false) ? "{\"keys\":{" : ",{\"keys\":{";
    for (std::size_t key = 0, other = 0; key < keys.size(); ++key) {
      if (key == *measured) continue;
      if (other != 0) out += ',';
      append_member(names[key], out);
      append_json_key(keys[key], one.others[other++], out);
    }
    out += '}';
    for (std::size_t i = 0; i < engine::kPercentiles.size(); ++i)
      fmt::format_to(std::back_inserter(out), ",\"{}\":{}", engine::kPercentiles[i].name, one.values[i]);
    out += '}';
  }
  out += ']';
}

std::string json_line(const HistSnapshot& snapshot, HistogramSpan span) {
  std::string out = "{\"type\":\"histogram\",\"v\":1,\"event\":";
  record::append_json_string(snapshot.event, out);
  out += ",\"trigger\":";
  record::append_json_string(sema::print_trigger(snapshot.trigger), out);
  fmt::format_to(std::back_inserter(out), ",\"from_s\":{:.6f},\"to_s\":{:.6f},\"hits\":{},\"dropped\":{},\"rows\":[",
                 span.from, span.to, snapshot.hits, snapshot.dropped);
  for (std::size_t i = 0; i < snapshot.rows.size(); ++i) {
    if (i != 0) out += ',';
    append_json_row(snapshot, snapshot.rows[i], out);
  }
  out += ']';
  if (snapshot.others_at_most)
    fmt::format_to(std::back_inserter(out), ",\"others_at_most\":{}", *snapshot.others_at_most);
  append_json_percentiles(snapshot, out);
  return out + "}\n";
}

// ---- CSV and OpenMetrics --------------------------------------------------------------------

bool is_number(const HistField& key) {
  return key.source != model::HistSource::Stacktrace && !key.is_string && !has_name(key.modifier) &&
         key.modifier != HistModifier::Buckets;
}

std::string csv_cell(std::string_view text, record::CellKind kind = record::CellKind::Text) {
  std::string cell;
  record::append_csv_cell(text, kind, Controls::Raw, cell);
  return cell;
}

// ---- OpenMetrics ----------------------------------------------------------------------------

std::string label_name(std::string_view text) {
  static constexpr std::string_view kOwn[] = {"event", "histogram", "le", "of"};
  std::string name;
  for (const char c : text) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    name += fits ? c : '_';
  }
  const bool is_own = std::ranges::find(kOwn, name) != std::end(kOwn);
  return is_own || name.empty() || (name[0] >= '0' && name[0] <= '9') || name.starts_with("__") ? "key_" + name : name;
}

// UTF-8, as JSON has it. Of its escapes OpenMetrics has `\"`, `\\` and `\n`; other control characters become `?`.
std::string label_value(std::string_view text) {
  constexpr std::string_view kLineFeed = "u000a";
  std::string json, value;
  record::append_json_string(text, json);
  for (std::size_t i = 0; i < json.size(); ++i) {
    value += json[i];
    if (json[i] != '\\') continue;
    const std::string_view escape = std::string_view(json).substr(i + 1, kLineFeed.size());
    if (escape[0] == '"' || escape[0] == '\\') {
      value += json[++i];
      continue;
    }
    if (escape == kLineFeed)
      value += 'n';
    else
      value.back() = '?';
    i += escape[0] == 'u' ? kLineFeed.size() : 1;
  }
  return value;
}

// Different keys may have the same name; their samples become one.
class Exposition {
 public:
  explicit Exposition(std::span<const HistSnapshot> snapshots) {
    std::map<std::string, unsigned> numbers;
    for (const HistSnapshot& snapshot : snapshots) add(snapshot, ++numbers[snapshot.event]);
  }

  std::string text() const {
    std::string out;
    append_family("kevtrace_hits", "counter", "Hits of an event by the keys of its histogram", hits_, out);
    append_family("kevtrace_hits_at_least", "gauge",
                  "Of the hits of a histogram's top= those that are surely the key's", sure_hits_, out);
    append_family("kevtrace_values", "gauge",
                  "Values by the keys of their histogram: sums where nothing else is asked for", values_, out);
    append_distributions(out);
    append_family("kevtrace_dropped_hits", "counter", "Hits that a histogram had no room for", dropped_, out);
    return out + "# EOF\n";
  }

 private:
  struct Number {
    std::uint64_t value = 0;
    HistField field = {};    // whose value it is; of a count none
    std::uint64_t hits = 0;  // of the value
  };
  using Samples = std::map<std::string, Number>;           // by labels
  using Buckets = std::map<std::uint64_t, std::uint64_t>;  // hits by the key's number
  struct Distribution {
    HistField key;
    Buckets buckets;
  };

  static void append_head(std::string_view name, std::string_view type, std::string_view help, std::string& out) {
    out += fmt::format("# TYPE {} {}\n# HELP {} {}.\n", name, type, name, help);
  }
  static void append_family(std::string_view name, std::string_view type, std::string_view help, const Samples& samples,
                            std::string& out) {
    if (samples.empty()) return;
    append_head(name, type, help, out);
    for (const auto& [labels, number] : samples) {
      const std::string text = value_text(number.field, number.value, number.hits);
      out += fmt::format("{}{}{{{}}} {}\n", name, type == "counter" ? "_total" : "", labels, text);
    }
  }
  void append_distributions(std::string& out) const {
    if (distributions_.empty()) return;
    append_head("kevtrace_distribution", "histogram", "Hits of an event by buckets of a key", out);
    for (const auto& [labels, distribution] : distributions_) {
      std::uint64_t sum = 0;
      const auto append = [&](std::string_view end) {
        out += fmt::format("kevtrace_distribution_bucket{{{},le=\"{}\"}} {}\n", labels, end, sum);
      };
      std::vector<std::pair<std::uint64_t, std::uint64_t>> ordered(distribution.buckets.begin(),
                                                                   distribution.buckets.end());
      if (distribution.key.is_signed)  // `le` rises: what is below 0 comes first
        std::ranges::stable_partition(ordered, [](const auto& bucket) { return bucket.first >> 63 != 0; });
      for (const auto& [number, hits] : ordered) {
        sum += hits;
        append(plain_text(distribution.key, {.number = number, .text = "", .frames = {}}) + ".0");
      }
      append("+Inf");
    }
  }

  // The key whose bucket is `le`, where there is one such key.
  static std::optional<std::size_t> bucketed(const model::Histogram& histogram) {
    if (histogram.top != 0) return std::nullopt;  // some of the buckets are not there
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < histogram.keys.size(); ++i) {
      const HistModifier modifier = histogram.keys[i].modifier;
      if (modifier != HistModifier::Log2 && modifier != HistModifier::LogLinear) continue;
      if (found) return std::nullopt;
      found = i;
    }
    return found;
  }

  static std::vector<std::string> label_names(const std::vector<HistField>& keys) {
    std::vector<std::string> names = names_of(keys);
    for (std::string& name : names) name = label_name(name);
    return unique_names(names);
  }

  // `number`: of the event's histograms.
  void add(const HistSnapshot& snapshot, unsigned number) {
    const model::Histogram& histogram = snapshot.trigger.histogram;
    const auto measured = bucketed(histogram);
    const std::string own = fmt::format("event={},histogram=\"{}\"", label_value(snapshot.event), number);
    const std::vector<std::string> names = label_names(histogram.keys), values = names_of(histogram.values);
    for (const HistSnapshot::Row& row : snapshot.rows) {
      std::string labels = own, others = own;
      for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string label =
            fmt::format(",{}={}", names[i], label_value(plain_text(histogram.keys[i], row.keys[i])));
        labels += label;
        if (i != measured) others += label;
      }
      if (measured) {
        Distribution& distribution = distributions_[others];
        distribution.key = histogram.keys[*measured];
        distribution.buckets[row.keys[*measured].number] += row.hits;
      } else {
        hits_[labels].value += row.hits;
        if (histogram.top != 0) sure_hits_[labels].value += row.own_hits();
      }
      for (const std::size_t i : shown_values(histogram)) {
        const HistField& field = histogram.values[i];
        Number& kept = values_[fmt::format("{},of={}", labels, label_value(values[i]))];
        kept = {model::fold_value(field, kept.value, row.values[i], kept.hits == 0), field, kept.hits + row.own_hits()};
      }
    }
    dropped_[own].value += snapshot.dropped;
  }

  Samples hits_, sure_hits_, values_, dropped_;
  std::map<std::string, Distribution> distributions_;  // by the labels of other keys
};

}  // namespace

std::optional<HistogramForm> histogram_form(std::string_view name) {
  if (name == "text") return HistogramForm::Text;
  if (name == "json") return HistogramForm::Json;
  if (name == "csv") return HistogramForm::Csv;
  if (name == "openmetrics") return HistogramForm::OpenMetrics;
  if (name == "heat") return HistogramForm::Heat;
  return std::nullopt;
}

HistogramForm histogram_form_of_file(std::string_view file) {
  if (file.ends_with(".json")) return HistogramForm::Json;
  if (file.ends_with(".csv")) return HistogramForm::Csv;
  if (file.ends_with(".prom")) return HistogramForm::OpenMetrics;
  return HistogramForm::Text;
}

std::string HistogramExport::csv(const HistSnapshot& snapshot, unsigned number, HistogramSpan span) {
  const model::Histogram& histogram = snapshot.trigger.histogram;
  const std::vector<std::string> values = names_of(histogram.values);
  std::string columns = "event,histogram,from_s,to_s";
  for (const std::string& name : names_of(histogram.keys)) columns += ',' + csv_cell(name);
  columns += histogram.top == 0 ? ",hitcount" : ",hitcount,at_least";
  for (const std::size_t i : shown_values(histogram)) columns += ',' + csv_cell(values[i]);
  std::string out;
  if (columns != columns_) out = (columns_.empty() ? "" : "\n") + columns + "\n";
  columns_ = columns;
  for (const HistSnapshot::Row& row : snapshot.rows) {
    out += fmt::format("{},{},{:.6f},{:.6f}", csv_cell(snapshot.event), number, span.from, span.to);
    for (std::size_t i = 0; i < histogram.keys.size(); ++i)
      out += ',' + csv_cell(plain_text(histogram.keys[i], row.keys[i]),
                            is_number(histogram.keys[i]) ? record::CellKind::Number : record::CellKind::Text);
    out += fmt::format(",{}", row.hits);
    if (histogram.top != 0) out += fmt::format(",{}", row.own_hits());
    for (const std::size_t i : shown_values(histogram))
      out += ',' + value_text(histogram.values[i], row.values[i], row.own_hits());
    out += "\n";
  }
  return out;
}

std::string HistogramExport::text(std::span<const HistSnapshot> snapshots, HistogramSpan span) {
  if (form_ == HistogramForm::OpenMetrics) return Exposition(snapshots).text();
  std::string out;
  std::map<std::string, unsigned> numbers;
  for (const HistSnapshot& snapshot : snapshots) {
    const unsigned number = ++numbers[snapshot.event];
    if (form_ == HistogramForm::Json)
      out += json_line(snapshot, span);
    else if (form_ == HistogramForm::Csv)
      out += csv(snapshot, number, span);
    else
      out += heat_.text(snapshot, number, span);
  }
  return out;
}

}  // namespace kevt::session
