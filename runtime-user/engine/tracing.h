// Tracing: everything behind a tracing directory: events, their code in the targets, instances, records.
//
// One thread uses it: the one that made the runtimes (ptrace belongs to a thread). Refusals carry the errno that the
// kernel's own files answer with; what an error_log has to say of them stands there.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "common/time_merger.h"
#include "runtime-user/engine/draft.h"
#include "runtime-user/engine/event_code.h"
#include "runtime-user/engine/event_table.h"
#include "runtime-user/engine/instance.h"
#include "runtime-user/engine/record_tap.h"
#include "runtime-user/engine/saved_tasks.h"
#include "runtime-user/engine/traced_target.h"

namespace kevt::engine {

struct TracingOptions {
  std::uint32_t cpus = 1;
  std::uint64_t buffer_kb = 1408;  // per CPU, of the top instance
  sema::CheckRequest check;
  // Events that are there already and are nobody's to remove: an eprobe may stand on them.
  std::vector<target::CatalogEntry> static_events;
  // Used instead of the first target's for looking at definitions.
  const target::TargetEnv* env = nullptr;
  // Targets come and go (add_target): a probe has to be in one of them, and triggers act when records are read.
  bool follows = false;
  // What cannot be had, of definitions or in a target, takes nothing else down.
  bool keep_going = false;
  // Hits of these events make their function return, whenever the events are defined (in process).
  std::vector<EventInjection> injections;
  // Code that need not be compiled, of compiled scripts; kept by the caller.
  const pipeline::CodeStore* brought = nullptr;
  // Records of the top instance go to a tap (set_tap); until there is one they stay in the targets' rings.
  bool is_tapped = false;
};

// Definitions that belong together, with filters and triggers of the top instance.
struct DefinitionBatch {
  std::span<const std::string> definitions;
  std::span<const EventFilter> filters;
  std::span<const EventTrigger> triggers;
};
struct BatchAnswer {
  bool is_defined = false;
  std::vector<Problem> problems;
  const TracedTarget* where = nullptr;  // the target in which they were found; nullptr: it is not one of several
  std::vector<std::uint64_t> serials;   // of each definition's probe; 0: it has none
};

// Records that are no dynamic event's; their ids are the kernel's (TRACE_PRINT, TRACE_RAW_DATA, TRACE_STACK,
// TRACE_USER_STACK).
inline constexpr std::uint32_t kPrintId = 5;
inline constexpr std::uint32_t kRawDataId = 18;
inline constexpr std::uint32_t kStackId = 4;
inline constexpr std::uint32_t kUserStackId = 12;
// What stands in a print record's `ip`, and how it prints.
inline constexpr std::string_view kMarkerFunction = "tracing_mark_write";

class Tracing {
 public:
  Tracing(std::vector<TracedTarget*> targets, TracingOptions options);

  // ---- definitions: kprobe_events, uprobe_events, synthetic_events, dynamic_events
  // Line by line, until one is refused; those before it stay.
  Result<void> write_definitions(grammar::EventsFile file, std::string_view text);
  Result<void> remove_definitions(grammar::EventsFile file);  // all; EBUSY and none when one is in use
  // Together, each definition checked against the ones before it and in every target; `problems` says what is wrong.
  // Then nothing is defined, or where options.keep_going the definitions that are right (a wrong filter or trigger
  // takes all down: its event must not be recorded without it). Nothing is armed before switch_on().
  Result<BatchAnswer> define(const DefinitionBatch& batch);
  const EventTable& events() const { return events_; }
  // Whose language they are in.
  const sema::CheckRequest& check() const { return options_.check; }

  // ---- events in an instance
  // nullptr where it was never touched: everything is off.
  const EventState* state(const Instance& instance, std::uint32_t event) const;
  Result<void> set_enabled(Instance& instance, std::span<const TracedEvent* const> events, bool on);
  // Events of the top instance, and all that define() left to be armed: all or none, and why. Where options.keep_going
  // or options.follows, what was left out of some target is returned.
  std::expected<std::vector<CodeRefusal>, CodeRefusal> switch_on(std::span<const TracedEvent* const> events);
  Result<void> write_filter(Instance& instance, const TracedEvent& event, std::string_view text);
  Result<void> write_group_filter(Instance& instance, std::string_view group, std::string_view text);
  Result<void> write_trigger(Instance& instance, const TracedEvent& event, std::string_view text);
  Result<void> truncate_triggers(Instance& instance, const TracedEvent& event);
  // Of those that change what is recorded; others are the instance's own affair, too.
  Result<void> set_option(Instance& instance, TraceOption option, bool on);
  // Can probes have stacks? An error where a target has none, or cannot be unwound.
  Result<void> can_unwind();
  std::string trigger_text(const Instance& instance, const TracedEvent& event) const;

