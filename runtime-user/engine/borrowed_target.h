// BorrowedTarget: a runtime and an environment that somebody else has, as a target; nothing comes or goes.
#pragma once

#include <string>

#include "runtime-user/engine/traced_target.h"

namespace kevt::engine {

class BorrowedTarget final : public TracedTarget {
 public:
  // Both outlive it.
  BorrowedTarget(runtime::ProbeRuntime& runtime, const target::TargetEnv& env) : runtime_(runtime), env_(env) {}

  std::string name() const override { return "the program"; }
  runtime::ProbeRuntime& runtime() override { return runtime_; }
  const target::TargetEnv& env() override { return env_; }
  const target::TargetEnv& known_env() const override { return env_; }
  bool is_alive() override { return true; }

 private:
  runtime::ProbeRuntime& runtime_;
  const target::TargetEnv& env_;
};

}  // namespace kevt::engine
