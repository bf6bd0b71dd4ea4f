"""Triggers that hits carry out: what they switch holds at once, whoever reads and whenever; what they do to the hit that
fires them is what the kernel does (tests/guest/triggers/at_hit.py)."""
import os
import re
import signal
import subprocess
import sys
import threading

from kevtest import KEVTRACE, PROGRAMS, main
from mounted import MountTest, is_mounted, wait_until

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../guest/triggers"))
import at_hit  # noqa: E402

STEPS = os.path.join(PROGRAMS, "steps")
DEFINITIONS = "p:step steps:step i=%di:s64\np:other steps:other i=%di:s64\n"
FORK, CHILD = -1, 0  # for THREADS: see steps.c
FLOOD = 2_000_000  # hits: more records than the ring of a CPU holds


class Triggers(MountTest):
    COMMAND = (STEPS,)

    def setUp(self):
        super().setUp()
        self.echo(DEFINITIONS, "kprobe_events")

    def event(self, name, file):
        return f"events/kprobes/{name}/{file}"

    def steps(self, begin, end, threads=1):
        self.target.stdin.write(f"{begin} {end} {threads}\n")
        self.target.stdin.flush()

    def wait_for_steps(self):
        self.assertEqual(self.target.stdout.readline(), "done\n")

    def run_steps(self, begin, end, threads=1):
        self.steps(begin, end, threads)
        self.wait_for_steps()

    def recorded(self, name):
        pattern = re.compile(rf": {name}: .* i=(-?\d+)$", re.MULTILINE)
        return [int(number) for number in pattern.findall(self.cat("trace"))]

    def switch_on(self):
        self.echo("1", self.event("step", "enable"))
        self.echo("1", self.event("other", "enable"))

    def test_traceoff_is_exact(self):
        self.switch_on()
        self.echo("traceoff if i == 500", self.event("step", "trigger"))
        self.run_steps(0, 1000)
        wait_until(lambda: self.cat("tracing_on") == "0\n", "the trigger")
        self.assertEqual(self.recorded("step"), list(range(501)))
        self.assertEqual(self.recorded("other"), list(range(500)))
        self.echo("1", "tracing_on")
        self.run_steps(1000, 1010)
        self.assertEqual(self.recorded("step"), list(range(501)) + list(range(1000, 1010)))
        self.echo("!traceoff", self.event("step", "trigger"))
        self.run_steps(500, 501)
        self.assertEqual(self.cat("tracing_on"), "1\n")
        self.assertEqual(self.recorded("step")[-1], 500)
        accounts = self.end_mount()
        self.assertEqual(accounts["step"], [1011, 512, 499, 0, 0])
        self.assertEqual(accounts["other"], [1011, 511, 500, 0, 0])

    def test_a_full_ring_does_not_hold_up_a_trigger(self):
        self.switch_on()
        self.echo(f"traceoff:1 if i == {FLOOD - 10}", self.event("step", "trigger"))
        self.signal_mount(signal.SIGSTOP)
        try:
            self.run_steps(0, FLOOD)
        finally:
            self.signal_mount(signal.SIGCONT)
        wait_until(lambda: self.cat("tracing_on") == "0\n", "the trigger", seconds=60)
        self.assertIn("traceoff:count=0 if", self.cat(self.event("step", "trigger")))
        hits, recorded, filtered, lost, missed = self.end_mount()["step"]
        self.assertEqual((hits, filtered, missed), (FLOOD, 9, 0))
        self.assertGreater(lost, 0)

    def test_counts_go_down_when_something_changes(self):
        self.switch_on()
        self.echo("traceoff:5 if (i & 1)", self.event("step", "trigger"))
        self.echo("traceon", self.event("other", "trigger"))
        self.run_steps(0, 100)
        self.assertEqual(self.recorded("step"), list(range(100)))
        self.assertEqual(self.recorded("other"), list(range(100)))
        self.assertEqual(self.cat(self.event("step", "trigger")), "traceoff:count=0 if (i & 1)\n")
        self.assertEqual(self.cat(self.event("other", "trigger")), "traceon:unlimited\n")

    def test_events_switch_each_other(self):
        self.echo("1", self.event("step", "enable"))
        self.echo("enable_event:kprobes:other if i == 10", self.event("step", "trigger"))
        self.assertEqual(self.cat(self.event("other", "enable")), "0*\n")
        self.run_steps(0, 20)
        self.assertEqual(self.recorded("other"), list(range(10, 20)))
        self.assertEqual(self.cat(self.event("other", "enable")), "1*\n")
        self.echo("disable_event:kprobes:step:1 if i == 30", self.event("other", "trigger"))
        self.run_steps(20, 40)
        self.assertEqual(self.recorded("step"), list(range(31)))
        self.assertEqual(self.cat(self.event("step", "enable")), "0*\n")
        self.assertIn("disable_event:kprobes:step:count=0 if i == 30", self.cat(self.event("other", "trigger")))
        self.echo("1", self.event("step", "enable"))
        self.run_steps(29, 32)
        self.assertEqual(self.recorded("step")[-3:], [29, 30, 31])

    def test_its_filter_stays_the_events_own(self):
        self.switch_on()
        self.echo("i > 100", self.event("step", "filter"))
        self.echo("traceoff if i == 50", self.event("step", "trigger"))
        self.run_steps(0, 60)
        self.assertEqual(self.cat("tracing_on"), "0\n")
        self.assertEqual((self.recorded("step"), self.recorded("other")), ([], list(range(50))))

    def test_what_was_taken_out_acts_no_longer_in_a_child(self):
        """A child keeps the code that it was forked with."""
        self.switch_on()
        self.echo("traceoff if i == 5", self.event("step", "trigger"))
        self.echo("disable_event:kprobes:other:9 if i == 6", self.event("step", "trigger"))
        self.run_steps(0, 0, FORK)
        self.run_steps(0, 5, CHILD)
        self.assertEqual(self.recorded("step"), list(range(5)))
        self.echo("!traceoff", self.event("step", "trigger"))
        self.run_steps(5, 7, CHILD)
        self.assertEqual(self.cat("tracing_on"), "1\n")
        self.assertIn("disable_event:kprobes:other:count=9 if i == 6", self.cat(self.event("step", "trigger")))
        self.run_steps(6, 7)
        self.assertIn("disable_event:kprobes:other:count=8 if i == 6", self.cat(self.event("step", "trigger")))
        self.assertEqual(self.recorded("step"), list(range(5)) + [6])

    def test_a_child_goes_on_where_a_breakpoint_was_taken_out(self):
        """Its text is its own: it keeps the int3 that it was forked with."""
        self.echo("0", "debug/kprobes-optimization", "w")
        self.switch_on()
        self.run_steps(0, 0, FORK)
        self.run_steps(0, 5, CHILD)
        self.assertEqual(self.recorded("step"), list(range(5)))
        for name in ("step", "other"):
            self.echo("0", self.event(name, "enable"))
            self.run_steps(5, 10, CHILD)
        self.echo("1", self.event("step", "enable"))
        self.run_steps(10, 15, CHILD)
        self.assertEqual(self.recorded("step"), list(range(5)) + list(range(10, 15)))
        self.assertEqual(self.recorded("other"), list(range(10)))
        accounts = self.end_mount()
        self.assertEqual((accounts["step"], accounts["other"]), ([20, 10, 10, 0, 0], [20, 10, 10, 0, 0]))

    def test_two_instances_and_snapshots_are_the_readers(self):
        os.mkdir(self.path("instances/second"))
        self.switch_on()
        self.echo("1", "instances/second/" + self.event("step", "enable"))
        self.echo("traceoff if i == 10", self.event("step", "trigger"))
        self.run_steps(0, 20)
        self.assertEqual(self.recorded("step"), list(range(11)))
        self.assertEqual((self.cat("tracing_on"), self.cat("instances/second/tracing_on")), ("0\n", "1\n"))
        self.assertIn("i=19", self.cat("instances/second/trace"))
        # Alone again, and with a trigger that only the reader can carry out.
        self.echo("0", "instances/second/" + self.event("step", "enable"))
        os.rmdir(self.path("instances/second"))
        self.echo("1", "tracing_on")
        self.echo("snapshot:1 if i == 25", self.event("other", "trigger"))
        self.run_steps(20, 30)
        self.assertIn("i=24", self.cat("snapshot"))
        self.echo("!snapshot", self.event("other", "trigger"))
        self.run_steps(0, 20)
        self.assertEqual(self.cat("tracing_on"), "0\n")

    def test_triggers_come_and_go_while_they_are_hit(self):
        self.switch_on()
        os.mkdir(self.path("instances/second"))
        stop = threading.Event()
        answers = []

        def flood():
            while not stop.is_set():
                self.steps(0, 20000, 4)
                answers.append(self.target.stdout.readline())

        flooding = threading.Thread(target=flood)
        flooding.start()
        try:
            for round in range(3):
                self.echo(f"traceoff:3 if i == {round}", self.event("step", "trigger"))
                self.echo("traceon if (i & 1)", self.event("other", "trigger"))
                self.echo("disable_event:kprobes:step if i == 7", self.event("other", "trigger"))
                self.echo("1" if round % 3 == 0 else "0", "instances/second/" + self.event("other", "enable"))
                self.echo("!disable_event:kprobes:step", self.event("other", "trigger"))
                self.echo("!traceoff", self.event("step", "trigger"))
                self.echo("!traceon", self.event("other", "trigger"))
                self.echo("1", self.event("step", "enable"))
        finally:
            stop.set()
            flooding.join()
        self.assertEqual(set(answers), {"done\n"})
        self.echo("1", "tracing_on")
        self.assertEqual((self.cat(self.event("step", "enable")), self.cat(self.event("other", "enable"))),
                         ("1\n", "1\n"))
        before = len(self.recorded("step"))
        self.run_steps(0, 10)
        self.assertEqual(self.recorded("step")[before:], list(range(10)))
        self.assertEqual(set(self.end_mount()), {"step", "other"})  # and each adds up

    def test_what_a_target_left_can_still_be_changed(self):
        self.switch_on()
        self.echo("traceoff:2 if i == 5", self.event("step", "trigger"))
        self.run_steps(0, 10)
        self.target.stdin.close()
        self.target.wait(timeout=30)
        wait_until(lambda: self.cat("tracing_on") == "0\n", "the trigger")
        self.assertIn("traceoff:count=1 if i == 5", self.cat(self.event("step", "trigger")))
        self.echo("!traceoff", self.event("step", "trigger"))
        self.assertIn("# Available triggers", self.cat(self.event("step", "trigger")))
        self.assertEqual(self.recorded("step"), list(range(6)))

    def check_cases(self):
        files = at_hit.Files(self.dir)
        for case in at_hit.CASES:
            with self.subTest(case[0]):
                try:
                    answer = at_hit.run(case, files, lambda: self.run_steps(at_hit.BASE, at_hit.BASE + at_hit.HITS))
                    self.assertEqual(answer, case[2])
                finally:
                    at_hit.undo(case, files)

    def test_the_hit_that_fires_a_trigger_is_kept_as_the_kernel_keeps_it(self):
        self.check_cases()

    def test_the_reader_keeps_the_hit_that_fires_a_trigger_likewise(self):
        os.mkdir(self.path("instances/second"))
        self.echo("1", "instances/second/" + self.event("other", "enable"))
        self.check_cases()

    def test_a_markers_trigger_sees_it_as_it_was_written(self):
        self.echo('traceoff if buf == "stop"', "events/ftrace/print/trigger")
        for text in ("stop it", "stop"):
            self.echo(text, "trace_marker")
        with self.assertRaisesRegex(OSError, "Bad file descriptor"):  # as the kernel answers while tracing is off
            self.echo("late", "trace_marker")
        self.assertEqual(self.cat("tracing_on"), "0\n")
        self.assertEqual(re.findall(r"tracing_mark_write: (.*)", self.cat("trace")), ["stop it", "stop"])


