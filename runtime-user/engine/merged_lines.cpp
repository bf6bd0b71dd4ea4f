// Sessions are drained one after the other, so what the first one hands out ends earlier than what the
// last one does. A line may be printed only when no session can still come with an older one:
//
//   now = 100   drain A: … 98        drain B: … 99, 104      until = 100 → 98, 99; 104 waits
//
// The caller takes the time before the first drain of a round as `until_ns`. Between sessions the order is as exact as
// their clocks agree: tens of nanoseconds (tsc_clock.h).
#include "runtime-user/engine/merged_lines.h"

#include <algorithm>

namespace kevt::engine {

void MergedLines::add(std::uint64_t time_ns, std::string_view line) {
  waiting_.push_back({time_ns, std::string(line)});
}

std::uint64_t MergedLines::take(std::uint64_t until_ns, std::uint64_t limit,
                                const std::function<void(std::string_view)>& give) {
  std::ranges::stable_sort(waiting_, {}, &Line::time_ns);
  std::size_t taken = 0;
  for (; taken < waiting_.size() && taken < limit && waiting_[taken].time_ns <= until_ns; ++taken)
    give(waiting_[taken].text);
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(taken));
  return taken;
}

}  // namespace kevt::engine
