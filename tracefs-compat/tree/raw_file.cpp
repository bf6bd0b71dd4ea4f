// per_cpu/cpuN/trace_pipe_raw: the pages of the buffer as they are, consumed.
//
// One page at a time, or as many as the reader has room for; a reader with less room gets a page in pieces. If there is
// no full page, the page that is being filled is handed out and a new one is begun: a fast reader gets nearly empty
// pages. Mirrors tracing_buffers_read() of kernel/trace/trace.c (6.1).
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "common/clock.h"

#include "tracefs-compat/tree/node_table.h"

namespace kevt::tree {

namespace {

class RawHandle final : public Handle {
 public:
  explicit RawHandle(const Place& place) : place_(place), cpu_(*cpu_of(place)) {}

  Result<std::size_t> read(std::uint64_t, std::span<char> out, Waiting waiting) override {
    if (at_ < page_.size()) return take(out);
    place_.tracing->drain();
    if (waiting == Waiting::Allowed && !is_ready()) return fails(EAGAIN);
    last_ns_ = now_ns();
    engine::CpuBuffer& buffer = place_.instance->buffer.cpu(cpu_);
    std::size_t filled = 0;
    for (; filled + page_.size() <= out.size(); filled += page_.size()) {
      if (filled > 0 && !buffer.has_full_page()) break;
      const auto bytes = std::span(reinterpret_cast<std::uint8_t*>(out.data()) + filled, page_.size());
      if (!buffer.take_page(bytes.first<layout::kRingPageBytes>())) break;
    }
    if (filled > 0) return filled;
    if (out.size() >= page_.size() || !buffer.take_page(page_)) {
      if (!place_.tracing->records().is_finished()) return fails(EAGAIN);
      was_told_end_ = true;
      return 0;
    }
    at_ = 0;
    return take(out);
  }
  Result<std::size_t> write(std::string_view, const Caller&) override { return fails(EINVAL); }
  bool is_ready() override {
    engine::CpuBuffer& buffer = place_.instance->buffer.cpu(cpu_);
    if (at_ < page_.size() || buffer.has_full_page() || place_.tracing->records().is_finished()) return true;
    return buffer.peek() && now_ns() - last_ns_ >= kPatienceNs;
  }
  bool awaits_end() const override { return !was_told_end_; }

 private:
  std::size_t take(std::span<char> out) {
    const std::size_t count = std::min(out.size(), page_.size() - at_);
    std::memcpy(out.data(), page_.data() + at_, count);
    at_ += count;
    return count;
  }

  static constexpr std::uint64_t kPatienceNs = 100'000'000;
  Place place_;
  std::uint32_t cpu_;
  std::uint64_t last_ns_ = 0;  // of the last page handed out
  bool was_told_end_ = false;
  std::array<std::uint8_t, layout::kRingPageBytes> page_;
  std::size_t at_ = layout::kRingPageBytes;  // bytes of page_ already read
};

}  // namespace

Opened open_trace_pipe_raw(const Place& place, const OpenRequest&) { return std::make_unique<RawHandle>(place); }

}  // namespace kevt::tree
