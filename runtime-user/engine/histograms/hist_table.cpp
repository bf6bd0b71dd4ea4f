// The kernel's table has a fixed number of entries, and drops hits that find no room (kernel/trace/tracing_map.c, 6.1).
// Here `size=` is a hint of the language and nothing more, except for histograms with `drop` and `top=`.
//
// top=N is Space-Saving (A. Metwally, D. Agrawal, A. El Abbadi, "Efficient Computation of Frequent and Top-k Elements
// in Data Streams", ICDT 2005), with weights. A new key takes the entry with the fewest hits and goes on from its
// count:
//
//   a 90, b 7, c 3   ─ d is hit 2 times ─►   a 90, b 7, d 5 (of which 3 may be c's)
//
// So no count is too low, the sum of the counts is that of the hits, and a key with more hits than total / 2^bits is
// there. The fewest hits are found in a heap: counts only grow, so an entry that comes out of the heap with an old
// count goes back with its new one.
#include "runtime-user/engine/histograms/hist_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

#include "common/assert.h"

namespace kevt::engine {

namespace {

using model::Histogram;

std::uint64_t number_in(std::string_view key, std::size_t offset) {
  std::uint64_t value = 0;
  std::memcpy(&value, key.data() + offset, sizeof value);
  return value;
}

std::strong_ordering compare_key(const model::HistField& key, std::size_t offset, std::string_view a,
                                 std::string_view b) {
  if (key.source == model::HistSource::Stacktrace) return std::strong_ordering::equal;
  if (key.is_string) return std::strcmp(a.data() + offset, b.data() + offset) <=> 0;
  const std::uint64_t left = number_in(a, offset), right = number_in(b, offset);
  if (!key.is_signed) return left <=> right;
  return static_cast<std::int64_t>(left) <=> static_cast<std::int64_t>(right);
}

double average_of(const model::HistField& value, std::uint64_t sum, std::uint64_t hits) {
  const double all = value.is_signed ? static_cast<double>(static_cast<std::int64_t>(sum)) : static_cast<double>(sum);
  return all / static_cast<double>(hits);
}

std::strong_ordering compare_values(const model::HistField& value, std::size_t index, const HistEntry& a,
                                    const HistEntry& b) {
  const std::uint64_t left = a.sums[index], right = b.sums[index];
  if (value.modifier == model::HistModifier::Average) {
    const double one = average_of(value, left, a.own_hits()), other = average_of(value, right, b.own_hits());
    return one < other   ? std::strong_ordering::less
           : one > other ? std::strong_ordering::greater
                         : std::strong_ordering::equal;
  }
  if (!value.is_signed || !model::is_statistic(value.modifier)) return left <=> right;  // sums: as kernels do
  return static_cast<std::int64_t>(left) <=> static_cast<std::int64_t>(right);
}

// `column` counts as in HistSortKey.
std::strong_ordering compare_column(const Histogram& histogram, std::span<const std::size_t> offsets,
                                    std::uint32_t column, const HistEntry& a, const HistEntry& b) {
  if (column == 0) return a.hits <=> b.hits;
  const std::size_t values = histogram.values.size();
  if (column <= values) return compare_values(histogram.values[column - 1], column - 1, a, b);
  const std::size_t key = column - 1 - values;
  return compare_key(histogram.keys[key], offsets[key], a.key, b.key);
}

}  // namespace

std::string statistic_text(const model::HistField& value, std::uint64_t kept, std::uint64_t hits) {
  if (value.modifier == model::HistModifier::Average) return fmt::format("{:.2f}", average_of(value, kept, hits));
  return value.is_signed ? fmt::format("{}", static_cast<std::int64_t>(kept)) : fmt::format("{}", kept);
}

std::vector<std::size_t> key_offsets(const Histogram& histogram) {
  std::vector<std::size_t> offsets;
  std::size_t at = 0;
  for (const model::HistField& key : histogram.keys) {
    offsets.push_back(at);
    at += key.bytes;
  }
  return offsets;
}

std::size_t variable_count(const Histogram& histogram) {
  std::uint32_t count = 0;
  const auto take = [&](const std::vector<model::HistVariable>& variables) {
    for (const model::HistVariable& variable : variables) count = std::max(count, variable.index + 1);
  };
  take(histogram.variables);
  take(histogram.field_variables);
  for (const model::HistAction& action : histogram.actions) {
    take(action.saved);
    if (action.handler != model::HistHandler::OnMatch) count = std::max(count, action.tracker + 1);
  }
  return count;
}

HistTable::HistTable(const Histogram& histogram, FullTable full, std::size_t max_bytes)
    : max_bytes_(max_bytes),
      max_entries_(full == FullTable::Drops || histogram.top != 0 ? std::size_t{1} << histogram.bits
                                                                  : std::numeric_limits<std::size_t>::max()),
      values_(histogram.values.size()),
      variables_(variable_count(histogram)),
      top_(histogram.top) {
  for (const model::HistField& key : histogram.keys) {
    KEVT_ASSERT(key.bytes >= sizeof(std::uint64_t));
    key_bytes_ += key.bytes;
  }
}

HistEntry* HistTable::find(std::string_view key) {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second.get();
}

HistEntry* HistTable::make_entry(std::string_view key) {
  const std::size_t size = sizeof(HistEntry) + 2 * key.size() + values_ * sizeof(std::uint64_t) +
                           variables_ * (sizeof(HistEntry::Variable) + kHistTextBytes);
  if (bytes_ + size > max_bytes_ || entries_.size() >= max_entries_) return nullptr;
  bytes_ += size;
  auto made = std::make_unique<HistEntry>();
  made->key = key;
  made->sums.resize(values_);
  made->variables.resize(variables_);
  HistEntry* const entry = entries_.emplace(made->key, std::move(made)).first->second.get();
  if (has_replaced_) {
    by_hits_.emplace_back(0, entry);
    std::ranges::push_heap(by_hits_, std::greater());
  }
  return entry;
}

HistEntry* HistTable::replace_least(std::string_view key) {
  if (entries_.empty()) return nullptr;
  if (!std::exchange(has_replaced_, true)) {
    for (const auto& [known, entry] : entries_) by_hits_.emplace_back(entry->hits, entry.get());
    std::ranges::make_heap(by_hits_, std::greater());
  }
  for (;;) {
    std::ranges::pop_heap(by_hits_, std::greater());
    auto& [hits, entry] = by_hits_.back();
    const bool is_least = hits == entry->hits;
    hits = entry->hits;
    HistEntry* const least = entry;
    std::ranges::push_heap(by_hits_, std::greater());
    if (!is_least) continue;
    auto node = entries_.extract(least->key);
    node.key() = key;
    entries_.insert(std::move(node));
    least->key = key;
    least->error = least->hits;
    std::ranges::fill(least->sums, 0);
    return least;
  }
}

HistEntry* HistTable::count(std::string_view key, std::string_view comm, std::uint64_t hits) {
  HistEntry* entry = find(key);
  if (!entry) {
    entry = make_entry(key);
    if (!entry && top_ != 0) entry = replace_least(key);
    if (!entry) {
      dropped_ += hits;
      return nullptr;
    }
    entry->comm = comm;
  }
  hits_ += hits;
  entry->hits += hits;
  return entry;
}

void HistTable::clear() {
  entries_.clear();
  by_hits_.clear();
  has_replaced_ = false;
  bytes_ = 0;
  hits_ = 0;
  dropped_ = 0;
}

void HistTable::start_over() {
  if (variables_ == 0) return clear();
  for (auto& [key, entry] : entries_) {
    entry->hits = 0;
    std::ranges::fill(entry->sums, 0);
  }
  hits_ = 0;
  dropped_ = 0;
}

std::vector<const HistEntry*> HistTable::sorted(const Histogram& histogram) const {
  const std::vector<std::size_t> offsets = key_offsets(histogram);
  std::vector<const HistEntry*> entries;
  for (const auto& [key, entry] : entries_)
    if (entry->hits) entries.push_back(entry.get());
  if (top_ != 0 && entries.size() > top_) {
    std::ranges::nth_element(entries, entries.begin() + top_, [](const HistEntry* a, const HistEntry* b) {
      return a->hits != b->hits ? a->hits > b->hits : a->key < b->key;
    });
    entries.resize(top_);
  }
  std::ranges::sort(entries, [&](const HistEntry* a, const HistEntry* b) {
    for (const model::HistSortKey& by : histogram.sort) {
      const auto order = compare_column(histogram, offsets, by.column, *a, *b);
      if (order != 0) return by.order == model::SortOrder::Ascending ? order < 0 : order > 0;
    }
    for (std::size_t i = 0; i < offsets.size(); ++i)
      if (const auto order = compare_key(histogram.keys[i], offsets[i], a->key, b->key); order != 0) return order < 0;
    return a->key < b->key;
  });
  return entries;
}

std::optional<std::uint64_t> HistTable::others_at_most() const {
  if (top_ == 0 || (entries_.size() <= top_ && !has_replaced_)) return std::nullopt;
  std::vector<std::uint64_t> hits;
  for (const auto& [key, entry] : entries_) hits.push_back(entry->hits);
  std::ranges::sort(hits, std::greater());
  return hits[std::min<std::size_t>(top_, hits.size() - 1)];
}

}  // namespace kevt::engine
