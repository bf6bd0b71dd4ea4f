// kevtrace run: start CMD or seize processes → define → record → remove.
//
// CMD is started first and held before its first instruction: its libraries are then where they
// will be, so definitions are checked against the real thing. A mistake ends it right there,
// without having run. Running processes (--pid) are checked against one by one; a mistake leaves them
// as they were. All of it happens in a second process (supervisor.h). Trace lines go to standard output (or -o),
// everything else to standard error.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <system_error>
#include <thread>

#include "cli/definitions/injections.h"
#include "cli/definitions/run_definitions.h"
#include "cli/definitions/run_request.h"
#include "cli/exit_status.h"
#include "cli/reporter.h"
#include "cli/run/kernel_run.h"
#include "cli/run/kernel_side.h"
#include "cli/run/run_trace.h"
#include "cli/verbs/commands.h"
#include "common/abi/probe.h"
#include "common/print.h"
#include "common/proc.h"
#include "common/process_choice.h"
#include "compiler/codegen/backend.h"
#include "compiler/layout/layout.h"
#include "compiler/pipeline/place_glob.h"
#include "compiler/target/process/jit_code.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/session/interrupts.h"
#include "runtime-user/session/keeper.h"
#include "runtime-user/session/launch.h"
#include "runtime-user/session/stored_code.h"
#include "runtime-user/session/supervisor.h"
#include "runtime-user/session/traced_processes.h"

namespace kevt::cli {

namespace {

// A stack that a hit cannot walk brings 2.6 KiB along (common/abi/hit_stack.h).
constexpr std::uint64_t kStackBufferKb = 65536;
constexpr std::size_t kMostArmedNames = 24;  // probes that are named one by one where there are globs
constexpr std::size_t kGuardRows = 64;       // the runtime's own events, in front of unwinders

int status_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return kSignalBase + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

bool is_of_jit(const model::Definition& definition) {
  const auto* place = std::get_if<model::SymbolPlace>(&definition.place);
  return place != nullptr && place->module == target::kJitModule;
}

// What an event waits for that has no place yet.
std::string_view awaited(const model::Definition& definition) { return is_of_jit(definition) ? "function" : "library"; }

std::string armed_text(const runtime::ArmStatus& status) {
  switch (status.state) {
    case runtime::ArmState::Off:
      return "off";
    case runtime::ArmState::Jump:
      return "jump";
    case runtime::ArmState::Breakpoint:
      return "int3 (" + status.reason + ")";
    case runtime::ArmState::Gone:
      return "[GONE] (" + status.reason + ")";
    case runtime::ArmState::Deferred:
      return "waits (" + status.reason + ")";
  }
  return "";
}

// "pid=4711", and its number and container where it runs in namespaces of its own: "pid=4711 (7 in container
// 3f2a5b6c7d8e)".
std::string words_for(pid_t pid) {
  const std::string container = proc::container_of(pid), numbers = proc::status(pid, "NSpid");
  const std::size_t last = numbers.find_last_of(" \t");
  std::string inside = last == std::string::npos ? "" : numbers.substr(last + 1);
  if (!container.empty()) inside += (inside.empty() ? "in container " : " in container ") + container;
  return inside.empty() ? fmt::format("pid={}", pid)
                        : fmt::format("pid={} ({}{})", pid, inside, container.empty() ? " in its namespace" : "");
}

bool has_symbols(const engine::TracedEvent& event) {
  return std::ranges::any_of(event.layout.fields, [](const model::RecordField& field) {
    return field.type.kind == model::TypeKind::Symbol || field.type.kind == model::TypeKind::SymbolString;
  });
}

bool has_symbols(const sema::TriggerTable& triggers) {
  return std::ranges::any_of(triggers.events(), [](const auto& event) {
    return std::ranges::any_of(event.second,
                               [](const model::Trigger& trigger) { return engine::shows_symbols(trigger.histogram); });
  });
}

class Run {
 public:
  Run(RunRequest request, const GlobalOptions& global, const session::MakeWriter& make)
      : request_(std::move(request)), options_(request_.options), report_(global), trace_(options_, report_, make) {
    if (has_globs(request_)) trace_.count_what_was_never_hit();
  }
  int go();

 private:
  inproc::SessionOptions session() const;
  void begin_to_load_compiler();
  std::optional<int> start();  // an exit status when it failed
  std::optional<int> define();
  std::optional<int> arm();
  bool has_several() const { return processes_.all().size() > 1; }
  void record();
  void finish_for_the_dead();
  void stop_tracing();
  void report_ended();
  void report_armed() const;
  std::string armed_counts(const session::TracedProcess& process) const;
  void report_gone() const;
  void report_waiting() const;
  void print_summary() const;
  int exit_status() const;

