#!/usr/bin/python3
"""How long from `kevtrace run` to the main of a program with 300 MB of debug information, with one event.

    large_start.py --kevtrace PROGRAM --folder F [--times N]

The program is made in the folder, once (largeprogram.py): 85 units of 1,000 functions and 1,000 structures of 90 members.
`cold` is a run with an empty cache (XDG_CACHE_HOME), `warm` one behind it; the pages of the files are in memory in both.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "process"))
import largeprogram

UNITS, FUNCTIONS, MEMBERS = 85, 1000, 90
GOAL_WARM_MS, GOAL_COLD_MS = 150, 1500

EVENTS = (
    ("function, register", "p:ev unit002_work_500 count=%si:s32"),
    ("PATH:FUNCTION", "p:ev {program}:unit002_work_500 count=%si:s32"),
    ("parameter by name", "p:ev unit002_work_500 count"),
    ("member", "p:ev unit002_work_500 thing->unit002_field_500_7"),
    ("line, variable", "p:ev {program}:unit002.c:{line} sum"),
)


def to_main_ms(command, cache):
    start = time.monotonic_ns()
    done = subprocess.run([*command, str(start)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env={**os.environ, "XDG_CACHE_HOME": cache})
    lines = [line for line in done.stdout.splitlines() if line.startswith("startup_ms ")]
    if not lines or "lost 0 + missed 0" not in done.stderr:
        sys.exit(f"large_start: {' '.join(command)}: {done.stdout}{done.stderr}")
    return float(lines[0].split()[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kevtrace", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--times", type=int, default=9)
    options = parser.parse_args()
    folder = os.path.abspath(options.folder)
    program = largeprogram.make(folder, UNITS, FUNCTIONS, MEMBERS)
    size = int(subprocess.run(["sh", "-c", f"size -A {program} | awk '/^\\.debug/ {{ n += $2 }} END {{ print n }}'"], capture_output=True, text=True, check=True).stdout)
    print(f"{size / 1e6:.0f} MB of debug information, {UNITS * FUNCTIONS:,} functions; goals {GOAL_WARM_MS} ms warm, {GOAL_COLD_MS} ms cold")
    print(f"{'':20} {'cold':>8} {'warm':>8} {'least':>8} {'most':>8}   ms to main, medians of {options.times}")
    alone = [to_main_alone(program) for _ in range(options.times)]
    print(f"{'the program alone':20} {'':8} {statistics.median(alone):8.1f} {min(alone):8.1f} {max(alone):8.1f}")
    for name, definition in EVENTS:
        command = [options.kevtrace, "run", "-o", "/dev/null", "-e", definition.format(program=program, line=largeprogram.line_of_sum()), "--", program]
        cold, warm = [], []
        for _ in range(options.times):
            cache = tempfile.mkdtemp(dir=folder)
            cold.append(to_main_ms(command, cache))
            warm.append(to_main_ms(command, cache))
            shutil.rmtree(cache)
        print(f"{name:20} {statistics.median(cold):8.1f} {statistics.median(warm):8.1f} {min(warm):8.1f} {max(warm):8.1f}", flush=True)


def to_main_alone(program):
    start = time.monotonic_ns()
    return float(subprocess.run([program, str(start)], capture_output=True, text=True, check=False).stdout.split()[1])


if __name__ == "__main__":
    main()
