// Targets and options of event scripts.
//
//   program /usr/bin/python3 -c 'print(1)'    →  ProgramTarget {"/usr/bin/python3", "-c", "print(1)"}
//   duration 500ms                            →  0.5 s
//
// Problem: a value must mean what the same word means on the command line, or be refused at its place. Idea: one
// function for each word; columns count in the text behind `target` and `option`. Names of clocks are trace_clock's
// (kernel/trace/trace.c). Not here: whether a target exists, and which clocks a runtime has.
#include "grammar/parse_script_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <vector>

#include "grammar/parse_definition_text.h"
#include "grammar/parse_script.h"

namespace kevt::grammar {
namespace {

using diag::Kind;
using model::ScriptOptions;
using model::ScriptTarget;

struct WordAndRest {
  std::string_view word;
  std::string_view rest;
  std::size_t rest_column = 0;
};

WordAndRest split_word(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && !is_blank(text[end])) ++end;
  std::size_t rest = end;
  while (rest < text.size() && is_blank(text[rest])) ++rest;
  return {text.substr(0, end), text.substr(rest), rest};
}

// A whole number of decimal digits, not 0.
template <class Number>
std::optional<Number> positive(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0 || !is_digit(text.front())) return {};
  return number;
}

// ---- targets ------------------------------------------------------------------------------------

std::expected<ScriptTarget, ValueMistake> parse_program(const WordAndRest& text) {
  QuotedWords words = split_quoted(text.rest);
  if (words.open_quote)
    return std::unexpected(ValueMistake{Kind::ScriptOpenQuote, text.rest_column + *words.open_quote, ""});
  if (words.words.front().empty())
    return std::unexpected(ValueMistake{Kind::ScriptBadTarget, text.rest_column, "the program has no name"});
  return model::ProgramTarget{std::move(words.words)};
}

// N{,N}; where they are not, the column of the piece that is none.
std::expected<std::vector<int>, std::size_t> parse_numbers(std::string_view text) {
  std::vector<int> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view piece = text.substr(at, end - at);
    const auto number = piece.empty() ? std::nullopt : positive<int>(piece);
    if (!number) return std::unexpected(at);
    numbers.push_back(*number);
    at = end + 1;
  }
  return numbers;
}

std::expected<ScriptTarget, ValueMistake> parse_pids(const WordAndRest& text) {
  auto pids = parse_numbers(text.rest);
  if (pids) return model::PidTarget{*std::move(pids)};
  return std::unexpected(
      ValueMistake{Kind::ScriptBadTarget, text.rest_column + pids.error(), "a process id is a number"});
}

std::expected<ScriptTarget, ValueMistake> parse_file(const WordAndRest& text) {
  const QuotedWords words = split_quoted(text.rest);
  if (words.open_quote)
    return std::unexpected(ValueMistake{Kind::ScriptOpenQuote, text.rest_column + *words.open_quote, ""});
  if (words.words.size() != 1 || !words.words.front().starts_with('/'))
    return std::unexpected(ValueMistake{Kind::ScriptBadTarget, text.rest_column, "one path that begins with `/`"});
  return model::FileTarget{words.words.front()};
}

// comm NAME, cgroup PATH and container ID, in any order and number.
std::expected<ScriptTarget, ValueMistake> parse_chosen(std::string_view text) {
  const QuotedWords split = split_quoted(text);
  if (split.open_quote) return std::unexpected(ValueMistake{Kind::ScriptOpenQuote, *split.open_quote, ""});
  model::ChosenTarget chosen;
  for (std::size_t i = 0; i < split.words.size(); i += 2) {
    const std::string& key = split.words[i];
    std::vector<std::string>* const list = key == "comm"        ? &chosen.comms
                                           : key == "cgroup"    ? &chosen.cgroups
                                           : key == "container" ? &chosen.containers
                                                                : nullptr;
    if (!list)
      return std::unexpected(
          ValueMistake{Kind::ScriptBadTarget, 0, "`" + key + "` stands where `comm`, `cgroup` or `container` would"});
    if (i + 1 == split.words.size() || split.words[i + 1].empty())
      return std::unexpected(ValueMistake{Kind::ScriptBadTarget, text.size(), "nothing follows `" + key + "`"});
    list->push_back(split.words[i + 1]);
  }
  return chosen;
}

// ---- options ------------------------------------------------------------------------------------

constexpr std::string_view kClocks[] = {"local", "global",   "counter", "uptime", "perf",
                                        "mono",  "mono_raw", "boot",    "tai",    "x86-tsc"};
constexpr std::uint64_t kMinBufferKb = 64;
constexpr std::uint64_t kMaxBufferKb = 1 << 20;
constexpr double kMaxSeconds = 1e9;

// Sets an option; false: the value is wrong.
using SetOption = bool (*)(std::string_view value, ScriptOptions& options);
using IsSet = bool (*)(const ScriptOptions& options);

bool set_buffer(std::string_view value, ScriptOptions& options) {
  std::uint64_t unit = 1;
  if (value.ends_with('M')) unit = 1024;
  if (value.ends_with('K') || value.ends_with('M')) value.remove_suffix(1);
  const auto number = value.empty() ? std::nullopt : positive<std::uint64_t>(value);
  if (!number || *number > kMaxBufferKb || *number * unit < kMinBufferKb || *number * unit > kMaxBufferKb) return false;
  options.buffer_kb = *number * unit;
  return true;
}

bool set_clock(std::string_view value, ScriptOptions& options) {
  if (std::ranges::find(kClocks, value) == std::end(kClocks)) return false;
  options.clock = value;
  return true;
}

