// Names and defaults are TRACE_FLAGS of kernel/trace/trace.h (6.1); what each does here stands in the table.
#include "runtime-user/engine/instances/trace_options.h"

namespace kevt::engine {

namespace {

constexpr TraceOptionFacts kFacts[] = {
#define KEVT_TRACE_OPTION(enumerator, name, initial, effect) \
  {TraceOption::enumerator, name, initial, OptionEffect::effect},
#include "runtime-user/engine/instances/trace_options.def"
#undef KEVT_TRACE_OPTION
};
static_assert(std::size(kFacts) <= 32);

}  // namespace

std::span<const TraceOptionFacts> trace_option_facts() { return kFacts; }

std::optional<TraceOption> trace_option(std::string_view name) {
  for (const TraceOptionFacts& facts : kFacts)
    if (facts.name == name) return facts.option;
  return std::nullopt;
}

TraceOptions::TraceOptions() {
  for (const TraceOptionFacts& facts : kFacts) set(facts.option, facts.initially_on);
}

void TraceOptions::set(TraceOption option, bool on) {
  const std::uint32_t bit = 1u << static_cast<unsigned>(option);
  bits_ = on ? bits_ | bit : bits_ & ~bit;
}

}  // namespace kevt::engine
