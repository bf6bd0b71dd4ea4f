// kevtrace doctor: what works on this machine. Every line is tried, not guessed:
//
//   ok       ptrace              a child was seized, stopped and let go
//   missing  membarrier          what that costs, and in the next line how to get it
//
// The line of inproc traces /bin/true and counts the hit: that decides the exit status. For the kernel runtimes, files
// and capabilities are only looked at (kernel_support.h).
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>

#include "cli/exit_status.h"
#include "cli/reporter.h"
#include "cli/verbs/commands.h"
#include "common/print.h"
#include "common/unique_fd.h"
#include "compiler/pipeline/compile.h"
#include "compiler/target/fixed_target.h"
#include "runtime-user/engine/events/draft.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/runtime/inproc/memory/tsc_clock.h"
#include "runtime-user/session/kernel_support.h"
#include "runtime-user/session/launch.h"
#include "runtime-user/session/traced_process.h"

namespace kevt::cli {

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

enum class State : std::uint8_t { Ok, Missing };

struct Finding {
  State state = State::Ok;
  std::string what;
  std::string text;  // Ok: what was seen; else what is lost without it
  std::string fix;
};

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// `key` of /proc/cpuinfo or /proc/self/status: what follows the colon.
std::string proc_value(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key))
      if (const auto colon = line.find(':'); colon != std::string::npos)
        return line.substr(line.find_first_not_of(" \t", colon + 1) == std::string::npos
                               ? line.size()
                               : line.find_first_not_of(" \t", colon + 1));
  return "";
}

Finding check_cpu() {
  std::istringstream flags(proc_value("/proc/cpuinfo", "flags"));
  bool constant = false;
  bool nonstop = false;
  bool rdpid = false;
  for (std::string flag; flags >> flag;) {
    constant |= flag == "constant_tsc";
    nonstop |= flag == "nonstop_tsc";
    rdpid |= flag == "rdpid";
  }
  // Without rdpid code of probes asks for its CPU by lsl (compiler/codegen/native_hooks.cpp).
  if (constant && nonstop)
    return {State::Ok, "cpu", std::string("constant_tsc, nonstop_tsc, ") + (rdpid ? "rdpid" : "no rdpid: lsl"), ""};
  if (inproc::TscClock::is_usable())
    return {State::Ok, "cpu",
            std::string("the time-stamp counter is the kernel's clock source, ") + (rdpid ? "rdpid" : "no rdpid: lsl"),
            ""};
  return {State::Missing, "cpu", "no constant time-stamp counter: nothing can be traced in process",
          "a virtual machine: let it pass the host's counter through (qemu: -cpu host,+invtsc)"};
}

// Seizes, stops and lets go a child, as with a target. Returns 0 or errno.
int try_ptrace() {
  const pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) {
    pause();
    _exit(0);
  }
  int failed = 0;
  if (ptrace(PTRACE_SEIZE, child, nullptr, nullptr) != 0 || ptrace(PTRACE_INTERRUPT, child, nullptr, nullptr) != 0) {
    failed = errno;
  } else {
    int status = 0;
    if (waitpid(child, &status, __WALL) != child || ptrace(PTRACE_DETACH, child, nullptr, nullptr) != 0) failed = errno;
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return failed;
}

Finding check_ptrace() {
  const std::string scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
  const std::string seccomp = proc_value("/proc/self/status", "Seccomp");
  const int failed = try_ptrace();
  if (!failed)
    return {State::Ok, "ptrace",
            "a child was seized, stopped and let go" + (scope.empty() ? "" : " (yama ptrace_scope " + scope + ")"), ""};
  std::string fix = "run outside of the sandbox";
  if (scope == "3")
    fix = "ptrace_scope is 3: set kernel.yama.ptrace_scope to 1 in /etc/sysctl.d and reboot";
  else if (scope == "2")
    fix = "ptrace_scope is 2: sysctl kernel.yama.ptrace_scope=1";
  else if (seccomp == "2")
    fix = "a seccomp filter forbids it: docker run --cap-add=SYS_PTRACE";
  return {State::Missing, "ptrace", fmt::format("{}: no program can be held, nothing traced", std::strerror(failed)),
          fix};
}

