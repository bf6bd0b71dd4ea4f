// The order of things: launch or attach → (target held) install → arm → go → drain … → detach → settle.
//
// install() puts an event's data block into the shared memory and its batch's code into the arena.
// arm() writes detours, then stops the target once and patches all sites of the batch. Several
// events at one address share a probe point; its detour runs them all and is made anew when the set
// changes.
#include "runtime-user/runtime/inproc/inproc_runtime.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "common/error.h"
#include "common/fs_base.h"
#include "common/proc.h"
#include "compiler/target/process/process_map.h"
#include "compiler/target/target_env.h"
#include "runtime-user/runtime/inproc/code/agent_image.h"
#include "runtime-user/runtime/inproc/process/left_session.h"
#include "runtime-user/runtime/inproc/process/signal_hooks.h"
#include "runtime-user/runtime/inproc/process/startup.h"

namespace kevt::inproc {

using runtime::ProbeHandle;

namespace {

bool reads_arguments(const model::Definition& definition) {
  const auto reads = [](const model::FetchExpr& expr) {
    return std::holds_alternative<model::ArgumentBase>(expr.base) ||
           std::holds_alternative<model::VariableBase>(expr.base);
  };
  return std::ranges::any_of(definition.args, [&](const model::FetchArg& arg) { return any_expression(arg, reads); });
}

bool reads_vectors(const model::Definition& definition) {
  return std::ranges::any_of(definition.args, [](const model::FetchArg& arg) {
    const auto* base = std::get_if<model::RegisterBase>(&arg.expr.base);
    return base && target::vector_register(base->name);
  });
}

bool reads_thread_locals(const model::CompiledEvent& event) {
  return std::ranges::find(event.slots, model::SlotKind::ThreadLocal, &model::SlotSource::kind) != event.slots.end();
}

// Why an event of its kind may not stand there; empty: it may.
std::string why_not_there(const model::CompiledEvent& event, const ProbePoint& point) {
  const target::ElfImage& image = *point.object->image;
  if (event.injection && image.is_go())
    return "no injection into Go code: its functions return through their own frames";
  if (image.is_go() && reads_arguments(event.definition)) return std::string(target::kGoPassesElsewhere);
  if (image.is_go() && reads_vectors(event.definition))
    return "vector registers are not there where Go's hits run, in a signal handler; read memory: +8(%ax):f64";
  if (image.is_go() && reads_thread_locals(event) && !may_read_fs_base())
    return "thread-local variables of a Go program: this kernel does not let programs read their %fs base (Linux 5.9)";
  if (event.definition.probe_kind != model::ProbeKind::Return) return "";
  const auto symbol = image.symbol_covering(ImageAddr{point.site.value - point.object->bias});
  return x86::return_probe_refusal(image, symbol ? symbol->name : std::string_view()).value_or("");
}

}  // namespace

// After exec the process is another program: nothing of ours is there, and it must not be touched. Until our memory has
// been mapped, the process is held without a break and cannot exec.
Result<InprocRuntime::Hold> InprocRuntime::hold() {
  if (left_) return std::unexpected(Error("the process is not traced any more"));
  const bool was_stopped = tracee_.is_stopped();
  KEVT_TRY(tracee_.stop());
  Hold held(tracee_, was_stopped);
  if (!was_stopped) has_children_.reset();
  if (!placement_.agent().priv.value) return held;
  std::uint64_t self = 0;
  const RemoteAddr at = memory_.target() + offsetof(kevt_tables, self);
  auto is_there = tracee_.read_if_mapped(at, {reinterpret_cast<std::uint8_t*>(&self), sizeof self});
  if ((!is_there || !*is_there) && poll_exit()) return std::unexpected(Error("the process is gone", ESRCH));
  if (!is_there) return std::unexpected(std::move(is_there.error()));
  if (!*is_there || self != memory_.target().value) replaced_ = true;
  if (replaced_)
    return std::unexpected(Error("the process has been replaced by another program (exec): its probes are gone"));
  return held;
}

InprocRuntime::InprocRuntime(Tracee tracee, SessionMemory memory, CodeArena arena, std::shared_ptr<ProbedFiles> files)
    : files_(files ? std::move(files) : std::make_shared<ProbedFiles>()),
      tracee_(std::move(tracee)),
      memory_(std::move(memory)),
      arena_(std::move(arena)),
      mapper_(tracee_),
      placement_(mapper_, memory_, arena_),
      signals_(mapper_),
      points_(tracee_, placement_, arena_, *files_),
      rings_(memory_),
      hit_tables_(memory_),
      stacks_(memory_, tracee_.pid()),
      names_(memory_, tracee_.pid()),
      watch_(memory_, tracee_.pid()),
      follower_(memory_, tracee_.pid()) {}

InprocRuntime::~InprocRuntime() {
  if (!poll_exit()) (void)detach();
}

Result<std::unique_ptr<InprocRuntime>> InprocRuntime::make(Result<Tracee> tracee, const SessionOptions& options) {
  if (!tracee) return std::unexpected(std::move(tracee.error()));
  auto memory = KEVT_TRY(SessionMemory::create(options));
  auto arena = KEVT_TRY(CodeArena::create());
  std::unique_ptr<InprocRuntime> made(
      new InprocRuntime(std::move(*tracee), std::move(memory), std::move(arena), options.files));
  made->hooked_ = options.follows_exec ? HookedCalls::SignalsAndExec : HookedCalls::Signals;
  return made;
}

Result<std::unique_ptr<InprocRuntime>> InprocRuntime::launch(const std::vector<std::string>& argv,
                                                             const SessionOptions& options) {
  KEVT_TRY(check_clock());
  auto made = make(Tracee::spawn(argv), options);
  if (!made) return made;
  auto ready = run_until_loaded((*made)->tracee_);
  if (ready) ready = (*made)->prepare();
  if (!ready) {
    kill((*made)->pid(), SIGKILL);  // it has not run an instruction of its own yet
    return std::unexpected(std::move(ready.error()).while_doing("preparing " + argv[0]));
  }
  return made;
}

Result<std::unique_ptr<InprocRuntime>> InprocRuntime::adopt(Tracee program, const SessionOptions& options) {
  auto made = make(std::move(program), options);
  if (!made) return made;
  auto ready = run_until_loaded((*made)->tracee_);
  if (ready) ready = (*made)->prepare();
  if (!ready) return std::unexpected(std::move(ready.error()).while_doing("preparing the program it has become"));
  return made;
}

Result<void> InprocRuntime::check_clock() {
  if (TscClock::is_usable()) return {};
  return std::unexpected(
      Error("this CPU's time-stamp counter is not constant (constant_tsc, nonstop_tsc), and not the kernel's clock "
            "source: no clock for hits"));
}

Result<std::unique_ptr<InprocRuntime>> InprocRuntime::attach(pid_t pid, const SessionOptions& options) {
  KEVT_TRY(check_clock());
  KEVT_TRY(make_free(pid));
  auto made = make(attach_when_set_up(pid), options);
  if (!made) return made;
  if (auto ready = (*made)->prepare(); !ready)
    return std::unexpected(std::move(ready.error()).while_doing(fmt::format("preparing process {}", pid)));
  return made;
}

Result<void> InprocRuntime::prepare() {
  target_began_ = proc::start_time(tracee_.pid());
  clock_.sample();
  KEVT_TRY(placement_.place_agent());
  KEVT_TRY(note_filter());
  KEVT_TRY(hook_calls());
  if (hooked_ == HookedCalls::SignalsAndExec) {
    follower_.begin();
    tracee_.set_while_stopping([this] { follower_.answer_others(); });
  }
  return {};
}

// Notes a seccomp filter that is there already. The agent sees one that comes later (kevt_answer_call).
Result<void> InprocRuntime::note_filter() {
  const auto& threads = tracee_.threads();
  if (std::ranges::any_of(threads, [this](pid_t tid) { return tracee_.is_strict(tid); }))
    return std::unexpected(Error("it runs in seccomp's strict mode, where a hit cannot read the time"));
  if (std::ranges::none_of(threads, [this](pid_t tid) { return tracee_.has_own_filter(tid); })) return {};
  const std::uint64_t noted[] = {1, tracee_.pid_in_its_namespace()};
  static_assert(offsetof(kevt_private, strict) == offsetof(kevt_private, filtered) + 2 * sizeof(std::uint64_t) &&
                offsetof(kevt_private, pid) == offsetof(kevt_private, filtered) + sizeof(std::uint64_t));
  const RemoteAddr at = placement_.agent().priv + offsetof(kevt_private, filtered);
  return tracee_.write(at, {reinterpret_cast<const std::uint8_t*>(noted), sizeof noted});
}

Result<void> InprocRuntime::hook_calls() {
  std::vector<TextPatch> patches;
  auto objects = KEVT_TRY(points_.objects());
  for (ProbedObject* object : objects) {
    auto planned = KEVT_TRY(plan_signal_hooks(*object->image, object->bias, hooked_, placement_, arena_, memory_));
    std::ranges::move(planned, std::back_inserter(patches));
  }
  KEVT_TRY(apply_patches(tracee_, signals_, patches));
  return signals_.take();
}

Result<std::vector<RemoteAddr>> InprocRuntime::resolve_indirect(std::span<const RemoteAddr> resolvers) {
  const auto held = KEVT_TRY(hold());
  std::vector<std::uint64_t> functions;
  for (const RemoteAddr resolver : resolvers) functions.push_back(resolver.value);
  const RemoteAddr call_each = placement_.agent().base + agent_table().call_each;
  KEVT_TRY(tracee_.call(call_each, functions));
  std::vector<RemoteAddr> chosen;
  for (const std::uint64_t address : functions) chosen.push_back({address});
  return chosen;
}

Result<RemoteAddr> InprocRuntime::step() {
  KEVT_TRY(tracee_.step());
  auto registers = KEVT_TRY(tracee_.registers(tracee_.threads().front()));
  return RemoteAddr{registers.rip};
}

bool InprocRuntime::is_ours(RemoteAddr at) const { return arena_.has(at); }

runtime::Capabilities InprocRuntime::capabilities() const {
  return {.name = "inproc",
          .sees_misses = true,
          .clocks = {"mono"},
          .hit_histograms = model::kMaxHitHistograms,
          .names_threads = true,
          .numbers_stacks = true};
}

// ---- installing -----------------------------------------------------------------------------

Result<InprocRuntime::Installed> InprocRuntime::install_one(const model::CompiledEvent& event, BatchCode& code,
                                                            std::uint32_t id) {
  const RemoteAddr place{event.place_address};
  auto object = KEVT_TRY(points_.object_at(place));
  auto image = KEVT_TRY(code.image_for(event, *object));
  const RemoteAddr base = image->at;
  auto block = KEVT_TRY(add_event(base + event.block, event.slots.size(), event.sinks));
  Installed made{.place = place, .image = std::move(image), .block = block, .sinks = event.sinks, .id = id};
  kevt_event& b = *block.local;
  b.event_id = id;
  // A place in a file has no function: as in the kernel, the function is the place then.
  const bool has_function = event.definition.probe_kind == model::ProbeKind::Return && event.function_address != 0;
  b.probe_address = has_function ? event.function_address : event.place_address;
  b.maxactive = event.definition.maxactive.value_or(0);
  if (const auto& injection = event.injection) {
    b.inject_below = injection->below;
    b.inject_times = injection->times;
    b.inject_seed = injection->seed;
  }
  for (const model::HitTable& shape : event.hit_tables) {
    auto table = take_hit_table();
    if (!table) {
      give_back(made);
      return std::unexpected(std::move(table.error()));
    }
    made.tables.push_back({*table, shape});
  }
  b.argument_count = static_cast<std::uint32_t>(event.entry_arguments.size());
  std::ranges::copy(event.entry_arguments, b.argument_numbers);
  for (std::size_t i = 0; i < event.slots.size(); ++i) {
    const model::SlotSource& slot = event.slots[i];
    if (slot.kind == model::SlotKind::SharedCell)
      b.slots[i] = memory_.word(static_cast<std::uint64_t>(slot.addend)).value;
    else if (slot.kind == model::SlotKind::HitTable)
      b.slots[i] = hit_tables_.target(made.tables[static_cast<std::size_t>(slot.addend)].index).value;
    else
      b.slots[i] = slot.address;
  }
  std::optional<std::int64_t> returned;
  if (event.injection) returned = event.injection->value;
  made.point = event.definition.probe_kind;
  made.semaphore = RemoteAddr{event.semaphore_address};
  made.code = {base + event.entry, base + event.block, event.register_reads, returned};
  return made;
}

Result<std::uint32_t> InprocRuntime::take_hit_table() {
  auto table = hit_tables_.take();
  if (!table || hit_tables_.target(*table).value) return table;
  auto at = placement_.map_hit_table(hit_tables_, *table);
  if (!at) {
    hit_tables_.close();
    return std::unexpected(std::move(at.error()));
  }
  hit_tables_.note_mapped(*table, *at);
  return table;
}

Result<SessionMemory::EventBlock> InprocRuntime::add_event(RemoteAddr at, std::size_t slots, std::uint32_t sinks) {
  auto* local = arena_.local(at, sizeof(kevt_event) + 8 * slots);
  return memory_.add_event(reinterpret_cast<kevt_event*>(local), at, sinks);
}

Result<std::vector<std::string>> InprocRuntime::refusals(const model::CompiledBatch& batch) {
  const auto held = KEVT_TRY(hold());
  std::vector<std::string> found;
  StoppedText text(tracee_);
  for (const model::CompiledEvent& event : batch.events) {
    auto point = point_anew(RemoteAddr{event.place_address}, text);
    std::string& refusal = found.emplace_back(point ? why_not_there(event, **point) : point.error().message());
    if (!refusal.empty())
      refusal = Error(std::move(refusal)).while_doing("placing `" + event.definition.command + "`").message();
  }
  return found;
}

// All that are refused are named at once, each on a line of its own.
Result<void> InprocRuntime::check_places(const model::CompiledBatch& batch) {
  auto found = KEVT_TRY(refusals(batch));
  std::erase(found, "");
  if (found.empty()) return {};
  if (found.size() == 1) return std::unexpected(Error(std::move(found.front())));
  std::string all = fmt::format("{} of {} events cannot be placed", found.size(), batch.events.size());
  for (const std::string& refusal : found) all += "\n  " + refusal;
  return std::unexpected(Error(std::move(all)));
}

Result<std::vector<ProbeHandle>> InprocRuntime::install(const model::CompiledBatch& batch,
                                                        std::span<const std::uint32_t> ids) {
  const auto held = KEVT_TRY(hold());
  KEVT_TRY(check_places(batch));
  reclaim_when_due(batch);
  BatchCode code(batch, placement_, arena_);
  std::vector<Installed> made;
  for (std::size_t i = 0; i < batch.events.size(); ++i) {
    auto one = install_one(batch.events[i], code, ids[i]);
    if (!one) {
      for (Installed& before : made) give_back(before);
      code.give_back();
      return std::unexpected(std::move(one.error()));
    }
    made.push_back(std::move(*one));
  }
  std::vector<ProbeHandle> handles;
  for (Installed& one : made) {
    const std::uint32_t event_id = one.id;
    handles.push_back(keep(std::move(one)));
    by_id_[event_id].push_back(handles.back());
    note_newest(event_id);
  }
  return handles;
}

ProbeHandle InprocRuntime::keep(Installed made) {
  const auto handle = free_handles_.empty() ? static_cast<ProbeHandle>(installed_.size()) : free_handles_.back();
  at_site_[made.place.value].push_back(handle);
  if (free_handles_.empty()) {
    installed_.push_back(std::move(made));
  } else {
    installed_[handle] = std::move(made);
    free_handles_.pop_back();
  }
  return handle;
}

}  // namespace kevt::inproc
