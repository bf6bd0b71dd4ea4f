#!/usr/bin/python3
"""Runs kevt_bench under kevtrace, beside LTTng-UST and kernel uprobes, and reports ratios.

Every run measures all contestants interleaved in one process; a ratio is taken within a run, and the median of
the ratios is what counts. `scripts/bench` builds the programs and calls this. As root it works in a mount namespace of
its own, so that the LTTng session daemon and the tracefs mount are private; without that it says what it leaves out.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import contestants
import batches
import instructions
import report
import startup

PROBES = [
    ("accepted", "p:accepted work_accepted a=%di:s32 b=%si:s64 s=+0(%dx):string d=%cx:s64", "a >= 0 && b != -5"),
    ("rejected", "p:rejected work_rejected a=%di:s32 b=%si:s64 s=+0(%dx):string d=%cx:s64", "a < 0 && b != -5"),
    ("counted", "p:counted work_counted b=%si:s64 s=%dx:u64", "hist:keys=s"),  # one key of 8 bytes, always the same
    ("measured", "p:measured work_measured b=%si:s64 s=%dx:u64", "hist:keys=b.log2:vals=b"),
    ("loglinear", "p:loglinear work_loglinear b=%si:s64 s=%dx:u64", "hist:keys=b.loglinear"),
    ("extremes", "p:extremes work_extremes b=%si:s64 s=%dx:u64", "hist:keys=s:vals=b.min,b.max"),
    ("named", "p:named work_named s=+0(%dx):string", "hist:keys=s"),  # 15 letters and the NUL
    ("stacked", "p:stacked work_stacked a=%di:s32", "hist:keys=stacktrace"),  # 20 frames
    ("entry", "p:entry work_entry a=%di:s32", None),
    ("return", "r:return work_return ret=$retval:s64", None),
    ("text", "p:text work_text s=+0(%dx):string", None),
    ("object", "p:object work_object s=+0(+0(%dx)):string", None),  # what a std::string & is, by its name
    ("integer", "p:integer work_integer b=%si:s64", None),
    ("floating", "p:floating work_floating x=%xmm0:f64", None),
    ("int3", "p:int3 work_int3 a=%di:s32 b=%si:s64 s=+0(%dx):string d=%cx:s64", "a >= 0 && b != -5"),
]
NAMESPACE_MARK = "KEVT_BENCH_NAMESPACE"


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./kev bench", description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--kevtrace", default="", help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, default=7, help="how many runs (default 7)")
    parser.add_argument("--rounds", type=int, default=51, help="interleaved rounds per run (default 51)")
    parser.add_argument("--pause", type=float, default=30, help="ms after a recording slice, for the reader to empty the rings")
    parser.add_argument("--burst", type=int, default=20000, help="most records in one slice")
    parser.add_argument("--chain", action="store_true", help="each call waits for the last one's result")
    parser.add_argument("--run-option", action="append", default=[], help="one more option for `kevtrace run`")
    parser.add_argument("--without", action="append", default=[], choices=["lttng", "kernel", "kevtrace", "instructions"])
    parser.add_argument("--json", default="", help="write the figures here")
    return parser.parse_args()


def enter_namespace():
    """A private mount namespace, where it is allowed: needed for LTTng as root and for tracefs."""
    if os.environ.get(NAMESPACE_MARK) or os.geteuid() != 0:
        return
    test = subprocess.run(["unshare", "-m", "true"], capture_output=True)
    if test.returncode != 0:
        return
    os.environ[NAMESPACE_MARK] = "1"
    os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, *sys.argv])


def kevtrace_command(options):
    command = [options.kevtrace, "run", "-o", "/dev/null", *options.run_option]
    for event, definition, condition in PROBES:
        command += ["-e", definition]
        if condition and condition.startswith("hist:"):
            command += ["--hist", f"{event}:{condition.removeprefix('hist:')}"]
        elif condition:
            command += ["--filter", f"{event}: {condition}"]
    return command + ["--"]


def accounting(text):
    """{event: {hits, recorded, aggregated, filtered, lost, missed}} from kevtrace's closing lines."""
    pattern = (
        r"^\s*(?:\S+[/:])?(\w+)\s*:\s*hits (\d+) = recorded (\d+)(?: \+ aggregated (\d+))? \+ filtered (\d+) \+ lost (\d+) \+ missed (\d+)"
    )
    names = ("hits", "recorded", "aggregated", "filtered", "lost", "missed")
    return {m[1]: dict(zip(names, (int(n or 0) for n in m.groups()[1:]))) for m in re.finditer(pattern, text, re.M)}


def one_run(options, scratch, active, cpu):
    figures = os.path.join(scratch, "figures.json")
    program = [options.program, "--json", figures, "--rounds", str(options.rounds), "--burst", str(options.burst)]
    program += ["--cpu", str(cpu)]
    if options.chain:
        program.append("--chain")
    if active["kernel"]:
        program.append("--kernel")
    command = program
    if active["kevtrace"]:
        command = kevtrace_command(options) + program + ["--pause", str(options.pause)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"bench: `{' '.join(command)}` exited with {done.returncode}:\n{done.stdout[-4000:]}")
    with open(figures, encoding="utf-8") as file:
        result = json.load(file)
    result["accounting"] = accounting(done.stdout)
    return result


def last_cpu():
    return max(os.sched_getaffinity(0))


def main():
    options = parse_arguments()
    enter_namespace()
    with tempfile.TemporaryDirectory(prefix="kevt-bench-") as scratch:
        lttng = contestants.Lttng(scratch, "lttng" in options.without)
        kernel = contestants.KernelUprobes(scratch, options.program, "kernel" in options.without)
        active = {"kevtrace": bool(options.kevtrace) and "kevtrace" not in options.without}
        with lttng, kernel:
            for contestant in (lttng, kernel):
                active[contestant.name] = contestant.is_on
                if not contestant.is_on:
                    say(f"{contestant.name}: left out: {contestant.reason}")
            if not active["kevtrace"]:
                say("kevtrace: left out; its twins are measured unprobed and should read 0")
            runs = []
            for number in range(options.runs):
                say(f"run {number + 1} of {options.runs}")
                runs.append(one_run(options, scratch, active, last_cpu()))
            kernel_hits = kernel.hits()
            lttng_sample = lttng.sample()
    counts = {} if "instructions" in options.without else instructions.per_hit(options.program)
    if active["kevtrace"] and "instructions" not in options.without:
        counts |= instructions.per_kevtrace_hit(options.program, PROBES)
    summary = report.summarize(runs, active, counts)
    summary["checks"] = report.check_counts(runs, active, kernel_hits, lttng_sample)
    summary["startup"] = startup.measure(options.program, options.kevtrace if active["kevtrace"] else "", PROBES[0][1])
    summary["pair"] = batches.pair(options.program, options.kevtrace if active["kevtrace"] else "", PROBES[0], options.pause)
    many = batches.measure(options.program) if active["kevtrace"] else {}
    summary["batches"] = many
    report.print_table(summary)
    summary["batches"] = {f"{count} {kind}": steps for (count, kind), steps in many.items()}
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"v": 1, "summary": summary, "runs": runs}, file, indent=1)
        say(f"wrote {options.json}")
    if summary["checks"] or not summary["valid_runs"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
