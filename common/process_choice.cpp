// Containers have no name in the kernel; what runs them writes it into the path of a control group.
//
//   0::/system.slice/docker-3f2a….scope                      docker, cgroup v2
//   5:memory:/docker/3f2a…                                   docker, cgroup v1
//   0::/user.slice/…/libpod-3f2a….scope/container            podman
//   0::/kubepods.slice/…/cri-containerd-3f2a….scope          containerd; crio-3f2a….scope: CRI-O
//   0::/machine.slice/machine-web.scope/payload              systemd-nspawn
//   0::/lxc.payload.web                                      LXC
#include "common/process_choice.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

namespace kevt::proc {

namespace {

constexpr std::size_t kIdDigits = 64, kShownDigits = 12, kFewestDigits = 6;

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// Calls visit(PATH) for each line ID:CONTROLLERS:PATH until it says true.
template <class Visit>
bool any_group(std::string_view cgroups, const Visit& visit) {
  while (!cgroups.empty()) {
    std::string_view line = cgroups.substr(0, cgroups.find('\n'));
    cgroups.remove_prefix(std::min(line.size() + 1, cgroups.size()));
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    if (visit(line.substr(second + 1))) return true;
  }
  return false;
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// The container that a part of a control group's path names: its whole id, or its name.
std::optional<std::string_view> named_by(std::string_view part) {
  if (part.ends_with(".scope")) part.remove_suffix(6);
  for (const std::string_view lead : {"docker-", "libpod-", "cri-containerd-", "crio-"})
    if (part.starts_with(lead) && part.size() == lead.size() + kIdDigits && is_hex(part.substr(lead.size())))
      return part.substr(lead.size());
  for (const std::string_view lead : {"machine-", "lxc.payload."})
    if (part.starts_with(lead) && part.size() > lead.size()) return part.substr(lead.size());
  if (part.size() == kIdDigits && is_hex(part)) return part;
  return std::nullopt;
}

std::optional<std::string_view> container_of_path(std::string_view path) {
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (auto name = named_by(part)) return name;
  }
  return std::nullopt;
}

bool is_in_container(std::string_view cgroups, const std::string& wanted) {
  return any_group(cgroups, [&](std::string_view path) {
    const auto found = container_of_path(path);
    return found && (*found == wanted || (wanted.size() >= kFewestDigits && is_hex(wanted) && is_hex(*found) &&
                                          found->starts_with(wanted)));
  });
}

// "/sys/fs/cgroup/a/b/" means "/a/b".
std::string_view group_path(std::string_view written) {
  constexpr std::string_view kMount = "/sys/fs/cgroup";
  if (written.starts_with(kMount)) written.remove_prefix(kMount.size());
  while (written.ends_with('/')) written.remove_suffix(1);
  return written;
}

bool is_in_group(std::string_view cgroups, std::string_view wanted) {
  wanted = group_path(wanted);
  return any_group(cgroups, [&](std::string_view path) {
    if (wanted.empty()) return true;  // the root
    if (!wanted.starts_with('/') && path.starts_with('/')) path.remove_prefix(1);
    return path == wanted || (path.starts_with(wanted) && path[wanted.size()] == '/');
  });
}

// The state letter of /proc/PID/stat, which stands behind the name in parentheses.
char state_of(std::string_view stat) {
  const std::size_t close = stat.rfind(") ");
  return close == std::string_view::npos || close + 2 >= stat.size() ? '\0' : stat[close + 2];
}

bool runs_a_program(const std::string& folder) {
  std::error_code none;
  (void)std::filesystem::read_symlink(folder + "/exe", none);
  const char state = state_of(contents_of(folder + "/stat"));
  return !none && state != 'Z' && state != 'X' && state != '\0';
}

bool fits(const ProcessChoice& choice, const std::string& folder) {
  if (!choice.comms.empty()) {
    std::string comm = contents_of(folder + "/comm");
    if (comm.ends_with('\n')) comm.pop_back();
    if (std::ranges::none_of(choice.comms,
                             [&](const std::string& one) { return fnmatch(one.c_str(), comm.c_str(), 0) == 0; }))
      return false;
  }
  if (choice.cgroups.empty() && choice.containers.empty()) return true;
  const std::string cgroups = contents_of(folder + "/cgroup");
  const auto is_in_any = [&](const std::vector<std::string>& words, const auto& is_in) {
    return words.empty() || std::ranges::any_of(words, [&](const std::string& one) { return is_in(cgroups, one); });
  };
  return is_in_any(choice.cgroups, is_in_group) && is_in_any(choice.containers, is_in_container);
}

}  // namespace

std::string ProcessChoice::text() const {
  std::string all;
  const auto add = [&](const char* option, const std::vector<std::string>& words) {
    for (const std::string& word : words) all += fmt::format("{}{} {}", all.empty() ? "" : " ", option, word);
  };
  add("--comm", comms);
  add("--cgroup", cgroups);
  add("--container", containers);
  return all;
}

std::vector<pid_t> chosen_processes(const ProcessChoice& choice, const std::string& proc) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (std::filesystem::directory_iterator at(proc, ignored), end; at != end; at.increment(ignored)) {
    const std::string name = at->path().filename();
    pid_t pid = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || rest != name.data() + name.size() || pid == ::getpid() || pid == ::getppid()) continue;
    if (fits(choice, at->path()) && runs_a_program(at->path())) found.push_back(pid);
  }
  std::ranges::sort(found);
  return found;
}

std::string container_in(std::string_view cgroups) {
  std::string name;
  any_group(cgroups, [&](std::string_view path) {
    const auto found = container_of_path(path);
    if (found) name = found->size() == kIdDigits && is_hex(*found) ? found->substr(0, kShownDigits) : *found;
    return found.has_value();
  });
  return name;
}

std::string container_of(pid_t pid) { return container_in(contents_of(fmt::format("/proc/{}/cgroup", pid))); }

}  // namespace kevt::proc
