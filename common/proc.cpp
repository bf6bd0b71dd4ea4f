#include "common/proc.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace kevt::proc {

std::string comm(pid_t tid) {
  std::ifstream file("/proc/" + std::to_string(tid) + "/comm");
  char text[64];                 // a kernel thread's name may be that long: kernel/workqueue.c, wq_worker_comm()
  file.read(text, sizeof text);  // takes a failed read, of a thread that has just ended, as the end
  std::string name(text, static_cast<std::size_t>(file.gcount()));  // line ends may be in it
  if (name.ends_with('\n')) name.pop_back();
  return name;
}

std::string status(pid_t tid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(tid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name + ":")) continue;
    const std::size_t at = line.find_first_not_of(" \t", name.size() + 1);
    return at == std::string::npos ? std::string() : line.substr(at);
  }
  return {};
}

std::uint64_t status_number(pid_t tid, const std::string& name) {
  return std::strtoull(status(tid, name).c_str(), nullptr, 10);
}

std::uint64_t status_signals(pid_t tid, const std::string& name) {
  return std::strtoull(status(tid, name).c_str(), nullptr, 16);
}

std::uint64_t clock_ticks() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const auto per_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return static_cast<std::uint64_t>(now.tv_sec) * per_second +
         static_cast<std::uint64_t>(now.tv_nsec) / (1'000'000'000 / per_second);
}

namespace {

// A field of /proc/PID/stat, from the state, field 3, on; the name, field 2, may hold blanks and parentheses. 0: the
// process has ended.
std::uint64_t stat_field(pid_t pid, int number) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_ends = line.rfind(')');
  if (name_ends == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_ends + 1));
  std::string field;
  fields >> field;
  if (field == "Z" || field == "X") return 0;
  for (int n = 3; n < number; ++n) fields >> field;
  return std::strtoull(field.c_str(), nullptr, 10);
}

}  // namespace

std::uint64_t start_time(pid_t pid) { return stat_field(pid, 22); }

bool is_copy_of_parent(pid_t pid) {
  constexpr std::uint64_t kForkNoExec = 0x40;  // include/linux/sched.h
  return stat_field(pid, 9) & kForkNoExec;
}

std::uint64_t pid_namespace(pid_t pid) {
  struct stat file = {};
  return stat(("/proc/" + std::to_string(pid) + "/ns/pid").c_str(), &file) == 0 ? file.st_ino : 0;
}

pid_t process_of(pid_t tid) { return static_cast<pid_t>(status_number(tid, "Tgid")); }
pid_t parent_of(pid_t pid) { return static_cast<pid_t>(status_number(pid, "PPid")); }

bool shares_pid_namespace(pid_t pid) {
  const std::uint64_t theirs = pid_namespace(pid);
  return theirs && theirs == pid_namespace(getpid());
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace kevt::proc
