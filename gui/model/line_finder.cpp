// Searching lines, most of which are never made.
//
// Threads take chunk after chunk; ChunkSearch tells of most records whether their line has the text. What it cannot
// tell (expressions, events that libtraceevent tells, texts that are no ASCII) is left to the calling thread, which
// makes these lines, some hundred thousand a second.
#include "gui/model/line_finder.h"

#include <algorithm>
#include <utility>

#include "gui/model/job.h"

namespace kevt::gui {

LineFinder::LineFinder(std::shared_ptr<const record::Metadata> metadata, const SearchText& text,
                       QRegularExpression pattern)
    : metadata_(std::move(metadata)), lines_(metadata_), minds_case_(text.minds_case), pattern_(std::move(pattern)) {
  const std::string bytes = text.text.toStdString();
  if (!text.is_regex && record::LineSearch::takes(bytes)) text_ = bytes;
}

void LineFinder::setMetadata(std::shared_ptr<const record::Metadata> metadata) {
  lines_.setMetadata(metadata);
  for (const auto& search : searches_) search->set_metadata(*metadata);
  metadata_ = std::move(metadata);
}

void LineFinder::learnEvents(const record::StoreView& view) {
  const auto& events = view.names().events;
  for (std::size_t i = is_ours_.size(); i < events.size(); ++i) is_ours_.push_back(lines_.isByPrintFormat(*events[i]));
}

LineFinder::Found LineFinder::findIn(const record::StoreView& view, const record::StoreChunk& chunk, record::Row from,
                                     const TraceFilter* filter, record::ChunkSearch* search) const {
  const std::uint32_t begin = from - std::min(from, chunk.first_row);
  record::RowBits among;  // empty: all
  if (filter || begin != 0) among = filter ? filter->rows(view, chunk, nullptr) : record::all_rows(chunk.rows());
  for (std::uint32_t row = 0; row < begin; ++row) record::clear_bit(among, row);
  Found found{.rows = record::no_rows(chunk.rows()), .unsure = record::no_rows(chunk.rows())};
  if (search) found = search->find(view, chunk, among, is_ours_);
  constexpr auto kAxis = static_cast<std::size_t>(record::Axis::Event);
  for (const record::LaneGroup& lane : chunk.groups[kAxis]) {
    if (search && lane.id < is_ours_.size() && is_ours_[lane.id]) continue;
    for (const std::uint16_t row : chunk.order[kAxis].subspan(lane.begin, lane.end - lane.begin))
      if (among.empty() || record::has_bit(among, row)) record::set_bit(found.unsure, row);
  }
  return found;
}

// Makes the lines that are unsure, and adds those that have the text.
void LineFinder::readUnsure(const record::StoreView& view, const record::StoreChunk& chunk, Found& found,
                            const std::atomic<bool>& cancelled) {
  constexpr std::size_t kAtOnce = 1024;
  std::vector<std::uint32_t> rows;
  record::each_bit(found.unsure, [&](std::uint32_t row) { rows.push_back(row); });
  std::vector<record::TypedRecord> records;
  for (std::size_t first = 0; first < rows.size() && !cancelled; first += kAtOnce) {
    const std::size_t last = std::min(first + kAtOnce, rows.size());
    records.clear();
    for (std::size_t i = first; i < last; ++i) records.push_back(view.typed(chunk.first_row + rows[i]));
    lines_.askAhead(records);
    for (std::size_t i = first; i < last; ++i)
      if (pattern_.match(lines_.line(records[i - first])).hasMatch()) record::set_bit(found.rows, rows[i]);
  }
}

LineFinder::Rows LineFinder::find(const record::StoreView& view, const Part& part, const TraceFilter* filter,
                                  const std::atomic<bool>& cancelled) {
  const auto began = std::chrono::steady_clock::now();
  const std::size_t chunks = part.last - part.first;
  learnEvents(view);
  while (!text_.empty() && searches_.size() < threadsFor(chunks))
    searches_.push_back(std::make_unique<record::ChunkSearch>(*metadata_, text_, minds_case_));
  std::vector<Found> found(chunks);
  std::atomic<std::size_t> next = 0, rows = 0;
  onAllCpus(chunks, [&](std::size_t thread) {
    record::ChunkSearch* const search = text_.empty() ? nullptr : searches_[thread].get();
    while (!cancelled && rows < part.most) {  // asked before a chunk is taken: one that is taken is searched
      const std::size_t at = next++;
      if (at >= chunks) return;
      found[at] = findIn(view, *view.chunks()[part.first + at], part.from, filter, search);
      rows += record::count_bits(found[at].rows);
    }
  });
  Rows all{.rows = {}, .next = part.first};
  const auto goes_on = [&](const Found& chunk) {
    const bool has_lines = record::count_bits(chunk.unsure) != 0;
    return all.next == part.first || !has_lines || std::chrono::steady_clock::now() - began < part.patience;
  };
  for (Found& one : found) {
    if (cancelled || all.rows.size() >= part.most || !goes_on(one)) break;
    const record::StoreChunk& chunk = *view.chunks()[all.next++];
    readUnsure(view, chunk, one, cancelled);
    record::each_bit(one.rows, [&](std::uint32_t row) {
      if (all.rows.size() < part.most) all.rows.push_back(chunk.first_row + row);
    });
  }
  return all;
}

}  // namespace kevt::gui
