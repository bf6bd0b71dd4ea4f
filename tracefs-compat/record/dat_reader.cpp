// One lane a CPU, merged by time through a heap.
//
// A page that makes no sense is left behind with a note, and the lane goes on with the next one. Bytes handed out are
// those of the lane's page buffer: they live until that lane steps, which is when the next record is asked for.
// Not here: files without an index are read from their beginning; there is no seeking.
#include "tracefs-compat/record/dat_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace kevt::record {
namespace {}  // namespace

DatReader::DatReader(DatFile file) : file_(std::make_unique<DatFile>(std::move(file))) { rewind(); }

void DatReader::rewind() {
  problems_ = file_->problems;
  unknown_ = 0;
  given_ = nullptr;
  lanes_.clear();
  heap_.clear();
  for (const DatCpu& cpu : file_->cpus) {
    lanes_.push_back(std::make_unique<Lane>(*file_, cpu));
    Lane& lane = *lanes_.back();
    step(lane);
    if (!lane.at_end) heap_.push_back(&lane);
  }
  std::ranges::stable_sort(heap_, {}, &Lane::time_ns);
}

void DatReader::problem(std::string text) {
  if (problems_.size() < kMaxProblems) problems_.push_back(std::move(text));
}

bool DatReader::next_page(Lane& lane) {
  const auto bytes = lane.pages.next();
  if (bytes.empty()) {
    if (!lane.pages.problem().empty()) problem(lane.pages.problem());
    return false;
  }
  lane.page = layout::RingPageReader::open(bytes);
  if (!lane.page)
    problem(fmt::format("byte {}: a page of CPU {} is cut or says more than it holds", lane.pages.at(), lane.cpu));
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
      problem(
          fmt::format("byte {}: a page of CPU {} is broken: the rest of it is left out", lane.pages.at(), lane.cpu));
    lane.page.reset();
  }
  lane.at_end = true;
}

// The first lane has changed: it moves to its place. Few CPUs have records at any time, so a heap is a sorted list.
void DatReader::sift_down() {
  for (std::size_t i = 0; i + 1 < heap_.size() && heap_[i + 1]->time_ns < heap_[i]->time_ns; ++i)
    std::swap(heap_[i], heap_[i + 1]);
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
      if (lane.at_end)
        heap_.erase(heap_.begin());
      else
        sift_down();
    }
    if (heap_.empty()) break;
    given_ = heap_.front();
    record.lost_before = given_->lost_before;
    if (fill(*given_, record)) return true;
    ++unknown_;
  }
  if (unknown_)
    problem(fmt::format("{} records are of events that the file does not describe", std::exchange(unknown_, 0)));
  return false;
}

}  // namespace kevt::record
