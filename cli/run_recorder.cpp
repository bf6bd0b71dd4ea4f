// Records of a run → typed records → a writer.
//
// One source: its rings are read CPU by CPU where the writer takes that (trace.dat: per-CPU pages), merged by time
// otherwise. Several: a CPU's records come from several rings, so they always wait until nothing older can come. An
// address that is recorded as a place or a symbol is looked up once, while the process still has its maps.
#include "cli/run_recorder.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "compiler/layout/layout.h"
#include "runtime-user/engine/symbol_text.h"

namespace kevt::cli {
namespace {

constexpr std::size_t kMaxSymbols = 200'000;

std::int64_t clock_ns(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string host_text() {
  utsname name = {};
  uname(&name);
  return fmt::format("{} {} {} {}", name.sysname, name.nodename, name.release, name.machine);
}

}  // namespace

Result<std::unique_ptr<RunRecorder>> RunRecorder::create(std::vector<RecordSource> sources, const MakeWriter& make) {
  std::unique_ptr<RunRecorder> made(new RunRecorder(std::move(sources)));
  if (auto described = made->describe(); !described) return std::unexpected(std::move(described.error()));
  auto writer = make(made->metadata_);
  if (!writer) return std::unexpected(std::move(writer.error()));
  made->writer_ = std::move(*writer);
  return made;
}

Result<void> RunRecorder::describe() {
  metadata_.clock = "mono";
  metadata_.wall_offset_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
  metadata_.cpus = sources_.front().env->possible_cpus();
  metadata_.host = host_text();
  metadata_.maker = "kevtrace " KEVT_VERSION;
  for (const engine::Event& event : sources_.front().engine->events()) {
    auto format = record::parse_format(event.group, layout::format_text(event.definition, event.layout, event.id));
    if (!format) return std::unexpected(std::move(format.error()));
    for (const std::string& line : event.listings) metadata_.definitions.push_back(line);
    if (event.filter) metadata_.filters.push_back(fmt::format("{}/{}: {}", event.group, event.name, *event.filter));
    if (by_id_.empty()) first_id_ = event.id;
    EventFields fields{.format = &metadata_.formats.add(std::move(*format)), .event = &event};
    fields.has_symbol_text = engine::has_symbol_text(event.layout);
    for (const record::Field& field : fields.format->fields) {
      const auto it = std::ranges::find(event.layout.fields, field.name, &model::RecordField::name);
      const bool is_symbol = it != event.layout.fields.end() && it->type.kind == model::TypeKind::Symbol;
      if (is_symbol || field.role != record::PlaceRole::None) fields.symbols.push_back({&field});
    }
    by_id_.resize(std::max<std::size_t>(by_id_.size(), event.id - first_id_ + 1));
    by_id_[event.id - first_id_] = std::move(fields);
  }
  return {};
}

void RunRecorder::note_symbols(const RecordSource& source, EventFields& fields, std::span<const std::uint8_t> bytes) {
  for (SymbolField& one : fields.symbols) {
    const std::uint64_t address = record::value_of(*one.field, bytes).number;
    if (address == one.last || seen_.size() >= kMaxSymbols) continue;
    one.last = address;
    if (!seen_.insert(address).second) continue;
    if (const auto symbol = source.env->symbolize(address))
      metadata_.symbols.add({symbol->address, symbol->size, symbol->name, symbol->module});
  }
}

void RunRecorder::give(const RecordSource& source, const runtime::Record& from) {
  std::uint16_t id = 0;
  if (!failed_ || from.bytes.size() < model::kCommonBytes) return;
  std::memcpy(&id, from.bytes.data(), sizeof id);
  if (id < first_id_ || id - first_id_ >= by_id_.size()) return;
  EventFields& fields = by_id_[id - first_id_];
  if (!fields.format) return;
  record::TypedRecord record{.event = fields.format, .time_ns = from.timestamp_ns, .cpu = from.cpu, .comm = from.comm};
  std::memcpy(&record.pid, from.bytes.data() + 4, sizeof record.pid);
  if (record.pid != last_pid_ || from.comm != last_comm_) {
    last_pid_ = record.pid;
    last_comm_ = from.comm;
    metadata_.comms.insert_or_assign(record.pid, last_comm_);
  }
  record.bytes = from.bytes;
  std::vector<std::uint8_t> complete;
  if (fields.has_symbol_text) {
    complete = engine::expand_symbol_texts(fields.event->layout, from.bytes, *source.env);
    record.bytes = complete;
  }
  note_symbols(source, fields, record.bytes);
  failed_ = writer_->add(record);
  if (failed_) ++given_;
}

std::uint64_t RunRecorder::read_merged(ReadRound round, std::uint64_t limit) {
  const auto until = round == ReadRound::Last ? ~0ull : static_cast<std::uint64_t>(clock_ns(CLOCK_MONOTONIC));
  for (const RecordSource& source : sources_)
    source.drain([&](const runtime::Record& record) {
      waiting_.push_back({&source,
                          record.timestamp_ns,
                          record.cpu,
                          std::string(record.comm),
                          {record.bytes.begin(), record.bytes.end()}});
    });
  std::ranges::stable_sort(waiting_, {}, &Waiting::time_ns);
  std::size_t taken = 0;
  for (; taken < waiting_.size() && waiting_[taken].time_ns <= until; ++taken) {
    const Waiting& one = waiting_[taken];
    if (taken < limit) give(*one.source, {0, one.time_ns, one.cpu, one.comm, one.bytes});
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(taken));
  return std::min<std::uint64_t>(taken, limit);
}

Result<std::uint64_t> RunRecorder::read(ReadRound round, std::uint64_t limit) {
  const std::uint64_t before = given_;
  if (sources_.size() > 1) {
    read_merged(round, limit);
  } else {
    const RecordSource& source = sources_.front();
    const auto take = [&](const runtime::Record& record) {
      if (given_ - before < limit) give(source, record);
    };
    // With a limit the first records are meant, not those of the first CPU.
    const bool merged = writer_->wants_order() || limit != ~0ull || !source.drain_by_cpu;
    (merged ? source.drain : source.drain_by_cpu)(take);
  }
  if (!failed_) return std::unexpected(failed_.error());
  return given_ - before;
}

Result<void> RunRecorder::finish() {
  for (std::size_t i = 0; i < sources_.front().engine->events().size(); ++i) {
    const engine::Event& event = sources_.front().engine->events()[i];
    runtime::EventCounts c;
    for (const RecordSource& source : sources_) c += source.engine->counts(source.engine->events()[i]);
    metadata_.totals.push_back({.event = event.group + "/" + event.name,
                                .attempts = c.attempts,
                                .recorded = c.recorded,
                                .filtered = c.filtered,
                                .lost = c.lost,
                                .missed = c.missed,
                                .faults = c.faults,
                                .sees_misses = sources_.front().sees_misses});
  }
  return writer_->finish();
}

}  // namespace kevt::cli
