// Records of a run → typed records → a writer.
//
// Each address that is recorded as a place or symbol is looked up once, in the kept files of its process. Code without
// a symbol, in a stack or as a place, is named by its file and the offset there, which is the same in every run.
#include "runtime-user/session/recorder.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>

#include "common/assert.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/proc.h"
#include "common/process_choice.h"
#include "common/random_id.h"
#include "compiler/layout/layout.h"
#include "compiler/model/record_view.h"
#include "runtime-user/engine/text/symbol_text.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/session/kernel_formats.h"

namespace kevt::session {
namespace {

constexpr std::size_t kMaxSymbols = 200'000;
constexpr std::size_t kMostHistogramBytes = 16u << 20;  // an option of a trace.dat is read up to 64 MiB

// The form of stacks that trace-cmd and KernelShark know: a separate record behind the event's.
// (kernel/trace/trace_entries.h)
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

// The process's executable mappings of files.
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

// The process of a thread; nullopt: the thread has ended.
std::optional<std::int32_t> process_of(std::int32_t thread) {
  std::ifstream file(fmt::format("/proc/{}/status", thread));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Tgid:")) return std::stoi(line.substr(5));
  return std::nullopt;
}

// The text of a static event's format file.
const std::string& format_of(const engine::StaticEvents& statics, std::uint32_t id) {
  const auto it = std::ranges::lower_bound(statics.all(), id, {}, &engine::StaticEvent::id);
  KEVT_ASSERT(it != statics.all().end() && it->id == id);
  return it->format;
}

std::string host_text() {
  utsname name = {};
  uname(&name);
  return fmt::format("{} {} {} {}", name.sysname, name.nodename, name.release, name.machine);
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::create(engine::Tracing& tracing, const engine::Instance& instance,
                                                   std::span<const engine::TracedEvent* const> events,
                                                   const MakeWriter& make, std::string_view id_begin) {
  std::unique_ptr<Recorder> made(new Recorder(tracing, instance));
  KEVT_TRY(made->describe(events));
  if (std::string& id = made->metadata_.new_identity.id; !id.empty()) id.replace(0, id_begin.size(), id_begin);
  made->writer_ = KEVT_TRY(make(made->metadata_));
  return made;
}

Result<void> Recorder::describe(std::span<const engine::TracedEvent* const> events) {
  metadata_.clock = "mono";
  metadata_.new_identity.id = random_id();
  metadata_.wall_offset_ns = static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME) - now_ns());
  metadata_.boot = proc::boot_id();
  metadata_.cpus = tracing_.options().cpus;
  metadata_.host = host_text();
  metadata_.maker = "kevtrace " KEVT_VERSION;
  for (const engine::TracedEvent* event : events) KEVT_TRY(describe(*event));
  if (std::ranges::any_of(events, &engine::TracedEvent::is_static)) describe_strings();
  for (const engine::TracedTarget* target : tracing_.code().targets()) describe_process(*target);
  return instance_.records_stacks() ? describe_stacks() : Result<void>();
}

// Symbols noted before an exec stay.
void Recorder::describe_process(const engine::TracedTarget& target) {
  if (!target.pid()) return;
  record::Process& process = metadata_.processes[target.pid()];
  process.name = proc::comm(target.pid());
  process.container = proc::container_of(target.pid());
  process.mappings = code_of(target.pid());
}

void Recorder::remove(const engine::TracedTarget& target) {
  std::erase_if(seen_, [&](const auto& seen) { return seen.first == &target; });
  for (EventFields& fields : events_)
    for (SymbolField& field : fields.symbols)
      if (field.of == &target) field.of = nullptr;
}

// Records of static events may hold addresses of the kernel's printk strings.
void Recorder::describe_strings() {
  if (const UniqueFd tracefs = open_tracefs())
    metadata_.symbols.parse_printk_formats(text_in(tracefs.get(), "printk_formats"));
}

Result<void> Recorder::describe(const engine::TracedEvent& event) {
  const std::string text = event.is_static()
                               ? format_of(*tracing_.code().static_events(), event.id)
                               : layout::format_text(event.probes.front().definition(), event.layout, event.id);
  auto format = KEVT_TRY(record::parse_format(event.group, text));
  for (const engine::EventProbe& probe : event.probes) metadata_.definitions.push_back(probe.listing);
  if (const engine::EventState* state = instance_.find_state(event.id); state && state->filter_text)
    metadata_.filters.push_back(fmt::format("{}/{}: {}", event.group, event.name, *state->filter_text));
  EventFields fields{.format = &metadata_.formats.add(std::move(format)), .event = &event, .symbols = {}};
  fields.has_symbol_text = !event.is_static() && engine::has_symbol_text(event.layout);
  for (const record::Field& field : fields.format->fields) {
    const auto it = std::ranges::find(event.layout.fields, field.name, &model::RecordField::name);
    const bool is_symbol = it != event.layout.fields.end() && it->type.kind == model::TypeKind::Symbol;
    if (is_symbol || field.role != record::PlaceRole::None) fields.symbols.push_back({&field});
  }
  if (by_id_.size() <= event.id) by_id_.resize(event.id + 1);
  events_.push_back(std::move(fields));
  by_id_[event.id] = static_cast<std::uint16_t>(events_.size());
  return {};
}

Result<void> Recorder::describe_stacks() {
  auto stacks = KEVT_TRY(record::parse_format("ftrace", kStackFormat));
  stack_format_ = &metadata_.formats.add(std::move(stacks));
  return {};
}

void Recorder::note_symbols(const engine::TracedTarget& target, EventFields& fields,
                            std::span<const std::uint8_t> bytes) {
  for (SymbolField& one : fields.symbols) {
    const std::uint64_t address = model::number_at(bytes, one.field->offset, one.field->item_bytes);
    if (address == one.last && &target == one.of) continue;
    one.last = address;
    one.of = &target;
    note_symbol(target, address,
                one.field->role == record::PlaceRole::None ? Nameless::StaysAddress : Nameless::InFile);
  }
}

// Noted by process, too: an address means something else in each process.
void Recorder::note_symbol(const engine::TracedTarget& target, std::uint64_t address, Nameless nameless) {
  if (seen_.size() >= kMaxSymbols || !seen_.emplace(&target, address).second) return;
  const auto found = target.known_env().symbolize(address);
  const auto file = found || nameless == Nameless::StaysAddress ? std::nullopt : target.known_env().place_name(address);
  if (!found && !file) return;
  const record::Symbol symbol = file ? record::place_symbol(address, *file)
                                     : record::Symbol{found->address, found->size, found->name, found->module};
  metadata_.symbols.add(symbol);
  if (target.pid()) metadata_.processes[target.pid()].symbols.add(symbol);
}

// Notes once which process a thread belongs to, while it still runs: a forked child is a process of its own.
void Recorder::note_process(const engine::TracedTarget& target, std::int32_t thread) {
  if (!target.pid() || metadata_.process_of.size() >= kMaxSymbols) return;
  const auto [it, is_new] = metadata_.process_of.try_emplace(thread, target.pid());
  if (!is_new) return;
  it->second = process_of(thread).value_or(target.pid());
  const std::string container = metadata_.processes[target.pid()].container;
  if (container.empty() || metadata_.processes.contains(it->second)) return;
  metadata_.processes[it->second].name = proc::comm(it->second);  // a forked child
  metadata_.processes[it->second].container = container;
}

Result<void> Recorder::give(const engine::TracedEvent& event, engine::TracedTarget& target,
                            const runtime::Record& from) {
  if (event.id >= by_id_.size() || !by_id_[event.id] || from.bytes.size() < model::kCommonBytes) return {};
  EventFields& fields = events_[by_id_[event.id] - 1u];
  record::TypedRecord record{.event = fields.format, .time_ns = from.timestamp_ns, .cpu = from.cpu, .comm = from.comm};
  record.pid = model::pid_of(from.bytes);
  if (record.pid != last_pid_ || from.comm != last_comm_) {
    last_pid_ = record.pid;
    last_comm_ = from.comm;
    metadata_.comms.insert_or_assign(record.pid, last_comm_);
    note_process(target, record.pid);
  }
  record.bytes = from.bytes;
  std::vector<std::uint8_t> complete;
  if (fields.has_symbol_text) {
    complete = engine::expand_symbol_texts(event.layout, from.bytes, target.known_env());
    record.bytes = complete;
  }
  note_symbols(target, fields, record.bytes);
  return writer_->add(record);
}

// The stack becomes a record behind the event's, with the same time and CPU.
Result<void> Recorder::give_stack(engine::TracedTarget& target, const runtime::Record& of,
                                  std::span<const std::uint64_t> frames) {
  if (!stack_format_) return {};
  const std::size_t count = std::min<std::size_t>(frames.size(), kStackFrames);
  stack_.assign(kStackHead + count * sizeof frames[0], 0);
  std::memcpy(stack_.data(), of.bytes.data(), model::kCommonBytes);
  const std::uint16_t id = static_cast<std::uint16_t>(stack_format_->id);
  const auto size = static_cast<std::int32_t>(count);
  std::memcpy(stack_.data(), &id, sizeof id);
  std::memcpy(stack_.data() + model::kCommonBytes, &size, sizeof size);
  std::memcpy(stack_.data() + kStackHead, frames.data(), count * sizeof frames[0]);
  for (std::size_t i = 0; i < count; ++i) note_symbol(target, frames[i], Nameless::InFile);
  return writer_->add({.event = stack_format_,
                       .time_ns = of.timestamp_ns,
                       .cpu = of.cpu,
                       .pid = model::pid_of(of.bytes),
                       .comm = of.comm,
                       .bytes = stack_});
}

void Recorder::go_on_from(const Recorder& other) {
  metadata_.new_identity.rest_of = other.metadata_.new_identity.id;
  metadata_.histograms = other.metadata_.histograms;
  histogram_bytes_ = other.histogram_bytes_;
  histograms_left_out_ = other.histograms_left_out_;
  unwritten_ = other.unwritten_;
  metadata_.comms.insert(other.metadata_.comms.begin(), other.metadata_.comms.end());
  metadata_.process_of.insert(other.metadata_.process_of.begin(), other.metadata_.process_of.end());
}

void Recorder::add_histograms(record::HistogramReading reading) {
  if (writer_->takes_histograms()) return unwritten_.push_back(std::move(reading));
  const auto bytes_of = [](const record::HistogramReading& one) {
    std::size_t bytes = one.text.size();
    for (const std::string& object : one.objects) bytes += object.size();
    return bytes;
  };
  auto& kept = metadata_.histograms;
  histogram_bytes_ += bytes_of(reading);
  kept.push_back(std::move(reading));
  while (histogram_bytes_ > kMostHistogramBytes) {
    histogram_bytes_ -= bytes_of(kept.front());
    kept.erase(kept.begin());
    ++histograms_left_out_;
  }
}

std::uint64_t Recorder::overwritten(const engine::TracedEvent& event) const {
  return writer_->overwritten(static_cast<std::uint16_t>(event.id));
}

std::uint64_t Recorder::overwritten() const {
  std::uint64_t sum = 0;
  for (const EventFields& fields : events_) sum += overwritten(*fields.event);
  return sum;
}

std::vector<Recorder::CountTrigger> Recorder::count_triggers() const {
  std::vector<CountTrigger> triggers;
  for (const record::CountWish& wish : writer_->count_wishes(record::CountedBy::Histogram)) {
    const auto fields = std::ranges::find(events_, wish.event, &EventFields::format);
    KEVT_ASSERT(fields != events_.end());
    std::string text = wish.is_of_stacks ? "hist:keys=common_comm,stacktrace.full"
                                         : fmt::format("hist:keys={}.loglinear{}:vals={}", wish.field,
                                                       wish.by.empty() ? "" : "," + wish.by, wish.field);
    const engine::EventState* const state = instance_.find_state(fields->event->id);
    if (state && state->filter_text) text += " if " + *state->filter_text;
    triggers.push_back({fields->event, std::move(text), wish.is_of_stacks});
  }
  return triggers;
}

void Recorder::give_counts(std::span<const engine::HistSnapshot> snapshots) {
  for (const EventFields& fields : events_)
    for (const engine::HistSnapshot& snapshot : snapshots) {
      if (snapshot.event != fields.event->group + ':' + fields.event->name) continue;
      counted_ += snapshot.hits;
      if (snapshot.trigger.histogram.keys.back().modifier == model::HistModifier::Full) {
        give_stacks(snapshot);
        continue;
      }
      std::vector<record::CountedBucket> buckets;
      for (const engine::HistSnapshot::Row& row : snapshot.rows) {
        record::CountedBucket bucket{.from = row.keys[0].number,
                                     .to = model::log_linear_end(row.keys[0].number),
                                     .hits = row.hits,
                                     .sum = row.values[0]};
        if (row.keys.size() > 1) {
          bucket.by = row.keys[1].number;
          bucket.by_text = row.keys[1].text;
        }
        buckets.push_back(bucket);
      }
      writer_->take_counts(*fields.format, buckets, snapshot.dropped);
    }
}

// Of one process (RunTrace::count_instead).
void Recorder::give_stacks(const engine::HistSnapshot& snapshot) {
  const engine::TracedTarget& target = *tracing_.code().targets().front();
  std::vector<record::CountedStack> stacks;
  for (const engine::HistSnapshot::Row& row : snapshot.rows) {
    const std::vector<std::uint64_t>& addresses = row.keys[1].addresses;
    for (const std::uint64_t address : addresses) note_symbol(target, address, Nameless::InFile);
    stacks.push_back({.comm = row.keys[0].text, .pid = target.pid(), .addresses = addresses, .hits = row.hits});
  }
  writer_->take_stacks(stacks, snapshot.dropped);
}

void Recorder::add_totals() {
  for (auto& [pid, process] : metadata_.processes)
    if (auto now = code_of(pid); now.size() > process.mappings.size()) process.mappings = std::move(now);
  metadata_.totals.clear();
  for (const EventFields& fields : events_) {
    const engine::TracedEvent& event = *fields.event;
    const runtime::EventCounts c = tracing_.records().counts(instance_, event);
    metadata_.totals.push_back({.event = event.group + "/" + event.name,
                                .attempts = c.attempts,
                                .recorded = c.recorded,
                                .filtered = c.filtered,
                                .lost = c.lost,
                                .missed = c.missed,
                                .faults = c.faults,
                                .sees_misses = tracing_.code().sees_misses(event),
                                .overwritten = overwritten(event),
                                .aggregated = c.aggregated});
  }
}

void Recorder::write_histograms() {
  for (const record::HistogramReading& one : unwritten_) writer_->add_histograms(one);
  unwritten_.clear();
}

Result<void> Recorder::finish() {
  write_histograms();
  add_totals();
  return writer_->finish();
}

Result<bool> Recorder::finish_as_it_is() {
  add_totals();
  return writer_->finish_as_it_is();
}

}  // namespace kevt::session
