// The problem: one line of a trigger file becomes a TriggerSpec. The kernel answers every mistake with a
// bare EINVAL; we say what was expected and where.
//
// The idea: Trigger.g4 has the shape. The first token it cannot take is the mistake; the rule it was in says
// what was wanted there. Counts, and which part of a histogram is which, are looked at afterwards.
//
//   traceoff:5 if a > 3            TraceOff, count 5, filter "a > 3"
//   !enable_event:sched:sched_switch:junk   removal: what follows the target is ignored
//   stacktrace i == 1              mistake at column 11: a count or `if FILTER` was expected
//
// Filters are cut out, not parsed; histograms are cut into parts, not understood; what depends on events and on
// triggers that are set is sema's (compiler/sema/trigger.h). Mirrors
// trigger_process_regex(), event_trigger_separate_filter() and event_trigger_parse_num() of
// kernel/trace/trace_events_trigger.c, and event_hist_trigger_parse() of trace_events_hist.c, 6.1.
#include <antlr4-runtime.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "TriggerLexer.h"
#include "TriggerParser.h"
#include "grammar/antlr_input.h"
#include "grammar/parse.h"
#include "grammar/parse_definition_text.h"
#include "grammar/parse_filter.h"
#include "grammar/parse_trigger_hist.h"

namespace kevt::grammar {
namespace {

using diag::Kind;
using kevt_antlr::TriggerLexer;
using kevt_antlr::TriggerParser;
using model::Span;
using model::TriggerKind;
using model::TriggerSpec;

diag::Diagnostic trigger_mistake(std::string_view command, Kind kind, std::size_t column, std::string detail) {
  return {.kind = kind,
          .location = diag::Location::Kevtrace,
          .command = std::string(command),
          .column = static_cast<std::uint32_t>(column),
          .errno_value = EINVAL,
          .logged = false,
          .detail = std::move(detail),
          .notes = {},
          .fixits = {}};
}

// ---- mistakes the grammar finds -----------------------------------------------------------------

struct Expectation {
  Kind kind = Kind::TriggerSyntax;
  std::string_view wanted;
};

Expectation expectation(const antlr4::RuleContext* context) {
  switch (context->getRuleIndex()) {
    case TriggerParser::RuleWord:
    case TriggerParser::RulePlain:
    case TriggerParser::RuleAnything:  // who wanted the word says why
      return expectation(static_cast<const antlr4::RuleContext*>(context->parent));
    case TriggerParser::RuleCondition:
    case TriggerParser::RuleFilter:
      return {Kind::TriggerBadFilter, "`if` is followed by a filter"};
    case TriggerParser::RuleTarget:
      return {Kind::TriggerBadEvent, "SYSTEM:EVENT was expected"};
    case TriggerParser::RuleCount:
      return {Kind::TriggerBadCount, "a number was expected"};
    case TriggerParser::RuleSeparator:
    case TriggerParser::RuleTrigger:
    case TriggerParser::RuleCommand:
    case TriggerParser::RuleSetting:
      return {Kind::TriggerSyntax, "parameters or `if FILTER` were expected"};
    case TriggerParser::RuleHistogram:
    case TriggerParser::RulePart:
    case TriggerParser::RulePiece:
      return {Kind::HistSyntax, "a part such as `keys=FIELD` was expected"};
    default:
      return {Kind::TriggerSyntax, "a trigger is COMMAND[:PARAMETERS] [if FILTER]"};
  }
}

std::string unknown_name(std::string_view command, std::size_t column) {
  const std::string_view rest = command.substr(column);
  return "`" + std::string(rest.substr(0, rest.find_first_of(": \t"))) +
         "`; known: traceon traceoff snapshot stacktrace enable_event disable_event enable_hist disable_hist hist";
}

// Keeps the first mistake.
class FirstMistake : public antlr4::BaseErrorListener {
 public:
  explicit FirstMistake(std::string_view command) : command_(command) {}

