// --trigger 'open: traceoff:1 if fd == 3'
//
//   open:traceoff:1           event `open`, trigger `traceoff:1`: the word behind the first `:` is a trigger's
//   libc:open:traceoff:1      group `libc`, event `open`
//
// Whether the trigger is right is seen where its event is known (BatchDefiner).
#include "cli/definitions/run_triggers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace kevt::cli {

namespace {

constexpr std::array<std::string_view, 9> kCommands = {"traceon",     "traceoff",     "snapshot",
                                                       "stacktrace",  "enable_event", "disable_event",
                                                       "enable_hist", "disable_hist", "hist"};

std::string_view stripped(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// Up to the next `:` or blank.
std::string_view command_word(std::string_view text) { return text.substr(0, text.find_first_of(": \t")); }

}  // namespace

Result<Triggers> collect_triggers(const std::vector<std::string>& words) {
  Triggers out;
  for (const std::string& word : words) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos || stripped(std::string_view(word).substr(0, colon)).empty())
      return std::unexpected(Error(fmt::format("trigger `{}` names no event; write EVENT:TRIGGER", word)));
    std::string event(stripped(std::string_view(word).substr(0, colon)));
    std::string_view text = stripped(std::string_view(word).substr(colon + 1));
    const std::string_view next = command_word(text);
    const bool is_name = std::ranges::find(kCommands, next) == kCommands.end();
    if (is_name && next.size() < text.size() && text[next.size()] == ':') {
      event += ':' + std::string(next);
      text = stripped(text.substr(next.size() + 1));
    }
    out.sources.push_back({std::string(text), fmt::format("<trigger {}>", out.triggers.size() + 1), 1});
    out.triggers.push_back({std::move(event), std::string(text)});
  }
  return out;
}

}  // namespace kevt::cli
