// Plain pages are read 256 KiB at a time; packed ones a chunk at a time: u32 chunks, then u32 packed size, u32 plain
// size, the zstd frame of each. A piece never leaves its CPU's data; what it becomes takes from the file's budget.
#include "tracefs-compat/record/dat/dat_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tracefs-compat/record/dat/dat_ids.h"
#include "tracefs-compat/record/dat/zstd_bytes.h"

namespace kevt::record {
namespace {

constexpr std::uint64_t kReadAtOnce = 256 << 10;
constexpr std::uint64_t kReadByAll = 32 << 20;  // CPUs together
constexpr std::uint64_t kCountBytes = 4;

}  // namespace

DatPages::DatPages(DatFile& file, const DatCpu& cpu) : file_(file), cpu_(cpu) {
  if (cpu_.is_compressed) cpu_.size += kCountBytes;  // trace-cmd's size of packed data leaves out their count
}

bool DatPages::stop(std::string why) {
  problem_ = std::move(why);
  return false;
}

bool DatPages::hold(std::uint64_t bytes) {
  file_.budget.release(std::exchange(held_, 0));
  if (!file_.budget.hold(bytes))
    return stop(
        fmt::format("byte {}: CPU {}'s data are left out from here: {}", at_, cpu_.cpu, ReadBudget::hold_text()));
  held_ = bytes;
  return true;
}

void DatPages::close() {
  file_.budget.release(std::exchange(held_, 0));
  buffer_ = {};
  in_buffer_ = 0;
}

bool DatPages::fill() {
  if (!problem_.empty()) return false;
  in_buffer_ = 0;
  return cpu_.is_compressed ? fill_packed() : fill_plain();
}

// Pages of a hole hold no record.
void DatPages::skip_holes() {
  const std::uint64_t at = cpu_.offset + read_, data = file_.file.next_data(at);
  read_ = std::min(cpu_.size, read_ + (data - at) / cpu_.page_bytes * cpu_.page_bytes);
}

bool DatPages::fill_plain() {
  skip_holes();
  const std::uint64_t page = cpu_.page_bytes;
  const std::uint64_t at_once = std::min(kReadAtOnce, kReadByAll / file_.cpus.size());
  const std::uint64_t wanted = std::min(cpu_.size - read_, std::max(at_once / page, std::uint64_t{1}) * page);
  at_ = cpu_.offset + read_;
  if (wanted == 0 || !hold(wanted)) return false;
  buffer_.resize(wanted);
  buffer_.resize(file_.file.read_at(at_, buffer_));
  if (buffer_.size() < wanted) problem_ = fmt::format("byte {}: the file cannot be read on", at_ + buffer_.size());
  read_ += buffer_.size();
  return !buffer_.empty();
}

// The numbers in front of a piece, or of all pieces; nullopt: the CPU's data end before.
std::optional<std::uint32_t> DatPages::take_u32() {
  std::array<std::uint8_t, 4> bytes = {};
  const bool is_inside = cpu_.size - read_ >= bytes.size();
  if (!is_inside || file_.file.read_at(cpu_.offset + read_, bytes) != bytes.size()) return std::nullopt;
  read_ += bytes.size();
  return bytes[0] | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16 | std::uint32_t{bytes[3]} << 24;
}

bool DatPages::fill_packed() {
  if (!has_count_) chunks_left_ = take_u32().value_or(0);
  has_count_ = true;
  if (chunks_left_ == 0 || read_ >= cpu_.size) return false;
  at_ = cpu_.offset + read_;
  const auto no = [&](std::string_view why) {
    return stop(fmt::format("byte {}: a piece of CPU {}'s data {}", at_, cpu_.cpu, why));
  };
  const auto packed_size = take_u32(), plain_size = take_u32();
  if (!packed_size || !plain_size || *packed_size > cpu_.size - read_) return no("goes on behind their end");
  if (*packed_size > dat::kMaxChunk || *plain_size > dat::kMaxChunk || *plain_size == 0)
    return no("cannot be unpacked");
  if (!file_.budget.unpack(*plain_size)) return no("and what follows is left out: " + file_.budget.unpack_text());
  if (!hold(std::uint64_t{*packed_size} + *plain_size)) return false;
  std::vector<std::uint8_t> packed(*packed_size);
  if (file_.file.read_at(cpu_.offset + read_, packed) != packed.size()) return no("cannot be read");
  auto plain = unpack_zstd(packed, *plain_size);
  if (!plain) return no("cannot be unpacked");
  buffer_ = std::move(*plain);
  read_ += *packed_size;
  --chunks_left_;
  return true;
}

std::span<const std::uint8_t> DatPages::next() {
  if (in_buffer_ >= buffer_.size() && !fill()) return {};
  const std::size_t length = std::min<std::size_t>(cpu_.page_bytes, buffer_.size() - in_buffer_);
  const std::span page(buffer_.data() + in_buffer_, length);
  if (!cpu_.is_compressed) at_ = cpu_.offset + read_ - buffer_.size() + in_buffer_;
  in_buffer_ += length;
  return page;
}

}  // namespace kevt::record
