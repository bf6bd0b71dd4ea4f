#!/usr/bin/python3
"""The campaign of foreign programs: each is run as it is, and with every exported function of libc probed.

Three parts: the cases of foreign/ (c), modules of Python's own tests (python), stressors of stress-ng (stress). What is
compared: standard output, the status or the signal that ended it, and the files it leaves (c), the result of each test
(python), the status (stress). A program that differs from itself untraced is named and not compared. In each recording
hits = recorded + filtered + lost + missed must hold of each event. `scripts/soak` builds what is needed and calls this.
"""
import argparse
import collections
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "process"))

from foreign_programs import DIFFERENCES, MODULES, PYTHON, STRESS, STRESSORS, python_command, stress_command  # noqa: E402
from kevtest import KEVTRACE  # noqa: E402
from libraries import exported_functions, refusals  # noqa: E402

MANNERS = {"entry": "p", "return": "r", "both": "pr"}
FOREIGN = os.environ.get("KEVT_FOREIGN", "")
SECONDS = {"c": 60, "python": 900, "stress": 300}

Program = collections.namedtuple("Program", "part name command_in outcome_of")
Ended = collections.namedtuple("Ended", "status out err seconds")  # status: of a shell; "time" when it had to be ended


def say(text):
    print(f"campaign: {text}", flush=True)


# ---- what a run gives --------------------------------------------------------------------------

def files_in(folder):
    left = []
    for path, folders, names in os.walk(folder):
        for name in folders + names:
            file = os.path.join(path, name)
            content = open(file, "rb").read() if os.path.isfile(file) and not os.path.islink(file) else b""
            left.append(f"{os.path.relpath(file, folder)} {hashlib.md5(content).hexdigest()}")
    return sorted(left)


def outcome_c(ended, folder):
    return [f"status {ended.status}", *ended.out.decode(errors="replace").splitlines(), *("file " + f for f in files_in(folder))]


def outcome_python(ended, folder):
    """The status and each test's result; a subtest that fails has a line of its own."""
    results = [f"status {ended.status}"]
    try:
        cases = xml.etree.ElementTree.parse(os.path.join(folder, "results.xml")).iter("testcase")
    except (FileNotFoundError, xml.etree.ElementTree.ParseError) as error:
        return [*results, f"no results: {type(error).__name__}"]
    tests = []
    for case in cases:
        verdicts = sorted(child.tag for child in case if child.tag in ("failure", "error", "skipped"))
        tests.append(f"{case.get('classname', '')}.{case.get('name')}: {' '.join(verdicts) or 'ok'}")
    return results + sorted(tests)


def outcome_stress(ended, folder):
    del folder
    failures = [line for line in ended.err.decode(errors="replace").splitlines() if " fail: " in line]
    return [f"status {ended.status}", *(re.sub(r"\[\d+\]", "[pid]", line) for line in failures)]


def programs_of(part):
    if part == "c":
        listed = subprocess.run([FOREIGN, "--list"], check=True, capture_output=True, text=True).stdout.split()
        return [Program(part, name, lambda folder, name=name: [FOREIGN, name], outcome_c) for name in listed]
    if part == "python":
        return [Program(part, name, lambda folder, name=name: python_command(name, folder), outcome_python) for name in MODULES]
    return [Program(part, name, lambda folder, name=name: stress_command(name, folder), outcome_stress) for name in STRESSORS]


def run(words, folder, limit):
    """Runs it in `folder`, in a session of its own; what is left of its group when it has ended is ended, too."""
    environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": folder, "TMPDIR": folder, "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}
    began = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with subprocess.Popen(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                              start_new_session=True) as child:
            try:
                status = child.wait(limit)
                status = status if status >= 0 else 128 - status
            except subprocess.TimeoutExpired:
                status = "time"
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        seconds = time.monotonic() - began
        out.seek(0), err.seek(0)
        return Ended(status, out.read(), err.read(), seconds)


# ---- the campaign ------------------------------------------------------------------------------