  // debug/kprobes/enabled: 0 takes every probe out, 1 puts back what is on.
  Result<void> set_probes_armed(bool armed);
  // By jumps where they fit, or by breakpoints alone: in every target, those to be armed later included.
  bool uses_jumps() const { return uses_jumps_; }
  Result<void> use_jumps(bool wanted);
  bool probes_armed() const { return probes_armed_; }

  // A library has come to a target, which waits before its code runs: what waited for it there is armed. What turns out
  // wrong with it then is returned, and in the error_log.
  std::vector<CodeRefusal> libraries_changed(TracedTarget& target);

  // ---- targets that come and go, where options.follows
  // A program that has been followed, before its code runs: what is armed is armed there, too. What it cannot have is
  // returned.
  std::vector<CodeRefusal> add_target(TracedTarget& target);
  // One that has ended and that nothing can hit any more: its counts stay the events', its records stay in the buffers.
  // Its runtime is not used again; forget_target() is called before it goes. False: records of it are under way still.
  bool remove_target(TracedTarget& target);
  // Addresses in its records have no names from now on.
  void forget_target(const TracedTarget& target);
  // Grows with each target that was forgotten: what was kept of a TargetEnv may be another's now.
  std::uint64_t forgotten_targets() const { return forgotten_; }

  // ---- instances
  Instance& top() { return *instances_.front(); }
  Instance* find_instance(std::string_view name);
  Result<void> make_instance(std::string_view name);
  Result<void> remove_instance(std::string_view name);
  const std::list<std::unique_ptr<Instance>>& instances() const { return instances_; }

  // ---- records
  // Takes what the runtimes have recorded; returns how much. Never blocks. Behind finish() nothing waits for a slower
  // target any more.
  std::size_t drain();
  // Where options.is_tapped: takes the top instance's records from now on; it outlives this.
  void set_tap(RecordTap& tap, DrainOrder order) {
    tap_ = &tap;
    order_ = order;
  }
  // Writes to trace_marker and trace_marker_raw.
  void mark(Instance& instance, std::int32_t tid, std::string_view comm, std::string_view text);
  // Its triggers see every marker.
  const TracedEvent& marker_event() const { return marker_; }
  void mark_raw(Instance& instance, std::int32_t tid, std::string_view comm, std::span<const std::uint8_t> data);
  void take_snapshot(Instance& instance);
  // Of the event in this instance, up to the last drain(); final when every process has ended before that.
  runtime::EventCounts counts(const Instance& instance, const TracedEvent& event) const;
  // Of the event in one of several targets, as its runtime counts.
  runtime::EventCounts counts(const TracedEvent& event, const TracedTarget& target) const {
    return code_.counts(event.id, target);
  }
  // hits and misses over all instances, as kprobe_profile counts.
  runtime::EventCounts hits(const TracedEvent& event) const { return code_.counts(event.id); }
  runtime::EventCounts hits(const EventProbe& probe) const;  // of one of its probes
  const EventCode& code() const { return code_; }
  // Nothing more will be recorded: who reads a stream is told its end, behind what is there.
  void finish() { is_finished_ = true; }
  bool is_finished() const { return is_finished_; }
  // From now on hits of this program's own threads are filtered.
  void hide_own_threads();
  // Whether misses are counted in every target: `missed ?` else.
  bool sees_misses() const;
  // Whether stacks may stand behind records of this instance.
  bool records_stacks(const Instance& instance) const;
  // Is anything armed, so that drain() may find something, or may a program wait to be followed?
  bool is_active() const { return active_ > 0 || options_.follows; }
  // Does any event record? One that a trigger alone needs (`0*`) is armed and does not.
  bool is_any_on() const;

  SavedTasks& tasks() { return tasks_; }
  const SavedTasks& tasks() const { return tasks_; }
  // Where a record of this thread comes from; for symbols. A thread may have become another program: `time_ns`, of
  // CLOCK_MONOTONIC, tells which one it was then; nullopt: the last one. nullptr: nobody knows.
  const target::TargetEnv* env_of(std::int32_t tid, std::optional<std::uint64_t> time_ns) const;
  const TracedTarget* target_of(std::int32_t tid, std::optional<std::uint64_t> time_ns) const;
  std::uint32_t cpus() const { return options_.cpus; }
  std::uint64_t buffer_kb() const { return options_.buffer_kb; }
  static std::uint64_t now_ns();

