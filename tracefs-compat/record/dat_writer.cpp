// trace.dat(5) wants a CPU's pages in one piece, and how many there will be is known only at the end. trace-cmd writes
// a file per CPU and joins them; whoever kills it has no recording.
//
// Idea: a sparse file. Every CPU gets an area of its own, large enough for ever, and the head says how much of it is
// used; both are brought up to date a few times a second, so the file is a whole recording at any moment. At the end
// the areas are copied together behind a head that knows everything (names, symbols, totals), in the kernel, and that
// file takes the place of the first one in one step. Where there is no room for the copy the sparse file stays: it is
// right, too.
//
//   | head, with room for names | CPU 0 …          | CPU 1 …          |      →   | head | CPU 0 | CPU 1 |
//
// Version 7 is made of the same sparse file at the end: dat7.cpp.
#include "tracefs-compat/record/dat_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tracefs-compat/record/dat7.h"
#include "tracefs-compat/record/metadata_text.h"

namespace kevt::record {
namespace {

constexpr std::uint64_t kPage = layout::kRingPageBytes;
constexpr std::uint64_t kLargestArea = 1ull << 40, kSmallestArea = 64ull << 20;
constexpr DatRoom kRoom{.kallsyms = 256 << 10, .comms = 64 << 10, .metadata = 320 << 10};

std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// What fits into the room, in whole lines.
std::string_view fitting(std::string_view text, std::uint64_t room) {
  if (text.size() <= room) return text;
  return text.substr(0, text.rfind('\n', room - 1) + 1);
}

}  // namespace

Result<std::unique_ptr<DatWriter>> DatWriter::create(const std::string& path, const Metadata& metadata,
                                                     DatVersion version) {
  if (path.empty() || path == "-")
    return std::unexpected(Error("a trace.dat is written by position and needs a file; name it with -o"));
  auto file = OutputFile::create(path);
  if (!file) return std::unexpected(std::move(file.error()));
  if (!file->is_regular())
    return std::unexpected(Error(file->path() + ": a trace.dat is written by position and needs a regular file"));
  std::unique_ptr<DatWriter> made(new DatWriter(std::move(*file), metadata, version));
  if (auto started = made->start(); !started) return std::unexpected(std::move(started.error()));
  return made;
}

Result<void> DatWriter::start() {
  lanes_.resize(std::max(metadata_.cpus, 1u));
  room_ = kRoom;
  const auto as_is = [](const EventFormat& event) { return event.text; };
  std::vector<CpuExtent> table(lanes_.size());
  head_bytes_ = whole_pages(dat6_head(metadata_, as_is, room_, table).bytes.size());
  if (auto sized = size_areas(); !sized) return sized;
  for (std::uint32_t cpu = 0; cpu < table.size(); ++cpu) table[cpu].offset = area(cpu);
  head_ = dat6_head(metadata_, as_is, room_, table);
  return file_.write_at(0, head_.bytes);
}

// As large as the file system lets a file be.
Result<void> DatWriter::size_areas() {
  for (area_bytes_ = kLargestArea; area_bytes_ >= kSmallestArea; area_bytes_ /= 2)
    if (ftruncate(file_.fd(), static_cast<off_t>(head_bytes_ + lanes_.size() * area_bytes_)) == 0) return {};
  return std::unexpected(
      Error::from_errno(fmt::format("{}: no room for the areas of {} CPUs", file_.path(), lanes_.size())));
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
  if (auto stored = store(cpu); !stored) return stored;
  lane.written += lane.full * kPage;
  lane.full = lane.stored = 0;
  return {};
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
  // What was lost is told by the head of a page.
  if (record.lost_before && lane.page)
    if (auto ended = end_page(record.cpu); !ended) return ended;
  std::span<std::uint8_t> room;
  if (lane.page) room = lane.page->append(record.time_ns, size);
  if (room.empty()) {
    if (lane.page)
      if (auto ended = end_page(record.cpu); !ended) return ended;
    lane.page.emplace(page_bytes(lane, lane.full), record.time_ns);
    room = lane.page->append(record.time_ns, size);
    if (record.lost_before)
      layout::mark_missed(page_bytes(lane, lane.full), record.lost_before == ~0ull ? 0 : record.lost_before);
    bytes_ += kPage;
  }
  std::memcpy(room.data(), record.bytes.data(), record.bytes.size());
  return {};
}

Result<void> DatWriter::write_texts() {
  if (metadata_.comms.size() != known_comms_) {
    known_comms_ = metadata_.comms.size();
    if (auto put = file_.write_at(head_.comms_at, fitting(comms_text(metadata_), room_.comms)); !put) return put;
  }
  const std::size_t symbols = metadata_.symbols.all().size();
  if (symbols == known_symbols_) return {};
  known_symbols_ = symbols;
  if (auto put = file_.write_at(head_.kallsyms_at, fitting(kallsyms_text(metadata_), room_.kallsyms)); !put) return put;
  return file_.write_at(head_.metadata_at, fitting(metadata_text(metadata_), room_.metadata));
}

Result<void> DatWriter::write_table() {
  std::string table;
  for (std::uint32_t cpu = 0; cpu < lanes_.size(); ++cpu) {
    const Lane& lane = lanes_[cpu];
    put64(table, area(cpu));
    put64(table, lane.written + (lane.full + (lane.page ? 1 : 0)) * kPage);
  }
  return file_.write_at(head_.table_at, table);
}

Result<void> DatWriter::flush() {
  bool any = false;
  for (std::uint32_t cpu = 0; cpu < lanes_.size(); ++cpu) {
    if (!lanes_[cpu].is_fresh) continue;
    any = true;
    if (auto stored = store(cpu); !stored) return stored;
  }
  if (!any) return {};
  if (auto put = write_texts(); !put) return put;
  return write_table();
}

Result<void> DatWriter::finish() {
  if (auto flushed = flush(); !flushed) return flushed;
  if (auto put = file_.write_at(head_.metadata_at, fitting(metadata_text(metadata_), room_.metadata)); !put) return put;
  const auto format = [&](const EventFormat& event) { return names_.text(event, metadata_); };
  auto whole = OutputFile::create_beside(file_.path());
  if (!whole) return {};  // the sparse file stays
  if (!join(*whole, format)) return {};
  return whole->rename_to(file_.path());
}

Result<void> DatWriter::join(OutputFile& whole, const FormatText& format) {
  std::vector<CpuExtent> from(lanes_.size());
  for (std::uint32_t cpu = 0; cpu < lanes_.size(); ++cpu) {
    const Lane& lane = lanes_[cpu];
    from[cpu] = {area(cpu), lane.written + (lane.full + (lane.page ? 1 : 0)) * kPage};
  }
  if (version_ == DatVersion::Seven) {
    auto written = write_dat7(whole, file_, from, metadata_, format);
    if (!written) return std::unexpected(std::move(written.error()));
    bytes_ = *written;
    return {};
  }
  std::vector<CpuExtent> to = from;
  std::uint64_t at = whole_pages(dat6_head(metadata_, format, {}, to).bytes.size());
  for (CpuExtent& one : to) {
    one.offset = at;
    at += one.size;
  }
  if (auto put = whole.write_at(0, dat6_head(metadata_, format, {}, to).bytes); !put) return put;
  for (std::size_t cpu = 0; cpu < to.size(); ++cpu)
    if (auto copied = whole.copy_from(file_, from[cpu].offset, to[cpu].offset, to[cpu].size); !copied) return copied;
  bytes_ = at;
  return {};
}

}  // namespace kevt::record
