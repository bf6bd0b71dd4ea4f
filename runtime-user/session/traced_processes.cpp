// A ring, counter or address means nothing in another process, so each process is a target of its own. Tracing has what
// all share: definitions, counts, the order of records.
//
// A process that ends or becomes another program drops out; the others go on.
#include "runtime-user/session/traced_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/proc.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/runtime/inproc/process/forked_children.h"
#include "runtime-user/session/exit_status.h"

namespace kevt::session {

std::optional<int> TracedProcesses::start(const std::vector<std::string>& command) {
  int status = kOurFailure;
  auto held = launch_held(command, session_, report_, status);
  if (!held) return status;
  add(std::move(*held));
  return std::nullopt;
}

std::optional<int> TracedProcesses::attach(int pid) {
  int status = kOurFailure;
  auto held = attach_running(pid, session_, report_, status);
  if (!held) return status;
  known_.emplace(pid, proc::start_time(pid));
  add(std::move(*held));
  return std::nullopt;
}

void TracedProcesses::add(HeldProgram program) {
  all_.push_back(std::make_unique<TracedProcess>(std::move(program)));
  all_.back()->sides = sides_;
}

std::vector<engine::TracedTarget*> TracedProcesses::targets() const {
  std::vector<engine::TracedTarget*> targets;
  for (const auto& process : all_) targets.push_back(process.get());
  return targets;
}

void TracedProcesses::go() {
  for (const auto& process : all_) process->runtime().go();
}

Result<void> TracedProcesses::keep_names() {
  keeps_names_ = true;
  for (const auto& process : all_)
    if (auto kept = process->keep_names_of_libraries(); !kept)
      return std::unexpected(
          std::move(kept.error()).while_doing("watching which libraries " + process->name() + " loads"));
  return {};
}

// ---- what comes and goes --------------------------------------------------------------------

// The program is a child's, or a traced process has become it by exec; in that case the former target gives way.
void TracedProcesses::take_over(inproc::Tracee program, engine::Tracing& tracing) {
  const pid_t pid = program.pid();
  const std::string name = proc::comm(pid);  // read while it is held: once let go, it may end at once
  Origin origin = Origin::Followed;
  for (const auto& process : all_) {
    if (process->pid() != pid || process->has_given_way()) continue;
    if (process->held.origin == Origin::Started) origin = Origin::Started;
    process->give_way();
  }
  auto held = adopt_followed(std::move(program), origin, session_);
  if (!held) {
    report_.status(fmt::format("process {} ({}) is not followed through exec: {}", pid, name, held.error().message()));
    return;
  }
  ++followed_;
  join(*std::move(held), tracing);
}

// Makes a program that has come while tracing goes on a target.
void TracedProcesses::join(HeldProgram held, engine::Tracing& tracing) {
  add(std::move(held));
  TracedProcess& process = *all_.back();
  if (keeps_names_) (void)process.keep_names_of_libraries();  // else when a record has such an address
  if (listener_.added) listener_.added(process);
  for (const engine::CodeRefusal& refusal : tracing.targets().add(process))
    if (refusal.command.empty() || told_.insert(refusal.command + ": " + refusal.reason).second)
      report_.status(fmt::format("not in {}, which has come: {}{}{}", process.name(), refusal.command,
                                 refusal.command.empty() ? "" : ": ", refusal.error.message()));
  process.runtime().go();
}

void TracedProcesses::follow(engine::Tracing& tracing) {
  for (std::size_t i = 0; i < all_.size(); ++i)
    for (inproc::Tracee& program : all_[i]->runtime().followed()) take_over(std::move(program), tracing);
  let_go_of_ended(tracing);
}

// A forked child of a traced process has its parent's probes, and is not attached to.
void TracedProcesses::look_for_chosen(engine::Tracing& tracing) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kLookEvery = std::chrono::milliseconds(100);
  if (Clock::now() - looked_ < kLookEvery) return;
  const auto known = std::exchange(known_, {});  // those that have ended are forgotten
  for (const pid_t pid : proc::chosen_processes(choice_)) {
    const auto process = *known_.emplace(pid, proc::start_time(pid)).first;
    if (known.contains(process)) continue;
    auto held = attach_to(pid, session_);
    if (!held) {
      if (held.error().errno_value() != EBUSY) report_.status("not traced: " + held.error().message());
      continue;
    }
    join(std::move(*held), tracing);
    report_.status(all_.back()->name() + " has come");
  }
  looked_ = Clock::now();  // looking may take long
}

// Lines of an ended program's records may be printed later, so what is needed to name their addresses is kept for the
// last names_kept_ programs.
void TracedProcesses::let_go_of_ended(engine::Tracing& tracing) {
  ends_.note(all_);
  if (std::ranges::none_of(all_, [](const auto& process) { return process->is_over; })) return;
  std::vector<std::unique_ptr<TracedProcess>> stay;
  for (auto& process : all_) {
    if (!process->is_over || !tracing.targets().remove(*process)) {
      stay.push_back(std::move(process));
      continue;
    }
    if (listener_.removed) listener_.removed(*process);
    untraced_ += process->runtime().untraced();
    ++taken_away_;
    process->keep_names();
    ended_.push_back(std::move(process));
  }
  all_ = std::move(stay);
  for (; ended_.size() > names_kept_; ended_.pop_front()) tracing.targets().forget(*ended_.front());
}

