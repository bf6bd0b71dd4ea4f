// Which running processes are meant: by name, by control group, by container.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace kevt::proc {

// A process is meant if it fits one word of each list that has words.
struct ProcessChoice {
  std::vector<std::string> comms;       // globs of names, as /proc/PID/comm has them
  std::vector<std::string> cgroups;     // paths of control groups, with those below: "/system.slice/nginx.service"
  std::vector<std::string> containers;  // names, or beginnings of ids of 6 hexadecimal digits and more

  bool empty() const { return comms.empty() && cgroups.empty() && containers.empty(); }
  std::string text() const;  // "--comm 'nginx*' --container 3f2a"
};

// The processes that are meant and run now, ascending. Kernel threads, zombies, this process and its parent are not.
// `proc`: where /proc is.
std::vector<pid_t> chosen_processes(const ProcessChoice& choice, const std::string& proc = "/proc");

// The container that a process runs in: the first 12 digits of its id, or its name; empty: none that is known. By the
// names of control groups that docker, podman, containerd, CRI-O, systemd-nspawn and LXC make. `cgroups`: the contents
// of /proc/PID/cgroup (cgroups(7)).
std::string container_in(std::string_view cgroups);
std::string container_of(pid_t pid);

}  // namespace kevt::proc
