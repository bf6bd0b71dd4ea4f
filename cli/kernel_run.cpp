// The whole machine is traced while CMD runs, or until Ctrl-C. CMD waits at its exec until the probes are armed, so its
// first system call is seen.
//
// Programs in the kernel wake nobody: rings are read every few milliseconds.
#include "cli/kernel_run.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "cli/exit_status.h"
#include "cli/interrupts.h"
#include "cli/kernel_formats.h"
#include "cli/kernel_runtime.h"
#include "cli/print.h"
#include "cli/run_trace.h"
#include "cli/started_command.h"
#include "cli/stored_code.h"
#include "compiler/layout/layout.h"
#include "compiler/target/kernel_env.h"
#include "runtime-user/engine/engine.h"
#include "runtime-user/engine/trace_printer.h"
#include "runtime-user/runtime/kmod/device.h"

namespace kevt::cli {

namespace {

constexpr timespec kPause = {0, 5'000'000};

class KernelRun {
 public:
  KernelRun(RunRequest request, const GlobalOptions& global, const MakeWriter& make)
      : request_(std::move(request)), options_(request_.options), report_(global), trace_(options_, report_, make) {}
  int go();

 private:
  std::optional<int> prepare();  // an exit status when it failed
  std::optional<int> define();
  std::optional<int> start_command();
  void record();
  std::optional<int> open_output();
  runtime::EventCounts counts() const;
  void print_summary() const;
  int exit_status();

