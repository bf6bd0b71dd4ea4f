// Switches and sizes of an instance's buffer: tracing_on, trace_clock, buffer_size_kb, stats, tracing_cpumask …
//
// Mirrors rb_simple_write(), tracing_clock_write(), tracing_entries_read(), tracing_stats_read(),
// tracing_cpumask_write() and tracing_free_buffer_release() of kernel/trace/trace.c (6.1).
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "common/clock.h"

#include "common/error.h"
#include "tracefs-compat/tree/node_table.h"

namespace kevt::tree {

namespace {

constexpr std::uint64_t kMaxBufferKb = 16u << 20;  // per CPU: 16 GiB are a mistake

std::uint64_t size_kb(const engine::CpuBuffer& buffer) {
  return std::uint64_t{buffer.pages()} * layout::kRingPageData / 1024;
}

void resize(engine::CpuBuffer& buffer, std::uint64_t kb) {
  buffer.resize(static_cast<std::uint32_t>((kb * 1024 + layout::kRingPageData - 1) / layout::kRingPageData));
}

std::string size_text(const Place& place) {
  const engine::TraceBuffer& buffer = place.instance->buffer;
  if (const auto cpu = cpu_of(place)) return fmt::format("{}\n", size_kb(buffer.cpu(*cpu)));
  for (std::uint32_t i = 1; i < buffer.cpus(); ++i)
    if (buffer.cpu(i).pages() != buffer.cpu(0).pages()) return "X\n";
  return fmt::format("{}\n", size_kb(buffer.cpu(0)));
}

Result<void> write_size(const Place& place, std::string_view text) {
  auto kb = KEVT_TRY(parse_number(text, 10));
  if (kb == 0) return fails(EINVAL);
  if (kb > kMaxBufferKb) return fails(ENOMEM);
  place.tracing->drain();
  engine::TraceBuffer& buffer = place.instance->buffer;
  const auto cpu = cpu_of(place);
  for (std::uint32_t i = 0; i < buffer.cpus(); ++i)
    if (!cpu || *cpu == i) resize(buffer.cpu(i), kb);
  return {};
}

std::string time_text(std::uint64_t ns, bool in_ns) {
  if (!in_ns) return fmt::format("{}", ns);
  const std::uint64_t us = (ns + 500) / 1000;
  return fmt::format("{:>5}.{:06}", us / 1'000'000, us % 1'000'000);
}

std::string stats_text(const Place& place) {
  place.tracing->drain();
  engine::Instance& instance = *place.instance;
  const engine::BufferStats stats = instance.buffer.stats(cpu_of(place));
  const bool in_ns = instance.stamps_ns();
  const std::uint64_t now = in_ns ? instance.stamp(now_ns()) : instance.counter;
  return fmt::format(
      "entries: {}\noverrun: {}\ncommit overrun: 0\nbytes: {}\noldest event ts: {}\nnow ts: {}\ndropped events: {}\n"
      "read events: {}\n",
      stats.entries, stats.overrun, stats.bytes, time_text(stats.oldest_ns.value_or(0), in_ns), time_text(now, in_ns),
      stats.dropped, stats.read);
}

Result<void> write_clock(const Place& place, std::string_view text) {
  const std::string_view name = stripped(text);
  for (const auto& facts : engine::trace_clock_facts()) {
    if (facts.name != name) continue;
    place.tracing->drain();
    place.instance->set_clock(facts.clock);
    return {};
  }
  return fails(EINVAL);
}

// Hex digits in groups of 32 bits, the highest CPU first, as the kernel prints its masks.
std::string mask_text(const std::vector<bool>& mask) {
  std::string text;
  for (std::size_t digit = (mask.size() + 3) / 4; digit-- > 0;) {
    unsigned value = 0;
    for (std::size_t bit = 0; bit < 4; ++bit)
      if (digit * 4 + bit < mask.size() && mask[digit * 4 + bit]) value |= 1u << bit;
    text += "0123456789abcdef"[value];
    if (digit > 0 && digit % 8 == 0) text += ',';
  }
  return text + '\n';
}

Result<void> write_mask(const Place& place, std::string_view text) {
  std::vector<bool> mask(place.tracing->options().cpus, false);
  std::size_t bit = 0;
  const std::string_view digits = stripped(text);
  if (digits.empty()) return fails(EINVAL);
  for (auto it = digits.rbegin(); it != digits.rend(); ++it) {
    if (*it == ',') continue;
    const std::size_t value = std::string_view("0123456789abcdef").find(static_cast<char>(std::tolower(*it)));
    if (value == std::string_view::npos) return fails(EINVAL);
    for (std::size_t i = 0; i < 4; ++i, ++bit) {
      if ((value >> i & 1) == 0) continue;
      if (bit < mask.size()) mask[bit] = true;
    }
    if (bit > 4096) return fails(EOVERFLOW);
  }
  place.tracing->drain();
  place.instance->cpu_mask = std::move(mask);
  return {};
}

// Closing the file shrinks the buffer to nothing, but only if it was open for writing: `grep -r` must not lose a trace.
class FreeBufferHandle final : public Handle {
 public:
  explicit FreeBufferHandle(const Place& place) : place_(place) {}
  ~FreeBufferHandle() override {
    engine::Instance& instance = *place_.instance;
    if (instance.options.has(engine::TraceOption::DisableOnFree)) instance.tracing_on = false;
    for (std::uint32_t i = 0; i < instance.buffer.cpus(); ++i) instance.buffer.cpu(i).resize(2);
  }
  Result<std::size_t> read(std::uint64_t, std::span<char>, Waiting) override { return fails(EINVAL); }
  Result<std::size_t> write(std::string_view data, const Caller&) override { return data.size(); }

