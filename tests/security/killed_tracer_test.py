"""The target is safe to run at every instant: whatever ends the tracer, the target goes on, unprobed, as if never traced.

KEVT_ROUNDS kills (20 by itself, 1,000 in ./kev soak) at moments, or before steps of the tracer, that KEVT_SEED chooses.
"""
import os
import random
import re
import signal
import subprocess
import time

from attached import Attached, BACK, TOUCH, Target, read, state_of, text_of, wait_until
from kevtest import KEVTRACE, PROGRAMS, TIMEOUT_S, _prepared, main

SHIM = os.path.join(os.environ["KEVT_HOSTILE"], "failing_calls.so")
ROUNDS = int(os.environ.get("KEVT_ROUNDS", "20"))
SEED = int(os.environ.get("KEVT_SEED", time.time_ns() % 2**32))
STORM = ("p:touch storms:touch n=%di:s64 s=+0(%si):string", "r:back storms:touch v=$retval:s64",
         "p:short storms:touch_short n=%di:s64", "r:deep storms:deep v=$retval:s64", "p:malloc libc:malloc size=%di:u64")


def tracer_of(front):
    """The process behind the one that was started; None: it has not been made yet, or has ended."""
    children = read(f"/proc/{front}/task/{front}/children").split()
    return int(children[0]) if children else None


def has_ended(pid):
    try:
        return read(f"/proc/{pid}/stat").rpartition(b") ")[2][:1] in b"ZX"
    except (FileNotFoundError, ProcessLookupError):  # the second while it is read
        return True


def lasting_state_of(pid):
    """Without what threads leave behind that wait in epoll_wait and sigwaitinfo: the kernel ends these calls with EINTR
    when a tracer stops them (signal(7)), and nobody may be left to start them again."""
    state = state_of(pid)
    state["fds"] = [(number, shown) for number, shown in state["fds"] if shown != "anon_inode:[eventpoll]"]
    usr2 = 1 << (signal.SIGUSR2 - 1)
    for tid in [key for key in state if key.isdigit()]:
        state[tid] = [(key, int(value, 16) & ~usr2 if key == b"SigBlk" else value) for key, value in state[tid]]
    return state


