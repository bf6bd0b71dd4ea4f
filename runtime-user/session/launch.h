// A program to trace, with what the compiler must know of it: held before its first instruction, or running already.
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
  Started,   // by us, and waited for
  Running,   // before we came
  Followed,  // through exec, from one of these
};

struct HeldProgram {
  Origin origin = Origin::Started;
  std::unique_ptr<inproc::InprocRuntime> runtime;
  std::unique_ptr<target::ProcessEnv> env;
};

// nullopt when that failed: the reason has been reported, and `status` is what kevtrace ends with.
std::optional<HeldProgram> launch_held(const std::vector<std::string>& command, const inproc::SessionOptions& session,
                                       const Notices& report, int& status);

// The same for a process that runs. It goes on while definitions are compiled.
std::optional<HeldProgram> attach_running(pid_t pid, const inproc::SessionOptions& session, const Notices& report,
                                          int& status);

// The same for what a traced process, or a child of it, has become by exec.
Result<HeldProgram> adopt_followed(inproc::Tracee program, Origin origin, const inproc::SessionOptions& session);

// Ends a held program, nothing of which has run; leaves a running one as it was.
void end_held(HeldProgram& held);

}  // namespace kevt::session
