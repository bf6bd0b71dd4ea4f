// A detour with one entry event and one return event:
//
//   lea -320(%rsp), %rsp            skips the 128-byte red zone and makes room for the frame
//   save what is read or changed    nothing else; flags, where they mean something, by lahf/seto, never popfq
//   call extractor(frame, event)    straight into the generated code
//   restore
//   ── per return event ──
//   call kevt_return_enter(event, slot);  refused (no instance, nested): je plain
//   restore; pop the return address; call next       ← the function's `ret` comes back here
//   call kevt_return_exit: the return address goes back into its slot
//   call extractor(frame, event, shown return address)
//   restore; ret
//   plain: restore; jmp next
//   ── next ──
//   displaced instructions; jmp back
//
// No vector state is touched or saved: extractors and agent use general registers only.
#include "runtime-user/runtime/inproc/detour.h"

#include "runtime-user/runtime/inproc/code_writer.h"
#include "runtime-user/runtime/inproc/x86/decode.h"

namespace kevt::inproc {

namespace {

// The frame at %rsp inside a detour.
constexpr std::int32_t kFlagSave = kWords * 8;          // 168
constexpr std::int32_t kReturnAddress = kFlagSave + 8;  // 176: struct return_frame of the agent
constexpr std::int32_t kShown = kReturnAddress + 8;     // 184
constexpr std::int32_t kFrame = kShown + 8;             // 192
constexpr std::int32_t kRedZone = 128;
constexpr std::int32_t kDown = kFrame + kRedZone;

constexpr std::uint32_t kSetForCall = bit(kDi) | bit(kSi);
constexpr std::uint32_t kGeneral = (1u << kOrigAx) - 1;  // words that are registers one can save
constexpr std::uint32_t kCallerSaved =
    bit(kAx) | bit(kCx) | bit(kDx) | bit(kSi) | bit(kDi) | bit(kR8) | bit(kR9) | bit(kR10) | bit(kR11);

// `old_sp`: distance from %rsp inside the frame to the stack pointer the program saw.
void save(CodeWriter& w, std::uint32_t reads, std::uint32_t changes, std::int32_t old_sp, RemoteAddr ip,
          FlagsAtSite flags) {
  if (reads & bit(kFlags)) w.bytes({0x9c, 0x8f, 0x84, 0x24, 0x90, 0, 0, 0});  // pushfq; popq 144(%rsp)
  for (int word = 0; word < kOrigAx; ++word)
    if ((reads | changes) & (1u << word)) w.store(static_cast<Word>(word), word * 8);
  if (flags == FlagsAtSite::Kept) w.save_flags(kFlagSave);
  if (reads & bit(kSp)) {
    w.lea(kAx, old_sp);
    w.store(kAx, kSp * 8);
  }
  if (reads & bit(kIp)) {
    w.set(kAx, ip.value);
    w.store(kAx, kIp * 8);
  }
  if (reads & bit(kCs)) w.store_imm(0x33, kCs * 8);
  if (reads & bit(kSs)) w.store_imm(0x2b, kSs * 8);
  if (reads & bit(kOrigAx)) w.store_imm(-1, kOrigAx * 8);
}

void restore(CodeWriter& w, std::uint32_t changes, std::int32_t up, FlagsAtSite flags) {
  if (flags == FlagsAtSite::Kept) w.restore_flags(kFlagSave);
  for (int word = 0; word < kOrigAx; ++word)
    if (changes & (1u << word)) w.load(static_cast<Word>(word), word * 8);
  w.lea_sp(up);
}

void call_extractor(CodeWriter& w, const DetourEvent& event) {
  w.lea(kDi, 0);
  w.set(kSi, event.event.value);
  w.call(event.extractor);
}

void emit_entries(CodeWriter& w, const DetourSpec& spec) {
  std::uint32_t reads = 0, changes = kSetForCall | bit(kAx);
  for (const DetourEvent& event : spec.entries) {
    reads |= event.reads;
    changes |= event.clobbers;
  }
  w.lea_sp(-kDown);
  save(w, reads, changes & kGeneral, kDown, spec.site, spec.flags);
  for (const DetourEvent& event : spec.entries) call_extractor(w, event);
  restore(w, changes & kGeneral, kDown, spec.flags);
}

// Emits one return event; what follows it in the stream is "next".
void emit_return(CodeWriter& w, const DetourSpec& spec, const DetourEvent& event) {
  constexpr std::uint32_t kAsked = kCallerSaved;  // kevt_return_enter is an ordinary function
  w.lea_sp(-kDown);
  save(w, 0, kAsked, kDown, spec.site, spec.flags);
  w.set(kDi, event.event.value);
  w.lea(kSi, kDown);  // the slot of the return address
  w.set(kAx, spec.return_enter.value);
  w.call_ax();
  w.bytes({0x85, 0xc0});  // test %eax, %eax
  const std::size_t refused = w.jump_if_zero_forward();
  restore(w, kAsked, kDown + 8, spec.flags);  // and pops the return address
  const std::size_t call_next = w.call_forward();

  const std::uint32_t changes = event.clobbers | kCallerSaved;
  w.lea_sp(-kDown - 8);
  save(w, event.reads, changes, kDown + 8, spec.site, spec.flags);
  w.set(kDi, event.event.value);
  w.lea(kSi, kDown);
  w.lea(kDx, kReturnAddress);
  w.set(kAx, spec.return_exit.value);
  w.call_ax();
  w.load(kAx, kReturnAddress);
  w.store(kAx, kDown);
  w.load(kDx, kShown);
  call_extractor(w, event);
  restore(w, changes, kDown, spec.flags);
  w.bytes({0xc3});  // ret

  w.land(refused);
  restore(w, kAsked, kDown, spec.flags);
  const std::size_t plain = w.jump_forward();
  w.land(call_next);
  w.land(plain);
}

}  // namespace

std::uint32_t extractor_clobbers(std::span<const std::uint8_t> code) {
  return x86::clobbered_registers(code, bit(kAx) | bit(kR11)) & kCallerSaved;
}

std::uint32_t function_clobbers() { return kCallerSaved; }

std::uint64_t max_detour_size(const DetourSpec& spec) {
  return 512 + 64 * spec.entries.size() + 1024 * spec.returns.size() + x86::max_relocated_size(spec.displaced.size());
}

Result<Detour> build_detour(const DetourSpec& spec, RemoteAddr at) {
  CodeWriter w(at);
  if (!spec.entries.empty()) emit_entries(w, spec);
  for (const DetourEvent& event : spec.returns) emit_return(w, spec, event);
  auto moved = x86::relocate(spec.displaced, spec.site, w.here());
  if (!moved) return std::unexpected(std::move(moved.error()));
  Detour detour;
  detour.displaced_base = w.size();
  detour.displaced = std::move(moved->offsets);
  w.bytes(moved->code);
  w.jump(spec.site + spec.displaced.size());
  detour.code = w.take();
  return detour;
}

Result<std::vector<std::uint8_t>> build_syscall_hook(RemoteAddr site, std::span<const std::uint8_t> displaced,
                                                     RemoteAddr resume, RemoteAddr handler, RemoteAddr at) {
  auto moved = x86::relocate(displaced, site, at);
  if (!moved) return std::unexpected(std::move(moved.error()));
  CodeWriter w(at);
  w.bytes(moved->code);
  w.lea_sp(-kRedZone);
  w.bytes({0x51,                // push %rcx
           0x41, 0x50,          // push %r8
           0x41, 0x53,          // push %r11
           0x4c, 0x89, 0xd1,    // mov %r10, %rcx
           0x49, 0x89, 0xc0});  // mov %rax, %r8
  w.set(kAx, handler.value);
  w.call_ax();
  w.bytes({0x41, 0x5b,  // pop %r11
           0x41, 0x58,  // pop %r8
           0x59});      // pop %rcx
  w.lea_sp(kRedZone);
  w.jump(resume);
  return w.take();
}

}  // namespace kevt::inproc
