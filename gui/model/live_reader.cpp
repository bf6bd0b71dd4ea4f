// Live records: per_cpu/cpuN/trace_pipe_raw, the pages of the ring buffer as they are.
//
// Problem: records are in order within a CPU, but not among CPUs. Idea: each round reads all CPUs, sorts the records
// and hands them on. A record that comes after a newer one was handed on is shown at that one's time, which is at most
// one round off. Formats are read when a record of an unknown number comes: first those of enabled events, and all if
// none of these has the number. Names of tasks are read for an unknown task, symbols for a new address.
#include "gui/model/live_reader.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "compiler/layout/ring_page.h"
#include "gui/model/room_text.h"
#include "tracefs-compat/record/print/trace_line.h"

namespace kevt::gui {
namespace {

constexpr std::size_t kPageBytes = layout::kRingPageBytes;
constexpr std::size_t kMaxPagesOfRound = 1024;  // of one CPU: 4 MiB
constexpr std::size_t kPagesOfRead = 16;
constexpr std::size_t kBusyPages = 48;  // a seventh of a kernel's usual buffer, 1408 KiB a CPU
constexpr std::size_t kMaxSymbols = 20'000;
constexpr std::size_t kMaxComms = 200'000;
constexpr std::uint64_t kKernelAddresses = 0xffff'8000'0000'0000;  // x86-64: the upper half

}  // namespace

Result<std::size_t> LiveReader::poll(tree::TracingDir& directory) {
  is_busy_ = false;
  if (is_full_) return 0;
  if (!knows_clock_) learnClock(directory);
  if (cpus_.empty()) {
    auto cpus = directory.list("per_cpu");
    if (!cpus) return std::unexpected(cpus.error());
    for (const tree::DirectoryEntry& cpu : *cpus)
      if (cpu.name.starts_with("cpu")) cpus_.push_back(cpu.name);
  }
  pending_ = {};
  bytes_.clear();
  std::optional<Error> failed;  // records read before the failure are still handed on
  for (const std::string& cpu : cpus_) {
    std::uint32_t number = 0;
    std::from_chars(cpu.data() + 3, cpu.data() + cpu.size(), number);
    std::size_t pages = 0;
    while (pages < kMaxPagesOfRound) {
      // A kernel gives one page, our mount as many as there are.
      auto text = directory.read_ready("per_cpu/" + cpu + "/trace_pipe_raw", kPagesOfRead * kPageBytes);
      if (!text) failed = text.error();
      if (!text || text->empty()) break;
      for (std::string_view rest = *text; !rest.empty(); ++pages) {
        takePage(directory, rest.substr(0, kPageBytes), number);
        rest.remove_prefix(std::min(rest.size(), kPageBytes));
      }
    }
    is_busy_ |= pages >= kBusyPages;
  }
  const std::size_t taken = pending_.take(~0ull, [&](std::uint64_t time_ns, const Pending& one) {
    const auto bytes = std::span<const std::uint8_t>(bytes_).subspan(one.begin, one.size);
    std::int32_t pid = 0;
    if (bytes.size() >= 8) std::memcpy(&pid, bytes.data() + 4, 4);
    learnSymbols(*one.event, bytes);
    is_full_ |= !builder_.add({.event = one.event,
                               .time_ns = time_ns,
                               .cpu = one.cpu,
                               .pid = pid,
                               .comm = commOf(directory, pid),
                               .bytes = bytes,
                               .lost_before = one.lost_before});
  });
  if (failed && taken == 0) return std::unexpected(*std::move(failed));
  return taken;
}

std::optional<QString> LiveReader::roomText() const { return gui::roomText(builder_, is_full_); }

// The offset to the wall clock is known only for clocks that this program can read, too.
void LiveReader::learnClock(tree::TracingDir& directory) {
  knows_clock_ = true;
  wall_offset_ns_.reset();
  shared_.reset();
  const auto clocks = directory.read("trace_clock");
  if (!clocks) return;
  const bool is_mono = clocks->find("[mono]") != std::string::npos;
  if (!is_mono && clocks->find("[boot]") == std::string::npos) return;
  timespec wall = {}, own = {};
  clock_gettime(is_mono ? CLOCK_MONOTONIC : CLOCK_BOOTTIME, &own);
  clock_gettime(CLOCK_REALTIME, &wall);
  wall_offset_ns_ = (wall.tv_sec - own.tv_sec) * 1'000'000'000ll + (wall.tv_nsec - own.tv_nsec);
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
    pending_.add(event->time_ns, {format, cpu, lost, bytes_.size(), event->record.size()});
    bytes_.insert(bytes_.end(), event->record.begin(), event->record.end());
    lost = 0;
  }
}

const record::EventFormat* LiveReader::formatOf(tree::TracingDir& directory, std::uint32_t id) {
  auto found = by_id_.find(id);
  if (!looked_for_.contains(id)) {
    if (found != by_id_.end()) readFormat(directory, found->second->system, found->second->name);
    if (!looked_for_.contains(id)) readEnabledFormats(directory);
    if (!looked_for_.contains(id)) readAllFormats(directory);
    looked_for_[id] = true;
    found = by_id_.find(id);
  }
  return found == by_id_.end() ? nullptr : found->second;
}

