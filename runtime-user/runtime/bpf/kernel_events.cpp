// install() makes, for each distinct program of the batch, its events map and the program itself; events of equal
// programs get a block each and are told apart by the cookie they are attached with.
//
//   4,999 × `p f_i x=%di`, 1 × `p g y=%si`      two programs: one map of 4,999 blocks, one of 1
//
// Records are taken out of the rings CPU by CPU and put in order of their time. One that is newer than the start of a
// drain waits for the next: another CPU may still be writing an older one.
#include "runtime-user/runtime/bpf/kernel_events.h"

#include <bpf/bpf.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/assert.h"
#include "common/clock.h"
#include "common/page.h"
#include "runtime-user/runtime/bpf/entry_program.h"
#include "runtime-user/runtime/bpf/program.h"

namespace kevt::bpf {

using runtime::ProbeHandle;

namespace {

constexpr std::uint64_t kMostHitTableBytes = 256u << 20;  // less than the verifier lets an offset be: BPF_MAX_VAR_OFF

constexpr ProbeHandle kNoHandle = ~ProbeHandle{0};  // of static events

std::uint64_t read_word(const std::uint64_t& word) {
  return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_relaxed);
}

// What a slot holds: a shared cell's distance from the first word; an address in the probed file as a distance from the
// probe, to which the program adds its own address; else the address.
std::uint64_t slot_word(const model::CompiledEvent& event, const model::SlotSource& slot) {
  if (slot.kind == model::SlotKind::SharedCell) return 8 * static_cast<std::uint64_t>(slot.addend);
  if (slot.kind != model::SlotKind::FileAddress) return slot.address;
  const auto* place = std::get_if<model::FilePlace>(&event.definition.place);
  return slot.address - (place ? place->offset : 0);
}

std::vector<std::uint64_t> frames_in(std::span<const std::uint8_t> bytes) {
  std::vector<std::uint64_t> frames(bytes.size() / sizeof(std::uint64_t));
  if (!frames.empty()) std::memcpy(frames.data(), bytes.data(), frames.size() * sizeof frames[0]);
  return frames;
}

}  // namespace

Result<std::unique_ptr<KernelEvents>> KernelEvents::create(const KernelSession& session, EntryPrograms entries) {
  auto rings = KEVT_TRY(CpuRings::create(session.possible_cpus, session.ring_bytes));
  auto words = KEVT_TRY(ArrayMap::create("kevt_words", 8 * KEVT_BPF_WORDS, 1));
  return std::unique_ptr<KernelEvents>(new KernelEvents(std::move(rings), std::move(words), session, entries));
}

// A program that may interrupt others builds its records in a scratch of its own.
Result<int> KernelEvents::scratch_of(Group& group, const model::BpfCode& code) {
  const std::uint32_t bytes_per_cpu = code.scratch_bytes;
  const bool is_own = !model::has_cookie(code.context);
  if (bytes_per_cpu == 0) return -1;
  const bool is_preempted = model::may_sleep(code.context);
  for (const Scratch& one : scratches_)
    if (one.bytes_per_cpu == bytes_per_cpu && one.is_preempted == is_preempted && !is_own) return one.map.fd();
  auto map = KEVT_TRY(ArrayMap::create("kevt_scratch", bytes_per_cpu * code.cpus, 1));
  if (is_own) return group.scratch.emplace(std::move(map)).fd();
  scratches_.push_back({.bytes_per_cpu = bytes_per_cpu, .is_preempted = is_preempted, .map = std::move(map)});
  return scratches_.back().map.fd();
}

// The map of the group's hit tables; -1: the event has none.
Result<int> KernelEvents::hit_tables_of(Group& group, const model::CompiledEvent& one) {
  const std::size_t count = one.hit_tables.size();
  if (count == 0) return -1;
  if (count > free_hit_tables()) return std::unexpected(Error("no room for what hits count", ENOSPC));
  auto map = KEVT_TRY(ArrayMap::create("kevt_hits", static_cast<std::uint32_t>(count * table_bytes_), 1));
  group.hits.emplace(HitTables{.map = std::move(map), .readers = {}, .lost_told = 0}).readers.resize(count);
  hit_tables_ += count;
  return group.hits->map.fd();
}

// The map of stacks; -1: the program numbers none.
Result<int> KernelEvents::stacks_of(const model::BpfCode& code) {
  if (std::ranges::find(code.references, model::BpfMap::Stacks, &model::BpfReference::map) == code.references.end())
    return -1;
  if (!stacks_)
    stacks_ = UniqueFd(bpf_map_create(BPF_MAP_TYPE_STACK_TRACE, "kevt_stacks", sizeof(std::uint32_t),
                                      KEVT_BPF_STACK_BYTES, KEVT_BPF_STACKS, nullptr));
  if (!stacks_) return std::unexpected(bpf_error("a map of stacks", errno));
  return stacks_.get();
}

