// Frames as trace-cmd writes them: without a dictionary, one a piece.
#include "tracefs-compat/record/zstd_bytes.h"

#include <zstd.h>

#include "common/assert.h"

namespace kevt::record {
namespace {

constexpr int kLevel = 1;  // trace pages repeat themselves: higher levels cost time and win little

}  // namespace

std::optional<std::vector<std::uint8_t>> unpack_zstd(std::span<const std::uint8_t> packed, std::size_t size) {
  // Room for what the frame itself admits to hold, not for what a header claims.
  const unsigned long long content = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (content == ZSTD_CONTENTSIZE_ERROR) return std::nullopt;
  if (content != ZSTD_CONTENTSIZE_UNKNOWN && content != size) return std::nullopt;
  std::vector<std::uint8_t> plain(size);
  const std::size_t got = ZSTD_decompress(plain.data(), plain.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) || got != size) return std::nullopt;
  return plain;
}

std::vector<std::uint8_t> pack_zstd(std::span<const std::uint8_t> plain) {
  std::vector<std::uint8_t> packed(ZSTD_compressBound(plain.size()));
  const std::size_t got = ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), kLevel);
  KEVT_ASSERT(!ZSTD_isError(got));
  packed.resize(got);
  return packed;
}

}  // namespace kevt::record
