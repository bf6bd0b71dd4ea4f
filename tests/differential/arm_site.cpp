// The controller's steps without ptrace: find whole instructions, build the detour in the code window, tell the agent
// where the int3 leads, write the patch. The map entry is written for jumps too; it is not used then.
//
// It does not ask whether something jumps into the middle of the site: site_plan does, and its tests are beside it.
#include "tests/differential/arm_site.h"

#include <algorithm>

#include "common/assert.h"
#include "runtime-user/runtime/inproc/code/patcher.h"
#include "runtime-user/runtime/inproc/x86/decode.h"

namespace kevt::test {

namespace {
constexpr unsigned kJumpBytes = 5;
constexpr unsigned kLongestSite = 32;
}  // namespace

unsigned displaced_bytes(std::span<const std::uint8_t> code, Arming arming) {
  const unsigned wanted = arming == Arming::Jump ? kJumpBytes : 1;
  unsigned at = 0;
  while (at < wanted) {
    const auto instruction = x86::decode(code.subspan(at));
    KEVT_ASSERT(instruction);
    at += instruction->length;
    if (instruction->flow == x86::Flow::Return || instruction->flow == x86::Flow::Jump) break;
  }
  return at;
}

Result<void> arm_site(LocalSession& session, RemoteAddr site, Arming arming, SiteEvents events) {
  auto* const text = reinterpret_cast<std::uint8_t*>(site.value);
  const std::vector<std::uint8_t> code(text, text + kLongestSite);
  const inproc::DetourSpec spec{.site = site,
                                .displaced = std::span(code).first(displaced_bytes(code, arming)),
                                .entries = std::move(events.entries),
                                .returns = std::move(events.returns)};
  inproc::CodeArena::Window* window = session.arena().window_near(site, site + 1, 0);
  if (!window) return std::unexpected(Error("the site is out of the window's reach"));
  auto at = KEVT_TRY(session.arena().allocate(*window, inproc::max_detour_size(spec)));
  auto detour = KEVT_TRY(inproc::build_detour(spec, at));
  if (detour.code.size() > inproc::max_detour_size(spec)) return std::unexpected(Error("max_detour_size is too low"));
  session.arena().write(at, detour.code);
  for (const model::FaultEntry& fault : detour.faults)
    KEVT_TRY(session.memory().map_address(at + fault.fault, at + fault.fixup));
  KEVT_TRY(session.memory().map_address(site, RemoteAddr{at.value | KEVT_MAP_SITE}));
  const std::vector<std::uint8_t> patch =
      arming == Arming::Jump ? inproc::jump_bytes(site, at) : std::vector<std::uint8_t>{0xcc};
  std::ranges::copy(patch, text);
  return {};
}

}  // namespace kevt::test
