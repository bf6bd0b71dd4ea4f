// The whole machine is traced while CMD runs, or until Ctrl-C. CMD waits at its exec until the probes are armed, so its
// first system call is seen.
//
// Programs in the kernel wake nobody: rings are read every few milliseconds, by a timer in an epoll set.
#include "cli/kernel_run.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <memory>

#include "cli/exit_status.h"
#include "cli/kernel_offers.h"
#include "cli/print.h"
#include "cli/run_output.h"
#include "cli/started_command.h"
#include "compiler/layout/layout.h"
#include "compiler/target/kernel_env.h"
#include "runtime-user/engine/engine.h"
#include "runtime-user/engine/trace_printer.h"
#include "runtime-user/runtime/bpf/bpf_runtime.h"
#include "runtime-user/runtime/kmod/kmod_runtime.h"

namespace kevt::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kDefaultBufferKb = 4096;
constexpr std::chrono::milliseconds kFlushEvery{100};
constexpr timespec kPause = {0, 5'000'000};

std::atomic<int> interrupts = 0;
void on_interrupt(int) { ++interrupts; }

void catch_signals() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

struct MadeRuntime {
  std::unique_ptr<runtime::ProbeRuntime> runtime;
  std::function<void()> settle;
};

template <class Runtime>
Result<MadeRuntime> make(const bpf::KernelSession& session) {
  auto made = Runtime::create(session);
  if (!made) return std::unexpected(std::move(made.error()));
  Runtime* runtime = made->get();
  return MadeRuntime{std::move(*made), [runtime] { runtime->settle(); }};
}

// `auto`: kmod where its device is there for us, else bpf.
Result<MadeRuntime> make_runtime(const std::string& name, const bpf::KernelSession& session) {
  const bool by_module = name == "kmod" || (name == "auto" && look_for_kmod().missing.empty());
  return by_module ? make<kmod::KmodRuntime>(session) : make<bpf::BpfRuntime>(session);
}

class KernelRun {
 public:
  KernelRun(RunRequest request, const GlobalOptions& global, const MakeWriter& make)
      : request_(std::move(request)), options_(request_.options), report_(global), make_(make) {}
  int go();

 private:
  std::optional<int> prepare();  // an exit status when it failed
  std::optional<int> define();
  std::optional<int> start_command();
  void record();
  void take_records(ReadRound round);
  std::optional<int> open_output();
  Result<void> record_records(ReadRound round);
  bool limit_reached() const;
  void print_summary() const;
  int exit_status();

  RunRequest request_;
  const RunOptions& options_;
  Reporter report_;
  std::unique_ptr<target::KernelEnv> env_;
  std::unique_ptr<runtime::ProbeRuntime> runtime_;
  std::function<void()> settle_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<engine::TracePrinter> printer_;
  MakeWriter make_;
  std::optional<RunOutput> output_;        // of trace lines
  std::unique_ptr<RunRecorder> recorder_;  // of anything else
  std::optional<StartedCommand> command_;
  Clock::time_point started_;
  Clock::time_point flushed_;
  std::uint64_t printed_ = 0;
  std::uint64_t written_ = 0;  // bytes
  bool output_closed_ = false;
  bool output_failed_ = false;
};

