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
#include <fstream>
#include <set>

#include "runtime-user/runtime/inproc/forked_children.h"
#include "runtime-user/runtime/inproc/signal_hooks.h"
#include "runtime-user/runtime/inproc/startup.h"

namespace kevt::inproc {

using runtime::ProbeHandle;

namespace {

constexpr std::uint64_t kAheadTsc = 1ull << 36;  // half a minute: a stamp from further in the future is nonsense

std::uint32_t common_u32(std::span<const std::uint8_t> record, std::size_t at) {
  std::uint32_t value = 0;
  if (at + 4 <= record.size()) std::memcpy(&value, record.data() + at, 4);
  return value;
}

// Why a return probe may not stand there; empty: it may, or the event is none.
std::string why_no_return_probe(const model::CompiledEvent& event, const ProbePoint& point) {
  if (event.definition.point != model::ProbePoint::Return) return "";
  const target::ElfImage& image = *point.object->image;
  const auto symbol = image.symbol_covering(ImageAddr{point.site.value - point.object->bias});
  return x86::return_probe_refusal(image, symbol ? symbol->name : std::string_view()).value_or("");
}

}  // namespace

// After exec the process is another program: nothing of ours is there, and nothing of it may be touched.
Result<InprocRuntime::Hold> InprocRuntime::hold() {
  if (left_) return std::unexpected(Error("the process is not traced any more"));
  const bool was_stopped = tracee_.is_stopped();
  if (auto stopped = tracee_.stop(); !stopped) return std::unexpected(std::move(stopped.error()));
  Hold held(tracee_, was_stopped);
  if (!memory_.target().value) return held;
  std::uint64_t self = 0;
  const RemoteAddr at = memory_.target() + offsetof(kevt_shared, self);
  auto got = tracee_.read(at, {reinterpret_cast<std::uint8_t*>(&self), sizeof self});
  if (!got && poll_exit()) return std::unexpected(Error("the process is gone", ESRCH));
  if (!got || self != memory_.target().value) replaced_ = true;
  if (replaced_)
    return std::unexpected(Error("the process has been replaced by another program (exec): its probes are gone"));
  return held;
}

InprocRuntime::InprocRuntime(Tracee tracee, SessionMemory memory, CodeArena arena)
    : tracee_(std::move(tracee)),
      memory_(std::move(memory)),
      arena_(std::move(arena)),
      placement_(tracee_, memory_, arena_),
      signals_(tracee_, placement_),
      points_(tracee_, placement_, arena_),
      watch_(memory_) {}

InprocRuntime::~InprocRuntime() {
  if (!poll_exit()) (void)detach();
}

Result<std::unique_ptr<InprocRuntime>> InprocRuntime::launch(const std::vector<std::string>& argv,
                                                             const SessionOptions& options) {
  if (auto usable = check_clock(); !usable) return std::unexpected(std::move(usable.error()));
  auto memory = SessionMemory::create(options);
  if (!memory) return std::unexpected(std::move(memory.error()));
  auto arena = CodeArena::create();
  if (!arena) return std::unexpected(std::move(arena.error()));
  auto tracee = Tracee::spawn(argv);
  if (!tracee) return std::unexpected(std::move(tracee.error()));
  std::unique_ptr<InprocRuntime> made(new InprocRuntime(std::move(*tracee), std::move(*memory), std::move(*arena)));
  auto ready = run_until_loaded(made->tracee_);
  if (ready) ready = made->prepare();
  if (!ready) {
    kill(made->pid(), SIGKILL);  // it has not run an instruction of its own yet
    return std::unexpected(std::move(ready.error()).while_doing("preparing " + argv[0]));
  }
  return made;
}

Result<void> InprocRuntime::check_clock() {
  if (TscClock::is_usable()) return {};
  return std::unexpected(
      Error("this CPU's time-stamp counter is not constant (constant_tsc, nonstop_tsc): no clock for hits"));
}

Result<std::unique_ptr<InprocRuntime>> InprocRuntime::attach(pid_t pid, const SessionOptions& options) {
  if (auto usable = check_clock(); !usable) return std::unexpected(std::move(usable.error()));
  auto memory = SessionMemory::create(options);
  if (!memory) return std::unexpected(std::move(memory.error()));
  auto arena = CodeArena::create();
  if (!arena) return std::unexpected(std::move(arena.error()));
  auto tracee = Tracee::attach(pid);
  if (!tracee) return std::unexpected(std::move(tracee.error()));
  std::unique_ptr<InprocRuntime> made(new InprocRuntime(std::move(*tracee), std::move(*memory), std::move(*arena)));
  if (auto ready = made->prepare(); !ready)
    return std::unexpected(std::move(ready.error()).while_doing(fmt::format("preparing process {}", pid)));
  return made;
}

Result<void> InprocRuntime::prepare() {
  clock_.sample();
  if (auto placed = placement_.place_agent(); !placed) return placed;
  return hook_signals();
}

Result<void> InprocRuntime::hook_signals() {
  std::vector<TextPatch> patches;
  auto objects = points_.objects();
  if (!objects) return std::unexpected(std::move(objects.error()));
  for (ProbedObject* object : *objects) {
    auto planned = plan_signal_hooks(*object->image, object->bias, placement_, arena_, hook_undo_);
    if (!planned) return std::unexpected(std::move(planned.error()));
    std::ranges::move(*planned, std::back_inserter(patches));
  }
  if (auto patched = apply_patches(tracee_, signals_, patches); !patched) return patched;
  return signals_.take();
}

Result<RemoteAddr> InprocRuntime::resolve_indirect(RemoteAddr resolver) {
  auto held = hold();
  if (!held) return std::unexpected(std::move(held.error()));
  auto chosen = tracee_.call(resolver);
  if (!chosen) return std::unexpected(std::move(chosen.error()));
  return RemoteAddr{*chosen};
}

Result<RemoteAddr> InprocRuntime::step() {
  if (auto stepped = tracee_.step(); !stepped) return std::unexpected(std::move(stepped.error()));
  auto registers = tracee_.registers(tracee_.threads().front());
  if (!registers) return std::unexpected(std::move(registers.error()));
  return RemoteAddr{registers->rip};
}

bool InprocRuntime::is_ours(RemoteAddr at) const { return arena_.has(at); }

runtime::Capabilities InprocRuntime::capabilities() const { return {"inproc", true, {"mono"}}; }

// ---- installing -----------------------------------------------------------------------------

Result<InprocRuntime::Installed> InprocRuntime::install_one(const model::CompiledEvent& event, BatchCode& code,
                                                            std::uint32_t id) {
  const RemoteAddr place{event.place_address};
  auto object = points_.object_at(place);
  if (!object) return std::unexpected(std::move(object.error()));
  auto base = code.image_for(event, **object);
  if (!base) return std::unexpected(std::move(base.error()));
  auto block = add_event(*base + event.block, event.slots.size(), event.sinks);
  if (!block) return std::unexpected(std::move(block.error()));
  kevt_event& b = *block->local;
  b.event_id = id;
  b.probe_address = event.definition.point == model::ProbePoint::Return ? event.function_address : event.place_address;
  b.maxactive = event.definition.maxactive.value_or(0);
  for (std::size_t i = 0; i < event.slots.size(); ++i) b.slots[i] = event.slots[i].address;
  return Installed{.place = place,
                   .point = event.definition.point,
                   .code = {*base + event.entry, *base + event.block, event.register_reads},
                   .block = *block,
                   .id = id};
}

Result<SessionMemory::EventBlock> InprocRuntime::add_event(RemoteAddr at, std::size_t slots, std::uint32_t sinks) {
  auto* local = arena_.local(at, sizeof(kevt_event) + 8 * slots);
  return memory_.add_event(reinterpret_cast<kevt_event*>(local), at, sinks);
}

// All that are refused are named at once, each on a line of its own.
Result<void> InprocRuntime::check_places(const model::CompiledBatch& batch) {
  std::vector<Error> refusals;
  for (const model::CompiledEvent& event : batch.events) {
    auto point = points_.at(RemoteAddr{event.place_address});
    std::string refusal = point ? why_no_return_probe(event, **point) : point.error().message();
    if (refusal.empty()) continue;
    refusals.push_back(Error(std::move(refusal)).while_doing("placing `" + event.definition.command + "`"));
  }
  if (refusals.empty()) return {};
  if (refusals.size() == 1) return std::unexpected(std::move(refusals.front()));
  std::string all = fmt::format("{} of {} events cannot be placed", refusals.size(), batch.events.size());
  for (const Error& refusal : refusals) all += "\n  " + refusal.message();
  return std::unexpected(Error(std::move(all)));
}

Result<std::vector<ProbeHandle>> InprocRuntime::install(const model::CompiledBatch& batch,
                                                        std::span<const std::uint32_t> ids) {
  auto held = hold();
  if (!held) return std::unexpected(std::move(held.error()));
  if (auto placeable = check_places(batch); !placeable) return std::unexpected(std::move(placeable.error()));
  BatchCode code(batch, placement_, arena_);
  std::vector<Installed> made;
  for (std::size_t i = 0; i < batch.events.size(); ++i) {
    auto one = install_one(batch.events[i], code, ids[i]);
    if (!one) return std::unexpected(std::move(one.error()));
    made.push_back(std::move(*one));
  }
  std::vector<ProbeHandle> handles;
  for (Installed& one : made) {
    handles.push_back(keep(std::move(one)));
    by_id_[installed_.back().id] = handles.back();
  }
  return handles;
}

ProbeHandle InprocRuntime::keep(Installed made) {
  const auto handle = static_cast<ProbeHandle>(installed_.size());
  at_site_[made.place.value].push_back(handle);
  installed_.push_back(std::move(made));
  return handle;
}

// ---- arming ---------------------------------------------------------------------------------

// What the site must hold now, given which of its events are armed; nullopt: it holds it already.
Result<std::optional<TextPatch>> InprocRuntime::patch_for(ProbePoint& point) {
  DetourSpec spec;
  std::vector<std::uint32_t> key;
  for (ProbeHandle probe : at_site_[point.site.value]) {
    const Installed& one = installed_[probe];
    if (!one.armed) continue;
    key.push_back(probe);
    (one.point == model::ProbePoint::Return ? spec.returns : spec.entries).push_back(one.code);
  }
  if (key.empty()) {
    if (point.patch.empty()) return std::nullopt;
    if (auto noted = memory_.map_address(point.site, RemoteAddr{}); !noted)
      return std::unexpected(std::move(noted.error()));
    return ProbePoints::disarm_patch(point);
  }
  auto made = points_.detour_for(point, key, std::move(spec));
  if (!made) return std::unexpected(std::move(made.error()));
  if (auto noted = memory_.map_address(point.site, (*made)->at); !noted)
    return std::unexpected(std::move(noted.error()));
  return ProbePoints::arm_patch(point, **made);
}

Result<void> InprocRuntime::rearm(std::span<const ProbeHandle> probes) {
  const bool had_guards = guards_.has_value();
  auto done = change_sites(probes);
  if (done || had_guards || !guards_) return done;
  for (ProbeHandle guard : *guards_) installed_[guard].armed = false;
  guards_.reset();
  return done;
}

Result<void> InprocRuntime::change_sites(std::span<const ProbeHandle> probes) {
  auto held = hold();
  if (!held) return std::unexpected(std::move(held.error()));
  std::vector<ProbeHandle> changed(probes.begin(), probes.end());
  if (auto guarded = guard_unwinders(changed); !guarded) return guarded;
  std::set<RemoteAddr> sites;
  for (ProbeHandle probe : changed) sites.insert(installed_[probe].place);
  std::vector<TextPatch> patches;
  for (RemoteAddr site : sites) {
    auto point = points_.at(site);
    if (!point) return std::unexpected(std::move(point.error()));
    auto patch = patch_for(**point);
    if (!patch) return std::unexpected(std::move(patch.error()));
    if (*patch) patches.push_back(std::move(**patch));
  }
  for (RemoteAddr site : take_out_gone(tracee_, patches)) points_.mark_gone(site);
  return apply_patches(tracee_, signals_, patches);
}

Result<void> InprocRuntime::arm(std::span<const ProbeHandle> probes) {
  for (ProbeHandle probe : probes) {
    installed_[probe].armed = true;
    set_gates(*installed_[probe].block.local, ~0u);
  }
  auto done = rearm(probes);
  if (done) return done;
  for (ProbeHandle probe : probes) {
    installed_[probe].armed = false;
    set_gates(*installed_[probe].block.local, 0u);
  }
  return done;
}

Result<void> InprocRuntime::disarm(std::span<const ProbeHandle> probes) {
  for (ProbeHandle probe : probes) {
    installed_[probe].armed = false;
    set_gates(*installed_[probe].block.local, 0u);
  }
  return rearm(probes);
}

Result<void> InprocRuntime::remove(std::span<const ProbeHandle> probes) {
  return disarm(probes);  // its code and its counters stay until the session ends
}

// One stop changes all sites. What is disarmed keeps its gate until then.
Result<void> InprocRuntime::replace(std::span<const ProbeHandle> armed, std::span<const ProbeHandle> disarmed) {
  const auto set = [&](std::span<const ProbeHandle> probes, bool on) {
    for (ProbeHandle probe : probes) installed_[probe].armed = on;
  };
  set(armed, true);
  set(disarmed, false);
  for (ProbeHandle probe : armed) set_gates(*installed_[probe].block.local, ~0u);
  std::vector<ProbeHandle> changed(armed.begin(), armed.end());
  changed.insert(changed.end(), disarmed.begin(), disarmed.end());
  auto done = rearm(changed);
  if (!done) {
    set(armed, false);
    set(disarmed, true);
  }
  for (ProbeHandle probe : done ? disarmed : armed) set_gates(*installed_[probe].block.local, 0u);
  return done;
}

// A call whose return address was given back counts as missed.
Departure::Missed InprocRuntime::count_missed_in(const Tracee& tracee) const {
  return [this, &tracee](const ThreadNote& thread, RemoteAddr event) {
    const auto it = std::ranges::find(installed_, event, [](const Installed& one) { return one.block.target; });
    if (it == installed_.end()) return;
    const RemoteAddr at{thread.counts + it->block.row_offset + offsetof(kevt_counts, missed)};
    std::uint64_t missed = 0;
    const std::span<std::uint8_t> bytes(reinterpret_cast<std::uint8_t*>(&missed), sizeof missed);
    if (!tracee.read(at, bytes)) return;
    ++missed;
    (void)tracee.write(at, bytes);
  };
}

Result<Leftover> InprocRuntime::detach() {
  if (left_) return *left_;
  watch_.end();
  std::vector<ProbeHandle> all;
  for (std::size_t i = 0; i < installed_.size(); ++i)
    if (installed_[i].armed && !installed_[i].is_guard) all.push_back(static_cast<ProbeHandle>(i));
  auto held = hold();
  if (replaced_) return *(left_ = Leftover::Unseen);  // nothing of ours is left to take away
  if (!held) return std::unexpected(std::move(held.error()));
  if (!placement_.agent().base.value) {  // it never got that far
    if (auto gone = placement_.take_away(); !gone) return std::unexpected(std::move(gone.error()));
    return *(left_ = Leftover::Nothing);
  }
  if (auto disarmed = disarm(all); !disarmed) return std::unexpected(std::move(disarmed.error()));
  std::vector<TextPatch> last = hook_undo_;
  for (auto& [site, point] : points_.all())
    if (!point.patch.empty()) last.push_back(ProbePoints::disarm_patch(point));
  auto left = Departure(tracee_, placement_, signals_, arena_)
                  .leave(last, memory_.shared().check_offset, count_missed_in(tracee_));
  if (left) left_ = *left;
  return left;
}

// What is patched in the child is seen in its text: it was forked at some moment between two changes.
Result<Leftover> InprocRuntime::leave_child(pid_t pid) {
  auto child = Tracee::attach(pid);
  if (!child) return Leftover::Unseen;  // it ended meanwhile, or somebody else traces it
  std::uint64_t self = 0;
  const RemoteAddr at = memory_.target() + offsetof(kevt_shared, self);
  if (!child->read(at, {reinterpret_cast<std::uint8_t*>(&self), sizeof self}) || self != memory_.target().value)
    return Leftover::Unseen;
  Placement placement(*child, memory_, arena_);
  placement.adopt(placement_);
  SignalHandover signals(*child, placement);
  signals.adopt();
  std::vector<TextPatch> first, last = hook_undo_;
  for (const auto& [site, point] : points_.all()) {
    std::vector<std::uint8_t> now(point.live.size());
    if (!child->read(site, now) || !ProbePoints::is_patch_of(point, now)) continue;
    (is_guard_site(site) ? last : first).push_back({.site = site, .bytes = point.live, .expected = now});
  }
  if (auto disarmed = apply_patches(*child, signals, first); !disarmed)
    return std::unexpected(std::move(disarmed.error()));
  return Departure(*child, placement, signals, arena_)
      .leave(last, memory_.shared().check_offset, count_missed_in(*child));
}

Result<Leftover> InprocRuntime::leave_children() {
  Leftover worst = Leftover::Nothing;
  for (const Installed& one : installed_) set_gates(*one.block.local, 0u);
  for (pid_t pid : processes_sharing(memory_.fd())) {
    if (pid == tracee_.pid()) continue;
    auto left = leave_child(pid);
    if (!left && left.error().errno_value() == ESRCH) continue;  // it ended meanwhile
    if (!left) return left;
    if (*left == Leftover::Code || *left == Leftover::Agent) worst = *left;
  }
  return worst;
}

// /proc/PID/mem stays with the memory it was opened on: after exec nothing can be read through it.
bool InprocRuntime::was_replaced() {
  if (replaced_ || left_ || tracee_.is_stopped()) return replaced_;
  std::uint64_t self = 0;
  const RemoteAddr at = memory_.target() + offsetof(kevt_shared, self);
  if (tracee_.read(at, {reinterpret_cast<std::uint8_t*>(&self), sizeof self}) && self == memory_.target().value)
    return false;
  replaced_ = !poll_exit();
  return replaced_;
}

// ---- counting and reading -------------------------------------------------------------------

runtime::EventCounts InprocRuntime::counts(ProbeHandle probe) const {
  const kevt_counts sum = memory_.counts(installed_[probe].block.row_offset);
  runtime::EventCounts counts{sum.hits, sum.recorded, sum.filtered, sum.lost, sum.missed, sum.faults};
  // Hits that died with their process between the first counter and the last one.
  if (settled_) counts.lost += counts.attempts - (sum.recorded + sum.filtered + sum.lost + sum.missed);
  return counts;
}

runtime::ArmStatus InprocRuntime::arm_status(ProbeHandle probe) const {
  const Installed& one = installed_[probe];
  auto point = const_cast<ProbePoints&>(points_).at(one.place);
  if (!point) return {};
  if ((*point)->gone) return {runtime::ArmState::Gone, (*point)->object->loaded.path + " was unloaded"};
  if (!one.armed) return {};
  if ((*point)->plan.kind == x86::ArmKind::Jump) return {runtime::ArmState::Jump, ""};
  return {runtime::ArmState::Breakpoint, (*point)->plan.reason};
}

// A thread's note is written before its first record.
void InprocRuntime::read_names() {
  const auto owners = memory_.owners();
  owner_generations_.resize(owners.size(), 0);
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const std::uint64_t generation = __atomic_load_n(&owners[i].generation, __ATOMIC_ACQUIRE);
    if (generation == owner_generations_[i]) continue;
    owner_generations_[i] = generation;
    comms_[owners[i].tid] = std::string(owners[i].comm, strnlen(owners[i].comm, KEVT_COMM_BYTES));
  }
}

