// FollowedEnds: which followed programs have ended, so that nothing can hit in them any more.
#pragma once

#include <algorithm>
#include <cstddef>

#include "cli/launch.h"

namespace kevt::cli {

class FollowedEnds {
 public:
  // Sets is_over of those in `all`, a range of pointers to what has `held` and `is_over`. Who shares their sessions is
  // found in one look over all processes of the machine, so it is looked for many at once.
  template <class Processes>
  void note(const Processes& all) {
    const auto count = [&] { return static_cast<std::size_t>(std::ranges::count_if(all, may_be_over<Processes>)); };
    if (count() < looked_at_ + kTogether) return;
    const auto sessions = inproc::SharedSessions::look();
    for (const auto& process : all) {
      if (!may_be_over<Processes>(process) || process->held.runtime->may_be_hit(sessions)) continue;
      process->is_over = true;
      process->held.runtime->settle();
    }
    looked_at_ = count();
  }

 private:
  static constexpr std::size_t kTogether = 32;

  template <class Processes>
  static bool may_be_over(const typename Processes::value_type& process) {
    return process->held.origin == Origin::Followed && !process->is_over && process->held.runtime->poll_exit();
  }

  std::size_t looked_at_ = 0;  // of those that had ended when it was last looked
};

}  // namespace kevt::cli