  RunRequest request_;
  const RunOptions& options_;
  Reporter report_;
  const std::optional<pipeline::CodeStore> stored_ = session::stored_code(request_.texts.compiled);
  KernelSide kernel_;
  session::TracedProcesses processes_{session(), 0, report_};
  RunDefinitions definitions_{request_, report_};
  std::unique_ptr<engine::Tracing> tracing_;
  RunTrace trace_;
  std::jthread loading_;
  session::Keeper keeper_{{.begin = [this] { tracing_->let_go_in_copy(); },
                           .take_over =
                               [this] {
                                 trace_.take_over();  // before anything is read
                                 kernel_.stop(*tracing_, report_);
                               },
                           .read = [this] { trace_.go_on(); },
                           .finish = [this] { finish_for_the_dead(); }}};
  bool is_tracing_ = false;
  bool stop_failed_ = false;
};

// Each trigger that is set or removed while events are armed takes more rows.
inproc::SessionOptions Run::session() const {
  const std::size_t definitions = request_.texts.definitions.size() + globs_of(request_) * pipeline::kMostGlobbed;
  const std::size_t events =
      std::min<std::size_t>(definitions * (request_.triggers.empty() ? 1 : 2), KEVT_MAX_ROWS - kGuardRows);
  const std::uint64_t kb = options_.buffer_kb.value_or(options_.stack ? kStackBufferKb : kDefaultBufferKb);
  return {.ring_bytes = std::bit_ceil(kb * 1024),
          .rows = static_cast<std::uint32_t>(std::bit_ceil(events + kGuardRows)),
          .follows_exec = options_.follow,
          .files = std::make_shared<inproc::ProbedFiles>()};
}

// Takes as long as starting CMD, and is done meanwhile.
void Run::begin_to_load_compiler() {
  try {
    if (!stored_) loading_ = std::jthread([] { static_cast<void>(codegen::load_backend()); });
  } catch (const std::system_error&) {  // no more threads are allowed here: it is loaded when it is needed
  }
}

std::optional<int> Run::start() {
  begin_to_load_compiler();
  if (!options_.with_kernel.empty()) {
    const std::uint64_t ring_bytes = std::bit_ceil(options_.buffer_kb.value_or(kDefaultBufferKb) * 1024);
    if (auto failed = kernel_.open(options_.with_kernel, ring_bytes, needed_statics(request_), processes_, report_))
      return failed;
  }
  if (options_.pids.empty())
    if (auto failed = processes_.start(options_.command)) return failed;
  session::catch_interrupts();  // CMD has inherited what the user set; processes are never left half seized
  for (pid_t pid : std::set<pid_t>(options_.pids.begin(), options_.pids.end()))
    if (auto failed = processes_.attach(pid)) return failed;
  if (!options_.choice.empty()) processes_.watch_for(options_.choice);
  for (const auto& process : processes_.all()) {
    if (!request_.mapped_file || has_mapped(process->pid(), *request_.mapped_file)) continue;
    report_.error(
        fmt::format("process {} has not mapped `{}`, the script's target", process->pid(), *request_.mapped_file));
    return kFailed;
  }
  processes_.listen({.added = [this](session::TracedProcess& process) { trace_.add(process); },
                     .removed = [this](session::TracedProcess& process) { trace_.remove(process); },
                     .files_change = [this](session::TracedProcess&) { trace_.files_change(); }});
  return std::nullopt;
}

std::optional<int> Run::define() {
  tracing_ =
      std::make_unique<engine::Tracing>(kernel_.beside(processes_.targets()),
                                        engine::TracingOptions{.cpus = inproc::possible_cpus(),
                                                               .buffer_kb = 0,
                                                               .check = {},
                                                               .static_events = {},
                                                               .follows = options_.follow || !options_.choice.empty(),
                                                               .keep_going = options_.keep_going,
                                                               .leaves_out = has_globs(request_),
                                                               .injections = request_.injections,
                                                               .kernel_drops = options_.kernel_drops,
                                                               .precompiled = stored_ ? &*stored_ : nullptr,
                                                               .is_tapped = true});
  if (options_.stack)
    if (auto set = tracing_->switcher().set_option(tracing_->top(), engine::TraceOption::UserStacktrace, true); !set) {
      report_.error(set.error());
      return kFailed;
    }
  return definitions_.define(*tracing_);
}

// Switches on all defined events except those that a script says are off; triggers may switch these on later.
std::optional<int> Run::arm() {
  if (loading_.joinable()) loading_.join();  // no copy of this process is made while the linker is at work
  const auto fail = [&](const Error& error) {
    report_.error(error);
    return kFailed;
  };
  const auto events = definitions_.to_switch_on(*tracing_);
  const auto shows = [](const auto& one) { return has_symbols(*one.second); };
  const auto counts = [](const auto& instance) { return has_symbols(instance->triggers); };
  if (options_.stack || std::ranges::any_of(tracing_->instances(), counts) ||
      std::ranges::any_of(tracing_->events().events(), shows))
    if (auto kept = processes_.keep_names(); !kept) return fail(kept.error());
  auto left_out = tracing_->switcher().switch_on(events);
  if (!left_out) return fail(left_out.error().error);
  return definitions_.report_left_out(*left_out);
}

void Run::stop_tracing() {
  is_tracing_ = false;
  kernel_.stop(*tracing_, report_);
  if (!processes_.leave()) stop_failed_ = true;
  report_gone();
  report_waiting();
}

// Waits for CMD's end; attached processes are left when tracing stops.
void Run::record() {
  is_tracing_ = true;
  trace_.start();
  trace_.look_at(keeper_);
  processes_.go();
  const timespec pause = {0, 1'000'000};
  while (processes_.is_any_alive()) {
    trace_.round(keeper_);
    if (is_tracing_) processes_.step(*tracing_);
    report_ended();
    trace_.show_progress();
    if (is_tracing_ && (trace_.is_over() || session::is_interrupted() || session::is_abandoned())) stop_tracing();
    if (!is_tracing_ && (!options_.pids.empty() || session::is_abandoned())) return;
    nanosleep(&pause, nullptr);
  }
  report_ended();
  if (is_tracing_) stop_tracing();
}

// In the keeper, when the probes are out of the processes.
void Run::finish_for_the_dead() {
  processes_.settle();
  trace_.finish();
  print_summary();
}

// Reports attached processes that have ended. CMD's end is not reported, since it becomes kevtrace's exit status.
void Run::report_ended() {
  processes_.report_replaced();
  for (const auto& process : processes_.all())
    if (process->held.origin == session::Origin::Running && process->has_just_ended())
      report_.status(process->name() + " has ended");
}

// One text per process: how its probes are armed, in the order of definitions; of those that globs have made how many
// are armed how.
void Run::report_armed() const {
  for (const auto& process : processes_.all()) {
    std::string how, waits;
    const auto probes = tracing_->events().probes_of(grammar::EventsFile::Dynamic);
    if (has_globs(request_) && probes.size() > kMostArmedNames) {
      report_.status(fmt::format("runtime=inproc {} {}", words_for(process->pid()), armed_counts(*process)));
      continue;
    }
    for (const engine::EventProbe* probe : probes) {
      const engine::TracedEvent& event = *tracing_->events().find(probe->definition().group, probe->definition().event);
      if (const auto status = tracing_->code().arm_status(event.id, probe->serial, *process))
        how += fmt::format("{}{}: {}", how.empty() ? "" : ", ", event.name, armed_text(*status));
      else if (tracing_->code().is_deferred(event.id, probe->serial, *process))
        waits += fmt::format(", `{}` waits for its {}", probe->definition().command, awaited(probe->definition()));
    }
    if (how.empty() && !waits.empty()) waits.erase(0, 2);
    if (how.empty() && waits.empty()) how = "no probes";  // synthetic events alone
    report_.status(fmt::format("runtime=inproc {} {}{}", words_for(process->pid()), how, waits));
  }
  kernel_.report_armed(*tracing_, report_);
}

// "1204 by a jump, 12 by int3, 3 wait for their library"
std::string Run::armed_counts(const session::TracedProcess& process) const {
  std::map<runtime::ArmState, std::size_t> counts;
  std::size_t waiting = 0;
  for (const engine::EventProbe* probe : tracing_->events().probes_of(grammar::EventsFile::Dynamic)) {
    const engine::TracedEvent& event = *tracing_->events().find(probe->definition().group, probe->definition().event);
    if (const auto status = tracing_->code().arm_status(event.id, probe->serial, process)) ++counts[status->state];
    waiting += tracing_->code().is_deferred(event.id, probe->serial, process);
  }
  std::string text = fmt::format("{} probes by a jump, {} by int3", counts[runtime::ArmState::Jump],
                                 counts[runtime::ArmState::Breakpoint]);
  waiting += counts[runtime::ArmState::Deferred];
  if (waiting) text += fmt::format(", {} wait for their library", waiting);
  return text;
}

// Reports probes whose library was unloaded; the kernel's list of kprobes marks them, too.
void Run::report_gone() const {
  for (const auto& [id, event] : tracing_->events().events())
    for (const engine::EventProbe& probe : event->probes)
      for (const auto& process : processes_.all())
        if (const auto status = tracing_->code().arm_status(id, probe.serial, *process);
            status && status->state == runtime::ArmState::Gone)
          report_.status(fmt::format("{} [GONE] in {}: {}", event->name, process->name(), status->reason));
}

// Reports, where programs were followed, the probes that none of them had.
void Run::report_waiting() const {
  for (const auto& [id, event] : tracing_->events().events()) {
    if (processes_.followed())
      for (const engine::EventProbe* probe : tracing_->code().waiting(*event))
        report_.status(fmt::format("`{}` was never armed: none of {} programs has it", probe->definition().command,
                                   processes_.all().size() + processes_.taken_away()));
    else
      for (const auto& process : processes_.all())
        for (const engine::EventProbe& probe : event->probes)
          if (tracing_->code().is_deferred(id, probe.serial, *process) &&
              !tracing_->code().was_placed(id, probe.serial, *process))
            report_.status(fmt::format("`{}` was never armed: {} has not {} its {}", probe.definition().command,
                                       process->name(), is_of_jit(probe.definition()) ? "compiled" : "loaded",
                                       awaited(probe.definition())));
  }
}

// With -q only events with lost or missed hits, or faults.
void Run::print_summary() const {
  for (const engine::TracedEvent* event : trace_.events()) {
    const runtime::EventCounts c = trace_.counts_of(*event);
    if (trace_.is_left_unsaid(c)) continue;
    if (!report_.is_quiet() || c.lost || c.missed || c.faults)
      print_to(messages(), "{}", Lines{layout::profile_line(event->name, c.attempts - c.missed, c.missed)});
  }
  trace_.print_accounts();
  if (options_.follow) report_.status(fmt::format("followed {} programs through exec", processes_.followed()));
  processes_.report_untraced();
}

int Run::exit_status() const {
  if (trace_.has_failed() || stop_failed_) return kFailed;
  if (const auto lost = data_lost_status(options_, trace_.counts())) return *lost;
  if (!options_.pids.empty()) return kOk;
  return status_of(processes_.end_of_command());
}

int Run::go() {
  auto failed = start();
  for (const engine::EventInjection& one : request_.injections) report_.status(injection_text(one));
  if (!failed) failed = define();
  if (!failed) failed = arm();
  if (!failed) failed = trace_.open(*tracing_, definitions_.instances(*tracing_));
  if (failed || session::is_abandoned()) {
    processes_.abandon();
    return failed.value_or(kFailed);
  }
  trace_.count_instead();
  report_armed();
  record();
  keeper_.end();
  processes_.settle();
  trace_.finish();
  print_summary();
  return exit_status();
}

}  // namespace

namespace {

// Scripts, compiled or not, may be somebody else's.
bool allows(const RunRequest& request, const Reporter& report) {
  const auto may_write = [&](const std::string& output, const std::optional<Source>& source,
                             const std::string& before) {
    if (!source || stays_here(output)) return true;
    report.error(fmt::format("{}:{}: `{}` is not in this folder; say {}-o {}, if it shall be written", source->origin,
                             source->line, output, before, output));
    return false;
  };
  if (!may_write(request.options.output, request.output_source, "")) return false;
  for (const InstanceTexts& one : request.texts.instances)
    if (!may_write(one.output, one.output_source, "-B " + one.name + " ")) return false;
  warn_of_brought_code(request, report);
  return true;
}

}  // namespace

int run(const RunOptions& options, const GlobalOptions& global, const session::MakeWriter& make) {
  const Reporter report(global);
  int status = kOk;
  auto request = read_run_request(options, report, status);
  if (!request) return status;
  if (!allows(*request, report)) return kUsage;
  if (make && request->texts.instances.size() > 1) {
    report.error("a question has one answer, of the top instance: `" + request->texts.instances[1].name +
                 "` is for `kevtrace run` and `mount`");
    return kUsage;
  }
  if (traces_kernel(*request)) return run_in_kernel(*std::move(request), global, make);
  const session::Supervised where =
      request->options.pids.empty() ? session::Supervised::SameGroup : session::Supervised::OwnGroup;
  return session::run_supervised(where, [&] { return Run(*std::move(request), global, make).go(); });
}

}  // namespace kevt::cli
