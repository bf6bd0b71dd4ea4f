// The whole process stands still while its text changes. That is stronger than writing a breakpoint
// first, then the tail, then the head with barriers in between: a thread that was preempted in the
// middle of the bytes to be replaced is seen, and is moved to the copy of its instruction.
// One stop serves a batch of any size.
#include "runtime-user/runtime/inproc/patcher.h"

#include <sys/syscall.h>

#include <algorithm>
#include <cstring>

namespace kevt::inproc {

namespace {

const TextPatch* patch_around(std::span<const TextPatch* const> sorted, std::uint64_t ip) {
  auto it = std::ranges::upper_bound(sorted, ip, {}, [](const TextPatch* p) { return p->site.value; });
  if (it == sorted.begin()) return nullptr;
  const TextPatch* patch = *--it;
  return ip > patch->site.value && ip < patch->site.value + patch->bytes.size() ? patch : nullptr;
}

Result<void> move_threads(Tracee& tracee, std::span<const TextPatch* const> sorted) {
  for (pid_t tid : tracee.threads()) {
    auto registers = tracee.registers(tid);
    if (!registers) return std::unexpected(std::move(registers.error()));
    const TextPatch* patch = patch_around(sorted, registers->rip);
    if (!patch) continue;
    const std::uint64_t offset = registers->rip - patch->site.value;
    for (const x86::MovedOffset& moved : patch->moved) {
      if (moved.original != offset) continue;
      registers->rip = patch->detour.value + moved.relocated;
      if (auto set = tracee.set_registers(tid, *registers); !set) return set;
    }
  }
  return {};
}

}  // namespace

std::vector<std::uint8_t> jump_bytes(RemoteAddr site, RemoteAddr to) {
  const auto distance = static_cast<std::int32_t>(to - (site + 5));
  std::vector<std::uint8_t> bytes = {0xe9, 0, 0, 0, 0};
  std::memcpy(bytes.data() + 1, &distance, 4);
  return bytes;
}

Result<void> apply_patches(Tracee& tracee, std::span<const TextPatch> patches) {
  std::vector<const TextPatch*> sorted;
  for (const TextPatch& patch : patches) sorted.push_back(&patch);
  std::ranges::sort(sorted, {}, [](const TextPatch* p) { return p->site.value; });
  if (auto moved = move_threads(tracee, sorted); !moved) return moved;
  for (const TextPatch& patch : patches)
    if (auto put = tracee.write(patch.site, patch.bytes); !put)
      return std::unexpected(std::move(put.error()).while_doing("patching the target's text"));
  constexpr std::uint64_t kSyncCore = 32;  // MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE
  auto done = tracee.syscall(SYS_membarrier, {kSyncCore, 0, 0, 0, 0, 0});
  if (!done) return std::unexpected(std::move(done.error()));
  if (*done < 0) return std::unexpected(Error("membarrier in the target failed", static_cast<int>(-*done)));
  return {};
}

}  // namespace kevt::inproc
