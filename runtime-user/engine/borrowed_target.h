// BorrowedTarget: a target made of a runtime and an environment that the caller owns. It loads no libraries and never
// ends.
#pragma once

#include <string>

#include "runtime-user/engine/traced_target.h"

namespace kevt::engine {

class BorrowedTarget final : public TracedTarget {
 public:
  // Both arguments outlive this object.
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
