// trace.dat(5) wants a CPU's pages in one piece, and how many there will be is known only at the end. trace-cmd writes
// a file per CPU and joins them; whoever kills it has no recording.
//
// Idea: a sparse file. Every CPU gets an area of its own, large enough for ever, and the head says how much of it is
// used; both are brought up to date whenever 64 pages are full, and a few times a second, so the file is a whole
// recording at any moment. At the end the areas are copied together behind a head that knows everything (names,
// symbols, totals), in the kernel, and that file takes the place of the first one in one step. Where there is no room
// for the copy the sparse file stays: it is right, too.
//
//   | head, with room for names | CPU 0 …          | CPU 1 …          |      →   | head | CPU 0 | CPU 1 |
//
// A flight recorder keeps the newest pages only: the table tells where they begin, and what lies before is given back
// to the file system. Where a CPU's area ends its pages move to the area's begin; the table names the old place until
// the copy is there.
//
// Version 7 is made of the same sparse file at the end: dat7.cpp.
#include "tracefs-compat/record/dat/dat_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/error.h"
#include "common/page.h"
#include "common/writer_lock.h"
#include "tracefs-compat/record/dat/dat7.h"
#include "tracefs-compat/record/metadata_text.h"
#include "tracefs-compat/record/recording_formats.h"

