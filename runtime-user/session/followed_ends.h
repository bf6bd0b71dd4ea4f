// FollowedEnds: which followed programs have ended, so that nothing can hit in them any more.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime-user/session/traced_process.h"

namespace kevt::session {

class FollowedEnds {
 public:
  // Sets is_over of those in `all`. Who shares their sessions is found in one look over all processes of the machine,
  // so it is looked for many at once.
  void note(const std::vector<std::unique_ptr<TracedProcess>>& all);

 private:
  std::size_t looked_at_ = 0;  // of those that had ended when it was last looked
};

}  // namespace kevt::session
