#include "runtime-user/runtime/inproc/proc_status.h"

#include <cstdlib>
#include <fstream>

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

std::uint64_t status_number(pid_t tid, const std::string& name) {
  return std::strtoull(status_of(tid, name).c_str(), nullptr, 10);
}

std::uint64_t status_signals(pid_t tid, const std::string& name) {
  return std::strtoull(status_of(tid, name).c_str(), nullptr, 16);
}

}  // namespace kevt::inproc