namespace kevt::record {
namespace {

static_assert(kPage == layout::kRingPageBytes);
constexpr std::uint64_t kLargestArea = 1ull << 40, kSmallestArea = 64ull << 20;
constexpr std::uint64_t kWindowsPerArea = 16;
constexpr DatRoom kRoom{.kallsyms = 256 << 10, .comms = 64 << 10, .metadata = 320 << 10};

std::uint64_t whole_pages(std::uint64_t bytes) { return page_up(bytes); }

// What fits into the room, in whole lines.
std::string_view fitting(std::string_view text, std::uint64_t room) {
  if (text.size() <= room) return text;
  return text.substr(0, text.rfind('\n', room - 1) + 1);
}

}  // namespace

Result<std::unique_ptr<DatWriter>> DatWriter::create(const std::string& path, const Metadata& metadata,
                                                     const DatOptions& options) {
  if (path.empty() || path == "-")
    return std::unexpected(Error("a trace.dat is written by position and needs a file; name it with -o"));
  auto file = KEVT_TRY(OutputFile::create(path));
  return create(std::move(file), metadata, options);
}

Result<std::unique_ptr<DatWriter>> DatWriter::create(OutputFile file, const Metadata& metadata,
                                                     const DatOptions& options) {
  if (!file.is_regular())
    return std::unexpected(Error(file.path() + ": a trace.dat is written by position and needs a regular file"));
  std::unique_ptr<DatWriter> made(new DatWriter(std::move(file), metadata, options));
  if (auto started = made->start(); !started) {
    made->file_.remove();
    return std::unexpected(std::move(started.error()));
  }
  return made;
}

DatWriter::DatWriter(OutputFile file, const Metadata& metadata, const DatOptions& options)
    : file_(std::move(file)), metadata_(metadata), version_(options.version), window_pages_(0) {
  if (options.window) window_pages_ = std::max<std::uint64_t>(options.window / kPage, kPagesAtOnce);
}

Result<void> DatWriter::start() {
  lanes_.resize(std::max(metadata_.cpus, 1u));
  room_ = kRoom;
  const auto as_is = [](const EventFormat& event) { return event.text; };
  std::vector<CpuExtent> table(lanes_.size());
  head_bytes_ = whole_pages(dat6_head(metadata_, as_is, room_, table).bytes.size());
  KEVT_TRY(size_areas());
  KEVT_TRY(reserve_head());
  for (std::uint32_t cpu = 0; cpu < table.size(); ++cpu) table[cpu].offset = area(cpu);
  Metadata known = metadata_;
  if (window_pages_) known.new_identity = {};
  head_ = dat6_head(known, as_is, room_, table);
  KEVT_TRY(file_.write_at(0, head_.bytes));
  has_writer_lock_ = take_writer_lock(file_.fd());
  return file_.write_at(head_.metadata_at, fitting(noted_text(), room_.metadata));
}

// As large as the file system lets a file be; with a window a few times its size.
Result<void> DatWriter::size_areas() {
  const std::uint64_t wanted = window_pages_ ? window_pages_ * kPage * kWindowsPerArea : kLargestArea;
  if (wanted < kSmallestArea) {
    area_bytes_ = wanted;
    if (ftruncate(file_.fd(), static_cast<off_t>(head_bytes_ + lanes_.size() * area_bytes_)) == 0) return {};
  }
  for (area_bytes_ = std::min(wanted, kLargestArea); area_bytes_ >= kSmallestArea; area_bytes_ /= 2)
    if (ftruncate(file_.fd(), static_cast<off_t>(head_bytes_ + lanes_.size() * area_bytes_)) == 0) return {};
  return std::unexpected(
      Error::from_errno(fmt::format("{}: no room for the areas of {} CPUs", file_.path(), lanes_.size())));
}

// So that totals have room when the disk is full. A file system that cannot reserve writes them if it can.
Result<void> DatWriter::reserve_head() {
  if (fallocate(file_.fd(), 0, 0, static_cast<off_t>(head_bytes_)) == 0) return {};
  if (errno != ENOSPC && errno != EDQUOT) return {};
  return std::unexpected(Error::from_errno("writing " + file_.path()));
}

std::span<std::uint8_t, layout::kRingPageBytes> DatWriter::page_bytes(Lane& lane, std::size_t index) {
  return std::span<std::uint8_t, layout::kRingPageBytes>(lane.buffer.data() + index * kPage, kPage);
}

Result<void> DatWriter::end_page(std::uint32_t cpu) {
  Lane& lane = lanes_[cpu];
  layout::clear_unused(page_bytes(lane, lane.full));
  lane.page.reset();
  ++lane.full;
  if (lane.full < kPagesAtOnce) return {};
  KEVT_TRY(store(cpu));
  lane.written += lane.full * kPage;
  lane.full = lane.stored = 0;
  if (auto put = write_texts(); !put) return put;  // names of what the table shows
  KEVT_TRY(write_table(cpu));
  if (!window_pages_ || lane.written + kPagesAtOnce * kPage <= area_bytes_) return {};
  return move_to_start(cpu);
}

Result<void> DatWriter::begin_page(std::uint32_t cpu, std::uint64_t time_ns) {
  Lane& lane = lanes_[cpu];
  if (lane.page) KEVT_TRY(end_page(cpu));
  lane.page.emplace(page_bytes(lane, lane.full), time_ns);
  bytes_ += kPage;
  if (window_pages_) lane.counts.emplace_back();
  if (window_pages_ && lane.counts.size() > window_pages_) give_up_oldest(lane);
  return {};
}

// It is written already: the window is no smaller than the buffer.
void DatWriter::give_up_oldest(Lane& lane) {
  for (const auto& [id, count] : lane.counts.front()) overwritten_[id] += count;
  lane.counts.pop_front();
  lane.first += kPage;
  bytes_ -= kPage;
}

// Only when the table in the file does not name it any more. A file system that cannot keeps the bytes.
void DatWriter::punch(std::uint32_t cpu) {
  Lane& lane = lanes_[cpu];
  if (lane.first <= lane.punched) return;
  (void)fallocate(file_.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(area(cpu) + lane.punched),
                  static_cast<off_t>(lane.first - lane.punched));
  lane.punched = lane.first;
}

Result<void> DatWriter::move_to_start(std::uint32_t cpu) {
  Lane& lane = lanes_[cpu];
  if (auto put = flush(); !put) return put;  // nothing of what the copy overwrites is named now
  const std::uint64_t kept = lane.written - lane.first, end = lane.written;
  KEVT_TRY(file_.copy_from(file_, area(cpu) + lane.first, area(cpu), kept));
  lane.written = kept;
  lane.first = 0;
  KEVT_TRY(write_table(cpu));
  lane.punched = kept;
  lane.first = end;
  punch(cpu);
  lane.first = lane.punched = 0;
  return {};
}

CpuExtent DatWriter::extent(std::uint32_t cpu) const {
  const Lane& lane = lanes_[cpu];
  return {area(cpu) + lane.first, lane.written - lane.first + (lane.full + (lane.page ? 1 : 0)) * kPage};
}

std::uint64_t DatWriter::overwritten(std::uint16_t id) const {
  const auto it = overwritten_.find(id);
  return it == overwritten_.end() ? 0 : it->second;
}

// What the file does not have yet, the unfinished page with it.
Result<void> DatWriter::store(std::uint32_t cpu) {
  Lane& lane = lanes_[cpu];
  const std::size_t pages = lane.full + (lane.page ? 1 : 0);
  if (lane.page) layout::clear_unused(page_bytes(lane, lane.full));
  const std::size_t from = lane.stored;
  lane.is_fresh = false;
  if (pages == from) return {};
  if (lane.written + pages * kPage > area_bytes_)
    return std::unexpected(
        Error(fmt::format("{}: CPU {} has more than {} bytes", file_.path(), cpu, area_bytes_), EFBIG));
  lane.stored = lane.full;
  return file_.write_at(area(cpu) + lane.written + from * kPage,
                        std::span<const std::uint8_t>(lane.buffer).subspan(from * kPage, (pages - from) * kPage));
}

void DatWriter::note_kept(Lane& lane, std::uint16_t id) {
  auto& counts = lane.counts.back();
  const auto it = std::ranges::find(counts, id, &std::pair<std::uint16_t, std::uint32_t>::first);
  if (it == counts.end())
    counts.push_back({id, 1});
  else
    ++it->second;
}

Result<void> DatWriter::add(const TypedRecord& record) {
  if (record.cpu >= lanes_.size())
    return std::unexpected(Error(fmt::format("a record of CPU {}, of {}", record.cpu, lanes_.size())));
  if (record.bytes.size() > layout::kMaxRingRecord)
    return std::unexpected(Error(fmt::format("a record of {} bytes fits no page", record.bytes.size())));
  Lane& lane = lanes_[record.cpu];
  names_.note(record);
  lane.is_fresh = true;
  if (lane.buffer.empty()) lane.buffer.resize(kPagesAtOnce * kPage);
  const auto size = static_cast<std::uint32_t>(record.bytes.size());
  std::span<std::uint8_t> room;
  if (lane.page && !record.lost_before) room = lane.page->append(record.time_ns, size);  // the head tells what was lost
  if (room.empty()) {
    KEVT_TRY(begin_page(record.cpu, record.time_ns));
    room = lane.page->append(record.time_ns, size);
    if (record.lost_before)
      layout::mark_missed(page_bytes(lane, lane.full), record.lost_before == ~0ull ? 0 : record.lost_before);
  }
  if (window_pages_) note_kept(lane, static_cast<std::uint16_t>(record.event->id));
  std::memcpy(room.data(), record.bytes.data(), record.bytes.size());
  return {};
}

Result<void> DatWriter::write_texts() {
  if (metadata_.comms.size() != known_comms_) {
    known_comms_ = metadata_.comms.size();
    KEVT_TRY(file_.write_at(head_.comms_at, fitting(comms_text(metadata_), room_.comms)));
  }
  const std::size_t symbols = metadata_.symbols.all().size();
  if (symbols == known_symbols_) return {};
  known_symbols_ = symbols;
  KEVT_TRY(file_.write_at(head_.kallsyms_at, fitting(kallsyms_text(metadata_), room_.kallsyms)));
  return file_.write_at(head_.metadata_at, fitting(noted_text(), room_.metadata));
}

// A flight recorder's records go while it is written: nobody may take it for a recording that only grows, so it has its
// identity when it is finished.
std::string DatWriter::noted_text() const {
  std::string text = window_pages_ ? metadata_text(metadata_, {}) : metadata_text(metadata_);
  if (has_writer_lock_) text.insert(kMetadataHead.size(), kWriterLockLine);
  return text;
}

// One CPU's line: what the file has of it, and nothing that it has not.
Result<void> DatWriter::write_table(std::uint32_t cpu) {
  const CpuExtent used = extent(cpu);
  std::string line;
  put64(line, used.offset);
  put64(line, used.size);
  return file_.write_at(head_.table_at + cpu * line.size(), line);
}

Result<void> DatWriter::flush() {
  bool any = false;
  for (std::uint32_t cpu = 0; cpu < lanes_.size(); ++cpu) {
    if (!lanes_[cpu].is_fresh) continue;
    any = true;
    KEVT_TRY(store(cpu));
  }
  if (!any) return {};
  KEVT_TRY(write_texts());
  for (std::uint32_t cpu = 0; cpu < lanes_.size(); ++cpu) {
    KEVT_TRY(write_table(cpu));
    if (window_pages_) punch(cpu);
  }
  return {};
}

Result<void> DatWriter::finish() {
  KEVT_TRY(flush());
  KEVT_TRY(file_.write_at(head_.metadata_at, fitting(metadata_text(metadata_), room_.metadata)));
  const auto format = [&](const EventFormat& event) { return names_.text(event, metadata_); };
  auto whole = OutputFile::create_beside(file_);
  if (!whole) return {};  // the sparse file stays
  if (!join(*whole, format)) return {};
  return whole->take_place_of(file_);
}

// The table names no page that is not in the file. What a flight recorder gave up since its table was written is not
// known to the table.
Result<bool> DatWriter::finish_as_it_is() {
  if (window_pages_) return false;
  KEVT_TRY(file_.write_at(head_.comms_at, fitting(comms_text(metadata_), room_.comms)));
  KEVT_TRY(file_.write_at(head_.kallsyms_at, fitting(kallsyms_text(metadata_), room_.kallsyms)));
  KEVT_TRY(file_.write_at(head_.metadata_at, fitting(metadata_text(metadata_), room_.metadata)));
  return true;
}

Result<void> DatWriter::join(OutputFile& whole, const FormatText& format) {
  std::vector<CpuExtent> from(lanes_.size());
  for (std::uint32_t cpu = 0; cpu < lanes_.size(); ++cpu) from[cpu] = extent(cpu);
  if (version_ == DatVersion::Seven) {
    bytes_ = KEVT_TRY(write_dat7(whole, file_, from, metadata_, format));
    return {};
  }
  std::vector<CpuExtent> to = from;
  std::uint64_t at = whole_pages(dat6_head(metadata_, format, {}, to).bytes.size());
  for (CpuExtent& one : to) {
    one.offset = at;
    at += one.size;
  }
  KEVT_TRY(whole.write_at(0, dat6_head(metadata_, format, {}, to).bytes));
  for (std::size_t cpu = 0; cpu < to.size(); ++cpu)
    KEVT_TRY(whole.copy_from(file_, from[cpu].offset, to[cpu].offset, to[cpu].size));
  bytes_ = at;
  return {};
}

Result<std::unique_ptr<RecordWriter>> create_dat(const std::string& path, const Metadata& metadata) {
  return DatWriter::create(path, metadata, {});
}

Result<std::unique_ptr<RecordWriter>> create_dat7(const std::string& path, const Metadata& metadata) {
  return DatWriter::create(path, metadata, {.version = DatVersion::Seven});
}

}  // namespace kevt::record
