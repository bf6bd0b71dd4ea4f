// Frames as trace-cmd writes them: without a dictionary, one a piece.
#include "tracefs-compat/record/dat/zstd_bytes.h"

#include <zstd.h>

#include <memory>

#include "common/assert.h"

namespace kevt::record {
namespace {

constexpr int kLevel = 1;  // trace pages repeat themselves: higher levels cost time and win little

constexpr std::size_t kChecksumBytes = 4;

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
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);  // a flipped bit is seen by whoever unpacks it
  std::vector<std::uint8_t> packed(ZSTD_compressBound(plain.size()) + kChecksumBytes);
  const std::size_t got = ZSTD_compress2(context.get(), packed.data(), packed.size(), plain.data(), plain.size());
  KEVT_ASSERT(!ZSTD_isError(got));
  packed.resize(got);
  return packed;
}

}  // namespace kevt::record
