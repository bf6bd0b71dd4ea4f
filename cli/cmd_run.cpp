// kevtrace run: define → start CMD → record → remove.
//
// CMD is started first and held before its first instruction: its libraries are then where they
// will be, so definitions are checked against the real thing. A mistake ends it right there,
// without having run. Trace lines go to standard output (or -o), everything else to standard error.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>

#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/launch.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/run_output.h"
#include "compiler/layout/layout.h"
#include "runtime-user/engine/engine.h"
#include "runtime-user/engine/trace_printer.h"

namespace kevt::cli {

namespace {

constexpr std::size_t kGuardRows = 64;  // the runtime's own events, in front of unwinders

using Clock = std::chrono::steady_clock;

std::atomic<int> interrupts = 0;  // Ctrl-C: the first stops, the second aborts

void on_interrupt(int) {
  if (++interrupts > 1) _exit(kSignalBase + SIGINT);
}

void catch_signals() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

int status_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return kSignalBase + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

class Run {
 public:
  Run(const RunOptions& options, const GlobalOptions& global) : options_(options), report_(global) {}
  int go();

 private:
  std::optional<int> start();  // an exit status when it failed
  std::optional<int> define();
  std::optional<int> open_output();
  void announce() const;
  void record();
  void finish();
  void take_records();
  void stop_tracing();
  bool limit_reached() const;
  void print_summary() const;
  int exit_status() const;

