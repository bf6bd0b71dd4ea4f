// set_event, available_events; set_event_pid and set_event_notrace_pid.
//
//   echo 'kprobes:op !uprobes:*' >> set_event      one word is taken by each write(2), the rest is written again
//
// Mirrors ftrace_event_write(), __ftrace_set_clr_event_nolock() and trace_pid_write() of kernel/trace (6.1).
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <ranges>

#include "common/error.h"
#include "tracefs-compat/tree/node_table.h"

namespace kevt::tree {

namespace {

using engine::TracedEvent;

constexpr std::size_t kMaxWord = 127;
constexpr std::uint64_t kMaxPid = (1 << 30) - 1;

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The next word and how many bytes up to its end, blanks before it included.
struct Word {
  std::string_view text;
  std::size_t taken = 0;
};
Word next_word(std::string_view text) {
  std::size_t begin = 0;
  while (begin < text.size() && is_blank(text[begin])) ++begin;
  std::size_t end = begin;
  while (end < text.size() && !is_blank(text[end])) ++end;
  return {text.substr(begin, end - begin), end};
}

// SYS:EV, *:EV, :EV, SYS:*, SYS:, or a name of either.
struct EventPattern {
  std::string_view any, group, event;  // empty: all

  explicit EventPattern(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) {
      any = text;
      return;
    }
    group = text.substr(0, colon);
    event = text.substr(colon + 1);
    if (group == "*") group = {};
    if (event == "*") event = {};
  }
  bool fits(const TracedEvent& one) const {
    if (!any.empty()) return any == one.name || any == one.group;
    return (group.empty() || group == one.group) && (event.empty() || event == one.name);
  }
};

Result<std::size_t> set_event_word(const Place& place, std::string_view text) {
  auto [word, taken] = next_word(text);
  if (word.size() > kMaxWord) return fails(EINVAL);
  if (word.empty()) return taken;
  if (taken < text.size()) ++taken;  // the blank that ends it
  const bool on = !word.starts_with('!');
  if (!on) word.remove_prefix(1);
  if (word.empty()) return fails(EINVAL);
  const EventPattern pattern(word);
  std::vector<const TracedEvent*> events;
  for (const auto& [id, event] : place.tracing->events().events())
    if (pattern.fits(*event)) events.push_back(event.get());
  if (events.empty()) return fails(EINVAL);
  KEVT_TRY(place.tracing->switcher().set_enabled(*place.instance, events, on));
  return taken;
}

template <class Wanted>
std::string names_text(const engine::Tracing& tracing, Wanted wanted) {
  std::string text;  // the newest first
  for (const auto& [id, event] : tracing.events().events() | std::views::reverse)
    if (wanted(id)) text += fmt::format("{}:{}\n", event->group, event->name);
  return text;
}

using PidList = std::optional<std::set<std::int32_t>>;

Result<void> add_pids(PidList& list, std::string_view text) {
  std::set<std::int32_t> added;
  for (;;) {
    const Word word = next_word(text);
    if (word.text.empty()) break;
    auto pid = KEVT_TRY(parse_number(word.text, 0));
    if (pid > kMaxPid) return fails(EPERM);
    added.insert(static_cast<std::int32_t>(pid));
    text.remove_prefix(word.taken);
  }
  if (added.empty()) return {};
  if (!list) list.emplace();
  list->merge(added);
  return {};
}

Opened open_pid_list(const Place& place, PidList& list, const OpenRequest& request) {
  const auto changed = [place] { return place.tracing->switcher().follow_pids(*place.instance); };
  if (request.writes && request.truncates) {
    list.reset();
    KEVT_TRY(changed());
  }
  return open_text({.read = [&list]() -> Result<std::string> {
                      std::string text;
                      if (list)
                        for (std::int32_t pid : *list) text += fmt::format("{}\n", pid);
                      return text;
                    },
                    .write = [&list, changed](std::string_view text, const Caller&) -> Result<void> {
                      KEVT_TRY(add_pids(list, text));
                      return changed();
                    },
                    .write_some = {}});
}

}  // namespace

Opened open_set_event(const Place& place, const OpenRequest& request) {
  if (request.writes && request.truncates) {
    std::vector<const TracedEvent*> all;
    for (const auto& [id, event] : place.tracing->events().events()) all.push_back(event.get());
    KEVT_TRY(place.tracing->switcher().set_enabled(*place.instance, all, false));
  }
  return open_text({.read = [place]() -> Result<std::string> {
                      return names_text(*place.tracing, [&](std::uint32_t id) {
                        const engine::EventState* state = place.instance->find_state(id);
                        return state && state->registered;
                      });
                    },
                    .write = {},
                    .write_some = [place](std::string_view text) { return set_event_word(place, text); }});
}

Opened open_available_events(const Place& place, const OpenRequest&) {
  return open_text({.read = [place]() -> Result<std::string> {
                      return names_text(*place.tracing, [](std::uint32_t) { return true; });
                    },
                    .write = {},
                    .write_some = {}});
}

Opened open_set_event_pid(const Place& place, const OpenRequest& request) {
  return open_pid_list(place, place.instance->pids, request);
}
Opened open_set_event_notrace_pid(const Place& place, const OpenRequest& request) {
  return open_pid_list(place, place.instance->refused_pids, request);
}

}  // namespace kevt::tree
