"""Whatever a tracer cannot get, memory, space, a descriptor, its target goes on with its own results and without probes.

KEVT_ROUNDS (40 by itself, 1,000 in ./kev soak): each fails a call, or all from one on, in the process that holds the
target, of those in programs/failing_calls.c. Which one KEVT_SEED decides.
"""
import os
import random
import re
import signal
import subprocess
import time

from attached import Attached, BACK, TOUCH, read, state_of, text_of, wait_until
from kevtest import KEVTRACE, PROGRAMS, TIMEOUT_S, _prepared, main

SHIM = os.path.join(os.environ["KEVT_HOSTILE"], "failing_calls.so")
ROUNDS = int(os.environ.get("KEVT_ROUNDS", "40"))
SEED = int(os.environ.get("KEVT_SEED", time.time_ns() % 2**32))
FOR_EVER = 10**9
PLAIN = [os.path.join(PROGRAMS, "badly"), "plain"]
STARTED = ("p:touch badly:touch n=%di:s64 s=+0(%si):string", "r:back badly:touch v=$retval:s64")


USR2 = 1 << (signal.SIGUSR2 - 1)


def state_to_keep(pid):
    """Without what tells that a call has ended by EINTR that every stop ends so (epoll_wait, sigwaitinfo): the tracer
    starts it again, unless it dies in between."""
    state = state_of(pid)
    state["fds"] = [(fd, what) for fd, what in state["fds"] if what != "anon_inode:[eventpoll]"]
    for tid in os.listdir(f"/proc/{pid}/task"):
        state[tid] = [(k, int(v, 16) & ~USR2 if k == b"SigBlk" else v) for k, v in state[tid]]
    return state


class InjectedFailures(Attached):
    more = {}

    def command(self, definitions, *words):
        events = self.path("events", "\n".join(definitions).encode() + b"\n")
        return [KEVTRACE, "run", "-p", events, "-o", self.path("trace"), *words]

    def failing(self, at, count):
        note = self.path("note", b"")
        env = {**self.more, "LD_PRELOAD": SHIM, "KEVT_FAIL_NOTE": note, "KEVT_FAIL_AT": str(at), "KEVT_FAIL_FOR": str(count)}
        return _prepared({"env": env})

    def note(self):
        return read(self.path("note")).decode().split("\n")

    def calls(self):
        """How many calls there were that could have failed."""
        return int(next(line for line in self.note() if line.startswith("calls "))[6:])

    def draws(self, calls, share):
        random.seed(SEED)
        print(f"KEVT_SEED={SEED} rounds={ROUNDS * share:.0f}, {calls} calls may fail", flush=True)
        for number in range(round(ROUNDS * share)):
            at = random.randrange(1, calls + 1) if random.random() < 0.7 else random.randrange(1, min(calls, 400))
            yield number, at, random.choice((1, 1, 1, 3, FOR_EVER))

    def attach(self, target, at, count):
        """Attaches, leaves when it traces: what it said."""
        front = subprocess.Popen(self.command((TOUCH, BACK), "--pid", str(target.pid)), stderr=subprocess.PIPE,
                                 **self.failing(at, count))
        head = front.stderr.readline()
        if head.startswith(b"kevtrace: runtime="):
            target.wait_for_ticks(5)
            front.send_signal(signal.SIGINT)
        err = head + front.communicate(timeout=TIMEOUT_S)[1]
        self.assertGreaterEqual(front.returncode, 0, err)
        return front.returncode, err

    def assert_as_before(self, target, err):
        self.assertIsNone(target.process.poll(), err)
        self.assertEqual(re.findall(rb".*memfd:kevtrace.*", read(f"/proc/{target.pid}/maps")), [], err)
        self.assertTrue(text_of(target.pid, "/") == target.text, err)
        try:
            wait_until(lambda: state_to_keep(target.pid) == target.state, "it is as it was", seconds=5)
        except AssertionError:
            self.assertEqual(state_to_keep(target.pid), target.state, err)

    def test_of_a_running_program(self):
        target = self.fresh_target()
        status, err = self.attach(target, 0, 0)
        self.assertEqual(status, 0, err)
        self.assert_as_before(target, err)
        for number, at, count in self.draws(self.calls(), 0.5):
            is_as_before = False
            with self.subTest(round=number, at=at, count=count):
                _, err = self.attach(target, at, count)
                self.assert_as_before(target, (self.note(), err))
                is_as_before = True
            if not is_as_before:
                target = self.fresh_target()
        self.assertEqual(target.end(), 0)

    def test_a_word_that_cannot_be_read_is_told(self):
        """Each read of one word fails once: the program's memory and its threads' signal masks are left as they were,
        whatever the word would have told."""
        self.more = {"KEVT_FAIL_WORDS": "1"}
        target = self.fresh_target()
        self.attach(target, 0, 0)
        words = self.calls()
        self.assertGreater(words, 5)
        for at in range(1, words + 1):
            with self.subTest(at=at):
                _, err = self.attach(target, at, 1)
                self.assertNotIn(b"replaced by another program", err)
                self.assertNotIn(b"memfd:kevtrace", read(f"/proc/{target.pid}/maps"), err)
                self.assertTrue(text_of(target.pid, "/") == target.text, err)
                self.assertEqual(target.ask(b"masks"), [b"0"], err)
        self.assertEqual(target.end(), 0)

    def fresh_target(self):
        target = self.stays()
        target.state, target.text = state_to_keep(target.pid), text_of(target.pid, "/")
        return target

    def test_of_a_program_that_is_started(self):
        """It may end before it has begun, and then has done nothing."""
        command = self.command(STARTED, "--") + PLAIN
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, **self.failing(0, 0))
        self.assertEqual((done.returncode, done.stdout), (0, b"done\n"), done.stderr)
        outcomes = {}
        for number, at, count in self.draws(self.calls(), 0.5):
            with self.subTest(round=number, at=at, count=count):
                outcome = self.start_failing(command, at, count)
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
        print(f"(status, output): rounds {outcomes}", flush=True)

    def start_failing(self, command, at, count):
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, **self.failing(at, count))
        self.assertGreaterEqual(done.returncode, 0, (self.note(), done.stderr))
        self.assertIn(done.stdout, (b"", b"done\n"), (self.note(), done.stderr))
        if done.stdout == b"":
            self.assertNotEqual(done.returncode, 0, (self.note(), done.stderr))
        return done.returncode, done.stdout

    def test_each_call_until_a_program_has_started(self):
        """Also the one that lets it go on to its exec: it does not wait for ever."""
        command = self.command(STARTED, "--") + PLAIN
        for at in range(1, 16):
            for count in (1, FOR_EVER):
                with self.subTest(at=at, count=count):
                    self.start_failing(command, at, count)


if __name__ == "__main__":
    main()
