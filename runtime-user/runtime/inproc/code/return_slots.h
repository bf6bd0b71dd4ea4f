// Return slots: the places on the target's stacks that hold an address of ours while a function with a return probe
// runs. Giving them back is what lets a program go on without us.
#pragma once

#include <functional>

#include "common/error.h"
#include "runtime-user/runtime/inproc/process/agent_threads.h"

namespace kevt::inproc {

enum class Returns : std::uint8_t {
  Restored,  // no frame returns to us any more
  Unclear,   // some call was left by a jump, or its stack is copied away: it may still return to us
};

// Writes the program's own return addresses back, for every call that is under way. Such a call returns unprobed:
// `missed` is told its kevt_event and the thread's counters. The target must stand still with no thread in a hit.
Result<Returns> restore_return_slots(Tracee& tracee, const std::vector<ThreadNote>& notes,
                                     const std::function<bool(RemoteAddr)>& is_ours,
                                     const std::function<void(const ThreadNote&, RemoteAddr event)>& missed);

}  // namespace kevt::inproc
