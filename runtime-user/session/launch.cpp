// Starting CMD or seizing a process shows most of what a machine can lack: the file, a right format, ptrace, the clock.
// Each such error gets the exit status that shells and `env` use for it.
#include "runtime-user/session/launch.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "common/error.h"
#include "common/proc.h"
#include "runtime-user/session/exit_status.h"
#include "runtime-user/session/supervisor.h"

namespace kevt::session {

namespace {

int status_of_launch(const Error& error) {
  switch (error.errno_value()) {
    case ENOENT:
      return kNotFound;
    case EACCES:
    case ENOEXEC:
    case EISDIR:
      return kNotExecutable;
    case EPERM:
    case EOPNOTSUPP:
      return kMissing;
    default:
      return kOurFailure;
  }
}

}  // namespace

namespace {

Result<void> add_environment(HeldProgram& held, const inproc::SessionOptions& session) {
  target::ProcessEnvOptions options;
  options.becomes_others = session.follows_exec;
  options.resolve_ifuncs = [raw = held.runtime.get()](std::span<const RemoteAddr> resolvers) {
    return raw->resolve_indirect(resolvers);
  };
  options.restore_text = [raw = held.runtime.get()](RemoteAddr at, std::span<std::uint8_t> text) {
    raw->restore_text(at, text);
  };
  if (session.files)
    options.open_image =
        [files = session.files](const std::string& path) -> Result<std::shared_ptr<const target::ElfImage>> {
      auto file = KEVT_TRY(files->open(path));
      return std::shared_ptr<const target::ElfImage>(file, &file->image);
    };
  auto env = KEVT_TRY(target::ProcessEnv::of_process(held.runtime->pid(), std::move(options)));
  held.env = std::make_unique<target::ProcessEnv>(std::move(env));
  return {};
}

std::optional<HeldProgram> with_environment(HeldProgram held, const inproc::SessionOptions& session,
                                            const Notices& report, int& status) {
  if (auto added = add_environment(held, session); !added) {
    report.error(added.error());
    status = kOurFailure;
    end_held(held);
    return std::nullopt;
  }
  return held;
}

}  // namespace

std::optional<HeldProgram> launch_held(const std::vector<std::string>& command, const inproc::SessionOptions& session,
                                       const Notices& report, int& status) {
  auto runtime = inproc::InprocRuntime::launch(command, session);
  if (!runtime) {
    report.error(runtime.error());
    status = status_of_launch(runtime.error());
    return std::nullopt;
  }
  note_started((*runtime)->pid());
  return with_environment({Origin::Started, std::move(*runtime), nullptr}, session, report, status);
}

Result<HeldProgram> attach_to(pid_t pid, const inproc::SessionOptions& session) {
  auto runtime = KEVT_TRY(inproc::InprocRuntime::attach(pid, session));
  runtime->go();
  HeldProgram held{Origin::Running, std::move(runtime), nullptr};
  if (auto added = add_environment(held, session); !added) {
    end_held(held);
    return std::unexpected(std::move(added.error()));
  }
  return held;
}

namespace {

// `CMD & kevtrace run --pid $!`: the child of a shell that is as young may not have become CMD yet.
void wait_for_exec(pid_t pid) {
  constexpr std::chrono::milliseconds kMost{100}, kStep{1};
  const auto most = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK) * kMost.count() / 1000);
  while (proc::is_copy_of_parent(pid) && proc::clock_ticks() - proc::start_time(pid) < most)
    std::this_thread::sleep_for(kStep);
}

}  // namespace

std::optional<HeldProgram> attach_running(pid_t pid, const inproc::SessionOptions& session, const Notices& report,
                                          int& status) {
  wait_for_exec(pid);
  auto held = attach_to(pid, session);
  if (held) return std::move(*held);
  report.error(held.error());
  const int why = held.error().errno_value();
  status = why == EPERM || why == EOPNOTSUPP ? kMissing : kFailed;
  return std::nullopt;
}

namespace {

// A followed program takes a few descriptors as long as it is traced, so the limit is raised. CMD was started before
// and keeps its own limit.
void allow_more_descriptors() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

Result<HeldProgram> adopt_followed(inproc::Tracee program, Origin origin, const inproc::SessionOptions& session) {
  allow_more_descriptors();
  auto runtime = KEVT_TRY(inproc::InprocRuntime::adopt(std::move(program), session));
  HeldProgram held{origin, std::move(runtime), nullptr};
  KEVT_TRY(add_environment(held, session));
  return held;
}

void end_held(HeldProgram& held) {
  if (held.origin != Origin::Started) {
    (void)held.runtime->detach();
    return;
  }
  kill(held.runtime->pid(), SIGKILL);
  timespec pause = {0, 200'000};
  for (int tries = 0; tries < 5000 && !held.runtime->poll_exit(); ++tries) nanosleep(&pause, nullptr);
}

}  // namespace kevt::session
