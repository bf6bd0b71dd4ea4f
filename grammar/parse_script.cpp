// Event scripts: dynamic_events lines with a few words around them.
//
//   option count 100                 target and options stand anywhere
//   p:open libc:open64 %di           a definition begins an event …
//     filter arg1 != 0               … and these lines belong to it
//     enable 0
//   event sched/sched_switch         so does the name of an event that is there
//     trigger stacktrace if prev_prio < 100
//   instance errors output e.dat     what follows is of this instance
//
// Problem: definitions must stay the kernel's, byte for byte, and a word misspelt must not be read as one. Idea: a line
// is a definition when it begins as one can (`p`, `r10:`, `-:`); of the others the first word decides, and only what is
// near a word of scripts is reported here, the rest is left to the definition parser and the kernel's text. A comment
// of a definition begins at any '#', as the kernel has it, elsewhere at a '#' outside quotes with a blank before it.
// Not here: what definitions, filters and triggers say.
#include "grammar/parse_script.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>

#include "grammar/parse.h"
#include "grammar/parse_definition_text.h"
#include "grammar/parse_script_values.h"

namespace kevt::grammar {
namespace {

using diag::Kind;
using model::Script;
using model::ScriptLine;
using model::ScriptWord;
using model::Span;

struct Keyword {
  std::string_view text;
  ScriptWord word;
  std::string_view follows;
};

constexpr std::array kKeywords = {
    Keyword{"target", ScriptWord::Target,
            "`kernel`, `program CMD...`, `pid N`, `comm NAME`, `cgroup PATH`, `container ID` or `file PATH`"},
    Keyword{"option", ScriptWord::Option, "NAME VALUE"},
    Keyword{"instance", ScriptWord::Instance, "NAME, or NAME output FILE"},
    Keyword{"event", ScriptWord::Event, "GROUP/EVENT"},
    Keyword{"filter", ScriptWord::Filter, "a filter"},
    Keyword{"trigger", ScriptWord::Trigger, "a trigger"},
    Keyword{"inject", ScriptWord::Inject, "ret=VALUE"},
    Keyword{"enable", ScriptWord::Enable, "0 or 1"},
};

// Insertions, deletions, replacements and swaps of neighbours.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t k = 1; k <= b.size(); ++k) {
      now[k] = std::min({last[k] + 1, now[k - 1] + 1, last[k - 1] + (a[i - 1] == b[k - 1] ? 0 : 1)});
      const bool swapped = i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1];
      if (swapped) now[k] = std::min(now[k], before[k - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}

const Keyword* near_keyword(std::string_view word) {
  constexpr std::size_t kLongest = 10;
  constexpr std::size_t kShortest = 4;
  if (word.size() < kShortest || word.size() > kLongest || !std::ranges::all_of(word, is_letter)) return nullptr;
  const auto* const nearest =
      std::ranges::min_element(kKeywords, {}, [&](const Keyword& keyword) { return edits(word, keyword.text); });
  return edits(word, nearest->text) <= 2 ? nearest : nullptr;
}

// Can a line of dynamic_events begin so?
bool begins_definition(std::string_view word) {
  if (word.starts_with('-') || word.starts_with('!')) return true;
  if (word.empty() || !std::string_view("prefstw").contains(word[0])) return false;
  return word.size() == 1 || word[1] == ':' || is_digit(word[1]);
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

Span trimmed(std::string_view text, std::size_t begin, std::size_t end) {
  begin = std::min(skip_blanks(text, begin), end);
  while (end > begin && is_blank(text[end - 1])) --end;
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

// Where the comment of a line that is no definition begins.
std::size_t comment_start(std::string_view text, Escapes escapes) {
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\0' && c == '#' && (i == 0 || is_blank(text[i - 1]))) return i;
    if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else if (escapes == Escapes::Backslash && c == '\\' && quote != '\'') {
      ++i;
    }
  }
  return text.size();
}

class ScriptReader {
 public:
  explicit ScriptReader(std::vector<ScriptMistake>& mistakes) : mistakes_(mistakes) {}

  Script read(std::string_view text) {
    for (const Line& line : split_lines(text)) {
      std::string_view whole = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(whole.size() + 1, text.size()));
      if (whole.ends_with('\r')) whole.remove_suffix(1);
      read_line(whole, line);
    }
    return std::move(script_);
  }

 private:
  void read_line(std::string_view whole, const Line& cut);
  void set_comment(std::size_t begin);
  void take(std::size_t index);
  void take_target(std::size_t index);
  void take_option(std::size_t index);
  void take_instance(std::size_t index);
  void take_event(std::size_t index);
  void begin_event(std::size_t index);
  void take_attached(std::size_t index);
  void take_filter(std::size_t index, model::ScriptEvent& event);
  void take_injection(std::size_t index, model::ScriptEvent& event);
  void take_enable(std::size_t index, model::ScriptEvent& event);
  ScriptLine& line(std::size_t index) { return script_.lines[index]; }
  void mistake(std::size_t index, Kind kind, std::size_t column, std::string detail) {
    mistakes_.push_back({line(index).number, script_mistake(kind, line(index).text, column, std::move(detail))});
  }

  std::vector<ScriptMistake>& mistakes_;
  Script script_;
  bool in_event_ = false;
  std::optional<std::size_t> instance_;  // of Script::instances
};

void ScriptReader::read_line(std::string_view whole, const Line& cut) {
  const std::size_t index = script_.lines.size();
  script_.lines.push_back({.number = cut.number, .text = std::string(whole)});
  ScriptLine& made = line(index);
  const std::size_t begin = skip_blanks(whole, 0);
  if (begin == whole.size()) return;
  if (whole[begin] == '#') return set_comment(begin);
  std::size_t end = begin;
  while (end < whole.size() && !is_blank(whole[end]) && whole[end] != '#') ++end;
  const std::string_view word = whole.substr(begin, end - begin);
  const auto* const keyword = std::ranges::find(kKeywords, word, &Keyword::text);
  if (keyword == kKeywords.end()) {
    const Keyword* near = begins_definition(word) ? nullptr : near_keyword(word);
    if (near != nullptr) {
      made.word = ScriptWord::Definition;
      made.body = trimmed(whole, begin, whole.size());
      mistake(index, Kind::ScriptUnknownWord, begin, "`" + std::string(near->text) + "` is one");
      mistakes_.back().diagnostic.fixits.push_back(
          {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), std::string(near->text)});
      return;
    }
    made.word = ScriptWord::Definition;
    const std::size_t length = std::min(cut.text.size(), whole.size());
    made.body = trimmed(whole, begin, length);
    if (length < whole.size()) set_comment(length);
    return take(index);
  }
  made.word = keyword->word;
  const bool shell_words =
      made.word == ScriptWord::Target || made.word == ScriptWord::Option || made.word == ScriptWord::Instance;
  const Escapes escapes = shell_words ? Escapes::Backslash : Escapes::None;
  set_comment(end < whole.size() && whole[end] == '#' ? end : comment_start(whole, escapes));
  made.body = trimmed(whole, end, made.comment.begin);
  if (made.body.begin == made.body.end)
    return mistake(index, Kind::ScriptNothingFollows, end, std::string(keyword->follows));
  take(index);
}

void ScriptReader::set_comment(std::size_t begin) {
  ScriptLine& last = script_.lines.back();
  last.comment = trimmed(last.text, begin, last.text.size());
}

void ScriptReader::take(std::size_t index) {
  switch (line(index).word) {
    case ScriptWord::Nothing:
      return;
    case ScriptWord::Definition:
      in_event_ = !line(index).body_text().starts_with('-') && !line(index).body_text().starts_with('!');
      if (in_event_) begin_event(index);
      return;
    case ScriptWord::Target:
      return take_target(index);
    case ScriptWord::Option:
      return take_option(index);
    case ScriptWord::Instance:
      return take_instance(index);
    case ScriptWord::Event:
      return take_event(index);
    case ScriptWord::Filter:
    case ScriptWord::Trigger:
    case ScriptWord::Inject:
    case ScriptWord::Enable:
      return take_attached(index);
  }
}

void ScriptReader::take_target(std::size_t index) {
  const ScriptLine& made = line(index);
  auto target = parse_target(made.body_text());
  if (!target)
    return mistake(index, target.error().kind, made.body.begin + target.error().column, target.error().detail);
  if (script_.target) {
    return mistake(index, Kind::ScriptTwice, 0,
                   "the target is named in line " + std::to_string(line(script_.target_line).number));
  }
  script_.target = *std::move(target);
  script_.target_line = index;
}

void ScriptReader::take_option(std::size_t index) {
  const ScriptLine& made = line(index);
  const auto set = parse_option(made.body_text(), script_.options);
  if (!set) return mistake(index, set.error().kind, made.body.begin + set.error().column, set.error().detail);
  script_.option_lines.push_back(index);
}

// Also a wrong `instance` line ends the instance above: the lines below do not belong to that one. To which instance
// they belong then does not matter, since a script with a mistake is not run.
void ScriptReader::take_instance(std::size_t index) {
  in_event_ = false;
  const ScriptLine& made = line(index);
  QuotedWords split = split_quoted(made.body_text());
  if (split.open_quote)
    return mistake(index, Kind::ScriptBadInstance, made.body.begin + *split.open_quote, "the quote is not closed");
  const bool has_output = split.words.size() == 3 && split.words[1] == "output" && !split.words[2].empty();
  const bool is_name = model::is_instance_name(split.words[0]);
  if (!is_name || (split.words.size() != 1 && !has_output))
    return mistake(index, Kind::ScriptBadInstance, made.body.begin, is_name ? "" : std::string(model::kInstanceNames));
  instance_ = script_.instances.size();
  script_.instances.push_back({.line = index,
                               .name = std::move(split.words[0]),
                               .output = has_output ? std::optional(std::move(split.words[2])) : std::nullopt});
}

void ScriptReader::begin_event(std::size_t index) { script_.events.push_back({.line = index, .instance = instance_}); }

void ScriptReader::take_event(std::size_t index) {
  const ScriptLine& made = line(index);
  const std::string_view name = made.body_text();
  const std::size_t separator = name.find_first_of("/:.");
  const bool named = separator == std::string_view::npos
                         ? is_good_name(name)
                         : is_good_group(name.substr(0, separator)) && is_good_name(name.substr(separator + 1));
  in_event_ = named;
  if (!named) return mistake(index, Kind::ScriptBadEvent, made.body.begin, "");
  begin_event(index);
}

void ScriptReader::take_attached(std::size_t index) {
  if (!in_event_) return mistake(index, Kind::ScriptNoEvent, 0, "a definition or `event GROUP/EVENT` comes first");
  model::ScriptEvent& event = script_.events.back();
  if (line(index).word == ScriptWord::Trigger) {
    event.triggers.push_back(index);
  } else if (line(index).word == ScriptWord::Filter) {
    take_filter(index, event);
  } else if (line(index).word == ScriptWord::Inject) {
    take_injection(index, event);
  } else {
    take_enable(index, event);
  }
}

void ScriptReader::take_filter(std::size_t index, model::ScriptEvent& event) {
  if (event.filter) {
    return mistake(
        index, Kind::ScriptTwice, line(index).body.begin,
        "the event has the filter of line " + std::to_string(line(*event.filter).number) + "; join them with `&&`");
  }
  event.filter = index;
}

void ScriptReader::take_injection(std::size_t index, model::ScriptEvent& event) {
  if (event.injection) {
    return mistake(index, Kind::ScriptTwice, line(index).body.begin,
                   "by line " + std::to_string(line(*event.injection).number));
  }
  event.injection = index;
}

void ScriptReader::take_enable(std::size_t index, model::ScriptEvent& event) {
  const std::string_view value = line(index).body_text();
  if (value != "0" && value != "1") return mistake(index, Kind::ScriptBadEnable, line(index).body.begin, "");
  if (event.enable) {
    return mistake(index, Kind::ScriptTwice, line(index).body.begin,
                   "by line " + std::to_string(line(*event.enable).number));
  }
  event.enable = index;
  event.enabled = value == "1";
}

}  // namespace

