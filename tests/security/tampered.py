"""Attaching to a program while somebody tampers with descriptors that it shares."""
import os
import random
import signal
import subprocess
import time

from attached import Attached, BACK, TOUCH, Target, read, text_of
from kevtest import KEVTRACE, TIMEOUT_S, _prepared

HOSTILE = os.environ["KEVT_HOSTILE"]
SHARED = os.path.join(HOSTILE, "shared_table")
ROUNDS = int(os.environ.get("KEVT_ROUNDS", "12"))
SEED = int(os.environ.get("KEVT_SEED", time.time_ns() % 2**32))
PROBES = tuple(d.replace("stays", "shared_table") for d in (TOUCH, BACK)) + ("p:short shared_table:touch_short n=%di:s64",)
# mov $66, %edi; mov $231, %eax; syscall: ends whoever runs into it.
ENDS = b"\xbf\x42\x00\x00\x00\xb8\xe7\x00\x00\x00\x0f\x05"
FILE_BYTES = 8 << 20


def executable_files(pid):
    """(inode, name) of what is mapped executable there."""
    lines = (line.split(None, 5) for line in read(f"/proc/{pid}/maps").decode().splitlines())
    return {(int(f[4]), f[5].strip()) for f in lines if len(f) > 5 and "x" in f[1]}


def mappings_of(pid):
    """Without those that grow by themselves."""
    lines = (line.split() for line in read(f"/proc/{pid}/maps").splitlines())
    return {(*f[:2], *f[5:]) for f in lines if f[5:] not in ([b"[heap]"], [b"[stack]"])}


def random_rounds():
    random.seed(SEED)
    print(f"KEVT_SEED={SEED} rounds={ROUNDS}", flush=True)
    for number in range(ROUNDS):
        yield number, random.random() * 0.05


class Tampered(Attached):
    def hostile_file(self):
        return self.path("hostile", b"\x90" * (FILE_BYTES - len(ENDS)) + ENDS)

    def note_state(self, target):
        target.ask(b"counts")
        target.maps, target.text = mappings_of(target.pid), text_of(target.pid, "/")

    def start_front(self, pid):
        events = self.path("events", "\n".join(PROBES).encode() + b"\n")
        return subprocess.Popen([KEVTRACE, "run", "-p", events, "-o", self.path("trace"), "--pid", str(pid)],
                                stderr=subprocess.PIPE, **_prepared({}))

    def round(self, target, after_s):
        """Attaches and leaves: "traced", or the error. The target is as before, whatever came of it."""
        front = self.start_front(target.pid)
        head = front.stderr.readline()
        traces = head.startswith(b"kevtrace: runtime=")
        if traces:
            self.assertEqual([name for _, name in executable_files(target.pid) if os.path.basename(name) == "hostile"], [])
            time.sleep(after_s)
            front.send_signal(signal.SIGINT)
        err = head + front.communicate(timeout=TIMEOUT_S)[1]
        self.assertIn(front.returncode, (0, 1, 4), err)  # 4: something is not permitted
        self.assertNotIn(b"ended by signal", err)
        self.assertIsNone(target.process.poll(), err)
        self.assertEqual(mappings_of(target.pid) ^ target.maps, set(), err)
        self.assertTrue(text_of(target.pid, "/") == target.text, err)
        self.assertEqual(target.ask(b"counts")[1], b"0")
        return "traced" if traces else err.decode(errors="replace").strip().splitlines()[-1]

    def rounds(self, *command):
        target = Target(self, [SHARED, *command])
        self.note_state(target)
        outcomes = {}
        for number, after_s in random_rounds():
            with self.subTest(command[0], round=number):
                outcome = self.round(target, after_s)
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
        print(f"{command[0]}: {outcomes}", flush=True)
        self.assertEqual(target.end(), 0)
