// plan_site: how a probe can be put at an address: by a 5-byte jump, by a breakpoint, or not at all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/addresses.h"
#include "compiler/target/elf/elf_image.h"
#include "runtime-user/runtime/inproc/x86/function_code.h"
#include "runtime-user/runtime/inproc/x86/jump_targets.h"

namespace kevt::x86 {

enum class ArmKind : std::uint8_t {
  Jump,        // the first 5 bytes may become a jump
  Breakpoint,  // the first byte may become int3
  Refused,     // the text must not be touched there
};

constexpr unsigned kJumpLength = 5;

struct SitePlan {
  ArmKind kind = ArmKind::Refused;
  // Bytes of the whole instructions that run out of line: 0 for Refused, one instruction for
  // Breakpoint. For Jump usually >= 5; less only where the last one is a ret or jmp and padding follows.
  unsigned displaced = 0;
  unsigned first = 0;  // bytes of the instruction at the site; 0 for Refused
  // The text at the site as the file has it: max(displaced, bytes overwritten).
  std::vector<std::uint8_t> original;
  // Why not Jump, for the user: "a jump at +0x1f lands inside the 5 bytes". Empty for Jump.
  std::string reason;
};

// For one site; scans the image's text once.
SitePlan plan_site(const target::ElfImage& image, ImageAddr site);

// For many sites of one image: the scan is done once, at the first plan, and a site is planned once. Keeps a reference
// to `image`.
class SitePlanner {
 public:
  explicit SitePlanner(const target::ElfImage& image) : image_(&image), functions_(image) {}
  const SitePlan& plan(ImageAddr site);

 private:
  const target::ElfImage* image_;
  FunctionCodeCache functions_;
  std::optional<JumpTargets> targets_;
  std::map<ImageAddr, SitePlan> plans_;
};

// Why a function can have no return probe; nullopt: it can. `name` is without version; the image
// matters too (Go moves its stacks).
std::optional<std::string> return_probe_refusal(std::string_view name);
std::optional<std::string> return_probe_refusal(const target::ElfImage& image, std::string_view name);

}  // namespace kevt::x86
