// Arms code of this very process, as the controller arms a stopped target.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/error.h"
#include "tests/support/local_session.h"

namespace kevt::test {

enum class Arming : std::uint8_t { Jump, Breakpoint };

// Bytes of whole instructions at the front of `code` that arming displaces. Less than 5 for a jump where a ret or jmp
// ends them: padding must follow.
unsigned displaced_bytes(std::span<const std::uint8_t> code, Arming arming);

struct SiteEvents {
  std::vector<inproc::DetourEvent> entries;
  std::vector<inproc::DetourEvent> returns;
};

// Builds the detour for the code that stands at `site` (writable, see TestText) and patches it in. No other thread may
// run there.
Result<void> arm_site(LocalSession& session, RemoteAddr site, Arming arming, SiteEvents events);

}  // namespace kevt::test