  void syntaxError(antlr4::Recognizer* recognizer, antlr4::Token* offending, size_t /*line*/, size_t column,
                   const std::string& /*message*/, std::exception_ptr /*cause*/) override {
    if (found_) return;
    auto* parser = dynamic_cast<TriggerParser*>(recognizer);
    if (parser == nullptr || offending == nullptr) {
      found_ = trigger_mistake(command_, Kind::TriggerSyntax, column, {});
      return;
    }
    const std::size_t at = std::min(offending->getStartIndex(), command_.size());
    if (at <= (command_.starts_with('!') ? 1U : 0U)) {
      found_ = trigger_mistake(command_, Kind::TriggerUnknown, at, unknown_name(command_, at));
      return;
    }
    const Expectation wanted = expectation(parser->getContext());
    found_ = trigger_mistake(command_, wanted.kind, at, std::string(wanted.wanted));
  }

  std::optional<diag::Diagnostic> take() { return std::move(found_); }

 private:
  std::string_view command_;
  std::optional<diag::Diagnostic> found_;
};

// ---- tree → model ---------------------------------------------------------------------------------

Span span_of(antlr4::ParserRuleContext* context) {
  return {static_cast<std::uint32_t>(context->getStart()->getStartIndex()),
          static_cast<std::uint32_t>(context->getStop()->getStopIndex() + 1)};
}

TriggerKind kind_of(TriggerParser::SimpleNameContext* name) {
  if (name->TRACEON() != nullptr) return TriggerKind::TraceOn;
  if (name->TRACEOFF() != nullptr) return TriggerKind::TraceOff;
  if (name->SNAPSHOT() != nullptr) return TriggerKind::Snapshot;
  return TriggerKind::Stacktrace;
}

TriggerKind kind_of(TriggerParser::SwitchNameContext* name) {
  if (name->ENABLE_EVENT() != nullptr) return TriggerKind::EnableEvent;
  if (name->DISABLE_EVENT() != nullptr) return TriggerKind::DisableEvent;
  if (name->ENABLE_HIST() != nullptr) return TriggerKind::EnableHist;
  return TriggerKind::DisableHist;
}

// The kernel looks for the filter's `if` before it looks at the parts: it may not stand where they begin, and behind
// a blank at least two bytes must follow it, whatever they are.
bool begins_with_if(std::string_view command) { return hist_command(command).starts_with("hist:if"); }
bool ends_with_if(std::string_view command) {
  const std::string text = hist_command(command);
  constexpr std::size_t kTooShort = 3;
  const std::size_t last = text.size() < kTooShort ? std::string::npos : text.find("if", text.size() - kTooShort);
  return last != std::string::npos && is_blank(text[last - 1]);
}

// Fills one spec from the tree; the tree is whole.
class TriggerReader {
 public:
  TriggerReader(TriggerSpec& spec, dialect::Dialect dialect, diag::Sink& sink)
      : spec_(spec), dialect_(dialect), sink_(sink) {}

  bool read(TriggerParser::TriggerContext* trigger) {
    spec_.remove = trigger->BANG() != nullptr;
    if (auto* command = trigger->command()) {
      return read_names(command) && read_setting(command->setting()) && read_count(command->count()) &&
             read_condition(command->condition());
    }
    return read_names(trigger->removal());
  }

 private:
  std::string_view piece(Span span) const {
    return std::string_view(spec_.command).substr(span.begin, span.end - span.begin);
  }

  // What commands and removals share.
  template <typename Context>
  bool read_names(Context* context) {
    if (auto* simple = context->simpleName()) {
      spec_.kind = kind_of(simple);
    } else if (auto* name = context->switchName()) {
      spec_.kind = kind_of(name);
      spec_.target_system = piece(span_of(context->target()->system));
      spec_.target_event = piece(span_of(context->target()->event));
    } else {
      spec_.kind = TriggerKind::Hist;
      return read_histogram(context->histogram());
    }
    return true;
  }

  bool read_setting(TriggerParser::SettingContext* setting) {
    if (setting == nullptr) return true;
    if (auto* number = setting->NUMBER()) {
      const auto begin = static_cast<std::uint32_t>(number->getSymbol()->getStartIndex());
      const auto end = static_cast<std::uint32_t>(number->getSymbol()->getStopIndex() + 1);
      if (!read_number({begin, end})) return false;
    }
    return read_condition(setting->condition());
  }

  bool read_count(TriggerParser::CountContext* count) { return count == nullptr || read_number(span_of(count)); }

