// RecordSearch: finds the shown records whose line has a text, in a worker, piece by piece.
#pragma once

#include <QObject>
#include <memory>
#include <vector>

#include "gui/model/event_rows.h"
#include "gui/model/job.h"
#include "gui/model/line_finder.h"

namespace kevt::gui {

class TraceDocument;

class RecordSearch : public QObject {
  Q_OBJECT

 public:
  RecordSearch(TraceDocument& document, EventRows& rows, QObject* parent = nullptr);
  ~RecordSearch() override;

  // Starts a search; an empty text ends it. False: the expression is wrong, `error` says why, and nothing is searched.
  bool start(const SearchText& text, QString& error);
  bool isBusy() const { return busy_ != nullptr; }
  bool isActive() const { return !text_.text.isEmpty(); }
  // In the order of time; grows while isBusy(), up to kMostHits.
  const std::vector<record::Row>& hits() const { return hits_; }
  // The first hit after (before) the row, wrapping around; kNoRow: there are no hits.
  record::Row next(record::Row from) const;
  record::Row previous(record::Row from) const;
  int numberOf(record::Row row) const;  // from 1; 0: the row is no hit

  static constexpr std::size_t kMostHits = 1'000'000;

 Q_SIGNALS:
  void hitsChanged();

 private:
  void piece(record::Row from);

  TraceDocument& document_;
  EventRows& rows_;
  SearchText text_;
  std::shared_ptr<LineFinder> finder_;  // used by one worker after the other
  std::size_t chunks_at_once_ = 1;
  std::vector<record::Row> hits_;
  Cancelled busy_;
  JobQueue jobs_;
};

}  // namespace kevt::gui
