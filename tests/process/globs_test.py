"""Globs in places: which functions they mean, under which names, and what is said of those that cannot be probed."""
import os
import re
import subprocess

from kevtest import KEVTRACE, PROGRAMS, TIMEOUT_S, ProcessTest, main
from mounted import MountTest

STEPS = os.path.join(PROGRAMS, "steps")


class Globs(ProcessTest):
    def steps(self, *words, status=0):
        done = subprocess.run([KEVTRACE, "run", *words, "--", STEPS], input="0 5 1\n", capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, status, done.stderr)
        self.err, self.out = done.stderr, done.stdout
        return re.findall(r"(\w+): \((\w+)\+0x0/\w+\)(.*)", done.stdout)

    def test_an_event_for_each_function(self):
        hits = self.steps("-e", "p steps:[so]t?* i=%di:s64")
        self.assertIn("`p steps:[so]t?* i=%di:s64`: 2 functions\n", self.err)
        self.assertEqual(sorted({hit[:2] for hit in hits}), [("p_steps_other_0", "other"), ("p_steps_step_0", "step")])
        self.assertEqual([hit[2] for hit in hits if hit[1] == "step"], [f" i={i}" for i in range(5)])

    def test_one_event_for_all(self):
        hits = self.steps("-e", "p:both steps:[so]t?* i=%di:s64", "--filter", "both: i > 2")
        self.assertEqual(sorted(hits), [("both", name, f" i={i}") for name in ("other", "step") for i in (3, 4)])
        self.assertIn("both: hits 10 = recorded 4 + filtered 6 + lost 0 + missed 0\n", self.err)

    def test_names_that_are_made(self):
        self.steps("-e", "r:grp/after_* steps:[so]t?*")
        self.assertRegex(self.err, r"after_other: hits 5 = recorded 5 ")
        self.assertRegex(self.err, r"after_step: hits 5 = recorded 5 ")
        self.assertEqual(len(re.findall(r" after_(?:step|other): \(\w+\+\w+/\w+ <- (?:step|other)\)", self.out)), 10)

    def test_a_function_of_many_names_is_hit_once(self):
        """open, open64, __open and others are one function of the C library."""
        script = "import os\nfor i in range(7): os.close(os.open('/dev/null', os.O_RDONLY))"
        done = subprocess.run([KEVTRACE, "run", "-e", "p:opened libc:*open*64* path=+0(%di):string", "--filter", "opened: path == \"/dev/null\"", "--",
                               "/usr/bin/python3", "-S", "-c", script], capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(done.stdout.count("/dev/null"), 7, done.stdout)
        functions = int(re.search(r"`: (\d+) functions?\n", done.stderr)[1])
        listed = subprocess.run([KEVTRACE, "list", "*open*64*", "/usr/lib/x86_64-linux-gnu/libc.so.6"], capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertLess(functions, len(listed.stdout.splitlines()))

    def test_names_of_the_source(self):
        done = subprocess.run([KEVTRACE, "run", "-e", "p:in_* named:shapes::Square::*", "--", os.path.join(PROGRAMS, "named")], capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"in_shapes__Square__\w+: hits [1-9]")
        self.assertNotIn("in__Z", done.stderr)

    def test_all_of_a_library(self):
        """Thousands of functions: those that cannot be probed are told in a line, and so is how they are armed."""
        done = subprocess.run([KEVTRACE, "run", "-e", "p:all libc:*", "--hist", "all: keys=__probe_ip.sym", "--", STEPS], input="0 5 1\n", capture_output=True,
                              text=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        functions = int(re.search(r"`p:all libc:\*`: (\d+) functions\n", done.stderr)[1])
        self.assertGreater(functions, 1500)
        self.assertRegex(done.stderr, r"runtime=inproc pid=\d+ \d+ probes by a jump, \d+ by int3\n")
        self.assertLess(len(done.stderr), 2000, done.stderr)
        for name in ("puts", "fflush"):
            self.assertRegex(done.stdout, rf"\] {name} \[libc.so.6\] +\}} hitcount: +1\n")

    def test_mistakes(self):
        self.steps("-e", "p *open*", status=3)
        self.assertIn("`*open*` needs the file whose functions are meant: `libc:*open*`", self.err)
        self.steps("-e", "p steps:nosuch*", status=3)
        self.assertIn("no function that can be probed matches `nosuch*`", self.err)
        self.steps("-e", "p:one steps:step", "-e", "p:bad steps:step+1", status=3)  # others are as strict as ever


class GlobsInAMount(MountTest):
    COMMAND = (STEPS,)

    def test_a_line_becomes_lines(self):
        self.echo("p:g_* steps:[so]t?* i=%di:s64\n", "kprobe_events")
        self.assertEqual(self.cat("kprobe_events"), "p:kprobes/g_other steps:other i=%di:s64\np:kprobes/g_step steps:step i=%di:s64\n")
        with self.assertRaises(OSError):
            self.echo("p:x steps:nosuch*\n", "kprobe_events")
        self.assertIn("Invalid probed address or symbol", self.cat("error_log"))
        self.echo("1", "events/kprobes/enable", "w")
        self.target.stdin.write("0 5 1\n")
        self.target.stdin.flush()
        self.assertEqual(self.target.stdout.readline(), "done\n")
        self.assertEqual(len(re.findall(r"g_(?:step|other): ", self.cat("trace"))), 10)


if __name__ == "__main__":
    main()
