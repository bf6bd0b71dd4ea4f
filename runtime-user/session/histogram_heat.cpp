// Lines only grow downwards, so that the map can be followed in a terminal and kept in a file. The axis grows when a
// bucket comes that it has no cell for; then its heading is written again.
#include "runtime-user/session/histogram_heat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "common/controls.h"
#include "runtime-user/session/histogram_words.h"

namespace kevt::session {

namespace {

using engine::HistCell;
using engine::HistSnapshot;
using model::HistModifier;
using record::BucketHits;
using record::HistFileRange;

constexpr std::string_view kCells = "a cell is · some, ░ 1 %, ▒ 5 %, ▓ 10 %, █ 25 % of the line's hits";
constexpr std::size_t kMostLabel = 40;    // columns
constexpr std::size_t kMostGroups = 20;   // lines of one reading
constexpr std::size_t kMostEntries = 6;   // of a line without buckets
constexpr std::size_t kTimeColumns = 27;  // "     0.000 s      1.000 s  "

std::string_view shade(std::uint64_t hits, std::uint64_t all) {
  if (hits == 0) return " ";
  const double part = static_cast<double>(hits) / static_cast<double>(all);
  if (part >= 0.25) return "█";
  if (part >= 0.10) return "▓";
  if (part >= 0.05) return "▒";
  return part >= 0.01 ? "░" : "·";
}

// At most five characters: 999, 1.0k, 33k, 1.0M.
std::string compact(std::uint64_t number) {
  if (number < 1000) return fmt::format("{}", number);
  auto value = static_cast<double>(number);
  std::size_t unit = 0;
  for (; value >= 999.5 && unit < 6; ++unit) value /= 1000;
  return fmt::format("{:.{}f}{}", value, value < 9.95 ? 1 : 0, "kMGTPE"[unit - 1]);
}

HistFileRange range_of(const model::HistField& key, std::uint64_t number) {
  if (key.modifier != HistModifier::Log2) return {number, bucket_end(key, number)};
  if (number == 0) return {0, 1};
  const std::uint64_t from = (std::uint64_t{1} << (number - 1)) + 1;
  return {from, number >= 64 ? ~std::uint64_t{0} : std::uint64_t{1} << number};
}

std::string_view kind_of(const model::HistField& key) {
  if (key.modifier == HistModifier::Log2) return "log2";
  return key.modifier == HistModifier::LogLinear ? "loglinear" : "buckets";
}

// The only key that is a bucket.
std::optional<std::size_t> measuring_key(const model::Histogram& histogram) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < histogram.keys.size(); ++i) {
    if (!model::is_measuring(histogram.keys[i].modifier)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

// "fd=3 comm=cat", without the key `without`; in one line.
std::string label_of(const model::Histogram& histogram, const std::vector<HistCell>& keys,
                     std::optional<std::size_t> without) {
  const std::vector<std::string> names = names_of(histogram.keys);
  std::string label;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i == without) continue;
    if (!label.empty()) label += ' ';
    label += names[i] + '=' + escaped(plain_text(histogram.keys[i], keys[i]));
  }
  return label;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// The beginning of a text that is too long for its column.
std::string cut(const std::string& text) {
  if (columns_of(text) <= kMostLabel) return text;
  std::size_t at = 0;
  for (std::size_t columns = 0; columns + 1 < kMostLabel; ++columns) {
    char32_t code = 0;
    at += std::max<std::size_t>(decode_utf8(std::string_view(text).substr(at), code), 1);
  }
  return text.substr(0, at) + "…";
}

std::string padded(std::string text, std::size_t columns) {
  const std::size_t have = columns_of(text);
  if (have < columns) text.append(columns - have, ' ');
  return text;
}

std::string time_text(HistogramSpan span) { return fmt::format("{:>10.3f} s {:>10.3f} s  ", span.from, span.to); }

// Where cells begin; of `.log2`, where they end: at a power of two. As far as there is room.
std::string axis_text(const model::HistField& key, const std::vector<HistFileRange>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (text.size() > i) continue;
    text.resize(i, ' ');
    const std::string label = compact(key.modifier == HistModifier::Log2 ? lines[i].to : lines[i].from) + ' ';
    if (i + label.size() <= lines.size() + 1) text += label;
  }
  text.resize(lines.size(), ' ');
  return text;
}

}  // namespace

