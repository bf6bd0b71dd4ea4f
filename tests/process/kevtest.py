"""What the process tests share: run a program with and without probes, read the trace, add it up.

    traced = run(["ls"], "p:st libc:statx path=+0(%si):string")
    traced.records("st")[0]["path"]       # b"..." for strings, int for numbers, list for arrays

Every run() checks the accounting: hits = recorded + filtered + lost + missed for each event that only records, and
one trace line for each recorded hit. Needs KEVTRACE (the program) in the environment.
"""
import os
import re
import subprocess
import tempfile
import unittest

KEVTRACE = os.environ["KEVTRACE"]
PROGRAMS = os.environ.get("KEVT_PROGRAMS", "")
PYTHON3 = os.path.basename(os.path.realpath("/usr/bin/python3"))  # "python3.11": the file that its processes map
FAULT = "(fault)"
TIMEOUT_S = 120

_HEAD = rb"^ *(.{1,15})-(\d+) +\[(\d+)\] \S+ +(\d+\.\d{6}): (\w+): \((.*?)\)"
_START = re.compile(_HEAD, re.MULTILINE)
_LINE = re.compile(_HEAD + rb"(?: (.*))?$", re.DOTALL)
_ITEM = rb'"[^"]*"|\(fault\)|[^",{}\s]+'
_VALUE = re.compile(rb'(\w+)=(".*?"(?= \w+=|$)|\(fault\)|\{(?:(?:' + _ITEM + rb"),?)*\}|\S+)", re.DOTALL)
_ACCOUNT = re.compile(
    rb"^(\w+): hits (\d+) = recorded (\d+) \+ filtered (\d+) \+ lost (\d+) \+ missed (\d+)$")
_FOLLOWED = re.compile(rb"^kevtrace: followed \d+ programs through exec$")
_PROFILE = re.compile(rb"^  \w+ +\d+ +\d+$")
_FAULTS = re.compile(rb"^(\w+): (\d+) numbers could not be read and are recorded as 0$")
_ARMED = re.compile(r"(\w+): (jump|int3 \((.*?)\))(?:, (?=\w+: )|$)")


def value_of(text):
    if text.startswith(b'"'):
        return text[1:-1]
    if text == b"(fault)":
        return FAULT
    if text.startswith(b"{"):
        return [value_of(item) for item in re.findall(_ITEM, text[1:-1])]
    return int(text, 0)


class Record:
    """One trace line: thread, time, place and the fetched values by name."""

    def __init__(self, line):
        match = _LINE.match(line)
        if not match:
            raise AssertionError(f"not a trace line: {line!r}")
        self.comm = match[1]
        self.tid, self.cpu = int(match[2]), int(match[3])
        self.time = float(match[4])
        self.event = match[5].decode()
        self.place = match[6].decode()
        self.values = {m[1].decode(): value_of(m[2]) for m in _VALUE.finditer(match[7] or b"")}

    def __getitem__(self, name):
        return self.values[name]

    def __repr__(self):
        return f"{self.event}@{self.tid}{self.values}"


def records_of(trace):
    """A string may hold a newline: a record ends where the next one begins."""
    starts = [m.start() for m in _START.finditer(trace)] + [len(trace)]
    if trace and starts[0] != 0:
        raise AssertionError(f"not a trace line: {trace[:starts[0]]!r}")
    return [Record(trace[a:b].removesuffix(b"\n")) for a, b in zip(starts, starts[1:])]


class Account:
    def __init__(self, numbers):
        self.hits, self.recorded, self.filtered, self.lost, self.missed = numbers

    def adds_up(self):
        return self.hits == self.recorded + self.filtered + self.lost + self.missed

    def __repr__(self):
        return str(vars(self))


class Traced:
    """A finished `kevtrace run`: `out` and `err` are the program's own."""

    def __init__(self, status, out, err, trace):
        self.status, self.out = status, out
        self.accounts, self.faults, own = {}, {}, []
        self.armed = ""
        for line in err.splitlines(keepends=True):
            bare = line.rstrip(b"\n")
            if match := _ACCOUNT.match(bare):
                self.accounts[match[1].decode()] = Account([int(n) for n in match.groups()[1:]])
            elif match := _FAULTS.match(bare):
                self.faults[match[1].decode()] = int(match[2])
            elif bare.startswith(b"kevtrace: runtime="):
                self.armed = bare.decode()
            elif not _PROFILE.match(bare) and not _FOLLOWED.match(bare):
                own.append(line)
        self.err = b"".join(own)
        self.all = records_of(trace)

    def records(self, event):
        return [r for r in self.all if r.event == event]

    def one(self, event):
        found = self.records(event)
        if len(found) != 1:
            raise AssertionError(f"{event}: {len(found)} records instead of one: {found[:5]}")
        return found[0]

    def how_armed(self):
        """event → "jump" or the reason why not."""
        listed = self.armed.split(" ", 3)[-1] if self.armed else ""
        return {m[1]: m[2] if m[2] == "jump" else m[3] for m in _ARMED.finditer(listed)}


def plain(command, **options):
    """The untraced run: status as $?, standard output, standard error."""
    done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, **_prepared(options))
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return status, done.stdout, done.stderr


def _prepared(options):
    options = dict(options)
    env = {"PATH": "/usr/bin:/bin", "HOME": "/", "LC_ALL": "C"}
    env |= {name: os.environ[name] for name in ("KEVT_BUSY_MB",) if name in os.environ}
    env.update(options.pop("env", {}))
    options["env"] = env
    if "input" not in options:
        options["stdin"] = subprocess.DEVNULL
    return options


class ProcessTest(unittest.TestCase):
    longMessage = True
    maxDiff = 2000

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kevt-process-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name, content=None):
        path = os.path.join(self.folder, name)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        return path

    def run_traced(self, command, *definitions, filters=(), buffer_kb=8192, trace="file", words=(), **options):
        """Traces `command`. trace="none" sends the lines to /dev/null (then only the sums are checked)."""
        file = self.path("trace") if trace == "file" else "/dev/null"
        events = self.path("events", "\n".join(definitions).encode() + b"\n")
        words = [KEVTRACE, "run", "-p", events, "-o", file, "--buffer", str(buffer_kb), *words]
        for one in filters:
            words += ["--filter", one]
        status, out, err = plain(words + ["--"] + list(command), **options)
        text = b""
        if trace == "file" and os.path.exists(file):
            with open(file, "rb") as lines:
                text = lines.read()
        traced = Traced(status, out, err, text)
        self.check_accounts(traced, definitions, trace)
        return traced

    def check_accounts(self, traced, definitions, trace):
        names = {re.match(r"[pr]\d*:(?:\w+/)?(\w+)", d)[1] for d in definitions}
        self.assertEqual(set(traced.accounts), names, traced.err)
        for name, account in traced.accounts.items():
            self.assertTrue(account.adds_up(), f"{name}: {account}")
            if trace == "file":
                self.assertEqual(len(traced.records(name)), account.recorded, name)

    def run_both(self, command, *definitions, **options):
        """Traces and also compares status and streams with the untraced run."""
        program = {k: v for k, v in options.items() if k in ("input", "cwd", "env")}
        expected = plain(command, **program)
        traced = self.run_traced(command, *definitions, **options)
        self.assertEqual((traced.status, traced.out, traced.err), expected)
        return traced

    def assert_none_lost(self, traced):
        for name, account in traced.accounts.items():
            self.assertEqual((account.lost, account.missed), (0, 0), name)


def main():
    unittest.main(verbosity=2)
