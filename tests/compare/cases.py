"""What two kevtraces are asked: command lines, scripts, and sessions with the files of a mount.

A case is (name, Shell) or (name, Session). Shell: a command line for `sh`, in a folder of its own, where `kevtrace` is the one
asked and `steps` the traced program (tests/process/programs/steps.c). Session: lines for a mount over a running `steps`.
"""
import glob
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


class Shell(str):
    """A command line."""


class Session(str):
    """Lines: `FILE < TEXT` writes, `FILE << TEXT` appends, `FILE` reads, `hit FROM TO THREADS` lets the program run."""


def golden_commands():
    """The command lines whose answers tests/cli has word for word."""
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/cli/*.golden"))):
        name = os.path.basename(path).removesuffix(".golden")
        with open(path, encoding="utf-8") as file:
            commands = [line[2:].rstrip("\n") for line in file if line.startswith("$ ")]
        for command in commands:
            yield f"{name}: {command}", Shell(command)


DEFINITIONS = [
    "p:step steps:step i=%di:s64",
    "p:step steps:step i=%di:u8 j=%di:x16 k=%di:s32 l=%di:u64 m=%di:x64",
    "p:step steps:step $comm $stack0:x8 i=%di:b4@2/8",
    "p:step steps:step i=%di:s64 pc=%ip:symbol",
    "p:step steps:step text=+0(%di):string",
    "p:step steps:step old=+0(%sp):x64 j=-8(%sp):u8[2]",
    "p:step steps:step+0x7 i=%di:u8",
    "p steps:step",
    "p:g/step steps:step i=%di",
    "r:step steps:step",
    "r:step steps:step v=$retval:s32",
    "r4:step steps:step i=$arg1:s64",
    "p:step steps:step i=$arg1",
    "p:step steps:step \\0x7 i=\\42:u8",
    "p:step steps:no_such_function",
    "p:step steps:step i=%zz",
    "p:step no_such_library:step",
    "p:step 0x10",
]
FILTERS = ["i == 5", "i > 90 || i < 3", "!(i & 1) && i < 10", "i == 5 && common_pid != 0", 'COMM == "steps"', 'COMM ~ "st*"', "CPU >= 0 && i == 7",
           "i >= 0x60", "i != 5 && i < 8", "nobody == 1", "i ==", 'i == "text"', "common_pid == 0", "i < -1", "i == 18446744073709551615"]
TRIGGERS = ["traceoff if i == 50", "traceoff:1 if i == 10", "stacktrace:2 if i > 96", "disable_event:kprobes:other:1 if i == 10", "traceoff if nobody == 1", "snapshot:1 if i == 3", "nothing",
            "hist:keys=i if i < 5", "hist:keys=i.log2:vals=hitcount", "hist:keys=common_pid.execname", "hist:keys=nobody"]
FORMATS = ["dat", "dat7", "txt", "trace", "json", "csv", "pftrace", "chrome.json", "ctf", "folded", "svg", "perf"]
GO = 'printf "0 100 1\\n" | '


def runs():
    run = GO + "kevtrace run -e '%s' %s -- steps"
    for definition in DEFINITIONS:
        yield f"run: {definition}", Shell(run % (definition, ""))
    for text in FILTERS:
        yield f"run, filter: {text}", Shell(run % (DEFINITIONS[0], f"--filter 'step: {text}'"))
    both = GO + "kevtrace run -e 'p:step steps:step i=%%di:s64' -e 'p:other steps:other i=%%di:s64' %s -- steps"
    for words in ["", "-c 5", "-q", "--fail-on lost", "--fail-on missed", "--buffer 64", "--follow-forks", "--hold", "-f json", "-f csv", "-f nothing", "--stack",
                  "--filter 'step: i < 3' --filter 'other: i > 97'", "--filter 'nobody: i < 3'", "--filter 'i < 3'", "-d 0", "-d 20", "--max-bytes 4K -o o.dat",
                  "--max-bytes 1 -o o.dat", "--overwrite -o o.dat", "--overwrite", "--runtime nothing", "--keep-going -e 'p:bad steps:nothing'", "-o /no/such/folder/o.dat",
                  "-o o.odd", "-o .", "--escape always", "--color always -e 'p:bad steps:nothing'", "--diagnostics kernel -e 'p:bad steps:step %%zz'",
                  "--diagnostics json -e 'p:bad steps:step %%zz'", "--diagnostics sarif -e 'p:bad steps:step %%zz'", "--no-jumps", "--enable sched:sched_switch"]:
        yield f"run, two events: {words}", Shell(both % words)
    for ending in FORMATS:
        if ending != "ctf":
            yield f"run -o: {ending}", Shell(both % f"-o o.{ending}")
        yield f"convert: {ending}", Shell(both % "-q -o o.dat" + f"; kevtrace convert o.dat -o c.{ending}")
    read = both % "-q -o o.dat" + "; "
    for command in ["report o.dat", "report -f json o.dat", "report -f csv o.dat", "report --filter 'i == 5' o.dat", "report --filter 'step: i == 5' o.dat", "report --filter 'i ==' o.dat",
                    "report --ts relative o.dat", "report --ts delta -c 3 o.dat", "report nothing.dat", "report /etc/passwd", "stat o.dat", "stat -f json o.dat", "diff o.dat o.dat",
                    "hist o.dat i", "hist step.i o.dat", "lat step other o.dat", "report -c 5 o.dat", "report --columns event,i o.dat", "report --columns nothing o.dat", "report --nothing o.dat"]:
        yield f"recording: {command}", Shell(read + "kevtrace " + command)
    for status in ["true", "false", "exit 7", "kill -9 $$", "kill -15 $$", "echo out; echo err >&2"]:
        yield f"run, status: {status}", Shell(f"kevtrace run -q -e 'p:o libc:open64' -o /dev/null -- sh -c '{status}'")
    for question in ["count", "top -n 1", "stream", "stream -f json", "hist step.i", "hist step.nobody", "hist other.i -f json", "lat step other", "lat step nobody", "lat step"]:
        verb, *rest = question.split()
        yield f"question: {question}", Shell(GO + f"kevtrace {verb} {' '.join(rest)} -e 'p:step steps:step i=%di:s64' -e 'p:other steps:other i=%di:s64' -- steps")
    for words in ["-- /no/such/program", "-- /etc/passwd", "--pid 0", "--pid 1x", "--pid 999999999", ""]:
        yield f"run, target: {words}", Shell(f"kevtrace run -e 'p:o libc:open64' {words}")


SCRIPTS = {
    "one event": "p:step steps:step i=%di:s64\n",
    "a filter": "p:step steps:step i=%di:s64\n  filter i == 5\n",
    "two filters": "p:step steps:step i=%di:s64\n  filter i == 5\np:other steps:other i=%di:s64\n  filter i > 97\n",
    "comments": "# a comment\n\np:step steps:step i=%di:s64  # another\n  filter i == 5\n",
    "options": "option buffer 64\noption follow-forks 1\np:step steps:step\n",
    "an odd option": "option nothing 1\np:step steps:step\n",
    "a mistake": "p:step steps:step i=%zz\np:other steps:nothing\n",
    "two mistakes in a line": "p:step steps:step i=%zz j=%yy\n",
    "a filter of nobody": "  filter i == 5\n",
    "twice": "p:step steps:step\np:step steps:other\n",
    "removed": "p:step steps:step\np:other steps:other\n-:step\n",
    "an odd word": "nothing\n",
    "empty": "",
    "a NUL": "p:step steps:step\0\n",
    "inject": "p:step steps:step i=%di:s64\n  inject return 0 if i == 5\n",
}


def scripts():
    for name, text in SCRIPTS.items():
        octal = "".join(f"\\{byte:03o}" for byte in text.encode())
        write = f"printf '{octal}' > s.kev; "
        yield f"script, run: {name}", Shell(write + GO + "kevtrace run -p s.kev -- steps")
        yield f"script, check: {name}", Shell(write + "kevtrace check s.kev -- steps < /dev/null")
        yield f"script, fmt: {name}", Shell(write + "kevtrace fmt s.kev")
    for path in sorted(glob.glob(os.path.join(ROOT, "examples/*.kev"))):
        yield f"example, check: {os.path.basename(path)}", Shell(f"kevtrace check {path}")
        yield f"example, fmt: {os.path.basename(path)}", Shell(f"kevtrace fmt {path}")


STEP, OTHER = "p:step steps:step i=%di:s64", "p:other steps:other i=%di:s64"
ON = f"dynamic_events << {STEP}\ndynamic_events << {OTHER}\nevents/kprobes/enable < 1\n"
SESSIONS = {
    "files": "README\navailable_tracers\ncurrent_tracer\ntracing_on\ntrace_clock\nbuffer_size_kb\nsaved_cmdlines_size\nset_event\nset_event_pid\nkprobe_events\nuprobe_events\n"
             "dynamic_events\nkprobe_profile\nerror_log\ntrace\noptions/overwrite\ntrace_options\nper_cpu/cpu0/stats\nevents/header_page\nevents/header_event\n",
    "an event": ON + "hit 0 5 1\ntrace\nkprobe_profile\nevents/kprobes/step/format\nevents/kprobes/step/id\nevents/kprobes/step/enable\nevents/kprobes/step/filter\nset_event\n",
    "switched off and on": ON + "hit 0 3 1\nevents/kprobes/step/enable < 0\nhit 3 6 1\nevents/kprobes/step/enable < 1\nhit 6 9 1\ntrace\nkprobe_profile\n",
    "tracing_on": ON + "tracing_on < 0\nhit 0 3 1\ntracing_on < 1\nhit 3 6 1\ntrace\ntracing_on\n",
    "cleared": ON + "hit 0 3 1\ntrace < \nhit 3 6 1\ntrace\n",
    "removed": ON + "hit 0 3 1\nevents/kprobes/enable < 0\ndynamic_events << -:step\ndynamic_events\nhit 3 6 1\ntrace\n",
    "removed while on": ON + "dynamic_events << -:step\ndynamic_events < \ndynamic_events\n",
    "by set_event": f"dynamic_events << {STEP}\nset_event < kprobes:step\nset_event\nhit 0 3 1\nset_event << !kprobes:step\nset_event\nhit 3 6 1\ntrace\nset_event < nothing:here\n",
    "set_event_pid": ON + "set_event_pid < 1\nhit 0 3 1\nset_event_pid < \nhit 3 6 1\ntrace\nset_event_pid < x\nerror_log\n",
    "trace_pipe": ON + "hit 0 3 1\nper_cpu/cpu0/trace\nbuffer_total_size_kb\n",
    "marker": ON + "trace_marker < hello\ntrace\n",
    "stacks": ON + "options/stacktrace < 1\nhit 0 1 1\noptions/stacktrace\n",
    "clock": ON + "trace_clock < mono\ntrace_clock\ntrace_clock < nothing\n",
    "size": ON + "buffer_size_kb < 64\nbuffer_size_kb\nhit 0 5000 1\nbuffer_size_kb < 0\nbuffer_size_kb < x\n",
    "instance": ON + "mkdir instances/a\ninstances/a/events/kprobes/step/enable < 1\nhit 0 3 1\ninstances/a/trace\ninstances/a/events/kprobes/step/enable < 0\nrmdir instances/a\n",
    "snapshot": ON + "hit 0 3 1\nsnapshot < 1\nhit 3 6 1\nsnapshot\n",
    "return": "dynamic_events << r:back steps:step v=$retval\nevents/kprobes/back/enable < 1\nhit 0 3 1\ntrace\ndynamic_events\n",
    "saved": ON + "hit 0 3 1\nsaved_tgids\nsaved_cmdlines_size < 5\n",
    "threads": ON + "events/kprobes/other/enable < 0\nhit 0 10 4\nkprobe_profile\n",
    "child": ON + "hit 0 0 -1\nhit 0 5 0\nkprobe_profile\n",
    "options": "trace_options < nooverwrite\noptions/overwrite\noptions/overwrite < 1\ntrace_options < nothing\noptions/nothing < 1\ntrace_options\n",
}


def sessions():
    for name, text in SESSIONS.items():
        yield f"mount: {name}", Session(text)
    for definition in DEFINITIONS:
        yield f"mount, define: {definition}", Session(f"dynamic_events << {definition}\nkprobe_events << {definition}\ndynamic_events\nerror_log\nset_event < *:*\nhit 0 3 1\ntrace\nkprobe_profile\n")
    for text in FILTERS:
        yield f"mount, filter: {text}", Session(ON + f"events/kprobes/step/filter < {text}\nevents/kprobes/step/filter\nhit 0 100 1\ntrace\nevents/kprobes/step/filter < 0\nevents/kprobes/step/filter\n")
    for text in TRIGGERS:
        yield f"mount, trigger: {text}", Session(ON + f"events/kprobes/step/trigger < {text}\nevents/kprobes/step/trigger\nhit 0 100 1\ntracing_on\nkprobe_profile\n"
                                                 f"events/kprobes/step/hist\nevents/kprobes/step/trigger < !{re.split(' if ', text)[0]}\nevents/kprobes/step/trigger\nerror_log\n")


def all_cases():
    return [*golden_commands(), *runs(), *scripts(), *sessions()]
