// InprocRuntime: probes inside one process, without a kernel trap on the fast path
// (docs/in-process.md). Use it from one thread: ptrace belongs to the thread that started it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/time_merger.h"
#include "runtime-user/runtime/inproc/code/batch_code.h"
#include "runtime-user/runtime/inproc/code/code_arena.h"
#include "runtime-user/runtime/inproc/code/probe_points.h"
#include "runtime-user/runtime/inproc/memory/hit_stacks.h"
#include "runtime-user/runtime/inproc/memory/hit_tables.h"
#include "runtime-user/runtime/inproc/memory/ring_reader.h"
#include "runtime-user/runtime/inproc/memory/session_memory.h"
#include "runtime-user/runtime/inproc/memory/tsc_clock.h"
#include "runtime-user/runtime/inproc/process/code_references.h"
#include "runtime-user/runtime/inproc/process/detach.h"
#include "runtime-user/runtime/inproc/process/exec_follower.h"
#include "runtime-user/runtime/inproc/process/forked_children.h"
#include "runtime-user/runtime/inproc/process/library_watch.h"
#include "runtime-user/runtime/inproc/process/placement.h"
#include "runtime-user/runtime/inproc/process/remote_mapper.h"
#include "runtime-user/runtime/inproc/process/semaphores.h"
#include "runtime-user/runtime/inproc/process/signal_handover.h"
#include "runtime-user/runtime/inproc/process/signal_hooks.h"
#include "runtime-user/runtime/inproc/process/thread_names.h"
#include "runtime-user/runtime/inproc/process/tracee.h"
#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::inproc {

class InprocRuntime final : public runtime::ProbeRuntime {
 public:
  // Starts `argv` and holds the process once its libraries are loaded, ready for install() and arm().
  static Result<std::unique_ptr<InprocRuntime>> launch(const std::vector<std::string>& argv,
                                                       const SessionOptions& options);
  // Seizes a running process and holds it, ready for install() and arm().
  static Result<std::unique_ptr<InprocRuntime>> attach(pid_t pid, const SessionOptions& options);
  // Takes over a program that was followed through exec, and holds it once its libraries are loaded, as launch() does.
  static Result<std::unique_ptr<InprocRuntime>> adopt(Tracee program, const SessionOptions& options);
  ~InprocRuntime() override;

  pid_t pid() const { return tracee_.pid(); }
  // For indirect functions: runs their resolvers in the target; returns the address that each resolver chose.
  Result<std::vector<RemoteAddr>> resolve_indirect(std::span<const RemoteAddr> resolvers);

  // Lets the target run. Arming and disarming stop it for a moment by themselves.
  void go() { tracee_.release(); }
  // For measuring, while the target is held: runs the target to an address; executes one instruction and returns the
  // address of the next.
  Result<void> run_to(RemoteAddr at) { return tracee_.run_to(at); }
  Result<RemoteAddr> step();
  // Whether an address lies in the detours, extractors or the agent.
  bool is_ours(RemoteAddr at) const;
  // The wait(2) status once the target has ended.
  std::optional<int> poll_exit() { return tracee_.poll_exit(); }
  // Whether a return probe is armed. Then the target must be watched for libraries, and its probes armed anew when one
  // was loaded: a library may bring code that walks stacks.
  bool has_returns() const;
  // From now on a thread that has loaded a library waits before any code of the library runs: is_asked_for_libraries()
  // tells, and answer_for_libraries() lets the thread go on. False: the target has no dynamic linker that reports.
  Result<bool> watch_libraries();
  bool is_asked_for_libraries() { return watch_.is_asked(); }
  void answer_for_libraries() { watch_.answer(); }
  // From now on events may be installed whose records come with stacks.
  Result<void> prepare_stacks() { return stacks_.begin(); }
  // Looks at the code of a JIT compiler, in a short stop where any of it is probed: probes what else was compiled of
  // functions whose events are armed. arm_status() tells then of which events the code is gone.
  Result<void> look_at_jit();
  bool has_jit() const { return points_.has_jit(); }
  void restore_text(RemoteAddr at, std::span<std::uint8_t> text) const { points_.restore(at, text); }
  // Whether the target may unload a library that an armed event is in, and nobody watches for that yet.
  Result<bool> may_lose_code();
  // Looks which libraries were unloaded; arm_status() tells then of which events the code is gone.
  Result<void> look_for_unloaded();
  // The target has mapped or unmapped files: stacks are walked anew.
  void note_new_files() { stacks_.note_new_files(); }
  // Programs that the target or its forked children have become by exec (SessionOptions::follows_exec). Each is held
  // right after exec, until adopt() or the end of its Tracee. The first may be what the target itself has become.
  std::vector<Tracee> followed() { return follower_.look(); }
  ExecFollower::Untraced untraced() const { return follower_.untraced(); }
  // The target has become another program, which another runtime traces: this runtime leaves it alone.
  void give_up();
  // Disarms everything, gives text, signals and return addresses back and unmaps what is ours; the target runs on as if
  // never traced. Counters and what is in the rings can still be read.
  Result<DetachResult> detach();
  // The same for forked children of the target that go on without exec; also after the target has ended.
  Result<DetachResult> leave_children();
  // Whether the target has replaced itself by exec, which ends its probes. Not as long as a program is awaited that it
  // may become: followed() hands that out, and the kernel may take long from the one memory to the other. Does not stop
  // the target.
  bool was_replaced();
  // Whether the target, or a child of it, may still hit a probe or become a program to be followed.
  bool may_be_hit(const SharedSessions& sessions);
  // After the target has ended or was detached: counts hits that never finished as lost, skips unfinished records.
  void settle();

