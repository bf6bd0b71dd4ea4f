// The whole process stands still while its text changes. That is stronger than writing a breakpoint
// first, then the tail, then the head with barriers in between: a thread that was preempted in the
// middle of the bytes to be replaced is seen, and is moved to the copy of its instruction.
// One stop serves a batch of any size.
#include "runtime-user/runtime/inproc/code/patcher.h"

#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "common/page.h"
#include "runtime-user/runtime/inproc/process/stopped_text.h"
#include "runtime-user/runtime/inproc/x86/machine.h"

namespace kevt::inproc {

namespace {

const TextPatch* patch_around(std::span<const TextPatch* const> sorted, std::uint64_t ip) {
  auto it = std::ranges::upper_bound(sorted, ip, {}, [](const TextPatch* p) { return p->site.value; });
  if (it == sorted.begin()) return nullptr;
  const TextPatch* patch = *--it;
  const std::uint64_t covered = std::max<std::uint64_t>(patch->covered, patch->bytes.size());
  return ip > patch->site.value && ip < patch->site.value + covered ? patch : nullptr;
}

// Where a thread that stands at `ip` has to go on; 0: at `ip`.
std::uint64_t moved_ip(std::span<const TextPatch* const> sorted, std::uint64_t ip) {
  const TextPatch* patch = patch_around(sorted, ip);
  if (!patch) return 0;
  for (const x86::MovedOffset& moved : patch->moved)
    if (moved.original == ip - patch->site.value) return patch->detour.value + moved.relocated;
  return 0;
}

Result<void> move_threads(Tracee& tracee, SignalHandover& signals, std::span<const TextPatch* const> sorted) {
  for (const pid_t tid : std::vector<pid_t>(tracee.threads())) {
    auto registers = KEVT_TRY(tracee.registers(tid));
    if (const std::uint64_t to = moved_ip(sorted, registers.rip)) {
      registers.rip = to;
      KEVT_TRY(tracee.set_registers(tid, registers));
    }
    auto frames = KEVT_TRY(signals.frames_of(tid));
    for (const SignalFrame& frame : frames) {
      const std::uint64_t to = moved_ip(sorted, frame.ip.value);
      if (!to) continue;
      KEVT_TRY(tracee.write(frame.ip_at, {reinterpret_cast<const std::uint8_t*>(&to), 8}));
    }
  }
  return {};
}

// Bytes on two pages are written in two steps, and we may die between them: a breakpoint stands there meanwhile, which
// the address map knows.
Result<void> write_text(const Tracee& tracee, const TextPatch& patch) {
  const std::span<const std::uint8_t> bytes = patch.bytes;
  const bool is_on_one_page = page_down(patch.site.value) == page_down(patch.site.value + bytes.size() - 1);
  if (is_on_one_page) return tracee.write(patch.site, bytes);
  KEVT_TRY(tracee.write(patch.site, {&x86::kBreakpoint, 1}));
  KEVT_TRY(tracee.write(patch.site + 1, bytes.subspan(1)));
  return tracee.write(patch.site, bytes.first(1));
}

bool is_on_page(const TextPatch& patch, std::uint64_t page) {
  return page_down(patch.site.value) == page && page_down(patch.site.value + patch.bytes.size() - 1) == page;
}

// Successive patches on one page are written together with the bytes between them, which cannot change: no thread runs.
Result<void> write_texts(const Tracee& tracee, std::span<const TextPatch> patches) {
  constexpr std::size_t kWorthReading = 3;
  std::vector<std::uint8_t> text(kPage);
  while (!patches.empty()) {
    const std::uint64_t page = page_down(patches.front().site.value);
    const auto end = std::ranges::find_if_not(patches, [&](const TextPatch& p) { return is_on_page(p, page); });
    const auto here = patches.first(std::max<std::size_t>(static_cast<std::size_t>(end - patches.begin()), 1));
    patches = patches.subspan(here.size());
    if (here.size() >= kWorthReading && tracee.read(RemoteAddr{page}, text)) {
      for (const TextPatch& patch : here)
        std::ranges::copy(patch.bytes, text.begin() + static_cast<std::ptrdiff_t>(patch.site.value - page));
      KEVT_TRY(tracee.write(RemoteAddr{page}, text));
      continue;
    }
    for (const TextPatch& patch : here) KEVT_TRY(write_text(tracee, patch));
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

std::vector<RemoteAddr> take_out_gone(const Tracee& tracee, std::vector<TextPatch>& patches) {
  std::vector<RemoteAddr> gone;
  StoppedText text(tracee);
  std::erase_if(patches, [&](const TextPatch& patch) {
    if (patch.expected.empty()) return false;
    std::vector<std::uint8_t> now(patch.expected.size());
    if (text.read(patch.site, now) && now == patch.expected) return false;
    gone.push_back(patch.site);
    return true;
  });
  return gone;
}

Result<void> apply_patches(Tracee& tracee, SignalHandover& signals, std::span<const TextPatch> patches) {
  if (patches.empty()) return {};
  // Where no system call can be made, the handlers seen before are used, and every thread's way out of the stop
  // serializes.
  const bool calls = !tracee.refuses_calls();
  if (calls) KEVT_TRY(signals.look());
  std::vector<const TextPatch*> sorted;
  for (const TextPatch& patch : patches) sorted.push_back(&patch);
  std::ranges::sort(sorted, {}, [](const TextPatch* p) { return p->site.value; });
  KEVT_TRY(move_threads(tracee, signals, sorted));
  if (auto put = write_texts(tracee, patches); !put)
    return std::unexpected(std::move(put.error()).while_doing("patching the target's text"));
  if (!calls) return {};
  constexpr std::uint64_t kSyncCore = 32;  // MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE
  auto done = KEVT_TRY(tracee.syscall(SYS_membarrier, {kSyncCore, 0, 0, 0, 0, 0}));
  if (done < 0) return std::unexpected(Error("membarrier in the target failed", static_cast<int>(-done)));
  return {};
}

}  // namespace kevt::inproc
