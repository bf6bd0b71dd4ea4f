// Query: the part of a recording that was asked for. QueriedReader reads no more than that.
// A stack is kept with the record that it belongs to.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tracefs-compat/record/record_filter.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

// "5070.441498" as printed, or "+0.5": behind the first record.
struct Moment {
  std::uint64_t ns = 0;
  bool is_relative = false;
  friend bool operator==(const Moment&, const Moment&) = default;
};
std::optional<Moment> parse_moment(std::string_view text);

// "5070.4,5071", "+1,", ",+2": from a moment to one that is not before it; nothing is set where one is left out.
struct MomentRange {
  std::optional<Moment> from, to;
  friend bool operator==(const MomentRange&, const MomentRange&) = default;
};
std::optional<MomentRange> parse_range(std::string_view text);
// How it is written.
inline constexpr std::string_view kRangeHelp =
    "seconds as printed, or +seconds from the beginning; TO not before FROM, either may be left out";

struct Query {
  RecordFilters filters;
  std::optional<Moment> from, to;              // both included
  std::uint64_t limit = ~0ull;                 // records
  std::optional<std::uint32_t> instance = {};  // as TypedRecord::instance
};

class QueriedReader final : public RecordReader {
 public:
  QueriedReader(RecordReader& reader, Query query);
  QueriedReader(const QueriedReader&) = delete;  // the reader knows where the filters are
  const Metadata& metadata() const override { return reader_.metadata(); }
  bool next(TypedRecord& record) override;
  const std::vector<std::string>& problems() const override { return reader_.problems(); }
  void rewind() override;
  Result<bool> give_counts(RecordWriter& to) override;
  bool is_of_one_instance() const { return query_.instance.has_value(); }
  std::uint64_t scanned() const { return scanned_; }
  // The moments that were asked for, in the recording's time. Relative ones are known when a record was read.
  std::optional<std::uint64_t> from_ns() const { return ns_of(query_.from); }
  std::optional<std::uint64_t> to_ns() const { return ns_of(query_.to); }
  // How long that is, as far as records go, also such that a filter leaves out, if the reader gives those (a fleet's
  // does not). After the last next().
  std::uint64_t length_ns() const;

 private:
  bool keeps(const TypedRecord& record);
  std::optional<std::uint64_t> ns_of(const std::optional<Moment>& moment) const;

  RecordReader& reader_;
  Query query_;
  bool needs_first_ = false;  // the first record, from which moments count
  std::optional<std::uint64_t> first_ns_;
  std::uint64_t last_ns_ = 0;
  std::uint64_t given_ = 0, scanned_ = 0;
  std::unordered_set<std::uint64_t> kept_;  // threads whose newest record was kept (TypedRecord::thread())
};

}  // namespace kevt::record
