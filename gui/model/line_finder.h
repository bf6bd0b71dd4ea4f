// LineFinder: the records whose line has a text or fits an expression, of some chunks of a trace. For workers.
#pragma once

#include <QRegularExpression>
#include <QString>
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "gui/model/row_text.h"
#include "gui/model/trace_filter.h"
#include "tracefs-compat/record/store/chunk_search.h"

namespace kevt::gui {

struct SearchText {
  QString text;
  bool is_regex = false, minds_case = false;
};

class LineFinder {
 public:
  // `pattern` is the text as an expression.
  LineFinder(std::shared_ptr<const record::Metadata> metadata, const SearchText& text, QRegularExpression pattern);
  // Sets newer metadata of the same trace.
  void setMetadata(std::shared_ptr<const record::Metadata> metadata);

  struct Part {
    std::size_t first = 0, last = 0;        // chunks of the view [first, last)
    record::Row from = 0;                   // no row before it
    std::size_t most = 0;                   // rows that are wanted
    std::chrono::milliseconds patience{0};  // after which no more lines are made
  };
  struct Rows {
    std::vector<record::Row> rows;  // ascending; those that the filter, if there is one, keeps
    std::size_t next = 0;           // the chunk to go on with
  };
  // On all CPUs where lines need not be made. At least one chunk is searched, unless it is cancelled.
  Rows find(const record::StoreView& view, const Part& part, const TraceFilter* filter,
            const std::atomic<bool>& cancelled);

 private:
  using Found = record::ChunkSearch::Found;
  void learnEvents(const record::StoreView& view);
  Found findIn(const record::StoreView& view, const record::StoreChunk& chunk, record::Row from,
               const TraceFilter* filter, record::ChunkSearch* search) const;
  void readUnsure(const record::StoreView& view, const record::StoreChunk& chunk, Found& found,
                  const std::atomic<bool>& cancelled);

  std::shared_ptr<const record::Metadata> metadata_;
  RowText lines_;
  std::string text_;  // empty: an expression, or nothing that LineSearch takes
  bool minds_case_;
  QRegularExpression pattern_;
  std::vector<std::unique_ptr<record::ChunkSearch>> searches_;  // of each thread
  std::vector<std::uint8_t> is_ours_;                           // of an event: told by its print fmt
};

}  // namespace kevt::gui
