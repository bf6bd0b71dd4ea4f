#include "tests/soak/swarm.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace kevt::tests {

Swarm::Swarm(const char* program, unsigned rest_us) {
  char name[] = "/tmp/kevt-swarm-XXXXXX";
  const int file = mkstemp(name);
  file_ = name;
  if (file < 0 || ftruncate(file, sizeof(swarm_page)) < 0) return;
  void* at = mmap(nullptr, sizeof(swarm_page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (at == MAP_FAILED) return;
  page_ = static_cast<swarm_page*>(at);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execl(program, program, file_.c_str(), fmt::format("{}", rest_us).c_str(), nullptr);
    _exit(127);
  }
  for (int tries = 0; tries < 2000 && !__atomic_load_n(&page_->calls[0], __ATOMIC_ACQUIRE); ++tries) usleep(1000);
}

Swarm::~Swarm() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (page_) munmap(page_, sizeof *page_);
  unlink(file_.c_str());
}

std::string Swarm::end() {
  __atomic_store_n(&page_->stop, 1u, __ATOMIC_RELEASE);
  int status = 0;
  if (waitpid(std::exchange(pid_, -1), &status, 0) < 0) return "the swarm was waited for by somebody else";
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) return fmt::format("the swarm ended with status {:#x}", status);
  if (page_->forks_wrong) return fmt::format("{} of {} children went wrong", page_->forks_wrong, page_->forks);
  for (const std::uint64_t& wrong : page_->wrong)
    if (wrong) return fmt::format("{} calls of one thread had a wrong answer", wrong);
  return "";
}

std::string Swarm::how_it_ended() {
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return "";
  pid_ = -1;
  return fmt::format(" (the swarm ended with status {:#x})", status);
}

}  // namespace kevt::tests