 private:
  Place place_;
};

}  // namespace

Opened open_buffer_size(const Place& place, const OpenRequest&) {
  return open_text({.read = [place]() -> Result<std::string> { return size_text(place); },
                    .write = [place](std::string_view text, const Caller&) { return write_size(place, text); },
                    .write_some = {}});
}

Opened open_buffer_total_size(const Place& place, const OpenRequest&) {
  return read_only([place]() -> Result<std::string> {
    std::uint64_t kb = 0;
    for (std::uint32_t i = 0; i < place.instance->buffer.cpus(); ++i) kb += size_kb(place.instance->buffer.cpu(i));
    return fmt::format("{}\n", kb);
  });
}

// How full the buffer must be to wake a waiting reader, in percent; here 0, as the first record wakes the reader.
Opened open_buffer_percent(const Place&, const OpenRequest&) {
  return open_text({.read = []() -> Result<std::string> { return std::string("0\n"); },
                    .write = [](std::string_view text, const Caller&) -> Result<void> {
                      auto value = KEVT_TRY(parse_number(text, 10));
                      if (value != 0) return fails(EINVAL);
                      return {};
                    },
                    .write_some = {}});
}

Opened open_free_buffer(const Place& place, const OpenRequest& request) {
  if (!request.writes) return open_text({});
  return std::make_unique<FreeBufferHandle>(place);
}

Opened open_stats(const Place& place, const OpenRequest&) {
  return read_only([place]() -> Result<std::string> { return stats_text(place); });
}

Opened open_tracing_on(const Place& place, const OpenRequest&) {
  return open_text({.read = [place]() -> Result<std::string> {
                      place.tracing->drain();  // triggers of earlier hits may switch it
                      return std::string(place.instance->tracing_on ? "1\n" : "0\n");
                    },
                    .write = [place](std::string_view text, const Caller&) -> Result<void> {
                      auto value = KEVT_TRY(parse_number(text, 10));
                      place.tracing->drain();
                      place.instance->tracing_on = value != 0;
                      return {};
                    },
                    .write_some = {}});
}

Opened open_trace_clock(const Place& place, const OpenRequest&) {
  return open_text({.read = [place]() -> Result<std::string> {
                      std::string text;
                      for (const auto& facts : engine::trace_clock_facts()) {
                        const bool now = facts.clock == place.instance->clock;
                        text += fmt::format("{}{}{}{}", text.empty() ? "" : " ", now ? "[" : "", facts.name,
                                            now ? "]" : "");
                      }
                      return text + '\n';
                    },
                    .write = [place](std::string_view text, const Caller&) { return write_clock(place, text); },
                    .write_some = {}});
}

Opened open_timestamp_mode(const Place&, const OpenRequest&) {
  return read_only([]() -> Result<std::string> { return std::string("[delta] absolute\n"); });
}

Opened open_tracing_cpumask(const Place& place, const OpenRequest&) {
  return open_text({.read = [place]() -> Result<std::string> { return mask_text(place.instance->cpu_mask); },
                    .write = [place](std::string_view text, const Caller&) { return write_mask(place, text); },
                    .write_some = {}});
}

}  // namespace kevt::tree
