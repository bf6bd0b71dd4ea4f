// The kernel's table has a fixed number of entries, and drops hits that find no room (kernel/trace/tracing_map.c, 6.1).
// Here `size=` is a hint of the language and nothing more: entries come as they are needed, up to kMaxBytes.
#include "runtime-user/engine/histograms/hist_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstring>

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
    const double one = average_of(value, left, a.hits), other = average_of(value, right, b.hits);
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

HistTable::HistTable(const Histogram& histogram, std::size_t max_bytes)
    : max_bytes_(max_bytes), values_(histogram.values.size()), variables_(variable_count(histogram)) {
  for (const model::HistField& key : histogram.keys) {
    KEVT_ASSERT(key.bytes >= sizeof(std::uint64_t));
    key_bytes_ += key.bytes;
  }
}

HistEntry* HistTable::find(std::string_view key) {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second.get();
}

HistEntry* HistTable::count(std::string_view key, std::string_view comm, std::uint64_t hits) {
  HistEntry* entry = find(key);
  if (!entry) {
    const std::size_t size = sizeof(HistEntry) + 2 * key.size() + values_ * sizeof(std::uint64_t) +
                             variables_ * (sizeof(HistEntry::Variable) + kHistTextBytes);
    if (bytes_ + size > max_bytes_) {
      dropped_ += hits;
      return nullptr;
    }
    bytes_ += size;
    auto made = std::make_unique<HistEntry>();
    made->key = key;
    made->sums.resize(values_);
    made->variables.resize(variables_);
    made->comm = comm;
    entry = entries_.emplace(made->key, std::move(made)).first->second.get();
  }
  hits_ += hits;
  entry->hits += hits;
  return entry;
}

void HistTable::clear() {
  entries_.clear();
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

}  // namespace kevt::engine
