// RunRecorder: what `kevtrace run` records, as the records of a recording.
//
// Knows the events of the run as format files, the threads' names, and the symbols of every address that is recorded;
// hands records to a RecordWriter, which may be a file or something that counts.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "common/time_merger.h"
#include "compiler/target/stack_unwinder.h"
#include "runtime-user/engine/engine.h"
#include "runtime-user/engine/stack_samples.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::cli {

using MakeWriter = std::function<Result<std::unique_ptr<record::RecordWriter>>(const record::Metadata&)>;

// Where records come from: one process, or the kernel. All sources of a run have the same events.
struct RecordSource {
  using Drain = std::function<std::size_t(const runtime::RecordSink&)>;
  const engine::Engine* engine = nullptr;
  const target::TargetEnv* env = nullptr;
  Drain drain;         // merged by time
  Drain drain_by_cpu;  // each CPU's in their order; empty: only merged
  bool sees_misses = true;
  std::int32_t pid = 0;                       // of the process; 0: the kernel
  target::StackUnwinder* unwinder = nullptr;  // of hits whose definitions sample the stack (stack_samples.h)
};

// Last: what waits is handed out, too.
enum class ReadRound : std::uint8_t { Running, Last };

class RunRecorder {
 public:
  // After the events are defined.
  static Result<std::unique_ptr<RunRecorder>> create(std::vector<RecordSource> sources, const MakeWriter& make);

  // Another process, with the events of the others.
  void add(const RecordSource& source);
  // Whether records of it wait to be given to the writer.
  bool awaits(const engine::Engine& source) const;
  // Nothing comes from it any more, and nothing of it waits.
  void remove(const engine::Engine& source);
  // Reads what was recorded, at most `limit` records; returns how many.
  Result<std::uint64_t> read(ReadRound round, std::uint64_t limit);
  // Makes what was read so far readable to others.
  Result<void> flush() { return writer_->flush(); }
  // `counts`: of an event, an index; they are final.
  Result<void> finish(const std::function<runtime::EventCounts(std::size_t)>& counts);
  std::uint64_t bytes() const { return writer_->bytes(); }
  // Records that had to go for newer ones; of one event (an index), of all.
  std::uint64_t overwritten(std::size_t event) const;
  std::uint64_t overwritten() const;
  const std::string& name(std::size_t event) const { return sources_.front().engine->events()[event].name; }

 private:
  Result<void> describe(const engine::Event& event);
  void describe_process(const RecordSource& source);
  void note_process(const RecordSource& source, std::int32_t thread);
  void give_stack(const RecordSource& source, const engine::StackSamples& samples, const record::TypedRecord& of,
                  std::span<const std::uint8_t> bytes);
  enum class Nameless : std::uint8_t { StaysAddress, InFile };  // how code without a symbol is called
  void note_symbol(const RecordSource& source, std::uint64_t address, Nameless nameless);

  struct Waiting {  // a record that a slower process may still come before
    const RecordSource* source;
    std::uint32_t cpu;
    std::string comm;
    std::vector<std::uint8_t> bytes;
  };
  struct SymbolField {
    const record::Field* field;
    std::uint64_t last = 0;
    const RecordSource* of = nullptr;  // where `last` was seen
  };
  struct EventFields {
    const record::EventFormat* format = nullptr;
    const engine::Event* event = nullptr;
    bool has_symbol_text = false;
    std::optional<engine::StackSamples> stack;  // where the stack is sampled
    std::vector<SymbolField> symbols;
  };

  explicit RunRecorder(const std::vector<RecordSource>& sources)
      : sources_(sources.begin(), sources.end()), merges_(sources.size() > 1) {}
  Result<void> describe();
  void give(const RecordSource& source, const runtime::Record& record);
  void note_symbols(const RecordSource& source, EventFields& fields, std::span<const std::uint8_t> bytes);
  std::uint64_t read_merged(ReadRound round, std::uint64_t limit);

  std::list<RecordSource> sources_;  // records that wait point to theirs
  bool merges_;                      // there is more than one source, or was
  record::Metadata metadata_;
  std::unique_ptr<record::RecordWriter> writer_;
  std::vector<EventFields> by_id_;  // index: id less the first one
  std::uint32_t first_id_ = 0;
  const record::EventFormat* stack_format_ = nullptr;
  std::set<std::pair<const RecordSource*, std::uint64_t>> seen_;  // addresses that were looked up
  std::vector<std::uint8_t> stack_;
  std::int32_t last_pid_ = -1;
  std::string last_comm_;
  TimeMerger<Waiting> waiting_;
  Result<void> failed_;
  std::uint64_t given_ = 0;
};

}  // namespace kevt::cli
