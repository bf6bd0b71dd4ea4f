// What a recording is to those who read, write and question it: metadata, and records in the order of time.
// Free of files, terminals and command lines: the graphical program reads through the same seam.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/record/event_format.h"
#include "tracefs-compat/record/problems.h"
#include "tracefs-compat/record/symbols.h"

namespace kevt::record {

// hits = recorded + aggregated + filtered + lost + missed, of one event, as the engine counted them.
struct EventTotals {
  std::string event;  // SYSTEM/NAME
  std::uint64_t attempts = 0, recorded = 0, filtered = 0, lost = 0, missed = 0, faults = 0;
  bool sees_misses = true;        // false: the runtime could not tell, `missed` means nothing
  std::uint64_t overwritten = 0;  // of `recorded`, those that had to go for newer ones
  std::uint64_t aggregated = 0;   // counted in a histogram, and not recorded
};

// A process that was traced.
struct Process {
  struct Mapping {
    std::uint64_t begin = 0, end = 0;
    std::string path;
  };
  std::string name;
  std::string container;          // its id or name (proc::container_of); empty: it is in none, or it is not known
  std::vector<Mapping> mappings;  // of code
  Symbols symbols;                // its own; empty: those of the recording are meant
};

// What the histograms of a run had counted in a span of it.
struct HistogramReading {
  std::vector<std::string> objects;  // of each histogram, JSON in one line (docs/histograms.md, "For other programs")
  std::string text;                  // of all of them, as the file `hist` reads, under the events' names
};

// Of a recording; records of others are shown as the top one's.
inline constexpr std::size_t kMostInstances = 1024;

// What tells a recording from all others. A copy in another format or of a part has none.
struct Identity {
  std::string id;       // 32 hexadecimal digits; empty: none
  std::string rest_of;  // the id of the recording that this one goes on with, whose process died
};

struct Metadata {
  EventFormats formats;
  Symbols symbols;
  std::unordered_map<std::int32_t, std::string> comms;        // by thread id
  std::unordered_map<std::int32_t, std::int32_t> process_of;  // thread id → process id, where it is known
  std::map<std::int32_t, Process> processes;
  std::string clock = "mono";
  std::string host;                            // uname
  std::string maker;                           // program and version
  std::uint32_t cpus = 1;                      // CPUs of the machine
  std::string boot;                            // of the machine, as kernel/random/boot_id; empty: not known
  std::optional<std::int64_t> wall_offset_ns;  // time + this = nanoseconds since 1970
  Identity identity;                           // of the recording that was read
  Identity new_identity;                       // of the recording that is being made: what writers note
  bool has_writer_lock = false;                // not finished; more may come as long as the file has_writer_lock()
  std::vector<std::string> instances;          // names of those that have records, besides the top one; kMostInstances
  std::vector<std::string> definitions;        // lines of dynamic_events
  std::vector<std::string> filters;            // "SYSTEM/NAME: EXPRESSION"
  std::vector<EventTotals> totals;             // empty: not known (killed, or another tool's)
  std::vector<HistogramReading> histograms;    // in the order of time
  std::vector<std::string> cpu_statistics;     // per_cpu/cpuN/stats, as the kernel wrote them
  // Where recordings of several machines are read as one: of each instance, in their order, what its recording says.
  // One thread id means another thread on each.
  std::vector<std::shared_ptr<const Metadata>> origins;

  std::string_view comm_of(std::int32_t pid) const;  // "<...>" when unknown
  // What addresses in records of this thread mean; as TypedRecord::thread().
  const Symbols& symbols_of(std::uint64_t thread) const;
  // The container of this thread's process, and whether any process is in one.
  std::string_view container_of(std::uint64_t thread) const;
  bool has_containers() const;

 private:
  const Metadata& origin_of(std::uint64_t thread) const;
};

// One record. `bytes` and `comm` live until the next one is asked for.
struct TypedRecord {
  const EventFormat* event = nullptr;
  std::uint64_t time_ns = 0;
  std::uint32_t cpu = 0;
  std::int32_t pid = 0;
  std::string_view comm;
  std::span<const std::uint8_t> bytes;  // as the event's format says, the common fields first
  std::uint32_t instance = 0;           // 0: the top one; else 1 + its index in Metadata::instances
  std::uint64_t lost_before = 0;        // records lost on this CPU right before it; ~0: some, unknown how many

