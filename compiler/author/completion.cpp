// Completion of definitions.
//
//   p:open libc:op|            functions          a=%d|      registers      b=$re|      $ words      c=%di:str| types
//   p:open libc:open64 fi|     argument names     o->in->|   members    p:a app:shapes.c:4|    lines
//
// What stands before the cursor decides: the first word is the event, the second the place, the others are arguments.
#include "compiler/author/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "compiler/author/line_completion.h"
#include "compiler/author/prototypes.h"

namespace kevt::author {
namespace {

constexpr std::size_t kMaxSuggestions = 200;
constexpr std::size_t kFewFunctions = 10;  // with more of them nobody means a source file
constexpr std::size_t kMostLines = 40;     // each is looked up with its variables
constexpr std::string_view kBlanks = " \t";

struct Word {
  const char* text;
  const char* note;
};
constexpr Word kBegins[] = {{"p:", "a place is reached"},
                            {"r:", "a function returns"},
                            {"e:", "another event happens"},
                            {"f:", "a kernel function is entered or left"},
                            {"t:", "a tracepoint is passed"}};
constexpr Word kVariables[] = {{"$retval", "what the function returned"},
                               {"$stack", "the stack pointer's value"},
                               {"$stack0", "word N of the stack"},
                               {"$comm", "the task's name"},
                               {"$trace_id", "the trace that the thread works for (OpenTelemetry)"},
                               {"$span_id", "the span that it works for"},
                               {"$arg1", "argument N of the function"},
                               {"$arg2", "argument N of the function"},
                               {"$arg3", "argument N of the function"},
                               {"$arg4", "argument N of the function"}};
constexpr Word kTypes[] = {
#define KEVT_TYPE(name, kind, bytes, where, note, ...) {name, note},
#include "compiler/model/type.def"
#undef KEVT_TYPE
};

bool begins_with(std::string_view text, std::string_view typed) {
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  return text.size() >= typed.size() && std::ranges::equal(text.substr(0, typed.size()), typed, same);
}

template <typename Words>
void add_words(Completion& out, const Words& words, std::string_view typed) {
  for (const Word& word : words)
    if (begins_with(word.text, typed)) out.suggestions.push_back({word.text, word.note});
}

void add_registers(Completion& out, std::string_view typed) {
  static constexpr const char* kArguments[] = {"di", "si", "dx", "cx", "r8", "r9"};
  for (int i = 0; i < 6; ++i) {
    std::string text = std::string("%") + kArguments[i];
    if (text.starts_with(typed)) out.suggestions.push_back({std::move(text), fmt::format("argument {}", i + 1)});
  }
  auto names = target::register_names();
  std::ranges::sort(names);
  for (const std::string_view name : names) {
    std::string text = "%" + std::string(name);
    const auto is_there = [&](const Suggestion& s) { return s.text == text; };
    if (text.starts_with(typed) && std::ranges::none_of(out.suggestions, is_there))
      out.suggestions.push_back({std::move(text), name == "ax" ? "return value" : ""});
  }
}

// Where the word before the cursor begins.
std::size_t word_begin(std::string_view before, std::string_view stops) {
  const std::size_t stop = before.find_last_of(stops);
  return stop == std::string_view::npos ? 0 : stop + 1;
}

void complete_place(Completion& out, std::string_view before, const SymbolIndex& symbols, const target::TargetEnv* env,
                    NameMatch match) {
  out.begin = word_begin(before, kBlanks);
  const std::string_view typed = before.substr(out.begin);
  if (const auto line = env ? line_word(typed) : std::nullopt) {
    out.suggestions = lines_for(*env, *line, kMostLines);
    if (!out.suggestions.empty()) return;
  }
  if (match == NameMatch::Prefix) {
    for (std::string& text : symbols.places_prefixed(typed)) out.suggestions.push_back({std::move(text), ""});
  } else {
    for (const SymbolName* symbol : symbols.find(typed, kMaxSuggestions))
      out.suggestions.push_back({symbol->module.empty() ? symbol->name : symbol->module + ':' + symbol->name,
                                 symbol->note.empty() ? symbol->module : symbol->note});
  }
  if (env && out.suggestions.size() < kFewFunctions)
    for (Suggestion& one : files_for(*env, typed)) out.suggestions.push_back(std::move(one));
}

// Names of the probed function's arguments, and `$arg*` for all of them.
void add_parameters(Completion& out, const PlaceWord& place, const target::TargetEnv& env, std::string_view typed) {
  const auto prototype = prototype_of(env, place);
  if (!prototype) return;
  std::vector<Suggestion> names;
  for (const Parameter& parameter : prototype->parameters)
    if (!parameter.name.empty() && begins_with(parameter.name, typed))
      names.push_back({parameter.name, parameter.where.empty()
                                           ? parameter.type
                                           : fmt::format("{} in {}", parameter.type, parameter.where)});
  out.suggestions.insert(out.suggestions.begin(), names.begin(), names.end());
  if (!prototype->parameters.empty() && typed.empty()) out.suggestions.push_back({"$arg*", "all arguments, by name"});
}

// Behind the last `->` or `.`, which ends at `step_end` of what is typed. `*`, all of them, has no name before it.
void add_members(Completion& out, std::string_view line, const target::TargetEnv& env, std::string_view typed,
                 std::size_t step_end, bool has_name) {
  out.begin += step_end;
  const std::string_view path = typed.substr(0, step_end);
  const auto at = line_word(place_text(line));
  for (const StructMember& member : at ? members_at(env, *at, path) : members_behind(env, place_of(line), path))
    if (begins_with(member.name, typed.substr(step_end)) && out.suggestions.size() < kMaxSuggestions)
      out.suggestions.push_back({member.name, fmt::format("{} at +{}", member.type, member.byte_offset)});
  if (!out.suggestions.empty() && typed.size() == step_end && !has_name)
    out.suggestions.push_back({"*", "all members, by name"});
}

// Behind the last `->` or `.` of "a->b.c"; 0: there is none.
std::size_t end_of_steps(std::string_view typed) {
  const std::size_t arrow = typed.rfind("->"), dot = typed.rfind('.');
  const auto behind = [](std::size_t at, std::size_t length) {
    return at == std::string_view::npos || at == 0 ? 0 : at + length;
  };
  return std::max(behind(arrow, 2), behind(dot, 1));
}

void complete_argument(Completion& out, std::string_view line, std::string_view before, const target::TargetEnv* env) {
  out.begin = word_begin(before, " \t=(:,");
  const std::string_view typed = before.substr(out.begin);
  const char stop = out.begin > 0 ? before[out.begin - 1] : '\0';
  const PlaceWord place = place_of(line);
  const bool is_return = line.substr(std::min(line.find_first_not_of(kBlanks), line.size())).starts_with('r');
  if (stop == ':') {
    add_words(out, kTypes, typed);
  } else if (typed.starts_with('%')) {
    add_registers(out, typed);
  } else if (const std::size_t step_end = end_of_steps(typed); env && step_end > 0) {
    add_members(out, line, *env, typed, step_end, stop == '=');
  } else if (typed.starts_with('$')) {
    add_words(out, kVariables, typed);
  } else {
    const bool is_value = stop == '=' || stop == '(';
    if (typed.empty() && is_value) {
      add_registers(out, "%");
      out.suggestions.resize(std::min<std::size_t>(out.suggestions.size(), 6));
      add_words(out, kVariables, "");
      out.suggestions.push_back({"+0(", "what an address points to"});
    }
    if (const auto at = env ? line_word(place_text(line)) : std::nullopt) {
      for (Suggestion& one : variables_at(*env, *at, typed)) out.suggestions.push_back(std::move(one));
    } else if (env && place.is_entry && !is_return) {
      add_parameters(out, place, *env, typed);
    }
  }
}

}  // namespace

DefinitionPart part_at(std::string_view line, std::size_t cursor) {
  std::string_view before = line.substr(0, std::min(cursor, line.size()));
  // Behind the first two words, each with the blanks behind it.
  for (const DefinitionPart part : {DefinitionPart::Begin, DefinitionPart::Place}) {
    before.remove_prefix(std::min(before.find_first_not_of(kBlanks), before.size()));
    const std::size_t end = before.find_first_of(kBlanks);
    if (end == std::string_view::npos) return part;
    before.remove_prefix(end + 1);
  }
  return DefinitionPart::Argument;
}

Completion complete_definition(std::string_view line, std::size_t cursor, const SymbolIndex& symbols,
                               const target::TargetEnv* env, NameMatch match) {
  const std::string_view before = line.substr(0, std::min(cursor, line.size()));
  Completion out{.begin = before.size(), .suggestions = {}};
  if (before.contains('#')) return out;
  switch (part_at(line, cursor)) {
    case DefinitionPart::Begin:
      out.begin = word_begin(before, kBlanks);
      add_words(out, kBegins, before.substr(out.begin));
      break;
    case DefinitionPart::Place:
      complete_place(out, before, symbols, env, match);
      break;
    case DefinitionPart::Argument:
      complete_argument(out, line, before, env);
      break;
  }
  return out;
}

Completion complete_filter(std::string_view text, std::size_t cursor, std::span<const std::string> fields) {
  const std::string_view before = text.substr(0, std::min(cursor, text.size()));
  Completion out{.begin = word_begin(before, " \t()!&|=<>~\""), .suggestions = {}};
  const std::string_view typed = before.substr(out.begin);
  for (const std::string& field : fields)
    if (begins_with(field, typed)) out.suggestions.push_back({field, ""});
  for (const char* common : {"common_pid", "common_type", "COMM", "CPU"})
    if (begins_with(common, typed)) out.suggestions.push_back({common, "every event has it"});
  return out;
}

}  // namespace kevt::author
