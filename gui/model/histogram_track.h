// HistogramTrack: what one histogram has counted: its entries, and how many hits each had in each slice of time.
#pragma once

#include <QString>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracefs-compat/record/analysis/hist_file.h"
#include "tracefs-compat/record/event_format.h"

namespace kevt::gui {

class HistogramTrack {
 public:
  // `table`: what was counted up to the time `at_s`. The first one counts from then on; each later one makes a slice of
  // what came since the last.
  void takeTotals(double at_s, record::HistFileTable table);
  // `table`: what was counted in its own span, which is a slice.
  void takeSpan(record::HistFileTable table);
  // Whether `table` is a later reading of this histogram.
  bool goesOn(const record::HistFileTable& table) const;

  // Columns, trigger and state as of the last reading; without rows.
  const record::HistFileTable& head() const { return head_; }
  std::uint64_t hits() const { return hits_; }
  std::uint64_t dropped() const { return dropped_; }
  // An entry keeps its index as long as the track lives; entries that were cleared have no hits.
  const std::vector<record::HistFileRow>& entries() const { return entries_; }
  // Entries with hits, in the order of the last reading.
  const std::vector<std::uint32_t>& order() const { return order_; }

  struct Slice {
    double from_s = 0, to_s = 0;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> hits;  // entry, hits; those that had any
  };
  static constexpr std::size_t kMostSlices = 600;
  static constexpr std::size_t kMostCells = 2'000'000;  // entries of all slices; the oldest slices go
  const std::deque<Slice>& slices() const { return slices_; }

 private:
  std::uint32_t entryOf(const record::HistFileRow& row);
  void addSlice(Slice slice);

  record::HistFileTable head_;
  std::vector<record::HistFileRow> entries_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint64_t> seen_;  // by entry: its hits when it was last shown; of `top=N` it may be left out between
  std::unordered_map<std::string, std::uint32_t> by_keys_;
  std::deque<Slice> slices_;
  std::size_t cells_ = 0;
  std::uint64_t hits_ = 0, dropped_ = 0;
  double last_s_ = 0;
  bool has_totals_ = false;
};

// A line of the picture: a range of numbers, or an entry.
struct HistogramLine {
  QString label;
  std::optional<record::HistFileRange> range;  // of the measuring key
  std::uint32_t entry = 0;                     // where there is no measuring key
  std::uint64_t hits = 0;
  std::vector<std::uint64_t> over_time;  // by HistogramPicture::slices
};

// What is painted: lines with bars, and a heat map of lines by slices of time.
struct HistogramPicture {
  std::vector<HistogramLine> lines;
  std::vector<std::pair<double, double>> slices;  // seconds
  std::uint64_t most_in_line = 0, most_in_cell = 0;
  std::size_t left_out = 0;  // entries without a line
  bool is_scale = false;     // lines are ranges of numbers, one behind the other
};

// "len.log2"
QString titleOf(const record::HistFileColumn& column);
// "fd, len.log2", where it sums up values "fd, len.log2; sums of len".
QString titleOf(const record::HistFileTable& table);
// The other keys of a histogram by ranges, as one text: what its entries are grouped by.
QString groupOf(const HistogramTrack& track, std::uint32_t entry);
// `group`: entries of this group alone; nullopt: all together. `most`: lines.
HistogramPicture pictureOf(const HistogramTrack& track, const std::optional<QString>& group, std::size_t most);

// p50, p90, p99 and the maximum of the measuring key; each is the greatest number of its bucket. nullopt: no such key,
// or no hits.
std::optional<std::array<std::uint64_t, 4>> percentilesOf(const HistogramTrack& track,
                                                          const std::optional<QString>& group);

// A filter that keeps the records of a line, as "fd == 3 && len >= 17 && len <= 32"; empty: none can be written.
// `format`: of the event, for signs; may be nullptr.
QString filterOf(const HistogramTrack& track, const HistogramLine& line, const record::EventFormat* format);

}  // namespace kevt::gui
