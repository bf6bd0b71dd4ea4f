// events/: enable of all, of a group, of an event; id, format, filter, trigger, hist.
//
// An open file of an event that is deleted answers ENODEV. Mirrors event_enable_read() … event_filter_write() and
// system_enable_read() of kernel/trace/trace_events.c, event_hist_open() of trace_events_hist.c (6.1).
#include <algorithm>
#include <cerrno>

#include "common/error.h"
#include "compiler/layout/layout.h"
#include "tracefs-compat/tree/hist_handle.h"
#include "tracefs-compat/tree/node_table.h"

namespace kevt::tree {

namespace {

using engine::EventState;
using engine::TracedEvent;

// The event of an open file, found by its id at each use: it may have been deleted.
struct EventRef {
  engine::Tracing* tracing;
  engine::Instance* instance;
  std::uint32_t id;

  Result<const TracedEvent*> get() const {
    const TracedEvent* event = tracing->events().find(id);
    return event ? Result<const TracedEvent*>(event) : fails(ENODEV);
  }
  const EventState* state() const { return instance->find_state(id); }
};

EventRef event_of(const Place& place) {
  return {place.tracing, place.instance, place.tracing->events().find(place.names[0], place.names[1])->id};
}

template <class Make>
Opened read_event(const Place& place, Make make) {
  return open_text({.read = [ref = event_of(place), make]() -> Result<std::string> {
                      auto event = KEVT_TRY(ref.get());
                      return make(ref, *event);
                    },
                    .write = {},
                    .write_some = {}});
}

template <class Make, class Write>
Opened edit_event(const Place& place, Make make, Write write) {
  const EventRef ref = event_of(place);
  return open_text({.read = [ref, make]() -> Result<std::string> {
                      auto event = KEVT_TRY(ref.get());
                      return make(ref, *event);
                    },
                    .write = [ref, write](std::string_view text, const Caller&) -> Result<void> {
                      auto event = KEVT_TRY(ref.get());
                      return write(ref, *event, text);
                    },
                    .write_some = {}});
}

// 0 or 1, nothing else.
Result<bool> parse_switch(std::string_view text) {
  auto value = KEVT_TRY(parse_number(text, 10));
  if (value > 1) return fails(EINVAL);
  return value == 1;
}

std::string enable_text(const EventState* state) {
  if (!state) return "0\n";
  std::string text = state->records() ? "1" : "0";
  if (!state->softly_on || state->soft_users > 0) text += '*';
  return text + '\n';
}

// Soft-enabled events count as on, as they do in the kernel's files.
std::string enable_text(const Place& place, std::span<const TracedEvent* const> events) {
  bool any_on = false, any_off = false;
  for (const TracedEvent* event : events) {
    const EventState* state = place.instance->find_state(event->id);
    (state && state->registered ? any_on : any_off) = true;
  }
  if (any_on && any_off) return "X\n";
  return any_on ? "1\n" : any_off ? "0\n" : "?\n";
}

std::vector<const TracedEvent*> all_events(const Place& place) {
  std::vector<const TracedEvent*> events;
  for (const auto& [id, event] : place.tracing->events().events()) events.push_back(event.get());
  return events;
}

template <class Events>
Opened open_enable(const Place& place, Events events) {
  return open_text({.read = [place, events]() -> Result<std::string> { return enable_text(place, events(place)); },
                    .write = [place, events](std::string_view text, const Caller&) -> Result<void> {
                      auto on = KEVT_TRY(parse_switch(text));
                      const auto all = events(place);
                      if (all.empty()) return fails(EINVAL);
                      return place.tracing->switcher().set_enabled(*place.instance, all, on);
                    },
                    .write_some = {}});
}

std::vector<const TracedEvent*> group_events(const Place& place) {
  return place.tracing->events().in_group(place.names.front());
}

std::string static_format(const engine::Tracing& tracing, std::uint32_t id) {
  const auto& all = tracing.code().static_events()->all();
  const auto event = std::ranges::lower_bound(all, id, {}, &engine::StaticEvent::id);
  return event == all.end() ? "" : event->format;
}

constexpr std::string_view kGroupFilter =
    "### global filter ###\n"
    "# Use this to set filters for multiple events.\n"
    "# Only events with the given fields will be affected.\n"
    "# If no events are modified, an error message will be displayed here\n";

}  // namespace

Opened open_all_enable(const Place& place, const OpenRequest&) { return open_enable(place, all_events); }
Opened open_group_enable(const Place& place, const OpenRequest&) { return open_enable(place, group_events); }

Opened open_group_filter(const Place& place, const OpenRequest&) {
  return open_text({.read = []() -> Result<std::string> { return std::string(kGroupFilter); },
                    .write =
                        [place](std::string_view text, const Caller&) {
                          return place.tracing->filters().write_group(*place.instance, place.names.front(), text);
                        },
                    .write_some = {}});
}

Opened open_event_enable(const Place& place, const OpenRequest&) {
  return edit_event(
      place,
      [](const EventRef& ref, const TracedEvent&) {
        ref.tracing->drain();  // triggers of earlier hits may switch it
        return enable_text(ref.state());
      },
      [](const EventRef& ref, const TracedEvent& event, std::string_view text) -> Result<void> {
        auto on = KEVT_TRY(parse_switch(text));
        const TracedEvent* const one[] = {&event};
        return ref.tracing->switcher().set_enabled(*ref.instance, one, on);
      });
}

Opened open_event_id(const Place& place, const OpenRequest&) {
  return read_event(place, [](const EventRef& ref, const TracedEvent&) { return std::to_string(ref.id) + "\n"; });
}

Opened open_event_format(const Place& place, const OpenRequest&) {
  return read_event(place, [](const EventRef& ref, const TracedEvent& event) {
    if (event.is_static()) return static_format(*ref.tracing, event.id);
    return layout::format_text(event.probes.front().definition(), event.layout, event.id);
  });
}

Opened open_event_filter(const Place& place, const OpenRequest&) {
  return edit_event(
      place,
      [](const EventRef& ref, const TracedEvent&) -> std::string {
        const EventState* state = ref.state();
        if (state && !state->filter_mistake.empty()) return state->filter_mistake;
        return state && state->filter_text ? *state->filter_text + "\n" : "none\n";
      },
      [](const EventRef& ref, const TracedEvent& event, std::string_view text) {
        return ref.tracing->filters().write(*ref.instance, event, text);
      });
}

Opened open_event_trigger(const Place& place, const OpenRequest& request) {
  if (request.writes && request.truncates) {
    auto event = KEVT_TRY(event_of(place).get());
    KEVT_TRY(place.tracing->triggers().truncate(*place.instance, *event));
  }
  return edit_event(
      place,
      [](const EventRef& ref, const TracedEvent& event) {
        ref.tracing->drain();  // earlier hits count down
        return ref.tracing->triggers().text(*ref.instance, event);
      },
      [](const EventRef& ref, const TracedEvent& event, std::string_view text) {
        return ref.tracing->triggers().write(*ref.instance, event, text);
      });
}

// Triggers of ftrace/print act on markers.
Opened open_marker_trigger(const Place& place, const OpenRequest& request) {
  engine::Tracing& tracing = *place.tracing;
  if (request.writes && request.truncates)
    KEVT_TRY(tracing.triggers().truncate(*place.instance, tracing.markers().event()));
  return open_text({.read = [place]() -> Result<std::string> {
                      return place.tracing->triggers().text(*place.instance, place.tracing->markers().event());
                    },
                    .write =
                        [place](std::string_view text, const Caller&) {
                          return place.tracing->triggers().write(*place.instance, place.tracing->markers().event(),
                                                                 text);
                        },
                    .write_some = {}});
}

Opened open_event_hist(const Place& place, const OpenRequest&) {
  return open_hist(place.tracing, place.instance, [ref = event_of(place)]() -> const TracedEvent* {
    const auto event = ref.get();
    return event ? *event : nullptr;
  });
}

Opened open_marker_hist(const Place& place, const OpenRequest&) {
  return open_hist(place.tracing, place.instance, [tracing = place.tracing] { return &tracing->markers().event(); });
}

}  // namespace kevt::tree
