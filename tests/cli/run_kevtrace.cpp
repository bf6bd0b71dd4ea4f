// The shell gets a PATH whose first folder holds the built program, and two files for what it prints.
#include "tests/cli/run_kevtrace.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

extern char** environ;

namespace kevt::tests {

namespace {

std::string take_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  unlink(path.c_str());
  return text;
}

}  // namespace

Ran shell(const std::string& command) {
  char folder[] = "/tmp/kevtrace-cli-XXXXXX";
  if (!mkdtemp(folder)) return {};
  const std::string base = folder;
  setenv("PATH", (std::string(KEVT_PROGRAM_DIR) + ":/usr/bin:/bin").c_str(), 1);
  setenv("LC_ALL", "C", 1);
  unsetenv("NO_COLOR");
  unsetenv("CLICOLOR_FORCE");
  const std::string script =
      "export TMPDIR=" + base + "; exec 0</dev/null 1>" + base + "/out 2>" + base + "/err\n" + command + "\n";
  const char* argv[] = {"timeout", "60", "/bin/sh", "-c", script.c_str(), nullptr};
  pid_t pid = 0;
  Ran ran;
  if (posix_spawn(&pid, "/usr/bin/timeout", nullptr, nullptr, const_cast<char**>(argv), environ) == 0) {
    int status = 0;
    waitpid(pid, &status, 0);
    ran.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  ran.out = take_file(base + "/out");
  ran.err = take_file(base + "/err");
  rmdir(base.c_str());
  return ran;
}

}  // namespace kevt::tests
