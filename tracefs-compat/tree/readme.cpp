// README: programs search it for exact strings of the kernel's README to learn what they may use. It names only what
// works here: what the directory's dialect has; eprobes, function, tracepoint and watch probes where BPF traces the
// kernel; names and types where its types are known.
#include <fmt/format.h>

#include <algorithm>

#include "tracefs-compat/tree/node_table.h"

namespace kevt::tree {

namespace {

constexpr std::string_view kReadme =
    "kevtrace: a tracing directory of traced processes\n"
    "\n"
    "# echo 0 > tracing_on : nothing is recorded any more\n"
    "# echo 1 > tracing_on : recording goes on\n"
    "\n"
    "  trace, trace_pipe\t- what was recorded; trace_pipe consumes it and waits for more\n"
    "  per_cpu/cpuN/trace_pipe_raw\t- the same as pages (events/header_page)\n"
    "  current_tracer, available_tracers\t- nop\n"
    "  error_log\t- the last mistakes\n"
    "  buffer_size_kb, buffer_total_size_kb\t- of each CPU, of all\n"
    "  trace_clock\t- local, global, mono: CLOCK_MONOTONIC; boot; counter\n"
    "  trace_marker, trace_marker_raw\t- writing makes a record\n"
    "  tracing_cpumask, set_event_pid, set_event_notrace_pid\t- whose hits are recorded\n"
    "  instances\t- mkdir instances/NAME: buffers and switches of its own; rmdir\n"
    "  trace_options, options/\t- how records are printed and kept\n"
    "  snapshot\t- the buffer, put aside\n"
    "  saved_cmdlines, saved_cmdlines_size, saved_tgids\t- names of threads\n"
    "  debug/kprobes/list\t- probes and how they stand\n"
    "\n"
    "  dynamic_events\t\t- Create/append/remove/show the generic dynamic events\n"
    "\t\t\t  Write into this file to define/undefine new trace events.\n"
    "  kprobe_events\t\t- Create/append/remove/show the kernel dynamic events\n"
    "\t\t\t  Write into this file to define/undefine new trace events.\n"
    "  uprobe_events\t\t- Create/append/remove/show the userspace dynamic events\n"
    "\t\t\t  Write into this file to define/undefine new trace events.\n"
    "\t  accepts: event-definitions (one definition per line)\n"
    "\t   Format: p[:[<group>/][<event>]] <place> [<args>]\n"
    "\t           r[maxactive][:[<group>/][<event>]] <place> [<args>]\n"
    "\t           s:[synthetic/]<event> <field> [<field>]\n"
    "\t           -:[<group>/][<event>]\n"
    "{kernel_probes}"
    "\t    place: [<module>:]<symbol>[+<offset>]|<memaddr>\n"
    "place (kretprobe): [<module>:]<symbol>[+<offset>]%return|<memaddr>\n"
    "   place (uprobe): <path>:<offset>[%return]\n"
    "\t     args: <name>=fetcharg[:type]\n"
    "\t fetcharg: (%<register>|$<efield>), @<address>, @<symbol>[+|-<offset>],\n"
    "\t           $stack<index>, $stack, $retval, $comm, $arg<N>,\n"
    "{argument_names}"
    "\t           +|-[u]<offset>(<fetcharg>), \\imm-value, \\\"imm-string\"\n"
    "\t     type: s8/16/32/64, u8/16/32/64, x8/16/32/64, {character}string, symbol,\n"
    "\t           b<bit-width>@<bit-offset>/<container-size>, ustring,\n"
    "\t           symstr, {dentries}<type>\\[<array-size>\\]\n"
    "  module: a library of the program (libc, libc.so.6, a path)\n"
    "\n"
    "  events/\t\t- one folder for each group, with enable and filter\n"
    "      enable, filter, format, hist, id, trigger of each event\n"
    "      trigger:\t<trigger>[:count][if <filter>]\n"
    "\t    trigger: traceon, traceoff\n"
    "\t             enable_event:<system>:<event>\n"
    "\t             disable_event:<system>:<event>\n"
    "\t             snapshot\n"
    "\t             stacktrace\n"
    "\t             enable_hist:<system>:<event>\n"
    "\t             disable_hist:<system>:<event>\n"
    "\t             hist:keys=<field1[,field2,...]>\n"
    "\t               [:<var1>=<field|var_ref|numeric_literal>[,<var2>=...]]\n"
    "\t               [:values=<field1[,field2,...]>]\n"
    "\t               [:sort=<field1[,field2,...]>]\n"
    "\t               [:size=#entries]\n"
    "\t               [:pause][:continue][:clear]\n"
    "\t               [:name=histname1]\n"
    "{no_hitcount}"
    "\t               [:<handler>.<action>]\n"
    "\t               [if <filter>]\n"
    "{fields}"
    "\t   modifier: .hex .sym .sym-offset .execname .syscall .log2 .buckets=size .usecs\n"
    "\t             .percent .graph\n"
    "\t    handler: onmatch(matching.event)\n"
    "\t             onmax(var)\n"
    "\t             onchange(var)\n"
    "\t     action: trace(<synthetic_event>,param list)\n"
    "\t             <synthetic_event>(param list)\n"
    "\t             save(field,...)\n"
    "\t             snapshot()\n"
    "\t     the counts: the event's file hist\n"
    "  synthetic_events\t- Create/append/remove/show synthetic events\n"
    "\t   examples: echo 'wakeup u64 lat; pid_t pid; char name[]' >> synthetic_events\n"
    "{stack_example}";

// Of the bpf runtime.
constexpr std::string_view kKernelProbes =
    "\t           f[:[<group>/][<event>]] <func-name>[%return] [<args>]\n"
    "\t           t[:[<group>/][<event>]] <tracepoint> [<args>]\n"
    "\t           w[:[<group>/][<event>]] [w|rw]@<memaddr>|<symbol>[+|-<offset>][:1|2|4|8] [<args>]\n"
    "\t           e[:[<group>/][<event>]] <attached-group>.<attached-event> [<args>] [if <filter>]\n";

bool runs_bpf(const engine::Tracing& tracing) {
  return std::ranges::any_of(tracing.code().targets(), [](engine::TracedTarget* target) {
    return target->runtime().capabilities().name == "bpf";
  });
}

constexpr std::string_view kArgumentNames = "\t           <argname>[->field[->field|.field...]],\n";
constexpr std::string_view kNoHitcount = "\t               [:nohitcount]\n";
constexpr std::string_view kFields =
    "\t     fields: of the event, stacktrace, common_timestamp, common_cpu, common_pid\n";
constexpr std::string_view kFieldsWithStacks =
    "\t      field can be any field, or the special string 'common_stacktrace'\n"
    "\t      (stacktrace, too), or common_timestamp, common_cpu, common_pid\n";
constexpr std::string_view kStackExample =
    "\t             echo 'blocked pid_t pid; u64 lat; unsigned long[] stack' >> synthetic_events\n";

std::string readme_text(const engine::Tracing& tracing) {
  const bool has_events = tracing.code().static_events() != nullptr;
  const bool has_types = has_events && std::ranges::any_of(tracing.code().targets(), [](engine::TracedTarget* target) {
                           return target->known_env().type_source() != target::TypeSource::None;
                         });
  const dialect::Dialect& forms = tracing.options().check.dialect;
  const auto where = [](bool is_there, std::string_view text) { return is_there ? text : std::string_view(); };
  const bool has_stacks = forms.has(dialect::Feature::StacktraceFields);
  return fmt::format(kReadme, fmt::arg("kernel_probes", where(runs_bpf(tracing), kKernelProbes)),
                     fmt::arg("argument_names", where(has_types, kArgumentNames)),
                     fmt::arg("dentries", where(has_types, "%pd/%pD, ")),
                     fmt::arg("character", where(forms.has(dialect::Feature::CharType), "char, ")),
                     fmt::arg("no_hitcount", where(forms.has(dialect::Feature::HideHitcount), kNoHitcount)),
                     fmt::arg("fields", has_stacks ? kFieldsWithStacks : kFields),
                     fmt::arg("stack_example", where(has_stacks, kStackExample)));
}

}  // namespace

Opened open_readme(const Place& place, const OpenRequest&) {
  return open_text({.read = [tracing = place.tracing]() -> Result<std::string> { return readme_text(*tracing); },
                    .write = {},
                    .write_some = {}});
}

}  // namespace kevt::tree
