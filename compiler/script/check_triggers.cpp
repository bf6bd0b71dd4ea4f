// Triggers, one after the other.
//
//   p:a …    trigger hist:keys=x:t0=common_timestamp.usecs
//   p:b …    trigger hist:keys=x:d=common_timestamp.usecs-$t0       fine: `t0` is set
//   event sched/sched_switch    trigger traceoff:oops               its form is wrong, whoever has the event
//
// Problem: a script may name events that the catalog does not know (the kernel's own). Idea: a trigger of a known event
// is checked as a write to the `trigger` file. Of any other trigger only the form is checked, and its event is listed
// as not checked. If a known event's trigger refers to an unknown event, "there is no such event" is no mistake. Not
// here: running triggers.
#include "compiler/script/check_triggers.h"

#include <algorithm>
#include <cerrno>
#include <map>

#include "compiler/sema/trigger.h"
#include "grammar/parse.h"

namespace kevt::script {
namespace {

using diag::Kind;

// Whether a mistake may only mean that an event is not in the catalog.
bool is_about_missing_event(Kind kind) {
  constexpr Kind kKinds[] = {Kind::TriggerEventMissing,   Kind::HistSubsysNotFound,     Kind::HistInvalidSubsysEvent,
                             Kind::HistEventFileNotFound, Kind::HistSynthEventNotFound, Kind::HistVarNotFound,
                             Kind::HistParamNotFound,     Kind::HistHistNotFound};
  return std::ranges::find(kKinds, kind) != std::end(kKinds);
}

class Check {
 public:
  Check(const target::EventCatalog& catalog, sema::CatalogScope scope, dialect::Dialect dialect)
      : catalog_(catalog), scope_(scope), dialect_(dialect) {}

  void one(std::size_t index, const TriggerText& trigger) {
    diag::Sink sink;
    result_.listings.emplace_back();
    sema::TriggerTable& table = tables_[trigger.instance];
    const auto spec = grammar::parse_trigger(trigger.text, sink, dialect_);
    const target::CatalogEntry* event = catalog_.find(trigger.event.system, trigger.event.event);
    if (spec && event == nullptr) return leave(trigger.event.system + "/" + trigger.event.event);
    const auto change =
        spec ? sema::check_trigger(*spec, trigger.event, {catalog_, table, dialect_}, sink) : std::nullopt;
    if (!change) {
      auto mistakes = sink.take();
      if (scope_ == sema::CatalogScope::Partial && spec && is_about_missing_event(mistakes.front().kind))
        return leave(reference(*spec, mistakes.front()));
      result_.mistakes.push_back({index, std::move(mistakes.front())});
      return;
    }
    for (const sema::TriggerStep& step : change->steps) table.apply(step);
    const auto* added = change->steps.empty() ? nullptr : std::get_if<sema::AddTrigger>(&change->steps.front());
    if (added != nullptr) result_.listings.back() = sema::print_trigger(added->trigger);
  }

  TriggerResult take() { return std::move(result_); }

 private:
  static std::string reference(const model::TriggerSpec& spec, const diag::Diagnostic& mistake) {
    if (!spec.target_event.empty()) return spec.target_system + "/" + spec.target_event;
    const std::size_t at = mistake.column.value_or(0);
    const std::size_t end = mistake.command.find_first_of("(),:$ ", at);
    return at < mistake.command.size() ? mistake.command.substr(at, end - at) : "";
  }
  void leave(std::string event) {
    result_.unchecked.push_back({.rule = sema::UncheckedRule::Event, .what = std::move(event)});
  }

  const target::EventCatalog& catalog_;
  sema::CatalogScope scope_;
  dialect::Dialect dialect_;
  std::map<std::string, sema::TriggerTable> tables_;  // by instance
  TriggerResult result_;
};

}  // namespace

TriggerResult check_triggers(std::span<const TriggerText> triggers, const target::EventCatalog& catalog,
                             sema::CatalogScope scope, dialect::Dialect dialect) {
  Check check(catalog, scope, dialect);
  for (std::size_t i = 0; i < triggers.size(); ++i) check.one(i, triggers[i]);
  return check.take();
}

}  // namespace kevt::script
