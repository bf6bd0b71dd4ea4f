// What the definition files write and read:
//
//   p:a libc:open64        event kprobes/a, one probe
//   p:kprobes/a libc:open  a second probe of it: same id, same format
// -:a removes both probes, and so the event
//
// Ids count up from above the kernel's own and are used again only when 16 bits run out: so a late record of a deleted
// event is taken for no event, rather than for another one. Mirrors dyn_event_release() and *_match() of
// kernel/trace/trace_dynevent.c, trace_kprobe.c, trace_uprobe.c, trace_eprobe.c (6.1).
#include "runtime-user/engine/events/event_table.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "compiler/layout/layout.h"
#include "compiler/pipeline/front.h"

namespace kevt::engine {

namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// `cpus` 0: a probe that waits for its library. `f` probes say in the listing whether they are return probes: f[N]:G/E
// SYM[%return].
std::string listing_of(const model::Definition& definition, unsigned cpus) {
  std::string text = layout::listing(definition, cpus);
  if (definition.kind != model::EventKind::Fprobe || definition.probe_kind != model::ProbeKind::Return) return text;
  if (definition.maxactive) text.insert(1, std::to_string(*definition.maxactive));
  const std::size_t place = text.find(' ') + 1;
  text.insert(std::min(text.find(' ', place), text.size()), "%return");
  return text;
}

// Whether the deletion means this probe: group, event, place and arguments must match as far as they are given.
bool is_meant(const model::Deletion& deletion, const EventProbe& probe) {
  const model::Definition& definition = probe.definition();
  if (deletion.group && *deletion.group != definition.group) return false;
  if (deletion.event && *deletion.event != definition.event) return false;
  const bool synthetic = definition.kind == model::EventKind::Synthetic;
  if (!deletion.event && synthetic) return false;  // synthetic events cannot be deleted by group
  if (!deletion.location || synthetic) return true;
  auto words = words_of(probe.listing);
  std::string location = *deletion.location;
  if (definition.kind == model::EventKind::Eprobe) std::ranges::replace(location, '/', '.');
  if (definition.kind == model::EventKind::Fprobe && words.size() > 1)
    words[1] = words[1].substr(0, words[1].find('%'));
  if (words.size() < 2 + deletion.args.size() || words[1] != location) return false;
  return std::equal(deletion.args.begin(), deletion.args.end(), words.begin() + 2);
}

}  // namespace

bool belongs_to(grammar::EventsFile file, model::EventKind kind) {
  switch (file) {
    case grammar::EventsFile::Kprobe:
      return kind == model::EventKind::Kprobe;
    case grammar::EventsFile::Uprobe:
      return kind == model::EventKind::Uprobe;
    case grammar::EventsFile::Synthetic:
      return kind == model::EventKind::Synthetic;
    case grammar::EventsFile::Dynamic:
      return true;
  }
  return false;
}

std::optional<std::uint32_t> EventTable::free_id() const {
  constexpr std::uint32_t kIds = kLastId - kFirstId + 1;
  for (std::uint32_t n = 0; n < kIds; ++n) {
    const std::uint32_t id = kFirstId + (next_id_ - kFirstId + n) % kIds;
    if (!events_.contains(id)) return id;
  }
  return std::nullopt;
}

void EventTable::add_running(const StaticEvent& event) {
  auto made = std::make_unique<TracedEvent>();
  made->id = event.id;
  made->group = event.group;
  made->name = event.name;
  made->owner = target::EventOwner::Static;
  made->layout = event.layout;
  by_name_[{event.group, event.name}] = event.id;
  catalog_.add(catalog_entry(event));
  events_[event.id] = std::move(made);
}

