#include "common/proc.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace kevt::proc {

std::string comm(pid_t tid) {
  std::ifstream file("/proc/" + std::to_string(tid) + "/comm");
  std::string name;
  std::getline(file, name);
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

pid_t process_of(pid_t tid) { return static_cast<pid_t>(status_number(tid, "Tgid")); }
pid_t parent_of(pid_t pid) { return static_cast<pid_t>(status_number(pid, "PPid")); }

bool shares_pid_namespace(pid_t pid) {
  std::error_code failed;
  const auto theirs = std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/ns/pid", failed);
  return !failed && theirs == std::filesystem::read_symlink("/proc/self/ns/pid", failed) && !failed;
}

}  // namespace kevt::proc
