#include "common/process_choice.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace kevt::proc {
namespace {

using testing::ElementsAre;

const std::string kId = "3f2a5b6c7d8e9f00112233445566778899aabbccddeeff001122334455667788";

TEST(ContainerIn, KnowsTheNamesThatRuntimesWrite) {
  for (const std::string& path : {"0::/system.slice/docker-" + kId + ".scope", "5:memory:/docker/" + kId,
                                  "0::/user.slice/user-0.slice/libpod-" + kId + ".scope/container",
                                  "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + kId + ".scope",
                                  "0::/kubepods.slice/crio-" + kId + ".scope"})
    EXPECT_EQ(container_in(path + "\n"), "3f2a5b6c7d8e") << path;
  EXPECT_EQ(container_in("0::/machine.slice/machine-web.scope/payload\n"), "web");
  EXPECT_EQ(container_in("0::/lxc.payload.web/init.scope\n"), "web");
  for (const char* none : {"0::/\n", "0::/user.slice/user-1000.slice/session-3.scope\n", "", "nonsense",
                           "0::/docker-3f2a.scope\n", "0::/machine-.scope\n"})
    EXPECT_EQ(container_in(none), "") << none;
}

// A /proc of three programs, a kernel thread and a zombie.
class ChosenProcesses : public testing::Test {
 protected:
  ChosenProcesses() {
    char name[] = "/tmp/kevt-proc-XXXXXX";
    folder_ = mkdtemp(name);
    add(10, "nginx", "0::/system.slice/nginx.service", 'S', true);
    add(11, "nginx-worker", "0::/system.slice/nginx.service/workers", 'R', true);
    add(12, "redis (x) Z", "0::/system.slice/docker-" + kId + ".scope", 'S', true);
    add(13, "kworker/0:1", "0::/", 'I', false);
    add(14, "nginx", "0::/system.slice/nginx.service", 'Z', true);
    std::filesystem::create_directory(folder_ + "/self");
  }
  ~ChosenProcesses() override { std::filesystem::remove_all(folder_); }

  void add(pid_t pid, const std::string& comm, const std::string& cgroup, char state, bool has_program) {
    const std::string folder = folder_ + "/" + std::to_string(pid);
    std::filesystem::create_directory(folder);
    std::ofstream(folder + "/comm") << comm << "\n";
    std::ofstream(folder + "/cgroup") << cgroup << "\n";
    std::ofstream(folder + "/stat") << pid << " (" << comm << ") " << state << " 1 1\n";
    if (has_program) std::filesystem::create_symlink("/bin/true", folder + "/exe");
  }
  std::vector<pid_t> chosen(ProcessChoice choice) const { return chosen_processes(choice, folder_); }

  std::string folder_;
};

TEST_F(ChosenProcesses, ByName) {
  EXPECT_THAT(chosen({.comms = {"nginx"}}), ElementsAre(10));
  EXPECT_THAT(chosen({.comms = {"nginx*", "redis*"}}), ElementsAre(10, 11, 12));
  EXPECT_THAT(chosen({.comms = {"kworker*"}}), ElementsAre());
}

TEST_F(ChosenProcesses, ByControlGroup) {
  EXPECT_THAT(chosen({.cgroups = {"/system.slice/nginx.service"}}), ElementsAre(10, 11));
  EXPECT_THAT(chosen({.cgroups = {"/sys/fs/cgroup/system.slice/nginx.service/"}}), ElementsAre(10, 11));
  EXPECT_THAT(chosen({.cgroups = {"system.slice/nginx.service/workers"}}), ElementsAre(11));
  EXPECT_THAT(chosen({.cgroups = {"/system.slice/nginx"}}), ElementsAre());
  EXPECT_THAT(chosen({.cgroups = {"/"}}), ElementsAre(10, 11, 12));
}

TEST_F(ChosenProcesses, ByContainer) {
  EXPECT_THAT(chosen({.containers = {"3f2a5b6c7d8e"}}), ElementsAre(12));
  EXPECT_THAT(chosen({.containers = {kId}}), ElementsAre(12));
  EXPECT_THAT(chosen({.containers = {"3f2a"}}), ElementsAre()) << "too short to be meant";
  EXPECT_THAT(chosen({.comms = {"nginx*"}, .containers = {"3f2a5b6c7d8e"}}), ElementsAre()) << "both must fit";
}

}  // namespace
}  // namespace kevt::proc
