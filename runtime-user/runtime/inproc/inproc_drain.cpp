// Counters and records of a session: what the rings hold, with the time and the name that belong to each record.
#include <algorithm>
#include <cstring>

#include "runtime-user/runtime/inproc/inproc_runtime.h"

namespace kevt::inproc {

using runtime::ProbeHandle;

namespace {

constexpr std::uint64_t kAheadTsc = 1ull << 36;  // half a minute: a stamp from further in the future is nonsense
constexpr std::size_t kFlagsAt = 2;              // common_flags
constexpr unsigned kMostReadings = 64;           // of the names, in one drain: records may name threads that never were

std::uint32_t common_u32(std::span<const std::uint8_t> record, std::size_t at) {
  std::uint32_t value = 0;
  if (at + 4 <= record.size()) std::memcpy(&value, record.data() + at, 4);
  return value;
}

}  // namespace

runtime::EventCounts InprocRuntime::counts(ProbeHandle probe) const {
  if (installed_[probe].last_counts) return *installed_[probe].last_counts;
  const kevt_counts sum = memory_.counts(installed_[probe].block.row);
  runtime::EventCounts counts{sum.hits, sum.recorded, sum.filtered, sum.lost, sum.missed, sum.faults, sum.aggregated};
  // Hits that died with their process between the first counter and the last one.
  if (settled_) counts.lost += counts.attempts - (sum.recorded + sum.aggregated + sum.filtered + sum.lost + sum.missed);
  return counts;
}

runtime::ArmStatus InprocRuntime::arm_status(ProbeHandle probe) const {
  const Installed& one = installed_[probe];
  const auto found = points_.all().find(one.place);
  if (found == points_.all().end()) return {};
  const ProbePoint& point = found->second;
  if (point.object->is_jit() && (point.gone || point.renamed))
    return {runtime::ArmState::Gone, "its code was moved, freed or compiled again", true};
  if (point.gone) return {runtime::ArmState::Gone, point.object->loaded.path + " was unloaded", watch_.has_begun()};
  if (!one.armed) return {};
  if (point.plan.kind == x86::ArmKind::Jump && !points_.uses_jumps())
    return {runtime::ArmState::Breakpoint, "jumps are switched off"};
  if (point.crowded) return {runtime::ArmState::Breakpoint, "another probe lies inside the bytes of a jump"};
  if (point.plan.kind == x86::ArmKind::Jump) return {runtime::ArmState::Jump, ""};
  return {runtime::ArmState::Breakpoint, point.plan.reason};
}

void InprocRuntime::note_newest(std::uint32_t event_id) {
  if (event_id >= newest_.size()) newest_.resize(event_id + 1, kNoHandle);
  const auto all = by_id_.find(event_id);
  newest_[event_id] = all == by_id_.end() ? kNoHandle : all->second.back();
}

// By the record's common_type.
ProbeHandle InprocRuntime::newest_of(std::span<const std::uint8_t> record) const {
  const std::uint32_t id = common_u32(record, 0) & 0xffff;
  return id < newest_.size() ? newest_[id] : kNoHandle;
}

// Cuts off the stack that stands behind the record, if one does.
std::span<const std::uint64_t> InprocRuntime::take_stack(std::span<std::uint8_t>& record) {
  if (record.size() < model::kCommonBytes || !(record[kFlagsAt] & model::kHasStack)) return {};
  record[kFlagsAt] &= static_cast<std::uint8_t>(~model::kHasStack);
  return stacks_.take(record);
}

void InprocRuntime::deliver(const runtime::RecordSink& sink, std::uint64_t until) {
  names_.read();
  pending_.take(until, [&](std::uint64_t tsc, Pending& p) {
    const ProbeHandle probe = newest_of(p.bytes);
    if (probe == kNoHandle) return;
    std::span bytes(p.bytes);
    const auto stack = take_stack(bytes);
    sink({.event = probe,
          .timestamp_ns = clock_.to_ns(tsc),
          .cpu = p.cpu,
          .comm = names_.name_of(common_u32(p.bytes, 4)),
          .bytes = bytes,
          .stack = stack});
  });
}

// Records newer than the start of this drain wait for the next one: another CPU's ring may still
// hold an older one.
std::size_t InprocRuntime::drain(const runtime::RecordSink& sink) {
  clock_.sample();
  const std::uint64_t until = settled_ ? ~0ull : clock_.now_tsc();
  const auto keep = [&](const RawRecord& raw) {
    // A stamp from the future, which only a broken target writes, would never be delivered.
    pending_.add(std::min(raw.tsc, clock_.now_tsc()), {raw.cpu, {raw.bytes.begin(), raw.bytes.end()}});
  };
  std::size_t count = rings_.drain(keep);
  if (settled_) rings_.drain_abandoned(keep);
  deliver(sink, until);
  return count;
}

std::size_t InprocRuntime::drain_by_cpu(const runtime::RecordSink& sink) {
  clock_.sample();
  names_.read();
  std::uint32_t last_tid = 0;
  unsigned readings = 0;
  std::string_view last_comm;
  const std::uint64_t newest = clock_.now_tsc() + kAheadTsc;
  const auto give = [&](const RawRecord& raw) {
    const ProbeHandle probe = newest_of(raw.bytes);
    if (probe == kNoHandle) return;
    const std::uint32_t tid = common_u32(raw.bytes, 4);
    if (tid != last_tid || last_comm.empty()) {
      // The thread's note was written before this record, but after names_ was read last.
      if (!names_.knows(tid) && readings++ < kMostReadings) names_.read();
      last_tid = tid;
      last_comm = names_.name_of(tid);
    }
    std::span bytes = raw.bytes;
    const auto stack = take_stack(bytes);
    sink({probe, clock_.to_ns(std::min(raw.tsc, newest)), raw.cpu, last_comm, bytes, stack});
  };
  std::size_t count = rings_.drain(give);
  if (settled_) rings_.drain_abandoned(give);
  return count;
}

void InprocRuntime::take_hit_counts(ProbeHandle probe, const runtime::HitCountSink& sink) {
  Installed& one = installed_[probe];
  if (one.tables.empty()) return;
  const std::uint64_t lost = counts(probe).lost;
  const std::uint64_t news = lost - std::exchange(one.lost_told, lost);
  for (const Installed::Table& table : one.tables) {
    hit_tables_.read(table.index, table.shape, sink);
    if (news) sink({.trigger = table.shape.trigger, .key = {}, .hits = news, .sums = {}});
  }
}

std::string_view InprocRuntime::thread_name(std::int32_t tid) {
  const auto number = static_cast<std::uint32_t>(tid);
  if (!names_.knows(number)) names_.read();
  return names_.name_of(number);
}

void InprocRuntime::settle() {
  settled_ = true;
  memory_.settle();
}

}  // namespace kevt::inproc