// Drains first: records of a library that is unloaded are read while its symbols are known.
void TracedProcesses::look_at_libraries(TracedProcess& process, engine::Tracing& tracing) {
  if (!process.runtime().is_asked_for_libraries()) return;
  tracing.drain();
  if (listener_.files_change) listener_.files_change(process);
  process.look_at_files();
  if (const auto looked = process.runtime().look_for_unloaded(); !looked && process.is_alive())
    report_.error(looked.error());
  for (const engine::CodeRefusal& refusal : tracing.targets().libraries_changed(process))
    report_.error(fmt::format("in {}, whose library has come: {}{}{}", process.name(), refusal.command,
                              refusal.command.empty() ? "" : ": ", refusal.error.message()));
  process.runtime().answer_for_libraries();
}

void TracedProcesses::look_at_jit(TracedProcess& process, engine::Tracing& tracing) {
  if (!process.is_traced() || !process.jit.is_due(process.pid())) return;
  const bool is_asked_for = process.runtime().has_jit() || process.prints_names() || tracing.targets().waits(process);
  if (!is_asked_for) return process.jit.pass();
  tracing.drain();
  if (listener_.files_change) listener_.files_change(process);
  process.look_at_jit();
  const auto looked = process.runtime().look_at_jit();
  if (!looked && process.is_alive()) report_.error(looked.error());
  if (!looked) process.jit.pass();
  if (looked)
    for (const engine::CodeRefusal& refusal : tracing.targets().code_moved(process))
      report_.error(fmt::format("in {}, whose JIT compiler has made code: {}{}{}", process.name(), refusal.command,
                                refusal.command.empty() ? "" : ": ", refusal.error.message()));
  process.jit.looked();
}

void TracedProcesses::step(engine::Tracing& tracing) {
  if (session_.follows_exec || !choice_.empty()) follow(tracing);
  if (!choice_.empty()) look_for_chosen(tracing);
  for (const auto& process : all_) {
    look_at_libraries(*process, tracing);
    look_at_jit(*process, tracing);
  }
  report_replaced();
}

void TracedProcesses::report_replaced() const {
  for (const auto& process : all_)
    if (process->has_become_another())
      report_.status(process->name() + " has become another program (exec): its probes are gone");
}

bool TracedProcesses::is_any_alive() const {
  if (!choice_.empty()) return true;
  const auto is_running = [](const auto& process) { return process->held.origin == Origin::Running; };
  const bool has_running = std::ranges::any_of(all_, is_running);
  return std::ranges::any_of(all_, [&](const auto& process) {
    if (is_running(process)) return process->is_alive();
    // CMD is waited for, whatever it becomes.
    return (has_running || process->held.origin == Origin::Started) && !process->runtime().poll_exit();
  });
}

void TracedProcesses::report_untraced() const {
  inproc::ExecFollower::Untraced sum = untraced_;
  for (const auto& process : all_) sum += process->runtime().untraced();
  if (sum.without_descriptor > 0)
    report_.error(
        fmt::format("{} programs ran untraced: no file descriptor was left (ulimit -n)", sum.without_descriptor));
  if (sum.without_answer > 0)
    report_.error(fmt::format(
        "{} programs ran untraced: their exec had no answer in time (the machine is busy, or they have another tracer)",
        sum.without_answer));
}

TracedProcess& TracedProcesses::command() const {
  const auto is_it = [](const auto& process) { return process->held.origin == Origin::Started; };
  return **std::ranges::find_if(all_.rbegin(), all_.rend(), is_it);
}

int TracedProcesses::end_of_command() const { return command().runtime().poll_exit().value_or(0); }

// ---- the end --------------------------------------------------------------------------------

void TracedProcesses::report_detach(const TracedProcess& process, inproc::DetachResult left) const {
  switch (left) {
    case inproc::DetachResult::Nothing:
    case inproc::DetachResult::Unseen:
      return;
    case inproc::DetachResult::Code:
      report_.status(process.name() + " keeps our code mapped: a call under a return probe may still come back to it");
      return;
    case inproc::DetachResult::Agent:
      report_.status(process.name() + " keeps our signal handlers and code: a thread stays inside a hit");
      return;
    case inproc::DetachResult::Filtered:
      report_.status(
          process.name() +
          " keeps our signal handlers and code: its seccomp filter lets no system call be made there to take "
          "them away (CAP_SYS_ADMIN may)");
      return;
  }
}

// Children come last: one that is forked before the parent is left would be overlooked otherwise.
bool TracedProcesses::leave(TracedProcess& process, const inproc::SharedSessions& sessions) {
  bool all_good = true;
  const auto note = [&](const Result<inproc::DetachResult>& left, const std::string& whose) {
    if (left) return report_detach(process, *left);
    all_good = false;
    report_.error(Error(left.error()).while_doing("removing the probes of " + whose + process.name()));
  };
  inproc::InprocRuntime& runtime = process.runtime();
  if (runtime.poll_exit() && !runtime.may_be_hit(sessions)) return true;
  if (!runtime.poll_exit()) {
    const auto detached = runtime.detach();
    if (detached || !runtime.poll_exit()) note(detached, "");
  }
  note(runtime.leave_children(), "forked children of ");
  return all_good;
}

bool TracedProcesses::leave() {
  const auto sessions = inproc::SharedSessions::look();
  bool all_good = true;
  for (const auto& process : all_) all_good = leave(*process, sessions) && all_good;
  return all_good;
}

void TracedProcesses::settle() {
  for (const auto& process : all_) process->runtime().settle();
}

void TracedProcesses::abandon() {
  for (const auto& process : all_) end_held(process->held);
}

}  // namespace kevt::session
