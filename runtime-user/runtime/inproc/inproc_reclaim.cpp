// Code goes when its event goes. An event that was removed or retired is dead: disarmed for good, but a thread may
// still be inside its extractor or a detour that calls it, or come back there. So the dead wait, and now and then, when
// the target stands still to have code installed anyway, they are held against everything that may run:
//
//   threads of the target      CodeReferences: registers, stacks, return instances
//   other processes            CodeSharers: children that were forked while the code was there have jumps to it
//
// What nobody can reach is given back: bytes of the arena, keys of the address map, counter rows, hit tables, and the
// handle of an event that was removed. The others wait on; the more of them wait, the later comes the next look.
#include <algorithm>
#include <iterator>
#include <utility>

#include "common/error.h"
#include "runtime-user/runtime/inproc/inproc_runtime.h"

namespace kevt::inproc {

using runtime::ProbeHandle;

namespace {

std::size_t hit_tables_of(const model::CompiledBatch& batch) {
  std::size_t tables = 0;
  for (const model::CompiledEvent& event : batch.events) tables += event.hit_tables.size();
  return tables;
}

std::uint32_t rows_of(const model::CompiledBatch& batch) {
  std::uint32_t rows = 0;
  for (const model::CompiledEvent& event : batch.events) rows += event.sinks;
  return rows;
}

}  // namespace

Result<void> InprocRuntime::remove(std::span<const ProbeHandle> probes) {
  std::vector<ProbeHandle> armed;
  std::ranges::copy_if(probes, std::back_inserter(armed),
                       [this](ProbeHandle probe) { return installed_[probe].armed; });
  if (!armed.empty()) KEVT_TRY(disarm(armed));
  for (const ProbeHandle probe : probes) {
    installed_[probe].is_removed = true;
    if (installed_[probe].last_counts)
      forget_handle(probe);
    else
      add_dead(probe);
  }
  return {};
}

void InprocRuntime::retire(std::span<const ProbeHandle> probes) {
  for (const ProbeHandle probe : probes) add_dead(probe);
}

void InprocRuntime::add_dead(ProbeHandle probe) {
  if (!std::exchange(installed_[probe].is_dead, true)) dead_.push_back(probe);
}

// Frees the hit tables and counter rows of an event that no hit uses.
void InprocRuntime::give_back(Installed& made) {
  for (const Installed::Table& table : made.tables) hit_tables_.give_back(table.index);
  made.tables.clear();
  memory_.forget_event(made.block.row, made.sinks);
}

std::size_t InprocRuntime::free_hit_tables() const {
  std::size_t tables = hit_tables_.free();
  if (tables == 0 && hit_tables_.is_closed()) return 0;
  for (const ProbeHandle probe : dead_) tables += installed_[probe].tables.size();
  return tables;
}

InprocRuntime::CodeUse InprocRuntime::code_use() const {
  return {.bytes = arena_.used_bytes(),
          .rows = memory_.options().rows - memory_.free_rows(),
          .handles = installed_.size() - free_handles_.size(),
          .waiting = dead_.size(),
          .shards = memory_.used_shards()};
}

// The batch does not depend on it: where reclaiming fails, there is less room.
void InprocRuntime::reclaim_when_due(const model::CompiledBatch& batch) {
  const bool is_short = memory_.free_rows() < rows_of(batch) || hit_tables_.free() < hit_tables_of(batch);
  if (dead_.empty() || (dead_.size() < reclaim_at_ && !is_short)) return;
  (void)reclaim();
  reclaim_at_ = std::max(kFewestReclaimed, 2 * dead_.size());
}

// With the target held.
Result<void> InprocRuntime::reclaim() {
  auto references = KEVT_TRY(CodeReferences::find(mapper_, signals_));
  const CodeSharers sharers = CodeSharers::look(memory_.file(MapPiece::From::Session), target_began_, tracee_.pid());
  const std::set<ProbeHandle> kept = reclaim_detours(references, sharers);
  std::vector<ProbeHandle> waiting;
  for (const ProbeHandle probe : dead_) {
    Installed& event = installed_[probe];
    if (kept.contains(probe) || may_be_run(event, references, sharers) || !forget_in_target(event)) {
      waiting.push_back(probe);
      continue;
    }
    event.last_counts = final_counts(probe);
    give_back(event);
    event.block = {};
    if (event.image.use_count() == 1) placement_.give_back(*event.image);
    event.image.reset();
    if (event.is_removed) forget_handle(probe);
  }
  dead_ = std::move(waiting);
  return {};
}

// A place where the handle was the last one, in a library that is gone: it may never come there again.
void InprocRuntime::forget_site(RemoteAddr site, ProbeHandle probe) {
  const auto events = at_site_.find(site.value);
  if (events == at_site_.end()) return;
  std::erase(events->second, probe);
  if (!events->second.empty()) return;
  at_site_.erase(events);
  points_.forget(site);
}

// No hit is under way: what was left in the middle, by a jump or with its process, is lost.
runtime::EventCounts InprocRuntime::final_counts(ProbeHandle probe) const {
  runtime::EventCounts last = counts(probe);
  const std::uint64_t known = last.recorded + last.aggregated + last.filtered + last.lost + last.missed;
  last.lost += last.attempts - std::min(last.attempts, known);
  return last;
}

// A detour for a set with a dead event is never armed again. Frees those that nobody can reach; returns the dead events
// of the detours that must stay.
std::set<ProbeHandle> InprocRuntime::reclaim_detours(const CodeReferences& references, const CodeSharers& sharers) {
  const std::set<ProbeHandle> dead(dead_.begin(), dead_.end());
  std::set<RemoteAddr> sites;
  for (const ProbeHandle probe : dead) {
    const auto its = sites_of(probe);
    sites.insert(its.begin(), its.end());
  }
  const auto is_dead = [&](std::uint32_t member) { return dead.contains(member); };
  const auto has_call = [&](std::uint32_t member) {
    return member < installed_.size() && references.has_call_of(installed_[member].block.target);
  };
  std::set<ProbeHandle> kept;
  for (const RemoteAddr site : sites) {
    const auto found = points_.all().find(site);
    if (found == points_.all().end()) continue;
    ProbePoint& point = found->second;
    const bool is_as_noted = has_noted_text(point);
    std::erase_if(point.made, [&](const auto& entry) {
      const auto& [key, made] = entry;
      if (std::ranges::none_of(key, is_dead)) return false;
      const bool is_led_to = !is_as_noted || (!point.patch.empty() && point.way == made.way());
      if (is_led_to || references.has_any_in(made.code) || references.has_trapped_at(site) ||
          std::ranges::any_of(key, has_call) || sharers.may_run(made.code.since, point.had_breakpoint)) {
        std::ranges::copy_if(key, std::inserter(kept, kept.end()), is_dead);
        return false;
      }
      if (point.way == made.way()) {
        memory_.unmap_address(site);
        point.way = {};
      }
      forget_older(point, [&](std::uint32_t, RemoteAddr way) { return way == made.way(); });
      placement_.give_back(made.code);
      return true;
    });
  }
  return kept;
}

// Whether the site holds what was noted: a change that failed may have left another jump there. True where the site is
// not mapped any more: it leads nowhere.
bool InprocRuntime::has_noted_text(const ProbePoint& point) const {
  std::vector<std::uint8_t> noted = point.live, now(noted.size());
  std::ranges::copy(point.patch, noted.begin());
  return point.gone || !tracee_.read(point.site, now) || now == noted;
}

bool InprocRuntime::may_be_run(const Installed& event, const CodeReferences& references,
                               const CodeSharers& sharers) const {
  const auto point = points_.all().find(event.place);
  const bool had_breakpoint = !event.versions.empty() || (point != points_.all().end() && point->second.had_breakpoint);
  return references.has_any_in(*event.image) || references.has_call_of(event.block.target) ||
         sharers.may_run(event.image->since, had_breakpoint);
}

// Zeroes what the target counts in its private memory for the event's row.
Result<void> InprocRuntime::forget_in_target(const Installed& event) {
  const RemoteAddr priv = placement_.agent().priv;
  constexpr std::uint32_t kNoneActive = 0;
  constexpr kevt_injections kNone = {};
  const std::uint64_t row = event.block.row;
  const auto bytes_of = [](const auto& value) {
    return std::span(reinterpret_cast<const std::uint8_t*>(&value), sizeof value);
  };
  if (auto done =
          tracee_.write(priv + (offsetof(kevt_private, active) + row * sizeof kNoneActive), bytes_of(kNoneActive));
      !done)
    return done;
  return tracee_.write(priv + (offsetof(kevt_private, injections) + row * sizeof kNone), bytes_of(kNone));
}

void InprocRuntime::forget_handle(ProbeHandle probe) {
  Installed& event = installed_[probe];
  for (const RemoteAddr site : sites_of(probe)) forget_site(site, probe);
  const auto of_its_id = by_id_.find(event.id);
  std::erase(of_its_id->second, probe);
  if (of_its_id->second.empty()) by_id_.erase(of_its_id);
  note_newest(event.id);
  event = {};
  free_handles_.push_back(probe);
}

}  // namespace kevt::inproc
