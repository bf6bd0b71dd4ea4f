#include "runtime-user/runtime/inproc/process/stopped_text.h"

#include <algorithm>

#include "common/page.h"

namespace kevt::inproc {

Result<void> StoppedText::read(RemoteAddr at, std::span<std::uint8_t> out) {
  constexpr std::uint64_t kBlockBytes = 4 * kPage;
  const std::uint64_t from = at.value % kBlockBytes, begin = at.value - from;
  auto [block, is_new] = blocks_.try_emplace(begin);
  std::vector<std::uint8_t>& bytes = block->second;
  if (is_new) {
    bytes.resize(kBlockBytes);
    bytes.resize(tracee_.read_some(RemoteAddr{begin}, bytes).value_or(0));
  }
  if (from + out.size() > bytes.size()) return tracee_.read(at, out);
  std::ranges::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(from), static_cast<std::ptrdiff_t>(out.size()),
                      out.begin());
  return {};
}

}  // namespace kevt::inproc
