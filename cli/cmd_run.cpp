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

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <set>

#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/front.h"
#include "cli/kernel_run.h"
#include "cli/launch.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/run_output.h"
#include "cli/run_progress.h"
#include "cli/run_recorder.h"
#include "cli/run_request.h"
#include "cli/traced_processes.h"
#include "compiler/layout/layout.h"
#include "runtime-user/engine/trace_printer.h"

namespace kevt::cli {

namespace {

constexpr std::uint64_t kDefaultBufferKb = 4096;
constexpr std::chrono::milliseconds kFlushEvery{100};
constexpr std::size_t kGuardRows = 64;  // the runtime's own events, in front of unwinders

using Clock = std::chrono::steady_clock;

std::atomic<int> interrupts = 0;  // Ctrl-C: the first stops, the second ends the process in front

void on_interrupt(int) { ++interrupts; }

void catch_signals() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

// The code of all compiled scripts; nullopt: there is none.
std::optional<pipeline::CodeStore> code_of(const std::vector<script::CompiledScript>& scripts) {
  if (scripts.empty()) return std::nullopt;
  std::vector<model::NativeImage> images;
  for (const script::CompiledScript& script : scripts)
    images.insert(images.end(), script.images.begin(), script.images.end());
  pipeline::CodeStore store(std::move(images));
  std::uint32_t first = 0;
  for (const script::CompiledScript& script : scripts) {
    for (const script::StoredEvent& event : script.events)
      store.add(event.program, {.image = first + event.image,
                                .event = {.extractor = {event.entry, event.code_size}, .block = event.block},
                                .register_reads = event.register_reads});
    first += static_cast<std::uint32_t>(script.images.size());
  }
  return store;
}

int status_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return kSignalBase + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

class Run {
 public:
  Run(RunRequest request, const GlobalOptions& global, const MakeWriter& make)
      : request_(std::move(request)), options_(request_.options), report_(global), make_(make), progress_(report_) {}
  int go();

 private:
  std::optional<int> start();  // an exit status when it failed
  std::optional<int> open_output();
  void record();
  void finish();
  void take_records(ReadRound round);
  Result<void> record_records(ReadRound round, std::uint64_t limit);
  void note_written(const Result<void>& written);
  void show_progress();
  void stop_tracing();
  bool limit_reached() const;
  void print_summary() const;
  void print_account(std::size_t event) const;
  int exit_status() const;

