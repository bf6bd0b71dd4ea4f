// Mirrors what create_dyn_event(), dyn_event_release() and trace_kprobe_release() of kernel/trace (6.1) show.
#include "runtime-user/engine/events/definition_files.h"

#include <cerrno>
#include <utility>
#include <vector>

#include "compiler/pipeline/front.h"
#include "compiler/pipeline/shorthand.h"
#include "runtime-user/engine/events/draft.h"

namespace kevt::engine {

namespace {

bool is_of_function(model::EventKind kind) {
  return kind == model::EventKind::Kprobe || kind == model::EventKind::Fprobe || kind == model::EventKind::Tprobe;
}

}  // namespace

Result<void> DefinitionFiles::write(grammar::EventsFile file, std::string_view text) {
  for (const grammar::Line& line : grammar::split_lines(text)) KEVT_TRY(write_line(file, line.text));
  return {};
}

// Accepts argument names and members also where the kernel's language does not have them (6.1). The kernel would refuse
// such a definition, so no correct definition changes its meaning. A definition that is wrong in both languages is
// refused in the kernel's words.
const TracedEvent* DefinitionFiles::define_typed(grammar::EventsFile file, std::string_view line,
                                                 const target::TargetEnv& env) {
  const sema::CheckRequest& check = state_.options.check;
  if (check.dialect.has(dialect::Feature::ArgumentNames) || env.type_source() == target::TypeSource::None)
    return nullptr;
  diag::Sink sink;
  auto statement = grammar::parse_line_leniently(line, file, sink);
  auto* definition = statement ? std::get_if<model::Definition>(&*statement) : nullptr;
  if (!definition || !sink.empty() || !is_of_function(definition->kind) || !pipeline::needs_types(*definition))
    return nullptr;
  sema::CheckRequest request = check;
  request.dialect = dialect::Dialect::superset();
  return state_.events.define(std::move(*definition), env, sink, request);
}

// A shorthand may stand for several definitions: all of them are made, or none.
Result<void> DefinitionFiles::write_line(grammar::EventsFile file, std::string_view line) {
  const bool is_of_other_file = file == grammar::EventsFile::Kprobe && pipeline::is_function_of_file(line);
  if (file == grammar::EventsFile::Synthetic || is_of_other_file) return write_one(file, line);
  std::optional<diag::Diagnostic> mistake;
  for (const target::TargetEnv* env : state_.envs(line)) {
    auto lines = pipeline::expand_shorthand(line, *env, pipeline::Globs::OfNamedFiles);
    if (!lines && !mistake) mistake = std::move(lines.error());
    if (!lines || !*lines) continue;
    const std::uint64_t before = state_.events.last_serial();
    for (const std::string& one : **lines) {
      auto done = write_one(grammar::EventsFile::Dynamic, one);
      if (done) continue;
      for (const EventTable::Match& match : state_.events.all(grammar::EventsFile::Dynamic))
        if (match.serial > before) take_back(match);
      return done;
    }
    return {};
  }
  if (mistake) return state_.instances.top().errors.refuse(std::span(&*mistake, 1));
  return write_one(file, line);
}

Result<void> DefinitionFiles::write_one(grammar::EventsFile file, std::string_view line) {
  diag::Sink sink;
  auto statement = grammar::parse_line_leniently(line, file, sink, state_.options.check.dialect);
  if (!statement && sink.empty()) return {};
  if (const auto* deletion = statement ? std::get_if<model::Deletion>(&*statement) : nullptr) {
    const auto matches = state_.events.matches(*deletion, file);
    if (matches.empty()) return std::unexpected(Error::of_errno(ENOENT));
    return remove(matches);
  }
  const TracedEvent* event = nullptr;
  std::vector<diag::Diagnostic> mistakes;
  for (const target::TargetEnv* env : state_.envs(line)) {
    diag::Sink of_target = sink;
    if (statement) event = state_.events.define(std::get<model::Definition>(*statement), *env, of_target);
    if (!event) event = define_typed(file, line, *env);
    if (event) break;
    if (mistakes.empty()) mistakes = of_target.take();
  }
  if (!event) return state_.instances.top().errors.refuse(mistakes);
  if (state_.is_of_other_side(*event, line)) {
    state_.events.remove({event->id, event->probes.back().serial, true});
    const diag::Diagnostic mistake = of_other_side(line);
    return state_.instances.top().errors.refuse(std::span(&mistake, 1));
  }
  if (!state_.instances.is_armed(event->id)) return {};
  // A further probe of an event that is on is armed at once; if that fails it is removed again.
  const TracedEvent* const changed[] = {event};
  auto armed = switcher_.sync(changed);
  if (!armed) state_.events.remove({event->id, event->probes.back().serial, true});
  return armed;
}

// Removes a probe that was just defined. It has recorded nothing unless its event was on before.
void DefinitionFiles::take_back(const EventTable::Match& match) {
  const TracedEvent* event = state_.events.find(match.event);
  if (!state_.events.remove(match)) {
    const TracedEvent* const changed[] = {event};
    (void)switcher_.sync(changed);
    return;
  }
  state_.code.forget(match.event);
  state_.reader_probes.forget(match.event);
  state_.instances.forget(match.event);
}

Result<void> DefinitionFiles::remove_all(grammar::EventsFile file) {
  const auto all = state_.events.all(file);
  for (const EventTable::Match& match : all)
    if (state_.instances.is_armed(match.event)) return std::unexpected(Error::of_errno(EBUSY));
  return remove(all);
}

// Stops at the first busy event. The events before it are removed, and all buffers are cleared.
Result<void> DefinitionFiles::remove(std::span<const EventTable::Match> matches) {
  Result<void> done;
  const auto stood_on = state_.events.stood_on();  // an eprobe is always removed after its event
  for (const EventTable::Match& match : matches) {
    const TracedEvent* event = state_.events.find(match.event);
    const bool is_last = event->probes.size() == 1;
    const bool is_armed = state_.instances.is_armed(match.event);
    const bool is_made = event->owner == target::EventOwner::Synthetic && state_.instances.makes(event->name);
    if (is_last && (is_armed || is_made || stood_on.contains({event->group, event->name}))) {
      done = std::unexpected(Error::of_errno(EBUSY));
      break;
    }
    if (state_.events.remove(match)) {
      records_.drain();
      state_.code.forget(match.event);
      state_.reader_probes.forget(match.event);
      state_.instances.forget(match.event);
    } else if (is_armed) {
      const TracedEvent* const changed[] = {event};
      if (done = switcher_.sync(changed); !done) break;
    }
  }
  records_.drain();
  state_.instances.clear_buffers();
  return done;
}

}  // namespace kevt::engine
