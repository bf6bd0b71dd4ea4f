// kevtrace exec DIR -- CMD: DIR takes the place of the kernel's tracing directory, for CMD alone.
//
//   mount namespace of its own     DIR bound on /sys/kernel/tracing and on /sys/kernel/debug/tracing
//   TRACEFS_PATH=DIR               for perf
//   LD_PRELOAD=kevtrace-exec.so    tells libtracefs where DIR is, and refuses to mount tracefs (exec_preload.c)
//
// A tool that finds no file system of type tracefs mounts the running kernel's. In the namespace such a mount could
// only cover our bind mount, and the preload refuses even that.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "cli/exit_status.h"
#include "cli/reporter.h"
#include "cli/verbs/commands.h"
#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::cli {

namespace {

constexpr const char* kTracing = "/sys/kernel/tracing";
constexpr const char* kDebug = "/sys/kernel/debug";
constexpr const char* kDebugTracing = "/sys/kernel/debug/tracing";
constexpr const char* kDebugKprobes = "/sys/kernel/debug/kprobes";
// Switches of the running kernel that tools write to.
constexpr const char* kSwitches[] = {"/proc/sys/kernel/ftrace_enabled", "/proc/sys/kernel/stack_tracer_enabled",
                                     "/proc/sys/debug/kprobes-optimization"};

bool write_file(const std::string& path, const std::string& text) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// A user who is not root becomes root in a user namespace, and may mount there.
Result<void> enter_namespace() {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  const int flags = CLONE_NEWNS | (uid == 0 ? 0 : CLONE_NEWUSER);
  if (unshare(flags) < 0) return std::unexpected(Error::from_errno("a mount namespace of its own"));
  if (uid != 0) {
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
    write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0)
    return std::unexpected(Error::from_errno("making mounts private"));
  return {};
}

Result<void> bind(const std::string& directory, const char* place) {
  if (::mount(directory.c_str(), place, nullptr, MS_BIND, nullptr) == 0) return {};
  return std::unexpected(Error::from_errno("binding " + directory + " on " + place));
}

// Tools switch ftrace on for the whole machine. Here they get a file that says 1 and goes away with them.
Result<void> cover_switches() {
  struct stat status;
  int number = 0;
  for (const char* path : kSwitches) {
    if (stat(path, &status) < 0) continue;
    const std::string file = std::string(kDebug) + "/switch" + std::to_string(++number);
    const UniqueFd made(open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!made || ::write(made.get(), "1\n", 2) != 2) return std::unexpected(Error::from_errno(file));
    KEVT_TRY(bind(file, path));
  }
  return {};
}

// Mount points that this kernel does not have are left out.
Result<void> put_in_place(const std::string& directory) {
  struct stat status;
  if (stat(kTracing, &status) == 0) KEVT_TRY(bind(directory, kTracing));
  if (stat(kDebug, &status) < 0) return {};
  if (::mount("none", kDebug, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700,size=64k") < 0)
    return std::unexpected(Error::from_errno(std::string("covering ") + kDebug));
  for (const char* place : {kDebugTracing, kDebugKprobes})
    if (mkdir(place, 0700) < 0) return std::unexpected(Error::from_errno(place));
  KEVT_TRY(bind(directory, kDebugTracing));
  const std::string kprobes = directory + "/debug/kprobes";
  if (stat(kprobes.c_str(), &status) == 0) KEVT_TRY(bind(kprobes, kDebugKprobes));
  return cover_switches();
}

// The preload library: beside the program, or where it is installed.
std::string find_preload() {
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  for (const char* place : {"kevtrace-exec.so", "../lib/kevtrace/kevtrace-exec.so"}) {
    const auto path = program.parent_path() / place;
    if (std::filesystem::exists(path, ignored)) return path.lexically_normal().string();
  }
  return "";
}

}  // namespace

int exec(const ExecOptions& options, const GlobalOptions& global) {
  const Reporter report(global);
  std::error_code failed;
  const std::string directory = std::filesystem::canonical(options.directory, failed).string();
  if (failed || access((directory + "/trace").c_str(), F_OK) < 0) {
    report.error(options.directory + " is no tracing directory; `kevtrace mount` makes one");
    return kFailed;
  }
  const std::string preload = find_preload();
  if (preload.empty()) {
    report.error("kevtrace-exec.so is not beside kevtrace: tools might mount the running kernel's tracefs instead");
    return kMissing;
  }
  auto ready = enter_namespace();
  if (ready) ready = put_in_place(directory);
  if (!ready) {
    report.error(ready.error());
    return kMissing;
  }
  setenv("TRACEFS_PATH", directory.c_str(), 1);
  setenv("KEVTRACE_TRACING_DIR", directory.c_str(), 1);
  const char* before = getenv("LD_PRELOAD");
  setenv("LD_PRELOAD", before ? (preload + ":" + before).c_str() : preload.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& word : options.command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  const int reason = errno;
  report.error(Error::from_errno(options.command.front()));
  return reason == ENOENT ? kNotFound : kNotExecutable;
}

}  // namespace kevt::cli
