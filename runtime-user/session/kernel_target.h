// KernelTarget: the running kernel as a target of the engine: probes by bpf or kmod, static events by perf.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "compiler/target/kernel/kernel_env.h"
#include "compiler/target/kernel/place_sides.h"
#include "runtime-user/engine/traced_target.h"
#include "runtime-user/session/kernel_runtime.h"
#include "runtime-user/session/kernel_statics.h"

namespace kevt::session {

class KernelTarget final : public engine::TracedTarget {
 public:
  struct Request {
    std::string runtime = "auto";
    std::uint32_t ring_bytes = 4u << 20;  // of each CPU, for probes and for static events
    target::TypeSource types = target::TypeSource::DebugInformation;
    // The static events to be traced, as far as they exist; nullopt: all. Reading all formats takes about a second.
    std::optional<std::set<model::EventName>> statics;
    // Where programs are traced in the same session; nullptr: the kernel alone.
    std::shared_ptr<const target::PlaceSides> sides;
  };
  // The error says what is missing on this machine.
  static Result<std::unique_ptr<KernelTarget>> open(const Request& request);

  std::string name() const override { return "the kernel"; }
  runtime::ProbeRuntime& runtime() override { return *runtime_.runtime; }
  bool takes(std::string_view definition) const override {
    return !sides_ || sides_->of(definition) != target::PlaceSides::Side::Program;
  }
  const target::KernelEnv& env() override { return env_; }
  const target::KernelEnv& known_env() const override { return env_; }
  Result<void> prepare_stacks() override { return {}; }
  bool is_alive() override { return true; }
  std::string functions() const override { return statics_ ? statics_->functions() : ""; }
  engine::StaticEvents* static_events() override { return statics_.get(); }
  // To be called when nothing hits any more: the next drain hands out all records.
  void settle() { runtime_.settle(); }
  std::size_t switch_statics_off() { return statics_ ? statics_->reader().switch_off() : 0; }
  pid_t close_statics_behind() { return statics_ ? statics_->reader().close_behind() : 0; }

 private:
  KernelTarget(target::KernelEnv env, std::shared_ptr<const target::PlaceSides> sides)
      : env_(std::move(env)), sides_(std::move(sides)) {}

  target::KernelEnv env_;
  std::shared_ptr<const target::PlaceSides> sides_;
  std::unique_ptr<KernelStatics> statics_;  // nullptr: none were asked for
  KernelRuntime runtime_;
};

}  // namespace kevt::session