  bool read_number(Span span) {
    const Number count = parse_unsigned(piece(span), kAutoBase);
    if (count.error == 0) {
      spec_.count = count.value;
      return true;
    }
    if (count.error == ERANGE && !spec_.target_event.empty()) {
      spec_.count_errno = ERANGE;  // the target is looked for first
      return true;
    }
    diag::Diagnostic mistake =
        trigger_mistake(spec_.command, Kind::TriggerBadCount, span.begin,
                        "`" + std::string(piece(span)) + "` is not a number of 64 bits without sign");
    mistake.errno_value = count.error;
    sink_.report(std::move(mistake));
    return false;
  }

  bool read_condition(TriggerParser::ConditionContext* condition) {
    if (condition == nullptr) return true;
    const auto begin = static_cast<std::uint32_t>(condition->IF()->getSymbol()->getStopIndex() + 2);
    spec_.filter_span = {begin, static_cast<std::uint32_t>(spec_.command.size())};
    spec_.filter = std::string(piece(spec_.filter_span));
    return true;
  }

  bool read_histogram(TriggerParser::HistogramContext* histogram) {
    const bool has_condition = histogram->condition() != nullptr;
    if (begins_with_if(spec_.command) || (!has_condition && ends_with_if(spec_.command))) {
      sink_.report(trigger_mistake(spec_.command, Kind::TriggerBadFilter, 0, "`if` stands where a part does"));
      return false;
    }
    bool has_keys = false;
    for (auto* context : histogram->part()) {
      auto part = read_hist_part(spec_.command, span_of(context), dialect_, sink_);
      if (!part || !has_room(spec_.command, spec_.hist, *part, sink_)) return false;
      has_keys = has_keys || part->name == "keys";
      spec_.hist.push_back(*std::move(part));
    }
    if (!has_keys) {
      sink_.report(trigger_mistake(spec_.command, Kind::HistKeysMissing, span_of(histogram).begin, {}));
      return false;
    }
    return read_condition(histogram->condition());
  }

  TriggerSpec& spec_;
  dialect::Dialect dialect_;
  diag::Sink& sink_;
};

// A count that does not fit is noticed before what follows the parameters: `traceoff:99999999999999999999 x`.
bool has_huge_count(std::string_view command) {
  constexpr std::array<std::string_view, 4> kSimple = {"traceon", "traceoff", "snapshot", "stacktrace"};
  constexpr std::array<std::string_view, 4> kSwitches = {"enable_event", "disable_event", "enable_hist",
                                                         "disable_hist"};
  constexpr std::size_t kNone = std::string_view::npos;
  const std::string_view parameters = command.substr(0, command.find_first_of(" \t"));
  const std::size_t name_end = parameters.find(':');
  std::size_t colon = name_end;
  if (std::ranges::find(kSwitches, parameters.substr(0, name_end)) != kSwitches.end()) {
    const std::size_t event = name_end == kNone ? kNone : parameters.find(':', name_end + 1);
    colon = event == kNone || event == name_end + 1 ? kNone : parameters.find(':', event + 1);
    if (colon == event + 1) return false;
  } else if (std::ranges::find(kSimple, parameters.substr(0, name_end)) == kSimple.end()) {
    return false;
  }
  return colon != kNone && parse_unsigned(parameters.substr(colon + 1), kAutoBase).error == ERANGE;
}

std::string_view filter_text(std::string_view text) {
  text = filter_command(text);
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

}  // namespace

std::optional<model::TriggerSpec> parse_trigger(std::string_view text, diag::Sink& sink, dialect::Dialect dialect) {
  TriggerSpec spec;
  spec.command = filter_text(text);
  if (text.size() > kMaxFilterBytes) {
    sink.report(trigger_mistake(spec.command, Kind::TriggerSyntax, 0, "at most 4095 bytes"));
    return std::nullopt;
  }

  ByteStream input(spec.command);
  TriggerLexer lexer(&input);
  lexer.removeErrorListeners();
  antlr4::CommonTokenStream tokens(&lexer);
  TriggerParser parser(&tokens);
  FirstMistake first(spec.command);
  parser.removeErrorListeners();
  parser.addErrorListener(&first);
  TriggerParser::TriggerContext* trigger = parser.trigger();
  if (auto mistake = first.take()) {
    if (has_huge_count(spec.command)) mistake->errno_value = ERANGE;
    sink.report(*std::move(mistake));
    return std::nullopt;
  }

  if (!TriggerReader(spec, dialect, sink).read(trigger)) return std::nullopt;
  return spec;
}

}  // namespace kevt::grammar