const TracedEvent* EventTable::define(model::Definition definition, const target::TargetEnv& env, diag::Sink& sink,
                                      const sema::CheckRequest& request) {
  model::Definition written = definition;
  auto laid_out = pipeline::check_and_lay_out(std::move(definition), env, catalog_, request, sink);
  if (!laid_out) return nullptr;
  auto known = std::make_shared<const model::Definition>(std::move(laid_out->checked.definition));
  const std::string command = known->command;
  std::string listing = listing_of(*known, laid_out->checked.is_deferred ? 0 : env.possible_cpus());
  const TracedEvent* event = keep({.written = std::move(written),
                                   .definition = std::move(known),
                                   .layout = std::move(laid_out->layout),
                                   .listing = std::move(listing)});
  if (!event)
    sink.report({.kind = diag::Kind::FailRegProbe,
                 .location = diag::Location::Kevtrace,
                 .command = command,
                 .column = 0,
                 .errno_value = ENOSPC,
                 .detail = "there are as many events as ids",
                 .notes = {},
                 .fixits = {}});
  return event;
}

const TracedEvent* EventTable::add(model::Definition written, const pipeline::CheckedEvent& checked,
                                   std::shared_ptr<const model::Definition> known, const target::TargetEnv& env) {
  const bool is_final = !checked.is_deferred && known->kind != model::EventKind::Fprobe;
  std::string listing = is_final ? checked.listing : listing_of(*known, checked.is_deferred ? 0 : env.possible_cpus());
  return keep({.written = std::move(written),
               .definition = std::move(known),
               .layout = checked.layout,
               .listing = std::move(listing)});
}

bool EventTable::stands_on_synthetic(const model::Definition& definition) const {
  const auto* place = std::get_if<model::EventPlace>(&definition.place);
  const TracedEvent* event = place ? find(place->system, place->event) : nullptr;
  return event && event->owner == target::EventOwner::Synthetic;
}

const TracedEvent* EventTable::keep(Checked checked) {
  const model::Definition& definition = *checked.definition;
  std::uint32_t id = 0;
  if (const auto known = by_name_.find(std::pair(definition.group, definition.event)); known != by_name_.end()) {
    id = known->second;
  } else {
    const auto free = free_id();
    if (!free) return nullptr;
    id = *free;
    next_id_ = id + 1;
    by_name_[{definition.group, definition.event}] = id;
    auto event = std::make_unique<TracedEvent>();
    event->id = id;
    event->group = definition.group;
    event->name = definition.event;
    event->owner = target::owner_of(definition.kind);
    event->layout = std::move(checked.layout);
    event->stands_on_synthetic = stands_on_synthetic(definition);
    events_[id] = std::move(event);
  }
  TracedEvent& event = *events_[id];
  event.probes.push_back(
      {++last_serial_, std::move(checked.written), std::move(checked.definition), std::move(checked.listing)});
  if (target::CatalogEntry* entry = event.probes.size() > 1 ? catalog_.find(event.group, event.name) : nullptr)
    entry->siblings.push_back(event.probes.back().known);
  else
    update_catalog(event);
  return &event;
}

void EventTable::update_catalog(const TracedEvent& event) {
  catalog_.remove(event.group, event.name);
  if (event.probes.empty()) return;
  target::CatalogEntry entry{.group = event.group, .event = event.name};
  entry.owner = event.owner;
  entry.layout = event.layout;
  for (const EventProbe& probe : event.probes) entry.siblings.push_back(probe.known);
  catalog_.add(std::move(entry));
}

std::vector<const EventProbe*> EventTable::probes_of(grammar::EventsFile file) const {
  std::vector<const EventProbe*> probes;
  for (const auto& [id, event] : events_)
    for (const EventProbe& probe : event->probes)
      if (belongs_to(file, probe.definition().kind)) probes.push_back(&probe);
  std::ranges::sort(probes, {}, &EventProbe::serial);
  return probes;
}

std::set<std::pair<std::string, std::string>> EventTable::stood_on() const {
  std::set<std::pair<std::string, std::string>> names;
  for (const auto& [id, event] : events_)
    for (const EventProbe& probe : event->probes)
      if (const auto* place = std::get_if<model::EventPlace>(&probe.definition().place))
        names.emplace(place->system, place->event);
  return names;
}

