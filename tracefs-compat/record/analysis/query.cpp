// Records outside the wanted time are skipped, those behind it end the reading: records come in the order of time.
#include "tracefs-compat/record/analysis/query.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "tracefs-compat/record/print/trace_line.h"

namespace kevt::record {
namespace {

constexpr std::size_t kMostThreads = 1'000'000;

}  // namespace

std::optional<Moment> parse_moment(std::string_view text) {
  Moment made;
  if (text.starts_with('+')) {
    made.is_relative = true;
    text.remove_prefix(1);
  }
  std::uint64_t seconds = 0;
  auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || seconds > 18'000'000'000) return std::nullopt;
  made.ns = seconds * 1'000'000'000;
  text.remove_prefix(static_cast<std::size_t>(at - text.data()));
  if (text.empty()) return made;
  if (text[0] != '.' || text.size() > 10) return std::nullopt;
  std::uint64_t unit = 100'000'000;
  for (char c : text.substr(1)) {
    if (c < '0' || c > '9') return std::nullopt;
    made.ns += static_cast<std::uint64_t>(c - '0') * unit;
    unit /= 10;
  }
  return made;
}

std::optional<MomentRange> parse_range(std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == text.npos) return std::nullopt;
  MomentRange made;
  for (const auto& [word, moment] :
       {std::pair(text.substr(0, comma), &made.from), std::pair(text.substr(comma + 1), &made.to)}) {
    if (word.empty()) continue;
    *moment = parse_moment(word);
    if (!*moment) return std::nullopt;
  }
  const bool are_alike = made.from && made.to && made.from->is_relative == made.to->is_relative;
  if (are_alike && made.to->ns < made.from->ns) return std::nullopt;
  return made;
}

// A moment behind the first record needs the first record, whatever it is of.
QueriedReader::QueriedReader(RecordReader& reader, Query query) : reader_(reader), query_(std::move(query)) {
  const auto ns = [](const std::optional<Moment>& moment) { return moment ? std::optional(moment->ns) : std::nullopt; };
  needs_first_ = (query_.from && query_.from->is_relative) || (query_.to && query_.to->is_relative);
  if (needs_first_) {
    reader_.narrow({});
    return;
  }
  reader_.narrow(
      {.filters = &query_.filters, .instance = query_.instance, .from_ns = ns(query_.from), .to_ns = ns(query_.to)});
}

std::optional<std::uint64_t> QueriedReader::ns_of(const std::optional<Moment>& moment) const {
  if (!moment || (moment->is_relative && !first_ns_)) return std::nullopt;
  std::uint64_t ns = moment->ns;
  if (moment->is_relative && __builtin_add_overflow(ns, *first_ns_, &ns)) return ~std::uint64_t{0};
  return ns;
}

std::uint64_t QueriedReader::length_ns() const {
  if (!first_ns_) return 0;
  const std::uint64_t begin = std::max(from_ns().value_or(0), *first_ns_);
  const std::uint64_t end = std::min(to_ns().value_or(~std::uint64_t{0}), last_ns_);
  return end - std::min(begin, end);
}

bool QueriedReader::next(TypedRecord& record) {
  while (given_ < query_.limit && reader_.next(record)) {
    if (!first_ns_) first_ns_ = record.time_ns;
    last_ns_ = std::max(last_ns_, record.time_ns);
    ++scanned_;
    if (record.time_ns > to_ns().value_or(~std::uint64_t{0})) return false;
    if (record.time_ns < from_ns().value_or(0)) continue;
    if (query_.instance && record.instance != *query_.instance) continue;
    if (!keeps(record)) continue;
    ++given_;
    return true;
  }
  return false;
}

bool QueriedReader::keeps(const TypedRecord& record) {
  if (query_.filters.keeps_all()) return true;
  const bool is_kept = query_.filters.keeps(record);
  if (is_stack(*record.event)) return is_kept || kept_.contains(record.thread());
  if (!is_kept)
    kept_.erase(record.thread());
  else if (kept_.size() < kMostThreads)
    kept_.insert(record.thread());
  return is_kept;
}

// The first records of many are those that are read.
Result<bool> QueriedReader::give_counts(RecordWriter& to) {
  if (needs_first_ || query_.limit != ~0ull) return false;
  return reader_.give_counts(to);
}

void QueriedReader::rewind() {
  kept_.clear();
  reader_.rewind();
  first_ns_.reset();
  last_ns_ = 0;
  given_ = scanned_ = 0;
}

}  // namespace kevt::record