  RunRequest request_;
  const RunOptions& options_;
  Reporter report_;
  MakeWriter make_;  // empty: trace lines
  RunProgress progress_;
  std::optional<RunOutput> output_;        // of trace lines
  std::unique_ptr<RunRecorder> recorder_;  // of anything else
  TracedProcesses processes_{report_};
  std::uint64_t printed_ = 0;
  std::uint64_t written_ = 0;  // bytes
  Clock::time_point flushed_;
  Clock::time_point started_;
  bool tracing_ = false;
  bool output_closed_ = false;
  bool output_failed_ = false;  // closed, and not by a reader that has seen enough
  bool stop_failed_ = false;
};

std::optional<int> Run::start() {
  inproc::SessionOptions session;
  session.ring_bytes = std::bit_ceil(options_.buffer_kb.value_or(kDefaultBufferKb) * 1024);
  session.rows = static_cast<std::uint32_t>(std::bit_ceil(request_.texts.definitions.size() + kGuardRows));
  int status = kOurFailure;
  if (options_.pids.empty()) {
    auto held = launch_held(options_.command, session, report_, status);
    if (!held) return status;
    processes_.add(std::move(*held));
  }
  catch_signals();  // CMD has inherited what the user set; processes are never left half seized
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

// Only now: a mistake in a definition must not empty the file of an earlier trace.
std::optional<int> Run::open_output() {
  if (make_) {
    auto recorder = RunRecorder::create(processes_.sources(), make_);
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

void Run::take_records(ReadRound round) {
  const std::uint64_t limit = options_.events ? *options_.events - std::min(printed_, *options_.events) : ~0ull;
  if (recorder_) return note_written(record_records(round, limit));
  printed_ += processes_.read(round, limit, output_->buffer());
  if (output_closed_) {
    output_->buffer().clear();
    return;
  }
  written_ += output_->buffer().size();
  note_written(output_->flush());
}

// A recording is brought up to date a few times a second: killed at any moment it is whole up to then.
Result<void> Run::record_records(ReadRound round, std::uint64_t limit) {
  if (output_closed_) return {};
  const auto read = recorder_->read(round, limit);
  if (!read) return std::unexpected(read.error());
  printed_ += *read;
  const bool is_due = Clock::now() - flushed_ >= kFlushEvery;
  written_ = recorder_->bytes();
  if (!is_due || round == ReadRound::Last) return {};
  flushed_ = Clock::now();
  return recorder_->flush();
}

void Run::note_written(const Result<void>& written) {
  if (written || output_closed_) return;
  output_closed_ = true;
  output_failed_ = written.error().errno_value() != EPIPE;
  if (output_failed_)
    report_.error(written.error());
  else
    report_.status("nobody reads the trace any more; tracing stops, what was traced goes on");
}

// Lost and missed as counted so far; counters are read seldom.
void Run::show_progress() {
  if (!progress_.is_due()) return;
  runtime::EventCounts sum;
  for (std::size_t i = 0; i < processes_.events().size(); ++i) sum += processes_.counts(i);
  progress_.show({.events = printed_, .lost = sum.lost, .missed = sum.missed, .bytes = written_});
}

bool Run::limit_reached() const {
  if (interrupts || output_closed_ || is_abandoned()) return true;
  if (options_.events && printed_ >= *options_.events) return true;
  if (options_.max_bytes && written_ >= *options_.max_bytes) return true;
  return options_.seconds && std::chrono::duration<double>(Clock::now() - started_).count() >= *options_.seconds;
}

void Run::stop_tracing() {
  tracing_ = false;
  if (!processes_.detach()) stop_failed_ = true;
}

// CMD is waited for; running processes are left when tracing stops.
void Run::record() {
  tracing_ = true;
  started_ = Clock::now();
  for (const auto& process : processes_.all()) process->runtime().go();
  const timespec pause = {0, 1'000'000};
  while (processes_.is_any_alive()) {
    take_records(ReadRound::Running);
    if (tracing_) processes_.look_at_libraries();
    show_progress();
    if (tracing_ && limit_reached()) stop_tracing();
    if (!tracing_ && (!options_.pids.empty() || is_abandoned())) return;
    nanosleep(&pause, nullptr);
  }
  if (tracing_) stop_tracing();
}

void Run::finish() {
  processes_.settle();
  take_records(ReadRound::Last);
  progress_.end();
  if (!recorder_ || output_closed_) return;
  note_written(recorder_->finish());
  if (output_closed_ || options_.output.empty() || options_.output == "-") return;
  report_.status(fmt::format("wrote {}: {} events, {} bytes", options_.output, printed_, recorder_->bytes()));
}

void Run::print_account(std::size_t event) const {
  const runtime::EventCounts sum = processes_.counts(event);
  if (report_.is_quiet() && !sum.lost && !sum.missed && !sum.faults) return;
  const engine::Event& shown = processes_.events()[event];
  print_to(stderr, "{}", engine::accounting_line(shown, sum));
  if (processes_.all().size() > 1)
    for (const auto& process : processes_.all())
      print_to(stderr, "  pid {} {}", process->pid(),
               engine::accounting_line(shown, process->engine.counts(process->engine.events()[event])));
  if (sum.faults) print_to(stderr, "{}: {} numbers could not be read and are recorded as 0\n", shown.name, sum.faults);
}

// With -q only what is not as it should be.
void Run::print_summary() const {
  for (std::size_t i = 0; i < processes_.events().size(); ++i) {
    const runtime::EventCounts c = processes_.counts(i);
    if (!report_.is_quiet() || c.lost || c.missed || c.faults)
      print_to(stderr, "{}", layout::profile_line(processes_.events()[i].name, c.attempts - c.missed, c.missed));
  }
  for (std::size_t i = 0; i < processes_.events().size(); ++i) print_account(i);
}

int Run::exit_status() const {
  if (output_failed_ || stop_failed_) return kFailed;
  for (std::size_t i = 0; i < processes_.events().size(); ++i) {
    const runtime::EventCounts c = processes_.counts(i);
    for (const std::string& what : options_.fail_on)
      if ((what == "lost" && c.lost) || (what == "missed" && c.missed)) return kDataLost;
  }
  if (!options_.pids.empty()) return kOk;
  return status_of(processes_.all().front()->runtime().poll_exit().value_or(0));
}

int Run::go() {
  auto failed = start();
  const std::optional<pipeline::CodeStore> made = code_of(request_.texts.compiled);
  if (made) processes_.set_code(&*made);
  if (!failed) failed = processes_.define(request_.texts.definitions, request_.texts.filters);
  if (!failed) failed = open_output();
  if (failed || is_abandoned()) {
    processes_.abandon();
    return failed.value_or(kFailed);
  }
  for (const std::string& how : processes_.how_armed()) report_.status(how);
  record();
  finish();
  print_summary();
  return exit_status();
}

// Empty for trace lines, which need no recorder.
MakeWriter writer_of(const RunOptions& options) {
  auto format = record::format_by_name(options.format);
  if (options.format.empty()) format = record::format_by_file(options.output);
  if (!format || *format == record::FileFormat::Text) return {};
  return [format, output = options.output](const record::Metadata& metadata) {
    return record::create_recording(*format, output, metadata);
  };
}

}  // namespace

int run(const RunOptions& options, const GlobalOptions& global, const MakeWriter& make) {
  const Reporter report(global);
  int status = kOk;
  auto request = read_run_request(options, report, status);
  if (!request) return status;
  const MakeWriter file = make ? make : writer_of(request->options);
  if (traces_kernel(*request)) return run_in_kernel(*std::move(request), global, file);
  const Behind where = request->options.pids.empty() ? Behind::SameSession : Behind::OwnSession;
  return run_behind(where, [&] { return Run(*std::move(request), global, file).go(); });
}

}  // namespace kevt::cli