std::vector<EventTable::Match> EventTable::all(grammar::EventsFile file) const {
  std::vector<Match> found;
  for (const EventProbe* probe : probes_of(file)) {
    const std::uint32_t id = by_name_.find(std::pair(probe->definition().group, probe->definition().event))->second;
    found.push_back({id, probe->serial, events_.at(id)->probes.size() > 1});
  }
  return found;
}

std::vector<EventTable::Match> EventTable::matches(const model::Deletion& deletion, grammar::EventsFile file) const {
  std::vector<Match> found;
  for (const Match& match : all(file)) {
    const TracedEvent& event = *events_.at(match.event);
    const auto probe = std::ranges::find(event.probes, match.serial, &EventProbe::serial);
    if (is_meant(deletion, *probe)) found.push_back(match);
  }
  return found;
}

bool EventTable::remove(const Match& match) {
  const auto it = events_.find(match.event);
  if (it == events_.end()) return false;
  TracedEvent& event = *it->second;
  std::erase_if(event.probes, [&](const EventProbe& probe) { return probe.serial == match.serial; });
  update_catalog(event);
  if (!event.probes.empty()) return false;
  by_name_.erase({event.group, event.name});
  events_.erase(it);
  return true;
}

const TracedEvent* EventTable::find(std::string_view group, std::string_view event) const {
  const auto it = by_name_.find(std::pair(std::string(group), std::string(event)));
  return it == by_name_.end() ? nullptr : events_.at(it->second).get();
}

const TracedEvent* EventTable::find(std::uint32_t id) const {
  const auto it = events_.find(id);
  return it == events_.end() ? nullptr : it->second.get();
}

const TracedEvent* EventTable::find_written(std::string_view written) const {
  const std::size_t separator = written.find_first_of(":/.");
  if (separator != std::string_view::npos) return find(written.substr(0, separator), written.substr(separator + 1));
  for (const auto& [id, event] : events_)
    if (!event->is_static() && event->name == written) return event.get();
  return nullptr;
}

const TracedEvent* EventTable::switched_by(const model::Trigger& trigger) const {
  const bool switches =
      trigger.kind == model::TriggerKind::EnableEvent || trigger.kind == model::TriggerKind::DisableEvent;
  return switches ? find(trigger.target.system, trigger.target.event) : nullptr;
}

const TracedEvent* EventTable::needed_by(const model::Trigger& trigger) const {
  const bool switches_histograms =
      trigger.kind == model::TriggerKind::EnableHist || trigger.kind == model::TriggerKind::DisableHist;
  return switches_histograms ? find(trigger.target.system, trigger.target.event) : switched_by(trigger);
}

bool EventTable::is_ambiguous(std::string_view written) const {
  return written.find_first_of(":/.") == std::string_view::npos &&
         std::ranges::count_if(
             events_, [&](const auto& one) { return !one.second->is_static() && one.second->name == written; }) > 1;
}

std::vector<std::string> EventTable::groups() const {
  std::vector<std::string> groups;
  for (const auto& [name, id] : by_name_)
    if (groups.empty() || groups.back() != name.first) groups.push_back(name.first);
  return groups;
}

bool EventTable::has_group(std::string_view group) const {
  const auto it = by_name_.lower_bound(std::pair(std::string(group), std::string()));
  return it != by_name_.end() && it->first.first == group;
}

std::vector<const TracedEvent*> EventTable::in_group(std::string_view group) const {
  std::vector<const TracedEvent*> events;
  for (auto it = by_name_.lower_bound(std::pair(std::string(group), std::string()));
       it != by_name_.end() && it->first.first == group; ++it)
    events.push_back(events_.at(it->second).get());
  return events;
}

std::string EventTable::listing(grammar::EventsFile file) const {
  constexpr std::string_view kSynthetic = "s:synthetic/";
  std::string text;
  for (const EventProbe* probe : probes_of(file)) {
    std::string_view line = probe->listing;
    if (file == grammar::EventsFile::Synthetic && line.starts_with(kSynthetic)) line.remove_prefix(kSynthetic.size());
    text += line;
    text += '\n';
  }
  return text;
}

}  // namespace kevt::engine