void LiveReader::readFormat(tree::TracingDir& directory, const std::string& system, const std::string& event) {
  auto text = directory.read("events/" + system + "/" + event + "/format");
  if (!text) return;
  auto format = record::parse_format(system, *text);
  if (!format) return;
  looked_for_[format->id] = true;
  const auto old = by_id_.find(format->id);
  if (old != by_id_.end() && old->second->text == format->text) return;
  formats_.push_back(std::make_unique<record::EventFormat>(*std::move(format)));
  by_id_[formats_.back()->id] = formats_.back().get();
  metadata_->formats.add(*formats_.back());
  shared_.reset();
}

// Reads only the formats of enabled events, which set_event lists: a kernel has 1500 events.
void LiveReader::readEnabledFormats(tree::TracingDir& directory) {
  const auto enabled = directory.read("set_event");
  if (!enabled) return;
  std::string_view rest = *enabled;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    readFormat(directory, std::string(line.substr(0, colon)), std::string(line.substr(colon + 1)));
  }
}

// Reads all formats, for an event that was switched off before its records were read.
void LiveReader::readAllFormats(tree::TracingDir& directory) {
  auto systems = directory.list("events");
  if (!systems) return;
  for (const tree::DirectoryEntry& system : *systems) {
    if (!system.is_directory) continue;
    auto events = directory.list("events/" + system.name);
    if (!events) continue;
    for (const tree::DirectoryEntry& event : *events)
      if (event.is_directory) readFormat(directory, system.name, event.name);
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
  if (record::is_stack(event)) {
    std::int32_t thread = 0;  // common_pid
    if (bytes.size() >= 8) std::memcpy(&thread, bytes.data() + 4, sizeof thread);
    const record::Field* caller = event.find("caller");
    const bool is_known = event.name == "kernel_stack" || isOfTarget(thread);
    if (!caller || !is_known) return;
    for (const std::uint64_t address : record::stack_of(*caller, bytes)) learnSymbol(address, frames_);
    return;
  }
  for (const record::Field& field : event.fields) {
    if (field.role == record::PlaceRole::None) return;  // place fields come first
    learnSymbol(record::value_of(field, bytes).number, symbols_);
  }
}

// Whether the thread is the target's: other processes have other code at the same addresses. A thread that has ended is
// assumed to be the target's.
bool LiveReader::isOfTarget(std::int32_t thread) {
  if (pid_ == 0) return false;
  if (const auto known = threads_.find(thread); known != threads_.end()) return known->second;
  if (threads_.size() >= kMaxComms) return false;
  const auto is_there = [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; };
  return threads_[thread] =
             is_there(fmt::format("/proc/{}/task/{}", pid_, thread)) || !is_there(fmt::format("/proc/{}", thread));
}

void LiveReader::learnSymbol(std::uint64_t address, std::unordered_map<std::uint64_t, bool>& seen) {
  if (seen.size() >= kMaxSymbols || !seen.emplace(address, true).second) return;
  auto symbol = address >= kKernelAddresses ? kernelSymbol(address) : processSymbol(address);
  if (!symbol || metadata_->symbols.find(symbol->address)) return;
  metadata_->symbols.add(*std::move(symbol));
  shared_.reset();
}

std::optional<record::Symbol> LiveReader::processSymbol(std::uint64_t address) {
  if (pid_ == 0 || env_failed_) return std::nullopt;
  if (!env_) {
    auto env = target::ProcessEnv::of_process(pid_, {});
    env_failed_ = !env;
    if (!env) return std::nullopt;
    env_ = *std::move(env);
  }
  auto symbol = env_->symbolize(address);
  if (!symbol) return std::nullopt;
  return record::Symbol{symbol->address, symbol->size, symbol->name, symbol->module};
}

// kallsyms is read once, so modules that are loaded later have no names.
std::optional<record::Symbol> LiveReader::kernelSymbol(std::uint64_t address) {
  if (!kernel_) {
    kernel_.emplace();
    std::ifstream file("/proc/kallsyms", std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    kernel_->parse_kallsyms(std::move(text).str());
  }
  const record::Symbol* symbol = kernel_->find(address);
  if (!symbol || symbol->size == 0) return std::nullopt;
  return *symbol;
}

std::shared_ptr<const record::Metadata> LiveReader::metadata() {
  if (!shared_) {
    auto copy = std::make_shared<record::Metadata>();
    copy->symbols = metadata_->symbols;
    copy->comms = metadata_->comms;
    copy->wall_offset_ns = wall_offset_ns_;
    copy->cpus = static_cast<std::uint32_t>(std::max<std::size_t>(1, cpus_.size()));
    for (const auto& format : formats_) copy->formats.add(*format);
    shared_ = std::move(copy);
  }
  return shared_;
}

}  // namespace kevt::gui
