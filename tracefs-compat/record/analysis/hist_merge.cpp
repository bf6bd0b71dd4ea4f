#include "tracefs-compat/record/analysis/hist_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "tracefs-compat/record/formats/json_object.h"

namespace kevt::record {
namespace {

constexpr std::array kMergedPercentiles = {std::pair("p50", 50), std::pair("p90", 90), std::pair("p99", 99),
                                           std::pair("max", 100)};

// What stands behind "WORD=" in the trigger; empty: nothing does.
std::string_view setting(std::string_view trigger, std::string_view word) {
  const std::string begin = fmt::format(":{}=", word);
  const auto at = trigger.find(begin);
  if (at == trigger.npos) return {};
  const std::string_view rest = trigger.substr(at + begin.size());
  return rest.substr(0, rest.find_first_of(": "));
}

std::size_t top_of(const HistFileTable& table) {
  const std::string_view text = setting(table.trigger, "top");
  std::size_t top = 0;
  std::from_chars(text.data(), text.data() + text.size(), top);
  return top;
}

// What makes keys of two machines one.
std::string merged_key(const HistFileTable& table, const HistFileRow& row) {
  std::string out;
  for (std::size_t i = 0; i < row.keys.size(); ++i) {
    std::string_view text = row.keys[i].text;
    const auto name = table.keys[i].modifier.starts_with("sym") ? text.find("] ") : text.npos;
    if (name != text.npos) text.remove_prefix(name + 2);
    out += fmt::format("{}:{}", text.size(), text);
  }
  return out;
}

void merge_value(const HistFileColumn& column, HistFileRow& to, const HistFileRow& from, std::size_t i) {
  std::optional<double>& value = to.values[i];
  const std::optional<double>& other = from.values[i];
  if (!value || !other) {
    value.reset();
    return;
  }
  if (column.modifier == "avg") {
    const auto hits = static_cast<double>(to.at_least + from.at_least);
    if (hits > 0)
      value = (*value * static_cast<double>(to.at_least) + *other * static_cast<double>(from.at_least)) / hits;
  } else if (column.is_statistic()) {
    const bool is_better = column.modifier == "min" ? *other < *value : *other > *value;
    if (is_better) {
      value = other;
      to.wholes[i] = from.wholes[i];
    }
  } else {
    *value += *other;
    to.wholes[i] += from.wholes[i];
  }
}

// Of one event and trigger.
class Merged {
 public:
  explicit Merged(const HistFileTable& first) : table_(first) {
    table_.rows.clear();
    table_.hits = table_.dropped = 0;
    table_.from_s = table_.to_s = 0;
    table_.others_at_most.reset();
  }

  void add(const HistFileTable& one) {
    table_.hits += one.hits;
    table_.dropped += one.dropped;
    const std::uint64_t unseen = one.others_at_most.value_or(0);
    if (one.others_at_most) table_.others_at_most = table_.others_at_most.value_or(0) + unseen;
    for (const HistFileRow& row : one.rows) {
      const auto [known, is_new] = index_.try_emplace(merged_key(table_, row), table_.rows.size());
      if (is_new) {
        table_.rows.push_back(row);
        seen_.push_back(unseen);
        continue;
      }
      HistFileRow& to = table_.rows[known->second];
      for (std::size_t i = 0; i < std::min(to.values.size(), row.values.size()); ++i)
        merge_value(table_.values[i], to, row, i);
      to.hits += row.hits;
      to.at_least += row.at_least;
      seen_[known->second] += unseen;
    }
  }

  HistFileTable made() {
    for (std::size_t i = 0; i < table_.rows.size(); ++i)
      table_.rows[i].hits += table_.others_at_most.value_or(0) - seen_[i];
    if (const std::size_t top = top_of(table_); top != 0) keep(top);
    sort();
    return std::move(table_);
  }

 private:
  void keep(std::size_t top) {
    std::ranges::stable_sort(table_.rows, std::ranges::greater(), &HistFileRow::hits);
    if (table_.rows.size() <= top) return;
    table_.others_at_most = std::max(table_.others_at_most.value_or(0), table_.rows[top].hits);
    table_.rows.resize(top);
  }

