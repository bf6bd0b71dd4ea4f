// An event's text is its head, its place and its arguments:
//
//   static event    the kernel's own print fmt                                    sched_switch: prev_comm=…
//   synthetic       layout::event_text()                                          wakeup_latency: lat=12
// probe a plan made once for the event (line_plan.h), its place from a cache
#include "runtime-user/engine/text/event_text.h"

#include "runtime-user/engine/text/symbol_text.h"

namespace kevt::engine {

namespace {

const target::TargetEnv& nothing_known() {
  static const target::UncheckedTargetEnv none;
  return none;
}

}  // namespace

std::optional<target::Symbol> CachedSymbols::symbolize(std::uint64_t address) const {
  if (auto it = seen_.find(address); it != seen_.end()) return it->second;
  if (seen_.size() >= kMaxRemembered) seen_.clear();
  return seen_[address] = env_.symbolize(address);
}

const target::TargetEnv& EventText::symbols(const target::TargetEnv* env) {
  return env ? symbols_.try_emplace(env, *env).first->second : nothing_known();
}

void EventText::forget() {
  symbols_.clear();
  places_.clear();
  known_.clear();
}

void EventText::append(const TracedEvent& event, std::span<const std::uint8_t> record, const target::TargetEnv& env,
                       layout::PlaceStyle style, std::string& out) {
  if (event.is_static()) {
    out += event.name;
    out += ": ";
    if (statics_) statics_->append_text(event.id, record, out);
  } else if (event.owner == target::EventOwner::Synthetic) {
    out += layout::event_text(event.probes.front().definition(), event.layout, record, env, style);
  } else {
    Known& known = find(event);
    out += known.plan->head();
    out += place(known, record, env, style);
    out += ')';
    if (known.plan->is_plain())
      known.plan->append_arguments(record, out);
    else if (has_symbol_text(event.layout))
      layout::append_arguments(out, event.layout, expand_symbol_texts(event.layout, record, env), env);
    else
      layout::append_arguments(out, event.layout, record, env);
  }
  out += '\n';
}

EventText::Known& EventText::find(const TracedEvent& event) {
  Known& known = known_[event.id];
  if (known.event != &event) {
    known.event = &event;
    known.plan.emplace(event);
  }
  return known;
}

const std::string& EventText::place(Known& known, std::span<const std::uint8_t> record, const target::TargetEnv& env,
                                    layout::PlaceStyle style) {
  LinePlan& plan = *known.plan;
  const PlaceKey key{.env = &env,
                     .event = known.event->id,
                     .style = (style.offsets ? 1u : 0u) | (style.addresses ? 2u : 0u),
                     .addresses = plan.addresses(record)};
  if (plan.last && plan.last->addresses == key.addresses && plan.last->env == key.env && plan.last->style == key.style)
    return plan.last->text;
  if (places_.size() >= kMaxPlaces) places_.clear();
  const auto [it, is_new] = places_.try_emplace(key);
  if (is_new)
    it->second = layout::place_text(known.event->probes.front().definition(), known.event->layout, record, env, style);
  plan.last = {.env = &env, .addresses = key.addresses, .style = key.style, .text = it->second};
  return plan.last->text;
}

}  // namespace kevt::engine
