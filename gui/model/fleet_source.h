// FleetSource: how many records a fleet's database has when. Questions run beside the window's thread; while one is
// asked only the latest of those that come is kept.
#pragma once

#include <QObject>
#include <QString>
#include <memory>
#include <optional>

#include "gui/model/job.h"
#include "tracefs-compat/fleet/overview.h"

namespace kevt::gui {

class FleetSource : public QObject {
  Q_OBJECT

 public:
  explicit FleetSource(QObject* parent = nullptr);
  ~FleetSource() override;

  // Another database's address (ch://…), of which all times are asked for; empty: none.
  void open(const QString& address);
  bool isOpen() const { return !address_.isEmpty(); }
  // At most so many bars; the answer comes with pictureChanged().
  void ask(const fleet::TimeSpan& span, std::size_t bars);
  bool isBusy() const { return is_busy_; }

  const fleet::TimeSpan& all() const { return all_; }  // from the first record to the last
  const fleet::OverviewPicture& picture() const { return picture_; }
  const QString& trouble() const { return trouble_; }  // why there is no picture; empty: there is one
  qint64 lastAnswerMs() const { return last_answer_ms_; }

 Q_SIGNALS:
  void pictureChanged();

 private:
  struct Question {
    fleet::TimeSpan span;
    std::size_t bars = 0;
  };
  struct Answer;
  void leave();
  void start(const std::optional<Question>& question);
  void take(Answer answer);

  QString address_, trouble_;
  fleet::TimeSpan all_;
  fleet::OverviewPicture picture_;
  std::shared_ptr<std::unique_ptr<fleet::Overview>> overview_;  // for the thread of the questions alone
  std::optional<Question> next_;
  Cancelled asked_;
  Cancelled leaves_;  // the address: its questions end
  bool is_busy_ = false;
  qint64 last_answer_ms_ = -1;
  JobQueue jobs_;
};

}  // namespace kevt::gui
