// kevtrace run: start CMD or seize processes → define → record → remove.
//
// CMD is started first and held before its first instruction: its libraries are then where they
// will be, so definitions are checked against the real thing. A mistake ends it right there,
// without having run. Running processes (--pid) are checked against one by one; a mistake leaves them
// as they were. All of it happens in a second process (front.h). Trace lines go to standard output (or -o), everything
// else to standard error.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <bit>
#include <set>

#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/front.h"
#include "cli/injections.h"
#include "cli/interrupts.h"
#include "cli/kernel_run.h"
#include "cli/launch.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/run_request.h"
#include "cli/run_trace.h"
#include "cli/stored_code.h"
#include "cli/traced_processes.h"
#include "compiler/layout/layout.h"
#include "runtime-user/engine/trace_printer.h"

namespace kevt::cli {

namespace {

constexpr std::uint64_t kStackBufferKb = 65536;  // a sample of the stack is 2.5 KiB
constexpr std::size_t kGuardRows = 64;           // the runtime's own events, in front of unwinders

int status_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return kSignalBase + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

class Run {
 public:
  Run(RunRequest request, const GlobalOptions& global, const MakeWriter& make)
      : request_(std::move(request)), options_(request_.options), report_(global), trace_(options_, report_, make) {}
  int go();

 private:
  std::optional<int> start();  // an exit status when it failed
  std::optional<int> open_output();
  void record();
  void follow();
  void stop_tracing();
  void print_summary() const;
  void print_account(std::size_t event) const;
  int exit_status() const;

