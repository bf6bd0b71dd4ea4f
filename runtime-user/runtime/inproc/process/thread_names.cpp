// Notes stand in a ring that every process of the session writes. A note's `lap` is written last and says which note it
// is. A note that is not written yet, because its thread was preempted or has died, is left for later. Asking the
// system for a name takes long, so one read() asks kMostAsked times at most.
#include "runtime-user/runtime/inproc/process/thread_names.h"

#include <algorithm>
#include <cstring>

#include "common/proc.h"

namespace kevt::inproc {

namespace {

constexpr std::size_t kMostUnwritten = 1024;
constexpr unsigned kMostAsked = 16;              // at a time
constexpr std::uint32_t kHighestTid = 1u << 22;  // PID_MAX_LIMIT, include/linux/threads.h
constexpr std::size_t kMostNames = 1u << 18;     // more than that a program makes up

}  // namespace

// False: the note is not written yet, or this read() may not ask for another name.
bool ThreadNames::take(std::uint64_t note) {
  const kevt_shard_owner& shared = memory_.notes()[note % KEVT_OWNER_NOTES];
  const std::uint64_t lap = __atomic_load_n(&shared.lap, __ATOMIC_ACQUIRE);
  if (lap <= note / KEVT_OWNER_NOTES) return false;
  kevt_shard_owner owner;
  std::memcpy(&owner, &shared, sizeof owner);
  if (owner.tid > kHighestTid) return true;
  if (names_.size() >= kMostNames) names_.clear();
  std::string name(owner.comm, strnlen(owner.comm, KEVT_COMM_BYTES));
  if (name.empty()) {  // the thread could not ask for its name
    if (asked_++ >= kMostAsked) return false;
    const auto tid = static_cast<pid_t>(owner.tid);
    if (proc::shares_pid_namespace(target_) && proc::process_of(tid)) name = proc::comm(tid);
  }
  if (!name.empty()) names_[owner.tid] = std::move(name);
  return true;
}

void ThreadNames::read() {
  asked_ = 0;
  const std::uint64_t begun = __atomic_load_n(&memory_.session().next_note, __ATOMIC_ACQUIRE);
  std::erase_if(unwritten_, [this](std::uint64_t note) { return take(note); });
  if (begun < next_) return;  // nonsense
  if (begun - next_ > KEVT_OWNER_NOTES) next_ = begun - KEVT_OWNER_NOTES;
  for (; next_ < begun; ++next_)
    if (!take(next_) && unwritten_.size() < kMostUnwritten) unwritten_.push_back(next_);
}

std::string_view ThreadNames::name_of(std::uint32_t tid) const {
  const auto it = names_.find(tid);
  return it == names_.end() ? std::string_view("<...>") : std::string_view(it->second);
}

}  // namespace kevt::inproc
