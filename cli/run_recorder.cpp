// Records of a run → typed records → a writer.
//
// One source: its rings are read CPU by CPU where the writer takes that (trace.dat: per-CPU pages), merged by time
// otherwise. Several: a CPU's records come from several rings, so they always wait until nothing older can come. An
// address that is recorded as a place or a symbol is looked up once, in what was kept of the process's files. Code
// without a symbol, in a stack or as a place, is called by its file and the offset there: the same in every run.
#include "cli/run_recorder.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>

#include "common/assert.h"
#include "common/proc.h"
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

// As trace-cmd and KernelShark know stacks: a record of its own behind the event's. (kernel/trace/trace_entries.h)
constexpr std::size_t kStackFrames = 127, kStackHead = 16;
constexpr std::string_view kStackFormat =
    "name: kernel_stack\nID: 4\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
    "\tfield:unsigned long caller[127];\toffset:16;\tsize:1016;\tsigned:0;\n\n"
    "print fmt: \"\\t=> %ps\", (void *)REC->caller[0]\n";

// Files that are mapped executable.
std::vector<record::Process::Mapping> code_of(std::int32_t pid) {
  std::vector<record::Process::Mapping> out;
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    record::Process::Mapping one;
    const auto dash = line.find('-'), space = line.find(' '), path = line.find('/');
    if (dash > space || path == std::string::npos || line.compare(space + 3, 1, "x") != 0) continue;
    std::from_chars(line.data(), line.data() + dash, one.begin, 16);
    std::from_chars(line.data() + dash + 1, line.data() + space, one.end, 16);
    one.path = line.substr(path);
    out.push_back(std::move(one));
  }
  return out;
}

// Whose thread it is; nullopt: it is gone.
std::optional<std::int32_t> process_of(std::int32_t thread) {
  std::ifstream file(fmt::format("/proc/{}/status", thread));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Tgid:")) return std::stoi(line.substr(5));
  return std::nullopt;
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
  for (const engine::Event& event : sources_.front().engine->events())
    if (auto described = describe(event); !described) return described;
  for (const RecordSource& source : sources_) describe_process(source);
  return {};
}

// A process that has become another program keeps the symbols of what it was.
void RunRecorder::describe_process(const RecordSource& source) {
  if (!source.pid) return;
  record::Process& process = metadata_.processes[source.pid];
  process.name = proc::comm(source.pid);
  process.mappings = code_of(source.pid);
}

void RunRecorder::add(const RecordSource& source) {
  sources_.push_back(source);
  merges_ = true;
  describe_process(source);
}

bool RunRecorder::awaits(const engine::Engine& source) const {
  return waiting_.any_waits([&](const Waiting& one) { return one.source->engine == &source; });
}

void RunRecorder::remove(const engine::Engine& source) {
  const auto it = std::ranges::find(sources_, &source, &RecordSource::engine);
  KEVT_ASSERT(it != sources_.end() && it != sources_.begin());
  std::erase_if(seen_, [&](const auto& seen) { return seen.first == &*it; });
  for (EventFields& fields : by_id_)
    for (SymbolField& field : fields.symbols)
      if (field.of == &*it) field.of = nullptr;
  sources_.erase(it);
}

Result<void> RunRecorder::describe(const engine::Event& event) {
  auto stack = engine::StackSamples::of(event.layout);
  const bool is_sampled = stack.has_value();
  const model::Definition definition = is_sampled ? stack->definition(event.definition) : event.definition;
  const model::RecordLayout& record_layout = is_sampled ? stack->layout() : event.layout;
  auto format = record::parse_format(event.group, layout::format_text(definition, record_layout, event.id));
  if (!format) return std::unexpected(std::move(format.error()));
  for (const std::string& line : event.listings)
    metadata_.definitions.push_back(is_sampled ? engine::without_stack_sample(line) : line);
  if (event.filter) metadata_.filters.push_back(fmt::format("{}/{}: {}", event.group, event.name, *event.filter));
  if (by_id_.empty()) first_id_ = event.id;
  EventFields fields{.format = &metadata_.formats.add(std::move(*format)), .event = &event, .stack = {}, .symbols = {}};
  fields.has_symbol_text = engine::has_symbol_text(event.layout);
  for (const record::Field& field : fields.format->fields) {
    const auto it = std::ranges::find(event.layout.fields, field.name, &model::RecordField::name);
    const bool is_symbol = it != event.layout.fields.end() && it->type.kind == model::TypeKind::Symbol;
    if (is_symbol || field.role != record::PlaceRole::None) fields.symbols.push_back({&field});
  }
  if (is_sampled) fields.stack = std::move(stack);
  by_id_.resize(std::max<std::size_t>(by_id_.size(), event.id - first_id_ + 1));
  by_id_[event.id - first_id_] = std::move(fields);
  if (!is_sampled || stack_format_) return {};
  auto stacks = record::parse_format("ftrace", kStackFormat);
  if (!stacks) return std::unexpected(std::move(stacks.error()));
  stack_format_ = &metadata_.formats.add(std::move(*stacks));
  return {};
}

void RunRecorder::note_symbols(const RecordSource& source, EventFields& fields, std::span<const std::uint8_t> bytes) {
  for (SymbolField& one : fields.symbols) {
    const std::uint64_t address = record::value_of(*one.field, bytes).number;
    if (address == one.last && &source == one.of) continue;
    one.last = address;
    one.of = &source;
    note_symbol(source, address,
                one.field->role == record::PlaceRole::None ? Nameless::StaysAddress : Nameless::InFile);
  }
}

