// Trace { packet = 1 }, each of them one thing:
//
//   clock_snapshot   monotonic and wall-clock time at one moment
//   ftrace_events    up to 512 events of one CPU, as generic events with their fields
//   track_descriptor a thread, or a counter for a numeric field
//   track_event      the begin and the end of a call (an entry and its return on one thread), a counter's value
//
// Field numbers are those of Perfetto's public schema; tests/record/perfetto.proto lists the ones used, and protoc
// checks files against it. Slices are written when the return is seen, begin and end together: readers sort by time.
#include "tracefs-compat/record/formats/perfetto_writer.h"

#include <unistd.h>

#include <algorithm>

#include "common/error.h"
#include "common/hexadecimal.h"
#include "tracefs-compat/record/recording_formats.h"

namespace kevt::record {
namespace {

constexpr std::size_t kBundle = 512;
constexpr std::size_t kMostKnown = 1 << 18;  // threads and functions
constexpr std::uint32_t kSequence = 1;
constexpr std::uint32_t kRealtime = 1, kMonotonic = 3;  // BuiltinClock
constexpr std::uint64_t kThreadTracks = 1ull << 40, kCounterTracks = 1ull << 41, kProcessTracks = 1ull << 42;

// TracePacket
enum Packet : std::uint32_t {
  kFtraceEvents = 1,
  kClockSnapshot = 6,
  kTimestamp = 8,
  kSequenceId = 10,
  kTrackEvent = 11,
  kClockId = 58,
  kTrackDescriptor = 60,
};

void add_field(Protobuf& event, std::string_view name, const Value& value) {
  Protobuf field;
  field.text(1, name);
  if (value.kind == Value::Kind::Text) field.text(3, value.text);
  if (value.kind == Value::Kind::Signed) field.signed_number(4, static_cast<std::int64_t>(value.number));
  if (value.kind == Value::Kind::Unsigned) field.number(5, value.number);
  if (value.kind == Value::Kind::Float) {  // GenericFtraceEvent has no floating point
    std::string text;
    append_plain(value, text);
    field.text(3, text);
  }
  event.message(2, field);
}

Protobuf generic_event(const TypedRecord& record) {
  Protobuf event;
  event.text(1, record.event->name);
  for (const Field& field : record.event->fields) {
    if (field.is_hex || field.kind == FieldKind::DynamicBytes) {
      const std::string digits = hexadecimal(dynamic_bytes(field, record.bytes));
      add_field(event, field.name, {.kind = Value::Kind::Text, .text = digits});
      continue;
    }
    const std::uint32_t count = std::min(items_of(field, record.bytes), 64u);
    const bool is_list = count > 1 || field.kind == FieldKind::DynamicNumbers;
    for (std::uint32_t i = 0; i < count; ++i)
      add_field(event, is_list ? field.name + "[" + std::to_string(i) + "]" : field.name,
                value_of(field, record.bytes, i));
  }
  return event;
}

}  // namespace

PerfettoWriter::PerfettoWriter(OutputFile file, const Metadata& metadata)
    : file_(std::move(file)), metadata_(metadata), bundles_(std::max(metadata.cpus, 1u)) {
  Protobuf packet_bytes, snapshot, monotonic, realtime;
  monotonic.number(1, kMonotonic);
  monotonic.number(2, 1'000'000'000);
  snapshot.message(1, monotonic);
  if (metadata.wall_offset_ns) {
    realtime.number(1, kRealtime);
    realtime.signed_number(2, *metadata.wall_offset_ns + 1'000'000'000);
    snapshot.message(1, realtime);
  }
  snapshot.number(2, kMonotonic);  // what events without a clock of their own use
  packet_bytes.message(kClockSnapshot, snapshot);
  packet(packet_bytes);
}

void PerfettoWriter::packet(const Protobuf& content) {
  Protobuf whole;
  whole.number(kSequenceId, kSequence);
  Protobuf outer;
  outer.text(1, content.bytes() + whole.bytes());
  file_.append(outer.bytes());
}

void PerfettoWriter::end_bundle(std::uint32_t cpu) {
  Bundle& bundle = bundles_[cpu];
  if (bundle.count == 0) return;
  Protobuf with_cpu, content;
  with_cpu.number(1, cpu);
  content.text(kFtraceEvents, with_cpu.bytes() + bundle.events.bytes());
  bundle.events.clear();
  bundle.count = 0;
  packet(content);
}

void PerfettoWriter::describe_process(std::int32_t pid) {
  const auto it = metadata_.processes.find(pid);
  if (it == metadata_.processes.end() || !processes_.insert(pid).second) return;
  Protobuf process, track, content;
  process.signed_number(1, pid);
  process.text(6, it->second.name);
  track.number(1, kProcessTracks + static_cast<std::uint32_t>(pid));
  track.message(3, process);
  content.message(kTrackDescriptor, track);
  packet(content);
}

void PerfettoWriter::describe_thread(const TypedRecord& record) {
  const auto it = threads_.find(record.pid);
  if (it != threads_.end() && it->second == record.comm) return;
  if (threads_.size() >= kMostKnown) threads_.clear();  // they are described once more
  threads_[record.pid] = std::string(record.comm);
  Protobuf thread, track, content;
  const auto process = metadata_.process_of.find(record.pid);
  const std::int32_t owner = process == metadata_.process_of.end() ? record.pid : process->second;
  describe_process(owner);
  thread.signed_number(1, owner);  // where the process is not known each thread stands for itself
  thread.signed_number(2, record.pid);
  thread.text(5, record.comm);
  track.number(1, kThreadTracks + static_cast<std::uint32_t>(record.pid));
  track.message(4, thread);
  content.message(kTrackDescriptor, track);
  packet(content);
}

void PerfettoWriter::add_slice(const TypedRecord& record, const Call& call) {
  const Symbols& symbols = metadata_.symbols_of(record.thread());
  if (functions_.size() >= kMostKnown) functions_.clear();
  std::string& name = functions_[{&symbols, call.function}];
  if (name.empty()) append_symbol(symbols, call.function, SymbolOffset::Hidden, name);
  for (bool is_end : {false, true}) {
    Protobuf event, content;
    event.number(9, is_end ? 2 : 1);  // TYPE_SLICE_END, TYPE_SLICE_BEGIN
    event.number(11, kThreadTracks + static_cast<std::uint32_t>(record.pid));
    if (!is_end) event.text(23, name);
    content.number(kTimestamp, is_end ? call.end_ns : call.begin_ns);
    content.number(kClockId, kMonotonic);
    content.message(kTrackEvent, event);
    packet(content);
  }
}

void PerfettoWriter::add_counters(const TypedRecord& record) {
  for (const Field& field : record.event->fields) {
    if (field.kind != FieldKind::Number || field.role != PlaceRole::None) continue;
    auto [it, is_new] = counters_.try_emplace(&field, kCounterTracks + counters_.size());
    if (is_new) {
      Protobuf track, content;
      track.number(1, it->second);
      track.text(2, record.event->name + "." + field.name);
      track.message(8, Protobuf());  // CounterDescriptor
      content.message(kTrackDescriptor, track);
      packet(content);
    }
    Protobuf event, content;
    event.number(9, 4);  // TYPE_COUNTER
    event.number(11, it->second);
    const Value value = value_of(field, record.bytes);
    if (value.kind == Value::Kind::Float)
      event.real(44, as_double(value));  // double_counter_value
    else
      event.signed_number(30, static_cast<std::int64_t>(value.number));
    content.number(kTimestamp, record.time_ns);
    content.number(kClockId, kMonotonic);
    content.message(kTrackEvent, event);
    packet(content);
  }
}

Result<void> PerfettoWriter::add(const TypedRecord& record) {
  if (record.cpu >= bundles_.size()) bundles_.resize(record.cpu + 1);
  describe_thread(record);
  Protobuf event;
  event.number(1, record.time_ns);
  event.number(2, static_cast<std::uint32_t>(record.pid));
  event.message(327, generic_event(record));
  Bundle& bundle = bundles_[record.cpu];
  bundle.events.message(2, event);
  if (++bundle.count == kBundle) end_bundle(record.cpu);
  if (const auto call = calls_.add(record)) add_slice(record, *call);
  add_counters(record);
  return file_.flush_if_long();
}

Result<void> PerfettoWriter::flush() {
  for (std::uint32_t cpu = 0; cpu < bundles_.size(); ++cpu) end_bundle(cpu);
  return file_.flush();
}

Result<void> PerfettoWriter::finish() { return flush(); }

Result<std::unique_ptr<RecordWriter>> create_perfetto(const std::string& path, const Metadata& metadata) {
  auto file = KEVT_TRY(OutputFile::create(path));
  if (isatty(file.fd()))
    return std::unexpected(Error(file.path() + " is a terminal, and perfetto's format is binary; name a file with -o"));
  return std::make_unique<PerfettoWriter>(std::move(file), metadata);
}

}  // namespace kevt::record
