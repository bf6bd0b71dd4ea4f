// options/NAME, trace_options; current_tracer, available_tracers, tracing_thresh: there is one tracer, nop.
//
// Mirrors trace_options_core_write(), tracing_trace_options_write(), tracing_set_trace_write() of kernel/trace/trace.c
// (6.1).
#include <cerrno>

#include "common/error.h"
#include "tracefs-compat/tree/node_table.h"

namespace kevt::tree {

namespace {

using engine::OptionEffect;
using engine::TraceOption;

Result<void> set_option(const Place& place, TraceOption option, bool on) {
  engine::Instance& instance = *place.instance;
  const auto& facts = engine::trace_option_facts()[static_cast<std::size_t>(option)];
  if (instance.options.has(option) == on) return {};
  const bool kernel = place.tracing->code().static_events() != nullptr;
  if (facts.effect == OptionEffect::Refused || (facts.effect == OptionEffect::KernelOnly && !kernel))
    return fails(EINVAL);
  if (facts.effect == OptionEffect::ProcessOnly && kernel) return fails(EINVAL);
  const bool is_of_stacks = option == TraceOption::Stacktrace || option == TraceOption::UserStacktrace;
  if (is_of_stacks && !place.tracing->code().prepare_stacks()) return fails(EINVAL);
  return place.tracing->switcher().set_option(instance, option, on);
}

std::string options_text(const Place& place) {
  std::string text;
  for (const auto& facts : engine::trace_option_facts()) {
    if (!place.instance->options.has(facts.option)) text += "no";
    text += facts.name;
    text += '\n';
  }
  return text;
}

Opened fixed_text(std::string text) {
  return read_only([text]() -> Result<std::string> { return text; });
}

}  // namespace

Opened open_trace_options(const Place& place, const OpenRequest&) {
  return open_text({.read = [place]() -> Result<std::string> { return options_text(place); },
                    .write = [place](std::string_view text, const Caller&) -> Result<void> {
                      std::string_view name = stripped(text);
                      if (const auto option = engine::trace_option(name)) return set_option(place, *option, true);
                      if (!name.starts_with("no")) return fails(EINVAL);
                      name.remove_prefix(2);
                      const auto option = engine::trace_option(name);
                      return option ? set_option(place, *option, false) : fails(EINVAL);
                    },
                    .write_some = {}});
}

Opened open_option(const Place& place, const OpenRequest&) {
  const TraceOption option = *engine::trace_option(place.names.front());
  return open_text({.read = [place, option]() -> Result<std::string> {
                      return std::string(place.instance->options.has(option) ? "1\n" : "0\n");
                    },
                    .write = [place, option](std::string_view text, const Caller&) -> Result<void> {
                      auto value = KEVT_TRY(parse_number(text, 10));
                      if (value > 1) return fails(EINVAL);
                      return set_option(place, option, value == 1);
                    },
                    .write_some = {}});
}

Opened open_current_tracer(const Place&, const OpenRequest&) {
  return open_text({.read = []() -> Result<std::string> { return std::string("nop\n"); },
                    .write = [](std::string_view text, const Caller&) -> Result<void> {
                      if (stripped(text) != "nop") return fails(EINVAL);
                      return {};
                    },
                    .write_some = {}});
}

Opened open_available_tracers(const Place&, const OpenRequest&) { return fixed_text("nop\n"); }

Opened open_tracing_thresh(const Place&, const OpenRequest&) {
  return open_text({.read = []() -> Result<std::string> { return std::string("0\n"); },
                    .write = [](std::string_view text, const Caller&) -> Result<void> {
                      auto value = KEVT_TRY(parse_number(text, 10));
                      if (value != 0) return fails(EINVAL);  // no tracer has a threshold
                      return {};
                    },
                    .write_some = {}});
}

// The file reads what was written: no tracer here measures a latency.
Opened open_tracing_max_latency(const Place& place, const OpenRequest&) {
  constexpr std::uint64_t kNsOfMicrosecond = 1000;
  engine::Instance& instance = *place.instance;
  return open_text({.read = [&instance]() -> Result<std::string> {
                      return std::to_string(instance.max_latency_ns / kNsOfMicrosecond) + "\n";
                    },
                    .write = [&instance](std::string_view text, const Caller&) -> Result<void> {
                      const auto value = parse_number(text, 10);
                      if (!value) return std::unexpected(value.error());
                      instance.max_latency_ns = *value * kNsOfMicrosecond;
                      return {};
                    },
                    .write_some = {}});
}

// A kernel built without the tracers that measure latency does not have the file.
bool has_max_latency(const Place& place) {
  const auto version = place.tracing->options().check.dialect.version();
  return !version || *version < dialect::version_of(dialect::Kernel::Linux7_2);
}

}  // namespace kevt::tree
