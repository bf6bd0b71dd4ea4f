// libc makes these calls inline, in sigaction(), sigprocmask(), pthread_create(), posix_spawn(),
// abort() and more, always as
//
//   mov $0xe, %eax      b8 0e 00 00 00     exactly 5 bytes: room for a jump, nothing inside to land on
//   …                   a few moves
//   syscall             0f 05
//
// so each site is found by its bytes, confirmed by decoding the function from its start (in a stripped library, of
// whose hidden functions nothing is known, from the last known one before it), and replaced by a jump to a copy that
// asks the agent before the call. What is not of this form (a program's own assembly) is not seen; static programs have
// it in their own text and are scanned too. syscall(3), which has the number from its caller, asks for every number.
//
// glibc from 2.41 on makes the calls that a thread can be cancelled in by one function, which gets their number. The
// place where a thread is cancelled is known by its address there, so that function stays as it is; sigtimedwait(), the
// only one of them that the agent answers, is hooked where it calls that function:
//
//   push $0x80          68 80 00 00 00
//   call …
#include "runtime-user/runtime/inproc/process/signal_hooks.h"

#include <sys/syscall.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "compiler/target/elf/instruction_start.h"
#include "runtime-user/runtime/inproc/code/agent_image.h"
#include "runtime-user/runtime/inproc/x86/decode.h"
#include "runtime-user/runtime/inproc/x86/relocate.h"

