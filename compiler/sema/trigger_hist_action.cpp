// Handlers and actions of a histogram, cut into their pieces.
//
//   onmatch(uprobes.tb).trace(tsyn, id, $d)     OnMatch uprobes:tb, Trace of tsyn with {id, $d}
//   onmax($d).save(val,id)                      OnMax $d, Save {val, id}
//   onchange($d).snapshot()                     OnChange $d, Snapshot
//
// The problem: 6.1 takes more than it documents: what begins with `save`, `snapshot` or `trace` is that action,
// a missing last ')' is fine except behind `snapshot(`, and one-letter parameters are refused.
// The idea: cut as 6.1 does, piece by piece. The names in the pieces are looked up later, by create_hist_actions(), as
// in 6.1. Mirrors parse_actions(), onmatch_parse(), track_data_parse() and action_parse() of
// kernel/trace/trace_events_hist.c, 6.1.
#include "compiler/sema/trigger_hist.h"

namespace kevt::sema {
namespace {

using diag::Kind;
using model::HistAction;
using model::HistActionKind;
using model::HistHandler;

constexpr std::size_t kShortestParam = 2;

// Reads an action's parameters. The first one of `trace(` is the synthetic event.
bool read_params(HistCheck& check, std::string_view text, HistAction& action) {
  const bool names_event = action.kind == HistActionKind::Trace && action.name.starts_with("trace");
  if (!names_event) action.synthetic_event = action.name;
  bool expects_event = names_event;
  std::optional<std::string_view> rest = text;
  while (rest) {
    if (action.params.size() == kMaxActionFields) {
      check.log.refuse(Kind::HistTooManyParams, "");
      return false;
    }
    const std::string_view param = without_blanks(cut_at(rest, ','));
    if (param.size() < kShortestParam) {
      check.log.refuse(Kind::HistInvalidParam, param);
      return false;
    }
    if (expects_event) {
      action.synthetic_event = param;
      expects_event = false;
    } else {
      action.params.emplace_back(param);
    }
  }
  return true;
}

HistActionKind action_kind(std::string_view name) {
  if (name.starts_with("save")) return HistActionKind::Save;
  if (name.starts_with("snapshot")) return HistActionKind::Snapshot;
  return HistActionKind::Trace;
}

// Reads the action of a handler. `rest`: the text behind the handler's ')'.
bool read_action(HistCheck& check, std::optional<std::string_view> rest, HistAction& action) {
  cut_at(rest, '.');
  const std::string_view name = rest ? cut_at(rest, '(') : std::string_view();
  if (!rest) {
    check.log.refuse(Kind::HistActionNotFound, "");
    return false;
  }
  action.name = name;
  action.kind = action_kind(name);
  const std::string_view params = cut_at(rest, ')');
  if (action.kind == HistActionKind::Snapshot) {
    if (!rest) {
      check.log.refuse(Kind::HistNoClosingParen, params);
      return false;
    }
  } else if (!read_params(check, params, action)) {
    return false;
  }
  if (action.kind != HistActionKind::Trace && action.handler == HistHandler::OnMatch) {
    check.log.refuse(Kind::HistActionMismatch, name);
    return false;
  }
  return true;
}

bool read_match(HistCheck& check, std::string_view text, HistAction& action) {
  std::optional<std::string_view> rest = text;
  const std::string_view inside = cut_at(rest, ')');
  if (!rest) {
    check.log.refuse(Kind::HistNoClosingParen, inside);
    return false;
  }
  std::optional<std::string_view> event = inside;
  const std::string_view system = cut_at(event, '.');
  if (!event) {
    check.log.refuse(Kind::HistSubsysNotFound, system);
    return false;
  }
  if (check.catalog.find(system, *event) == nullptr) {
    check.log.refuse(Kind::HistInvalidSubsysEvent, *event);
    return false;
  }
  action.handler = HistHandler::OnMatch;
  action.match = {std::string(system), std::string(*event)};
  return read_action(check, rest, action);
}

bool read_track(HistCheck& check, std::string_view text, HistHandler handler, HistAction& action) {
  std::optional<std::string_view> rest = text;
  action.handler = handler;
  action.tracked = cut_at(rest, ')');
  if (rest) return read_action(check, rest, action);
  check.log.refuse_unlogged(Kind::HistBadHandler, action.tracked, EINVAL);
  return false;
}

bool read_handler(HistCheck& check, std::string_view text, HistAction& action) {
  const std::size_t open = text.find('(');
  const std::string_view inside = text.substr(open + 1);
  const std::string_view handler = text.substr(0, open);
  if (handler == "onmatch") return read_match(check, inside, action);
  return read_track(check, inside, handler == "onmax" ? HistHandler::OnMax : HistHandler::OnChange, action);
}

}  // namespace

bool read_hist_actions(HistCheck& check, const HistParts& parts) {
  for (const std::string& text : parts.actions) {
    HistAction action;
    if (!read_handler(check, text, action)) return false;
    check.hist.actions.push_back(std::move(action));
  }
  return true;
}

}  // namespace kevt::sema
