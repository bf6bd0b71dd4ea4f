#!/usr/bin/env python3
"""What an exec costs under `--follow-forks`, with 1 and with up to 2,200 definitions of libc's functions.

    follow_costs.py --kevtrace PROGRAM [--execs N]

A shell starts /bin/true N times and 2 N times; the difference is N execs after the first, without what beginning and ending cost.
CPU is what kevtrace and the programs used together. Goal: 60 ms with all of them (by CPU seconds).
"""
import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "process"))
GOAL_MS = 60


def seconds_of(words):
    """(by the clock, by the CPU)"""
    def used():
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return spent.ru_utime + spent.ru_stime
    before, began = used(), time.monotonic()
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{words}: status {done.returncode}\n{done.stderr[-2000:]}")
    return time.monotonic() - began, used() - before


def exec_ms(front, execs):
    """Of one exec more, beside `execs` others: the best of three."""
    best = None
    for _ in range(3):
        few, many = (seconds_of([*front, "/bin/sh", "-c", f"i=0; while [ $i -lt {n} ]; do /bin/true; i=$((i+1)); done"])
                     for n in (execs, 2 * execs))
        cost = [(b - a) * 1000 / execs for a, b in zip(few, many)]
        best = min(best or cost, cost, key=lambda c: c[1])
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kevtrace", required=True)
    parser.add_argument("--execs", type=int, default=10)
    options = parser.parse_args()
    os.environ["KEVTRACE"] = options.kevtrace
    from libraries import exported_functions  # asks KEVTRACE
    functions = exported_functions("libc.so.6")[:2200]
    print(f"  {'definitions':>12} {'ms by the clock':>16} {'ms by the CPU':>14}")
    clock, cpu = exec_ms([], options.execs)
    print(f"  {'untraced':>12} {clock:>16.2f} {cpu:>14.2f}")
    with tempfile.TemporaryDirectory(prefix="kevt-follow-") as folder:
        for count in (1, len(functions)):
            events = os.path.join(folder, "events")
            with open(events, "w", encoding="utf-8") as file:
                file.writelines(f"p:f{i} {name}\n" for i, name in enumerate(functions[-count:]))
            front = [options.kevtrace, "run", "-q", "--keep-going", "--follow-forks", "-o", os.path.join(folder, "trace.dat"),
                     "-p", events, "--"]
            clock, cpu = exec_ms(front, options.execs)
            verdict = "" if count == 1 else f"  goal <= {GOAL_MS} {'holds' if cpu <= GOAL_MS else 'MISSED'}"
            print(f"  {count:>12} {clock:>16.1f} {cpu:>14.1f}{verdict}")


if __name__ == "__main__":
    main()