namespace kevt::inproc {

namespace {

constexpr unsigned kMovBytes = 5;
constexpr unsigned kPushBytes = 5;
constexpr unsigned kCallBytes = 5;  // e8 and a distance, as build_hook_of_call() expects it
constexpr unsigned kMaxInstructions = 12;

// What the agent answers (runtime-user/agent/calls.c).
constexpr std::uint8_t kAnswered[] = {SYS_rt_sigaction,    SYS_rt_sigprocmask, SYS_rt_sigpending,
                                      SYS_rt_sigtimedwait, SYS_prctl,          SYS_arch_prctl};

bool is_move_of_number(std::span<const std::uint8_t> b, HookedCalls which) {
  if (b.size() < kMovBytes || b[0] != 0xb8 || b[2] != 0 || b[3] != 0 || b[4] != 0) return false;
  return std::ranges::find(kAnswered, b[1]) != std::end(kAnswered) ||
         (b[1] == SYS_execve && which == HookedCalls::SignalsAndExec);
}

// Distance from the mov to the syscall it belongs to; 0: none in straight line.
unsigned distance_to_syscall(std::span<const std::uint8_t> code) {
  unsigned at = 0;
  for (unsigned n = 0; n < kMaxInstructions; ++n) {
    if (at + 1 < code.size() && code[at] == 0x0f && code[at + 1] == 0x05) return at;
    const auto instruction = x86::decode(code.subspan(std::min<std::size_t>(at, code.size())));
    if (!instruction || instruction->flow != x86::Flow::Next) return 0;
    at += instruction->length;
  }
  return 0;
}

// Between exported functions there is code and padding, all of which decodes; a walk that meets anything else says no.
bool is_reached_from_last_known(const target::ElfImage& image, const target::ImageRange& range, ImageAddr at) {
  const auto& functions = image.functions();
  const auto next = std::ranges::upper_bound(functions, at, {}, &target::FunctionRange::start);
  const ImageAddr known = next == functions.begin() ? range.begin : std::max(range.begin, std::prev(next)->start);
  const auto code = image.bytes_at(known, static_cast<std::uint64_t>(range.end - known));
  return target::starts_instruction(code, at.value - known.value);
}

bool is_boundary(const target::ElfImage& image, const target::ImageRange& range, ImageAddr at) {
  const auto known = target::is_instruction_start(image, at);
  return known ? *known : is_reached_from_last_known(image, range, at);
}

// syscall(3) has the number from its caller. Finds the last instructions before its `syscall` that make room for a
// jump; the function's start stays free for probes.
std::optional<CallSite> find_generic_call(std::span<const std::uint8_t> code, ImageAddr start) {
  constexpr unsigned kMost = 40;
  std::vector<unsigned> starts;
  unsigned at = 0;
  while (starts.size() < kMost && !(at + 1 < code.size() && code[at] == 0x0f && code[at + 1] == 0x05)) {
    const auto instruction = x86::decode(code.subspan(std::min<std::size_t>(at, code.size())));
    if (!instruction || instruction->flow != x86::Flow::Next) return std::nullopt;
    starts.push_back(at);
    at += instruction->length;
  }
  const auto fits = [&](unsigned from) { return from > kMovBytes && at - from >= kMovBytes; };
  const auto last = std::ranges::find_if(starts.rbegin(), starts.rend(), fits);
  if (starts.size() == kMost || last == starts.rend()) return std::nullopt;
  return CallSite{start + *last, start + at};
}

bool is_push_of_number(std::span<const std::uint8_t> b, std::uint8_t number) {
  return b.size() >= kPushBytes && b[0] == 0x68 && b[1] == number && b[2] == 0 && b[3] == 0 && b[4] == 0;
}

// `push $number` and a call right behind it, in straight line from the function's start.
std::optional<CallSite> find_call_by_function(std::span<const std::uint8_t> code, ImageAddr start,
                                              std::uint8_t number) {
  for (std::size_t at = 0; at < code.size();) {
    const auto instruction = x86::decode(code.subspan(at));
    if (!instruction || instruction->flow != x86::Flow::Next) return std::nullopt;
    const std::size_t next = at + instruction->length;
    if (is_push_of_number(code.subspan(at), number)) {
      const auto call = x86::decode(code.subspan(std::min(next, code.size())));
      if (!call || call->flow != x86::Flow::Call || call->length != kCallBytes) return std::nullopt;
      return CallSite{start + at, start + next, CallSite::Form::ByFunction};
    }
    at = next;
  }
  return std::nullopt;
}

void add_calls_of_functions(const target::ElfImage& image, std::vector<CallSite>& sites) {
  constexpr std::uint64_t kLongest = 256;
  const auto add = [&](std::string_view name, auto find) {
    for (const target::ElfSymbol& function : image.find_functions(name))
      if (const auto site = find(image.bytes_at(function.address, kLongest), function.address)) sites.push_back(*site);
  };
  add("syscall", find_generic_call);
  add("sigtimedwait",
      [](auto code, ImageAddr start) { return find_call_by_function(code, start, SYS_rt_sigtimedwait); });
}

}  // namespace

std::vector<CallSite> find_hooked_calls(const target::ElfImage& image, HookedCalls which) {
  std::vector<CallSite> sites;
  for (const target::ImageRange& range : image.executable_ranges()) {
    const auto code = image.bytes_at(range.begin, static_cast<std::uint64_t>(range.end - range.begin));
    for (auto it = std::ranges::find(code, 0xb8); it != code.end(); it = std::find(it + 1, code.end(), 0xb8)) {
      const auto offset = static_cast<std::size_t>(it - code.begin());
      if (!is_move_of_number(code.subspan(offset), which)) continue;
      const unsigned distance = distance_to_syscall(code.subspan(offset));
      const ImageAddr at = range.begin + offset;
      if (distance && is_boundary(image, range, at)) sites.push_back({at, at + distance});
    }
  }
  add_calls_of_functions(image, sites);
  return sites;
}

Result<std::vector<TextPatch>> plan_signal_hooks(const target::ElfImage& image, std::uint64_t bias, HookedCalls which,
                                                 Placement& placement, CodeArena& arena, SessionMemory& memory) {
  std::vector<TextPatch> patches;
  const RemoteAddr answer = placement.agent().base + agent_table().answer_call;
  for (const CallSite& found : find_hooked_calls(image, which)) {
    const RemoteAddr site{found.begin.value + bias};
    const RemoteAddr call{found.call.value + bias};
    const auto displaced = image.bytes_at(found.begin, static_cast<std::uint64_t>(found.call - found.begin));
    auto placed = KEVT_TRY(placement.allocate(site, call, x86::max_relocated_size(displaced.size()) + 64));
    const RemoteAddr at = placed.at;
    auto code = KEVT_TRY(found.form == CallSite::Form::Inline
                             ? build_syscall_hook(site, displaced, call, answer, at)
                             : build_hook_of_call(site, displaced, call, answer, SYS_rt_sigtimedwait, at));
    arena.write(at, code);
    auto moved = x86::relocate(displaced, site, at);  // as the hook has it, for threads between mov and syscall
    if (!moved) return std::unexpected(std::move(moved.error()));
    constexpr std::uint64_t kStays = 0;  // the C library is not unloaded
    KEVT_TRY(memory.note_patch(site, displaced.first(kMovBytes), kStays, KEVT_PATCH_LAST));
    const std::uint64_t covered = displaced.size() + (found.form == CallSite::Form::Inline);
    patches.push_back({site, jump_bytes(site, at), at, std::move(moved->offsets), covered});
  }
  return patches;
}

}  // namespace kevt::inproc