class Held(MountTest):
    """A command that is held until an event is on."""

    COMMAND = (STEPS,)

    def start(self):
        self.mount = subprocess.Popen([KEVTRACE, "mount", self.dir, "--hold", "--", STEPS], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.addCleanup(self.mount.stdout.close)
        self.addCleanup(self.mount.stdin.close)
        wait_until(lambda: is_mounted(self.dir) or self.mount.poll() is not None, "the mount")
        if self.mount.poll() is not None:
            self.log.seek(0)
            self.skipTest("cannot mount here: " + self.log.read())

    def test_a_trigger_does_not_let_the_command_go(self):
        """It arms its event; the hits until that is on would be filtered."""
        self.mount.stdin.write("0 20 1\n")
        self.mount.stdin.flush()
        self.echo(DEFINITIONS, "kprobe_events")
        self.echo("traceoff if i == 7", "events/kprobes/step/trigger")
        for _ in range(100):  # rounds of the mount, each of which may let it go
            self.assertEqual(self.cat("events/kprobes/step/enable"), "0*\n")
        self.echo("1", "events/kprobes/step/enable")
        self.assertEqual(self.mount.stdout.readline(), "done\n")
        wait_until(lambda: self.cat("tracing_on") == "0\n", "the trigger")
        numbers = re.findall(r": step: .* i=(-?\d+)$", self.cat("trace"), re.MULTILINE)
        self.assertEqual([int(number) for number in numbers], list(range(8)))
        self.mount.stdin.close()
        self.assertEqual(self.end_mount()["step"], [20, 8, 12, 0, 0])


if __name__ == "__main__":
    main()