 private:
  struct Waiting {
    TracedTarget* target;
    std::uint32_t cpu;
    std::string comm;
    std::vector<std::uint8_t> bytes;
  };
  std::vector<const target::TargetEnv*> envs();
  Result<void> refuse(ErrorLog& log, std::vector<diag::Diagnostic> mistakes);
  const TracedEvent* define_typed(grammar::EventsFile file, std::string_view line, const target::TargetEnv& env);
  Result<void> write_line(grammar::EventsFile file, std::string_view line);
  Result<void> remove(std::span<const EventTable::Match> matches);
  // Of define().
  struct Checked;
  Checked check_together(const DefinitionBatch& batch, BatchAnswer& answer);
  void keep_together(Checked checked, BatchAnswer& answer);
  struct BoundFilter {
    const TracedEvent* event;
    model::FilterExpr filter;
    std::string text;
  };
  std::vector<BoundFilter> bind_existing(const DefinitionBatch& batch, std::span<const std::size_t> filters,
                                         BatchAnswer& answer);
  std::vector<sema::TriggerStep> check_triggers(const DefinitionBatch& batch, BatchAnswer& answer);
  void take_back(const BatchAnswer& answer);
  Result<void> check_injections(const DefinitionBatch& batch, const BatchAnswer& answer) const;
  std::optional<model::Injection> injection_of(const TracedEvent& event) const;
  bool is_armed(std::uint32_t event) const;
  void forget(std::uint32_t event);
  void clear_buffers();
  CodeRequest request_for(const TracedEvent& event);
  std::expected<void, CodeRefusal> apply(std::span<const TracedEvent* const> events);
  // Where hits would make their function return that the event's filter or triggers reject.
  std::optional<CodeRefusal> why_not_injected(const CodeRequest& request) const;
  std::expected<void, CodeRefusal> apply_by(Instance* at_hits, std::span<const TracedEvent* const> events);
  // Of those whose triggers hits carry out themselves (hit_switches.cpp).
  Instance* instance_for_hits();
  bool share_words(Instance& instance);
  std::optional<model::FilterExpr> condition_at_the_hit(const model::Trigger& trigger, const TracedEvent& event) const;
  model::HitSwitches switches_for(Instance& instance, const TracedEvent& event);
  std::vector<model::HitSwitches::Gate> gates_for(Instance& instance, const TracedEvent& event);
  std::string switches_text(const Instance& instance, const TracedEvent& event,
                            const model::HitSwitches& switches) const;
  std::expected<void, CodeRefusal> switch_together(Instance& instance, std::span<const TracedEvent* const> events,
                                                   bool on);
  // Code as the tables want it. A refusal is logged; try_: it is not, since the caller goes on.
  std::expected<void, CodeRefusal> try_sync(std::span<const TracedEvent* const> events);
  Result<void> sync(std::span<const TracedEvent* const> events);
  EventState& touch(Instance& instance, const TracedEvent& event) { return instance.events[event.id]; }
  bool bind_filter(Instance& instance, const TracedEvent& event, std::string_view text, diag::Sink& sink);
  Result<void> can_run(const Instance& instance, const model::Trigger& trigger, const TracedEvent& event);
  Result<void> sync_stacks(const TracedEvent& event);
  Result<void> use_softly(Instance& instance, const TracedEvent& event, int change);
  Result<void> add_trigger(Instance& instance, const model::EventName& owner, const model::Trigger& trigger);
  Result<void> remove_trigger(Instance& instance, const model::EventName& owner, const model::Trigger& trigger);
  Result<void> apply_trigger_step(Instance& instance, const sema::TriggerStep& step);
  const TracedEvent* soft_target(const model::Trigger& trigger) const;
  void deliver(TracedTarget& target, const runtime::Record& record);
  void deliver(TracedTarget& target, const runtime::Record& record, const Instance* decided);
  // Whether a record came with what a stack can be made of.
  enum class Stack : std::uint8_t { None, Comes };
  // `decided`: the instance whose triggers and gates its hit has asked; nullptr: none.
  struct Origin {
    TracedTarget* target = nullptr;
    Stack stack = Stack::None;
    const Instance* decided = nullptr;
  };
  // Of a hit: what held before its triggers acted.
  struct Before {
    bool tracing_on, softly_on;
    bool has_triggers;  // and they are asked
    bool needs_record;  // by them
  };
  // Where a stack is to stand behind it; nullptr: nowhere.
  TraceBuffer* deliver_to(Instance& instance, const TracedEvent& event, const runtime::Record& record, Origin origin);
  bool is_tapped(const Instance& instance) const { return options_.is_tapped && &instance == instances_.front().get(); }
  // Whether a record needs no look at gates and triggers.
  bool is_plain_tap() const;
  bool is_plain(const TracedEvent& event, const EventState& one) const;
  void tap_plainly(TracedTarget& target, const runtime::Record& record);
  bool is_hidden(std::span<const std::uint8_t> record) const;
  // What the triggers of a hit have left to be done, and done. An event has one of each kind.
  struct Fired {
    bool turns_off = false, wants_stack = false;  // late: behind the record
    bool took_snapshot = false;
  };
  // All but the late ones act. Without a stack, those that want one are not met.
  Fired run_triggers(Instance& instance, const TracedEvent& event, const runtime::Record& record, Stack stack);
  // True: a stack is to be stored.
  bool run_late_triggers(Instance& instance, const TracedEvent& event, Fired fired);
  bool is_open(const Instance& instance, const EventState& one, const Before& before) const;
  static bool has_stack_option(const Instance& instance);
  static bool wants_stack_sample(const Instance& instance, const TracedEvent& event);
  void deliver_sampled(TracedTarget& target, const SampledType& type, const runtime::Record& record,
                       const Instance* decided);
  std::vector<std::uint64_t> unwind(TracedTarget& target, const target::StackSample& sample);
  std::vector<std::uint8_t> user_stack_record(TracedTarget& target, std::vector<std::uint64_t> callers,
                                              std::span<const std::uint8_t> of);
  std::uint32_t process_of(std::int32_t tid, pid_t otherwise);
  void look_for_new_files(TracedTarget& target, std::span<const std::uint64_t> callers);
  void store_stack(Instance& instance, TraceBuffer& buffer, TracedTarget& target, const runtime::Record& record);
  bool may_act(const Instance& instance, const model::Trigger& trigger) const;
  void act(Instance& instance, const model::Trigger& trigger);
  bool has_several_targets() const { return options_.follows || code_.targets().size() > 1; }
  void note_task(TracedTarget& target, const runtime::Record& record, std::int32_t tid);
  bool store(Instance& instance, TraceBuffer& buffer, const runtime::Record& record);

