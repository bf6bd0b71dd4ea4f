// A draft is what define() and `kevtrace check` have in common.
//
//   p:a libc:open …      checked against the catalog, then in it
//   p:a libc:openat …    so this one is a second probe of `a`, and must have the same arguments
//   filter a: x > 3      bound to every probe of `a`
//
// A filter of an event that does not exist is a mistake only when all definitions are right:
// otherwise the event may be missing because of its own mistake.
#include "runtime-user/engine/events/draft.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "compiler/pipeline/shorthand.h"

namespace kevt::engine {

bool names_event(std::string_view written, std::string_view group, std::string_view event) {
  if (!written.ends_with(event)) return false;
  written.remove_suffix(event.size());
  if (written.empty()) return true;
  return written.size() == group.size() + 1 && written.starts_with(group) &&
         std::string_view(":/.").contains(written.back());
}

bool stands_on_event(std::string_view definition) {
  const auto first = definition.find_first_not_of(" \t");
  return first != std::string_view::npos && definition[first] == 'e';
}

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

diag::Diagnostic of_other_side(std::string_view definition) {
  return {.kind = diag::Kind::DiffProbeType,
          .location = diag::Location::Kevtrace,
          .command = std::string(definition),
          .column = 0,
          .errno_value = EEXIST,
          .detail = "an event of a program and one of the kernel have this name: give one another name",
          .notes = {},
          .fixits = {}};
}

const target::CatalogEntry* Draft::find(std::string_view group, std::string_view event) const {
  const target::CatalogEntry* found = catalog_.find(group, event);
  if (found == nullptr && existing_ != nullptr) found = existing_->find(group, event);
  return found == nullptr && asks_statics_ ? statics_->find(group, event) : found;
}

void Draft::add(std::size_t index, model::Definition written, pipeline::CheckedEvent event) {
  const model::Definition& definition = event.definition;
  if (existing_ && !catalog_.find(definition.group, definition.event))
    if (const target::CatalogEntry* known = existing_->find(definition.group, definition.event)) catalog_.add(*known);
  auto known = std::make_shared<const model::Definition>(definition);
  catalog_.add_probe(known, event.layout);
  entries_.push_back({index, std::move(written), std::move(event), std::move(known), std::nullopt, std::nullopt});
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

// Adds all lines that one definition stands for; or none, and `sink` has the mistakes of the first wrong line.
void Draft::check_lines(std::size_t index, std::span<pipeline::ParsedEvent> lines, const target::TargetEnv& env,
                        pipeline::Forms forms, diag::Sink& sink) {
  std::vector<Entry> right;
  for (pipeline::ParsedEvent& line : lines) {
    for (diag::Diagnostic& mistake : line.mistakes) sink.report(std::move(mistake));
    auto checked = line.definition ? pipeline::check_event(model::Definition(*line.definition), env, *this, forms, sink)
                                   : std::nullopt;
    if (!checked) return;
    right.push_back({index, *std::move(line.definition), *std::move(checked), nullptr, {}, {}});
  }
  for (Entry& entry : right) add(index, std::move(entry.written), std::move(entry.event));
}

namespace {

// The lines that the definitions stand for, parsed, and which lines belong to which definition.
struct ExpandedLines {
  struct Part {
    std::size_t begin = 0, end = 0;
    std::optional<diag::Diagnostic> mistake;
  };
  std::vector<pipeline::ParsedEvent> lines;
  std::vector<Part> parts;  // by definition
};

ExpandedLines parse_expanded(std::span<const std::string> definitions, const target::TargetEnv& env) {
  std::vector<std::string> lines;
  std::vector<ExpandedLines::Part> parts;
  for (const std::string& definition : definitions) {
    ExpandedLines::Part part{.begin = lines.size(), .end = 0, .mistake = {}};
    auto expanded = pipeline::expand_shorthand(definition, env);
    if (!expanded)
      part.mistake = std::move(expanded.error());
    else if (*expanded)
      std::ranges::move(**expanded, std::back_inserter(lines));
    else
      lines.push_back(definition);
    part.end = lines.size();
    parts.push_back(std::move(part));
  }
  return {pipeline::parse_events(lines), std::move(parts)};
}

}  // namespace

void Draft::check(std::span<const std::string> definitions, std::span<const EventFilter> filters,
                  const target::TargetEnv& env, pipeline::Forms forms, std::vector<Problem>& problems) {
  const auto note = [&](Problem::Kind kind, std::size_t index, diag::Sink& sink) {
    for (diag::Diagnostic& diagnostic : sink.take()) problems.push_back({kind, index, std::move(diagnostic)});
  };
  ExpandedLines expanded = parse_expanded(definitions, env);
  for (std::size_t i = 0; i < definitions.size(); ++i) {
    diag::Sink sink;
    asks_statics_ = statics_ != nullptr && stands_on_event(definitions[i]);
    ExpandedLines::Part& part = expanded.parts[i];
    if (part.mistake) sink.report(*std::move(part.mistake));
    check_lines(i, std::span(expanded.lines).subspan(part.begin, part.end - part.begin), env, forms, sink);
    note(Problem::Kind::Definition, i, sink);
  }
  const bool definitions_are_good = problems.empty();
  for (std::size_t f = 0; f < filters.size(); ++f) {
    diag::Sink sink;
    if (!bind(filters[f], sink) && definitions_are_good) sink.report(missing_event(filters[f]));
    note(Problem::Kind::Filter, f, sink);
  }
}

std::vector<const model::Definition*> Draft::probes_of(model::EventKind kind) const {
  std::vector<const model::Definition*> probes = catalog_.probes_of(kind);
  if (existing_ == nullptr) return probes;
  for (const model::Definition* probe : existing_->probes_of(kind))
    if (catalog_.find(probe->group, probe->event) == nullptr) probes.push_back(probe);  // else listed above
  return probes;
}

}  // namespace kevt::engine
