// A line of kprobe_events, uprobe_events or dynamic_events → Statement.
//
// Problem: four files take overlapping sets of forms, each form's own parser may decline a line in
// favour of the next, and a decline has no message while a mistake has an exact one.
// Idea: this page decides who parses the line, in the kernel's order; the parts (names, places,
// arguments, types, synthetic fields) live in parse_definition_*.cpp and report into the line's context.
//
//   dynamic_events:  "r4:io/opened openat ret=$retval"  ->  Kprobe, Return, maxactive 4, group io, …
//
// All mistakes of a line are reported; Diagnostic::order puts the kernel's first one first.
// Not here: defaults and everything that needs the world (sema).
// Mirrors create_dyn_event() (trace_dynevent.c) and the __trace_*probe_create() of 6.1, 6.12 and 7.3.
#include <limits>
#include <utility>

#include "grammar/parse_definition_limits.h"
#include "grammar/parse_definition_parts.h"

namespace kevt::grammar {
namespace {

using Parsed = std::optional<model::Statement>;
using dialect::Feature;

struct Refusal {
  diag::Kind kind;
  std::string note;
};

// A line that is refused without a log entry.
Parsed refuse(std::string_view command, const Refusal& refusal, diag::Sink& sink) {
  diag::Diagnostic diagnostic{.kind = refusal.kind,
                              .location = diag::Location::Dynevent,
                              .command = std::string(command),
                              .column = std::nullopt,
                              .errno_value = EINVAL,
                              .logged = false};
  if (const auto help = diag::help_text(refusal.kind); !help.empty()) diagnostic.notes.push_back({std::string(help)});
  if (!refusal.note.empty()) diagnostic.notes.push_back({refusal.note});
  sink.report(std::move(diagnostic));
  return std::nullopt;
}

// A whole line being parsed.
struct LineRequest {
  std::string_view line;  // without its comment
  const Words& words;
  EventsFile file;
  diag::Sink& sink;
  dialect::Dialect dialect;

