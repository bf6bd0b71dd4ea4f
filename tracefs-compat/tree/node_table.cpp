// The rows in the order of their names. Modes are the kernel's; owner and group are the mount's.
#include "tracefs-compat/tree/node_table.h"

#include <algorithm>
#include <charconv>

namespace kevt::tree {

namespace {

using enum Scope;

constexpr FileKind kKinds[] = {
    {"README", 0440, TopOnly, open_readme},
    {"available_events", 0440, TopOnly, open_available_events},
    {"available_filter_functions", 0440, TopOnly, open_available_functions},
    {"available_tracers", 0440, EveryInstance, open_available_tracers},
    {"buffer_percent", 0640, EveryInstance, open_buffer_percent},
    {"buffer_size_kb", 0640, EveryInstance, open_buffer_size},
    {"buffer_total_size_kb", 0440, EveryInstance, open_buffer_total_size},
    {"current_tracer", 0640, EveryInstance, open_current_tracer},
    {"debug/kprobes/blacklist", 0400, TopOnly, open_kprobes_blacklist},
    {"debug/kprobes/enabled", 0600, TopOnly, open_kprobes_enabled},
    {"debug/kprobes/list", 0400, TopOnly, open_kprobes_list},
    {"debug/kprobes-optimization", 0600, TopOnly, open_kprobes_optimization},
    {"dynamic_events", 0640, TopOnly, open_dynamic_events},
    {"error_log", 0640, EveryInstance, open_error_log},
    {"events/enable", 0640, EveryInstance, open_all_enable},
    {"events/ftrace/{ftrace}/format", 0440, EveryInstance, open_ftrace_format},
    {"events/ftrace/{ftrace}/id", 0440, EveryInstance, open_ftrace_id},
    {"events/ftrace/print/trigger", 0640, EveryInstance, open_marker_trigger},
    {"events/ftrace/print/hist", 0440, EveryInstance, open_marker_hist},
    {"events/header_event", 0440, EveryInstance, open_header_event},
    {"events/header_page", 0440, EveryInstance, open_header_page},
    {"events/{group}/enable", 0640, EveryInstance, open_group_enable},
    {"events/{group}/filter", 0640, EveryInstance, open_group_filter},
    {"events/{group}/{event}/enable", 0640, EveryInstance, open_event_enable},
    {"events/{group}/{event}/filter", 0640, EveryInstance, open_event_filter},
    {"events/{group}/{event}/format", 0440, EveryInstance, open_event_format},
    {"events/{group}/{event}/hist", 0440, EveryInstance, open_event_hist},
    {"events/{group}/{event}/id", 0440, EveryInstance, open_event_id},
    {"events/{group}/{event}/trigger", 0640, EveryInstance, open_event_trigger},
    {"free_buffer", 0200, EveryInstance, open_free_buffer},
    {"kprobe_events", 0640, TopOnly, open_kprobe_events},
    {"kprobe_profile", 0440, TopOnly, open_kprobe_profile},
    {"options/{option}", 0640, EveryInstance, open_option},
    {"per_cpu/{cpu}/buffer_size_kb", 0640, EveryInstance, open_buffer_size},
    {"per_cpu/{cpu}/snapshot", 0640, EveryInstance, open_snapshot},
    {"per_cpu/{cpu}/stats", 0440, EveryInstance, open_stats},
    {"per_cpu/{cpu}/trace", 0640, EveryInstance, open_trace},
    {"per_cpu/{cpu}/trace_pipe", 0440, EveryInstance, open_trace_pipe},
    {"per_cpu/{cpu}/trace_pipe_raw", 0440, EveryInstance, open_trace_pipe_raw},
    {"printk_formats", 0440, TopOnly, open_printk_formats},
    {"saved_cmdlines", 0440, TopOnly, open_saved_cmdlines},
    {"saved_cmdlines_size", 0640, TopOnly, open_saved_cmdlines_size},
    {"saved_tgids", 0440, TopOnly, open_saved_tgids},
    {"set_event", 0640, EveryInstance, open_set_event},
    {"set_event_notrace_pid", 0640, EveryInstance, open_set_event_notrace_pid},
    {"set_event_pid", 0640, EveryInstance, open_set_event_pid},
    {"snapshot", 0640, EveryInstance, open_snapshot},
    {"synthetic_events", 0640, TopOnly, open_synthetic_events},
    {"timestamp_mode", 0440, EveryInstance, open_timestamp_mode},
    {"trace", 0640, EveryInstance, open_trace},
    {"trace_clock", 0640, EveryInstance, open_trace_clock},
    {"trace_marker", 0220, EveryInstance, open_trace_marker},
    {"trace_marker_raw", 0220, EveryInstance, open_trace_marker_raw},
    {"trace_options", 0640, EveryInstance, open_trace_options},
    {"trace_pipe", 0440, EveryInstance, open_trace_pipe},
    {"tracing_cpumask", 0640, EveryInstance, open_tracing_cpumask},
    {"tracing_max_latency", 0640, EveryInstance, open_tracing_max_latency, has_max_latency},
    {"tracing_on", 0640, EveryInstance, open_tracing_on},
    {"tracing_thresh", 0640, TopOnly, open_tracing_thresh},
    {"uprobe_events", 0640, TopOnly, open_uprobe_events},
    {"uprobe_profile", 0440, TopOnly, open_uprobe_profile},
};

std::optional<std::uint32_t> cpu_number(std::string_view name) {
  if (!name.starts_with("cpu")) return std::nullopt;
  name.remove_prefix(3);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool plain = name.size() == 1 || !name.starts_with('0');
  if (error != std::errc() || end != name.data() + name.size() || !plain) return std::nullopt;
  return number;
}

}  // namespace

std::span<const FileKind> file_kinds() { return kKinds; }

std::vector<std::string> names_of(std::string_view wildcard, const Place& place) {
  std::vector<std::string> names;
  if (wildcard == "cpu") {
    for (std::uint32_t i = 0; i < place.tracing->options().cpus; ++i) names.push_back("cpu" + std::to_string(i));
  } else if (wildcard == "option") {
    for (const auto& facts : engine::trace_option_facts()) names.emplace_back(facts.name);
  } else if (wildcard == "ftrace") {
    return ftrace_event_names();
  } else if (wildcard == "group") {
    return place.tracing->events().groups();
  } else if (wildcard == "event") {
    for (const engine::TracedEvent* event : place.tracing->events().in_group(place.names.front()))
      names.push_back(event->name);
  }
  return names;
}

bool is_name_of(std::string_view wildcard, const Place& place, std::string_view name) {
  if (wildcard == "cpu")
    return cpu_number(name).value_or(place.tracing->options().cpus) < place.tracing->options().cpus;
  if (wildcard == "option") return engine::trace_option(name).has_value();
  if (wildcard == "group") return place.tracing->events().has_group(name);
  if (wildcard == "event") return place.tracing->events().find(place.names.front(), name) != nullptr;
  const auto all = names_of(wildcard, place);
  return std::ranges::find(all, name) != all.end();
}

std::optional<std::uint32_t> cpu_of(const Place& place) {
  return place.names.empty() ? std::nullopt : cpu_number(place.names.front());
}

}  // namespace kevt::tree
