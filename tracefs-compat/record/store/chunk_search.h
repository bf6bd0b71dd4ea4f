// ChunkSearch: which records of a chunk have a text in their line, told without making most of the lines (LineSearch).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tracefs-compat/record/print/line_search.h"
#include "tracefs-compat/record/store/row_bits.h"
#include "tracefs-compat/record/store/row_blocks.h"
#include "tracefs-compat/record/store/store.h"

namespace kevt::record {

class ChunkSearch {
 public:
  struct Found {
    RowBits rows;    // those that have it
    RowBits unsure;  // those whose lines must be made
  };
  // A text that LineSearch takes.
  ChunkSearch(const Metadata& metadata, std::string_view text, bool minds_case);
  ~ChunkSearch();
  // What became known of the same trace.
  void set_metadata(const Metadata& metadata);

  // Of the rows in `among` (empty: of all) those of events for which `is_asked` is true, by the event's index. Views of
  // one store.
  Found find(const StoreView& view, const StoreChunk& chunk, const RowBits& among,
             const std::vector<std::uint8_t>& is_asked);

 private:
  using Answer = LineSearch::Answer;
  using Place = std::pair<const Symbols*, std::uint64_t>;  // whose the address is
  struct Answers;
  struct Times;
  struct Step;
  struct EventSearch;
  struct Rows;
  struct One;
  struct Block;

  EventSearch& search_of(const EventFormat& event);
  void learn_symbols(const Rows& rows);
  std::optional<Answer> answer_of_all(const Rows& rows, EventSearch& event, Step& step);
  std::optional<Answer> answer_of_chunk(const Rows& rows, EventSearch& event, Step& step);
  std::optional<Answer> answer_of_values(const Rows& rows, EventSearch& event, Step& step);
  std::optional<Answer> answer_of_times(const StoreChunk& chunk, Times& times);
  bool may_have_any(const Rows& rows, EventSearch& event);
  void find_in(const Block& block, EventSearch& event, RowList rows, Found& found);
  void keep(const Block& block, EventSearch& event, Step& step);
  template <class Ask>
  void keep_by(Ask ask);
  void keep_by_time(const RowBits& with_time);
  void keep_by_flags(const Block& block, EventSearch& event, Step& step);
  void keep_by_place(const Block& block, EventSearch& event, Step& step);
  void keep_by_digits(const Block& block, EventSearch& event, Step& step);
  template <class Number>
  void keep_by_number(const Block& block, EventSearch& event, Step& step);
  Answer ask_place(const Rows& rows, EventSearch& event, Step& step, const One& one);
  Answer ask(const Rows& rows, const EventSearch& event, const Step& step, const One& one);
  Answer ask(const Block& block, const EventSearch& event, const Step& step, std::uint16_t row);

  TraceLines lines_;
  LineSearch search_;
  std::map<const EventFormat*, std::unique_ptr<EventSearch>> events_;
  // Of parts that all events have alike: what is asked of the task, the CPU or the flags.
  std::map<std::tuple<LineSearch::PartKind, LineSearch::How, std::string>, std::unique_ptr<Answers>> fronts_;
  std::uint64_t chunks_ = 0;                                          // that were searched
  std::map<std::string, std::unique_ptr<Times>, std::less<>> times_;  // by the digits
  std::vector<const Symbols*> symbols_;                               // of the chunk's tasks
  std::vector<std::uint16_t> owners_;                                 // a task of each of them, in StoreChunk::tasks
  std::vector<std::uint16_t> rows_, room_;  // of a block and an event; and of those that are left
  RowList left_;                            // for which all conditions so far hold
  RowBits doubts_;                          // of left_, by row % kBlockRows: those for which they may hold
};

}  // namespace kevt::record
