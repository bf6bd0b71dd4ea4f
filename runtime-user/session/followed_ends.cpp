// Forked children of an ended program may still hit, with its rings and counters. The program is over only when no
// process of the machine shares its session.
#include "runtime-user/session/followed_ends.h"

#include <algorithm>

#include "runtime-user/runtime/inproc/process/forked_children.h"

namespace kevt::session {

namespace {

constexpr std::size_t kTogether = 32;  // how many must have ended since the last look

bool may_be_over(const std::unique_ptr<TracedProcess>& process) {
  return process->held.origin == Origin::Followed && !process->is_over && process->held.runtime->poll_exit();
}

}  // namespace

void FollowedEnds::note(const std::vector<std::unique_ptr<TracedProcess>>& all) {
  const auto count = [&] { return static_cast<std::size_t>(std::ranges::count_if(all, may_be_over)); };
  if (count() < looked_at_ + kTogether) return;
  const auto sessions = inproc::SharedSessions::look();
  for (const auto& process : all) {
    if (!may_be_over(process) || process->held.runtime->may_be_hit(sessions)) continue;
    process->is_over = true;
    process->held.runtime->settle();
  }
  looked_at_ = count();
}

}  // namespace kevt::session
