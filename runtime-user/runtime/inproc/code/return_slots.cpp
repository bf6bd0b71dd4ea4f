// The agent pops the return address into an instance and has the function return to the detour
// (runtime-user/agent/returns.c). When tracing ends in the middle of such a call, which may take for ever
// (accept(), a main loop), the address is put back:
//
//   newest first: of nested detours in one slot the outermost one's, the program's own, is written last
//   a slot that holds something else: the call was left by longjmp, or its stack is copied away (greenlets).
//     It cannot be told which, so the instance stays and so must the detours.
//
// After that an exception passes through the frame as if no probe had ever been there.
#include "runtime-user/runtime/inproc/code/return_slots.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace kevt::inproc {

namespace {

template <class T>
std::span<std::uint8_t> as_bytes(T& value) {
  return {reinterpret_cast<std::uint8_t*>(&value), sizeof value};
}

// Returns the instances of which it is not clear where their frame is, newest first.
Result<std::vector<kevt_return_instance>> restore_thread(
    Tracee& tracee, const ThreadNote& note, const std::function<bool(RemoteAddr)>& is_ours,
    const std::function<void(const ThreadNote&, RemoteAddr event)>& missed) {
  std::vector<kevt_return_instance> unclear;
  std::vector<std::uint64_t> restored;  // slots
  for (std::uint64_t i = std::min<std::uint64_t>(note.depth, KEVT_RETURN_DEPTH); i-- > 0;) {
    kevt_return_instance instance{};
    const RemoteAddr at = note.at + (offsetof(kevt_thread, instances) + sizeof instance * i);
    KEVT_TRY(tracee.read(at, as_bytes(instance)));
    if (!instance.slot || instance.slot & KEVT_INSTANCE_FILLING) continue;  // a hit that was abandoned
    const RemoteAddr slot{instance.slot};
    std::uint64_t held = 0;
    if (!tracee.read(slot, as_bytes(held))) continue;  // that stack is gone
    if (is_ours(RemoteAddr{held})) {
      std::uint64_t own = instance.return_address & ~KEVT_INSTANCE_SPECIAL;
      if (auto put = tracee.write(slot, as_bytes(own)); !put) return std::unexpected(put.error());
      restored.push_back(instance.slot);
      missed(note, RemoteAddr{instance.event});
    } else if (std::ranges::find(restored, instance.slot) == restored.end()) {
      unclear.push_back(instance);
    }
  }
  return unclear;
}

Result<void> keep_instances(Tracee& tracee, const ThreadNote& note,
                            std::span<const kevt_return_instance> newest_first) {
  std::uint64_t depth = 0;
  for (std::size_t i = newest_first.size(); i-- > 0; ++depth) {
    kevt_return_instance instance = newest_first[i];
    const RemoteAddr at = note.at + (offsetof(kevt_thread, instances) + sizeof instance * depth);
    KEVT_TRY(tracee.write(at, as_bytes(instance)));
  }
  return tracee.write(note.at + offsetof(kevt_thread, depth), as_bytes(depth));
}

}  // namespace

Result<Returns> restore_return_slots(Tracee& tracee, const std::vector<ThreadNote>& notes,
                                     const std::function<bool(RemoteAddr)>& is_ours,
                                     const std::function<void(const ThreadNote&, RemoteAddr event)>& missed) {
  Returns result = Returns::Restored;
  for (const ThreadNote& note : notes) {
    auto unclear = restore_thread(tracee, note, is_ours, missed);
    if (!unclear) return std::unexpected(std::move(unclear.error()));
    if (!unclear->empty()) result = Returns::Unclear;
    if (note.depth) KEVT_TRY(keep_instances(tracee, note, *unclear));
  }
  return result;
}

}  // namespace kevt::inproc
