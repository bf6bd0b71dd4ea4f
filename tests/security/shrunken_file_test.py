"""Whoever may write a file that the tracer reads can shrink it or write another one in place at any moment. The tracer
says so or has its answer; no signal ends it, and the target goes on.

KEVT_ROUNDS readings (40 by itself) of a file that another process truncates and rewrites as KEVT_SEED chooses.
"""
import os
import random
import signal
import subprocess
import sys
import time

from attached import Attached, Target
from kevtest import KEVTRACE, TIMEOUT_S, _prepared, main

PROGRAM = os.path.join(os.environ["KEVT_HOSTILE"], "maps_file")
ROUNDS = int(os.environ.get("KEVT_ROUNDS", "40"))
SEED = int(os.environ.get("KEVT_SEED", time.time_ns() % 2**32))
OWN = "p:own maps_file:ticked n=%di:s64"


class Writer:
    """A process that shrinks `path`, writes it anew, or writes over a piece of it, without a pause."""

    def __init__(self, case, path, content):
        self.pid = os.fork()
        if self.pid == 0:
            self.write(path, content)
        case.addCleanup(self.end)

    def write(self, path, content):
        try:
            random.seed(SEED ^ 1)
            file = os.open(path, os.O_WRONLY)
            while True:
                kind = random.randrange(4)
                if kind == 0:
                    os.ftruncate(file, random.choice((0, 1, 64, 4096, random.randrange(len(content)))))
                elif kind == 1:
                    at = random.randrange(len(content))
                    os.pwrite(file, content[at:at + random.randrange(1 << 20)], at)
                else:
                    os.pwrite(file, content, 0)
                    time.sleep(random.random() * 0.02)  # for some readings it is whole
        finally:
            os._exit(1)

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class ShrunkenFile(Attached):
    def setUp(self):
        super().setUp()
        self.file = self.path("victim.so")
        with open(KEVTRACE, "rb") as program:  # large, with symbols and debug information
            self.content = program.read()
        with open(self.file, "wb") as file:
            file.write(self.content)

    def read_it(self, rounds, commands):
        random.seed(SEED)
        print(f"KEVT_SEED={SEED} rounds={rounds}", flush=True)
        answers = {}
        for number in range(rounds):
            words = random.choice(commands)
            with self.subTest(round=number, words=words):
                done = subprocess.run([KEVTRACE, *words], capture_output=True, timeout=TIMEOUT_S, **_prepared({}))
                said = done.stderr[-2000:]
                self.assertGreaterEqual(done.returncode, 0, said)
                self.assertLess(done.returncode, 125, said)
                self.assertNotIn(b"internal error", said)
                self.assertNotIn(b"still holds probes", said)
                key = (words[0], done.returncode, b"changed while" in done.stderr)
                answers[key] = answers.get(key, 0) + 1
        print("\n".join(f"{verb}: status {status}, {'said that it changed' if changed else 'else'}: {count}"
                        for (verb, status, changed), count in sorted(answers.items())), flush=True)

    def definitions(self):
        return ["--keep-going", "-e", OWN, "-e", "p:v victim.so:main", "-e", "p:w victim.so:main argc"]

    def test_while_it_is_looked_at(self):
        Writer(self, self.file, self.content)
        self.read_it(ROUNDS, [["list", "*", self.file], ["list", "main", self.file],
                              ["check", "-e", f"p:v {self.file}:0x10000"]])

    def test_while_a_program_starts(self):
        Writer(self, self.file, self.content)
        run = ["run", "-c", "3", "-o", "/dev/null", *self.definitions()]
        self.read_it(max(ROUNDS // 4, 4), [run + ["--stack", "--", PROGRAM, self.file], run + ["--", PROGRAM, self.file]])

    def test_while_it_is_attached(self):
        target = Target(self, [PROGRAM, self.file])
        Writer(self, self.file, self.content)
        run = ["run", "-c", "3", "-o", "/dev/null", *self.definitions(), "--pid", str(target.pid)]
        self.read_it(max(ROUNDS // 4, 4), [run, run + ["--stack"]])
        self.assertIsNone(target.process.poll())
        target.wait_for_ticks()
        self.assertEqual(target.end(), 0)

    def test_while_a_probe_is_in_it(self):
        """The page with the probe is gone from the target, too: nothing is to be taken away there."""
        target = Target(self, [PROGRAM, self.file])
        tracer = self.start([target.pid], OWN, "p:v victim.so:main")
        self.assertIn(b"v: ", tracer.head)
        os.truncate(self.file, 0)
        target.wait_for_ticks()
        tracer.send_signal(signal.SIGINT)
        said = tracer.stderr.read()
        self.assertIn(tracer.wait(TIMEOUT_S), (0, 1), said)
        self.assertNotIn(b"internal error", said)
        target.wait_for_ticks()
        self.assertEqual(target.end(), 0)


if __name__ == "__main__":
    if not os.path.exists(PROGRAM):
        print("SKIPPED: maps_file is not built")
        sys.exit(77)
    main()
