"""Runs in the guest: asks each tool each of the forty questions (questions.py), and writes what came of it as JSON.

in_guest.py KEVTRACE PROGRAMS SOURCES RESULTS [NUMBER…]: RESULTS is the file; numbers are those of questions, from 1.

The seconds of an answer are those from the start of the tool's first command to the first line of its output with which an
answer is complete, the shorter ones of two rounds. Both rounds have to answer. All tools have run once before, so that their
files have been read.
"""
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import time

from questions import QUESTIONS

TOOLS = ("kevtrace", "perf", "bpftrace")
HERE = "/run/questions"
TRACEFS = "/sys/kernel/tracing"
CGROUPS = "/sys/fs/cgroup"
LIBC = os.path.realpath("/lib/x86_64-linux-gnu/libc.so.6")
LIMIT_S = 180
ROUNDS = 2


def prepare(kevtrace, programs):
    """Programs in memory, control groups, the debug file of the stripped program."""
    shutil.copytree(programs, HERE)
    os.makedirs(HERE + "/bin")
    os.symlink(kevtrace, HERE + "/bin/kevtrace")
    os.environ["PATH"] = HERE + "/bin:" + os.environ["PATH"]
    os.chdir(HERE)
    subprocess.run(["mount", "-t", "cgroup2", "none", CGROUPS], check=True)
    with open(CGROUPS + "/cgroup.subtree_control", "w") as file:
        file.write("+pids")  # groups below are perf's, too, once any controller was handed down
    with open(HERE + "/bin/address", "w") as file:
        file.write("#!/bin/sh\nnm \"$2\" | sed -n \"s/ . $1\\$//p\"\n")
    os.chmod(HERE + "/bin/address", 0o755)
    notes = subprocess.run(["readelf", "-n", "stripped"], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    build_id = re.search(r"Build ID: (\w+)", notes).group(1)
    folder = "/usr/lib/debug/.build-id/" + build_id[:2]
    os.makedirs(folder, exist_ok=True)
    shutil.move("stripped.debug", "%s/%s.debug" % (folder, build_id[2:]))


def lines_of_the_source(sources):
    """{"LINE_AREA": 42} of lines.c: the line that ends in `// area`; LINE_DOUBLED is that above `// inlined`."""
    with open(os.path.join(sources, "lines.c")) as file:
        marked = {match.group(1): number for number, match in enumerate((re.search(r"// (\w+)$", line) for line in file), 1) if match}
    return {"LINE_AREA": marked["area"], "LINE_DOUBLED": marked["inlined"] - 1}


class Beside:
    """Programs that run while a tool does."""

    def __init__(self, question):
        self.wanted, self.again = question.get("beside", []), question.get("again")
        self.processes, self.started = [], 0
        for at in range(len(self.wanted)):
            self.processes.append(self.start(at))

    def start(self, at):
        command, group = self.wanted[at]
        self.started += 1
        process = subprocess.Popen(command.replace("FIRST", str(1000 * self.started)).split(), stdin=subprocess.DEVNULL)
        if group:
            os.makedirs(os.path.join(CGROUPS, group), exist_ok=True)
            with open(os.path.join(CGROUPS, group, "cgroup.procs"), "w") as file:
                file.write(str(process.pid))
        return process

    def keep(self):
        for at, process in enumerate(self.processes):
            if self.again and process.poll() is not None:
                self.processes[at] = self.start(at)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()

    def pid(self):
        return str(self.processes[-1].pid) if self.processes else ""


def run(command, beside):
    """Status, [(seconds, line)] of its output, its errors."""
    out, lines, rest = [], selectors.DefaultSelector(), b""
    with open(HERE + "/errors", "w+b") as errors:
        begun = time.monotonic()
        process = subprocess.Popen(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, start_new_session=True)
        lines.register(process.stdout, selectors.EVENT_READ)
        while True:
            beside.keep()
            if time.monotonic() - begun > LIMIT_S:
                os.killpg(process.pid, signal.SIGKILL)
                out.append((LIMIT_S, "(ended after %d s)" % LIMIT_S))
                break
            if not lines.select(0.02):
                continue
            got = os.read(process.stdout.fileno(), 1 << 16)
            *whole, rest = (rest + got).split(b"\n")
            out += [(time.monotonic() - begun, line.decode(errors="replace")) for line in whole]
            if not got:
                out += [(time.monotonic() - begun, rest.decode(errors="replace"))] if rest else []
                break
        status = process.wait()
        took = time.monotonic() - begun
        errors.seek(0)
        return status, out, errors.read().decode(errors="replace"), took


def plain(text):
    """A value as it is compared: numbers as numbers, without quotes."""
    text = str(text).strip('"')
    if text in ("true", "false"):
        return int(text == "true")
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def found_in(text, pattern):
    if pattern is None:
        return []
    found = []
    for match in re.finditer(pattern, text):
        named = match.groupdict()
        found.append(tuple(named[name] for name in sorted(named)) if named else match.groups())
    return found


def first_line_of(out, pattern):
    """The seconds of the line that completes the first answer."""
    at, text = 0, ""
    first = re.search(pattern, "".join(line + "\n" for _, line in out))
    for seconds, line in out:
        text += line + "\n"
        if len(text) >= first.end():
            return seconds
    return None


def order_of(values):
    """Numbers before texts."""
    return [(isinstance(value, str), value) for value in values]


def judged(question, asked, found, truth):
    if "right" in question:
        return question["right"](found)
    if asked.get("joined"):
        found = [(",".join(one),) for one in found]
    known = [tuple(plain(word) for word in one) for one in asked.get("known", truth)]
    found = [tuple(plain(word) for word in one) for one in found]
    if question.get("ordered"):
        return (found[::-1] if asked.get("backwards") else found)[:len(known)] == known
    return sorted(found, key=order_of) == sorted(known, key=order_of)


def forget():
    """Events that perf defined, its files, what it kept of files."""
    for name in ("q.data", "q.data.old", "q.dat", "q.txt"):
        if os.path.exists(name):
            os.unlink(name)
    with open(TRACEFS + "/uprobe_events", "w"):
        pass


def ask(question, tool, words):
    asked = question[tool]
    truth = []
    if question["run"]:
        printed = subprocess.run(question["run"].split(), stdout=subprocess.PIPE, universal_newlines=True).stdout
        truth = question["known"](printed.splitlines()) if "known" in question else []
    beside = Beside(question)
    words = {**words, "RUN": question["run"] or "", "PID": beside.pid()}
    command = re.sub(r"\b(%s)\b" % "|".join(words), lambda word: str(words[word.group()]), asked["command"])
    try:
        status, out, errors, took = run(command, beside)
    finally:
        beside.end()
        forget()
    text = "".join(line + "\n" for _, line in out)
    found = found_in(text, asked["find"])
    answers = bool(found) and judged(question, asked, found, truth)
    return {"command": command, "status": status, "answers": answers, "seconds": first_line_of(out, asked["find"]) if found else None, "whole": took,
            "found": found[:20], "known": truth[:20], "output": text[-3000:], "errors": errors[-3000:]}


def worst_and_shortest(rounds):
    """One that does not answer, or that with the shorter seconds."""
    return min(rounds, key=lambda one: (one["answers"], one["seconds"] or 0))


def main():
    kevtrace, programs, sources, results, *numbers = sys.argv[1:]
    prepare(kevtrace, programs)
    words = {**lines_of_the_source(sources), "LIBC": LIBC, "HERE": HERE}
    asked = [int(number) for number in numbers] or range(1, len(QUESTIONS) + 1)
    for tool in TOOLS:
        ask(QUESTIONS[1], tool, words)
    answers = {"kernel": os.uname().release, "program_s": {}, "questions": {}}
    for number in asked:
        question = QUESTIONS[number - 1]
        program = re.search(r"\./(\w+)", question["run"] or question["beside"][0][0]).group(1)
        if not os.path.exists(program):
            answers["questions"][number] = {"skipped": "there is no compiler for %s here" % program}
            print("%2d skipped %s" % (number, question["question"]), flush=True)
            continue
        if question["run"]:
            begun = time.monotonic()
            subprocess.run(question["run"].split(), stdout=subprocess.DEVNULL)
            answers["program_s"][number] = time.monotonic() - begun
        answers["questions"][number] = {tool: worst_and_shortest([ask(question, tool, words) for _ in range(ROUNDS)]) for tool in TOOLS}
        said = ["%s %s" % (tool, "%.2f s" % one["seconds"] if one["answers"] else "wrong" if one["found"] else "nothing")
                for tool, one in answers["questions"][number].items()]
        print("%2d %s: %s" % (number, question["question"], ", ".join(said)), flush=True)
        with open(results, "w") as file:
            json.dump(answers, file, indent=1)


if __name__ == "__main__":
    main()
