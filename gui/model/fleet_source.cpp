#include "gui/model/fleet_source.h"

#include <QElapsedTimer>
#include <utility>

#include "gui/model/text_forms.h"

namespace kevt::gui {

namespace {

constexpr std::size_t kFirstBars = 1000;

}  // namespace

struct FleetSource::Answer {
  fleet::TimeSpan all;
  fleet::OverviewPicture picture;
  QString trouble;
  qint64 elapsed_ms = 0;
};

FleetSource::FleetSource(QObject* parent) : QObject(parent), jobs_(this, 1) {}

FleetSource::~FleetSource() { leave(); }

void FleetSource::leave() {
  if (asked_) *asked_ = true;
  if (leaves_) *leaves_ = true;
}

void FleetSource::open(const QString& address) {
  leave();
  leaves_ = std::make_shared<std::atomic<bool>>(false);
  address_.clear();
  overview_ = std::make_shared<std::unique_ptr<fleet::Overview>>();
  all_ = {};
  picture_ = {};
  trouble_.clear();
  next_.reset();
  is_busy_ = false;
  last_answer_ms_ = -1;
  Q_EMIT pictureChanged();  // there is none
  address_ = address;
  if (isOpen()) start(std::nullopt);
}

void FleetSource::ask(const fleet::TimeSpan& span, std::size_t bars) {
  const Question question{span, bars};
  if (is_busy_)
    next_ = question;
  else if (isOpen())
    start(question);
}

void FleetSource::start(const std::optional<Question>& question) {
  is_busy_ = true;
  asked_ = jobs_.start(
      [address = address_.toStdString(), overview = overview_, leaves = leaves_, question](const std::atomic<bool>&) {
        QElapsedTimer timer;
        timer.start();
        Answer answer;
        if (!*overview) {
          auto opened = fleet::open_overview(address, [leaves] { return leaves->load(); });
          if (!opened) {
            answer.trouble = fromUtf8(opened.error().message());
            return answer;
          }
          *overview = *std::move(opened);
        }
        answer.all = (*overview)->all();
        auto picture = (*overview)->count(question ? question->span : answer.all,
                                          question ? question->bars : kFirstBars, fleet::Overview::By::Event);
        if (picture)
          answer.picture = *std::move(picture);
        else
          answer.trouble = fromUtf8(picture.error().message());
        answer.elapsed_ms = timer.elapsed();
        return answer;
      },
      [this](Answer answer) { take(std::move(answer)); });
}

void FleetSource::take(Answer answer) {
  is_busy_ = false;
  trouble_ = answer.trouble;
  last_answer_ms_ = answer.elapsed_ms;
  if (trouble_.isEmpty()) {
    all_ = answer.all;
    picture_ = std::move(answer.picture);
  }
  if (const auto next = std::exchange(next_, std::nullopt)) start(next);
  Q_EMIT pictureChanged();
}

}  // namespace kevt::gui
