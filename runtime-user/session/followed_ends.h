// FollowedEnds: finds the followed programs that have ended and in which nothing can hit any more.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime-user/session/traced_process.h"

namespace kevt::session {

class FollowedEnds {
 public:
  // Sets is_over of such programs in `all`. To find who still shares a session, all processes of the machine are looked
  // at, so this is done only once 32 more programs have ended.
  void note(const std::vector<std::unique_ptr<TracedProcess>>& all);

 private:
  std::size_t looked_at_ = 0;  // how many ended ones were left after the last look
};

}  // namespace kevt::session
