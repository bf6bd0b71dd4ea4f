// Enabling many events at once is one compilation and one stop for each target:
//
//   requests ─► which need new code ─► compile, install (all in one batch) ─► replace: new ones armed, old ones
//   disarmed
//
// Every target compiles for itself, since functions lie elsewhere in each. What a target refuses leaves all as it was;
// code that was installed then stays unused. A target that has ended is left out.
#include "runtime-user/engine/event_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "common/assert.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/runnable.h"

namespace kevt::engine {

struct EventCode::Change {
  const CodeRequest* request = nullptr;
  Version next;
  bool is_new = false;     // `next` replaces what is there
  bool is_former = false;  // and was made before
};

namespace {

std::string key_of(const CodeRequest& request) {
  std::string key = request.filter_text + '\n' + request.switches_text + (request.samples_stack ? "\nstack " : "\n");
  for (const EventProbe& probe : request.event->probes) key += std::to_string(probe.serial) + ' ';
  return key;
}

// What was found right when it was defined is looked up again, in this target.
std::expected<pipeline::CheckedEvent, CodeRefusal> check_in(const EventProbe& probe, const std::string& command,
                                                            TracedTarget& target, const target::EventCatalog& statics) {
  diag::Sink sink;
  if (!pipeline::can_run(probe.definition, target.env(), sink))
    return std::unexpected(
        CodeRefusal{Error(fmt::format("{} ({})", sink.diagnostics().front().detail, target.name()), EOPNOTSUPP),
                    probe.definition.command});
  if (probe.definition.kind == model::EventKind::Eprobe) {
    if (const auto* place = std::get_if<model::EventPlace>(&probe.definition.place);
        !place || !statics.find(place->system, place->event))
      return std::unexpected(CodeRefusal{Error("nothing here makes records of the event it stands on", EOPNOTSUPP),
                                         probe.definition.command});
  }
  auto checked = pipeline::check_event(command, target.env(), statics, pipeline::Forms::Runnable, sink);
  if (checked && checked->waits)
    return std::unexpected(CodeRefusal{
        Error(fmt::format("its library is not loaded in {} yet: enable the event when it is", target.name()), ENOENT),
        probe.definition.command});
  if (checked) {
    checked->definition.group = probe.definition.group;
    checked->definition.event = probe.definition.event;
    return *std::move(checked);
  }
  const auto mistakes = sink.take();
  if (mistakes.empty()) return std::unexpected(CodeRefusal{Error("nothing to run", EINVAL), probe.definition.command});
  const diag::Diagnostic& first = mistakes.front();
  std::string text(diag::kernel_text(first.kind));
  if (command != probe.definition.command) text = "with a sample of the stack: " + text;
  if (!first.detail.empty()) text += ": " + first.detail;
  const bool not_here = first.kind == diag::Kind::NotSupportedByRuntime || first.kind == diag::Kind::UnsupportedForm;
  return std::unexpected(
      CodeRefusal{Error(fmt::format("{} ({})", text, target.name()), not_here ? EOPNOTSUPP : first.errno_value),
                  probe.definition.command});
}

// Below those of dynamic events; the kernel's own events, whose types lie there, are no process's.
constexpr std::uint32_t kFirstSampledType = 64, kSampledTypes = 16384;

bool has_code(const TracedEvent& event) { return event.owner != target::EventOwner::Synthetic && !event.is_static(); }

}  // namespace

EventCode::EventCode(std::vector<TracedTarget*> targets) : targets_(std::move(targets)) {
  if (const StaticEvents* statics = static_events())
    for (const StaticEvent& event : statics->all()) statics_.add(catalog_entry(event));
}

StaticEvents* EventCode::static_events() const {
  for (TracedTarget* target : targets_)
    if (StaticEvents* statics = target->static_events()) return statics;
  return nullptr;
}

// They have no code: they are on or off.
Result<void> EventCode::switch_static(std::span<const CodeRequest> requests) {
  std::vector<std::uint32_t> on, off;
  for (const CodeRequest& request : requests) {
    if (!request.event->is_static() || codes_[request.event->id].armed == request.armed) continue;
    (request.armed ? on : off).push_back(request.event->id);
  }
  if (on.empty() && off.empty()) return {};
  StaticEvents* statics = static_events();
  KEVT_ASSERT(statics != nullptr);
  if (auto changed = statics->change(on, off); !changed) return changed;
  for (std::uint32_t id : on) codes_[id].armed = true;
  for (std::uint32_t id : off) codes_[id].armed = false;
  return {};
}

std::expected<std::vector<EventCode::Handles>, CodeRefusal> EventCode::install(
    std::span<const CodeRequest* const> requests, std::size_t target) {
  TracedTarget& where = *targets_[target];
  std::vector<pipeline::CheckedEvent> events;
  std::vector<std::vector<std::optional<model::FilterExpr>>> filters;  // one sink each
  std::vector<std::uint32_t> ids;
  for (const CodeRequest* request : requests)
    for (const EventProbe& probe : request->event->probes) {
      const std::string& command = probe.definition.command;
      auto checked = check_in(probe, request->samples_stack ? with_stack_sample(command) : command, where, statics_);
      if (!checked) return std::unexpected(std::move(checked.error()));
      const auto type = request->samples_stack ? sampled_type_of(*request->event, checked->layout)
                                               : std::optional(request->event->id);
      if (!type)
        return std::unexpected(CodeRefusal{Error("there are as many events with stacks as types", ENOSPC), command});
      checked->switches = request->switches;
      checked->definition.command = command;  // messages are about what the user wrote
      events.push_back(*std::move(checked));
      filters.push_back({request->filter});
      ids.push_back(*type);
    }
  auto compiled = pipeline::compile_events(events, filters, where.known_env(), pipeline::Artifacts::CodeOnly,
                                           where.runtime().capabilities().code);
  if (!compiled) return std::unexpected(CodeRefusal{std::move(compiled.error()), ""});
  auto installed = where.runtime().install(compiled->batch, ids);
  if (!installed) {
    Error error = std::move(installed.error());
    return std::unexpected(CodeRefusal{error.errno_value() ? error : Error(error.message(), EINVAL),
                                       events.size() == 1 ? events.front().definition.command : ""});
  }
  std::vector<Handles> handles;
  auto next = installed->begin();
  for (const CodeRequest* request : requests) {
    const auto end = next + static_cast<std::ptrdiff_t>(request->event->probes.size());
    handles.emplace_back(next, end);
    next = end;
  }
  return handles;
}

// Taken in turn, so that one is not somebody else's while records of it may be under way.
std::optional<std::uint32_t> EventCode::sampled_type_of(const TracedEvent& event, const model::RecordLayout& layout) {
  if (const auto known = sampled_of_.find(event.id); known != sampled_of_.end()) return known->second;
  auto samples = StackSamples::of(layout);
  KEVT_ASSERT(samples.has_value());
  for (std::uint32_t tries = 0; tries < kSampledTypes; ++tries) {
    const std::uint32_t type = kFirstSampledType + next_sampled_++ % kSampledTypes;
    if (sampled_.contains(type)) continue;
    sampled_.emplace(type, SampledType{event.id, *std::move(samples)});
    sampled_of_[event.id] = type;
    return type;
  }
  return std::nullopt;
}

const SampledType* EventCode::sampled(std::uint32_t type) const {
  const auto it = sampled_.find(type);
  return it == sampled_.end() ? nullptr : &it->second;
}

// The same code as before in every target that lives: what goes to and fro uses up nothing.
bool EventCode::take_former(const Code& code, Change& change) const {
  const auto found = std::ranges::find(code.former, change.next.key, &Version::key);
  if (found == code.former.end()) return false;
  for (std::size_t t = 0; t < targets_.size(); ++t)
    if (targets_[t]->is_alive() && (t >= found->handles.size() || found->handles[t].empty())) return false;
  change.next = *found;
  return true;
}

std::optional<CodeRefusal> EventCode::prepare(std::span<const CodeRequest> requests, std::vector<Change>& changes) {
  const bool any_alive = std::ranges::any_of(targets_, &TracedTarget::is_alive);
  std::vector<const CodeRequest*> to_install;
  for (const CodeRequest& request : requests) {
    if (!has_code(*request.event)) continue;
    Change change{.request = &request, .next = {.key = key_of(request), .handles = {}, .serials = {}}};
    for (const EventProbe& probe : request.event->probes) change.next.serials.push_back(probe.serial);
    const Code& code = codes_[request.event->id];
    change.is_new = request.armed && code.now.key != change.next.key && (any_alive || !code.armed);
    change.is_former = change.is_new && take_former(code, change);
    change.next.handles.resize(targets_.size());
    if (change.is_new && !change.is_former) to_install.push_back(&request);
    changes.push_back(std::move(change));
  }
  if (to_install.empty()) return std::nullopt;
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    if (!targets_[t]->is_alive()) continue;
    auto installed = install(to_install, t);
    if (!installed) return std::move(installed.error());
    auto next = installed->begin();
    for (Change& change : changes)
      if (change.is_new && !change.is_former) change.next.handles[t] = std::move(*next++);
  }
  if (!any_alive) return CodeRefusal{Error("nothing to trace: every traced process has ended", ESRCH), ""};
  return std::nullopt;
}