std::span<const std::uint64_t> KernelEvents::stack(std::uint64_t number) {
  if (const auto known = known_stacks_.find(number); known != known_stacks_.end()) return known->second;
  std::vector<std::uint64_t> frames(KEVT_BPF_STACK_BYTES / sizeof(std::uint64_t));
  const auto place = static_cast<std::uint32_t>(number - 1);
  if (!stacks_ || bpf_map_lookup_elem(stacks_.get(), &place, frames.data()) != 0) return {};
  frames.erase(std::ranges::find(frames, 0u), frames.end());
  return known_stacks_[number] = std::move(frames);
}

std::size_t KernelEvents::free_hit_tables() const {
  const std::size_t most = kMostHitTableBytes / table_bytes_;
  return most - std::min(most, hit_tables_);
}

// Makes the map of kept arguments, which lives as long as the return's program, and loads the entry program, where that
// is ours.
Result<UniqueFd> KernelEvents::keep_arguments(Group& group, const model::BpfCode& code,
                                              const model::CompiledEvent& one) {
  if (one.entry_arguments.empty()) return UniqueFd();
  auto map = KEVT_TRY(KeptMap::create(one.entry_arguments.size(), group.users, code.cpus));
  if (entries_ == EntryPrograms::None) return std::move(map.fd);
  group.entry_program = KEVT_TRY(load_entry_program({.event = one.definition.event,
                                                     .arguments = one.entry_arguments,
                                                     .kept = map.fd.get(),
                                                     .return_trampoline = return_trampoline_}));
  return std::move(map.fd);
}

Result<void> KernelEvents::load(Group& group, const model::BpfCode& code, std::uint32_t users,
                                const model::CompiledEvent& one) {
  group.users = users;
  auto events = KEVT_TRY(ArrayMap::create("kevt_events", code.event_bytes, users));
  auto scratch = KEVT_TRY(scratch_of(group, code));
  auto kept = KEVT_TRY(keep_arguments(group, code, one));
  auto hits = KEVT_TRY(hit_tables_of(group, one));
  auto stacks = KEVT_TRY(stacks_of(code));
  const ProgramMaps maps{.events = events.fd(),
                         .rings = rings_.map_fd(),
                         .scratch = scratch,
                         .words = words_.fd(),
                         .kept = kept.get(),
                         .hits = hits,
                         .stacks = stacks};
  auto program = KEVT_TRY(load_program(one.definition.event, code, maps));
  group.code = code;
  group.code.instructions.clear();
  group.program = std::move(program);
  group.events = std::move(events);
  return {};
}

void KernelEvents::fill_block(const Event& event, std::uint32_t id, ProbeHandle handle) {
  const Group& group = groups_[event.group];
  std::uint8_t* bytes = group.events->value(event.index);
  auto* block = reinterpret_cast<kevt_bpf_event*>(bytes);
  block->event_id = id;
  block->gates = ~0u;
  const std::uint64_t place = event.installed.event.place_address;
  block->probe_address = probed_address_ ? probed_address_(place) : place;
  block->handle = handle;
  for (std::size_t i = 0; i < event.installed.event.slots.size(); ++i) {
    const std::uint64_t word = slot_word(event.installed.event, event.installed.event.slots[i]);
    std::memcpy(bytes + group.code.slots_offset + 8 * i, &word, sizeof word);
  }
}

Result<std::vector<ProbeHandle>> KernelEvents::install(const model::CompiledBatch& batch,
                                                       std::span<const std::uint32_t> ids) {
  std::vector<std::uint32_t> users(batch.bpf.size(), 0);
  std::vector<const model::CompiledEvent*> any(batch.bpf.size(), nullptr);
  for (const model::CompiledEvent& event : batch.events) {
    ++users[event.bpf];
    any[event.bpf] = &event;
  }
  const auto first_group = static_cast<std::uint32_t>(groups_.size());
  for (std::size_t i = 0; i < batch.bpf.size(); ++i) {
    auto loaded = load(groups_.emplace_back(), batch.bpf[i], users[i], *any[i]);
    if (loaded) continue;
    for (std::size_t made = first_group; made < groups_.size(); ++made) drop_hit_tables(groups_[made]);
    groups_.resize(first_group);
    return std::unexpected(std::move(loaded.error()));
  }
  std::vector<std::uint32_t> next(batch.bpf.size(), 0);
  std::vector<ProbeHandle> handles;
  for (std::size_t i = 0; i < batch.events.size(); ++i) {
    const model::CompiledEvent& compiled = batch.events[i];
    const auto handle = static_cast<ProbeHandle>(events_.size());
    Event& event = events_.emplace_back();
    event.group = first_group + compiled.bpf;
    event.index = next[compiled.bpf]++;
    const Group& group = groups_[event.group];
    event.installed = {compiled, group.program.get(), group.entry_program.get(), event.index};
    fill_block(event, ids[i], handle);
    handles.push_back(handle);
  }
  return handles;
}

void KernelEvents::remove(ProbeHandle probe) {
  KEVT_ASSERT(probe < events_.size() && !events_[probe].removed);
  Event& event = events_[probe];
  event.removed = true;
  Group& group = groups_[event.group];
  if (--group.users > 0) return;
  group.program.reset();
  group.entry_program.reset();
  group.events.reset();
  group.scratch.reset();
  drop_hit_tables(group);
}