std::string HistogramHeat::entries(const HistSnapshot& snapshot, HistogramSpan span) {
  std::vector<const HistSnapshot::Row*> rows;
  for (const HistSnapshot::Row& row : snapshot.rows) rows.push_back(&row);
  std::ranges::stable_sort(rows, std::greater<>(), [](const HistSnapshot::Row* row) { return row->hits; });
  std::string out = fmt::format("{}{:>12}", time_text(span), snapshot.hits);
  for (std::size_t i = 0; i < std::min(rows.size(), kMostEntries); ++i)
    out += fmt::format("{}{} {}", i == 0 ? "  " : " | ",
                       cut(label_of(snapshot.trigger.histogram, rows[i]->keys, std::nullopt)), rows[i]->hits);
  if (rows.size() > kMostEntries) out += fmt::format(" | {} more", rows.size() - kMostEntries);
  return out + '\n';
}

std::string HistogramHeat::measured(const HistSnapshot& snapshot, std::size_t key, const std::string& name,
                                    HistogramSpan span) {
  const model::Histogram& histogram = snapshot.trigger.histogram;
  struct Group {
    BucketHits buckets;
    std::uint64_t hits = 0;
  };
  std::map<std::string, Group> groups;
  Axis& axis = axes_[name];
  const std::size_t known = axis.seen.size();
  for (const HistSnapshot::Row& row : snapshot.rows) {
    const HistFileRange range = range_of(histogram.keys[key], row.keys[key].number);
    Group& group = groups[label_of(histogram, row.keys, key)];
    group.buckets[range] += row.hits;
    group.hits += row.hits;
    if (!record::line_of(axis.lines, range)) axis.seen.push_back(range);
  }
  std::vector<std::pair<std::string, const Group*>> largest;
  std::size_t label = 0;
  for (const auto& [text, group] : groups) largest.emplace_back(text, &group);
  std::ranges::stable_sort(largest, std::greater<>(), [](const auto& one) { return one.second->hits; });
  const std::size_t left_out = largest.size() - std::min(largest.size(), kMostGroups);
  largest.resize(largest.size() - left_out);
  for (const auto& [text, group] : largest) label = std::max(label, columns_of(cut(text)));
  std::string out;
  const bool has_grown = axis.seen.size() != known || label > axis.label;
  if (axis.seen.size() != known) axis.lines = record::bucket_lines(kind_of(histogram.keys[key]), axis.seen, kMostCells);
  axis.label = std::max(axis.label, label);
  if (has_grown || last_ != name)
    out += fmt::format("{}|{}| {:>12} {:>10} {:>10} {:>10}\n",
                       std::string(kTimeColumns + axis.label + (axis.label ? 1 : 0), ' '),
                       axis_text(histogram.keys[key], axis.lines), "hits", "p50", "p99", "max");
  for (const auto& [text, group] : largest) {
    out += time_text(span);
    if (axis.label) out += padded(cut(text), axis.label) + ' ';
    std::vector<std::uint64_t> cells(axis.lines.size());
    for (const auto& [range, hits] : group->buckets)
      if (const auto cell = record::line_of(axis.lines, range)) cells[*cell] += hits;
    out += '|';
    for (const std::uint64_t hits : cells) out += shade(hits, group->hits);
    out += fmt::format("| {:>12} {:>10} {:>10} {:>10}\n", group->hits, record::bucket_percentile(group->buckets, 50),
                       record::bucket_percentile(group->buckets, 99), record::bucket_percentile(group->buckets, 100));
  }
  if (groups.empty()) out += fmt::format("{}no hits\n", time_text(span));
  if (left_out) out += fmt::format("{}{} more lines with fewer hits\n", time_text(span), left_out);
  return out;
}

std::string HistogramHeat::text(const HistSnapshot& snapshot, unsigned number, HistogramSpan span) {
  const model::Histogram& histogram = snapshot.trigger.histogram;
  const auto key = measuring_key(histogram);
  const std::string name = fmt::format("{} {}", snapshot.event, number);
  std::string out;
  if (last_ != name) {
    out = fmt::format("{}# {}: hits by {}", last_.empty() ? "" : "\n", snapshot.event,
                      fmt::join(names_of(histogram.keys), ", "));
    out += key ? fmt::format("; {}\n", kCells) : "; the most frequent of each time\n";
  }
  out += key ? measured(snapshot, *key, name, span) : entries(snapshot, span);
  last_ = name;
  return out;
}

}  // namespace kevt::session
