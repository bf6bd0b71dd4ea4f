// Stacks of processes, as separate records behind the records of probes. Asked for by the trigger `stacktrace` and the
// options userstacktrace and stacktrace.
//
//   op              as op's format says
//   user_stack      tgid, caller[8 or more]     where the trigger's condition and count allow it
//
// Mirrors stacktrace_trigger(), ftrace_trace_userstack() of kernel/trace (6.1), whose stacks end after eight callers;
// here the record is as long as the stack, as the kernel's own kernel_stack is, and never shorter than its format.
#include "runtime-user/engine/records/stack_stitcher.h"

#include <algorithm>
#include <cstring>

#include "common/proc.h"
#include "compiler/model/record_view.h"
#include "runtime-user/engine/records/record_ids.h"

namespace kevt::engine {

namespace {

constexpr std::size_t kFormatCallers = 8, kCallersAt = 16;
constexpr std::size_t kMaxKnown = 65536;

}  // namespace

std::vector<std::uint8_t> StackStitcher::record(TracedTarget& target, std::vector<std::uint64_t> callers,
                                                std::span<const std::uint8_t> of) {
  const std::uint32_t tgid = process_of(model::pid_of(of), target.pid());
  callers.resize(std::max(callers.size(), kFormatCallers));  // 0 ends the list
  std::vector<std::uint8_t> bytes(kCallersAt + callers.size() * sizeof callers[0]);
  bytes[0] = kUserStackId;
  std::ranges::copy(of.subspan(2, model::kCommonBytes - 2), bytes.begin() + 2);
  std::memcpy(bytes.data() + model::kCommonBytes, &tgid, sizeof tgid);
  std::memcpy(bytes.data() + kCallersAt, callers.data(), callers.size() * sizeof callers[0]);
  return bytes;
}

void StackStitcher::forget(const TracedTarget& target) { seen_.erase(&target); }

// The tgid of a thread, looked up once per thread. For a thread that has ended it is `otherwise`, the traced process.
std::uint32_t StackStitcher::process_of(std::int32_t tid, pid_t otherwise) {
  if (process_of_.size() >= kMaxKnown) process_of_.clear();
  const auto [it, is_new] = process_of_.try_emplace(tid, 0);
  if (is_new) {
    const std::int32_t tgid = proc::process_of(tid);
    it->second = static_cast<std::uint32_t>(tgid ? tgid : otherwise);
  }
  return it->second;
}

// An address in no known file may lie in one that was mapped since. Files are not looked at for another reason: the
// names of a library that is just unloaded would be lost.
void StackStitcher::look_for_new_files(TracedTarget& target, std::span<const std::uint64_t> callers) {
  if (!target.pid()) return;
  std::unordered_set<std::uint64_t>& seen = seen_[&target];
  for (const std::uint64_t caller : callers) {
    if (seen.size() >= kMaxKnown) seen.clear();
    if (!seen.insert(caller).second) continue;
    const target::TargetEnv& env = target.known_env();
    if (!env.symbolize(caller) && !env.place_name(caller) && target.is_alive()) target.look_at_files();
  }
}

}  // namespace kevt::engine
