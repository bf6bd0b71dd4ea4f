// Searching records, piece by piece: the first hits show at once, and a keystroke stops the previous search. A piece
// begins as one chunk and grows until it takes about a tenth of a second: shorter ones are mostly waiting, for the
// slower of two threads and for the event loop. Lines are made for less, or as long as those of one chunk take. Only
// rows that the table's filter keeps are searched.
#include "gui/model/record_search.h"

#include <algorithm>
#include <chrono>

#include "gui/model/trace_document.h"

namespace kevt::gui {

namespace {
constexpr std::chrono::milliseconds kShortPiece{80}, kLongPiece{200}, kMakingLines{80};
constexpr std::size_t kMostChunks = 256;
}  // namespace

RecordSearch::RecordSearch(TraceDocument& document, EventRows& rows, QObject* parent)
    : QObject(parent), document_(document), rows_(rows), jobs_(this, 1) {
  connect(&document_, &TraceDocument::reset, this, [this] {
    if (busy_) *busy_ = true;
    busy_.reset();
    finder_.reset();
    hits_.clear();
    Q_EMIT hitsChanged();
  });
}

RecordSearch::~RecordSearch() {
  if (busy_) *busy_ = true;
}

bool RecordSearch::start(const SearchText& text, QString& error) {
  if (busy_) *busy_ = true;
  busy_.reset();
  hits_.clear();
  text_ = text;
  finder_.reset();
  QRegularExpression pattern(
      text.is_regex ? text.text : QRegularExpression::escape(text.text),
      text.minds_case ? QRegularExpression::NoPatternOption : QRegularExpression::CaseInsensitiveOption);
  const bool is_right = pattern.isValid();
  if (!is_right) {
    error = pattern.errorString();
    text_.text.clear();
  }
  Q_EMIT hitsChanged();
  if (!is_right || text.text.isEmpty()) return is_right;
  finder_ = std::make_shared<LineFinder>(document_.metadata(), text, std::move(pattern));
  chunks_at_once_ = 1;
  piece(0);
  return true;
}

void RecordSearch::piece(record::Row from) {
  using Clock = std::chrono::steady_clock;
  const record::StoreView view = document_.view();
  if (from >= view.rows()) return;
  const std::size_t first = view.chunk_of(from);
  const std::size_t last = std::min(view.chunks().size(), first + chunks_at_once_);
  const LineFinder::Part part{
      .first = first, .last = last, .from = from, .most = kMostHits - hits_.size(), .patience = kMakingLines};
  struct Result {
    LineFinder::Rows found;
    record::Row to = 0;
    Clock::duration took = {};
  };
  busy_ = jobs_.start(
      [view, metadata = document_.metadata(), finder = finder_, filter = rows_.filter(),
       part](const std::atomic<bool>& cancelled) {
        const Clock::time_point began = Clock::now();
        finder->setMetadata(metadata);
        Result made{.found = finder->find(view, part, filter.get(), cancelled)};
        const auto& chunks = view.chunks();
        made.to = made.found.next == chunks.size() ? view.rows() : chunks[made.found.next]->first_row;
        made.took = Clock::now() - began;
        return made;
      },
      [this](const Result& done) {
        busy_.reset();
        const auto& rows = done.found.rows;
        hits_.insert(hits_.end(), rows.begin(), rows.end());
        if (done.took < kShortPiece) chunks_at_once_ = std::min(2 * chunks_at_once_, kMostChunks);
        if (done.took > kLongPiece) chunks_at_once_ = std::max<std::size_t>(chunks_at_once_ / 2, 1);
        if (done.to < document_.view().rows() && hits_.size() < kMostHits) piece(done.to);
        Q_EMIT hitsChanged();
      });
}

record::Row RecordSearch::next(record::Row from) const {
  if (hits_.empty()) return record::kNoRow;
  const auto behind = std::ranges::upper_bound(hits_, from);
  return from == record::kNoRow || behind == hits_.end() ? hits_.front() : *behind;
}

record::Row RecordSearch::previous(record::Row from) const {
  if (hits_.empty()) return record::kNoRow;
  const auto at = std::ranges::lower_bound(hits_, from);
  return from == record::kNoRow || at == hits_.begin() ? hits_.back() : *(at - 1);
}

int RecordSearch::numberOf(record::Row row) const {
  const auto at = std::ranges::lower_bound(hits_, row);
  return at != hits_.end() && *at == row ? static_cast<int>(at - hits_.begin()) + 1 : 0;
}

}  // namespace kevt::gui