class KilledTracer(Attached):
    def kill_tracer(self, front, after_s):
        """SIGKILL for the process that holds the target, that long after it is there."""
        tracer = None
        while tracer is None and front.poll() is None:
            tracer = tracer_of(front.pid)
        end = time.monotonic() + after_s
        while time.monotonic() < end:
            pass
        if tracer is not None:
            try:
                os.kill(tracer, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def start_front(self, pid, definitions, **options):
        events = self.path("events", "\n".join(definitions).encode() + b"\n")
        return subprocess.Popen([KEVTRACE, "run", "-p", events, "-o", "/dev/null", "--buffer", "256", "--pid", str(pid)],
                                stderr=subprocess.PIPE, **_prepared(options))

    def rounds(self, target, definitions, longest_s):
        text = text_of(target.pid, "/")
        random.seed(SEED)
        print(f"KEVT_SEED={SEED} rounds={ROUNDS}", flush=True)
        for number in range(ROUNDS):
            after_s = random.random() * longest_s
            front = self.start_front(target.pid, definitions)
            self.kill_tracer(front, after_s)
            self.assert_left(target, text, front, front.communicate(timeout=TIMEOUT_S)[1])

    def assert_left(self, target, text, front, said):
        self.assertIsNone(target.process.poll(), said)
        self.assertIn(front.returncode, (0, 128 + signal.SIGKILL), said)
        self.assertNotIn(b"still holds probes", said)
        self.assertEqual(re.findall(rb".*memfd:kevtrace.*", read(f"/proc/{target.pid}/maps")), [], said)
        self.assertTrue(text_of(target.pid, "/") == text, said)

    def attach_until(self, target, definitions, **end):
        """Attaches, and leaves as soon as it traces; killed at `end` (failing_calls.c), and the number of its steps."""
        note = self.path("note", b"")
        front = self.start_front(target.pid, definitions,
                                 env={"LD_PRELOAD": SHIM, "KEVT_FAIL_NOTE": note,
                                      **{name: str(value) for name, value in end.items()}})
        head = front.stderr.readline()
        if head.startswith(b"kevtrace: runtime="):
            front.send_signal(signal.SIGINT)
        said = head + front.communicate(timeout=TIMEOUT_S)[1]
        steps = re.search(rb"^steps (\d+)$", read(note), re.MULTILINE)
        return front, said, int(steps[1]) if steps else 0

    def test_while_it_attaches_and_traces(self):
        target = self.stays()
        before, vdso = lasting_state_of(target.pid), text_of(target.pid, "[vdso]")
        self.rounds(target, (TOUCH, BACK), 0.12)
        try:
            wait_until(lambda: lasting_state_of(target.pid) == before, "it is as it was", seconds=5)
        except AssertionError:
            self.assertEqual(lasting_state_of(target.pid), before)
        self.assertTrue(text_of(target.pid, "[vdso]") == vdso)
        target.wait_for_ticks()
        self.assertEqual(target.end(), 0)

    def test_front_and_tracer_together(self):
        """Nobody is left to clean up: the next tracer does, and traces."""
        target = self.stays()
        text = text_of(target.pid, "/")
        for _ in range(3):
            front = self.start([target.pid], TOUCH, BACK)
            tracer = tracer_of(front.pid)
            front.kill()
            os.kill(tracer, signal.SIGKILL)
            front.wait()
            wait_until(lambda: has_ended(tracer), "the tracer is dead")
        target.wait_for_ticks()
        tracer = self.start([target.pid], TOUCH, BACK)
        second = self.start_front(target.pid, (TOUCH,))
        err = second.communicate(timeout=TIMEOUT_S)[1]
        self.assertRegex(err, rb"^kevtrace: error: process \d+ is traced by kevtrace already \(process \d+\)\n$")
        self.assertNotEqual(second.returncode, 0)
        self.stop(tracer, [TOUCH, BACK])
        self.assertEqual(re.findall(rb".*memfd:kevtrace.*", read(f"/proc/{target.pid}/maps")), [])
        self.assertTrue(text_of(target.pid, "/") == text)
        target.wait_for_ticks()
        self.assertEqual(target.end(), 0)

    def test_while_a_handler_runs(self):
        """Its signal came while the thread worked for the tracer: the handler returns to where that work ended."""
        target = Target(self, [os.path.join(PROGRAMS, "lingers")])
        self.rounds(target, ("p:touch lingers:touch n=%di:s64", "r:back lingers:touch v=$retval:s64"), 0.08)
        target.tell(b"end")
        self.assertEqual(target.process.wait(TIMEOUT_S), 0)

    def test_while_a_function_is_called(self):
        """An indirect function's resolver runs in the target: it returns to code of the tracer that has ended."""
        target = Target(self, [os.path.join(PROGRAMS, "chooses")])
        self.rounds(target, ("p:choice chooses:choice n=%di:s32",), 0.12)
        target.tell(b"end")
        self.assertEqual(target.process.wait(TIMEOUT_S), 0)

    def test_before_each_step_in_a_storm(self):
        """A step is a call of ptrace(), or one that writes the target's memory."""
        target = Target(self, [os.path.join(PROGRAMS, "storms")])
        text = text_of(target.pid, "/")
        front, said, steps = self.attach_until(target, STORM)
        self.assertEqual(front.returncode, 0, said)
        random.seed(SEED)
        print(f"KEVT_SEED={SEED} rounds={ROUNDS} of {steps} steps", flush=True)
        for number in range(ROUNDS):
            step = 1 + int((number + random.random()) * steps / ROUNDS)
            front, said, _ = self.attach_until(target, STORM, KEVT_END_AT=step)
            self.assert_left(target, text, front, (step, said))
        self.end_storm(target)

    def test_before_each_step_at_a_breakpoint(self):
        """A thread that stops for a tracer has often just hit a breakpoint, whose signal waits behind that stop."""
        target = Target(self, [os.path.join(PROGRAMS, "trips")])
        text = text_of(target.pid, "/")
        short = ("p:short trips:touch_short n=%di:s64",)
        front, said, steps = self.attach_until(target, short)
        self.assertEqual(front.returncode, 0, said)
        random.seed(SEED)
        print(f"KEVT_SEED={SEED} rounds={3 * ROUNDS} of {steps} steps", flush=True)
        for number in range(3 * ROUNDS):
            step = 1 + int((number + random.random()) * steps / (3 * ROUNDS))
            front, said, _ = self.attach_until(target, short, KEVT_END_AT=step)
            self.assert_left(target, text, front, (step, said))
        self.assertEqual(target.end(), 0)

    def test_before_a_breakpoint_is_passed_on(self):
        """A thread has just hit a breakpoint, and stopped for its signal: it gets the signal."""
        target = Target(self, [os.path.join(PROGRAMS, "storms")])
        text = text_of(target.pid, "/")
        killed = rounds = 0
        while killed < ROUNDS // 6:  # in each round threads stop somewhere else
            front, said, _ = self.attach_until(target, STORM, KEVT_END_AT_SIGNAL=int(signal.SIGTRAP))
            self.assert_left(target, text, front, said)
            killed += front.returncode != 0
            rounds += 1
            self.assertLess(rounds, 10 * ROUNDS, "no thread has stopped for a breakpoint")
        self.end_storm(target)

    def test_in_a_storm(self):
        """Exceptions, timers, jumps, forks, short threads and changing masks meanwhile; all results stay right."""
        target = Target(self, [os.path.join(PROGRAMS, "storms")])
        self.rounds(target, STORM, 0.25)
        self.end_storm(target)

    def end_storm(self, target):
        target.tell(b"end")
        said = target.process.stdout.readline()
        self.assertTrue(said.endswith(b" errors 0\n"), said)
        self.assertEqual(target.process.wait(TIMEOUT_S), 0)


if __name__ == "__main__":
    main()
