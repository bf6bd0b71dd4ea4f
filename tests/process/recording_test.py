"""Recordings of real programs: what was printed live is what a file gives back, to us and to other tools."""
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from kevtest import KEVTRACE, TIMEOUT_S, ProcessTest, main

OPENING = "p:opening libc:open64 path=+0(%di):string flags=%si:x32 first=+0(%di):char bytes=+0(%di):u8[3] at=%ip:symbol"
OPENED = "r:opened libc:open64 fd=$retval:s32"
PROGRAM = ["/usr/bin/python3", "-S", "-c", "for i in range(20): open('/etc/passwd').close()"]
TRACE_CMD = shutil.which("trace-cmd")

_PREFIX = re.compile(r"^ *(.+?)-(\d+) +\[(\d+)\] (?:[^ ]{5} )? *(\d+\.\d+): +(\w+): +(.*)$")


def parts(text):
    """[(comm, cpu digits, event, text)] of trace lines, ours or trace-cmd's."""
    found = []
    for line in text.splitlines():
        match = _PREFIX.match(line)
        if match:
            found.append((match[1], match[5], match[6].rstrip()))
    return found


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stderr}")
    return done.stdout


class Recording(ProcessTest):
    def path(self, name):
        return os.path.join(self.folder, name)

    def record(self, name, *options, program=PROGRAM):
        path = self.path(name)
        done = subprocess.run([KEVTRACE, "run", "-o", path, "-e", OPENING, "-e", OPENED, *options, "--", *program],
                              capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.accounts = dict(re.findall(r"^(\w+): hits \d+ = recorded (\d+)", done.stderr, re.MULTILINE))
        return path

    def test_report_prints_what_run_would_have_printed(self):
        live = output("/usr/bin/setarch", "-R", KEVTRACE, "run", "-q", "-e", OPENING, "-e", OPENED, "--", *PROGRAM)
        path = self.path("p.dat")
        subprocess.run(["/usr/bin/setarch", "-R", KEVTRACE, "run", "-q", "-o", path, "-e", OPENING, "-e", OPENED, "--",
                        *PROGRAM], check=True, timeout=TIMEOUT_S)
        reported = output(KEVTRACE, "report", path)
        self.assertGreater(len(parts(live)), 40)
        self.assertEqual(parts(live), parts(reported))

    def test_trace_cmd_reads_the_same_lines(self):
        if not TRACE_CMD:
            self.skipTest("no trace-cmd")
        path = self.record("p.dat")
        ours, theirs = parts(output(KEVTRACE, "report", path)), parts(output(TRACE_CMD, "report", path))
        self.assertGreater(len(ours), 40)
        self.assertEqual(ours, theirs)

    def test_filters_are_compiled_and_mistakes_are_told(self):
        path = self.record("p.dat")
        kept = output(KEVTRACE, "report", path, "-F", 'opening: path == "/etc/passwd"')
        self.assertEqual(len(kept.splitlines()), 20)
        wrong = subprocess.run([KEVTRACE, "report", path, "-F", "opening: nope == 1"], capture_output=True, text=True)
        self.assertEqual(wrong.returncode, 3)
        self.assertIn("Field not found", wrong.stderr)
        self.assertEqual(wrong.stdout, "")

    def test_killed_at_any_moment_a_recording_is_whole(self):
        path = self.path("killed.dat")
        endless = ["/usr/bin/python3", "-S", "-c", "while True: open('/etc/passwd').close()"]
        run = subprocess.Popen([KEVTRACE, "run", "-q", "-o", path, "-e", OPENED, "--", *endless], start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline, seen = time.monotonic() + TIMEOUT_S, 0
            while seen < 3000 and time.monotonic() < deadline:  # read while it is written
                done = subprocess.run([KEVTRACE, "report", path], capture_output=True, text=True)
                seen = len(done.stdout.splitlines()) if done.returncode == 0 else 0
        finally:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
        self.assertGreaterEqual(seen, 3000)
        ours = parts(output(KEVTRACE, "report", path))
        self.assertGreaterEqual(len(ours), seen)
        self.assertTrue(all("<- open" in text for _, _, text in ours))
        if TRACE_CMD:
            theirs = parts(output(TRACE_CMD, "report", path))
            self.assertEqual([event for _, event, _ in ours], [event for _, event, _ in theirs])


if __name__ == "__main__":
    main()
