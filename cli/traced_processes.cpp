// One session per process: a ring, a counter, an address means nothing in another process. What is shared
// is made here, from the outside:
//
//   define    all of them, or an error that names the process      `malloc` is not in process 12
//   read      each drained, lines merged by time (engine/merged_lines.h)
//   counts    sums
//
// A process that ends or becomes another program drops out; the others go on.
#include "cli/traced_processes.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "cli/exit_status.h"
#include "common/proc.h"

namespace kevt::cli {

namespace {

std::uint64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

void TracedProcesses::add(HeldProgram program) {
  all_.push_back(std::make_unique<TracedProcess>(std::move(program)));
  all_.back()->name = proc::comm(all_.back()->pid());
  merges_ = all_.size() > 1;
}

std::string TracedProcesses::where(const TracedProcess& process) const {
  return fmt::format("process {} ({})", process.pid(), process.name);
}

std::optional<int> TracedProcesses::define(std::span<const Source> definitions, const Filters& filters) {
  const auto failed = [&](const TracedProcess& process, Error error) {
    report_.error(all_.size() > 1 ? std::move(error).while_doing("tracing " + where(process)) : std::move(error));
    return kFailed;
  };
  std::vector<std::string> texts = texts_of(definitions);
  if (samples_stacks_) std::ranges::transform(texts, texts.begin(), engine::with_stack_sample);
  for (const auto& process : all_) {
    std::vector<engine::Problem> problems;
    process->engine.set_code({.brought = brought_, .kept = &kept_});
    process->engine.set_injections(injections_);
    auto defined = process->engine.define(texts, filters.filters, problems, together_);
    if (!defined) return failed(*process, std::move(defined.error()));
    if (*defined && problems.empty()) continue;
    report_.problems(problems, definitions, filters.sources);
    if (all_.size() > 1) report_.error("that is so in " + where(*process));
    if (!*defined) return kNotCompiled;
  }
  for (const auto& process : all_) {
    if (auto ready = keep_names(*process); !ready) return failed(*process, std::move(ready.error()));
    if (auto armed = process->engine.enable_all(); !armed) return failed(*process, std::move(armed.error()));
    const bool waits = !process->engine.waiting().empty();
    if (!waits && !process->runtime().has_returns()) continue;
    auto watched = process->runtime().watch_libraries();
    if (!watched)
      return failed(*process, std::move(watched.error()).while_doing("watching which libraries are loaded"));
    if (!*watched && waits)
      return failed(*process, Error("`" + process->engine.waiting().front() +
                                    "` would wait for ever: the program has no dynamic linker that reports libraries"));
    if (!waits || process->held.origin != Origin::Running) continue;  // else it stands still: nothing came meanwhile
    if (auto armed = arm_arrived(*process); !armed) return failed(*process, std::move(armed.error()));
  }
  return std::nullopt;
}

Result<void> TracedProcesses::arm_arrived(TracedProcess& process) {
  if (auto seen = process.held.env->refresh(); !seen) return seen;
  if (process.names_addresses) process.held.env->keep_files();
  if (process.unwinder) process.unwinder->refresh();
  if (process.runtime().has_returns())  // the library may walk stacks
    if (auto guarded = process.runtime().arm({}); !guarded) return guarded;
  if (process.engine.waiting().empty()) return {};
  std::vector<engine::Problem> problems;
  auto arrived = process.engine.define_arrived(problems);
  for (const engine::Problem& problem : problems)
    report_.error("in " + where(process) + ", whose library has come: " + problem.diagnostic.command + ": " +
                  problem.diagnostic.detail);
  if (!arrived) return std::unexpected(std::move(arrived.error()));
  if (arrived->empty()) return {};
  return process.runtime().arm(*arrived);
}

void TracedProcesses::look_at_libraries(const std::function<void()>& take) {
  for (const auto& process : all_) {
    if (!process->runtime().is_asked_for_libraries()) continue;
    if (process->names_addresses) take();  // what was recorded in a library that is gone now
    if (auto armed = arm_arrived(*process); !armed && !process->runtime().poll_exit())
      report_.error(
          std::move(armed.error()).while_doing("arming probes in a library that " + where(*process) + " has loaded"));
    process->runtime().answer_for_libraries();
  }
}

namespace {

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

}  // namespace

std::vector<std::string> TracedProcesses::how_armed() const {
  std::vector<std::string> texts;
  for (const auto& process : all_) {
    std::string how;
    for (const engine::Event& event : process->engine.events())
      for (runtime::ProbeHandle probe : process->engine.probes(event)) {
        const runtime::ArmStatus status = process->runtime().arm_status(probe);
        how += fmt::format("{}{}: {}", how.empty() ? "" : ", ", event.name, armed_text(status));
      }
    for (const std::string& definition : process->engine.waiting())
      how += fmt::format("{}`{}` waits for its library", how.empty() ? "" : ", ", definition);
    texts.push_back(fmt::format("runtime=inproc pid={} {}", process->pid(), how));
  }
  return texts;
}

std::uint64_t TracedProcesses::read_only_one(std::uint64_t limit, const LineSink& sink) {
  std::uint64_t printed = 0;
  std::string line;
  all_.front()->runtime().drain([&](const runtime::Record& record) {
    if (printed >= limit) return;
    ++printed;
    line.clear();
    all_.front()->printer.print(record, line);
    if (!line.empty()) sink(line);
  });
  return printed;
}

std::uint64_t TracedProcesses::read(ReadRound round, std::uint64_t limit, const LineSink& sink) {
  if (!merges_) return read_only_one(limit, sink);
  const std::uint64_t until = round == ReadRound::Last ? ~0ull : monotonic_ns();
  std::string line;
  for (const auto& process : all_)
    process->runtime().drain([&](const runtime::Record& record) {
      line.clear();
      process->printer.print(record, line);
      if (!line.empty()) lines_.add(record.timestamp_ns, std::string(line));
    });
  return lines_.take(until, limit, [&](std::uint64_t, const std::string& merged) { sink(merged); });
}

namespace {

bool has_symbols(const engine::Event& event) {
  return std::ranges::any_of(event.layout.fields, [](const model::RecordField& field) {
    return field.type.kind == model::TypeKind::Symbol || field.type.kind == model::TypeKind::SymbolString;
  });
}

}  // namespace

// Records are read later than they are made, perhaps when the process has ended: what names its addresses is taken now,
// and again whenever it tells that a library has come or gone.
Result<void> TracedProcesses::keep_names(TracedProcess& process) const {
  process.names_addresses = samples_stacks_ || std::ranges::any_of(process.engine.events(), has_symbols);
  if (!process.names_addresses) return {};
  process.held.env->keep_files();
  if (samples_stacks_) {
    auto unwinder = target::StackUnwinder::of_process(process.pid());
    if (!unwinder) return std::unexpected(std::move(unwinder.error()));
    process.unwinder.emplace(std::move(*unwinder));
  }
  auto watched = process.runtime().watch_libraries();  // false: a static program, which gets no more libraries
  return watched ? Result<void>() : std::unexpected(std::move(watched.error()));
}

std::vector<RecordSource> TracedProcesses::sources() {
  std::vector<RecordSource> out;
  for (const auto& process : all_) {
    out.push_back(source_of(*process));
  }
  return out;
}

RecordSource TracedProcesses::source_of(TracedProcess& process) const {
  inproc::InprocRuntime& runtime = process.runtime();
  return {.engine = &process.engine,
          .env = process.held.env.get(),
          .drain = [&runtime](const runtime::RecordSink& sink) { return runtime.drain(sink); },
          .drain_by_cpu = [&runtime](const runtime::RecordSink& sink) { return runtime.drain_by_cpu(sink); },
          .pid = process.pid(),
          .unwinder = process.unwinder ? &*process.unwinder : nullptr};
}

Result<void> TracedProcesses::arm_followed(TracedProcess& process) {
  process.engine.set_code({.brought = brought_, .kept = &kept_});
  process.engine.define_as(all_.front()->engine);
  if (auto ready = keep_names(process); !ready) return ready;
  std::vector<engine::Problem> problems;
  auto probes = process.engine.define_arrived(problems);
  for (const engine::Problem& problem : problems) {
    std::string text = problem.diagnostic.command + ": " + problem.diagnostic.detail;
    if (told_.insert(text).second) report_.status("not in " + where(process) + ", which was followed: " + text);
  }
  if (!probes) return std::unexpected(std::move(probes.error()));
  if (auto armed = process.runtime().arm(*probes); !armed) return armed;
  if (process.engine.waiting().empty()) return {};
  auto watched = process.runtime().watch_libraries();  // false: a static program, which gets no more libraries
  return watched ? Result<void>() : std::unexpected(std::move(watched.error()));
}

void TracedProcesses::take_over(inproc::Tracee program, const inproc::SessionOptions& session,
                                const std::function<void(const RecordSource&)>& added) {
  const pid_t pid = program.pid();
  // A child of its own, or the process itself: then that one is over.
  Origin origin = Origin::Followed;
  for (const auto& process : all_) {
    if (process->pid() != pid || process->is_reported) continue;
    process->is_reported = true;
    if (process->held.origin == Origin::Started) origin = Origin::Started;
    process->runtime().give_up();
  }
  auto held = adopt_followed(std::move(program), origin, session);
  if (!held) {
    report_.status(
        fmt::format("process {} ({}) is not followed through exec: {}", pid, proc::comm(pid), held.error().message()));
    return;
  }
  auto process = std::make_unique<TracedProcess>(std::move(*held));
  process->name = proc::comm(pid);
  if (auto armed = arm_followed(*process); !armed)
    report_.status(std::move(armed.error()).while_doing("arming probes in " + where(*process)).message());
  ++followed_;
  all_.push_back(std::move(process));
  merges_ = true;
  added(source_of(*all_.back()));
  all_.back()->runtime().go();
}

void TracedProcesses::follow(const inproc::SessionOptions& session,
                             const std::function<void(const RecordSource&)>& added) {
  for (std::size_t i = 0; i < all_.size(); ++i)
    for (inproc::Tracee& program : all_[i]->runtime().followed()) take_over(std::move(program), session, added);
}

std::size_t TracedProcesses::let_pass() const {
  std::size_t sum = let_pass_;
  for (const auto& process : all_) sum += process->runtime().let_pass();
  return sum;
}

void TracedProcesses::fold(const TracedProcess& process) {
  counts_gone_.resize(events().size());
  for (std::size_t i = 0; i < events().size(); ++i)
    counts_gone_[i] += process.engine.counts(process.engine.events()[i]);
  for (const std::string& definition : process.engine.waiting()) ++waited_[definition];
  let_pass_ += process.runtime().let_pass();
  ++gone_;
}

void TracedProcesses::let_go_of_ended(const std::function<void()>& take,
                                      const std::function<bool(const engine::Engine&)>& awaits,
                                      const std::function<void(const engine::Engine&)>& removed) {
  ends_.note(all_);
  if (std::ranges::none_of(all_, [](const auto& process) { return process->is_over; })) return;
  take();
  std::erase_if(all_, [&](const auto& process) {
    if (!process->is_over || awaits(process->engine)) return false;
    fold(*process);
    removed(process->engine);
    return true;
  });
}

bool TracedProcesses::is_any_alive() {
  constexpr unsigned kSeldom = 64;  // looking for an exec is a read of the target's memory
  const bool looks_closer = ++looks_ % kSeldom == 0;
  bool any = false;
  for (const auto& process : all_) {
    const bool ended = process->runtime().poll_exit().has_value();
    const bool running = process->held.origin == Origin::Running;
    const bool replaced = running && !ended && looks_closer && process->runtime().was_replaced();
    if ((ended || replaced) && !process->is_reported) {
      process->is_reported = true;
      if (running)
        report_.status(where(*process) +
                       (ended ? " has ended" : " has become another program (exec): its probes are gone"));
    }
    const bool counts = process->held.origin != Origin::Followed || all_.front()->held.origin == Origin::Running;
    any = any || (counts && !process->is_reported);
  }
  return any;
}

int TracedProcesses::end_of_command() const {
  int status = 0;
  for (const auto& process : all_)
    if (process->held.origin == Origin::Started) status = process->runtime().poll_exit().value_or(0);
  return status;
}

void TracedProcesses::report_leftover(const TracedProcess& process, inproc::Leftover left) const {
  switch (left) {
    case inproc::Leftover::Nothing:
    case inproc::Leftover::Unseen:
      return;
    case inproc::Leftover::Code:
      report_.status(where(process) + " keeps our code mapped: a call under a return probe may still come back to it");
      return;
    case inproc::Leftover::Agent:
      report_.status(where(process) + " keeps our signal handlers and code: a thread stays inside a hit");
      return;
    case inproc::Leftover::Filtered:
      report_.status(
          where(process) +
          " keeps our signal handlers and code: its seccomp filter lets no system call be made there to take "
          "them away (CAP_SYS_ADMIN may)");
      return;
  }
}

// As the kernel's list of kprobes marks them.
void TracedProcesses::report_gone(const TracedProcess& process) const {
  for (const engine::Event& event : process.engine.events())
    for (runtime::ProbeHandle probe : process.engine.probes(event))
      if (const auto status = process.held.runtime->arm_status(probe); status.state == runtime::ArmState::Gone)
        report_.status(fmt::format("{} [GONE] in {}: {}", event.name, where(process), status.reason));
}

// Where programs were followed, what none of them had.
void TracedProcesses::report_waiting() {
  std::map<std::string, std::size_t>& waiting = waited_;
  for (const auto& process : all_)
    for (const std::string& definition : process->engine.waiting()) {
      if (!followed_)
        report_.status("`" + definition + "` was never armed: " + where(*process) + " has not loaded its library");
      ++waiting[definition];
    }
  for (const auto& [definition, programs] : waiting)
    if (followed_ && programs == all_.size() + gone_)
      report_.status(fmt::format("`{}` was never armed: none of {} programs has it", definition, programs));
}

// Children last: one that is forked until its parent is free would be overlooked.
bool TracedProcesses::detach() {
  bool all_good = true;
  const auto note = [&](TracedProcess& process, const Result<inproc::Leftover>& left, const std::string& whose) {
    if (left) return report_leftover(process, *left);
    all_good = false;
    report_.error(Error(left.error()).while_doing("removing the probes of " + whose + where(process)));
  };
  const auto sessions = inproc::SharedSessions::look();
  for (const auto& process : all_) {
    if (process->runtime().poll_exit() && !process->runtime().may_be_hit(sessions)) continue;
    if (!process->runtime().poll_exit()) {
      const auto detached = process->runtime().detach();
      if (detached || !process->runtime().poll_exit()) note(*process, detached, "");
      if (detached) report_gone(*process);
    }
    note(*process, process->runtime().leave_children(), "forked children of ");
  }
  report_waiting();
  return all_good;
}

void TracedProcesses::settle() {
  for (const auto& process : all_) process->runtime().settle();
}

void TracedProcesses::abandon() {
  for (const auto& process : all_) end_held(process->held);
}

runtime::EventCounts TracedProcesses::counts(std::size_t event) const {
  runtime::EventCounts sum = event < counts_gone_.size() ? counts_gone_[event] : runtime::EventCounts{};
  for (const auto& process : all_) sum += process->engine.counts(process->engine.events()[event]);
  return sum;
}

runtime::EventCounts TracedProcesses::counts() const {
  runtime::EventCounts sum;
  for (std::size_t i = 0; i < events().size(); ++i) sum += counts(i);
  return sum;
}

}  // namespace kevt::cli
