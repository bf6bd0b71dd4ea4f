// --trigger 'open: traceoff:1 if fd == 3'
//
// open:traceoff:1 event `open`, trigger `traceoff:1`: the word behind the first `:` begins a trigger
//   libc:open:traceoff:1      group `libc`, event `open`
// open:keys=fd:vals=len of --hist: a part of a histogram is not taken for a name
//
// The trigger itself is checked when its event is known (BatchDefiner).
#include "cli/definitions/run_triggers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace kevt::cli {

namespace {

constexpr std::array<std::string_view, 9> kCommands = {"traceon",     "traceoff",     "snapshot",
                                                       "stacktrace",  "enable_event", "disable_event",
                                                       "enable_hist", "disable_hist", "hist"};

// Of histograms, without a value.
constexpr std::array<std::string_view, 5> kParts = {"pause", "cont", "continue", "clear", "nohitcount"};

std::string_view stripped(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// Up to the next `:` or blank.
std::string_view command_word(std::string_view text) { return text.substr(0, text.find_first_of(": \t")); }

// Splits a word into the event and the rest. nullopt: the word names no event.
struct Named {
  std::string event;
  std::string_view rest;
};
std::optional<Named> split_event(std::string_view word) {
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos || stripped(word.substr(0, colon)).empty()) return std::nullopt;
  Named named{std::string(stripped(word.substr(0, colon))), stripped(word.substr(colon + 1))};
  const std::string_view next = command_word(named.rest);
  const bool is_part =
      next.find_first_of("=(") != std::string_view::npos || std::ranges::find(kParts, next) != kParts.end();
  const bool is_name = std::ranges::find(kCommands, next) == kCommands.end() && !is_part;
  if (!is_name || next.size() == named.rest.size() || named.rest[next.size()] != ':') return named;
  named.event += ':' + std::string(next);
  named.rest = stripped(named.rest.substr(next.size() + 1));
  return named;
}

// `kind`: the name in messages, and the first word of the trigger where the user does not write it.
Result<Triggers> collect(const std::vector<std::string>& words, std::string_view kind, std::string_view form,
                         std::string_view command) {
  Triggers out;
  for (const std::string& word : words) {
    auto named = split_event(word);
    if (!named) return std::unexpected(Error(fmt::format("{} `{}` names no event; write {}", kind, word, form)));
    const std::string text = std::string(command) + std::string(named->rest);
    out.sources.push_back({text, fmt::format("<{} {}>", kind, out.triggers.size() + 1), 1});
    out.triggers.push_back({std::move(named->event), text});
  }
  return out;
}

}  // namespace

Result<Triggers> collect_triggers(const std::vector<std::string>& words) {
  return collect(words, "trigger", "EVENT:TRIGGER", "");
}

Result<Triggers> collect_histograms(const std::vector<std::string>& words) {
  return collect(words, "hist", "EVENT:keys=KEYS", "hist:");
}

}  // namespace kevt::cli
