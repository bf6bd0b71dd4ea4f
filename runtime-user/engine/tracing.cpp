// Definitions and instances: what comes in through files changes tables here; code changes are asked of EventCode.
//
//   echo 'p:op libc:open64' >> kprobe_events     write_definitions: parsed, checked, kept; nothing is compiled
//   echo 1 > events/kprobes/op/enable            set_enabled (event_control.cpp): compiled, installed, armed
//   a hit                                        drain (hits.cpp): triggers, gates, stored
//
// Mirrors what dyn_event_release(), trace_kprobe_release() and instance_mkdir() of kernel/trace (6.1) show.
#include "runtime-user/engine/tracing.h"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "common/assert.h"

namespace kevt::engine {

namespace {

constexpr std::uint32_t kMaxMarkerBytes = 1024;
constexpr std::size_t kLongestName = 255;  // NAME_MAX

std::uint32_t pages_for(std::uint64_t kb) {
  return static_cast<std::uint32_t>((kb * 1024 + layout::kRingPageData - 1) / layout::kRingPageData);
}

model::RecordField marker_field(std::string name, std::uint32_t offset, std::uint32_t size) {
  model::RecordField field;
  field.name = std::move(name);
  field.type.kind = size == 0 ? model::TypeKind::Char : model::TypeKind::Unsigned;
  field.type.bytes = size == 0 ? 1 : static_cast<std::uint8_t>(size);
  field.type.array_count = size == 0 ? kMaxMarkerBytes : 0;
  field.offset = offset;
  field.size = size == 0 ? kMaxMarkerBytes : size;
  return field;
}

}  // namespace

std::uint64_t Tracing::now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

namespace {

// Each target has its own, and they go with it.
std::span<std::uint64_t> command_words(const std::vector<TracedTarget*>& targets, const TracingOptions& options) {
  if (options.follows || targets.size() != 1) return {};
  return targets.front()->runtime().shared_words();
}

}  // namespace

Tracing::Tracing(std::vector<TracedTarget*> targets, TracingOptions options)
    : options_(std::move(options)),
      events_(options_.check),
      code_(std::move(targets),
            options_.keep_going ? Needs::NoTarget
            : options_.follows  ? Needs::OneTarget
                                : Needs::EveryTarget,
            options_.brought),
      words_(command_words(code_.targets(), options_)) {
  for (const target::CatalogEntry& event : options_.static_events) events_.add_static(event);
  marker_ = {.id = kPrintId,
             .group = "ftrace",
             .name = "print",
             .owner = target::EventOwner::Synthetic,
             .layout = {},
             .probes = {}};
  marker_.layout.fields = {marker_field("ip", 8, 8), marker_field("buf", 16, 0)};
  marker_.layout.fixed_size = 16;
  events_.add_static({.group = marker_.group,
                      .event = marker_.name,
                      .owner = target::EventOwner::Static,
                      .siblings = {},
                      .layout = marker_.layout});
  if (const StaticEvents* statics = code_.static_events())
    for (const StaticEvent& event : statics->all()) events_.add_running(event);
  if (StaticEvents* statics = code_.static_events())
    statics->on_fork([this](std::int32_t parent, std::int32_t child) {
      for (const auto& instance : instances_) instance->note_fork(parent, child);
    });
  instances_.push_back(std::make_unique<Instance>("", options_.cpus, pages_for(options_.buffer_kb)));
}

// Whose libraries definitions speak of: the first target's that lives, or where programs are followed any one's. Never
// empty.
std::vector<const target::TargetEnv*> Tracing::envs() {
  static const target::UncheckedTargetEnv unchecked;
  if (options_.env) return {options_.env};
  std::vector<const target::TargetEnv*> envs;
  for (TracedTarget* target : code_.targets())
    if ((envs.empty() || options_.follows) && target->is_alive()) envs.push_back(&target->env());
  if (envs.empty()) envs.push_back(code_.targets().empty() ? &unchecked : &code_.targets().front()->known_env());
  return envs;
}

// ---- definitions ----------------------------------------------------------------------------

Result<void> Tracing::refuse(ErrorLog& log, std::vector<diag::Diagnostic> mistakes) {
  if (mistakes.empty()) return std::unexpected(Error::of_errno(EINVAL));
  const diag::Diagnostic& first = mistakes.front();
  if (first.kind == diag::Kind::UnsupportedForm) {  // nothing is wrong with it, so no kernel would say anything
    log.add(std::string(diag::kernel_text(first.kind)) + ": " + first.detail, first.command, now_ns());
    return std::unexpected(Error::of_errno(EOPNOTSUPP));
  }
  log.add(first, now_ns());
  return std::unexpected(Error::of_errno(mistakes.front().errno_value));
}

Result<void> Tracing::write_definitions(grammar::EventsFile file, std::string_view text) {
  for (const grammar::Line& line : grammar::split_lines(text))
    if (auto done = write_line(file, line.text); !done) return done;
  return {};
}

// Names of arguments, and what lies behind them, in a kernel whose language has none (6.1): what is said with them
// would be refused there, so nothing means something else. What is wrong in both languages is refused in the kernel's
// words.
const TracedEvent* Tracing::define_typed(grammar::EventsFile file, std::string_view line,
                                         const target::TargetEnv& env) {
  if (options_.check.dialect.has(dialect::Feature::ArgumentNames) || env.type_source() == target::TypeSource::None)
    return nullptr;
  diag::Sink sink;
  auto statement = grammar::parse_line_leniently(line, file, sink);
  auto* definition = statement ? std::get_if<model::Definition>(&*statement) : nullptr;
  const auto is_of_function = [](model::EventKind kind) {
    return kind == model::EventKind::Kprobe || kind == model::EventKind::Fprobe || kind == model::EventKind::Tprobe;
  };
  if (!definition || !sink.empty() || !is_of_function(definition->kind) ||
      std::ranges::none_of(definition->args, &model::FetchArg::needs_types))
    return nullptr;
  sema::CheckRequest request = options_.check;
  request.dialect = dialect::Dialect::superset();
  return events_.define(std::move(*definition), env, sink, request);
}

Result<void> Tracing::write_line(grammar::EventsFile file, std::string_view line) {
  diag::Sink sink;
  auto statement = grammar::parse_line_leniently(line, file, sink, options_.check.dialect);
  if (!statement && sink.empty()) return {};
  if (const auto* deletion = statement ? std::get_if<model::Deletion>(&*statement) : nullptr) {
    const auto matches = events_.matches(*deletion, file);
    if (matches.empty()) return std::unexpected(Error::of_errno(ENOENT));
    return remove(matches);
  }
  const TracedEvent* event = nullptr;
  std::vector<diag::Diagnostic> mistakes;
  for (const target::TargetEnv* env : envs()) {
    diag::Sink of_target = sink;
    if (statement) event = events_.define(std::get<model::Definition>(*statement), *env, of_target);
    if (!event) event = define_typed(file, line, *env);
    if (event) break;
    if (mistakes.empty()) mistakes = of_target.take();
  }
  if (!event) return refuse(top().errors, std::move(mistakes));
  if (!is_armed(event->id)) return {};
  // A sibling of an event that is on is armed at once, or is not there.
  const TracedEvent* const changed[] = {event};
  auto armed = sync(changed);
  if (!armed) events_.remove({event->id, event->probes.back().serial, true});
  return armed;
}

Result<void> Tracing::remove_definitions(grammar::EventsFile file) {
  const auto all = events_.all(file);
  for (const EventTable::Match& match : all)
    if (is_armed(match.event)) return std::unexpected(Error::of_errno(EBUSY));
  return remove(all);
}

// The first busy event stops; those before it are gone.
Result<void> Tracing::remove(std::span<const EventTable::Match> matches) {
  Result<void> done;
  const auto stood_on = events_.stood_on();  // eprobes are defined, and go, behind what they stand on
  for (const EventTable::Match& match : matches) {
    const TracedEvent* event = events_.find(match.event);
    const bool is_last = event->probes.size() == 1;
    if (is_last && (is_armed(match.event) || stood_on.contains({event->group, event->name}))) {
      done = std::unexpected(Error::of_errno(EBUSY));
      break;
    }
    if (events_.remove(match)) {
      forget(match.event);
    } else if (is_armed(match.event)) {
      const TracedEvent* const changed[] = {event};
      if (done = sync(changed); !done) break;
    }
  }
  clear_buffers();
  return done;
}

bool Tracing::is_armed(std::uint32_t event) const {
  return std::ranges::any_of(instances_, [&](const auto& instance) {
    const EventState* one = state(*instance, event);
    return one && one->registered;
  });
}

bool Tracing::is_any_on() const {
  return std::ranges::any_of(instances_, [](const auto& instance) {
    return std::ranges::any_of(instance->events, [](const auto& one) { return one.second.records(); });
  });
}

runtime::EventCounts Tracing::hits(const EventProbe& probe) const {
  const TracedEvent* event = events_.find(probe.definition.group, probe.definition.event);
  return event ? code_.counts(event->id, probe.serial) : runtime::EventCounts{};
}

void Tracing::forget(std::uint32_t event) {
  drain();
  code_.forget(event);
  for (const auto& instance : instances_) instance->events.erase(event);
}

// ---- targets that come and go ---------------------------------------------------------------

std::vector<CodeRefusal> Tracing::add_target(TracedTarget& target) {
  KEVT_ASSERT(options_.follows);
  drain();
  std::vector<CodeRequest> requests;
  for (const auto& [id, event] : events_.events())
    if (is_armed(id)) requests.push_back(request_for(*event));
  std::vector<CodeRefusal> refusals;
  if (!uses_jumps_)
    if (auto done = target.runtime().use_jumps(false); !done) refusals.push_back({std::move(done.error()), ""});
  std::ranges::move(code_.add_target(target, requests), std::back_inserter(refusals));
  return refusals;
}

bool Tracing::remove_target(TracedTarget& target) {
  drain();
  if (waiting_.any_waits([&](const Waiting& one) { return one.target == &target; })) return false;
  code_.remove_target(target);
  return true;
}

void Tracing::forget_target(const TracedTarget& target) {
  for (auto& [tid, was] : was_) std::erase_if(was, [&](const Was& one) { return one.target == &target; });
  std::erase_if(was_, [](const auto& one) { return one.second.empty(); });
  std::erase_if(nameless_, [&](const auto& one) { return one.first == &target; });
  ++forgotten_;
}

void Tracing::clear_buffers() {
  drain();
  for (const auto& instance : instances_) instance->clear();
}

// ---- instances ------------------------------------------------------------------------------

Instance* Tracing::find_instance(std::string_view name) {
  for (const auto& instance : instances_)
    if (instance->name == name && !name.empty()) return instance.get();
  return nullptr;
}

Result<void> Tracing::make_instance(std::string_view name) {
  if (name.size() > kLongestName) return std::unexpected(Error::of_errno(ENAMETOOLONG));
  if (name.empty()) return std::unexpected(Error::of_errno(EINVAL));
  if (find_instance(name)) return std::unexpected(Error::of_errno(EEXIST));
  instances_.push_back(std::make_unique<Instance>(std::string(name), options_.cpus, pages_for(options_.buffer_kb)));
  return {};
}

Result<void> Tracing::remove_instance(std::string_view name) {
  Instance* instance = find_instance(name);
  if (!instance) return std::unexpected(Error::of_errno(ENOENT));
  if (instance->users > 0) return std::unexpected(Error::of_errno(EBUSY));
  // It has neither events nor triggers any more; where code cannot be taken out, it stays as it was.
  const auto triggers = std::exchange(instance->triggers, {});
  std::vector<const TracedEvent*> on;
  for (auto& [id, one] : instance->events)
    if (one.registered) {
      one.registered = false;
      if (const TracedEvent* event = events_.find(id)) on.push_back(event);
    }
  if (auto done = sync(on); !done) {
    instance->triggers = triggers;
    for (const TracedEvent* event : on) instance->events[event->id].registered = true;
    return done;
  }
  if (at_hits_ == instance) at_hits_ = nullptr;
  if (asked_by_hits_ == instance) asked_by_hits_ = nullptr;
  std::erase_if(instances_, [&](const auto& one) { return one.get() == instance; });
  return {};
}

const EventState* Tracing::state(const Instance& instance, std::uint32_t event) const {
  const auto it = instance.events.find(event);
  return it == instance.events.end() ? nullptr : &it->second;
}

}  // namespace kevt::engine
