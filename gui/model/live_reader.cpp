// Live records: per_cpu/cpuN/trace_pipe_raw, the pages of the ring buffer as they are.
//
// Problem: each CPU's pages are in order, the CPUs among each other are not. Idea: one round reads all of them, sorts
// what came, and hands it on; a record that a CPU gives out later than a newer one of another was handed on is shown at
// that one's time, which is at most a round away. Formats are read when a record of an unknown number comes, names of
// tasks when an unknown task does, symbols when an address is seen first.
#include "gui/model/live_reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "compiler/layout/ring_page.h"

namespace kevt::gui {
namespace {

constexpr std::size_t kPageBytes = layout::kRingPageBytes;
constexpr int kMaxPagesOfRound = 1024;  // of one CPU: 4 MiB
constexpr std::size_t kMaxSymbols = 20'000;
constexpr std::size_t kMaxComms = 200'000;

}  // namespace

Result<std::size_t> LiveReader::poll(tree::TracingDir& directory) {
  if (cpus_.empty()) {
    auto cpus = directory.list("per_cpu");
    if (!cpus) return std::unexpected(cpus.error());
    for (const tree::DirectoryEntry& cpu : *cpus)
      if (cpu.name.starts_with("cpu")) cpus_.push_back(cpu.name);
  }
  pending_.clear();
  bytes_.clear();
  for (const std::string& cpu : cpus_) {
    std::uint32_t number = 0;
    std::from_chars(cpu.data() + 3, cpu.data() + cpu.size(), number);
    for (int page = 0; page < kMaxPagesOfRound; ++page) {
      auto text = directory.read_ready("per_cpu/" + cpu + "/trace_pipe_raw", kPageBytes);
      if (!text) return std::unexpected(text.error());
      if (text->empty()) break;
      takePage(directory, *text, number);
    }
  }
  std::ranges::stable_sort(pending_, {}, &Pending::time_ns);
  for (const Pending& one : pending_) {
    const auto bytes = std::span<const std::uint8_t>(bytes_).subspan(one.begin, one.size);
    std::int32_t pid = 0;
    if (bytes.size() >= 8) std::memcpy(&pid, bytes.data() + 4, 4);
    learnSymbols(*one.event, bytes);
    builder_.add({.event = one.event,
                  .time_ns = one.time_ns,
                  .cpu = one.cpu,
                  .pid = pid,
                  .comm = commOf(directory, pid),
                  .bytes = bytes,
                  .lost_before = one.lost_before});
  }
  return pending_.size();
}

void LiveReader::takePage(tree::TracingDir& directory, std::string_view text, std::uint32_t cpu) {
  const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  auto page = layout::RingPageReader::open(bytes);
  if (!page) return;
  std::uint64_t lost = !page->has_missed() ? 0 : page->missed() ? page->missed() : ~0ull;
  while (const auto event = page->next()) {
    if (event->record.size() < 8) continue;
    std::uint16_t id = 0;
    std::memcpy(&id, event->record.data(), 2);
    const record::EventFormat* format = formatOf(directory, id);
    if (!format) continue;
    pending_.push_back({format, event->time_ns, cpu, lost, bytes_.size(), event->record.size()});
    bytes_.insert(bytes_.end(), event->record.begin(), event->record.end());
    lost = 0;
  }
}

const record::EventFormat* LiveReader::formatOf(tree::TracingDir& directory, std::uint32_t id) {
  if (const auto found = by_id_.find(id); found != by_id_.end() && looked_for_.contains(id)) return found->second;
  if (looked_for_.contains(id)) return nullptr;
  readFormats(directory);
  looked_for_[id] = true;
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

void LiveReader::readFormats(tree::TracingDir& directory) {
  auto systems = directory.list("events");
  if (!systems) return;
  for (const tree::DirectoryEntry& system : *systems) {
    if (!system.is_directory) continue;
    auto events = directory.list("events/" + system.name);
    if (!events) continue;
    for (const tree::DirectoryEntry& event : *events) {
      if (!event.is_directory) continue;
      auto text = directory.read("events/" + system.name + "/" + event.name + "/format");
      if (!text) continue;
      auto format = record::parse_format(system.name, *text);
      if (!format) continue;
      const auto old = by_id_.find(format->id);
      if (old != by_id_.end() && old->second->text == format->text) {
        looked_for_[format->id] = true;
        continue;
      }
      formats_.push_back(std::make_unique<record::EventFormat>(*std::move(format)));
      by_id_[formats_.back()->id] = formats_.back().get();
      looked_for_[formats_.back()->id] = true;
      metadata_->formats.add(*formats_.back());
      shared_.reset();
    }
  }
}

void LiveReader::readComms(tree::TracingDir& directory) {
  auto text = directory.read("saved_cmdlines");
  if (!text || comms_.size() > kMaxComms) return;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    std::int32_t pid = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), pid);
    if (error != std::errc() || end == line.data() + line.size()) continue;
    comms_[pid] = std::string(end + 1, line.data() + line.size());
  }
}

std::string_view LiveReader::commOf(tree::TracingDir& directory, std::int32_t pid) {
  auto found = comms_.find(pid);
  if (found == comms_.end()) {
    readComms(directory);
    found = comms_.find(pid);
    if (found == comms_.end()) found = comms_.emplace(pid, pid == 0 ? "<idle>" : "<...>").first;
    metadata_->comms[pid] = found->second;
    shared_.reset();
  }
  return found->second;
}

void LiveReader::learnSymbols(const record::EventFormat& event, std::span<const std::uint8_t> bytes) {
  if (pid_ == 0 || env_failed_) return;
  for (const record::Field& field : event.fields) {
    if (field.role == record::PlaceRole::None) return;  // addresses come first
    const std::uint64_t address = record::value_of(field, bytes).number;
    if (symbols_.size() >= kMaxSymbols || !symbols_.emplace(address, true).second) continue;
    if (!env_) {
      auto env = target::ProcessEnv::of_process(pid_, {});
      env_failed_ = !env;
      if (!env) return;
      env_ = *std::move(env);
    }
    const auto symbol = env_->symbolize(address);
    if (!symbol || metadata_->symbols.find(symbol->address)) continue;
    metadata_->symbols.add({symbol->address, symbol->size, symbol->name, symbol->module});
    shared_.reset();
  }
}

std::shared_ptr<const record::Metadata> LiveReader::metadata() {
  if (!shared_) {
    auto copy = std::make_shared<record::Metadata>();
    copy->symbols = metadata_->symbols;
    copy->comms = metadata_->comms;
    copy->cpus = static_cast<std::uint32_t>(std::max<std::size_t>(1, cpus_.size()));
    for (const auto& format : formats_) copy->formats.add(*format);
    copy->symbols.find(0);  // sorts them now: later readers are several
    shared_ = std::move(copy);
  }
  return shared_;
}

}  // namespace kevt::gui
