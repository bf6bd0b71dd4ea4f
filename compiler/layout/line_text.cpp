// The front of a trace line, and a line of kprobe_profile.
//
//   "             cat-1234    [003] d..1.    12.345678: "
//
// Nanoseconds are rounded to microseconds, half up. Mirrors trace_print_lat_fmt() and
// trace_print_context() of kernel/trace/trace_output.c, probes_profile_seq_show() of trace_kprobe.c (6.1).
#include <fmt/format.h>

#include <charconv>

#include "compiler/layout/layout.h"

namespace kevt::layout {
namespace {

enum TraceFlag : std::uint8_t {
  kIrqsOff = 0x01,
  kIrqsUnknown = 0x02,
  kNeedResched = 0x04,
  kHardirq = 0x08,
  kSoftirq = 0x10,
  kPreemptResched = 0x20,
  kNmi = 0x40,
  kBottomHalvesOff = 0x80,
};

char irqs_char(std::uint8_t flags) {
  if ((flags & kIrqsOff) != 0 && (flags & kBottomHalvesOff) != 0) return 'D';
  if ((flags & kIrqsOff) != 0) return 'd';
  if ((flags & kBottomHalvesOff) != 0) return 'b';
  return (flags & kIrqsUnknown) != 0 ? 'X' : '.';
}

char resched_char(std::uint8_t flags) {
  const bool task = (flags & kNeedResched) != 0;
  const bool preempt = (flags & kPreemptResched) != 0;
  if (task && preempt) return 'N';
  if (task) return 'n';
  return preempt ? 'p' : '.';
}

char context_char(std::uint8_t flags) {
  const bool hard = (flags & kHardirq) != 0;
  const bool soft = (flags & kSoftirq) != 0;
  if ((flags & kNmi) != 0) return hard ? 'Z' : 'z';
  if (hard) return soft ? 'H' : 'h';
  return soft ? 's' : '.';
}

char depth_char(unsigned depth) { return depth == 0 ? '.' : "0123456789abcdef"[depth & 0xf]; }

// At least `width` characters: `fill` in front.
void append_right(std::string& out, std::uint64_t value, std::size_t width, char fill) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  const auto length = static_cast<std::size_t>(end - digits);
  if (length < width) out.append(width - length, fill);
  out.append(digits, length);
}

void append_task(std::string& out, std::string_view comm, std::int32_t pid) {
  constexpr std::size_t kComm = 16, kPid = 7;
  if (comm.size() < kComm) out.append(kComm - comm.size(), ' ');
  out += comm;
  out += '-';
  char digits[16];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, pid);
  const auto length = static_cast<std::size_t>(end - digits);
  out.append(digits, length);
  out.append(length < kPid ? kPid - length + 1 : 1, ' ');
}

}  // namespace

void append_line_prefix(std::string& out, const LineContext& context) {
  append_task(out, context.comm, context.pid);
  if (context.tgid) out += *context.tgid == 0 ? std::string("(-------) ") : fmt::format("({:>7}) ", *context.tgid);
  out += '[';
  append_right(out, context.cpu, 3, '0');
  out += "] ";
  if (context.shows_flags) {
    out += irqs_char(context.flags);
    out += resched_char(context.flags);
    out += context_char(context.flags);
    out += depth_char(context.preempt_count & 0xf);
    out += depth_char(context.preempt_count >> 4);
  }
  out += ' ';
  if (context.unit == TimeUnit::Count) {
    append_right(out, context.timestamp_ns, 12, ' ');
  } else {
    const std::uint64_t microseconds = (context.timestamp_ns + 500) / 1000;
    append_right(out, microseconds / 1'000'000, 5, ' ');
    out += '.';
    append_right(out, microseconds % 1'000'000, 6, '0');
  }
  out += ": ";
}

std::string line_prefix(const LineContext& context) {
  std::string text;
  append_line_prefix(text, context);
  return text;
}

std::string profile_line(std::string_view event, std::uint64_t hits, std::uint64_t misses) {
  return fmt::format("  {:<44} {:>15} {:>15}\n", event, hits, misses);
}

}  // namespace kevt::layout
