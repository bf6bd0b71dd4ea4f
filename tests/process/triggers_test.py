"""Triggers that hits carry out: what they switch holds from the next hit on, whoever reads and whenever."""
import os
import re
import signal
import threading

from kevtest import PROGRAMS, main
from mounted import MountTest, wait_until

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
        self.assertEqual(self.recorded("step"), list(range(500)))
        self.assertEqual(self.recorded("other"), list(range(500)))
        self.echo("1", "tracing_on")
        self.run_steps(1000, 1010)
        self.assertEqual(self.recorded("step"), list(range(500)) + list(range(1000, 1010)))
        self.echo("!traceoff", self.event("step", "trigger"))
        self.run_steps(500, 501)
        self.assertEqual(self.cat("tracing_on"), "1\n")
        self.assertEqual(self.recorded("step")[-1], 500)
        accounts = self.end_mount()
        self.assertEqual(accounts["step"], [1011, 511, 500, 0, 0])
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
        self.assertEqual((hits, filtered, missed), (FLOOD, 10, 0))
        self.assertGreater(lost, 0)

    def test_counts_go_down_when_something_changes(self):
        self.switch_on()
        self.echo("traceoff:5 if (i & 1)", self.event("step", "trigger"))
        self.echo("traceon", self.event("other", "trigger"))
        self.run_steps(0, 100)
        self.assertEqual(self.recorded("step"), [i for i in range(100) if i % 2 == 0 or i > 9])
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

    def test_two_instances_and_snapshots_are_the_readers(self):
        os.mkdir(self.path("instances/second"))
        self.switch_on()
        self.echo("1", "instances/second/" + self.event("step", "enable"))
        self.echo("traceoff if i == 10", self.event("step", "trigger"))
        self.run_steps(0, 20)
        self.assertEqual(self.recorded("step"), list(range(10)))
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
            for round in range(6):
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
        self.assertEqual(self.recorded("step"), list(range(5)))


if __name__ == "__main__":
    main()
