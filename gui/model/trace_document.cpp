// The trace that is shown.
//
// A loader thread reads records into a store and sends a view of the store ten times a second, the first one early, so
// a picture shows long before the whole file is read. Of a truncated file the readable records are shown, and the
// reader's message says where the file breaks off.
#include "gui/model/trace_document.h"

#include <unistd.h>

#include <QElapsedTimer>
#include <QMetaObject>
#include <algorithm>

#include "gui/model/job.h"
#include "gui/model/room_text.h"
#include "gui/model/row_text.h"
#include "gui/model/text_forms.h"
#include "tracefs-compat/fleet/address.h"
#include "tracefs-compat/fleet/fleet_reader.h"

namespace kevt::gui {

struct TraceDocument::Progress {
  quint64 generation = 0;
  record::StoreView view;
  std::shared_ptr<const record::Metadata> metadata;
  QStringList problems;
  bool is_last = false;
  qint64 elapsed_ms = 0;
  std::vector<ClockJump> jumps;  // set in the last Progress
  std::optional<fleet::TimeSpan> part;
};

namespace {

constexpr int kFirstPublishMs = 30;
constexpr int kPublishMs = 150;       // between pictures of a short load
constexpr int kPublishesOfLoad = 10;  // later a picture each time another tenth was read: each costs what it shows
constexpr int kRowsBetweenLooks = 2048;

// The message about how many more problems there are is complete only at the end.
QStringList strings(const std::vector<std::string>& texts, bool is_last) {
  QStringList out;
  const std::size_t count = is_last ? texts.size() : std::min(texts.size(), record::kMaxProblems);
  for (std::size_t i = 0; i < count; ++i) out.append(QString::fromStdString(texts[i]));
  return out;
}

// Half of the machine's memory, in bytes: a loaded recording may take many times its file's size.
std::uint64_t halfOfMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  return pages <= 0 || bytes <= 0 ? ~0ull : static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(bytes) / 2;
}

}  // namespace

// Where no file can be had, more memory is taken than is set: the records are what one wants to see.
record::StoreRoom TraceDocument::room() const {
  return {.memory_bytes = memory_,
          .most_memory_bytes = std::max(memory_, halfOfMemory()),
          .folder = record::SpillFile::usual_folder()};
}

TraceDocument::TraceDocument(QObject* parent) : QObject(parent), metadata_(std::make_shared<record::Metadata>()) {}

TraceDocument::~TraceDocument() = default;

void TraceDocument::clear() {
  if (loader_.joinable()) {
    loader_.request_stop();
    loader_.join();
  }
  ++generation_;
  was_live_ = false;
  view_ = {};
  text_.reset();
  metadata_ = std::make_shared<record::Metadata>();
  problems_.clear();
  jumps_.clear();
  part_.reset();
  first_picture_ms_ = load_ms_ = -1;
}

void TraceDocument::close() {
  clear();
  path_.clear();
  state_ = State::Empty;
  Q_EMIT reset();
  Q_EMIT stateChanged();
}

