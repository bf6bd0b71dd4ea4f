// A program held before its first instruction, with what the compiler must know of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/report.h"
#include "compiler/target/process_env.h"
#include "runtime-user/runtime/inproc/inproc_runtime.h"

namespace kevt::cli {

struct HeldProgram {
  std::unique_ptr<inproc::InprocRuntime> runtime;
  std::unique_ptr<target::ProcessEnv> env;
};

// nullopt when that failed: the reason has been reported, and `status` is what kevtrace ends with.
std::optional<HeldProgram> launch_held(const std::vector<std::string>& command, const inproc::SessionOptions& session,
                                       const Reporter& report, int& status);

// Ends a held program; nothing of it has run.
void end_held(HeldProgram& held);

}  // namespace kevt::cli