std::optional<int> KernelRun::prepare() {
  auto env = target::KernelEnv::of_running_kernel();
  if (!env) {
    report_.error(env.error());
    return kMissing;
  }
  env_ = std::make_unique<target::KernelEnv>(std::move(*env));
  auto runtime = make_runtime(
      options_.runtime,
      {.ring_bytes = static_cast<std::uint32_t>(std::bit_ceil(options_.buffer_kb.value_or(kDefaultBufferKb) * 1024)),
       .possible_cpus = env_->possible_cpus(),
       .probed_address = [env = env_.get()](std::uint64_t place) { return env->probed_address(place); }});
  if (!runtime) {
    report_.error(runtime.error());
    return kMissing;
  }
  runtime_ = std::move(runtime->runtime);
  settle_ = std::move(runtime->settle);
  engine_ = std::make_unique<engine::Engine>(*runtime_, *env_);
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
  if (make_) {
    RecordSource source{.engine = engine_.get(),
                        .env = env_.get(),
                        .drain = [this](const runtime::RecordSink& sink) { return runtime_->drain(sink); },
                        .drain_by_cpu = {},
                        .sees_misses = runtime_->capabilities().sees_misses};
    auto recorder = RunRecorder::create({source}, make_);
    if (recorder) recorder_ = std::move(*recorder);
    if (!recorder) report_.error(recorder.error());
    return recorder ? std::nullopt : std::optional<int>(kFailed);
  }
  auto output = RunOutput::open(options_.output);
  if (!output) {
    report_.error(output.error());
    return kFailed;
  }
  output_ = std::move(*output);
  return std::nullopt;
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
  catch_signals();
  if (auto armed = engine_->enable_all(); !armed) {
    report_.error(armed.error());
    if (command_) command_->abandon();
    return armed.error().errno_value() == EPERM ? kMissing : kFailed;
  }
  started_ = Clock::now();
  if (!command_) return std::nullopt;
  if (auto gone = command_->go(); !gone) {
    report_.error(gone.error());
    command_->abandon();
    return gone.error().errno_value() == ENOENT ? kNotFound : kNotExecutable;
  }
  return std::nullopt;
}

// Brought up to date a few times a second: killed at any moment a recording is whole up to then.
Result<void> KernelRun::record_records(ReadRound round) {
  const auto read = recorder_->read(round, options_.events ? *options_.events - printed_ : ~std::uint64_t{0});
  if (!read) return std::unexpected(read.error());
  printed_ += *read;
  written_ = recorder_->bytes();
  if (round == ReadRound::Last) return recorder_->finish();
  if (Clock::now() - flushed_ < kFlushEvery) return {};
  flushed_ = Clock::now();
  return recorder_->flush();
}

void KernelRun::take_records(ReadRound round) {
  const std::uint64_t limit = options_.events.value_or(~std::uint64_t{0});
  if (!recorder_)
    runtime_->drain([&](const runtime::Record& record) {
      if (printed_ >= limit || output_closed_) return;
      printer_->print(record, output_->buffer());
      ++printed_;
    });
  if (output_closed_) return;
  if (!recorder_) written_ += output_->buffer().size();
  auto written = recorder_ ? record_records(round) : output_->flush();
  if (written) return;
  output_closed_ = true;
  output_failed_ = written.error().errno_value() != EPIPE;
  if (output_failed_) report_.error(written.error());
}

bool KernelRun::limit_reached() const {
  if (interrupts || output_closed_) return true;
  if (options_.events && printed_ >= *options_.events) return true;
  if (options_.max_bytes && written_ >= *options_.max_bytes) return true;
  return options_.seconds && std::chrono::duration<double>(Clock::now() - started_).count() >= *options_.seconds;
}

void KernelRun::record() {
  while (!limit_reached() && !(command_ && command_->poll_exit())) {
    take_records(ReadRound::Running);
    nanosleep(&kPause, nullptr);
  }
  if (auto off = engine_->disable_all(); !off) report_.error(off.error());
  settle_();
  take_records(ReadRound::Last);
}

void KernelRun::print_summary() const {
  const auto misses = runtime_->capabilities().sees_misses ? engine::Misses::Known : engine::Misses::Unknown;
  for (const engine::Event& event : engine_->events()) {
    const runtime::EventCounts c = engine_->counts(event);
    if (report_.is_quiet() && !c.lost && !c.missed && !c.faults) continue;
    print_to(stderr, "{}", engine::accounting_line(event, c, misses));
    if (c.faults) print_to(stderr, "{}: {} numbers could not be read and are recorded as 0\n", event.name, c.faults);
  }
}

int KernelRun::exit_status() {
  if (output_failed_) return kFailed;
  for (const engine::Event& event : engine_->events()) {
    const runtime::EventCounts c = engine_->counts(event);
    for (const std::string& what : options_.fail_on)
      if ((what == "lost" && c.lost) || (what == "missed" && c.missed)) return kDataLost;
  }
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