  RunRequest request_;
  const RunOptions& options_;
  Reporter report_;
  const std::optional<pipeline::CodeStore> stored_ = stored_code(request_.texts.compiled);
  std::unique_ptr<target::KernelEnv> env_;
  std::unique_ptr<KernelCatalog> statics_;  // where an event probe is defined
  std::unique_ptr<runtime::ProbeRuntime> runtime_;
  std::function<void()> settle_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<engine::TracePrinter> printer_;
  RunTrace trace_;
  std::optional<StartedCommand> command_;
};

std::optional<int> KernelRun::prepare() {
  auto env = target::KernelEnv::of_running_kernel(target::TypeSource::DebugInformation);
  if (!env) {
    report_.error(env.error());
    return kMissing;
  }
  env_ = std::make_unique<target::KernelEnv>(std::move(*env));
  const std::vector<std::string> definitions = texts_of(request_.texts.definitions);
  if (std::ranges::any_of(definitions, engine::stands_on_event)) {
    statics_ = std::make_unique<KernelCatalog>();
    if (!statics_->is_readable()) {
      report_.error(kNoTracefs);
      return kMissing;
    }
  }
  auto runtime = make_kernel_runtime(
      options_.runtime,
      {.ring_bytes = static_cast<std::uint32_t>(std::bit_ceil(options_.buffer_kb.value_or(kDefaultBufferKb) * 1024)),
       .possible_cpus = env_->possible_cpus(),
       .probed_address = [env = env_.get()](std::uint64_t place) { return env->probed_address(place); },
       .return_trampoline = env_->return_trampoline(),
       .event_id =
           [this](const model::EventPlace& place) { return statics_ ? statics_->id_of(place) : std::nullopt; }});
  if (!runtime) {
    report_.error(runtime.error());
    return kMissing;
  }
  runtime_ = std::move(runtime->runtime);
  if (options_.runtime == "auto") report_.status(chosen_runtime(*runtime_));
  settle_ = std::move(runtime->settle);
  engine_ = std::make_unique<engine::Engine>(*runtime_, *env_);
  if (stored_) engine_->set_code({.brought = &*stored_});
  engine_->set_statics(statics_.get());
  printer_ = std::make_unique<engine::TracePrinter>(*engine_, *env_);
  return std::nullopt;
}

std::optional<int> KernelRun::define() {
  std::vector<engine::Problem> problems;
  auto defined = engine_->define(texts_of(request_.texts.definitions), request_.texts.filters.filters, problems);
  if (!defined) {
    report_.error(defined.error());
    return kFailed;
  }
  if (!*defined) {
    report_.problems(problems, request_.texts.definitions, request_.texts.filters.sources);
    return kNotCompiled;
  }
  return open_output();
}

std::optional<int> KernelRun::open_output() {
  const RecordSource source{.engine = engine_.get(),
                            .env = env_.get(),
                            .drain = [this](const runtime::RecordSink& sink) { return runtime_->drain(sink); },
                            .drain_by_cpu = {},
                            .sees_misses = runtime_->capabilities().sees_misses};
  return trace_.open({source}, [this](ReadRound, std::uint64_t limit, const LineSink& sink) {
    std::uint64_t printed = 0;
    std::string line;
    runtime_->drain([&](const runtime::Record& record) {
      if (printed >= limit) return;
      ++printed;
      line.clear();
      printer_->print(record, line);
      if (!line.empty()) sink(line);
    });
    return printed;
  });
}

runtime::EventCounts KernelRun::counts() const {
  runtime::EventCounts sum;
  for (const engine::Event& event : engine_->events()) sum += engine_->counts(event);
  return sum;
}

std::optional<int> KernelRun::start_command() {
  if (!options_.command.empty()) {
    auto command = StartedCommand::start(options_.command);
    if (!command) {
      report_.error(command.error());
      return kOurFailure;
    }
    command_ = std::move(*command);
  }
  catch_interrupts();
  if (auto armed = engine_->enable_all(); !armed) {
    report_.error(armed.error());
    if (command_) command_->abandon();
    return armed.error().errno_value() == EPERM ? kMissing : kFailed;
  }
  trace_.start();
  if (!command_) return std::nullopt;
  if (auto gone = command_->go(); !gone) {
    report_.error(gone.error());
    command_->abandon();
    return gone.error().errno_value() == ENOENT ? kNotFound : kNotExecutable;
  }
  return std::nullopt;
}

void KernelRun::record() {
  while (!trace_.is_over() && !is_interrupted() && !(command_ && command_->poll_exit())) {
    trace_.take(ReadRound::Running);
    trace_.show_progress([this] { return counts(); });
    nanosleep(&kPause, nullptr);
  }
  if (auto off = engine_->disable_all(); !off) report_.error(off.error());
  settle_();
  trace_.finish([this](std::size_t event) { return engine_->counts(engine_->events()[event]); });
}

void KernelRun::print_summary() const {
  const auto misses = runtime_->capabilities().sees_misses ? engine::Misses::Known : engine::Misses::Unknown;
  for (std::size_t i = 0; i < engine_->events().size(); ++i) {
    const engine::Event& event = engine_->events()[i];
    const runtime::EventCounts c = engine_->counts(event);
    if (report_.is_quiet() && !c.lost && !c.missed && !c.faults) continue;
    print_to(stderr, "{}", Lines{engine::accounting_line(event, c, misses)});
    trace_.print_overwritten(i);
    if (c.faults) print_to(stderr, "{}: {} numbers could not be read and are recorded as 0\n", event.name, c.faults);
  }
}

int KernelRun::exit_status() {
  if (trace_.has_failed()) return kFailed;
  if (const auto lost = data_lost_status(options_, counts())) return *lost;
  while (command_ && !command_->poll_exit()) nanosleep(&kPause, nullptr);
  if (!command_) return kOk;
  const int status = *command_->poll_exit();
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

int KernelRun::go() {
  auto failed = prepare();
  if (!failed) failed = define();
  if (!failed) failed = start_command();
  if (failed) return *failed;
  record();
  print_summary();
  return exit_status();
}

}  // namespace

int run_in_kernel(RunRequest request, const GlobalOptions& global, const MakeWriter& make) {
  if (request.options.runtime == "kmod") {  // said before anything else is looked for
    if (auto device = kmod::Device::open(); !device) {
      Reporter(global).error(device.error());
      return kMissing;
    }
  }
  return KernelRun(std::move(request), global, make).go();
}

}  // namespace kevt::cli
