// The front of a trace line, and a line of kprobe_profile.
//
//   "             cat-1234    [003] d..1.    12.345678: "
//
// Nanoseconds are rounded to microseconds, half up. Mirrors trace_print_lat_fmt() and
// trace_print_context() of kernel/trace/trace_output.c, probes_profile_seq_show() of trace_kprobe.c (6.1).
#include <fmt/format.h>

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

}  // namespace

std::string line_prefix(const LineContext& context) {
  std::string text = fmt::format("{:>16}-{:<7} ", context.comm, context.pid);
  if (context.tgid) text += *context.tgid == 0 ? std::string("(-------) ") : fmt::format("({:>7}) ", *context.tgid);
  text += fmt::format("[{:03}] ", context.cpu);
  if (context.shows_flags) {
    text += irqs_char(context.flags);
    text += resched_char(context.flags);
    text += context_char(context.flags);
    text += depth_char(context.preempt_count & 0xf);
    text += depth_char(context.preempt_count >> 4);
  }
  if (context.unit == TimeUnit::Count) return text + fmt::format(" {:>12}: ", context.timestamp_ns);
  const std::uint64_t microseconds = (context.timestamp_ns + 500) / 1000;
  return text + fmt::format(" {:>5}.{:06}: ", microseconds / 1'000'000, microseconds % 1'000'000);
}

std::string profile_line(std::string_view event, std::uint64_t hits, std::uint64_t misses) {
  return fmt::format("  {:<44} {:>15} {:>15}\n", event, hits, misses);
}

}  // namespace kevt::layout
