// Synthetic events: `NAME TYPE FIELD[; TYPE FIELD]…`, and `s:[synthetic/]NAME …`.
//
// Problem: this parser of the kernel is a world of its own: the command is shown as written, columns
// are the first occurrence of the bad word in it (or 0), cut to 255 bytes; old lines without
// semicolons still work. Idea: the same walk over ';' parts and words, with those columns.
//
//   "wakeup unsigned int a; char comm[16]"  ->  fields {"unsigned int", a} {"char[16]", comm}
//
// Brackets may follow the type or the name; the canonical type carries them.
// Not here: whether the event exists already (sema). Mirrors kernel/trace/trace_events_synth.c (6.1).
#include <algorithm>
#include <utility>

#include "grammar/parse_definition_limits.h"
#include "grammar/parse_definition_parts.h"

namespace kevt::grammar {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kSystem = "synthetic";

constexpr std::string_view kScalarTypes[] = {
    "s64",           "u64", "s32",          "u32",  "s16",           "u16",  "s8",    "u8",    "char",
    "unsigned char", "int", "unsigned int", "long", "unsigned long", "bool", "pid_t", "gfp_t",
};

enum SyntheticStep : std::uint32_t { kCommandStep = 0, kNameStep = 10, kFieldStep = 1000 };

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text[0])) text.remove_prefix(1);
  return text;
}

class SyntheticParser {
 public:
  SyntheticParser(std::string_view command, diag::Sink& sink) : command_(command), sink_(sink) {}

  // `name`, and everything behind the blank after it.
  std::optional<model::Statement> define(std::string_view name, std::string_view fields);
  std::optional<model::Statement> report(diag::Kind kind, std::string_view at, std::uint32_t order);

 private:
  void take_part(std::string_view part);
  std::size_t take_field(const Words& words, std::size_t first);
  void add_field(std::string_view prefix, std::string_view type, std::string_view name);

  std::string_view command_;
  diag::Sink& sink_;
  model::Definition definition_;
  std::size_t seen_ = 0;
};

// Column: the first occurrence of `at`, as the kernel's err_pos() has it.
std::optional<model::Statement> SyntheticParser::report(diag::Kind kind, std::string_view at, std::uint32_t order) {
  const std::size_t found = at.empty() ? 0 : command_.find(at);
  diag::Diagnostic diagnostic{.kind = kind,
                              .location = diag::Location::Synthetic,
                              .command = std::string(command_),
                              .column = found == std::string_view::npos ? 0 : static_cast<std::uint32_t>(found),
                              .errno_value = EINVAL,
                              .order = order};
  if (const auto help = diag::help_text(kind); !help.empty()) diagnostic.notes.push_back({std::string(help)});
  sink_.report(std::move(diagnostic));
  return std::nullopt;
}

enum class ArraySpec : std::uint8_t { None, Fixed, Dynamic, Bad };
struct ArrayShape {
  ArraySpec spec = ArraySpec::None;
  std::uint32_t items = 0;
};

// The array's shape from `char[…]`; stack traces are dynamic, whatever the brackets hold.
ArrayShape array_shape(std::string_view type) {
  constexpr std::string_view kText = "char[";
  const std::size_t begin = type.find(kText);
  if (begin == std::string_view::npos) {
    return {.spec = type.contains("long[") ? ArraySpec::Dynamic : ArraySpec::None};
  }
  const std::string_view digits = type.substr(begin + kText.size());
  if (digits.find(']') != digits.size() - 1 || digits.empty() || type.find(']') != type.size() - 1) {
    return {.spec = ArraySpec::Bad};
  }
  constexpr std::size_t kMaxDigits = 3;
  const std::string_view count = digits.substr(0, digits.size() - 1);
  if (count.size() > kMaxDigits) return {.spec = ArraySpec::Bad};
  if (count.empty()) return {.spec = ArraySpec::Dynamic};
  const Number number = parse_unsigned(count, kAutoBase);
  if (number.error != 0 || number.value > kMaxSyntheticString) return {.spec = ArraySpec::Bad};
  if (number.value == 0) return {.spec = ArraySpec::Dynamic};
  return {.spec = ArraySpec::Fixed, .items = static_cast<std::uint32_t>(number.value)};
}