Finding check_code_memory() {
  constexpr std::size_t kBytes = 4096;
  const UniqueFd memory(memfd_create("kevtrace-doctor", MFD_CLOEXEC));
  const Finding missing{State::Missing, "code memory", "",
                        "a security policy forbids executable mappings of a memfd (vm.memfd_noexec, SELinux execmem)"};
  const auto refuse = [&](const char* step) {
    Finding finding = missing;
    finding.text = fmt::format("{}: {}: no probe can be placed", step, std::strerror(errno));
    return finding;
  };
  if (!memory) return refuse("memfd_create");
  if (ftruncate(memory.get(), kBytes) != 0) return refuse("ftruncate");
  void* data = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (data == MAP_FAILED) return refuse("mmap for writing");
  void* code = mmap(nullptr, kBytes, PROT_READ | PROT_EXEC, MAP_SHARED, memory.get(), 0);
  if (code == MAP_FAILED) {
    Finding finding = refuse("mmap for executing");
    munmap(data, kBytes);
    return finding;
  }
  constexpr unsigned char kReturn42[] = {0xb8, 42, 0, 0, 0, 0xc3};  // mov $42, %eax; ret
  std::memcpy(data, kReturn42, sizeof(kReturn42));
  const int answer = reinterpret_cast<int (*)()>(code)();
  munmap(data, kBytes);
  munmap(code, kBytes);
  if (answer != 42)
    return {State::Missing, "code memory", "code written is not the code executed", "report it, please"};
  return {State::Ok, "code memory", "a memfd, writable here and executable there", ""};
}

Finding check_membarrier() {
  const long offered = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  if (offered >= 0 && (offered & MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE))
    return {State::Ok, "membarrier", "SYNC_CORE: all CPUs see changed code at once", ""};
  return {State::Missing, "membarrier", "no SYNC_CORE: probes cannot be changed in a running program",
          "a kernel from 4.16 on with CONFIG_MEMBARRIER, and no seccomp filter against it"};
}

Finding check_compiler() {
  const std::string definition = "p:doctor main a=%di:u64 text=+0(%si):string";
  const auto start = Clock::now();
  engine::Draft draft;
  std::vector<engine::Problem> problems;
  const target::UncheckedTargetEnv env;
  draft.check(std::span(&definition, 1), {}, env, pipeline::Forms::Runnable, problems);
  if (!problems.empty()) return {State::Missing, "compiler", "it refuses a right definition", "report it, please"};
  auto compiled =
      pipeline::compile_events({draft.entries().front().event}, {{std::nullopt}}, env, pipeline::Artifacts::CodeOnly);
  if (!compiled) return {State::Missing, "compiler", compiled.error().message(), "install libllvm19"};
  return {State::Ok, "compiler",
          fmt::format("LLVM made {} bytes in {:.0f} ms", compiled->batch.images.front().bytes.size(), ms_since(start)),
          ""};
}

// Traces /bin/true with one probe, from the launch to the counted hit.
Finding check_inproc(const Reporter& report) {
  const auto start = Clock::now();
  const Finding missing{State::Missing, "inproc", "tracing /bin/true failed: no program can be traced",
                        "see what is missing above"};
  int status = 0;
  auto held = session::launch_held({"/bin/true"}, {.ring_bytes = 64u << 10, .rows = 64}, report, status);
  if (!held) return missing;
  session::TracedProcess process(std::move(*held));
  engine::Tracing tracing({&process}, {.cpus = inproc::possible_cpus()});
  const std::string definition = "p:doctor libc:exit status=%di:s32";
  const auto defined = tracing.definitions().write(grammar::EventsFile::Dynamic, definition);
  const engine::TracedEvent* const event = defined ? tracing.events().find("kprobes", "doctor") : nullptr;
  if (!event || !tracing.switcher().set_enabled(tracing.top(), std::span(&event, 1), true)) {
    session::end_held(process.held);
    return missing;
  }
  const double ready = ms_since(start);
  process.runtime().go();
  timespec pause = {0, 200'000};
  for (int tries = 0; tries < 10000 && !process.runtime().poll_exit(); ++tries) nanosleep(&pause, nullptr);
  process.runtime().settle();
  tracing.drain();
  if (tracing.records().counts(tracing.top(), *event).recorded != 1) return missing;
  return {State::Ok, "inproc", fmt::format("/bin/true was traced; its probe was armed after {:.0f} ms", ready), ""};
}

Finding kernel_finding(const char* runtime, const session::KernelSupport& offer) {
  if (offer.missing.empty()) return {State::Ok, runtime, offer.text, ""};
  std::string text = "no probes of the kernel; missing: ";
  for (std::size_t i = 0; i < offer.missing.size(); ++i) text += (i ? ", " : "") + offer.missing[i];
  return {State::Missing, runtime, text, offer.fix};
}

void show(const Finding& finding) {
  const char* state = finding.state == State::Ok ? "ok" : "missing";
  print("{:<8} {:<12} {}\n", state, finding.what, finding.text);
  if (!finding.fix.empty()) print("{:<21} fix: {}\n", "", finding.fix);
}

}  // namespace

int doctor(const DoctorOptions&, const GlobalOptions& global) {
  const Reporter report(global);
  show(check_cpu());
  show(check_ptrace());
  show(check_code_memory());
  show(check_membarrier());
  show(check_compiler());
  const Finding inproc = check_inproc(report);
  show(inproc);
  show(kernel_finding("bpf", session::look_for_bpf()));
  show(kernel_finding("kmod", session::look_for_kmod()));
  return inproc.state == State::Ok ? kOk : kMissing;
}

}  // namespace kevt::cli