void KernelEvents::retire(ProbeHandle probe) {
  KEVT_ASSERT(probe < events_.size());
  Group& group = groups_[events_[probe].group];
  if (!group.hits) return;
  events_[probe].installed.program = events_[probe].installed.entry_program = -1;
  group.program.reset();
  group.entry_program.reset();
  group.scratch.reset();
  drop_hit_tables(group);
}

void KernelEvents::drop_hit_tables(Group& group) {
  if (group.hits) hit_tables_ -= group.hits->readers.size();
  group.hits.reset();
}

void KernelEvents::take_hit_counts(ProbeHandle probe, const runtime::HitCountSink& sink) {
  KEVT_ASSERT(probe < events_.size());
  const Event& event = events_[probe];
  auto& hits = groups_[event.group].hits;
  if (!hits) return;
  const std::uint64_t lost = counts(probe).lost;
  const std::uint64_t news = lost - std::exchange(hits->lost_told, lost);
  for (std::size_t i = 0; i < hits->readers.size(); ++i) {
    const model::HitTable& shape = event.installed.event.hit_tables[i];
    const std::uint8_t* const table = hits->map.value(0) + i * table_bytes_;
    for (std::uint64_t page = 0; page < table_bytes_; page += kPage)
      hits->readers[i].read_page(reinterpret_cast<const std::uint64_t*>(table), page, shape, sink);
    if (news) sink({.trigger = shape.trigger, .key = {}, .hits = news, .sums = {}});
  }
}

const KernelEvents::Installed& KernelEvents::at(ProbeHandle probe) const {
  KEVT_ASSERT(probe < events_.size());
  return events_[probe].installed;
}

runtime::EventCounts KernelEvents::counts(ProbeHandle probe) const {
  KEVT_ASSERT(probe < events_.size());
  const Event& event = events_[probe];
  const Group& group = groups_[event.group];
  runtime::EventCounts sum;
  if (!group.events) return sum;
  const auto* rows =
      reinterpret_cast<const kevt_bpf_counts*>(group.events->value(event.index) + sizeof(kevt_bpf_event));
  const std::uint32_t sinks = event.installed.event.sinks;
  for (std::uint32_t cpu = 0; cpu < group.code.cpus; ++cpu) {
    const kevt_bpf_counts& row = rows[std::size_t{cpu} * sinks];
    sum.attempts += read_word(row.hits);
    sum.recorded += read_word(row.recorded);
    sum.aggregated += read_word(row.aggregated);
    sum.filtered += read_word(row.filtered);
    sum.lost += read_word(row.lost);
    sum.missed += read_word(row.busy);
    sum.faults += read_word(row.faults);
  }
  return sum;
}

void KernelEvents::deliver(const runtime::RecordSink& sink, std::uint64_t until) {
  waiting_.take(until, [&](std::uint64_t, const Waiting& record) {
    kevt_bpf_prefix prefix;
    std::memcpy(&prefix, record.bytes.data(), sizeof prefix);
    prefix.comm[sizeof prefix.comm - 1] = '\0';
    if (prefix.handle >= events_.size() && prefix.handle != kNoHandle) return;
    sink({.event = prefix.handle,
          .timestamp_ns = prefix.time_ns,
          .cpu = record.cpu,
          .comm = prefix.comm,
          .bytes = std::span(record.bytes).subspan(sizeof prefix),
          .stack = record.stack});
  });
}

std::size_t KernelEvents::drain(const runtime::RecordSink& sink) {
  const std::uint64_t until = settled_ ? ~std::uint64_t{0} : now_ns();
  std::size_t count = rings_.drain([&](unsigned cpu, std::span<const std::uint8_t> bytes) {
    if (bytes.size() < sizeof(kevt_bpf_prefix) + model::kCommonBytes) return;
    kevt_bpf_prefix prefix;
    std::memcpy(&prefix, bytes.data(), sizeof prefix);
    const std::size_t room = bytes.size() - sizeof prefix - model::kCommonBytes;
    const auto stack = bytes.last(std::min<std::size_t>(prefix.stack_bytes, room));
    waiting_.add(prefix.time_ns, {cpu, {bytes.begin(), bytes.end() - std::ssize(stack)}, frames_in(stack)});
  });
  if (also_)
    count += also_->drain([&](const TracepointReader::Hit& hit) {
      kevt_bpf_prefix prefix = {.time_ns = hit.time_ns, .handle = kNoHandle, .stack_bytes = 0, .comm = {}};
      hit.comm.copy(prefix.comm, sizeof prefix.comm - 1);
      std::vector<std::uint8_t> bytes(sizeof prefix + hit.bytes.size());
      std::memcpy(bytes.data(), &prefix, sizeof prefix);
      std::ranges::copy(hit.bytes, bytes.begin() + sizeof prefix);
      waiting_.add(hit.time_ns, {hit.cpu, std::move(bytes), hit.stack});
    });
  deliver(sink, until);
  return count;
}

}  // namespace kevt::bpf