bool set_duration(std::string_view value, ScriptOptions& options) {
  double unit = 1;
  if (value.ends_with("ms")) {
    unit = 1e-3;
    value.remove_suffix(2);
  } else if (value.ends_with('m')) {
    unit = 60;
    value.remove_suffix(1);
  } else if (value.ends_with('s')) {
    value.remove_suffix(1);
  }
  double number = 0;
  const auto [end, error] =
      std::from_chars(value.data(), value.data() + value.size(), number, std::chars_format::fixed);
  const bool whole = error == std::errc() && end == value.data() + value.size();
  if (!whole || !(number * unit > 0) || number * unit > kMaxSeconds) return false;
  options.seconds = number * unit;
  return true;
}

bool set_count(std::string_view value, ScriptOptions& options) {
  options.count = positive<std::uint64_t>(value);
  return options.count.has_value();
}

bool set_output(std::string_view value, ScriptOptions& options) {
  const QuotedWords words = split_quoted(value);
  if (words.open_quote || value.contains('\0') || words.words.size() != 1 || words.words.front().empty()) return false;
  options.output = words.words.front();
  return true;
}

bool set_event_pids(std::string_view value, ScriptOptions& options) {
  auto numbers = parse_numbers(value);
  if (numbers) options.event_pids = *std::move(numbers);
  return numbers.has_value();
}

template <std::optional<bool> ScriptOptions::*Member>
bool set_switch(std::string_view value, ScriptOptions& options) {
  if (value != "0" && value != "1") return false;
  options.*Member = value == "1";
  return true;
}

bool set_with_kernel(std::string_view value, ScriptOptions& options) {
  if (value != "auto" && value != "bpf" && value != "kmod") return false;
  options.with_kernel = std::string(value);
  return true;
}

constexpr std::string_view kSwitchValues = "0 or 1";

struct OptionRow {
  std::string_view name;
  std::string_view values;
  SetOption set;
  IsSet is_set;
};

constexpr std::array kOptions = {
    OptionRow{"buffer", "KiB of each CPU, 64 to 1048576; K or M may follow", set_buffer,
              [](const ScriptOptions& o) { return o.buffer_kb.has_value(); }},
    OptionRow{"clock", "local global counter uptime perf mono mono_raw boot tai x86-tsc", set_clock,
              [](const ScriptOptions& o) { return o.clock.has_value(); }},
    OptionRow{"duration", "a positive number of seconds; ms, s or m may follow", set_duration,
              [](const ScriptOptions& o) { return o.seconds.has_value(); }},
    OptionRow{"count", "a positive number of events", set_count,
              [](const ScriptOptions& o) { return o.count.has_value(); }},
    OptionRow{"output", "the name of a file", set_output, [](const ScriptOptions& o) { return o.output.has_value(); }},
    OptionRow{"event-pid", "thread ids with `,` between them", set_event_pids,
              [](const ScriptOptions& o) { return o.event_pids.has_value(); }},
    OptionRow{"stack", kSwitchValues, set_switch<&ScriptOptions::stack>,
              [](const ScriptOptions& o) { return o.stack.has_value(); }},
    OptionRow{"overwrite", kSwitchValues, set_switch<&ScriptOptions::overwrite>,
              [](const ScriptOptions& o) { return o.overwrite.has_value(); }},
    OptionRow{"follow-forks", kSwitchValues, set_switch<&ScriptOptions::follow_forks>,
              [](const ScriptOptions& o) { return o.follow_forks.has_value(); }},
    OptionRow{"with-kernel", "auto, bpf or kmod", set_with_kernel,
              [](const ScriptOptions& o) { return o.with_kernel.has_value(); }},
};

}  // namespace

std::expected<ScriptTarget, ValueMistake> parse_target(std::string_view text) {
  const WordAndRest split = split_word(text);
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
    return std::unexpected(ValueMistake{Kind::ScriptBadTarget, nul, "a NUL byte"});
  if (split.word == "kernel") {
    if (split.rest.empty()) return model::KernelTarget{};
    return std::unexpected(ValueMistake{Kind::ScriptBadTarget, split.rest_column, "nothing follows `kernel`"});
  }
  if (split.word == "comm" || split.word == "cgroup" || split.word == "container") return parse_chosen(text);
  if (split.word != "program" && split.word != "pid" && split.word != "file")
    return std::unexpected(ValueMistake{Kind::ScriptBadTarget, 0, ""});
  if (split.rest.empty())
    return std::unexpected(
        ValueMistake{Kind::ScriptBadTarget, text.size(), "nothing follows `" + std::string(split.word) + "`"});
  if (split.word == "program") return parse_program(split);
  return split.word == "pid" ? parse_pids(split) : parse_file(split);
}

std::expected<void, ValueMistake> parse_option(std::string_view text, ScriptOptions& options) {
  const WordAndRest split = split_word(text);
  const auto* const row = std::ranges::find(kOptions, split.word, &OptionRow::name);
  if (row == kOptions.end()) return std::unexpected(ValueMistake{Kind::ScriptBadOption, 0, ""});
  if (row->is_set(options))
    return std::unexpected(ValueMistake{Kind::ScriptTwice, 0, "`option " + std::string(row->name) + "`"});
  if (split.rest.empty())
    return std::unexpected(ValueMistake{Kind::ScriptBadValue, text.size(), std::string(row->values)});
  if (!row->set(split.rest, options))
    return std::unexpected(ValueMistake{Kind::ScriptBadValue, split.rest_column, std::string(row->values)});
  return {};
}

}  // namespace kevt::grammar
