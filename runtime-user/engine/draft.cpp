// A draft is what define() and `kevtrace check` have in common.
//
//   p:a libc:open …      checked against the catalog, then in it
//   p:a libc:openat …    so this one is a second probe of `a`, and must have the same arguments
//   filter a: x > 3      bound to every probe of `a`
//
// A filter of an event that does not exist is a mistake only when all definitions are right:
// otherwise the event may be missing because of its own mistake.
#include "runtime-user/engine/draft.h"

namespace kevt::engine {

bool names_event(std::string_view event, const model::Definition& definition) {
  if (!event.ends_with(definition.event)) return false;
  event.remove_suffix(definition.event.size());
  if (event.empty()) return true;
  return event.size() == definition.group.size() + 1 && event.starts_with(definition.group) &&
         std::string_view(":/.").contains(event.back());
}

bool stands_on_event(std::string_view definition) {
  const auto first = definition.find_first_not_of(" \t");
  return first != std::string_view::npos && definition[first] == 'e';
}

namespace {

diag::Diagnostic missing_event(const EventFilter& filter) {
  return {.kind = diag::Kind::EventMissing,
          .location = diag::Location::Filter,
          .command = filter.event + ":" + filter.text,
          .column = 0,
          .errno_value = 2,
          .detail = "`" + filter.event + "` is not defined here",
          .notes = {},
          .fixits = {}};
}

}  // namespace

const target::CatalogEntry* Draft::find(std::string_view group, std::string_view event) const {
  const target::CatalogEntry* ours = catalog_.find(group, event);
  return ours == nullptr && asks_statics_ ? statics_->find(group, event) : ours;
}

void Draft::add(std::size_t index, pipeline::CheckedEvent event) {
  catalog_.add(event.definition, event.layout);
  entries_.push_back({index, std::move(event), std::nullopt, std::nullopt});
}

bool Draft::bind(const EventFilter& filter, diag::Sink& sink) {
  bool used = false;
  for (Entry& entry : entries_) {
    if (!names_event(filter.event, entry.event.definition)) continue;
    used = true;
    if (!sink.empty()) continue;  // the same mistake for every probe of the event
    if (auto bound = pipeline::check_filter(filter.text, entry.event, sink)) {
      entry.filter = std::move(*bound);
      entry.filter_text = filter.text;
    }
  }
  return used;
}

void Draft::check(std::span<const std::string> definitions, std::span<const EventFilter> filters,
                  const target::TargetEnv& env, pipeline::Forms forms, std::vector<Problem>& problems) {
  const auto note = [&](Problem::Kind kind, std::size_t index, diag::Sink& sink) {
    for (diag::Diagnostic& diagnostic : sink.take()) problems.push_back({kind, index, std::move(diagnostic)});
  };
  for (std::size_t i = 0; i < definitions.size(); ++i) {
    diag::Sink sink;
    asks_statics_ = statics_ != nullptr && stands_on_event(definitions[i]);
    auto checked = pipeline::check_event(definitions[i], env, *this, forms, sink);
    note(Problem::Kind::Definition, i, sink);
    if (checked) add(i, std::move(*checked));
  }
  const bool definitions_are_good = problems.empty();
  for (std::size_t f = 0; f < filters.size(); ++f) {
    diag::Sink sink;
    if (!bind(filters[f], sink) && definitions_are_good) sink.report(missing_event(filters[f]));
    note(Problem::Kind::Filter, f, sink);
  }
}

std::vector<const model::Definition*> Draft::probes_of(model::EventKind kind) const {
  std::vector<const model::Definition*> probes;
  for (const target::CatalogEntry& entry : catalog_.entries())
    for (const model::Definition& sibling : entry.siblings)
      if (sibling.kind == kind) probes.push_back(&sibling);
  return probes;
}

}  // namespace kevt::engine