  void sort() {
    const std::string_view wanted = setting(table_.trigger, "sort");
    std::vector<std::string_view> fields;
    for (std::size_t at = 0; at < wanted.size();) {
      const auto end = std::min(wanted.find(',', at), wanted.size());
      fields.push_back(wanted.substr(at, end - at));
      at = end + 1;
    }
    std::ranges::reverse(fields);
    for (std::string_view field : fields) {
      constexpr std::string_view kDescending = ".descending";
      const bool descends = field.ends_with(kDescending);
      if (descends) field.remove_suffix(kDescending.size());
      std::ranges::stable_sort(table_.rows, [&](const HistFileRow& a, const HistFileRow& b) {
        return descends ? is_less(field, b, a) : is_less(field, a, b);
      });
    }
  }

  bool is_less(std::string_view field, const HistFileRow& a, const HistFileRow& b) const {
    if (field == "hitcount") return a.hits < b.hits;
    for (std::size_t i = 0; i < table_.keys.size(); ++i) {
      if (field.substr(0, field.find('.')) != table_.keys[i].name) continue;
      const HistFileCell &x = a.keys[i], &y = b.keys[i];
      return x.range && y.range ? x.range->from < y.range->from : x.text < y.text;
    }
    for (std::size_t i = 0; i < table_.values.size(); ++i)
      if (field.substr(0, field.find('.')) == table_.values[i].name && i < a.values.size() && i < b.values.size())
        return a.values[i] < b.values[i];
    return false;
  }