  // Of the thread in its instance: an event that several instances have on is recorded in each.
  std::uint64_t thread() const { return std::uint64_t{instance} << 32 | static_cast<std::uint32_t>(pid); }
  std::uint8_t flags() const { return bytes.size() > 2 ? bytes[2] : 0; }
  std::uint8_t preempt_count() const { return bytes.size() > 3 ? bytes[3] : 0; }
};

class RecordFilters;

// The part of a recording that somebody will look at. What is not set is wanted whatever it is.
struct Wanted {
  const RecordFilters* filters = nullptr;  // record_filter.h
  std::optional<std::uint32_t> instance;
  std::optional<std::uint64_t> from_ns, to_ns;  // both included
};

// A page of a CPU's records in a recording's file.
struct PagePlace {
  std::uint32_t instance = 0, cpu = 0;  // as of a TypedRecord
  std::uint64_t data = 0;               // byte at which the CPU's data begin
  std::uint64_t page = 0;               // byte at which the page begins
  bool operator==(const PagePlace&) const = default;
};

class RecordWriter;

class RecordReader {
 public:
  virtual ~RecordReader() = default;
  virtual const Metadata& metadata() const = 0;
  // Whether next() may add to the metadata: then no other thread may look at them meanwhile, but at a copy.
  virtual bool adds_metadata() const { return false; }
  // The next record in the order of time; false at the end.
  virtual bool next(TypedRecord& record) = 0;
  // What could not be read so far, with where it stands in the file (see Problems). Complete once next() has said
  // false.
  virtual const std::vector<std::string>& problems() const = 0;
  // Starts again from the first record.
  virtual void rewind() = 0;
  // Records that are not wanted need not come from now on; some may. What `wanted` names lives as long as the reader.
  virtual void narrow(const Wanted& /*wanted*/) {}
  // The page that holds the record which next() has given; nullopt: the file has no pages that could be gone back to.
  virtual std::optional<PagePlace> page() const { return std::nullopt; }
  // Starts again, without the pages that lie before these, one for a CPU at most. False: the data do not lie so, and
  // nothing has changed.
  virtual bool begin_at(std::span<const PagePlace> /*places*/) { return false; }
  // Gives the writer what it wishes in place of records (CountedBy::Database), of what is wanted and nothing else.
  // False: that cannot be done, nothing was given, and records are to be read.
  virtual Result<bool> give_counts(RecordWriter& /*to*/) { return false; }
};

// Who counts: a histogram at the hit, which holds numbers and short texts; or the database that has the records.
enum class CountedBy : std::uint8_t { Histogram, Database };

// What a writer would have counted of an event's hits instead of their records: the hits, and the sum of a field, by
// the field's buckets (`.loglinear`) and the values of another one.
struct CountWish {
  const EventFormat* event = nullptr;
  std::string field;          // CountedBy::Database: a text, too, or as `by`; empty: hits alone
  std::string by;             // a number of the record, or common_pid, common_cpu, common_comm; empty: nothing
  bool is_of_stacks = false;  // instead of all that: the hits by the thread's name and the whole stack
};
struct CountedBucket {
  std::uint64_t from = 0, to = 0;   // of the field's numbers; both included
  std::uint64_t by = 0;             // as a number with a sign has it; 0 where it is a text
  std::string_view by_text;         // of common_comm, or of another text
  std::string_view text;            // of the field, where it is a text; "(fault)" where it could not be read
  std::uint64_t hits = 0, sum = 0;  // the sum is 64 bits, and wraps
};

struct CountedStack {
  std::string_view comm;
  std::int32_t pid = 0;                      // of the process, whose symbols name the addresses
  std::span<const std::uint64_t> addresses;  // innermost first
  std::uint64_t hits = 0;
};

class RecordWriter {
 public:
  virtual ~RecordWriter() = default;
  // Records of one CPU come in their order. `record.event` is one of the metadata's formats.
  virtual Result<void> add(const TypedRecord& record) = 0;
  // Whether add_histograms() writes what histograms have counted in a span of the run, among the records; else the
  // metadata keeps it until finish().
  virtual bool takes_histograms() const { return false; }
  virtual void add_histograms(const HistogramReading&) {}
  // Another process has written here before, and may have been killed in the middle.
  virtual void go_on_behind_another() {}
  // Makes what was added so far readable to others, should nothing more come.
  virtual Result<void> flush() = 0;
  // The rest: what is known only at the end. Nothing may be added behind it.
  virtual Result<void> finish() = 0;
  // Instead of finish(), after an error of the calls above: what the file has becomes a recording that is finished,
  // with the metadata's totals. False: this format cannot do that.
  virtual Result<bool> finish_as_it_is() { return false; }
  virtual std::uint64_t bytes() const = 0;  // written so far
  // Something about what is written that its reader should know, once.
  virtual std::optional<std::string> take_note() { return std::nullopt; }
  // Whether flush() writes nothing: what was added is kept in memory until finish().
  virtual bool is_known_only_at_end() const { return false; }
  // Must records of different CPUs come in the order of time?
  virtual bool wants_order() const { return true; }
  // Empty: it needs records. All wishes are granted, or none.
  virtual std::vector<CountWish> count_wishes(CountedBy) const { return {}; }
  // Of an event whose wish was granted; no record of it is added. `dropped`: hits that are in no bucket, since there
  // was no memory for theirs.
  virtual void take_counts(const EventFormat&, std::span<const CountedBucket>, std::uint64_t /*dropped*/) {}
  // The same for a wish of stacks.
  virtual void take_stacks(std::span<const CountedStack>, std::uint64_t /*dropped*/) {}
  // Records of the event (its id) that were added and had to go for newer ones.
  virtual std::uint64_t overwritten(std::uint16_t) const { return 0; }
};

enum class FileFormat : std::uint8_t {
#define KEVT_RECORDING_FORMAT(name, ...) name,
#include "tracefs-compat/record/recording_formats.def"
#undef KEVT_RECORDING_FORMAT
};
std::optional<FileFormat> format_by_name(std::string_view name);
std::string_view name_of(FileFormat format);
// By the name's ending: .dat .json .ndjson .csv .pftrace .txt … ; nullopt: it does not tell.
std::optional<FileFormat> format_by_file(std::string_view path);
// All names, for messages; all endings.
std::string format_names();
std::string format_endings();

// Sniffs the format. `path` may be "-" for formats that can be read from a pipe, or several files (beside.h).
Result<std::unique_ptr<RecordReader>> open_recording(const std::string& path);
// `metadata` outlives the writer and may grow (comms, symbols, totals) until finish(). "-": standard output, where the
// format allows it; dat and ctf need a file or folder of their own.
Result<std::unique_ptr<RecordWriter>> create_recording(FileFormat format, const std::string& path,
                                                       const Metadata& metadata);

}  // namespace kevt::record
