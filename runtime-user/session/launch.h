// A process to trace, and the environment that the compiler needs: held before the first instruction, or running
// already.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/target/process/process_env.h"
#include "runtime-user/runtime/inproc/inproc_runtime.h"
#include "runtime-user/session/notices.h"

namespace kevt::session {

enum class Origin : std::uint8_t {
  Started,   // by kevtrace, which waits for its end
  Running,   // before kevtrace attached
  Followed,  // through exec, from one of the other two or their children
};

struct HeldProgram {
  Origin origin = Origin::Started;
  std::unique_ptr<inproc::InprocRuntime> runtime;
  std::unique_ptr<target::ProcessEnv> env;
};

// Starts the command and holds it. nullopt: that failed; the reason has been reported, and `status` is kevtrace's exit
// status.
std::optional<HeldProgram> launch_held(const std::vector<std::string>& command, const inproc::SessionOptions& session,
                                       const Notices& report, int& status);

// Attaches to a running process. The process goes on running while definitions are compiled. EBUSY: a tracer has it.
Result<HeldProgram> attach_to(pid_t pid, const inproc::SessionOptions& session);
// The same; reports as launch_held().
std::optional<HeldProgram> attach_running(pid_t pid, const inproc::SessionOptions& session, const Notices& report,
                                          int& status);

// Takes over the program that a traced process, or a child of one, has become by exec.
Result<HeldProgram> adopt_followed(inproc::Tracee program, Origin origin, const inproc::SessionOptions& session);

// Kills a program that kevtrace started, none of whose code has run; detaches from any other.
void end_held(HeldProgram& held);

}  // namespace kevt::session
