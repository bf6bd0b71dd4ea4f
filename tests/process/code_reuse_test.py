"""Code goes when its event goes, but not from under who may still run it: calls under a return probe, forked children.
KEVT_CYCLES: how many events come and go by the files; KEVT_SEED repeats their shapes."""
import os
import random
import sys

from kevtest import main
from mounted import MountTest, wait_until

CYCLES = int(os.environ.get("KEVT_CYCLES", "200"))
SEED = int(os.environ.get("KEVT_SEED", random.randrange(1 << 32)))
# One line in, one out. A child answers through the same pipes while the parent waits for it to end.
TARGET = r"""
import os, sys
for line in sys.stdin:
    if line == "fork\n":
        child = os.fork()
        if child:
            print("waits", flush=True)
            os.waitpid(child, 0)
            print("goes on", flush=True)
    elif line == "end\n":
        os._exit(0)
    else:
        print("ppid", os.getppid(), flush=True)
"""


class CodeReuse(MountTest):
    # Unbuffered: the child must not have lines that the parent has read ahead.
    COMMAND = (sys.executable, "-u", "-c", TARGET)

    def ask(self, line="ask"):
        self.target.stdin.write(line + "\n")
        self.target.stdin.flush()
        return self.target.stdout.readline().rstrip("\n")

    def define(self, text, name):
        self.echo(text + "\n", "kprobe_events")
        self.echo("1", f"events/kprobes/{name}/enable", "w")

    def remove(self, name):
        self.echo("0", f"events/kprobes/{name}/enable", "w")
        self.echo(f"-:{name}\n", "kprobe_events")

    def shape(self, number):
        kind = self.random.choice(("p", "r"))
        base = "$retval" if kind == "r" else "%di"
        arguments = [f"a{i}={base}:{self.random.choice(('u8', 's16', 'x32', 'u64'))}" for i in range(self.random.randrange(5))]
        return f"{kind}:e{number} libc:{self.random.choice(('getppid', 'write'))} " + " ".join(arguments)

    def cycle(self, times, calls=True):
        self.random = random.Random(SEED)
        for number in range(times):
            self.define(self.shape(number), f"e{number}")
            if calls and number % 10 == 0:
                self.assertEqual(self.ask(), f"ppid {os.getpid()}")
            self.remove(f"e{number}")

    def memory(self):
        """KiB of the mount and of the target, of their own (the tables that they share have a fixed size), and how many maps that has."""
        def of(pid):
            with open(f"/proc/{pid}/status") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
        with open(f"/proc/{self.mount.pid}/task/{self.mount.pid}/children") as children:
            tracer = max(of(pid) for pid in [self.mount.pid, *map(int, children.read().split())])
        with open(f"/proc/{self.target.pid}/maps") as maps:
            return tracer, of(self.target.pid), len(maps.readlines())

    def test_what_comes_and_goes_takes_no_more(self):
        with self.subTest(KEVT_SEED=SEED):
            self.cycle(max(CYCLES // 10, 150))
            before = self.memory()
            self.cycle(CYCLES)
            after = self.memory()
            print(f"{CYCLES} events: {before} KiB, KiB and maps before, {after} after", file=sys.stderr)
            self.assertLess(after[0], before[0] + (8 << 10))
            self.assertLess(after[1], before[1] + (1 << 10))
            self.assertLessEqual(after[2], before[2] + 1)

    def test_a_call_comes_back_to_code_whose_event_is_gone(self):
        self.define("r:held libc:read v=$retval", "held")
        self.define("p:entered libc:read", "entered")
        self.ask()
        wait_until(lambda: "entered: " in self.cat("trace"), "the target to wait in read()")
        self.remove("held")
        self.remove("entered")
        self.cycle(CYCLES, calls=False)
        self.assertEqual(self.ask(), f"ppid {os.getpid()}")
        self.assertEqual(self.ask(), f"ppid {os.getpid()}")

    def go_on_in_a_child(self):
        self.define("p:held libc:getppid", "held")
        self.define("r:held_too libc:getppid v=$retval", "held_too")
        self.assertEqual(self.ask("fork"), "waits")
        self.remove("held")
        self.remove("held_too")
        self.random = random.Random(SEED)
        for number in range(CYCLES):
            self.define(self.shape(number), f"e{number}")
            if number % 10 == 0:
                self.assertEqual(self.ask(), f"ppid {self.target.pid}")
            self.remove(f"e{number}")
        self.assertEqual(self.ask("end"), "goes on")
        self.cycle(CYCLES)

    def test_a_child_goes_on_through_jumps_that_it_was_forked_with(self):
        self.go_on_in_a_child()

    def test_a_child_goes_on_through_breakpoints_that_it_was_forked_with(self):
        self.echo("0", "debug/kprobes-optimization", "w")
        self.go_on_in_a_child()

    def test_a_child_under_a_breakpoint_when_its_event_counts_in_memory_that_it_has_not(self):
        self.echo("0", "debug/kprobes-optimization", "w")
        self.define("p:held libc:getppid a=%di:u64", "held")
        self.assertEqual(self.ask("fork"), "waits")
        self.assertEqual(self.ask(), f"ppid {self.target.pid}")
        self.echo("0", "events/kprobes/held/enable", "w")  # alone, a histogram counts at the hit
        for key in ("common_pid", "a", "a,common_pid"):
            self.echo(f"hist:keys={key}", "events/kprobes/held/trigger", "w")
            self.assertEqual(self.ask(), f"ppid {self.target.pid}")
        for key in ("a", "common_pid", "a,common_pid"):
            self.echo(f"!hist:keys={key}", "events/kprobes/held/trigger", "w")
            self.assertEqual(self.ask(), f"ppid {self.target.pid}")
        self.echo("1", "events/kprobes/held/enable", "w")  # in code that the child has, again
        records = self.cat("trace").count("held: ")
        self.assertEqual(self.ask(), f"ppid {self.target.pid}")
        self.assertEqual(self.cat("trace").count("held: "), records + 1)
        self.assertEqual(self.ask("end"), "goes on")
        self.cycle(CYCLES)
        self.assertEqual(self.ask(), f"ppid {os.getpid()}")

    def test_filters_that_are_written_all_day(self):
        self.define("p:held libc:getppid a=%di:u64", "held")
        for number in range(CYCLES):
            self.echo(f"a == {number} || a != 0 || common_pid > {number % 7}", "events/kprobes/held/filter", "w")
            if number % 10 == 0:
                self.ask()
        wait_until(lambda: int(self.cat("kprobe_profile").split()[1]) >= CYCLES // 10, "the hits")
        accounts = self.end_mount()
        self.assertGreaterEqual(accounts["held"][0], CYCLES // 10)


if __name__ == "__main__":
    main()
