// Searching lines of records.
//
// Each line is made, searched and dropped, so a search takes time but no memory: some hundred thousand records a
// second. Hits are handed on piece by piece, so the first ones show at once, and a keystroke stops the previous search.
// Only rows that the table's filter keeps are searched.
#include "gui/model/record_search.h"

#include <algorithm>

#include "gui/model/row_text.h"
#include "gui/model/trace_document.h"

namespace kevt::gui {

namespace {
constexpr record::Row kPiece = 50'000;
constexpr record::Row kSearchedAtOnce = 1024;
}  // namespace

RecordSearch::RecordSearch(TraceDocument& document, EventRows& rows, QObject* parent)
    : QObject(parent), document_(document), rows_(rows), jobs_(this, 1) {
  connect(&document_, &TraceDocument::reset, this, [this] {
    if (busy_) *busy_ = true;
    busy_.reset();
    lines_.reset();
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
  pattern_ = QRegularExpression(
      text.is_regex ? text.text : QRegularExpression::escape(text.text),
      text.minds_case ? QRegularExpression::NoPatternOption : QRegularExpression::CaseInsensitiveOption);
  const bool is_right = pattern_.isValid();
  if (!is_right) {
    error = pattern_.errorString();
    text_.text.clear();
  }
  Q_EMIT hitsChanged();
  if (!lines_) lines_ = std::make_shared<RowText>(document_.metadata());
  if (is_right && !text.text.isEmpty()) piece(0);
  return is_right;
}

void RecordSearch::piece(record::Row from) {
  const record::StoreView view = document_.view();
  if (from >= view.rows()) return;
  const record::Row to = std::min(view.rows(), from + kPiece);
  busy_ = jobs_.start(
      [view, metadata = document_.metadata(), lines = lines_, pattern = pattern_, from,
       to](const std::atomic<bool>& cancelled) {
        lines->setMetadata(metadata);
        std::vector<record::Row> found;
        std::vector<record::TypedRecord> records;
        for (record::Row first = from; first < to && !cancelled; first += kSearchedAtOnce) {
          records.clear();
          for (record::Row row = first; row < std::min(first + kSearchedAtOnce, to); ++row)
            records.push_back(view.typed(row));
          lines->askAhead(records);
          for (std::size_t i = 0; i < records.size(); ++i)
            if (pattern.match(lines->line(records[i])).hasMatch()) found.push_back(first + static_cast<record::Row>(i));
        }
        return found;
      },
      [this, to](const std::vector<record::Row>& found) {
        busy_.reset();
        for (const record::Row row : found)
          if (hits_.size() < kMostHits && rows_.shows(row)) hits_.push_back(row);
        if (to < document_.view().rows() && hits_.size() < kMostHits) piece(to);
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
