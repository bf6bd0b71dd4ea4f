// A detour with one entry event and one return event:
//
//   lea -320(%rsp), %rsp            skips the 128-byte red zone and makes room for the frame
//   save what the extractor reads there; flags, where they mean something, by lahf/seto, never popfq
//   call extractor                  keeps every register
//   lea 320(%rsp), %rsp
//   ── per injecting event ──
//   as an entry event, and when its hit said so: mov $value, %rax; ret
//   ── per return event ──
//   keep the return address in an instance (return_entry.h);  refused (none free): je plain
//   pop the return address; call next               ← the function's `ret` comes back here
//   call extractor: the return address goes back into its slot
//   ret
//   slow: the agent keeps it, or not: plain: jmp next
//   ── next ──
//   displaced instructions; jmp back
//
// Where the program's stack has no room (DetourSpec::is_called) the agent's signal handler calls the first part, on the
// signal stack, with what it knows of the program above the return address:
//
//   lea -320(%rsp), %rsp
//   save what the extractor reads there
//   call extractor
//   lea 320(%rsp), %rsp; lea next(%rip), %rax; ret
//   ── next ──
//
// No vector state is touched or saved here.
#include "runtime-user/runtime/inproc/code/detour.h"

#include "common/abi/probe.h"
#include "runtime-user/runtime/inproc/code/code_writer.h"
#include "runtime-user/runtime/inproc/code/return_entry.h"
#include "runtime-user/runtime/inproc/x86/machine.h"

