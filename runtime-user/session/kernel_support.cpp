// doctor also runs where nobody wants a probe in the kernel, so it only reads files and capabilities.
//
//   bpf    perf's kprobe unit, CAP_BPF + CAP_PERFMON (or CAP_SYS_ADMIN), symbols that are not hidden, Linux 6.1
//   kmod   the same, and /dev/kevtrace
#include "runtime-user/session/kernel_support.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace kevt::session {

namespace {

constexpr unsigned kSysAdmin = 21, kSyslog = 34, kPerfmon = 38, kBpf = 39;  // include/uapi/linux/capability.h
constexpr const char* kKprobes = "/sys/bus/event_source/devices/kprobe/type";
constexpr const char* kDevice = "/dev/kevtrace";

std::uint64_t capabilities() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("CapEff:")) return std::strtoull(line.c_str() + 7, nullptr, 16);
  return 0;
}

bool is_old(const utsname& kernel) {
  unsigned major = 0, minor = 0;
  if (std::sscanf(kernel.release, "%u.%u", &major, &minor) != 2) return true;
  return major < 6 || (major == 6 && minor < 1);
}

void look_at_capabilities(KernelSupport& offer) {
  const std::uint64_t have = capabilities();
  const auto has = [&](unsigned capability) { return (have >> capability & 1) != 0; };
  const bool admin = has(kSysAdmin);
  if (!has(kBpf) && !admin) offer.missing.push_back("CAP_BPF");
  if (!has(kPerfmon) && !admin) offer.missing.push_back("CAP_PERFMON");
  if (!has(kSyslog) && !admin) offer.missing.push_back("CAP_SYSLOG (for the kernel's symbols)");
  if (!offer.missing.empty()) offer.fix = "run as root";
}

}  // namespace

KernelSupport look_for_bpf() {
  KernelSupport offer;
  utsname kernel{};
  uname(&kernel);
  look_at_capabilities(offer);
  if (::access(kKprobes, F_OK) != 0) {
    offer.missing.push_back("kprobes in this kernel");
    offer.fix = "a kernel with CONFIG_KPROBE_EVENTS and CONFIG_BPF_EVENTS, as Debian's";
  }
  if (::access("/proc/kallsyms", R_OK) != 0) offer.missing.push_back("/proc/kallsyms");
  if (is_old(kernel)) {
    offer.missing.push_back("Linux 6.1");
    offer.fix = "a newer kernel";
  }
  offer.text =
      fmt::format("Linux {}: kprobes, BPF and symbols are there for us (looked at, not tried)", kernel.release);
  return offer;
}

KernelSupport look_for_kmod() {
  KernelSupport offer = look_for_bpf();
  if (::access(kDevice, F_OK) != 0) {
    offer.missing.push_back("kevtrace.ko (" + std::string(kDevice) + ")");
    if (offer.fix.empty()) offer.fix = "build runtime-kmod/ for this kernel and load it";
  } else if (::access(kDevice, R_OK | W_OK) != 0) {
    offer.missing.push_back("permission for " + std::string(kDevice));
  }
  offer.text = std::string(kDevice) + " is there for us, for `p` and `r` of the kernel (looked at, not tried)";
  return offer;
}

}  // namespace kevt::session
