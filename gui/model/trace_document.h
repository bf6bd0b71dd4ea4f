// TraceDocument: the trace that is shown, from a file or live, as a view of a growing store.
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "tracefs-compat/fleet/overview.h"
#include "tracefs-compat/record/recording.h"
#include "tracefs-compat/record/store/store.h"

namespace kevt::gui {

class RowText;

class TraceDocument : public QObject {
  Q_OBJECT

 public:
  enum class State { Empty, Loading, Loaded, Live };

  explicit TraceDocument(QObject* parent = nullptr);
  ~TraceDocument() override;

  State state() const { return state_; }
  const record::StoreView& view() const { return view_; }
  // Never null; for a live trace it is replaced as more becomes known.
  std::shared_ptr<const record::Metadata> metadata() const { return metadata_; }
  // Texts of records (RowText); only for the window's thread.
  QString details(const record::TypedRecord& record);
  QString line(const record::TypedRecord& record);
  // The details of these records, in this order.
  std::vector<QString> detailsOf(std::span<const record::TypedRecord> records);
  QString path() const { return path_; }
  const QStringList& problems() const { return problems_; }
  qint64 firstPictureMs() const { return first_picture_ms_; }  // from openFile() to the first rows; -1: none yet
  qint64 loadMs() const { return load_ms_; }                   // to the last; -1: not yet

  // The places where a file's records go back in time; the first kMostJumps of them.
  struct ClockJump {
    std::uint64_t at_ns = 0;  // where the record is shown: the time of the record before
    std::uint64_t back_ns = 0;
  };
  static constexpr std::size_t kMostJumps = 1000;
  const std::vector<ClockJump>& clockJumps() const { return jumps_; }

  // Reads in a thread of its own; rows appear as they come. Of a fleet's database (ch://…) that has more records than
  // mostRecords() the newest part is read that has not.
  void openFile(const QString& path) { openPart(path, std::nullopt); }
  // Reads this part of the database; nullopt: as openFile().
  void openPart(const QString& path, const std::optional<fleet::TimeSpan>& part);
  // The part that is read of the database, once it is known; nullopt: all of it.
  const std::optional<fleet::TimeSpan>& part() const { return part_; }
  static constexpr std::uint64_t kMostRecords = 2'000'000;
  void setMostRecords(std::uint64_t most) { most_records_ = most; }
  std::uint64_t mostRecords() const { return most_records_; }
  // Bytes of memory for the records of the next trace; what does not fit is kept in a file in $TMPDIR or /var/tmp.
  static constexpr std::uint64_t kMemory = 512 << 20;
  void setMemory(std::uint64_t bytes) { memory_ = bytes; }
  std::uint64_t memory() const { return memory_; }
  record::StoreRoom room() const;
  void close();

  // Begins a live trace: emits reset(); the reader of the trace then calls showLive() with its rows.
  void beginLive(const QString& title);
  void showLive(record::StoreView view, std::shared_ptr<const record::Metadata> metadata);
  // Keeps the rows as a trace that has ended; if more rows come all the same, the trace is live again.
  void endLive();

 Q_SIGNALS:
  void reset();        // another trace: rows of the old one are invalid
  void viewChanged();  // more rows
  void stateChanged();
  void problemFound(const QString& text);

 private:
  struct Progress;
  void take(const Progress& progress);
  void clear();
  RowText& text();
  void takeProblemOfTexts();

  State state_ = State::Empty;
  record::StoreView view_;
  std::shared_ptr<const record::Metadata> metadata_;
  std::unique_ptr<RowText> text_;
  QString path_;
  QStringList problems_;
  std::vector<ClockJump> jumps_;
  std::jthread loader_;
  std::optional<fleet::TimeSpan> part_;
  std::uint64_t most_records_ = kMostRecords;
  std::uint64_t memory_ = kMemory;
  bool was_live_ = false;   // its directory may still be read
  quint64 generation_ = 0;  // of the trace; results of older loaders are dropped
  qint64 first_picture_ms_ = -1, load_ms_ = -1;
};

}  // namespace kevt::gui