std::string_view InprocRuntime::comm_of(std::uint32_t tid) const {
  auto it = comms_.find(tid);
  return it == comms_.end() ? std::string_view("<...>") : std::string_view(it->second);
}

void InprocRuntime::deliver(const runtime::RecordSink& sink, std::uint64_t until) {
  read_names();
  std::ranges::stable_sort(pending_, {}, &Pending::tsc);
  while (!pending_.empty() && pending_.front().tsc <= until) {
    const Pending& p = pending_.front();
    const auto it = by_id_.find(common_u32(p.bytes, 0) & 0xffff);
    if (it != by_id_.end()) {
      runtime::Record record;
      record.event = it->second;
      record.timestamp_ns = clock_.to_ns(p.tsc);
      record.cpu = p.cpu;
      record.comm = comm_of(common_u32(p.bytes, 4));
      record.bytes = p.bytes;
      sink(record);
    }
    pending_.pop_front();
  }
}

// Records newer than the start of this drain wait for the next one: another CPU's ring may still
// hold an older one.
std::size_t InprocRuntime::drain(const runtime::RecordSink& sink) {
  clock_.sample();
  const std::uint64_t until = settled_ ? ~0ull : clock_.now_tsc();
  const auto keep = [&](const RawRecord& raw) {
    // A stamp from the future, which only a broken target writes, would never be delivered.
    pending_.push_back({std::min(raw.tsc, clock_.now_tsc()), raw.cpu, {raw.bytes.begin(), raw.bytes.end()}});
  };
  std::size_t count = memory_.drain(keep);
  if (settled_) memory_.drain_abandoned(keep);
  deliver(sink, until);
  return count;
}

std::size_t InprocRuntime::drain_by_cpu(const runtime::RecordSink& sink) {
  clock_.sample();
  read_names();
  std::uint32_t last_tid = 0;
  std::string_view last_comm;
  const std::uint64_t newest = clock_.now_tsc() + kAheadTsc;
  const auto give = [&](const RawRecord& raw) {
    const auto it = by_id_.find(common_u32(raw.bytes, 0) & 0xffff);
    if (it == by_id_.end()) return;
    const std::uint32_t tid = common_u32(raw.bytes, 4);
    if (tid != last_tid || last_comm.empty()) {
      if (!comms_.contains(tid)) read_names();  // its note was written after ours were read, before this record
      last_tid = tid;
      last_comm = comm_of(tid);
    }
    sink({it->second, clock_.to_ns(std::min(raw.tsc, newest)), raw.cpu, last_comm, raw.bytes});
  };
  std::size_t count = memory_.drain(give);
  if (settled_) memory_.drain_abandoned(give);
  return count;
}

void InprocRuntime::settle() { settled_ = true; }

}  // namespace kevt::inproc