Result<void> EventCode::exchange(std::span<const Change> changes, std::size_t target) {
  Handles armed, disarmed;
  for (const Change& change : changes) {
    const Code& code = codes_[change.request->event->id];
    const Handles now = target < code.now.handles.size() ? code.now.handles[target] : Handles{};
    const Handles& next = change.is_new ? change.next.handles[target] : now;
    if (code.armed && (change.is_new || !change.request->armed))
      disarmed.insert(disarmed.end(), now.begin(), now.end());
    if (change.request->armed && (change.is_new || !code.armed)) armed.insert(armed.end(), next.begin(), next.end());
  }
  if (armed.empty() && disarmed.empty()) return {};
  return targets_[target]->runtime().replace(armed, disarmed);
}

std::expected<void, CodeRefusal> EventCode::apply(std::span<const CodeRequest> requests) {
  std::vector<Change> changes;
  if (auto refusal = prepare(requests, changes)) return std::unexpected(*std::move(refusal));
  // A request is about static events or about probes, hardly ever both: what is switched here stays where the rest
  // fails.
  if (auto done = switch_static(requests); !done) return std::unexpected(CodeRefusal{std::move(done.error()), ""});
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    if (!targets_[t]->is_alive()) continue;
    auto done = exchange(changes, t);
    if (done || !targets_[t]->is_alive()) continue;
    // The targets before this one have the change: what they record of it is nobody's, and it is taken back.
    for (std::size_t before = 0; before < t; ++before)
      for (const Change& change : changes)
        if (change.is_new) (void)targets_[before]->runtime().disarm(change.next.handles[before]);
    Error error = std::move(done.error()).while_doing("changing " + targets_[t]->name());
    return std::unexpected(CodeRefusal{Error(error.message(), error.errno_value() ? error.errno_value() : EINVAL), ""});
  }
  for (Change& change : changes) {
    Code& code = codes_[change.request->event->id];
    code.armed = change.request->armed;
    if (!change.is_new) continue;
    std::erase_if(code.former, [&](const Version& one) { return one.key == change.next.key; });
    if (!code.now.key.empty()) code.former.push_back(std::move(code.now));
    code.now = std::move(change.next);
  }
  return {};
}