// Several processes: an address means something else in each.
void RunRecorder::note_symbol(const RecordSource& source, std::uint64_t address, Nameless nameless) {
  if (seen_.size() >= kMaxSymbols || !seen_.emplace(&source, address).second) return;
  const auto found = source.env->symbolize(address);
  const auto file = found || nameless == Nameless::StaysAddress ? std::nullopt : source.env->place_name(address);
  if (!found && !file) return;
  const record::Symbol symbol = file ? record::place_symbol(address, *file)
                                     : record::Symbol{found->address, found->size, found->name, found->module};
  metadata_.symbols.add(symbol);
  if (source.pid) metadata_.processes[source.pid].symbols.add(symbol);
}

// Once for each thread, while it can still be asked: children that were forked are processes of their own.
void RunRecorder::note_process(const RecordSource& source, std::int32_t thread) {
  if (!source.pid || metadata_.process_of.size() >= kMaxSymbols) return;
  const auto [it, is_new] = metadata_.process_of.try_emplace(thread, source.pid);
  if (is_new) it->second = process_of(thread).value_or(source.pid);
}

// Behind the record of the event, at the same time on the same CPU.
void RunRecorder::give_stack(const RecordSource& source, const engine::StackSamples& samples,
                             const record::TypedRecord& of, std::span<const std::uint8_t> bytes) {
  if (!source.unwinder || !failed_) return;
  const auto frames = source.unwinder->unwind(samples.sample(bytes));
  const std::size_t count = std::min<std::size_t>(frames.size(), kStackFrames);
  stack_.assign(kStackHead + count * sizeof frames[0], 0);
  std::memcpy(stack_.data(), bytes.data(), model::kCommonBytes);
  const std::uint16_t id = static_cast<std::uint16_t>(stack_format_->id);
  const auto size = static_cast<std::int32_t>(count);
  std::memcpy(stack_.data(), &id, sizeof id);
  std::memcpy(stack_.data() + model::kCommonBytes, &size, sizeof size);
  std::memcpy(stack_.data() + kStackHead, frames.data(), count * sizeof frames[0]);
  for (std::size_t i = 0; i < count; ++i) note_symbol(source, frames[i], Nameless::InFile);
  record::TypedRecord stack = of;
  stack.event = stack_format_;
  stack.bytes = stack_;
  stack.lost_before = 0;
  failed_ = writer_->add(stack);
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
    note_process(source, record.pid);
  }
  record.bytes = from.bytes;
  std::vector<std::uint8_t> complete;
  if (fields.has_symbol_text) {
    complete = engine::expand_symbol_texts(fields.event->layout, from.bytes, *source.env);
    record.bytes = complete;
  }
  if (fields.stack) {
    complete = fields.stack->public_record(record.bytes);
    record.bytes = complete;
  }
  note_symbols(source, fields, record.bytes);
  failed_ = writer_->add(record);
  if (failed_) ++given_;
  if (fields.stack) give_stack(source, *fields.stack, record, from.bytes);
}

std::uint64_t RunRecorder::read_merged(ReadRound round, std::uint64_t limit) {
  const auto until = round == ReadRound::Last ? ~0ull : static_cast<std::uint64_t>(clock_ns(CLOCK_MONOTONIC));
  for (const RecordSource& source : sources_)
    source.drain([&](const runtime::Record& record) {
      waiting_.add(record.timestamp_ns,
                   {&source, record.cpu, std::string(record.comm), {record.bytes.begin(), record.bytes.end()}});
    });
  std::uint64_t given = 0;  // what comes behind the limit is not wanted
  waiting_.take(until, [&](std::uint64_t time_ns, const Waiting& one) {
    if (given == limit) return;
    give(*one.source, {0, time_ns, one.cpu, one.comm, one.bytes});
    ++given;
  });
  return given;
}

Result<std::uint64_t> RunRecorder::read(ReadRound round, std::uint64_t limit) {
  const std::uint64_t before = given_;
  if (merges_) {
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

std::uint64_t RunRecorder::overwritten(std::size_t event) const {
  return writer_->overwritten(static_cast<std::uint16_t>(sources_.front().engine->events()[event].id));
}

std::uint64_t RunRecorder::overwritten() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < sources_.front().engine->events().size(); ++i) sum += overwritten(i);
  return sum;
}

Result<void> RunRecorder::finish(const std::function<runtime::EventCounts(std::size_t)>& counts) {
  for (auto& [pid, process] : metadata_.processes)
    if (auto now = code_of(pid); now.size() > process.mappings.size()) process.mappings = std::move(now);
  for (std::size_t i = 0; i < sources_.front().engine->events().size(); ++i) {
    const engine::Event& event = sources_.front().engine->events()[i];
    const runtime::EventCounts c = counts(i);
    metadata_.totals.push_back({.event = event.group + "/" + event.name,
                                .attempts = c.attempts,
                                .recorded = c.recorded,
                                .filtered = c.filtered,
                                .lost = c.lost,
                                .missed = c.missed,
                                .faults = c.faults,
                                .sees_misses = sources_.front().sees_misses,
                                .overwritten = overwritten(i)});
  }
  return writer_->finish();
}

}  // namespace kevt::cli
