// Plain pages are read 256 KiB at a time; packed ones a chunk at a time: u32 chunks, then u32 packed size, u32 plain
// size, the zstd frame of each.
#include "tracefs-compat/record/dat_pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "tracefs-compat/record/dat_ids.h"
#include "tracefs-compat/record/zstd_bytes.h"

namespace kevt::record {
namespace {

constexpr std::uint64_t kReadAtOnce = 256 << 10;
constexpr std::uint64_t kReadByAll = 32 << 20;  // CPUs together

}  // namespace

DatPages::DatPages(const DatFile& file, const DatCpu& cpu) : file_(file), cpu_(cpu) {}

bool DatPages::fill() {
  if (!problem_.empty()) return false;
  in_buffer_ = 0;
  return cpu_.is_compressed ? fill_packed() : fill_plain();
}

bool DatPages::fill_plain() {
  const std::uint64_t page = file_.page_bytes;
  const std::uint64_t at_once = std::min(kReadAtOnce, kReadByAll / file_.cpus.size());
  const std::uint64_t wanted = std::min(cpu_.size - read_, std::max(at_once / page, std::uint64_t{1}) * page);
  if (wanted == 0) return false;
  buffer_.resize(wanted);
  at_ = cpu_.offset + read_;
  buffer_.resize(file_.file.read_at(at_, buffer_));
  if (buffer_.size() < wanted) problem_ = fmt::format("byte {}: the file cannot be read on", at_ + buffer_.size());
  read_ += buffer_.size();
  return !buffer_.empty();
}

bool DatPages::fill_packed() {
  Cursor at(file_.file, cpu_.offset + read_);
  if (!has_count_) {
    chunks_left_ = at.u32();
    has_count_ = true;
    read_ += 4;
  }
  if (chunks_left_ == 0 || read_ >= cpu_.size) return false;
  at_ = cpu_.offset + read_;
  const std::uint32_t packed_size = at.u32(), plain_size = at.u32();
  const std::string packed = at.bytes(packed_size, dat::kMaxChunk);
  std::optional<std::vector<std::uint8_t>> plain;
  if (at.good() && plain_size <= dat::kMaxChunk && plain_size > 0)
    plain = unpack_zstd({reinterpret_cast<const std::uint8_t*>(packed.data()), packed.size()}, plain_size);
  if (!plain) {
    problem_ = fmt::format("byte {}: a piece of CPU {}'s data cannot be unpacked", at_, cpu_.cpu);
    return false;
  }
  buffer_ = std::move(*plain);
  read_ += 8 + std::uint64_t{packed_size};
  --chunks_left_;
  return true;
}

std::span<const std::uint8_t> DatPages::next() {
  if (in_buffer_ >= buffer_.size() && !fill()) return {};
  const std::size_t length = std::min<std::size_t>(file_.page_bytes, buffer_.size() - in_buffer_);
  const std::span page(buffer_.data() + in_buffer_, length);
  if (!cpu_.is_compressed) at_ = cpu_.offset + read_ - buffer_.size() + in_buffer_;
  in_buffer_ += length;
  return page;
}

}  // namespace kevt::record
