// Recorder: turns what an instance of `kevtrace run` records into the records of a recording.
//
// Collects the events' formats, the threads' names, and the symbol of every recorded address. Hands the records to a
// RecordWriter, which may write a file or only count.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "runtime-user/engine/events/event_table.h"
#include "runtime-user/engine/histograms/hist_snapshot.h"
#include "runtime-user/engine/traced_target.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::engine {
class Tracing;
struct Instance;
}  // namespace kevt::engine

namespace kevt::session {

using MakeWriter = std::function<Result<std::unique_ptr<record::RecordWriter>>(const record::Metadata&)>;

class Recorder {
 public:
  // `events`: all events whose records may come. `id_begin`: hexadecimal digits that the recording's id begins with.
  // `tracing` and `instance` outlive this object.
  static Result<std::unique_ptr<Recorder>> create(engine::Tracing& tracing, const engine::Instance& instance,
                                                  std::span<const engine::TracedEvent* const> events,
                                                  const MakeWriter& make, std::string_view id_begin);

  // Tells of a target that was added.
  void add(const engine::TracedTarget& target) { describe_process(target); }
  // Tells that no record of this target comes any more. Another target may get the same address.
  void remove(const engine::TracedTarget& target);
  // Whether what was given is kept in memory until finish().
  bool is_known_only_at_end() const { return writer_->is_known_only_at_end(); }
  // Takes the histograms of another recorder, and what it knows of threads, for a recording that goes on in another
  // file.
  void go_on_from(const Recorder& other);
  // Whether the writer accepts records one CPU after the other, not merged by time.
  bool takes_any_order() const { return !writer_->wants_order(); }
  Result<void> give(const engine::TracedEvent& event, engine::TracedTarget& target, const runtime::Record& record);
  // Adds the stack of the record `of`, which is the last one given.
  Result<void> give_stack(engine::TracedTarget& target, const runtime::Record& of,
                          std::span<const std::uint64_t> frames);
  // Takes what histograms have counted since the last call. Where the writer writes them at the end (trace.dat), the
  // newest 16 MiB of them are kept; else write_histograms() or finish() writes them, or they are forgotten: a copy of
  // this process writes what was taken before the copy was made, and not written yet.
  void add_histograms(record::HistogramReading reading);
  void write_histograms();
  void forget_histograms() { unwritten_.clear(); }
  void go_on_behind_another() { writer_->go_on_behind_another(); }
  std::size_t histograms_left_out() const { return histograms_left_out_; }
  // What the writer would have counted instead of recorded: triggers by event. Empty: it needs records.
  struct CountTrigger {
    const engine::TracedEvent* event;
    std::string text;
    bool is_of_stacks = false;
  };
  std::vector<CountTrigger> count_triggers() const;
  // Gives the writer what these triggers have counted. `snapshots`: of all of them.
  void give_counts(std::span<const engine::HistSnapshot> snapshots);
  // How many hits have been given so.
  std::uint64_t counted() const { return counted_; }
  // Makes what was given so far readable to others.
  Result<void> flush() { return writer_->flush(); }
  // To be called when counters are final: writes totals and completes the recording.
  Result<void> finish();
  // Instead of it, after an error: with totals where the format can. False: it cannot.
  Result<bool> finish_as_it_is();
  std::optional<std::string> take_note() { return writer_->take_note(); }
  std::uint64_t bytes() const { return writer_->bytes(); }
  // How many records of one event, or of all, were overwritten by newer ones.
  std::uint64_t overwritten(const engine::TracedEvent& event) const;
  std::uint64_t overwritten() const;

 private:
  enum class Nameless : std::uint8_t { StaysAddress, InFile };  // what names code without a symbol
  struct SymbolField {
    const record::Field* field;
    std::uint64_t last = 0;
    const engine::TracedTarget* of = nullptr;  // the target of `last`
  };
  struct EventFields {
    const record::EventFormat* format = nullptr;
    const engine::TracedEvent* event = nullptr;
    bool has_symbol_text = false;
    std::vector<SymbolField> symbols;
  };

  void give_stacks(const engine::HistSnapshot& snapshot);
  void add_totals();
  Recorder(engine::Tracing& tracing, const engine::Instance& instance) : tracing_(tracing), instance_(instance) {}
  Result<void> describe(std::span<const engine::TracedEvent* const> events);
  Result<void> describe(const engine::TracedEvent& event);
  Result<void> describe_stacks();
  void describe_strings();
  void describe_process(const engine::TracedTarget& target);
  void note_process(const engine::TracedTarget& target, std::int32_t thread);
  void note_symbol(const engine::TracedTarget& target, std::uint64_t address, Nameless nameless);
  void note_symbols(const engine::TracedTarget& target, EventFields& fields, std::span<const std::uint8_t> bytes);

  engine::Tracing& tracing_;
  const engine::Instance& instance_;
  record::Metadata metadata_;
  std::unique_ptr<record::RecordWriter> writer_;
  std::vector<EventFields> events_;
  std::vector<std::uint16_t> by_id_;  // index in events_ plus 1; 0: no such event
  const record::EventFormat* stack_format_ = nullptr;
  std::set<std::pair<const engine::TracedTarget*, std::uint64_t>> seen_;  // addresses that were looked up
  std::vector<std::uint8_t> stack_;
  std::vector<record::HistogramReading> unwritten_;
  std::size_t histogram_bytes_ = 0, histograms_left_out_ = 0;
  std::uint64_t counted_ = 0;  // hits of give_counts()
  std::int32_t last_pid_ = -1;
  std::string last_comm_;
};

}  // namespace kevt::session