  const RunOptions& options_;
  Reporter report_;
  std::optional<RunOutput> output_;
  std::vector<Source> definitions_;
  Filters filters_;
  std::optional<HeldProgram> held_;
  inproc::InprocRuntime* runtime_ = nullptr;  // held_'s
  std::optional<engine::Engine> engine_;
  std::optional<engine::TracePrinter> printer_;
  std::optional<int> wait_status_;
  std::uint64_t printed_ = 0;
  Clock::time_point started_;
  bool tracing_ = false;
  bool output_closed_ = false;
  bool output_failed_ = false;  // closed, and not by a reader that has seen enough
  bool stop_failed_ = false;
};

std::optional<int> Run::start() {
  inproc::SessionOptions session;
  session.ring_bytes = std::bit_ceil(options_.buffer_kb * 1024);
  session.rows = static_cast<std::uint32_t>(std::bit_ceil(definitions_.size() + kGuardRows));
  int status = kOurFailure;
  held_ = launch_held(options_.command, session, report_, status);
  if (!held_) return status;
  runtime_ = held_->runtime.get();
  engine_.emplace(*runtime_, *held_->env);
  printer_.emplace(*engine_, *held_->env);
  return std::nullopt;
}

// Only now: a mistake in a definition must not empty the file of an earlier trace.
std::optional<int> Run::open_output() {
  auto output = RunOutput::open(options_.output);
  if (!output) {
    report_.error(output.error());
    return kFailed;
  }
  output_ = std::move(*output);
  return std::nullopt;
}

std::optional<int> Run::define() {
  std::vector<engine::Problem> problems;
  auto defined = engine_->define(texts_of(definitions_), filters_.filters, problems);
  if (!defined) {
    report_.error(defined.error());
    return kFailed;
  }
  if (!*defined) {
    report_.problems(problems, definitions_, filters_.sources);
    return kNotCompiled;
  }
  if (auto armed = engine_->enable_all(); !armed) {
    report_.error(armed.error());
    return kFailed;
  }
  return std::nullopt;
}

void Run::announce() const {
  std::string how;
  for (const engine::Event& event : engine_->events())
    for (runtime::ProbeHandle probe : event.probes) {
      const runtime::ArmStatus status = runtime_->arm_status(probe);
      how += fmt::format("{}{}: {}", how.empty() ? "" : ", ", event.name,
                         status.state == runtime::ArmState::Jump ? "jump" : "int3 (" + status.reason + ")");
    }
  report_.status(fmt::format("runtime=inproc pid={} {}", runtime_->pid(), how));
}

void Run::take_records() {
  runtime_->drain([&](const runtime::Record& record) {
    if (options_.events && printed_ >= *options_.events) return;
    ++printed_;
    printer_->print(record, output_->buffer());
  });
  if (output_closed_) {
    output_->buffer().clear();
    return;
  }
  if (auto written = output_->flush(); !written) {
    output_closed_ = true;
    output_failed_ = written.error().errno_value() != EPIPE;
    if (output_failed_)
      report_.error(written.error());
    else
      report_.status("nobody reads the trace any more; tracing stops, CMD goes on");
  }
}

bool Run::limit_reached() const {
  if (interrupts || output_closed_) return true;
  if (options_.events && printed_ >= *options_.events) return true;
  return options_.seconds && std::chrono::duration<double>(Clock::now() - started_).count() >= *options_.seconds;
}

void Run::stop_tracing() {
  tracing_ = false;
  if (auto detached = runtime_->detach(); !detached && !runtime_->poll_exit()) {
    stop_failed_ = true;
    report_.error(std::move(detached.error()).while_doing("removing the probes"));
  }
}

void Run::record() {
  tracing_ = true;
  started_ = Clock::now();
  runtime_->go();
  timespec pause = {0, 1'000'000};
  while (!(wait_status_ = runtime_->poll_exit())) {
    take_records();
    if (tracing_ && limit_reached()) stop_tracing();
    nanosleep(&pause, nullptr);
  }
}

void Run::finish() {
  runtime_->settle();
  take_records();
}

void Run::print_summary() const {
  // With -q only what is not as it should be.
  const auto wanted = [this](const runtime::EventCounts& c) {
    return !report_.is_quiet() || c.lost || c.missed || c.faults;
  };
  for (const engine::Event& event : engine_->events()) {
    const runtime::EventCounts c = engine_->counts(event);
    if (wanted(c)) print_to(stderr, "{}", layout::profile_line(event.name, c.attempts - c.missed, c.missed));
  }
  for (const engine::Event& event : engine_->events()) {
    const runtime::EventCounts c = engine_->counts(event);
    if (wanted(c)) print_to(stderr, "{}", engine::accounting_line(event, c));
    if (c.faults) print_to(stderr, "{}: {} numbers could not be read and are recorded as 0\n", event.name, c.faults);
  }
}

int Run::exit_status() const {
  if (output_failed_ || stop_failed_) return kFailed;
  for (const engine::Event& event : engine_->events()) {
    const runtime::EventCounts c = engine_->counts(event);
    for (const std::string& what : options_.fail_on)
      if ((what == "lost" && c.lost) || (what == "missed" && c.missed)) return kDataLost;
  }
  return status_of(*wait_status_);
}

int Run::go() {
  auto definitions = collect_definitions(options_.definitions, options_.definition_files);
  if (!definitions) {
    report_.error(definitions.error());
    return kUsage;
  }
  definitions_ = std::move(*definitions);
  if (definitions_.empty()) {
    report_.error("no event is defined; give -e DEF or -p FILE");
    return kUsage;
  }
  auto filters = collect_filters(options_.filters);
  if (!filters) {
    report_.error(filters.error());
    return kUsage;
  }
  filters_ = std::move(*filters);
  if (options_.runtime == "bpf" || options_.runtime == "kmod") {
    report_.error("the " + options_.runtime + " runtime is not there yet; --runtime=inproc traces a program");
    return kMissing;
  }
  if (auto failed = start()) return *failed;
  auto failed = define();
  if (!failed) failed = open_output();
  if (failed) {
    end_held(*held_);
    return *failed;
  }
  announce();
  catch_signals();
  record();
  finish();
  print_summary();
  return exit_status();
}

}  // namespace

int run(const RunOptions& options, const GlobalOptions& global) { return Run(options, global).go(); }

}  // namespace kevt::cli
