// ptrace says EPERM for a dozen reasons. What is in the way stands in /proc:
//
//   TracerPid: 4711        → "process 12 is traced by 4711 (gdb) already"
//   Uid: 1000, we are 1001 → "process 12 belongs to user 1000 …"
//   yama/ptrace_scope: 1   → "kernel.yama.ptrace_scope is 1: …"
//
// The order is that of __ptrace_may_access() and the LSM hooks behind it (kernel/ptrace.c, security/yama). Other LSMs
// (SELinux, AppArmor) and user namespaces are named as what remains.
#include "runtime-user/runtime/inproc/process/attach_refusal.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "common/proc.h"

namespace kevt::inproc {

namespace {

pid_t number(const std::string& text) { return static_cast<pid_t>(std::strtol(text.c_str(), nullptr, 10)); }

std::string named(pid_t pid) { return fmt::format("process {} ({})", pid, proc::comm(pid)); }

// Bit 21 of the flags in stat: PF_KTHREAD.
bool is_kernel_thread(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(") ");
  if (name_end == std::string::npos) return false;
  char state;
  long parent, group, session, tty, terminal;
  unsigned long flags = 0;
  constexpr unsigned long kKernelThread = 0x00200000;
  return std::sscanf(line.c_str() + name_end + 2, "%c %ld %ld %ld %ld %ld %lu", &state, &parent, &group, &session, &tty,
                     &terminal, &flags) == 7 &&
         flags & kKernelThread;
}

std::string yama_scope() {
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  std::string scope;
  std::getline(file, scope);
  return scope;
}

std::string yama_words(const std::string& scope) {
  if (scope == "1")
    return "kernel.yama.ptrace_scope is 1: only one's own children may be traced; run as root, or set it to 0";
  if (scope == "2") return "kernel.yama.ptrace_scope is 2: only root (CAP_SYS_PTRACE) may trace";
  return "kernel.yama.ptrace_scope is 3: nobody may trace until the next boot";
}

}  // namespace

Result<void> check_attachable(pid_t pid) {
  const std::string group = proc::status(pid, "Tgid");
  if (pid <= 0 || group.empty()) return std::unexpected(Error(fmt::format("there is no process {}", pid), ESRCH));
  if (number(group) != pid)
    return std::unexpected(Error(fmt::format("{} is a thread of process {}; give --pid {}", pid, group, group), ESRCH));
  if (pid == getpid() || pid == getppid()) return std::unexpected(Error("kevtrace cannot trace itself", EINVAL));
  if (proc::status(pid, "State").starts_with('Z'))
    return std::unexpected(Error(named(pid) + " has ended: it is a zombie that its parent has not waited for", ESRCH));
  if (is_kernel_thread(pid))
    return std::unexpected(Error(named(pid) + " is a thread of the kernel: it has no program to probe", EINVAL));
  if (is_32_bit(pid)) return std::unexpected(no_32_bit(named(pid) + " is"));
  return {};
}

bool is_32_bit(pid_t pid) {
  std::ifstream exe(fmt::format("/proc/{}/exe", pid), std::ios::binary);
  unsigned char ident[EI_NIDENT] = {};
  return exe.read(reinterpret_cast<char*>(ident), sizeof ident) && ident[EI_CLASS] != ELFCLASS64;
}

Error no_32_bit(const std::string& who) {
  return Error(who +
                   " a 32-bit program: in process only x86-64 can be traced; `--runtime bpf` traces it through the "
                   "kernel, at PATH:OFFSET",
               EOPNOTSUPP);
}

Error attach_refusal(pid_t pid, int errno_value) {
  if (errno_value != EPERM && errno_value != EACCES) {
    if (auto gone = check_attachable(pid); !gone) return gone.error();
    return Error(fmt::format("{} cannot be traced: it ended", named(pid)), errno_value);
  }
  if (const pid_t tracer = number(proc::status(pid, "TracerPid")))
    return Error(fmt::format("{} is already traced by {} ({}); a process has one tracer at a time", named(pid), tracer,
                             proc::comm(tracer)),
                 EPERM);
  const std::string uids = proc::status(pid, "Uid");
  if (geteuid() != 0 && static_cast<uid_t>(number(uids)) != geteuid())
    return Error(fmt::format("{} belongs to user {}, you are user {}: run as that user or as root (CAP_SYS_PTRACE)",
                             named(pid), number(uids), geteuid()),
                 EPERM);
  const std::string scope = yama_scope();
  if (!scope.empty() && scope != "0" && (geteuid() != 0 || scope == "3"))
    return Error(fmt::format("{} cannot be traced: {}", named(pid), yama_words(scope)), EPERM);
  return Error(fmt::format("{} cannot be traced: ptrace is not permitted (a set-user-id program, prctl "
                           "PR_SET_DUMPABLE, a security module or a missing CAP_SYS_PTRACE)",
                           named(pid)),
               EPERM);
}

}  // namespace kevt::inproc
