// ChunkSearch: which records of a chunk have a text in their line, told without making most of the lines (LineSearch).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tracefs-compat/record/print/line_search.h"
#include "tracefs-compat/record/store/row_bits.h"
#include "tracefs-compat/record/store/store.h"

namespace kevt::record {

class ChunkSearch {
 public:
  struct Found {
    RowBits rows;    // those that have it
    RowBits unsure;  // those whose lines must be made
  };
  // A text that LineSearch takes.
  ChunkSearch(const Metadata& metadata, std::string_view text, bool minds_case)
      : lines_(metadata), search_(lines_, text, minds_case) {}
  void set_metadata(const Metadata& metadata) { lines_.set_metadata(metadata); }

  // Of the rows in `among` (empty: of all) those of events for which `is_asked` is true, by the event's index.
  Found find(const StoreView& view, const StoreChunk& chunk, const RowBits& among,
             const std::vector<std::uint8_t>& is_asked);

 private:
  using Answer = LineSearch::Answer;
  struct Group;
  void find_in(Group& group, Found& found);
  void keep(Group& group, const LineSearch::Condition& condition);
  template <class Ask>
  static void keep_by(Group& group, Ask ask);
  void keep_by_task(Group& group, const LineSearch::Condition& condition);
  void keep_by_cpu(Group& group, const LineSearch::Condition& condition);
  void keep_by_flags(Group& group, const LineSearch::Condition& condition);
  bool keep_by_time(Group& group, const LineSearch::Condition& condition);
  void keep_by_place(Group& group, const LineSearch::Condition& condition);
  bool keep_by_number(Group& group, const LineSearch::Condition& condition);
  TypedRecord record(const Group& group, std::uint16_t row) const;

  TraceLines lines_;
  LineSearch search_;
  std::vector<std::uint32_t> begins_;       // of the chunk's records
  std::vector<std::uint16_t> rows_, left_;  // of an event; those for which all conditions so far hold
  RowBits doubts_;                          // of left_: those for which they may hold
  std::map<std::string, std::vector<bool>, std::less<>>
      micros_;  // of digits: the microseconds of a second that have them
};

}  // namespace kevt::record