namespace kevt::inproc {

namespace {

// The frame at %rsp inside a detour.
constexpr std::int32_t kFlagSave = kWords * 8;
constexpr std::int32_t kDown = KEVT_FRAME_BYTES;
static_assert(kFlagSave + 8 <= KEVT_FRAME_INJECTED && KEVT_FRAME_INJECTED + 8 + x86::kRedZone <= kDown);

void save_constants(CodeWriter& w, std::uint32_t reads) {
  if (reads & bit(kCs)) w.store_imm(0x33, kCs * 8);
  if (reads & bit(kSs)) w.store_imm(0x2b, kSs * 8);
  if (reads & bit(kOrigAx)) w.store_imm(-1, kOrigAx * 8);
}

// `old_sp`: distance from %rsp inside the frame to the stack pointer the program saw.
void save(CodeWriter& w, std::uint32_t reads, std::int32_t old_sp, RemoteAddr ip, FlagsAtSite flags) {
  if (reads & bit(kFlags)) w.bytes({0x9c, 0x8f, 0x84, 0x24, 0x90, 0, 0, 0});  // pushfq; popq 144(%rsp)
  const bool uses_ax = flags == FlagsAtSite::Kept || (reads & (bit(kSp) | bit(kIp)));
  if (uses_ax) reads |= bit(kAx);
  for (int word = 0; word < kOrigAx; ++word)
    if (reads & (1u << word)) w.store(static_cast<Word>(word), word * 8);
  if (flags == FlagsAtSite::Kept) w.save_flags(kFlagSave);
  if (reads & bit(kSp)) {
    w.lea(kAx, old_sp);
    w.store(kAx, kSp * 8);
  }
  if (reads & bit(kIp)) {
    w.set(kAx, ip.value);
    w.store(kAx, kIp * 8);
  }
  if (uses_ax) w.load(kAx, kAx * 8);
  save_constants(w, reads);
}

// For a detour that is called: the program's stack pointer and flags lie above the return address, and only rax is
// free.
void save_when_called(CodeWriter& w, std::uint32_t reads, RemoteAddr ip) {
  constexpr std::uint32_t kThroughAx = bit(kFlags) | bit(kSp) | bit(kIp);
  if (reads & kThroughAx) reads |= bit(kAx);
  for (int word = 0; word < kOrigAx; ++word)
    if (reads & (1u << word)) w.store(static_cast<Word>(word), word * 8);
  if (reads & bit(kFlags)) {
    w.load(kAx, kDown + KEVT_CALLED_FLAGS);
    w.store(kAx, kFlags * 8);
  }
  if (reads & bit(kSp)) {
    w.load(kAx, kDown + KEVT_CALLED_SP);
    w.store(kAx, kSp * 8);
  }
  if (reads & bit(kIp)) {
    w.set(kAx, ip.value);
    w.store(kAx, kIp * 8);
  }
  if (reads & kThroughAx) w.load(kAx, kAx * 8);
  save_constants(w, reads);
}

void restore(CodeWriter& w, std::uint32_t changed, std::int32_t up, FlagsAtSite flags) {
  if (flags == FlagsAtSite::Kept) {
    w.restore_flags(kFlagSave);
    changed |= bit(kAx);
  }
  for (int word = 0; word < kOrigAx; ++word)
    if (changed & (1u << word)) w.load(static_cast<Word>(word), word * 8);
  w.lea_sp(up);
}

struct Extractors {
  std::vector<RemoteAddr> all;
  std::uint32_t reads = 0;
};

// The extractors of the entry events that do not inject.
Extractors extractors_of(const DetourSpec& spec) {
  Extractors extractors;
  for (const DetourEvent& event : spec.entries) {
    if (event.injected) continue;
    extractors.all.push_back(event.extractor);
    extractors.reads |= event.reads;
  }
  return extractors;
}

void emit_entries(CodeWriter& w, const DetourSpec& spec) {
  const Extractors extractors = extractors_of(spec);
  if (extractors.all.empty()) return;
  w.lea_sp(-kDown);
  save(w, extractors.reads, kDown, spec.site, spec.flags);
  for (RemoteAddr extractor : extractors.all) w.call(extractor);
  restore(w, 0, kDown, spec.flags);
}

void emit_called(CodeWriter& w, const DetourSpec& spec) {
  const Extractors extractors = extractors_of(spec);
  w.lea_sp(-kDown);
  save_when_called(w, extractors.reads, spec.site);
  for (RemoteAddr extractor : extractors.all) w.call(extractor);
  w.lea_sp(kDown);
  w.relative({0x48, 0x8d, 0x05}, w.here() + 8);  // lea next(%rip), %rax
  w.bytes({0xc3});                               // ret
}

void emit_injection(CodeWriter& w, const DetourSpec& spec, const DetourEvent& event) {
  w.lea_sp(-kDown);
  save(w, event.reads, kDown, spec.site, spec.flags);
  w.store_imm(0, KEVT_FRAME_INJECTED);
  w.call(event.extractor);
  w.bytes({0x48, 0x83, 0xbc, 0x24});  // cmpq $0, KEVT_FRAME_INJECTED(%rsp)
  w.instruction({}, KEVT_FRAME_INJECTED);
  w.bytes({0});
  const std::size_t runs = w.jump_if_zero_forward();
  w.lea_sp(kDown);
  w.set(kAx, static_cast<std::uint64_t>(*event.injected));
  w.bytes({0xc3});  // ret
  w.land(runs);
  restore(w, 0, kDown, spec.flags);
}

// Emits one return event; what follows it in the stream is "next".
void emit_return(CodeWriter& w, const DetourSpec& spec, const DetourEvent& event, Detour& detour) {
  w.lea_sp(-kDown);
  save(w, kEntryUses, kDown, spec.site, spec.flags);
  const ReturnEntry entry = emit_return_entry(w, event.event);
  restore(w, kEntryUses, kDown + 8, spec.flags);  // and pops the return address
  const std::size_t call_next = w.call_forward();

  w.lea_sp(-kDown - 8);
  save(w, event.reads, kDown + 8, spec.site, spec.flags);
  w.call(event.extractor);
  restore(w, 0, kDown, spec.flags);
  w.bytes({0xc3});  // ret

  for (const model::FaultEntry& fault : emit_slow_return_entry(w, entry, event.event)) detour.faults.push_back(fault);
  restore(w, kEntryUses, kDown, spec.flags);
  const std::size_t plain = w.jump_forward();
  w.land(call_next);
  w.land(plain);
}

}  // namespace

std::uint64_t max_detour_size(const DetourSpec& spec) {
  return 512 + 512 * spec.entries.size() + 1024 * spec.returns.size() + x86::max_relocated_size(spec.displaced.size());
}

Result<Detour> build_detour(const DetourSpec& spec, RemoteAddr at) {
  Detour detour;
  CodeWriter w(at);
  if (spec.is_called)
    emit_called(w, spec);
  else
    emit_entries(w, spec);
  for (const DetourEvent& event : spec.entries)
    if (event.injected) emit_injection(w, spec, event);
  for (const DetourEvent& event : spec.returns) emit_return(w, spec, event, detour);
  auto moved = KEVT_TRY(x86::relocate(spec.displaced, spec.site, w.here()));
  detour.displaced_base = w.size();
  detour.displaced = std::move(moved.offsets);
  w.bytes(moved.code);
  w.jump(spec.site + spec.displaced.size());
  detour.code = w.take();
  return detour;
}

// A syscall instruction overwrites %rcx and %r11, and so may the hook.
Result<std::vector<std::uint8_t>> build_syscall_hook(RemoteAddr site, std::span<const std::uint8_t> displaced,
                                                     RemoteAddr syscall, RemoteAddr answer, RemoteAddr at) {
  constexpr unsigned kSyscallBytes = 2;
  auto moved = KEVT_TRY(x86::relocate(displaced, site, at));
  CodeWriter w(at);
  w.bytes(moved.code);
  w.lea_sp(-x86::kRedZone);
  w.bytes({0x50,                // push %rax
           0x41, 0x50,          // push %r8
           0x4c, 0x89, 0xd1,    // mov %r10, %rcx
           0x49, 0x89, 0xc0});  // mov %rax, %r8
  w.set(kAx, answer.value);
  w.call_ax();
  w.bytes({0x41, 0x58,  // pop %r8
           0x59});      // pop %rcx, the number
  w.lea_sp(x86::kRedZone);
  w.instruction({0x48, 0x3d}, KEVT_NOT_ANSWERED);  // cmp $…, %rax
  const std::size_t not_answered = w.jump_if_zero_forward();
  w.jump(syscall + kSyscallBytes);
  w.land(not_answered);
  w.bytes({0x48, 0x89, 0xc8});  // mov %rcx, %rax
  w.jump(syscall);
  return w.take();
}

// Between a push and a call nothing lives below the stack pointer. The only answered call, rt_sigtimedwait, fails with
// EFAULT alone, as it does where its set is nowhere.
Result<std::vector<std::uint8_t>> build_hook_of_call(RemoteAddr site, std::span<const std::uint8_t> displaced,
                                                     RemoteAddr call, RemoteAddr answer, std::uint32_t number,
                                                     RemoteAddr at) {
  constexpr unsigned kCallBytes = 5;
  auto moved = KEVT_TRY(x86::relocate(displaced, site, at));
  CodeWriter w(at);
  w.bytes(moved.code);
  w.bytes({0x41, 0x50});                // push %r8
  w.instruction({0x41, 0xb8}, number);  // mov $number, %r8d
  w.set(kAx, answer.value);
  w.call_ax();
  w.bytes({0x41, 0x58});                           // pop %r8
  w.instruction({0x48, 0x3d}, KEVT_NOT_ANSWERED);  // cmp $…, %rax
  const std::size_t not_answered = w.jump_if_zero_forward();
  w.bytes({0x48, 0x85, 0xc0});  // test %rax, %rax
  const std::size_t failed = w.jump_if_negative_forward();
  w.jump(call + kCallBytes);
  w.land(failed);
  w.bytes({0x31, 0xff});  // xor %edi, %edi
  w.land(not_answered);
  w.jump(call);
  return w.take();
}

}  // namespace kevt::inproc
