"""compare.py OLD NEW [--accepted FILE] [--only TEXT] [--show]: two kevtraces are asked the same, and must answer the same.

Compared of each case are standard output, standard error, the status, and what is written: files as they are, recordings as each
reports its own. Numbers that no two runs have in common (pids, times, addresses, CPUs) are the same for it.

--accepted FILE: cases that may differ, `NAME<tab>REASON` a line, NAME with shell's wildcards. A line there of which no case differs is
wrong, too. The status is 1 where something is.
"""
import argparse
import difflib
import fnmatch
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from cases import Session, Shell, all_cases

STEPS = os.environ["KEVT_STEPS"]
SECONDS = 60
SAME = [
    (r'"(recording|rest_of)":"[0-9a-f]{32}",', ""),  # a recording's identity
    (r"(?m)^( *.{1,16})-\d+ +\[\d+\]", r"\1-PID [CPU]"),
    (r'"(time|time_ns|pid|tid|cpu|ts|dur|common_pid|process|rate|seconds)": ?"?[\d.e+-]+"?', r'"\1": N'),
    (r"\b\d+\.\d{6}\b", "TIME"),
    (r"\b0x[0-9a-f]{8,16}\b", "ADDRESS"),
    (r"(?m)^done\n", ""),  # the program's own, between the lines of the trace
    (r"\b\d{12,}\b", "N"),  # times and addresses, in ns and decimal
    (r"(?m)^N,\d+,\d+,", "N,CPU,PID,"),
    (r"(?m)^( +\S+ +)\d+ \[\d+\] ", r"\1PID [CPU] "),
    (r"<[0-9a-f]{16}>", "<ADDRESS>"),
    (r"\b(process|pid|PID|tid|pid=|common_pid:) ?\d+", r"\1 PID"),
    (r"\b[\d.,]+ ?(ns|us|µs|ms|s)\b", r"N \1"),
    (r"(?: +|\b)\d+\.\d+(e-?\d+)?\b", " N"),  # rates, seconds; in a column there are blanks before them, fewer before longer ones
    (r"(?m)^(-> \S+ +\d+)( +\d+)+", r"\1 N"),  # lat
    (r"(?m)^\d+( +\d+)$", r"CPU\1"),  # stat
    (r"\bsteps-\d+ *", "steps-PID"),
    (r"\[ +\d+\]", "[N]"),  # a pid in a histogram
    (r"events, \d+ bytes", "events, N bytes"),  # compressed, with times in it
]


def same(text):
    for pattern, to in SAME:
        text = re.sub(pattern, to, text)
    return text


class NoMount(Exception):
    """Nothing could be compared: there is no tracing directory."""