void SyntheticParser::add_field(std::string_view prefix, std::string_view type, std::string_view name) {
  const std::uint32_t order = kFieldStep + static_cast<std::uint32_t>(seen_);
  const std::size_t bracket = name.find('[');
  const std::string_view array = bracket == std::string_view::npos ? std::string_view() : name.substr(bracket);
  model::SyntheticField field;
  field.name = name.substr(0, bracket);
  field.type = std::string(prefix) + std::string(type) + std::string(array);
  if (!is_good_name(field.name)) {
    report(diag::Kind::SynthBadName, name, order);
    return;
  }
  if (std::ranges::find(kScalarTypes, field.type) == std::end(kScalarTypes)) {
    const ArrayShape shape = array_shape(field.type);
    if (shape.spec == ArraySpec::Bad && !array.empty()) {
      report(diag::Kind::SynthInvalidArraySpec, name, order);
      return;
    }
    if (shape.spec == ArraySpec::Bad || shape.spec == ArraySpec::None) {
      report(diag::Kind::SynthInvalidType, type, order);
      return;
    }
    field.is_array = true;
    field.array_count = shape.items;
  }
  if (const std::size_t at = command_.find(name); at != std::string_view::npos) {
    field.span = {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + name.size())};
  }
  definition_.fields.push_back(std::move(field));
}

// One field from words[first] on; returns the number of words it took.
std::size_t SyntheticParser::take_field(const Words& words, std::size_t first) {
  const std::uint32_t order = kFieldStep + static_cast<std::uint32_t>(seen_);
  const std::size_t left = words.size() - first;
  if (words[first] == "unsigned") {
    if (left < 3) {
      report(diag::Kind::SynthIncompleteType, words[first], order);
      return left;
    }
    add_field("unsigned ", words[first + 1], words[first + 2]);
    return 3;
  }
  if (left < 2) {
    report(diag::Kind::SynthInvalidField, words[first], order);
    return left;
  }
  add_field("", words[first], words[first + 1]);
  return 2;
}

void SyntheticParser::take_part(std::string_view part) {
  const Words words(part);
  for (std::size_t at = 0; at < words.size(); ++seen_) {
    if (seen_ == kMaxSyntheticFields) {
      report(diag::Kind::SynthTooManyFields, "", kFieldStep + static_cast<std::uint32_t>(seen_));
      ++seen_;
      return;
    }
    if (seen_ > kMaxSyntheticFields) return;
    at += take_field(words, at);
  }
}

std::optional<model::Statement> SyntheticParser::define(std::string_view name, std::string_view fields) {
  if (name.empty()) return report(diag::Kind::SynthInvalidCmd, "", kNameStep);
  if (!is_good_name(name)) report(diag::Kind::SynthBadName, name, kNameStep);
  definition_.kind = model::EventKind::Synthetic;
  definition_.group = kSystem;
  definition_.event = name;
  definition_.command = command_;
  while (true) {
    const std::size_t semicolon = fields.find(';');
    take_part(fields.substr(0, semicolon));
    if (semicolon == std::string_view::npos) break;
    fields.remove_prefix(semicolon + 1);
  }
  if (seen_ == 0) return report(diag::Kind::SynthInvalidCmd, "", kFieldStep);
  return std::move(definition_);
}

// Name, type and field stand before the first ';'.
bool has_first_field(std::string_view command) { return Words(command.substr(0, command.find(';'))).size() >= 3; }

}  // namespace

std::optional<model::Statement> parse_synthetic_file_line(std::string_view line, diag::Sink& sink) {
  line = without_blanks(line);
  if (line.empty()) return std::nullopt;
  SyntheticParser parser(line, sink);
  const std::size_t blank = line.find_first_of(kBlanks);
  if (line[0] == '!') {
    return model::Deletion{.group = std::string(kSystem),
                           .event = std::string(line.substr(0, blank).substr(1)),
                           .command = std::string(line)};
  }
  if (!has_first_field(line) || blank == std::string_view::npos) {
    return parser.report(diag::Kind::SynthInvalidCmd, "", kCommandStep);
  }
  return parser.define(line.substr(0, blank), without_blanks(line.substr(blank)));
}

std::optional<model::Statement> parse_synthetic_definition(std::string_view line, diag::Sink& sink) {
  line = without_blanks(line);
  SyntheticParser parser(line, sink);
  const std::size_t blank = line.find_first_of(kBlanks);
  if (blank == std::string_view::npos) return parser.report(diag::Kind::SynthInvalidCmd, "", kCommandStep);
  std::string_view name = line.substr(2);
  if (name.contains('/')) {
    if (!name.starts_with("synthetic/")) return parser.report(diag::Kind::SynthInvalidDynCmd, "", kCommandStep);
    name.remove_prefix(std::string_view("synthetic/").size());
  }
  if (!has_first_field(name)) return parser.report(diag::Kind::SynthInvalidCmd, "", kCommandStep);
  const std::size_t name_begin = line.size() - name.size();
  if (name_begin > blank) return parser.report(diag::Kind::SynthInvalidCmd, "", kCommandStep);
  return parser.define(line.substr(name_begin, blank - name_begin), without_blanks(line.substr(blank)));
}

}  // namespace kevt::grammar