  runtime::Capabilities capabilities() const override;
  Result<std::vector<std::string>> refusals(const model::CompiledBatch& batch) override;
  Result<std::vector<runtime::ProbeHandle>> install(const model::CompiledBatch& batch,
                                                    std::span<const std::uint32_t> ids) override;
  Result<void> arm(std::span<const runtime::ProbeHandle> probes) override;
  Result<void> disarm(std::span<const runtime::ProbeHandle> probes) override;
  Result<void> remove(std::span<const runtime::ProbeHandle> probes) override;
  void retire(std::span<const runtime::ProbeHandle> probes) override;
  bool has_final_counts(runtime::ProbeHandle probe) const override { return installed_[probe].last_counts.has_value(); }
  Result<void> replace(std::span<const runtime::ProbeHandle> armed,
                       std::span<const runtime::ProbeHandle> disarmed) override;
  Result<void> use_jumps(bool wanted) override;
  std::span<std::uint64_t> shared_cells() override { return memory_.words(); }
  runtime::EventCounts counts(runtime::ProbeHandle probe) const override;
  runtime::ArmStatus arm_status(runtime::ProbeHandle probe) const override;
  std::size_t drain(const runtime::RecordSink& sink) override;
  // The same without merging: each CPU's records in their order, at once and without a copy. Not to be mixed with
  // drain().
  std::size_t drain_by_cpu(const runtime::RecordSink& sink) override;
  std::size_t free_hit_tables() const override;
  void take_hit_counts(runtime::ProbeHandle probe, const runtime::HitCountSink& sink) override;
  std::string_view thread_name(std::int32_t tid) override;
  std::span<const std::uint64_t> stack(std::uint64_t number) override { return stacks_.numbered(number); }

  // What installed code takes up now. `waiting`: events that were removed or retired but whose code may still be run.
  struct CodeUse {
    std::uint64_t bytes = 0;
    std::uint32_t rows = 0;
    std::size_t handles = 0, waiting = 0;
    std::uint64_t shards = 0;  // of counters, ever given out
  };
  CodeUse code_use() const;

 private:
  static constexpr std::size_t kFewestReclaimed = 128;
  struct Installed {
    RemoteAddr place;
    std::vector<RemoteAddr> versions;  // of JIT code: where else the function was compiled, and is probed, too
    model::ProbeKind point = model::ProbeKind::Entry;
    DetourEvent code;
    RemoteAddr semaphore;                     // of the marker; 0: none
    std::shared_ptr<const PlacedCode> image;  // holds the event's code; nullptr: given back, or a guard
    SessionMemory::EventBlock block;
    std::uint32_t sinks = 1;
    std::uint32_t id = 0;
    struct Table {
      std::uint32_t index;  // in the session
      model::HitTable shape;
    };
    std::vector<Table> tables;
    std::uint64_t lost_told = 0;  // lost hits that take_hit_counts() has told
    bool is_guard = false;  // in front of an unwinder or the linker's report: runs the agent's code, records nothing
    bool armed = false;
    bool is_dead = false;  // in dead_, or its code is gone
    bool is_removed = false;
    std::optional<runtime::EventCounts> last_counts;  // set when its code and its counters were given back
  };
  struct Pending {
    std::uint32_t cpu = 0;
    std::vector<std::uint8_t> bytes;
  };

  // Holds the target for one batch of changes; lets it go only if it was running before.
  class Hold {
   public:
    Hold(Tracee& tracee, bool was_stopped) : tracee_(&tracee), was_stopped_(was_stopped) {}
    Hold(Hold&& other) noexcept : tracee_(std::exchange(other.tracee_, nullptr)), was_stopped_(other.was_stopped_) {}
    ~Hold() {
      if (tracee_ && !was_stopped_) tracee_->release();
    }

   private:
    Tracee* tracee_;
    bool was_stopped_;
  };

