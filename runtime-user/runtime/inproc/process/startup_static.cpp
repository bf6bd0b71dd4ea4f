// A static program has no dynamic linker to report to us, and at its entry point no thread control block: hits find
// their thread by it. Its C library makes one before main():
//
//   arch_prctl(ARCH_SET_FS, block)      glibc __libc_setup_tls, musl __init_tp
//   block->tid = set_tid_address(…)     glibc __tls_init_tp, musl __init_tp
//
// so the program is stopped at its system calls until that one has returned, and then stepped until the tid is stored.
// The Go runtime's first call is arch_prctl(ARCH_SET_FS), and the first thread is as it will be once that has returned.
// A call that is none of a C library's first steps is an error: such a program cannot be traced, and must not run
// further.
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>

#include "common/error.h"
#include "runtime-user/runtime/inproc/process/startup.h"

namespace kevt::inproc {

namespace {

constexpr unsigned kMaxCalls = 200, kMaxSteps = 200;
constexpr long kFirstSteps[] = {
    SYS_brk,       SYS_mmap,       SYS_mprotect,  SYS_munmap,     SYS_arch_prctl,      SYS_readlink,       SYS_uname,
    SYS_prlimit64, SYS_readlinkat, SYS_getrandom, SYS_open,       SYS_openat,          SYS_read,           SYS_pread64,
    SYS_close,     SYS_fstat,      SYS_access,    SYS_poll,       SYS_set_robust_list, SYS_rseq,           SYS_getuid,
    SYS_geteuid,   SYS_getgid,     SYS_getegid,   SYS_newfstatat, SYS_lseek,           SYS_set_tid_address};

Error no_c_library() {
  return Error(
      "the program is static and sets up no thread control block (%fs) as C libraries and the Go runtime do: such "
      "programs cannot be traced");
}

Result<bool> has_tid(const Tracee& tracee) {
  auto found = KEVT_TRY(thread_id_offset(tracee));
  return found != 0;
}

// A C library has put the block's address there before it makes the call.
bool is_set_up_by_go(const Tracee& tracee, RemoteAddr thread_pointer) {
  std::uint64_t self = 0;
  const bool is_there = tracee.read(thread_pointer, {reinterpret_cast<std::uint8_t*>(&self), sizeof self}).has_value();
  return is_there && self == 0 && is_go_alone(tracee.pid());
}

Result<void> step_until_tid_is_stored(Tracee& tracee) {
  for (unsigned i = 0; i < kMaxSteps; ++i) {
    auto stored = KEVT_TRY(has_tid(tracee));
    if (stored) return {};
    KEVT_TRY(tracee.step());
  }
  return std::unexpected(no_c_library());
}

}  // namespace

Result<void> run_until_thread_is_set_up(Tracee& tracee) {
  for (unsigned i = 0; i < kMaxCalls; ++i) {
    auto entry = KEVT_TRY(tracee.run_to_system_call());
    if (static_cast<long>(entry.rax) != -ENOSYS) continue;  // still the exit of execve
    const auto number = static_cast<long>(entry.orig_rax);
    if (std::ranges::find(kFirstSteps, number) == std::end(kFirstSteps)) return std::unexpected(no_c_library());
    auto exit = KEVT_TRY(tracee.run_to_system_call());
    if (number == SYS_arch_prctl && exit.fs_base && is_set_up_by_go(tracee, RemoteAddr{exit.fs_base})) return {};
    if (number == SYS_set_tid_address && exit.fs_base) return step_until_tid_is_stored(tracee);
  }
  return std::unexpected(no_c_library());
}

}  // namespace kevt::inproc
