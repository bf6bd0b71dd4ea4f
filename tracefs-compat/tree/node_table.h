// The table of virtual files: which paths exist, and which function opens each. A new file is a row and a function.
//
//   {"events/{group}/{event}/enable", 0640, Scope::EveryInstance, open_event_enable}
//
// A name in braces stands for every existing name of that sort (names_of()); directories follow from the paths.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime-user/engine/tracing.h"
#include "tracefs-compat/tree/handle.h"

namespace kevt::tree {

// The place of one file in the tree.
struct Place {
  engine::Tracing* tracing = nullptr;
  engine::Instance* instance = nullptr;
  std::vector<std::string> names;  // what the braces of its pattern stand for
};

enum class Scope : std::uint8_t { EveryInstance, TopOnly };

struct FileKind {
  std::string_view pattern;
  mode_t mode;
  Scope scope;
  Result<std::unique_ptr<Handle>> (*open)(const Place& place, const OpenRequest& request);
  bool (*is_there)(const Place& place) = nullptr;  // nullptr: exists wherever its pattern fits
};
std::span<const FileKind> file_kinds();

// The names that a pattern's name in braces stands for at `place`. `wildcard` is without the braces.
std::vector<std::string> names_of(std::string_view wildcard, const Place& place);
bool is_name_of(std::string_view wildcard, const Place& place, std::string_view name);

// The CPU of a file below a folder such as "cpu3"; nullopt: the file is of no single CPU.
std::optional<std::uint32_t> cpu_of(const Place& place);

using Opened = Result<std::unique_ptr<Handle>>;

// definition_files.cpp
Opened open_kprobe_events(const Place&, const OpenRequest&);
Opened open_uprobe_events(const Place&, const OpenRequest&);
Opened open_synthetic_events(const Place&, const OpenRequest&);
Opened open_dynamic_events(const Place&, const OpenRequest&);
Opened open_kprobe_profile(const Place&, const OpenRequest&);
Opened open_uprobe_profile(const Place&, const OpenRequest&);
Opened open_error_log(const Place&, const OpenRequest&);
// event_files.cpp
Opened open_all_enable(const Place&, const OpenRequest&);
Opened open_group_enable(const Place&, const OpenRequest&);
Opened open_group_filter(const Place&, const OpenRequest&);
Opened open_event_enable(const Place&, const OpenRequest&);
Opened open_event_id(const Place&, const OpenRequest&);
Opened open_event_format(const Place&, const OpenRequest&);
Opened open_event_filter(const Place&, const OpenRequest&);
Opened open_event_trigger(const Place&, const OpenRequest&);
Opened open_event_hist(const Place&, const OpenRequest&);
Opened open_marker_hist(const Place&, const OpenRequest&);
Opened open_marker_trigger(const Place&, const OpenRequest&);
// event_list_files.cpp
Opened open_set_event(const Place&, const OpenRequest&);
Opened open_set_event_pid(const Place&, const OpenRequest&);
Opened open_set_event_notrace_pid(const Place&, const OpenRequest&);
Opened open_available_events(const Place&, const OpenRequest&);
// ftrace_formats.cpp
Opened open_header_page(const Place&, const OpenRequest&);
Opened open_header_event(const Place&, const OpenRequest&);
Opened open_ftrace_format(const Place&, const OpenRequest&);
Opened open_ftrace_id(const Place&, const OpenRequest&);
std::vector<std::string> ftrace_event_names();
// trace_files.cpp, raw_file.cpp
Opened open_trace(const Place&, const OpenRequest&);
Opened open_snapshot(const Place&, const OpenRequest&);
Opened open_trace_pipe(const Place&, const OpenRequest&);
Opened open_trace_pipe_raw(const Place&, const OpenRequest&);
// buffer_files.cpp
Opened open_stats(const Place&, const OpenRequest&);
Opened open_buffer_size(const Place&, const OpenRequest&);
Opened open_buffer_total_size(const Place&, const OpenRequest&);
Opened open_buffer_percent(const Place&, const OpenRequest&);
Opened open_free_buffer(const Place&, const OpenRequest&);
Opened open_tracing_on(const Place&, const OpenRequest&);
Opened open_trace_clock(const Place&, const OpenRequest&);
Opened open_timestamp_mode(const Place&, const OpenRequest&);
Opened open_tracing_cpumask(const Place&, const OpenRequest&);
// option_files.cpp
Opened open_trace_options(const Place&, const OpenRequest&);
Opened open_option(const Place&, const OpenRequest&);
Opened open_current_tracer(const Place&, const OpenRequest&);
Opened open_available_tracers(const Place&, const OpenRequest&);
Opened open_tracing_thresh(const Place&, const OpenRequest&);
Opened open_tracing_max_latency(const Place&, const OpenRequest&);
bool has_max_latency(const Place&);
// task_files.cpp
Opened open_saved_cmdlines(const Place&, const OpenRequest&);
Opened open_saved_cmdlines_size(const Place&, const OpenRequest&);
Opened open_saved_tgids(const Place&, const OpenRequest&);
Opened open_printk_formats(const Place&, const OpenRequest&);
Opened open_trace_marker(const Place&, const OpenRequest&);
Opened open_trace_marker_raw(const Place&, const OpenRequest&);
// readme.cpp
Opened open_readme(const Place&, const OpenRequest&);
// kprobe_files.cpp
Opened open_available_functions(const Place&, const OpenRequest&);
Opened open_kprobes_list(const Place&, const OpenRequest&);
Opened open_kprobes_enabled(const Place&, const OpenRequest&);
Opened open_kprobes_blacklist(const Place&, const OpenRequest&);
Opened open_kprobes_optimization(const Place&, const OpenRequest&);

}  // namespace kevt::tree
