"""Go programs: entry probes, also in the runtime, while stacks move and threads come; return probes are refused."""
import os
import re
import signal
import subprocess
import unittest

from attach_test import Attached, Target, read, text_of, wait_until
from goprograms import GO, built
from kevtest import KEVTRACE, main, plain

WORK = "p:w main.work n=%ax:s64 s=+0(%bx):x8[4] t=+0(%bx):string(%cx)"
DEEP = "p:d main.deep n=%ax:s64 from=$stack0:x64"
FIRST = "p:f main.first at=%ax:x64"
CALLED = "the stacks of goroutines are small: a hit runs on the signal stack"

if not GO:
    print("go_test: no Go compiler (package golang-go)")
    raise SystemExit(77)


class GoPrograms(Attached):
    def functions_of(self, program):
        """What `nm` calls text and a definition can name."""
        listed = subprocess.run(["nm", program], capture_output=True, check=True, text=True).stdout
        names = [line.split()[2] for line in listed.splitlines() if len(line.split()) == 3 and line.split()[1] in "tT"]
        return sorted({name for name in names if re.fullmatch(r"[\w./]+", name)})

    def check_work(self, program):
        traced = self.run_both([program], WORK, DEEP, FIRST)
        self.assert_none_lost(traced)
        self.assertEqual(traced.status, 3)
        self.assertEqual(set(traced.how_armed().values()), {CALLED})
        numbers = [r["n"] for r in traced.records("w")]
        self.assertEqual(sorted(numbers), sorted([*range(500)] * 8 + [7]))
        self.assertEqual([bytes(r["s"]) for r in traced.records("w") if bytes(r["s"]) != b"from"], [b"main"])
        self.assertEqual(sorted({r["t"] for r in traced.records("w")}), [b"from a goroutine", b"main"])  # Go's strings have no NUL
        self.assertEqual([r["at"] == 0 for r in traced.records("f")], [False, True])
        self.assertGreaterEqual(len(traced.records("d")), 8 * 5 * 301)
        self.assertEqual({r["n"] for r in traced.records("d")}, {*range(301)})

    def test_static(self):
        self.check_work(built("static"))

    def test_stacks(self):
        program = built("static")
        done = subprocess.run([KEVTRACE, "run", "--stack", "-f", "folded", "-e", DEEP, "--", program], capture_output=True, text=True, timeout=300)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        stacks = [line.rsplit(" ", 1) for line in done.stdout.splitlines() if ";" in line]
        self.assertGreater(len(stacks), 3)
        for frames, count in stacks:
            names = frames.split(";")[1:]
            self.assertEqual(set(names[names.index("main.deep"):]), {"main.deep"})
        self.assertTrue(any("main.inParallel.func1;main.one;main.deep" in frames for frames, _ in stacks))

    def test_position_independent(self):
        self.check_work(built("pie", "-buildmode=pie"))

    def test_stripped(self):
        """Names come from the runtime's own table of functions."""
        self.check_work(built("stripped", "-ldflags=-s -w"))
        self.check_work(built("stripped_pie", "-ldflags=-s -w", "-buildmode=pie"))

    def test_with_c(self):
        program = built("with_c", source="with_c.go", cgo=True)
        traced = self.run_both([program], "p:w main.work n=%ax:s64", "p:m libc:calloc n=%di:u64 z=%si:u64",
                               "r:back libc:calloc at=$retval:x64", filters=["m: z == 24", "back: at != 0"])
        # A function whose stack has to grow starts again, as a uprobe sees it, too.
        self.assertGreaterEqual(len(traced.records("w")), 4000)
        self.assertEqual({r["n"] for r in traced.records("w")}, {*range(1000)})
        self.assertEqual(len(traced.records("m")), 4000)
        self.assertEqual(traced.how_armed()["w"], CALLED)
        self.assertEqual((traced.how_armed()["m"], traced.how_armed()["back"]), ("jump", "jump"))
        self.assert_none_lost(traced)

    def test_every_function(self):
        """The runtime's own, too: scheduler, collector, signal handlers, stack growth."""
        program = built("static")
        expected = plain([program])
        definitions = [f"p:f{i} {name}" for i, name in enumerate(self.functions_of(program))]
        events = self.path("events", "\n".join(definitions).encode() + b"\n")
        for _ in range(3):
            done = plain([KEVTRACE, "run", "--keep-going", "-p", events, "-o", "/dev/null", "--", program])
            self.assertEqual(done[:2], expected[:2])
            accounts = re.findall(rb"^f\d+: hits (\d+) = recorded (\d+) \+ filtered (\d+) \+ lost (\d+) \+ missed (\d+)$",
                                  done[2], re.MULTILINE)
            sums = [tuple(map(int, numbers)) for numbers in accounts]
            self.assertGreater(len(sums), 1000)
            self.assertEqual([s for s in sums if s[0] != sum(s[1:])], [])
            self.assertGreater(sum(s[0] for s in sums), 100_000)
            refused = set(re.findall(rb"while placing `p:f\d+ (\S+)`", done[2])) - {b"runtime.etext"}  # where the text ends
            self.assertEqual(refused, {b"runtime.clone.abi0", b"runtime.settls.abi0", b"runtime.rt0_go.abi0"})

    def test_running_and_again(self):
        target = Target(self, [built("static"), "stay"])
        text = text_of(target.pid, "/")
        definitions = ("p:w main.work n=%ax:s64", "p:d main.deep", "p:s runtime.schedule", FIRST)
        for _ in range(3):
            tracer = self.start([target.pid], *definitions, words=("--buffer", "65536"))
            target.wait_for_ticks(3)
            traced = self.stop(tracer, definitions)
            self.assertGreater(traced.accounts["w"].hits, 0)
            self.assertEqual(text_of(target.pid, "/"), text)
            self.assertNotIn(b"memfd:kevtrace", read(f"/proc/{target.pid}/maps"))
            target.wait_for_ticks(1)
        target.tell(b"last")
        self.assertEqual(target.process.stdout.readline().split()[2], b"0")  # no wrong result
        target.process.stdin.close()
        self.assertEqual(target.process.wait(60), 0)

    def test_a_fault_where_a_probe_was(self):
        """A disarmed site is the program's own again: first(nil) faults there at every tick."""
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            self.skipTest("/dev/fuse cannot be opened")
        target = Target(self, [built("static"), "stay"])
        folder = self.path("tracing")
        mount = subprocess.Popen([KEVTRACE, "mount", folder, "--pid", str(target.pid)], stderr=subprocess.DEVNULL)
        self.addCleanup(mount.wait, 60)
        self.addCleanup(mount.send_signal, signal.SIGINT)
        enable = os.path.join(folder, "events/kprobes/enable")
        wait_until(lambda: os.path.exists(os.path.join(folder, "kprobe_events")) or mount.poll() is not None, "it is mounted")
        if mount.poll() is not None:
            self.skipTest("cannot mount here")
        with open(os.path.join(folder, "kprobe_events"), "w") as events:
            events.write("p:f main.first\n")
        for value in "1010":
            with open(enable, "w") as file:
                file.write(value)
            target.wait_for_ticks(2)
        target.tell(b"last")
        self.assertEqual(target.process.stdout.readline().split()[2], b"0")

    def test_the_tracer_is_killed(self):
        program = built("static")
        target = Target(self, [program, "stay"])
        text = text_of(target.pid, program)
        tracer = self.start([target.pid], WORK, DEEP)
        self.wait_for_records(10)
        tracer.send_signal(signal.SIGKILL)
        tracer.wait()
        wait_until(lambda: text_of(target.pid, program) == text, "the target is left")
        target.wait_for_ticks(2)

    def refusal(self, *words):
        status, _, err = plain([KEVTRACE, "run", *words, "--", built("static")])
        self.assertEqual(status, 1, err)
        return err

    def test_refusals(self):
        self.assertIn(b"no return probe on Go code: its runtime moves stacks and unwinds them itself",
                      self.refusal("-e", "r:back main.work"))
        for word in ("n=$arg1", "n=n"):
            self.assertIn(b"Go's are in %ax %bx %cx %di %si %r8 %r9 %r10 %r11", self.refusal("-e", f"p:w main.work {word}"))
        self.assertIn(b"no injection into Go code: its functions return through their own frames",
                      self.refusal("-e", WORK, "--unsafe", "--inject", "w: ret=1"))
        self.assertIn(b"a thread runs there before it is one of its own", self.refusal("-e", "p:c runtime.clone.abi0"))


if __name__ == "__main__":
    main()