  InprocRuntime(Tracee tracee, SessionMemory memory, CodeArena arena, std::shared_ptr<ProbedFiles> files);
  Result<Hold> hold();
  static Result<void> check_clock();
  static Result<std::unique_ptr<InprocRuntime>> make(Result<Tracee> tracee, const SessionOptions& options);
  Result<void> prepare();
  Result<void> note_filter();
  Result<void> hook_calls();
  Detacher::Missed count_missed_in(const Tracee& tracee) const;
  Result<void> check_places(const model::CompiledBatch& batch);
  Result<Installed> install_one(const model::CompiledEvent& event, BatchCode& code, std::uint32_t id);
  Result<std::uint32_t> take_hit_table();
  runtime::ProbeHandle keep(Installed made);
  void give_back(Installed& made);
  void reclaim_when_due(const model::CompiledBatch& batch);
  Result<void> reclaim();
  std::set<runtime::ProbeHandle> reclaim_detours(const CodeReferences& references, const CodeSharers& sharers);
  void add_dead(runtime::ProbeHandle probe);
  runtime::EventCounts final_counts(runtime::ProbeHandle probe) const;
  bool has_noted_text(const ProbePoint& point) const;
  bool may_be_run(const Installed& event, const CodeReferences& references, const CodeSharers& sharers) const;
  Result<void> forget_in_target(const Installed& event);
  void forget_handle(runtime::ProbeHandle probe);
  void forget_site(RemoteAddr site, runtime::ProbeHandle probe);
  Result<SessionMemory::EventBlock> add_event(RemoteAddr at, std::size_t slots, std::uint32_t sinks);
  // `function`: the agent's function to call, as an offset in its image.
  Result<RemoteAddr> place_guard(const ProbedObject& object, std::uint32_t function);
  Result<Installed> install_guard(RemoteAddr place, std::uint32_t function);
  Result<std::vector<runtime::ProbeHandle>> install_guards();
  Result<void> guard_unwinders(std::vector<runtime::ProbeHandle>& changed);
  void shut_gates();
  Result<DetachResult> leave();
  Result<DetachResult> leave_child(pid_t pid);
  bool is_guard_site(RemoteAddr site) const;
  Result<void> rearm(std::span<const runtime::ProbeHandle> probes);
  Result<void> change_sites(std::span<const runtime::ProbeHandle> probes);
  void note_gone(std::span<const RemoteAddr> sites);
  Result<void> set_semaphores();
  void note_all_gone();
  void compare_armed();
  Result<ProbePoint*> point_anew(RemoteAddr site, StoppedText& text);
  void find_versions(runtime::ProbeHandle probe);
  std::vector<RemoteAddr> sites_of(runtime::ProbeHandle probe) const;
  Result<void> narrow_crowded();
  Result<std::optional<TextPatch>> patch_for(ProbePoint& point);
  std::uint32_t needs_of(const Installed& event) const;  // KEVT_MAP_NEEDS
  Result<void> lead_to(ProbePoint& point, const ProbePoint::Made& made);
  void forget_older(ProbePoint& point, const std::function<bool(std::uint32_t, RemoteAddr)>& which);
  void deliver(const runtime::RecordSink& sink, std::uint64_t until);

  std::shared_ptr<ProbedFiles> files_;
  Tracee tracee_;
  SessionMemory memory_;
  CodeArena arena_;
  RemoteMapper mapper_;
  Placement placement_;
  SignalHandover signals_;
  ProbePoints points_;
  RingReader rings_;
  HitTables hit_tables_;
  HitStacks stacks_;
  ThreadNames names_;
  TscClock clock_;
  HookedCalls hooked_ = HookedCalls::Signals;
  std::vector<Installed> installed_;
  std::vector<runtime::ProbeHandle> dead_;          // removed or retired; their code is still there
  std::vector<runtime::ProbeHandle> free_handles_;  // of installed_
  std::size_t reclaim_at_ = kFewestReclaimed;       // when so many are dead
  std::unordered_map<std::uint64_t, std::vector<runtime::ProbeHandle>> at_site_;  // in the order of installation
  std::vector<runtime::ProbeHandle> guards_;  // of unwinders, since the first return probe was armed
  bool guards_unwinders_ = false;
  std::optional<bool> has_children_;              // since the target was last stopped
  std::optional<runtime::ProbeHandle> reporter_;  // the guard in front of the linker's report
  Semaphores semaphores_;
  LibraryWatch watch_;
  ExecFollower follower_;
  static constexpr runtime::ProbeHandle kNoHandle = ~0u;
  void note_newest(std::uint32_t event_id);
  runtime::ProbeHandle newest_of(std::span<const std::uint8_t> record) const;
  std::span<const std::uint64_t> take_stack(std::span<std::uint8_t>& record);
  std::unordered_map<std::uint32_t, std::vector<runtime::ProbeHandle>> by_id_;  // none is empty
  std::vector<runtime::ProbeHandle> newest_;  // by event id, the last of by_id_; kNoHandle: none. Asked for each record
  TimeMerger<Pending> pending_;               // by TSC: drained from the rings, newer than what was delivered
  bool settled_ = false;
  bool replaced_ = false;           // by exec
  std::uint64_t target_began_ = 0;  // proc::start_time; what it forks is younger
  std::optional<DetachResult> left_;
};

}  // namespace kevt::inproc