  HistFileTable table_;
  std::map<std::string, std::size_t> index_;  // of rows, by their keys
  std::vector<std::uint64_t> seen_;           // of others_at_most, what rows have in their own tables
};

// Of the hits whose other keys are the same, in the order of their first rows.
struct PercentilesOfKeys {
  std::string others;  // "{ common_comm: cat  }"; empty: there are no other keys
  std::vector<std::pair<HistFileRange, std::uint64_t>> buckets;
  std::uint64_t value(int percent) const {
    std::uint64_t all = 0, seen = 0;
    for (const auto& [range, hits] : buckets) all += hits;
    const auto wanted = static_cast<std::uint64_t>(std::ceil(static_cast<double>(all) * percent / 100));
    for (const auto& [range, hits] : buckets)
      if ((seen += hits) >= std::max<std::uint64_t>(wanted, 1)) return range.to;
    return buckets.empty() ? 0 : buckets.back().first.to;
  }
};

std::vector<PercentilesOfKeys> percentiles_of(const HistFileTable& table, std::size_t measured) {
  std::vector<PercentilesOfKeys> out;
  std::map<std::string, std::size_t> index;
  for (const HistFileRow& row : table.rows) {
    if (!row.keys[measured].range) continue;
    std::string others;
    for (std::size_t i = 0; i < row.keys.size(); ++i)
      if (i != measured)
        others += fmt::format("{}{}: {}", others.empty() ? "{ " : ", ", table.keys[i].name, row.keys[i].text);
    if (!others.empty()) others += " }";
    const auto [known, is_new] = index.try_emplace(others, out.size());
    if (is_new) out.push_back({.others = others, .buckets = {}});
    out[known->second].buckets.emplace_back(*row.keys[measured].range, row.hits);
  }
  for (PercentilesOfKeys& one : out) std::ranges::sort(one.buckets);
  return out;
}

std::optional<std::size_t> log_linear_key_of(const HistFileTable& table) {
  const auto measured = table.measuring_key();
  return measured && table.keys[*measured].modifier == "loglinear" ? measured : std::nullopt;
}

std::string shown_name(const HistFileColumn& column) {
  return column.modifier.empty() ? column.name : column.name + "." + column.modifier;
}

void append_value_text(const HistFileColumn& column, const HistFileRow& row, std::size_t i, std::string& out) {
  const std::optional<double>& value = row.values[i];
  if (!value) return;
  const auto at = std::back_inserter(out);
  const std::string name = column.is_statistic() ? fmt::format("{} ({})", column.name, column.modifier) : column.name;
  if (column.modifier == "avg")
    fmt::format_to(at, "  {}: {:>10.2f}", name, *value);
  else if (*value < 0)
    fmt::format_to(at, "  {}: {:>10}", name, static_cast<std::int64_t>(row.wholes[i]));
  else if (column.modifier == "hex")
    fmt::format_to(at, "  {}: {:>10x}", name, row.wholes[i]);
  else
    fmt::format_to(at, "  {}: {:>10}", name, row.wholes[i]);
}

void append_key_members(const HistFileTable& table, const HistFileRow& row, JsonObject& json) {
  json.begin("keys", '{');
  for (std::size_t i = 0; i < row.keys.size(); ++i) {
    const HistFileCell& cell = row.keys[i];
    const HistFileColumn& column = table.keys[i];
    if (!cell.range || column.modifier.starts_with("sym") || column.modifier == "execname") {
      json.member(shown_name(column), cell.text);
    } else if (!column.is_measuring()) {
      json.member(shown_name(column), cell.range->from);
    } else {
      json.begin(shown_name(column), '{');
      const bool is_power = column.modifier == "log2";  // over the one number, up to the other
      json.member(is_power ? "above" : "from", cell.range->from - (is_power && cell.range->from != 0 ? 1 : 0));
      json.member("to", cell.range->to);
      json.end();
    }
  }
  json.end();
}

}  // namespace

std::vector<HistFileTable> merge_hist_tables(std::span<const HistFileTable> tables) {
  std::vector<Merged> merged;
  std::map<std::pair<std::string, std::string>, std::size_t> index;
  for (const HistFileTable& one : tables) {
    const auto [known, is_new] = index.try_emplace({one.event, one.trigger}, merged.size());
    if (is_new) merged.emplace_back(one);
    merged[known->second].add(one);
  }
  std::vector<HistFileTable> out;
  for (Merged& one : merged) out.push_back(one.made());
  return out;
}

std::string hist_table_text(const HistFileTable& table) {
  std::string out = fmt::format("# {}\n# event histogram\n#\n# trigger info: {} [{}]\n#\n\n", table.event,
                                table.trigger, table.is_paused ? "paused" : "active");
  const auto at = std::back_inserter(out);
  for (const HistFileRow& row : table.rows) {
    fmt::format_to(at, "{} hitcount: {:>10}", row.head, row.hits);
    if (row.at_least != row.hits) fmt::format_to(at, " (at least {})", row.at_least);
    for (std::size_t i = 0; i < table.values.size() && i < row.values.size(); ++i)
      append_value_text(table.values[i], row, i, out);
    out += '\n';
  }
  fmt::format_to(at, "\nTotals:\n    Hits: {}\n    Entries: {}\n    Dropped: {}\n", table.hits, table.rows.size(),
                 table.dropped);
  if (table.others_at_most)
    fmt::format_to(at, "\nTop {}: hits of any other key: {} or fewer\n", top_of(table), *table.others_at_most);
  if (const auto measured = log_linear_key_of(table)) {
    fmt::format_to(at, "\nPercentiles of {}:\n", table.keys[*measured].name);
    for (const PercentilesOfKeys& one : percentiles_of(table, *measured)) {
      fmt::format_to(at, "   {}{}", one.others.empty() ? "" : " ", one.others);
      for (const auto& [name, percent] : kMergedPercentiles)
        fmt::format_to(at, " {}: {:>10}", name, one.value(percent));
      out += '\n';
    }
  }
  return out;
}

std::string hist_table_object(const HistFileTable& table) {
  std::string out;
  {
    JsonObject json(out);
    json.member("type", "histogram");
    json.member("v", 1u);
    json.member("event", table.event);
    json.member("trigger", fmt::format("{} [{}]", table.trigger, table.is_paused ? "paused" : "active"));
    json.member("hits", table.hits);
    json.member("dropped", table.dropped);
    json.begin("rows", '[');
    for (const HistFileRow& row : table.rows) {
      json.begin('{');
      append_key_members(table, row, json);
      json.member("hitcount", row.hits);
      if (table.others_at_most) json.member("at_least", row.at_least);
      json.begin("values", '{');
      for (std::size_t i = 0; i < table.values.size() && i < row.values.size(); ++i) {
        const HistFileColumn& column = table.values[i];
        if (!row.values[i]) continue;
        if (column.modifier == "avg")
          json.member(shown_name(column), *row.values[i]);
        else if (*row.values[i] < 0)
          json.member(shown_name(column), static_cast<std::int64_t>(row.wholes[i]));
        else
          json.member(shown_name(column), row.wholes[i]);
      }
      json.end();
      json.end();
    }
    json.end();
    if (table.others_at_most) json.member("others_at_most", *table.others_at_most);
  }
  out.pop_back();  // the line end
  return out;
}

}  // namespace kevt::record
