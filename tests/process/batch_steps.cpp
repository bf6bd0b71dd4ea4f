// What Engine does in one call, taken apart at the points where the time is read.
#include "tests/process/batch_steps.h"

#include <time.h>

#include "common/error.h"
#include "runtime-user/engine/events/draft.h"

namespace kevt::tests {

namespace {

using Clock = std::chrono::steady_clock;

// Adds the time from its start to its end.
class Timed {
 public:
  explicit Timed(double& ms) : ms_(ms) {}
  ~Timed() { ms_ += std::chrono::duration<double, std::milli>(Clock::now() - start_).count(); }

 private:
  double& ms_;
  Clock::time_point start_ = Clock::now();
};

Result<void> drop_value(auto&& result) {
  if (!result) return std::unexpected(std::move(result.error()));
  return {};
}

}  // namespace

Result<std::unique_ptr<BatchSteps>> BatchSteps::launch(const std::vector<std::string>& command, std::uint32_t rows) {
  std::unique_ptr<BatchSteps> made(new BatchSteps);
  const Timed timed(made->times_.prepare_ms);
  made->runtime_ = KEVT_TRY(inproc::InprocRuntime::launch(command, {.ring_bytes = 1u << 20, .rows = rows}));
  auto env = KEVT_TRY(target::ProcessEnv::of_process(made->runtime_->pid(), {}));
  made->env_ = std::make_unique<target::ProcessEnv>(std::move(env));
  return made;
}

Result<void> BatchSteps::define(const std::vector<std::string>& definitions) {
  std::vector<pipeline::CheckedEvent> events;
  std::vector<std::vector<std::optional<model::FilterExpr>>> sinks;
  {
    const Timed timed(times_.check_ms);
    engine::Draft draft;
    std::vector<engine::Problem> problems;
    draft.check(definitions, {}, *env_, pipeline::Forms::Runnable, problems);
    if (!problems.empty()) return std::unexpected(Error(definitions[problems.front().index] + " is refused"));
    for (engine::Draft::Entry& entry : draft.entries()) {
      events.push_back(std::move(entry.event));
      sinks.push_back({std::nullopt});
    }
  }
  auto compiled = KEVT_TRY([&] {
    const Timed timed(times_.compile_ms);
    return pipeline::compile_events(events, sinks, *env_, pipeline::Artifacts::CodeOnly);
  }());
  images_ = compiled.batch.images.size();
  for (const model::NativeImage& image : compiled.batch.images) code_bytes_ += image.bytes.size();
  std::vector<std::uint32_t> ids;
  while (ids.size() < events.size()) ids.push_back(static_cast<std::uint32_t>(20000 + ids.size()));
  const Timed timed(times_.install_ms);
  auto installed = runtime_->install(compiled.batch, ids);
  if (installed) probes_ = *installed;
  return drop_value(std::move(installed));
}

Result<void> BatchSteps::arm() {
  const Timed timed(times_.arm_ms);
  return runtime_->arm(probes_);
}

Result<void> BatchSteps::disarm() {
  const Timed timed(times_.disarm_ms);
  return runtime_->disarm(probes_);
}

int BatchSteps::run_to_end() {
  runtime_->go();
  const timespec pause = {0, 500'000};
  const auto ignore = [](const runtime::Record&) {};
  while (!runtime_->poll_exit()) {
    runtime_->drain(ignore);
    nanosleep(&pause, nullptr);
  }
  runtime_->settle();
  runtime_->drain(ignore);
  return *runtime_->poll_exit();
}

}  // namespace kevt::tests