diag::Diagnostic script_mistake(diag::Kind kind, std::string_view line, std::size_t column, std::string detail) {
  return {.kind = kind,
          .location = diag::Location::Kevtrace,
          .command = std::string(line),
          .column = static_cast<std::uint32_t>(std::min(column, line.size())),
          .errno_value = EINVAL,
          .logged = false,
          .detail = std::move(detail),
          .notes = {},
          .fixits = {}};
}

Script parse_script(std::string_view text, std::vector<ScriptMistake>& mistakes) {
  return ScriptReader(mistakes).read(text);
}

QuotedWords split_quoted(std::string_view text) {
  QuotedWords out;
  char quote = '\0';
  std::size_t quote_at = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\0' && is_blank(c)) {
      inside = false;
      continue;
    }
    if (!inside) out.words.emplace_back();
    inside = true;
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < text.size();
    if (escapes && (quote == '\0' || std::string_view("\"\\$`").contains(text[i + 1]))) {
      out.words.back() += text[++i];
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
      quote_at = i;
    } else if (c == quote) {
      quote = '\0';
    } else {
      out.words.back() += c;
    }
  }
  if (quote != '\0') out.open_quote = quote_at;
  return out;
}

std::string squeeze_blanks(std::string_view text, Escapes escapes) {
  std::string out;
  char quote = '\0';
  bool blank = false;  // before the next byte
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\0' && is_blank(c)) {
      blank = !out.empty();
      continue;
    }
    if (blank) out += ' ';
    blank = false;
    if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    }
    out += c;
    if (escapes == Escapes::Backslash && c == '\\' && quote != '\'' && i + 1 < text.size()) out += text[++i];
  }
  return out;
}

}  // namespace kevt::grammar