void EventCode::forget(std::uint32_t event) {
  const auto it = codes_.find(event);
  if (it == codes_.end()) return;
  const auto remove = [this](const Version& version) {
    for (std::size_t t = 0; t < version.handles.size(); ++t)
      if (targets_[t]->is_alive()) (void)targets_[t]->runtime().remove(version.handles[t]);
  };
  remove(it->second.now);
  std::ranges::for_each(it->second.former, remove);
  codes_.erase(it);
  if (const auto type = sampled_of_.find(event); type != sampled_of_.end()) {
    sampled_.erase(type->second);
    sampled_of_.erase(type);
  }
}

runtime::EventCounts EventCode::counts(std::uint32_t event) const {
  runtime::EventCounts sum;
  if (const StaticEvents* statics = static_events()) sum += statics->counts(event);
  const auto it = codes_.find(event);
  if (it == codes_.end()) return sum;
  const auto add = [&](const Version& version) {
    for (std::size_t t = 0; t < version.handles.size(); ++t)
      for (runtime::ProbeHandle handle : version.handles[t]) sum += targets_[t]->runtime().counts(handle);
  };
  add(it->second.now);
  std::ranges::for_each(it->second.former, add);
  return sum;
}

runtime::EventCounts EventCode::counts(std::uint32_t event, std::uint64_t serial) const {
  runtime::EventCounts sum;
  const auto it = codes_.find(event);
  if (it == codes_.end()) return sum;
  const auto add = [&](const Version& version) {
    const auto probe = static_cast<std::size_t>(std::ranges::find(version.serials, serial) - version.serials.begin());
    for (std::size_t t = 0; t < version.handles.size(); ++t)
      if (probe < version.handles[t].size()) sum += targets_[t]->runtime().counts(version.handles[t][probe]);
  };
  add(it->second.now);
  std::ranges::for_each(it->second.former, add);
  return sum;
}

std::vector<runtime::ArmStatus> EventCode::arm_status(std::uint32_t event, std::size_t probe) const {
  std::vector<runtime::ArmStatus> states;
  const auto it = codes_.find(event);
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    const bool known =
        it != codes_.end() && t < it->second.now.handles.size() && probe < it->second.now.handles[t].size();
    states.push_back(known ? targets_[t]->runtime().arm_status(it->second.now.handles[t][probe])
                           : runtime::ArmStatus{});
  }
  return states;
}

}  // namespace kevt::engine
