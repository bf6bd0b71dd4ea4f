// A hit counts as a real one does: attempts, then recorded or filtered; it waits until it is drained.
#include "runtime-user/runtime/fake/fake_runtime.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kevt::runtime {

Result<std::vector<ProbeHandle>> FakeRuntime::install(const model::CompiledBatch& batch,
                                                      std::span<const std::uint32_t> ids) {
  if (auto refusal = std::exchange(next_refusal, std::nullopt)) return std::unexpected(*std::move(refusal));
  std::vector<ProbeHandle> handles;
  for (std::size_t i = 0; i < batch.events.size(); ++i) {
    handles.push_back(static_cast<ProbeHandle>(probes_.size()));
    probes_.push_back({.id = ids[i], .armed = false, .counts = {}, .tables = batch.events[i].hit_tables});
  }
  return handles;
}

Result<void> FakeRuntime::set(std::span<const ProbeHandle> probes, bool armed) {
  if (auto refusal = std::exchange(next_refusal, std::nullopt)) return std::unexpected(*std::move(refusal));
  if (armed)
    if (auto refusal = std::exchange(next_arm_refusal, std::nullopt)) return std::unexpected(*std::move(refusal));
  ++changes;
  if (before_change) {
    std::vector<std::uint32_t> ids;
    for (ProbeHandle probe : probes) ids.push_back(probes_[probe].id);
    before_change(ids, armed);
  }
  for (ProbeHandle probe : probes) probes_[probe].armed = armed;
  return {};
}

ArmStatus FakeRuntime::arm_status(ProbeHandle probe) const {
  if (probes_[probe].is_gone) return {ArmState::Gone, "its library was unloaded", true};
  return {probes_[probe].armed ? ArmState::Jump : ArmState::Off, ""};
}

void FakeRuntime::retire(std::span<const ProbeHandle> probes) {
  retired += probes.size();
  for (const ProbeHandle probe : probes) probes_[probe].is_retired = true;
}

void FakeRuntime::unload(std::uint32_t id) {
  for (Probe& probe : probes_) probe.is_gone = probe.is_gone || (probe.id == id && probe.armed);
}

void FakeRuntime::reclaim() {
  for (Probe& probe : probes_) probe.is_final = probe.is_retired;
}

std::size_t FakeRuntime::armed() const {
  return static_cast<std::size_t>(std::ranges::count_if(probes_, &Probe::armed));
}

std::size_t FakeRuntime::hit(std::uint32_t id, const FakeHit& hit) {
  std::size_t hits = 0;
  for (std::size_t i = 0; i < probes_.size(); ++i) {
    Probe& probe = probes_[i];
    if (probe.id != id || !probe.armed) continue;
    ++hits;
    ++probe.counts.attempts;
    if (is_kept && !is_kept(hit)) {
      ++probe.counts.filtered;
      continue;
    }
    ++probe.counts.recorded;
    waiting_.push_back({static_cast<ProbeHandle>(i), hit});
  }
  return hits;
}

void FakeRuntime::hit_and_be_killed(std::uint32_t id, const FakeHit& killed) {
  hit(id, killed);
  for (Probe& probe : probes_) {
    if (probe.id != id || !probe.armed) continue;
    --probe.counts.recorded;
    ++probe.counts.lost;
  }
}

void FakeRuntime::count(std::uint32_t id, std::vector<std::uint64_t> key, std::uint64_t hits,
                        std::vector<std::uint64_t> sums) {
  for (std::size_t i = 0; i < probes_.size(); ++i) {
    Probe& probe = probes_[i];
    if (probe.id != id || !probe.armed || probe.tables.empty()) continue;
    probe.counts.attempts += hits;
    (key.empty() ? probe.counts.lost : probe.counts.aggregated) += hits;
    counted_.push_back({static_cast<ProbeHandle>(i), probe.tables.front().trigger, key, hits, sums, ~0ull});
  }
}

void FakeRuntime::count_late(std::uint32_t id, std::vector<std::uint64_t> key, std::vector<std::uint64_t> sums,
                             std::uint64_t raised) {
  for (std::size_t i = 0; i < probes_.size(); ++i) {
    Probe& probe = probes_[i];
    if (probe.id != id || probe.armed || probe.tables.empty()) continue;
    ++probe.counts.attempts;
    ++probe.counts.aggregated;
    counted_.push_back({static_cast<ProbeHandle>(i), probe.tables.front().trigger, key, 1, sums, raised});
  }
}

std::size_t FakeRuntime::hit_tables(std::uint32_t id) const {
  std::size_t tables = 0;
  for (const Probe& probe : probes_)
    if (probe.id == id && probe.armed) tables += probe.tables.size();
  return tables;
}

void FakeRuntime::take_hit_counts(ProbeHandle probe, const HitCountSink& sink) {
  for (const Counted& one : counted_)
    if (one.probe == probe)
      sink({.trigger = one.trigger, .key = one.key, .hits = one.hits, .sums = one.sums, .raised = one.raised});
  std::erase_if(counted_, [&](const Counted& one) { return one.probe == probe; });
}

std::size_t FakeRuntime::drain(const RecordSink& sink) {
  std::ranges::stable_sort(waiting_, {}, [](const Waiting& one) { return one.hit.timestamp_ns; });
  const std::size_t count = waiting_.size();
  for (; !waiting_.empty(); waiting_.pop_front()) {
    const Waiting& one = waiting_.front();
    std::vector<std::uint8_t> bytes(model::kCommonBytes);
    const auto type = static_cast<std::uint16_t>(probes_[one.probe].id);
    std::memcpy(bytes.data(), &type, sizeof type);
    std::memcpy(bytes.data() + 4, &one.hit.pid, sizeof one.hit.pid);
    bytes.insert(bytes.end(), one.hit.bytes.begin(), one.hit.bytes.end());
    sink({.event = one.probe,
          .timestamp_ns = one.hit.timestamp_ns,
          .cpu = one.hit.cpu,
          .comm = one.hit.comm,
          .bytes = bytes,
          .stack = one.hit.stack});
  }
  return count;
}

}  // namespace kevt::runtime
