// One lane a CPU, merged by time through a heap.
//
// A page that makes no sense is left behind with a note, and the lane goes on with the next one. Bytes handed out are
// those of the lane's page buffer: they live until that lane steps, which is when the next record is asked for.
// Not here: files without an index are read from their beginning; there is no seeking but to pages that were read
// before.
#include "tracefs-compat/record/dat/dat_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace kevt::record {
namespace {

constexpr std::uint64_t kStepsOfUnknown = 16;

}  // namespace

DatReader::DatReader(DatFile file) : file_(std::make_unique<DatFile>(std::move(file))), left_out_(file_->cpus.size()) {
  rewind();
}

void DatReader::rewind() {
  problems_ = file_->problems;
  file_->budget.rewind();
  unknown_ = 0;
  is_stopped_ = false;
  given_ = nullptr;
  for (const auto& lane : lanes_) lane->pages.close();
  lanes_.clear();
  heap_.clear();
  for (std::size_t i = 0; i < file_->cpus.size(); ++i) {
    const DatCpu& cpu = file_->cpus[i];
    DatCpu from = cpu;
    from.offset += left_out_[i];
    from.size -= left_out_[i];
    lanes_.push_back(std::make_unique<Lane>(*file_, from, cpu));
    Lane& lane = *lanes_.back();
    step(lane);
    lane.order = static_cast<std::int64_t>(lanes_.size());
    if (!lane.at_end) heap_.push_back(&lane);
  }
  last_order_ = 0;
  std::ranges::sort(heap_, [](const Lane* a, const Lane* b) { return is_earlier(*a, *b); });
}

std::optional<PagePlace> DatReader::page() const {
  if (given_ == nullptr || given_->is_packed) return std::nullopt;
  return PagePlace{given_->instance, given_->cpu, given_->data, given_->pages.at()};
}

bool DatReader::begin_at(std::span<const PagePlace> places) {
  std::vector<std::uint64_t> left_out(file_->cpus.size());
  for (const PagePlace& place : places) {
    const auto cpu = std::ranges::find_if(file_->cpus, [&place](const DatCpu& one) {
      return one.instance == place.instance && one.cpu == place.cpu && one.offset == place.data && !one.is_compressed;
    });
    if (cpu == file_->cpus.end() || place.page < cpu->offset || place.page - cpu->offset >= cpu->size ||
        (place.page - cpu->offset) % cpu->page_bytes != 0)
      return false;
    left_out[static_cast<std::size_t>(cpu - file_->cpus.begin())] = place.page - cpu->offset;
  }
  left_out_ = std::move(left_out);
  rewind();
  return true;
}

bool DatReader::next_page(Lane& lane) {
  const auto bytes = lane.pages.next();
  if (bytes.empty()) {
    if (!lane.pages.problem().empty()) problems_.add(lane.pages.problem());
    return false;
  }
  lane.page = layout::RingPageReader::open(bytes);
  if (!lane.page)
    problems_.add(
        fmt::format("byte {}: a page of CPU {} is cut or says more than it holds", lane.pages.at(), lane.cpu));
  else if (lane.page->has_missed())
    lane.lost_before = lane.page->missed() ? lane.page->missed() : ~0ull;
  return true;
}

void DatReader::step(Lane& lane) {
  for (;;) {
    if (!lane.page) {
      if (!next_page(lane)) break;
      continue;
    }
    if (auto event = lane.page->next()) {
      lane.event = *event;
      lane.time_ns = event->time_ns + static_cast<std::uint64_t>(file_->time_offset_ns);
      return;
    }
    if (lane.page->is_broken())
      problems_.add(
          fmt::format("byte {}: a page of CPU {} is broken: the rest of it is left out", lane.pages.at(), lane.cpu));
    lane.page.reset();
  }
  lane.at_end = true;
  lane.pages.close();
}

bool DatReader::is_earlier(const Lane& a, const Lane& b) {
  return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.order < b.order;
}

// The lane there has changed, or is another one: it moves to its place.
void DatReader::sift_down(std::size_t at) {
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= heap_.size()) return;
    if (child + 1 < heap_.size() && is_earlier(*heap_[child + 1], *heap_[child])) ++child;
    if (!is_earlier(*heap_[child], *heap_[at])) return;
    std::swap(heap_[at], heap_[child]);
    at = child;
  }
}

// A record is paid for when it is handed out: whoever gets it prints it or counts it.
bool DatReader::is_affordable(std::uint64_t steps) {
  if (file_->budget.work(steps)) return true;
  problems_.add(fmt::format("byte {}: what follows is left out: {}", given_->pages.at(), file_->budget.work_text()));
  is_stopped_ = true;
  return false;
}

bool DatReader::fill(const Lane& lane, TypedRecord& record) {
  const auto bytes = lane.event.record;
  if (bytes.size() < 8) return false;
  std::uint16_t id;
  std::memcpy(&id, bytes.data(), sizeof id);
  record.event = file_->metadata.formats.by_id(id);
  if (!record.event) return false;
  std::memcpy(&record.pid, bytes.data() + 4, sizeof record.pid);
  record.time_ns = lane.time_ns;
  record.cpu = lane.cpu;
  record.instance = lane.instance;
  record.bytes = bytes;
  if (!last_comm_ || record.pid != last_pid_) {
    last_pid_ = record.pid;
    const auto it = file_->metadata.comms.find(record.pid);
    last_comm_ = it == file_->metadata.comms.end() ? nullptr : &it->second;
  }
  record.comm = last_comm_ ? std::string_view(*last_comm_) : file_->metadata.comm_of(record.pid);
  return true;
}

bool DatReader::next(TypedRecord& record) {
  for (;;) {
    if (given_) {
      Lane& lane = *std::exchange(given_, nullptr);
      lane.lost_before = 0;
      step(lane);
      lane.order = --last_order_;
      if (lane.at_end) {
        heap_.front() = heap_.back();
        heap_.pop_back();
      }
      sift_down(0);
    }
    if (heap_.empty() || is_stopped_) break;
    given_ = heap_.front();
    record.lost_before = given_->lost_before;
    const bool is_known = fill(*given_, record);
    if (!is_affordable(is_known ? record.event->steps + record.bytes.size() : kStepsOfUnknown)) break;
    if (!is_known) {
      ++unknown_;
      continue;
    }
    if (!has_too_much_text(*record.event, record.bytes)) return true;
    problems_.add(fmt::format("byte {}: a record of `{}` says more text than it holds: it is left out",
                              given_->pages.at(), record.event->name));
  }
  if (unknown_)
    problems_.add(fmt::format("{} records are of events that the file does not describe", std::exchange(unknown_, 0)));
  return false;
}

}  // namespace kevt::record