class Campaign:
    def __init__(self, options, seed, folder):
        self.options, self.seed, self.folder = options, seed, folder
        self.definitions = {}
        self.sums = {part: collections.Counter() for part in SECONDS}
        self.notes = []
        self.count = 0

    def fresh_folder(self):
        self.count += 1
        path = os.path.join(self.folder, f"run{self.count}")
        os.mkdir(path)
        return path

    def limit(self, part):
        return self.options.timeout or SECONDS[part]

    def events_of(self, manner):
        """The file of definitions, without those that are refused in any program."""
        if manner not in self.definitions:
            functions = exported_functions("libc.so.6")
            lines = [f"{kind}:{kind}{i} {place}" for i, place in enumerate(functions) for kind in MANNERS[manner]]
            path = os.path.join(self.folder, f"{manner}.events")
            for _ in range(3):
                with open(path, "w", encoding="utf-8") as file:
                    file.write("\n".join(lines) + "\n")
                tried = run([KEVTRACE, "run", "-q", "--follow-forks", "-o", "/dev/null", "-p", path, "--", "/bin/true"], self.folder, 60)
                refused = refusals(lines, tried.err)
                if not refused:
                    break
                lines = [line for i, line in enumerate(lines) if i not in refused]
            say(f"{manner}: {len(lines)} probes on {len(functions)} functions of libc")
            self.definitions[manner] = path
        return self.definitions[manner]

    def untraced(self, program):
        """The result of two runs that are equal, or None."""
        results = []
        for _ in range(2):
            folder = self.fresh_folder()
            ended = run(program.command_in(folder), folder, self.limit(program.part))
            self.sums[program.part]["untraced"] += ended.seconds
            if ended.status == "time":
                self.sums[program.part]["skipped"] += 1
                self.notes.append(f"{program.part} {program.name}: skipped: longer than {self.limit(program.part)} s untraced")
                return None
            results.append([line.replace(folder, "FOLDER") for line in program.outcome_of(ended, folder)])
        if results[0] == results[1]:
            return results[0]
        self.sums[program.part]["unstable"] += 1
        self.notes.append(f"{program.part} {program.name}: unstable untraced: {self.differing(*results)}")
        return None

    def traced(self, program, manner):
        folder, recording = self.fresh_folder(), os.path.join(self.folder, "trace.dat")
        words = [KEVTRACE, "run", "-q", "--keep-going", "--follow-forks", "-o", recording, "-p", self.events_of(manner), "--"]
        ended = run(words + program.command_in(folder), folder, self.limit(program.part))
        sums = self.sums[program.part]
        print(f"campaign: {program.part} {program.name}, {manner}: {ended.seconds:.1f} s", file=sys.stderr, flush=True)
        sums["traced"] += ended.seconds
        sums["runs"] += 1
        result = [line.replace(folder, "FOLDER") for line in program.outcome_of(ended, folder)]
        wrong = self.accounts(recording, sums)
        return result, wrong, ended

    @staticmethod
    def accounts(recording, sums):
        """Adds the totals up; what is wrong with them."""
        try:
            counted = subprocess.run([KEVTRACE, "count", "-f", "json", "-i", recording], capture_output=True, check=False)
            size = os.path.getsize(recording)
            os.unlink(recording)
        except FileNotFoundError:
            return ["there is no recording"]
        if counted.returncode != 0:
            return [f"the recording ({size} bytes) cannot be read: {counted.stderr[-300:]!r}"]
        wrong = []
        events = json.loads(counted.stdout)["events"]
        if any("hits" not in event for event in events):
            return ["the recording has no totals"]
        for event in events:
            for part in ("hits", "recorded", "lost", "missed"):
                sums[part] += event[part]
            if event["hits"] != event["recorded"] + event.get("aggregated", 0) + event["filtered"] + event["lost"] + event["missed"]:
                wrong.append(f"the account does not add up: {event}")
        return wrong

    @staticmethod
    def differing(expected, came):
        """Lines that only one of them has."""
        less, more = collections.Counter(expected), collections.Counter(came)
        lines = [f"expected `{line}`" for line in (less - more).elements()] + [f"came `{line}`" for line in (more - less).elements()]
        more_lines = f"; and {len(lines) - 8} lines more" if len(lines) > 8 else ""
        return "; ".join(lines[:8]) + more_lines or "another order of lines"

    def one(self, program):
        sums = self.sums[program.part]
        sums["programs"] += 1
        expected = self.untraced(program)
        if expected is None:
            return
        for manner in self.options.manner or MANNERS:
            came, wrong, ended = self.traced(program, manner)
            if came == expected and not wrong:
                sums["same"] += 1
                continue
            inherent = DIFFERENCES.get((program.part, program.name)) if not wrong and ended.status != "time" else None
            sums["inherent" if inherent else "different"] += 1
            if ended.status == "time":
                wrong = [f"it did not end in {self.limit(program.part)} s"]
            elif came != expected:
                wrong = [self.differing(expected, came), *wrong]
            what = "; ".join(wrong)
            again = f"KEVT_SEED={self.seed} tests/soak/campaign.py --part {program.part} --only {program.name} --manner {manner}"
            say(f"{'inherent' if inherent else 'DIFFERS'}: {program.part} {program.name}, {manner}: {what} (seed {self.seed}; {again})")
            if inherent:
                self.notes.append(f"{program.part} {program.name}: {inherent}")
            elif ended.err:
                say(f"  standard error ends with {ended.err[-500:]!r}")

    def table(self):
        columns = ["programs", "runs", "same", "different", "inherent", "unstable", "skipped", "hits", "missed", "lost", "untraced", "traced"]
        print("  " + f"{'part':7}" + "".join(f"{name:>{12 if name == 'hits' else 10}}" for name in columns) + "   (seconds)")
        for part in self.options.part or SECONDS:
            sums = self.sums[part]
            print("  " + f"{part:7}" + "".join(f"{round(sums[name]):>{12 if name == 'hits' else 10}}" for name in columns))
        for note in sorted(set(self.notes)):
            print(f"  {note}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", action="append", choices=list(SECONDS), default=[], help="only this one; again for more")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only the program of this name; again for more")
    parser.add_argument("--manner", action="append", choices=list(MANNERS), default=[], help="only these probes (default: each)")
    parser.add_argument("--timeout", type=float, default=0, metavar="SECONDS", help=f"of a run (default: {SECONDS})")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many of each part, chosen by KEVT_SEED")
    return parser.parse_args()


def main():
    options = arguments()
    seed = int(os.environ.get("KEVT_SEED") or random.SystemRandom().getrandbits(32))
    say(f"KEVT_SEED={seed}")
    with tempfile.TemporaryDirectory(prefix="kevt-campaign-") as folder:
        campaign = Campaign(options, seed, folder)
        for part in options.part or SECONDS:
            needed = {"c": FOREIGN, "python": PYTHON, "stress": STRESS}[part]
            if not os.access(needed, os.X_OK):
                say(f"{part}: left out: `{needed}` is not there")
                campaign.sums[part]["skipped"] += 1
                continue
            programs = [program for program in programs_of(part) if not options.only or program.name in options.only]
            if options.sample:
                programs = random.Random(f"{seed} {part}").sample(programs, min(options.sample, len(programs)))
            for program in programs:
                campaign.one(program)
        campaign.table()
    sys.exit(1 if any(sums["different"] for sums in campaign.sums.values()) else 0)


if __name__ == "__main__":
    main()
