#!/usr/bin/env python3
"""What recordings cost: written while a program hits, printed, filtered; beside trace-cmd on the same file.

    recordings.py --kevtrace PROGRAM [--events N] [--rate R] [--folder DIR]

Times are CPU seconds of the reading process (a loaded machine does not change them much); recording is a matter of the clock, and
needs two cores to itself. Gates: no loss at 3 million events/s, report 1.5, report -F 5 million/s, 3 times trace-cmd.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EVENT = "p:w paced_work a=%di:s32 b=%si:s64 c=%dx:u32 d=%cx:s64"


def cpu_seconds(command):
    """CPU seconds and largest memory (MiB) of a command whose output goes nowhere."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        child = subprocess.Popen(command, stdout=nowhere, stderr=nowhere)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command}: status {child.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kevtrace", required=True)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--rate", type=float, default=3.2e6)
    parser.add_argument("--folder", help="where the recording is written")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kevt-bench-", dir=options.folder) as folder:
        paced, path = os.path.join(folder, "paced"), os.path.join(folder, "r.dat")
        subprocess.run(["gcc", "-O2", "-o", paced, os.path.join(HERE, "paced.c")], check=True)
        run = subprocess.run([options.kevtrace, "run", "--buffer", "131072", "-o", path, "-e", EVENT, "--", paced,
                              str(options.events), str(options.rate)], capture_output=True, text=True)
        counts = re.search(r"recorded (\d+) \+ filtered \d+ \+ lost (\d+)", run.stderr)
        if run.returncode != 0 or not counts:
            sys.exit(run.stderr)
        recorded, lost = int(counts[1]), int(counts[2])
        print(f"program: {run.stdout.strip()}")
        print(f"recorded {recorded}, lost {lost}, {os.path.getsize(path) >> 20} MiB")
        report, memory = cpu_seconds([options.kevtrace, "report", path])
        print(f"report      {recorded / report / 1e6:6.2f} million events/s, {memory:.0f} MiB")
        scan, memory = cpu_seconds([options.kevtrace, "report", path, "-F", "w: c == 77 && a > 5"])
        print(f"report -F   {recorded / scan / 1e6:6.2f} million events/s, {memory:.0f} MiB")
        failed = [name for name, bad in {"loss": lost > 0, "report": recorded / report < 1.5e6,
                                         "report -F": recorded / scan < 5e6, "memory": memory > 200}.items() if bad]
        if shutil.which("trace-cmd"):
            theirs, _ = cpu_seconds(["trace-cmd", "report", path])
            print(f"trace-cmd   {recorded / theirs / 1e6:6.2f} million events/s; report is {theirs / report:.1f} times as fast")
            failed += ["trace-cmd"] if theirs / report < 3 else []
        ways = os.path.join(folder, "page_paths")
        subprocess.run(["gcc", "-O2", "-o", ways, os.path.join(HERE, "page_paths.c")], check=True)
        print("ways of a page into a file (docs/adr/0018):")
        print(subprocess.run([ways, os.path.join(folder, "pages"), "16384"], capture_output=True, text=True, check=True).stdout, end="")
        if failed:
            print("below its gate: " + ", ".join(failed))
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