  LineContext context(model::EventKind kind, model::ProbeKind point, diag::Location location) const {
    return {words, kind, point, location, sink, dialect};
  }
};

// A line nobody takes: EINVAL. dynamic_events of newer kernels log it, with the line as it was written.
Parsed refuse_unmatched(const LineRequest& request, std::string note) {
  if (request.file != EventsFile::Dynamic || !request.dialect.has(Feature::UnmatchedIsLogged)) {
    return refuse(request.words.command(), {diag::Kind::BadCommand, std::move(note)}, request.sink);
  }
  diag::Diagnostic diagnostic{.kind = diag::Kind::NoMatch,
                              .location = diag::Location::Dynevent,
                              .command = std::string(request.line),
                              .column = 0,
                              .errno_value = EINVAL};
  if (!note.empty()) diagnostic.notes.push_back({std::move(note)});
  request.sink.report(std::move(diagnostic));
  return std::nullopt;
}

// `-:[G/]E [LOCATION [ARG…]]`, or `!…:` with the rest of a listing.
Parsed parse_deletion(const Words& words, diag::Sink& sink) {
  const std::string_view head = words[0];
  const std::size_t colon = head[0] == '-' ? 1 : head.find(':');
  if (colon >= head.size() || head[colon] != ':') return refuse(words.command(), {diag::Kind::BadDeletion, ""}, sink);

  model::Deletion deletion{.command = words.command()};
  std::string_view event = head.substr(colon + 1);
  if (const std::size_t slash = event.find('/'); slash != std::string_view::npos) {
    deletion.group = event.substr(0, slash);
    event.remove_prefix(slash + 1);
  }
  if (!deletion.group && event.empty()) return refuse(words.command(), {diag::Kind::BadDeletion, ""}, sink);
  if (!event.empty()) deletion.event = event;
  if (words.size() > 1) deletion.location = words[1];
  for (std::size_t word = 2; word < words.size(); ++word) deletion.args.emplace_back(words[word]);
  return deletion;
}

// Digits behind `p`, `r` or `f`. False: reported.
bool take_maxactive(const LineContext& line, std::string_view lead, model::Definition& definition) {
  if (lead.size() < 2 || !is_digit(lead[1])) return true;
  const auto report = [&](diag::Kind kind) {
    line.report({.kind = kind, .word = 0, .column = 1, .order = diag::kStepHead});
    return false;
  };
  if (lead[0] == 'p') {
    const bool reworded = line.dialect.has(Feature::MaxactiveIsForExits);
    return report(reworded ? diag::Kind::BadMaxactType : diag::Kind::MaxactNoKprobe);
  }
  const std::string_view digits = lead.substr(1);
  const Number number = parse_unsigned(digits, kAutoBase);
  const bool fits = number.value <= std::numeric_limits<std::uint32_t>::max() && digits.size() <= kMaxNameBytes;
  if (number.error != 0 || number.value == 0 || !fits) return report(diag::Kind::BadMaxact);
  // The kernel keeps it in an int: what became negative is taken as not given.
  if (number.value > std::numeric_limits<std::int32_t>::max()) return true;
  if (number.value > kMaxMaxactive) return report(diag::Kind::MaxactTooBig);
  definition.maxactive = static_cast<std::uint32_t>(number.value);
  return true;
}

bool is_file_place(std::string_view word) {
  const std::size_t colon = word.rfind(':');
  return word.contains('/') && colon != std::string_view::npos && colon + 1 < word.size() && is_digit(word[colon + 1]);
}

bool is_declined_by_kprobes(std::string_view word) {
  return parse_unsigned(word, kAutoBase).error != 0 && word.contains('/') && word.contains(':');
}

model::Definition begin_definition(const LineContext& line) {
  return {.kind = line.kind,
          .probe_kind = line.probe_kind,
          .place_span = line.word_span(1),
          .command = line.words.command()};
}

model::ProbeKind point_of(const Words& words) {
  return words[0][0] == 'r' ? model::ProbeKind::Return : model::ProbeKind::Entry;
}

Parsed finish(model::Definition definition, std::optional<model::Place> place) {
  if (!place) return std::nullopt;
  definition.place = std::move(*place);
  return definition;
}

Parsed parse_kprobe(const LineRequest& request) {
  const Words& words = request.words;
  LineContext line = request.context(model::EventKind::Kprobe, point_of(words), diag::Location::Kprobe);
  model::Definition definition = begin_definition(line);
  const HeadPieces head = cut_head(words[0]);
  const bool head_good = take_maxactive(line, head.lead.text, definition);
  auto place = parse_symbol_place(line, definition.probe_kind);
  line.probe_kind = definition.probe_kind;
  if (head.name) parse_event_name(line, head.name->text, head.name->begin, diag::kStepName, definition);
  parse_arguments(line, words.size(), definition);
  return head_good ? finish(std::move(definition), std::move(place)) : std::nullopt;
}

Parsed parse_uprobe(const LineRequest& request) {
  const Words& words = request.words;
  LineContext line = request.context(model::EventKind::Uprobe, point_of(words), diag::Location::Uprobe);
  model::Definition definition = begin_definition(line);
  auto place = parse_file_place(line, definition.probe_kind);
  line.probe_kind = definition.probe_kind;
  // A name is looked for directly behind the letter only: `r10:x` has none.
  constexpr std::uint32_t kNameColumn = 2;
  if (words[0].substr(1).starts_with(':')) {
    parse_event_name(line, words[0].substr(kNameColumn), kNameColumn, diag::kStepName, definition);
  }
  parse_arguments(line, words.size(), definition);
  return finish(std::move(definition), std::move(place));
}

Parsed parse_eprobe(const LineRequest& request) {
  const Words& words = request.words;
  const LineContext line = request.context(model::EventKind::Eprobe, model::ProbeKind::Entry, diag::Location::Eprobe);
  model::Definition definition = begin_definition(line);
  const HeadPieces head = cut_head(words[0]);
  if (head.name) parse_event_name(line, head.name->text, head.name->begin, diag::kStepHead, definition);
  auto place = parse_event_place(line);
  std::size_t end = 2;
  while (end < words.size() && words[end] != "if") ++end;
  if (end < words.size()) {
    definition.filter = words.tail(end + 1);
    if (end + 1 == words.size()) {
      line.report({.kind = diag::Kind::NoEpFilter, .word = end + 1, .order = diag::kStepFilter});
    }
  }
  parse_arguments(line, end, definition);
  return finish(std::move(definition), std::move(place));
}

// What stands between `f` or `t` and ':'. False: reported.
bool take_function_lead(const LineContext& line, std::string_view lead, model::Definition& definition) {
  const bool number = lead.size() > 1 && is_digit(lead[1]);
  const bool one_kernel = line.dialect.version().has_value();
  if (line.dialect.has(Feature::FprobeMaxactive) && (number || one_kernel)) {
    return take_maxactive(line, lead, definition);
  }
  if (lead.size() == 1) return true;
  line.report({.kind = diag::Kind::BadMaxact, .word = 0, .column = 1, .order = diag::kStepHead});
  return false;
}

Parsed parse_function_probe(const LineRequest& request) {
  const Words& words = request.words;
  const auto kind = words[0][0] == 't' ? model::EventKind::Tprobe : model::EventKind::Fprobe;
  LineContext line = request.context(kind, model::ProbeKind::Entry, diag::Location::Fprobe);
  model::Definition definition = begin_definition(line);
  const HeadPieces head = cut_head(words[0]);
  const bool head_good = take_function_lead(line, head.lead.text, definition);
  auto place = parse_function_place(line, definition.probe_kind);
  line.probe_kind = definition.probe_kind;
  if (definition.maxactive && line.probe_kind == model::ProbeKind::Entry) {
    line.report({.kind = diag::Kind::BadMaxactType, .word = 0, .column = 1, .order = diag::kStepPlace + 1u});
  }
  if (head.name) parse_event_name(line, head.name->text, head.name->begin, diag::kStepName, definition);
  parse_arguments(line, words.size(), definition);
  return head_good ? finish(std::move(definition), std::move(place)) : std::nullopt;
}

constexpr std::string_view kNoKernelWatches = "watchpoints (`w`) are in no kernel yet";

Parsed parse_watchpoint(const LineRequest& request) {
  const Words& words = request.words;
  const LineContext line =
      request.context(model::EventKind::Watchpoint, model::ProbeKind::Entry, diag::Location::Wprobe);
  model::Definition definition = begin_definition(line);
  const HeadPieces head = cut_head(words[0]);
  const bool head_good = head.lead.text.size() == 1;
  if (!head_good) {
    line.report({.kind = diag::Kind::WatchMaxactive, .word = 0, .column = 1, .order = diag::kStepHead});
  }
  auto place = parse_watch_place(line);
  if (head.name) parse_event_name(line, head.name->text, head.name->begin, diag::kStepName, definition);
  parse_arguments(line, words.size(), definition);
  return head_good ? finish(std::move(definition), std::move(place)) : std::nullopt;
}

// `w:` of a kernel series that is not merged.
bool is_watchpoint(const LineRequest& request) {
  const std::string_view head = request.words[0];
  const bool letter = head[0] == 'w' && (head.size() == 1 || head[1] == ':' || is_digit(head[1]));
  return letter && request.file == EventsFile::Dynamic && request.dialect.has_own_forms();
}

// Some kernels' event types take the letter.
bool is_function_probe(const LineRequest& request) {
  const char letter = request.words[0][0];
  if (request.file != EventsFile::Dynamic || request.words.size() < 2) return false;
  return (letter == 'f' && request.dialect.has(Feature::Fprobes)) ||
         (letter == 't' && request.dialect.has(Feature::Tprobes));
}

Parsed parse_probe(const LineRequest& request) {
  const Words& words = request.words;
  const char letter = words[0][0];
  const bool dynamic = request.file == EventsFile::Dynamic;
  if (words.size() < 2) return refuse_unmatched(request, "an event needs a place");
  if (is_watchpoint(request)) return parse_watchpoint(request);
  if (is_function_probe(request)) return parse_function_probe(request);
  if (dynamic && letter == 'e') return parse_eprobe(request);
  if (letter == 'w' && dynamic) return refuse_unmatched(request, std::string(kNoKernelWatches));
  if (letter != 'p' && letter != 'r') return refuse_unmatched(request, "");
  const bool declined = is_declined_by_kprobes(words[1]);
  if (request.file == EventsFile::Kprobe && declined) {
    model::Definition probed;
    const LineContext line = request.context(model::EventKind::Kprobe, point_of(words), diag::Location::Kprobe);
    if (!take_maxactive(line, cut_head(words[0]).lead.text, probed)) return std::nullopt;
    return refuse_unmatched(request, "`PATH:OFFSET` belongs into uprobe_events");
  }
  if (request.file == EventsFile::Uprobe || declined) {
    // In dynamic_events kprobes look at the number of instances before they decline.
    model::Definition probed;
    const LineContext line = request.context(model::EventKind::Kprobe, point_of(words), diag::Location::Kprobe);
    if (dynamic && !take_maxactive(line, cut_head(words[0]).lead.text, probed)) return std::nullopt;
    if (!is_file_place(words[1])) return refuse_unmatched(request, "a uprobe's place is `PATH:OFFSET`");
    return parse_uprobe(request);
  }
  return parse_kprobe(request);
}

}  // namespace

std::optional<model::Statement> parse_line_leniently(std::string_view line, EventsFile file, diag::Sink& sink,
                                                     dialect::Dialect dialect) {
  if (line.size() > kMaxLineBytes || line.contains('\0')) {
    return refuse("", {diag::Kind::LineTooLong, line.contains('\0') ? "the line holds a NUL byte" : ""}, sink);
  }
  line = line.substr(0, line.find('#'));
  if (file == EventsFile::Synthetic) return parse_synthetic_file_line(line, sink);
  const Words words(line);
  if (words.size() == 0) return std::nullopt;
  if (line[0] == '-' || (line[0] == '!' && file == EventsFile::Dynamic)) return parse_deletion(words, sink);
  if (file == EventsFile::Dynamic && words[0].starts_with("s:")) return parse_synthetic_definition(line, sink);
  return parse_probe({.line = line, .words = words, .file = file, .sink = sink, .dialect = dialect});
}

std::optional<model::Statement> parse_line(std::string_view line, EventsFile file, diag::Sink& sink,
                                           dialect::Dialect dialect) {
  const std::size_t before = sink.diagnostics().size();
  auto statement = parse_line_leniently(line, file, sink, dialect);
  if (sink.diagnostics().size() != before) return std::nullopt;
  return statement;
}

}  // namespace kevt::grammar
