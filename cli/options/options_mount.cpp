// The options of `mount` and `exec`. options.cpp has the program's own, and names all verbs.
#include "cli/options/options_mount.h"

#include <CLI/CLI.hpp>

#include "cli/options/choice_options.h"
#include "cli/options/option_parts.h"
#include "runtime-user/runtime/runtime_names.h"

namespace kevt::cli {

void add_mount(CLI::App& app, MountVerbOptions& mount) {
  CLI::App* verb =
      app.add_subcommand("mount", "a tracing directory of CMD or of running processes, for every ftrace tool");
  verb->add_option("DIR", mount.directory, "where; it is made when it is missing")->type_name("")->required();
  add_definitions(*verb, mount.defined);
  add_instances(*verb, mount.defined);
  verb->add_option("--pid", mount.pids, "trace running processes instead of CMD; they go on when it ends")
      ->type_name("PID[,PID…]")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::PositiveNumber);
  add_process_choice(*verb, mount.choice);
  add_with_kernel(*verb, mount.defined);
  verb->add_option("--buffer", mount.buffer_kb, "buffer_size_kb at the start")
      ->type_name("KIB")
      ->check(CLI::Range(8, 1 << 24).description(""));
  verb->add_option("--group", mount.group, "the group that may use it, too")->type_name("NAME");
  verb->add_flag("--follow-forks", mount.follow,
                 "trace also the programs that CMD or the processes, and what they fork, become by exec");
  verb->add_flag("--hold", mount.hold, "CMD begins when the first event is on, not when DIR is there");
  verb->add_flag("--keep", mount.keep, "DIR stays when CMD has ended, until Ctrl-C or umount");
  verb->add_flag("--nonempty", mount.nonempty, "DIR may hold files; they are hidden while it is mounted");
  verb->add_option("--runtime", mount.runtime, "auto, inproc: processes; bpf, kmod: the running kernel")
      ->type_name("NAME")
      ->check(member(runtime::runtime_names()))
      ->capture_default_str();
  verb->add_option("CMD", mount.command, "the program to trace and its arguments, after --")->type_name("");
  verb->final_callback([&mount, verb] {
    take_instances(*verb, mount.defined);
    const bool kernel = runtime::traces_whole_machine(mount.runtime);
    take_process_choice(mount.choice, mount.command, mount.pids);
    if (kernel && !mount.pids.empty())
      throw CLI::ValidationError("--pid", "--runtime " + mount.runtime + " traces the whole machine");
    if (kernel && !mount.defined.with_kernel.empty())
      throw CLI::ValidationError("--with-kernel", "--runtime " + mount.runtime + " traces the kernel already");
    if (kernel && mount.follow)
      throw CLI::ValidationError("--follow-forks", "--runtime " + mount.runtime + " traces the whole machine");
    if (!kernel && mount.command.empty() && mount.pids.empty())
      throw CLI::RequiredError("CMD (or --pid, or --runtime bpf)");
    if (!mount.command.empty() && !mount.pids.empty())
      throw CLI::ValidationError("--pid", "CMD and --pid exclude each other");
    if (mount.hold && mount.command.empty()) throw CLI::ValidationError("--hold", "there is no CMD to hold");
    if (mount.keep && mount.command.empty())
      throw CLI::ValidationError("--keep", "without CMD it stays until Ctrl-C or umount");
  });
  verb->footer(
      R"(DIR gets the files of the kernel's tracing directory, over the functions of CMD: definitions are written with
echo, the trace is read with cat. CMD starts when DIR is there. DIR ends with CMD, when who reads trace_pipe has had what is
there (--keep: it stays); or with Ctrl-C or `umount DIR`, and waits for CMD; with SIGTERM CMD goes on alone. Everything is taken out of the processes then, also when kevtrace is killed. The traced processes themselves cannot use DIR (EDEADLK).

Definitions that are given here, as for `run`, are there and on from the start, with their filters and triggers; so
are instances (-B), in DIR/instances.

examples:
  kevtrace mount /tmp/t -- python3 server.py &
  echo 'p:op libc:open64 path=+0(%di):string' >> /tmp/t/kprobe_events
  echo 1 > /tmp/t/events/kprobes/enable
  cat /tmp/t/trace_pipe
  kevtrace exec /tmp/t -- trace-cmd show
  kevtrace mount /tmp/t -p script.kev --trigger 'op: traceoff if path == "/etc/passwd"' -- python3 server.py &

exit status: CMD's own, 0 with --pid or when CMD goes on; 2 usage, 3 a definition, filter or trigger is wrong, 4 something is missing here, 126/127 CMD cannot be executed / is not
  there, 125 kevtrace failed

Every verb also takes --color, --escape, --diagnostics and -q: `kevtrace --help`)");
}

void add_exec(CLI::App& app, ExecOptions& exec) {
  CLI::App* verb = app.add_subcommand("exec", "run a tool of the kernel's tracing on a mounted directory");
  verb->add_option("DIR", exec.directory, "a mounted tracing directory")->type_name("")->required();
  verb->add_option("CMD", exec.command, "the tool and its arguments, after --")->type_name("")->required();
  verb->footer(
      R"(CMD sees DIR where it looks for the kernel's directory: /sys/kernel/tracing and /sys/kernel/debug/tracing, in a
mount namespace of its own, and TRACEFS_PATH. It cannot mount the running kernel's tracefs in its place.

examples:
  kevtrace exec /tmp/t -- trace-cmd list -e kprobes
  kevtrace exec /tmp/t -- trace-cmd record -e kprobes sleep 5
  kevtrace exec /tmp/t -- sh -c 'cat /sys/kernel/tracing/trace'

exit status: CMD's own; 4 no namespace can be made, 126/127 CMD cannot be executed / is not there

Every verb also takes --color, --escape, --diagnostics and -q: `kevtrace --help`)");
}

}  // namespace kevt::cli
