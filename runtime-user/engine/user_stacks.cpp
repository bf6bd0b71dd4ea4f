// Stacks of programs behind records of their probes: the trigger `stacktrace`, and the options userstacktrace and
// stacktrace, in process.
//
//   the ring        type 64: op's record, then the stack sample      code with a sample has a type of its own
//   an instance     op                                               as op's format says: the sample is cut off
//                   user_stack: tgid, caller[8 or more]              where the trigger's condition and count allow it
//
// Code is exchanged while the program runs, so records of both kinds may be under way: only their type tells them
// apart. A stack is unwound once for all instances, and only where one of them wants it.
//
// Mirrors stacktrace_trigger(), ftrace_trace_userstack() of kernel/trace (6.1), whose stacks end after eight callers;
// here the record is as long as the stack, as the kernel's own kernel_stack is, and never shorter than its format.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/proc.h"
#include "compiler/model/record_view.h"
#include "runtime-user/engine/tracing.h"

namespace kevt::engine {

namespace {

constexpr std::size_t kFormatCallers = 8, kCallersAt = 16;
constexpr std::size_t kMaxKnown = 4096;

bool has_stacktrace(const Instance& instance, const TracedEvent& event) {
  const auto all = instance.triggers.of({event.group, event.name});
  return std::ranges::find(all, model::TriggerKind::Stacktrace, &model::Trigger::kind) != all.end();
}

}  // namespace

// ---- which code takes samples ---------------------------------------------------------------

// Of probes of a process each of the two means its stack; nothing else can have them set.
bool Tracing::has_stack_option(const Instance& instance) {
  return instance.options.has(TraceOption::UserStacktrace) || instance.options.has(TraceOption::Stacktrace);
}

bool Tracing::records_stacks(const Instance& instance) const {
  const auto wants = [](const auto& of_event) {
    return std::ranges::find(of_event.second, model::TriggerKind::Stacktrace, &model::Trigger::kind) !=
           of_event.second.end();
  };
  return has_stack_option(instance) || std::ranges::any_of(instance.triggers.events(), wants);
}

bool Tracing::wants_stack_sample(const Instance& instance, const TracedEvent& event) {
  return !event.is_static() && event.owner != target::EventOwner::Synthetic &&
         (has_stacktrace(instance, event) || has_stack_option(instance));
}

Result<void> Tracing::sync_stacks(const TracedEvent& event) {
  if (!event.is_static()) return {};  // theirs is other code, and code is synchronized with everything else
  const bool wanted =
      std::ranges::any_of(instances_, [&](const auto& instance) { return has_stacktrace(*instance, event); });
  return code_.static_events()->set_stacks(event.id, wanted);
}

Result<void> Tracing::can_unwind() {
  for (TracedTarget* target : code_.targets()) {
    if (!target->is_alive()) continue;
    if (auto unwinder = target->unwinder(); !unwinder) return std::unexpected(std::move(unwinder.error()));
  }
  return {};
}

Result<void> Tracing::set_option(Instance& instance, TraceOption option, bool on) {
  drain();
  const bool before = instance.options.has(option);
  instance.options.set(option, on);
  if (option != TraceOption::UserStacktrace && option != TraceOption::Stacktrace) return {};
  auto done = on ? can_unwind() : Result<void>{};
  std::vector<const TracedEvent*> armed;
  for (const auto& [id, event] : events_.events())
    if (const EventState* one = state(instance, id); one && one->registered) armed.push_back(event.get());
  if (done && !armed.empty()) done = sync(armed);
  if (!done) instance.options.set(option, before);
  return done;
}

// ---- records --------------------------------------------------------------------------------

void Tracing::deliver_sampled(TracedTarget& target, const SampledType& type, const runtime::Record& record,
                              const Instance* decided) {
  const TracedEvent* event = events_.find(type.event);
  if (!event) return;
  std::vector<std::uint8_t> bytes = type.samples.public_record(record.bytes);
  const auto id = static_cast<std::uint16_t>(event->id);
  std::memcpy(bytes.data(), &id, sizeof id);
  runtime::Record seen = record;
  seen.bytes = bytes;
  note_task(target, record, model::pid_of(bytes));
  std::vector<std::uint64_t> callers;
  std::vector<std::uint8_t> stack;
  for (const auto& instance : instances_) {
    TraceBuffer* const buffer =
        deliver_to(*instance, *event, seen, {.target = &target, .stack = Stack::Comes, .decided = decided});
    if (!buffer) continue;
    if (callers.empty()) callers = unwind(target, type.samples.sample(record.bytes));
    if (is_tapped(*instance)) {
      tap_->take_stack(target, seen, callers);
      continue;
    }
    if (stack.empty()) stack = user_stack_record(target, callers, bytes);
    seen.bytes = stack;
    store(*instance, *buffer, seen);
    seen.bytes = bytes;
  }
}

std::vector<std::uint64_t> Tracing::unwind(TracedTarget& target, const target::StackSample& sample) {
  auto unwinder = target.unwinder();
  if (!unwinder) return {sample.pc};
  std::vector<std::uint64_t> callers = (*unwinder)->unwind(sample);
  look_for_new_files(target, callers);
  return callers;
}

// `of`: the record it stands behind, whose flags and thread it has.
std::vector<std::uint8_t> Tracing::user_stack_record(TracedTarget& target, std::vector<std::uint64_t> callers,
                                                     std::span<const std::uint8_t> of) {
  auto unwinder = target.unwinder();
  const std::uint32_t tgid = process_of(model::pid_of(of), unwinder ? (*unwinder)->pid() : 0);
  callers.resize(std::max(callers.size(), kFormatCallers));  // 0: no more
  std::vector<std::uint8_t> bytes(kCallersAt + callers.size() * sizeof callers[0]);
  bytes[0] = kUserStackId;
  std::ranges::copy(of.subspan(2, model::kCommonBytes - 2), bytes.begin() + 2);
  std::memcpy(bytes.data() + model::kCommonBytes, &tgid, sizeof tgid);
  std::memcpy(bytes.data() + kCallersAt, callers.data(), callers.size() * sizeof callers[0]);
  return bytes;
}

// Asked once for each thread; of one that has ended it is the traced process.
std::uint32_t Tracing::process_of(std::int32_t tid, pid_t otherwise) {
  if (process_of_.size() >= kMaxKnown) process_of_.clear();
  const auto [it, is_new] = process_of_.try_emplace(tid, 0);
  if (is_new) {
    const std::int32_t tgid = proc::process_of(tid);
    it->second = static_cast<std::uint32_t>(tgid ? tgid : otherwise);
  }
  return it->second;
}

// A frame that no known file holds may be of a library that came since: they are looked at again, once for each.
void Tracing::look_for_new_files(TracedTarget& target, std::span<const std::uint64_t> callers) {
  for (const std::uint64_t caller : callers) {
    if (target.known_env().symbolize(caller)) continue;
    if (nameless_.size() >= kMaxKnown) nameless_.clear();
    if (nameless_.emplace(&target, caller).second && target.is_alive()) target.env();
  }
}

}  // namespace kevt::engine