  RunRequest request_;
  inproc::SessionOptions session_;
  const RunOptions& options_;
  Reporter report_;
  RunTrace trace_;
  TracedProcesses processes_{report_};
  bool tracing_ = false;
  bool stop_failed_ = false;
};

std::optional<int> Run::start() {
  inproc::SessionOptions session;
  session.ring_bytes =
      std::bit_ceil(options_.buffer_kb.value_or(options_.stack ? kStackBufferKb : kDefaultBufferKb) * 1024);
  session.rows = static_cast<std::uint32_t>(std::bit_ceil(request_.texts.definitions.size() + kGuardRows));
  session.follows_exec = options_.follow;
  session.files = std::make_shared<inproc::ProbedFiles>();
  session_ = session;
  int status = kOurFailure;
  if (options_.pids.empty()) {
    auto held = launch_held(options_.command, session, report_, status);
    if (!held) return status;
    processes_.add(std::move(*held));
  }
  catch_interrupts();  // CMD has inherited what the user set; processes are never left half seized
  for (pid_t pid : std::set<pid_t>(options_.pids.begin(), options_.pids.end())) {
    auto held = attach_running(pid, session, report_, status);
    if (!held) return status;
    processes_.add(std::move(*held));
  }
  for (const auto& process : processes_.all()) {
    if (!request_.mapped_file || has_mapped(process->pid(), *request_.mapped_file)) continue;
    report_.error(
        fmt::format("process {} has not mapped `{}`, the script's target", process->pid(), *request_.mapped_file));
    return kFailed;
  }
  return std::nullopt;
}

std::optional<int> Run::open_output() {
  return trace_.open(processes_.sources(), [this](ReadRound round, std::uint64_t limit, const LineSink& sink) {
    return processes_.read(round, limit, sink);
  });
}

void Run::stop_tracing() {
  tracing_ = false;
  if (!processes_.detach()) stop_failed_ = true;
}

// CMD is waited for; running processes are left when tracing stops.
void Run::record() {
  tracing_ = true;
  trace_.start();
  for (const auto& process : processes_.all()) process->runtime().go();
  const timespec pause = {0, 1'000'000};
  while (processes_.is_any_alive()) {
    trace_.take(ReadRound::Running);
    if (tracing_) processes_.look_at_libraries([this] { trace_.take(ReadRound::Running); });
    if (tracing_ && options_.follow) follow();
    trace_.show_progress([this] { return processes_.counts(); });
    if (tracing_ && (trace_.is_over() || is_interrupted() || is_abandoned())) stop_tracing();
    if (!tracing_ && (!options_.pids.empty() || is_abandoned())) return;
    nanosleep(&pause, nullptr);
  }
  if (tracing_) stop_tracing();
}

void Run::follow() {
  processes_.follow(session_, [this](const RecordSource& source) { trace_.add(source); });
  processes_.let_go_of_ended([this] { trace_.take(ReadRound::Running); },
                             [this](const engine::Engine& engine) { return trace_.awaits(engine); },
                             [this](const engine::Engine& engine) { trace_.remove(engine); });
}

void Run::print_account(std::size_t event) const {
  const runtime::EventCounts sum = processes_.counts(event);
  if (report_.is_quiet() && !sum.lost && !sum.missed && !sum.faults) return;
  const engine::Event& shown = processes_.events()[event];
  print_to(stderr, "{}", Lines{engine::accounting_line(shown, sum)});
  trace_.print_overwritten(event);
  if (processes_.all().size() > 1 && !options_.follow)
    for (const auto& process : processes_.all())
      print_to(stderr, "  pid {} {}", process->pid(),
               Lines{engine::accounting_line(shown, process->engine.counts(process->engine.events()[event]))});
  if (sum.faults) print_to(stderr, "{}: {} numbers could not be read and are recorded as 0\n", shown.name, sum.faults);
}

// With -q only what is not as it should be.
void Run::print_summary() const {
  for (std::size_t i = 0; i < processes_.events().size(); ++i) {
    const runtime::EventCounts c = processes_.counts(i);
    if (!report_.is_quiet() || c.lost || c.missed || c.faults)
      print_to(stderr, "{}", Lines{layout::profile_line(processes_.events()[i].name, c.attempts - c.missed, c.missed)});
  }
  for (std::size_t i = 0; i < processes_.events().size(); ++i) print_account(i);
  if (options_.follow) report_.status(fmt::format("followed {} programs through exec", processes_.followed()));
  if (const std::size_t count = processes_.let_pass(); count > 0)
    report_.error(fmt::format("{} programs ran untraced: no file descriptor was left (ulimit -n)", count));
}

int Run::exit_status() const {
  if (trace_.has_failed() || stop_failed_) return kFailed;
  if (const auto lost = data_lost_status(options_, processes_.counts())) return *lost;
  if (!options_.pids.empty()) return kOk;
  return status_of(processes_.end_of_command());
}

int Run::go() {
  auto failed = start();
  const std::optional<pipeline::CodeStore> made = stored_code(request_.texts.compiled);
  if (made) processes_.set_code(&*made);
  if (options_.stack) processes_.sample_stacks();
  if (options_.keep_going) processes_.keep_going();
  for (const engine::EventInjection& one : request_.injections) report_.status(injection_text(one));
  processes_.inject(request_.injections);
  if (!failed) failed = processes_.define(request_.texts.definitions, request_.texts.filters);
  if (!failed) failed = open_output();
  if (failed || is_abandoned()) {
    processes_.abandon();
    return failed.value_or(kFailed);
  }
  for (const std::string& how : processes_.how_armed()) report_.status(how);
  record();
  processes_.settle();
  trace_.finish([this](std::size_t event) { return processes_.counts(event); });
  print_summary();
  return exit_status();
}

}  // namespace

namespace {

// Scripts and compiled ones may be another's.
bool allows(const RunRequest& request, const Reporter& report) {
  if (const auto& source = request.output_source; source && !stays_here(request.options.output)) {
    report.error(fmt::format("{0}:{1}: `{2}` is not in this folder; say -o {2}, if it shall be written", source->origin,
                             source->line, request.options.output));
    return false;
  }
  if (traces_kernel(request)) return true;  // whose verifier checks the code
  for (std::size_t i = 0; i < request.texts.compiled.size(); ++i)
    if (!request.texts.compiled[i].images.empty())
      report.status(request.texts.compiled_names[i] +
                    " holds machine code that nobody has checked; it runs in the traced program, with its rights");
  return true;
}

}  // namespace

int run(const RunOptions& options, const GlobalOptions& global, const MakeWriter& make) {
  const Reporter report(global);
  int status = kOk;
  auto request = read_run_request(options, report, status);
  if (!request) return status;
  if (!allows(*request, report)) return kUsage;
  const MakeWriter file = make ? make : writer_of(request->options, report);
  if (traces_kernel(*request)) return run_in_kernel(*std::move(request), global, file);
  const Behind where = request->options.pids.empty() ? Behind::SameSession : Behind::OwnSession;
  return run_behind(where, [&] { return Run(*std::move(request), global, file).go(); });
}

}  // namespace kevt::cli