  // What a record's type means to a tap, looked up once.
  struct Route {
    std::uint64_t of_round = 0;  // of drain(): between two of them anything may change
    const TracedEvent* event = nullptr;
    EventState* state = nullptr;  // nullptr: deliver() knows what becomes of it
  };

  TracingOptions options_;
  EventTable events_;
  EventCode code_;
  WordRoom words_;
  std::list<std::unique_ptr<Instance>> instances_;  // the top one first
  Instance* at_hits_ = nullptr;                     // whose triggers and gates the code of all events asks
  const Instance* asked_by_hits_ = nullptr;         // or did last: of records that say so
  SavedTasks tasks_;
  // What a thread was, and since when; only with several targets.
  struct Was {
    std::uint64_t since_ns;
    const TracedTarget* target;
  };
  std::unordered_map<std::int32_t, std::vector<Was>> was_;
  TimeMerger<Waiting> waiting_;  // only with several targets
  RecordTap* tap_ = nullptr;
  DrainOrder order_ = DrainOrder::ByTime;
  std::vector<Route> routes_;  // by type
  std::uint64_t rounds_ = 0;
  // Events whose code was not brought up to date: define() leaves that to switch_on().
  std::optional<std::vector<const TracedEvent*>> postponed_;
  std::uint64_t forgotten_ = 0;
  bool probes_armed_ = true;
  bool uses_jumps_ = true;
  bool is_finished_ = false;
  std::size_t active_ = 0;                                            // events that are armed
  TracedEvent marker_;                                                // ftrace/print: it has no code, and is always on
  std::vector<std::int32_t> hidden_;                                  // threads
  std::unordered_map<std::int32_t, std::uint32_t> process_of_;        // of threads that had stacks
  std::set<std::pair<const TracedTarget*, std::uint64_t>> nameless_;  // callers that were looked for
};

}  // namespace kevt::engine