void TraceDocument::openPart(const QString& path, const std::optional<fleet::TimeSpan>& wanted_part) {
  clear();
  path_ = path;
  state_ = State::Loading;
  Q_EMIT reset();
  Q_EMIT stateChanged();
  loader_ = std::jthread([this, path = path.toStdString(), part = wanted_part, most = most_records_, room = room(),
                          generation = generation_](std::stop_token stop) mutable {
    yieldToTheWindow();
    QElapsedTimer timer;
    timer.start();
    record::StoreBuilder builder(room);
    std::shared_ptr<record::RecordReader> reader;
    QStringList own_problems;
    std::vector<ClockJump> jumps;
    const auto send = [&](bool is_last) {
      Progress progress{generation, builder.view(), nullptr, own_problems, is_last, timer.elapsed(), {}, part};
      if (is_last) progress.jumps = jumps;
      if (reader) {
        const record::Metadata& known = reader->metadata();
        progress.metadata = is_last || !reader->adds_metadata()
                                ? std::shared_ptr<const record::Metadata>(reader, &known)
                                : std::make_shared<const record::Metadata>(known);
        progress.problems += strings(reader->problems(), is_last);
      }
      QMetaObject::invokeMethod(
          this, [this, progress = std::move(progress)] { take(progress); }, Qt::QueuedConnection);
    };
    std::string note;
    auto opened = fleet::open_recording(path, &note, [stop] { return stop.stop_requested(); });
    if (!opened) {
      own_problems.append(QString::fromStdString(opened.error().message()));
      return send(true);
    }
    reader = *std::move(opened);
    if (!note.empty()) own_problems.append(QString::fromStdString(note));
    if (fleet::is_address(path)) {
      auto overview = fleet::open_overview(path, [stop] { return stop.stop_requested(); });
      if (overview && !part) {
        auto newest = fleet::find_newest_part(**overview, most, [&stop] { return stop.stop_requested(); });
        if (newest) part = *newest;
        if (!newest) overview = std::unexpected(std::move(newest.error()));
      }
      if (!overview) {
        own_problems.append(QString::fromStdString(overview.error().message()));
        return send(true);
      }
      if (part) {
        const auto shown = [zero = (*overview)->zero_ns()](std::int64_t ns) {
          return static_cast<std::uint64_t>(std::max<std::int64_t>(ns - zero, 0));
        };
        reader->narrow({.from_ns = shown(part->from_ns), .to_ns = shown(part->to_ns - 1)});
      }
    }
    if (!reader->metadata().instances.empty() && reader->metadata().origins.empty())
      own_problems.append(QObject::tr("records of %1 instances are shown with those of the top one, each task by the "
                                      "instance's name; kevtrace report -B has those of one alone")
                              .arg(reader->metadata().instances.size()));
    record::TypedRecord record;
    const std::uint64_t most_in_all = fleet::is_address(path) ? 2 * most : 0;
    std::uint64_t last_ns = 0;
    qint64 next_ms = kFirstPublishMs;
    bool is_full = false;
    for (std::uint64_t count = 1; reader->next(record); ++count) {
      if (record.time_ns >= last_ns)
        last_ns = record.time_ns;
      else if (jumps.size() < kMostJumps)
        jumps.push_back({last_ns, last_ns - record.time_ns});
      const auto& instances = reader->metadata().instances;
      if (!builder.add(record, record.instance ? instances[record.instance - 1] : std::string_view())) {
        is_full = true;
        break;
      }
      // Of a database that has more than its overview tells.
      if (count == most_in_all) {
        own_problems.append(
            QObject::tr("only the first %1 records are shown: choose a shorter part in the strip").arg(count));
        break;
      }
      if (count % kRowsBetweenLooks != 0) continue;
      if (stop.stop_requested()) return;
      if (timer.elapsed() < next_ms) continue;
      send(false);
      next_ms = timer.elapsed() + std::max<qint64>(kPublishMs, timer.elapsed() / kPublishesOfLoad);
    }
    if (const auto text = roomText(builder, is_full)) own_problems.append(*text);
    if (builder.moved_records())
      own_problems.append(QObject::tr("%1 records are out of order; they are shown where the time before them is")
                              .arg(builder.moved_records()));
    if (builder.cut_records())
      own_problems.append(QObject::tr("%1 records are longer than %2 bytes; the rest of them is not kept")
                              .arg(builder.cut_records())
                              .arg(record::kMaxStoredBytes));
    send(true);
  });
}

void TraceDocument::take(const Progress& progress) {
  if (progress.generation != generation_) return;
  view_ = progress.view;
  if (progress.metadata) metadata_ = progress.metadata;
  part_ = progress.part;
  if (first_picture_ms_ < 0 && (!view_.empty() || progress.is_last)) first_picture_ms_ = progress.elapsed_ms;
  for (const QString& problem : progress.problems) {
    if (problems_.contains(problem)) continue;
    problems_.append(problem);
    Q_EMIT problemFound(problem);
  }
  Q_EMIT viewChanged();
  if (!progress.is_last) return;
  load_ms_ = progress.elapsed_ms;
  jumps_ = progress.jumps;
  state_ = State::Loaded;
  Q_EMIT stateChanged();
}

RowText& TraceDocument::text() {
  if (!text_) text_ = std::make_unique<RowText>(metadata_);
  text_->setMetadata(metadata_);
  return *text_;
}

// The problem is reported later, since the caller may be painting.
void TraceDocument::takeProblemOfTexts() {
  const auto problem = text_->takeProblem();
  if (!problem) return;
  const QString told = fromUtf8(*problem);
  QMetaObject::invokeMethod(
      this,
      [this, told, generation = generation_] {
        if (generation != generation_ || problems_.contains(told)) return;
        problems_.append(told);
        Q_EMIT problemFound(told);
      },
      Qt::QueuedConnection);
}

QString TraceDocument::details(const record::TypedRecord& record) {
  const QString told = text().details(record);
  takeProblemOfTexts();
  return told;
}

QString TraceDocument::line(const record::TypedRecord& record) {
  const QString told = text().line(record);
  takeProblemOfTexts();
  return told;
}

std::vector<QString> TraceDocument::detailsOf(std::span<const record::TypedRecord> records) {
  text().askAhead(records);
  std::vector<QString> all;
  all.reserve(records.size());
  for (const record::TypedRecord& record : records) all.push_back(text().details(record));
  takeProblemOfTexts();
  return all;
}

void TraceDocument::beginLive(const QString& title) {
  clear();
  path_ = title;
  state_ = State::Live;
  Q_EMIT reset();
  Q_EMIT stateChanged();
}

void TraceDocument::showLive(record::StoreView view, std::shared_ptr<const record::Metadata> metadata) {
  const bool goes_on = state_ == State::Loaded && was_live_;  // children of the ended program still hit
  if (state_ != State::Live && !goes_on) return;
  if (goes_on && view.rows() > view_.rows()) {
    state_ = State::Live;
    Q_EMIT stateChanged();
  }
  view_ = std::move(view);
  if (metadata) metadata_ = std::move(metadata);
  Q_EMIT viewChanged();
}

void TraceDocument::endLive() {
  if (state_ != State::Live) return;
  state_ = State::Loaded;
  was_live_ = true;
  Q_EMIT stateChanged();
}

}  // namespace kevt::gui
