// Starting CMD, or seizing a process, is where most of what can be missing on a machine shows: the file, its kind,
// ptrace, the clock. Each gets the exit status that shells and `env` give it.
#include "cli/launch.h"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>

#include "cli/exit_status.h"

namespace kevt::cli {

namespace {

int status_of(const Error& error) {
  switch (error.errno_value()) {
    case ENOENT:
      return kNotFound;
    case EACCES:
    case ENOEXEC:
    case EISDIR:
      return kNotExecutable;
    case EPERM:
      return kMissing;
    default:
      return kOurFailure;
  }
}

}  // namespace

namespace {

std::optional<HeldProgram> with_environment(HeldProgram held, const Reporter& report, int& status) {
  target::ProcessEnvOptions options;
  options.resolve_ifunc = [raw = held.runtime.get()](RemoteAddr resolver) { return raw->resolve_indirect(resolver); };
  auto env = target::ProcessEnv::of_process(held.runtime->pid(), std::move(options));
  if (!env) {
    report.error(env.error());
    status = kOurFailure;
    end_held(held);
    return std::nullopt;
  }
  held.env = std::make_unique<target::ProcessEnv>(std::move(*env));
  return held;
}

}  // namespace

std::optional<HeldProgram> launch_held(const std::vector<std::string>& command, const inproc::SessionOptions& session,
                                       const Reporter& report, int& status) {
  auto runtime = inproc::InprocRuntime::launch(command, session);
  if (!runtime) {
    report.error(runtime.error());
    status = status_of(runtime.error());
    return std::nullopt;
  }
  return with_environment({Origin::Started, std::move(*runtime), nullptr}, report, status);
}

std::optional<HeldProgram> attach_running(pid_t pid, const inproc::SessionOptions& session, const Reporter& report,
                                          int& status) {
  auto runtime = inproc::InprocRuntime::attach(pid, session);
  if (!runtime) {
    report.error(runtime.error());
    status = runtime.error().errno_value() == EPERM ? kMissing : kFailed;
    return std::nullopt;
  }
  (*runtime)->go();
  return with_environment({Origin::Running, std::move(*runtime), nullptr}, report, status);
}

void end_held(HeldProgram& held) {
  if (held.origin == Origin::Running) {
    (void)held.runtime->detach();
    return;
  }
  kill(held.runtime->pid(), SIGKILL);
  timespec pause = {0, 200'000};
  for (int tries = 0; tries < 5000 && !held.runtime->poll_exit(); ++tries) nanosleep(&pause, nullptr);
}

}  // namespace kevt::cli
