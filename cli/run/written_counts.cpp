#include "cli/run/written_counts.h"

#include <sys/mman.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tracefs-compat/record/recording.h"

namespace kevt::cli {

namespace {

// Of events that the reader makes no code knows how many there were.
void set_recorded_of(const engine::TracedEvent& event, engine::EventState& state, std::uint64_t recorded) {
  if (event.is_made_by_reader() && state.recorded > recorded) state.lost += state.recorded - recorded;
  state.recorded = recorded;
}

void store(std::uint64_t& word, std::uint64_t value) { std::atomic_ref(word).store(value, std::memory_order_relaxed); }
std::uint64_t load(std::uint64_t& word) { return std::atomic_ref(word).load(std::memory_order_relaxed); }

using RecordCounts = std::map<std::pair<std::string, std::string>, std::uint64_t>;  // by group and name of the event

// nullopt: the file cannot be read.
std::optional<RecordCounts> count_records(const std::string& file) {
  const auto reader = record::open_recording(file);
  if (!reader) return std::nullopt;
  std::unordered_map<const record::EventFormat*, std::uint64_t> counts;
  record::TypedRecord record;
  while ((*reader)->next(record)) ++counts[record.event];
  RecordCounts out;
  for (const auto& [format, count] : counts) out[{format->system, format->name}] += count;
  return out;
}

engine::EventState& state_of(const InstanceOutput& output, const engine::TracedEvent* event) {
  return output.instance().state_of(event->id);
}

}  // namespace

void WrittenCounts::unmap() {
  if (shared_) munmap(shared_, bytes_);
  shared_ = nullptr;
}

std::uint64_t* WrittenCounts::words_of(std::size_t output) const {
  std::size_t events = 0;
  for (std::size_t i = 0; i < output; ++i) events += outputs_[i].events().size();
  return shared_ + kHead + events * kWords;
}

void WrittenCounts::share(std::uint64_t intervals) {
  unmap();
  std::size_t events = 0;
  for (const InstanceOutput& one : outputs_) events += one.events().size();
  bytes_ = (kHead + events * kWords) * sizeof(std::uint64_t);
  void* const shared = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return;
  shared_ = static_cast<std::uint64_t*>(shared);
  for (std::size_t i = 0; i < outputs_.size(); ++i) note(i);
  note_intervals(intervals);
}

void WrittenCounts::note(std::size_t output) {
  if (!shared_) return;
  std::uint64_t taken = 0;
  for (const InstanceOutput& one : outputs_) taken += one.taken();
  store(shared_[kTaken], taken);
  std::uint64_t* words = words_of(output);
  for (const engine::TracedEvent* event : outputs_[output].events()) {
    const engine::EventState& state = state_of(outputs_[output], event);
    store(words[kRecorded], state.recorded);
    store(words[kFiltered], state.filtered);
    store(words[kLost], state.lost);
    words += kWords;
  }
}

void WrittenCounts::note_intervals(std::uint64_t intervals) {
  if (shared_) store(shared_[kIntervals], intervals);
}

void WrittenCounts::take_over(std::size_t output, bool recorded) {
  if (!shared_) return;
  std::uint64_t* words = words_of(output);
  for (const engine::TracedEvent* event : outputs_[output].events()) {
    engine::EventState& state = state_of(outputs_[output], event);
    if (recorded) state.recorded = load(words[kRecorded]);
    state.filtered = load(words[kFiltered]);
    state.lost = load(words[kLost]);
    words += kWords;
  }
}

void WrittenCounts::recount(std::size_t output, const std::string& file) {
  const auto counts = shared_ ? count_records(file) : std::nullopt;
  if (!counts) return;
  std::uint64_t* words = words_of(output);
  for (const engine::TracedEvent* event : outputs_[output].events()) {
    std::uint64_t& recorded = state_of(outputs_[output], event).recorded;
    recorded -= load(words[kRecorded]);
    const auto in_file = counts->find({event->group, event->name});
    if (in_file != counts->end()) recorded += in_file->second;
    words += kWords;
  }
}

void WrittenCounts::set_recorded(std::size_t output, const std::vector<std::string>& files) {
  RecordCounts sum;
  for (const std::string& file : files) {
    const auto counts = count_records(file);
    if (!counts) return;
    for (const auto& [event, count] : *counts) sum[event] += count;
  }
  for (const engine::TracedEvent* event : outputs_[output].events())
    set_recorded_of(*event, state_of(outputs_[output], event), sum[{event->group, event->name}]);
}

std::uint64_t WrittenCounts::taken() const { return shared_ ? load(shared_[kTaken]) : 0; }
std::uint64_t WrittenCounts::intervals() const { return shared_ ? load(shared_[kIntervals]) : 0; }

std::string rest_of(const std::string& file) {
  std::error_code failed;
  std::filesystem::path path = std::filesystem::canonical(file, failed);
  if (failed || !std::filesystem::is_symlink(file, failed)) path = file;
  return (path.parent_path() / (path.stem().string() + ".rest" + path.extension().string())).string();
}

}  // namespace kevt::cli