def end_both(mount, target, place):
    """Whoever does not end in time is killed; nothing stays mounted."""
    mount.send_signal(signal.SIGINT)
    for one in (mount, target):
        if one is target:
            target.stdin.close()  # it ends when the mount has
        try:
            one.wait(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            one.kill()
            one.wait()
    target.stdout.close()
    if os.path.ismount(place):
        subprocess.run(["umount", "-l", place], check=False)


class World:
    """A folder where `kevtrace` is one of the two."""

    def __init__(self, program):
        self.program = program
        self.folder = tempfile.mkdtemp(prefix="kevt-compare-")
        os.mkdir(self.path("bin"))
        os.mkdir(self.path("work"))
        os.symlink(program, self.path("bin/kevtrace"))
        os.symlink(STEPS, self.path("bin/steps"))
        self.environment = {"PATH": self.path("bin") + ":/usr/bin:/bin", "HOME": "/", "LC_ALL": "C", "XDG_RUNTIME_DIR": self.folder}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def shell(self, command):
        """Output, messages, status; None: it did not come to an end."""
        process = subprocess.Popen(["sh", "-c", command], cwd=self.path("work"), env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)
        try:
            out, said = process.communicate(timeout=SECONDS)
            return out, said, process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return b"", b"no end after %d s" % SECONDS, None

    def answer(self, case):
        return self.session(case) if isinstance(case, Session) else self.command(case)

    def command(self, case):
        out, said, status = self.shell(case)
        texts = {"standard output": out, "standard error": said, "status": str(status).encode()}
        for folder, _, names in os.walk(self.path("work")):
            for name in names:
                path = os.path.join(folder, name)
                kind = os.path.relpath(path, self.path("work"))
                texts[kind] = self.content(path)
        return {name: self.same(text.decode(errors="backslashreplace")) for name, text in texts.items()}

    def same(self, text):
        return same(text.replace(self.folder, "FOLDER"))

    def content(self, path):
        if path.endswith((".dat", ".dat7")):
            return self.shell(f"kevtrace report '{path}'")[0]
        with open(path, "rb") as file:
            text = file.read()
        return b"%d bytes, binary" % (len(text) // 4096 * 4096) if b"\0" in text else text

    def session(self, case):
        target = subprocess.Popen([self.path("bin/steps")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
        place = self.path("work/t")
        said = []
        with open(self.path("log"), "w+", encoding="utf-8") as log:
            mount = subprocess.Popen([self.path("bin/kevtrace"), "mount", place, "--pid", str(target.pid)], env=self.environment, stderr=log)
            try:
                end = time.monotonic() + SECONDS
                while not os.path.exists(place + "/trace") and mount.poll() is None and time.monotonic() < end:
                    time.sleep(0.01)
                if not os.path.exists(place + "/trace"):
                    log.seek(0)
                    raise NoMount(log.read())
                for line in case.splitlines():
                    said.append(f"> {line}\n{self.act(place, target, line)}")
            finally:
                end_both(mount, target, place)
            log.seek(0)
            return {"files": self.same("\n".join(said)), "standard error": self.same(log.read()), "status": str(mount.returncode)}

    def act(self, place, target, line):
        word, _, rest = line.partition(" ")
        path = os.path.join(place, word)
        try:
            if word == "hit":
                target.stdin.write(rest + "\n")
                target.stdin.flush()
                is_there, _, _ = select.select([target.stdout], [], [], SECONDS)
                return target.stdout.readline() if is_there else f"no answer after {SECONDS} s\n"
            if word in ("mkdir", "rmdir"):
                return str(getattr(os, word)(os.path.join(place, rest)) or "")
            how, _, text = rest.partition(" ")
            if how in ("<", "<<"):
                with open(path, "w" if how == "<" else "a", encoding="utf-8") as file:
                    file.write(text + "\n")
                return ""
            with open(path, encoding="utf-8", errors="backslashreplace") as file:
                return file.read()
        except OSError as error:
            return error.strerror + "\n"


def ask(program, case):
    with World(program) as world:
        return world.answer(case)


def differences(old, new):
    lines = []
    for name in sorted(old | new):
        before, after = old.get(name, ""), new.get(name, "")
        if before != after:
            lines += difflib.unified_diff(before.splitlines(), after.splitlines(), f"old {name}", f"new {name}", lineterm="", n=1)
    return lines


def accepted(path):
    if not path:
        return {}
    with open(path, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#"))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("old")
    options.add_argument("new")
    options.add_argument("--accepted")
    options.add_argument("--only", default="")
    options.add_argument("--show", action="store_true", help="also what is accepted")
    options.add_argument("--most", type=int, help="so many cases")
    given = options.parse_args()
    known = accepted(given.accepted)
    used, wrong, equal, listed = set(), 0, 0, 0
    cases = [(name, case) for name, case in all_cases() if given.only in name][:given.most]
    for name, case in cases:
        found = differences(ask(given.old, case), ask(given.new, case))
        if not found:
            equal += 1
            continue
        matching = [pattern for pattern in known if name == pattern or fnmatch.fnmatchcase(name, pattern)]
        used.update(matching)
        listed += bool(matching)
        wrong += not matching
        if given.show or not matching:
            print(f"==== {name}" + (f"  ({known[matching[0]]})" if matching else ""))
            print("\n".join(found[:60]), flush=True)
    unused = [pattern for pattern in known if pattern not in used] if not given.only else []
    for pattern in unused:
        print(f"==== {pattern}: is listed, and nothing differs")
    print(f"{len(cases)} cases: {equal} the same, {listed} differ as listed, {wrong} differ")
    return 1 if wrong or unused else 0


if __name__ == "__main__":
    sys.exit(main())
