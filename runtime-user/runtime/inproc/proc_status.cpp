#include "runtime-user/runtime/inproc/proc_status.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/abi/probe.h"

namespace kevt::inproc {

std::string status_of(pid_t tid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(tid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name + ":")) continue;
    const std::size_t at = line.find_first_not_of(" \t", name.size() + 1);
    return at == std::string::npos ? std::string() : line.substr(at);
  }
  return {};
}

std::uint64_t own_pid_as_seen_by(pid_t pid) {
  std::error_code failed;
  const auto theirs = std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/ns/pid", failed);
  const bool is_same = !failed && theirs == std::filesystem::read_symlink("/proc/self/ns/pid", failed) && !failed;
  return is_same ? static_cast<std::uint64_t>(getpid()) : KEVT_NOT_SEEN;
}

std::uint64_t status_number(pid_t tid, const std::string& name) {
  return std::strtoull(status_of(tid, name).c_str(), nullptr, 10);
}

std::uint64_t status_signals(pid_t tid, const std::string& name) {
  return std::strtoull(status_of(tid, name).c_str(), nullptr, 16);
}

}  // namespace kevt::inproc
