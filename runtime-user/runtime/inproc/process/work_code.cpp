// At the place, which is executable and read-only:
//
//    0  syscall                          for us, by registers that we set
//    2  jmp back
//    4  mov %rax, %r9                    what a function that we called has returned
//    7  back: movabs $…, %rsp
//       rt_sigprocmask(SIG_SETMASK, &mask, NULL, 8)
//       flags, then every register, by movabs; jmp *place(%rip)
//       place: .quad …   mask: .quad …
//
// No stack is used: the thread's own may be full (Go's goroutines), and signals that were blocked arrive right behind
// rt_sigprocmask, where the stack pointer must already be the thread's. No floating-point register is touched, so none
// has to be restored, as rt_sigreturn(2) would.
#include "runtime-user/runtime/inproc/process/work_code.h"

#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

#include "common/assert.h"
#include "common/page.h"
#include "runtime-user/runtime/inproc/code/code_writer.h"

namespace kevt::inproc {

namespace {

// SF, ZF, AF, PF and CF as sahf takes them from %ah; OF comes back when 127 is added to %al.
std::uint64_t flags_for_sahf(std::uint64_t flags) {
  const std::uint64_t overflow = flags >> 11 & 1;
  return (flags & 0xff) << 8 | overflow;
}

constexpr std::uint64_t kDirectionFlag = 1u << 10;
constexpr std::uint8_t kBegin[] = {0x0f, 0x05,         // syscall
                                   0xeb, 0x03,         // jmp back
                                   0x49, 0x89, 0xc1};  // mov %rax, %r9

}  // namespace

std::vector<std::uint8_t> WorkCode::build(const user_regs_struct& back, std::uint64_t mask) {
  CodeWriter w(RemoteAddr{0});  // every distance in it is within it
  w.bytes(kBegin);
  static_assert(sizeof kBegin == kBackAt);
  w.bytes({0x48, 0xbc});  // movabs $…, %rsp
  w.word64(back.rsp);
  w.instruction({0xb8}, SYS_rt_sigprocmask);  // mov $…, %eax
  w.instruction({0xbf}, SIG_SETMASK);         // mov $…, %edi
  w.bytes({0x48, 0x8d, 0x35});                // lea mask(%rip), %rsi
  w.instruction({}, 0);
  const std::size_t mask_from = w.size();
  w.bytes({0x31, 0xd2,    // xor %edx, %edx
           0x41, 0xba});  // mov $8, %r10d
  w.instruction({}, sizeof mask);
  w.bytes({0x0f, 0x05});                               // syscall
  w.instruction({0xb8}, flags_for_sahf(back.eflags));  // mov $…, %eax
  w.bytes({0x04, 0x7f, 0x9e});                         // add $0x7f, %al; sahf
  if (back.eflags & kDirectionFlag) w.bytes({0xfd});   // std
  const std::pair<Word, std::uint64_t> registers[] = {
      {kR15, back.r15}, {kR14, back.r14}, {kR13, back.r13}, {kR12, back.r12}, {kBp, back.rbp},
      {kBx, back.rbx},  {kR11, back.r11}, {kR10, back.r10}, {kR9, back.r9},   {kR8, back.r8},
      {kCx, back.rcx},  {kDx, back.rdx},  {kSi, back.rsi},  {kDi, back.rdi},  {kAx, back.rax}};
  for (const auto& [word, value] : registers) w.set(word, value);
  w.instruction({0xff, 0x25}, 0);  // jmp *0(%rip)
  w.word64(back.rip);
  const auto mask_distance = static_cast<std::int32_t>(w.size() - mask_from);
  w.word64(mask);
  std::vector<std::uint8_t> code = w.take();
  std::memcpy(code.data() + mask_from - 4, &mask_distance, 4);
  KEVT_ASSERT(code.size() <= kRoom);
  return code;
}

// ERESTARTSYS, -NOINTR, -NOHAND and -_RESTARTBLOCK of include/linux/errno.h.
user_regs_struct with_call_restarted(user_regs_struct registers) {
  const auto result = static_cast<std::int64_t>(registers.rax);
  const bool is_interrupted = result == -512 || result == -513 || result == -514 || result == -516;
  if (static_cast<std::int64_t>(registers.orig_rax) < 0 || !is_interrupted) return registers;
  registers.rax = result == -516 ? SYS_restart_syscall : registers.orig_rax;
  registers.rip -= 2;
  return registers;
}

namespace {

bool is_free(std::span<const std::uint8_t> place) {
  return std::ranges::all_of(place, [](std::uint8_t byte) { return byte == 0; });
}
bool is_left_over(std::span<const std::uint8_t> place) {
  return std::ranges::equal(place.first(sizeof kBegin), kBegin);
}

// What the mapping's last page holds, from its end: places that tracers have left, and the first free one.
struct Places {
  std::vector<RemoteAddr> left_over;
  std::optional<RemoteAddr> free;
};
Places places_behind(const Tracee& tracee, const target::Mapping& mapping) {
  Places places;
  std::vector<std::uint8_t> page(kPage);
  const RemoteAddr at{mapping.end.value - kPage};
  if (!tracee.read(at, page)) return places;
  for (std::uint64_t from = kPage; from >= WorkCode::kRoom && !places.free; from -= WorkCode::kRoom) {
    const RemoteAddr place = at + (from - WorkCode::kRoom);
    const auto bytes = std::span(page).subspan(from - WorkCode::kRoom, WorkCode::kRoom);
    if (is_free(bytes)) {
      places.free = place;
    } else if (is_left_over(bytes)) {
      places.left_over.push_back(place);
    } else {
      break;
    }
  }
  return places;
}

// The vDSO first: every process has one.
std::vector<target::Mapping> candidates(const std::vector<target::Mapping>& maps) {
  std::vector<target::Mapping> all;
  const auto vdso = std::ranges::find(maps, "[vdso]", &target::Mapping::path);
  if (vdso == maps.end()) return all;
  all.push_back(*vdso);
  std::ranges::copy_if(maps, std::back_inserter(all), [](const target::Mapping& mapping) {
    return mapping.is_file() && mapping.executable && !mapping.shared;
  });
  return all;
}

}  // namespace

Result<RemoteAddr> find_work_place(const Tracee& tracee) {
  auto maps = KEVT_TRY(target::read_maps(tracee.pid()));
  const auto mappings = candidates(maps);
  if (mappings.empty())
    return std::unexpected(
        Error("the target has no vDSO to make system calls from (valgrind's tools hide it: they translate a "
              "program's code, and what lies in its text is never run)"));
  for (const target::Mapping& mapping : mappings)
    if (const auto place = places_behind(tracee, mapping).free) return *place;
  return std::unexpected(Error("the target has no room behind its code for a system call of ours"));
}

std::vector<RemoteAddr> left_work_places(const Tracee& tracee) {
  std::vector<RemoteAddr> all;
  const auto maps = target::read_maps(tracee.pid());
  if (!maps) return all;
  for (const target::Mapping& mapping : candidates(*maps))
    for (RemoteAddr place : places_behind(tracee, mapping).left_over)
      if (place != tracee.work_place()) all.push_back(place);
  return all;
}

Result<void> erase_work_place(const Tracee& tracee, RemoteAddr place) {
  return tracee.write(place, std::vector<std::uint8_t>(WorkCode::kRoom));
}

}  // namespace kevt::inproc
