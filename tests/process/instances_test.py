"""Instances of `kevtrace run` and of what a mount is told from the start: other switches, filters, triggers and records of the same events."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from kevtest import KEVTRACE, PROGRAMS, main

STEPS = os.path.join(PROGRAMS, "steps")
STEP, OTHER, BACK = "p:step steps:step i=%di:s64", "p:other steps:other i=%di:s64", "r:back steps:step v=$retval:x64"


def run(*words, verb="run", to=100, cwd=None):
    """step(i) and other(i), in turn, for i below `to`."""
    return subprocess.run([KEVTRACE, verb, *words, "--", STEPS], input=f"0 {to} 1\n", capture_output=True, text=True, timeout=60, cwd=cwd)


def lines(text, event, instance=""):
    head = f"{instance}: " if instance else r" +"
    return [int(i, 0) for i in re.findall(rf"^ *{head} *steps-\d+ .* {event}: \(.*\) [iv]=(\w+)$", text, re.MULTILINE)]


class Instances(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def ran(self, *words, **options):
        done = run(*words, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        for account in re.findall(r"^\S+: hits .*$", done.stderr, re.MULTILINE):
            hits, *parts = (int(number) for number in re.findall(r"\d+", account.split(": ", 1)[1]))
            self.assertEqual(hits, sum(parts), account)
        return done

    def report(self, name):
        return subprocess.run([KEVTRACE, "report", self.path(name)], capture_output=True, text=True, check=True).stdout

    def test_each_has_its_own_filter(self):
        done = self.ran("-e", STEP, "--filter", "step: i < 5", "-B", "high", "--enable", "step", "--filter", "step: i > 96", "-B", "all", "--enable", "step")
        self.assertEqual(lines(done.stdout, "step"), list(range(5)))
        self.assertEqual(lines(done.stdout, "step", "high"), [97, 98, 99])
        self.assertEqual(lines(done.stdout, "step", "all"), list(range(100)))
        self.assertIn("\nstep: hits 100 = recorded 5 + filtered 95 + lost 0 + missed 0\n", done.stderr)
        self.assertIn("\nhigh/step: hits 100 = recorded 3 + filtered 97 + lost 0 + missed 0\n", done.stderr)

    def test_one_is_stopped_and_the_others_go_on(self):
        done = self.ran("-e", STEP, "-e", OTHER, "-B", "short", "--enable", "step", "--enable", "kprobes:other", "--trigger", "step: traceoff if i == 3")
        self.assertEqual(lines(done.stdout, "step"), list(range(100)))
        self.assertEqual(lines(done.stdout, "step", "short"), list(range(4)))
        self.assertEqual(lines(done.stdout, "other", "short"), list(range(3)))

    def test_what_is_defined_behind_it_is_on_there_alone(self):
        done = self.ran("-e", STEP, "-B", "returns", "-e", BACK, "-B", "none", "--trigger", "step: traceon")
        self.assertEqual(len(lines(done.stdout, "back", "returns")), 100)
        self.assertEqual((lines(done.stdout, "back"), lines(done.stdout, "step", "returns")), ([], []))
        self.assertEqual(lines(done.stdout, "step", "none"), [])

    def test_each_may_have_its_file(self):
        self.ran("-e", STEP, "-o", self.path("a.dat"), "-B", "b", "--enable", "step", "--filter", "step: i == 7", "-o", self.path("b.json"),
                 "-B", "c", "-e", OTHER, "--filter", "other: i > 97", "-o", self.path("c.txt"))
        self.assertEqual(lines(self.report("a.dat"), "step"), list(range(100)))
        with open(self.path("b.json"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(re.findall(r'"i":(\d+)', text), ["7"])
        self.assertIn('"totals":{"kprobes/step":{"hits":100,"recorded":1,"filtered":99,', text)
        with open(self.path("c.txt"), encoding="utf-8") as file:
            self.assertEqual(lines(file.read(), "other"), [98, 99])

    def test_a_name_may_come_again(self):
        done = self.ran("-e", STEP, "-B", "x", "--enable", "step", "-B", "y", "--enable", "step", "-B", "x", "--filter", "step: i == 1")
        self.assertEqual((lines(done.stdout, "step", "x"), len(lines(done.stdout, "step", "y"))), ([1], 100))

    def test_histograms_are_its_own(self):
        done = self.ran("-e", STEP, "--hist", "step: keys=i if i < 2", "-B", "x", "--hist", "step: keys=i.log2 if i > 90")
        self.assertIn("# kprobes:step\n", done.stdout)
        top, other = done.stdout.split("# x/kprobes:step\n")
        self.assertIn("    Hits: 2\n", top)
        self.assertIn("    Hits: 9\n", other)
        self.assertIn("\nx/step: hits 100 = recorded 0 + aggregated 9 + filtered 91 + lost 0 + missed 0\n", done.stderr)
        file = self.path("h.json")
        self.ran("-e", STEP, "--hist", "step: keys=i if i < 2", "-B", "x", "--hist", "step: keys=i.log2 if i > 90", "--hist-output", file)
        with open(file, encoding="utf-8") as opened:
            self.assertEqual(re.findall(r'"event":"(.*?)".*?"hits":(\d+)', opened.read()), [("kprobes:step", "2"), ("x/kprobes:step", "9")])

    def test_stacks_come_to_each_recording(self):
        self.ran("-e", STEP, "--stack", "-o", self.path("a.dat"), "-B", "b", "--enable", "step", "--filter", "step: i == 7", "-o", self.path("b.dat"), to=20)
        self.assertEqual([self.report(name).count(" => run") for name in ("a.dat", "b.dat")], [20, 1])

    def test_the_count_is_of_all(self):
        done = self.ran("-c", "10", "-e", STEP, "-B", "x", "--enable", "step")
        self.assertEqual((len(lines(done.stdout, "step")), len(lines(done.stdout, "step", "x"))), (5, 5))

    def test_several_processes(self):
        programs = [subprocess.Popen([STEPS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        pids = ",".join(str(one.pid) for one in programs)
        tracer = subprocess.Popen([KEVTRACE, "run", "-e", STEP, "--pid", pids, "-o", self.path("a.dat"), "-B", "b", "--enable", "step", "--filter",
                                   "step: i > 47", "-o", self.path("b.dat")], stderr=subprocess.PIPE, text=True)
        for _ in programs:
            tracer.stderr.readline()  # how each was armed
        for one in programs:
            one.stdin.write("0 50 1\n")
            one.stdin.flush()
            self.assertEqual(one.stdout.readline(), "done\n")
        tracer.send_signal(signal.SIGINT)
        self.assertEqual(tracer.wait(timeout=60), 0, tracer.stderr.read())
        tracer.stderr.close()
        for one in programs:
            one.stdin.close()
            one.wait(timeout=60)
            one.stdout.close()
        self.assertEqual(len(lines(self.report("a.dat"), "step")), 100)
        self.assertEqual(sorted(lines(self.report("b.dat"), "step")), [48, 48, 49, 49])

    def test_a_script_says_it_all(self):
        self.path("s.kev", f"{STEP}\n  filter i < 3\n{OTHER}\n  enable 0\ninstance high output high.dat\nevent step\n  filter i > 96\nevent other\n  enable 0\n"
                           "  trigger traceoff:1\ninstance returns\nevent kprobes/other\n")
        done = self.ran("-p", "s.kev", cwd=self.folder.name)
        self.assertEqual((lines(done.stdout, "step"), lines(done.stdout, "other")), ([0, 1, 2], []))
        self.assertEqual(len(lines(done.stdout, "other", "returns")), 100)
        self.assertEqual(self.report("high.dat"), "")  # `other` is hit first, and stops it
        self.assertIn("kprobes/other is off in `high`: `enable 0`\n", done.stderr)

    def test_a_compiled_script_keeps_its_instances(self):
        self.path("s.kev", f"{STEP}\ninstance high\nevent step\n  filter i > 96\n")
        subprocess.run([KEVTRACE, "compile", "s.kev", "-o", "s.kevo", "--", STEPS], check=True, cwd=self.folder.name, capture_output=True)
        alone = shutil.copy(KEVTRACE, self.path("kevtrace"))  # no compiler beside it
        done = subprocess.run([alone, "run", "s.kevo", "--", STEPS], input="0 100 1\n", capture_output=True, text=True, timeout=60, cwd=self.folder.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((len(lines(done.stdout, "step")), lines(done.stdout, "step", "high")), (100, [97, 98, 99]))

    def test_a_compiled_script_has_the_code_of_who_is_on(self):
        for text, top, other in ((f"{STEP}\n  filter i < 2\ninstance y\nevent step\n  enable 0\n", 2, 0), (f"{STEP}\n  enable 0\ninstance y\nevent step\n  filter i < 3\n", 0, 3),
                                 (f"{STEP}\ninstance y\nevent step\n  enable 0\n  filter i < 3\n", 100, 0)):
            self.path("s.kev", text)
            subprocess.run([KEVTRACE, "compile", "s.kev", "-o", "s.kevo"], check=True, cwd=self.folder.name, capture_output=True)
            alone = shutil.copy(KEVTRACE, self.path("kevtrace"))  # no compiler beside it
            done = subprocess.run([alone, "run", "s.kevo", "--", STEPS], input="0 100 1\n", capture_output=True, text=True, timeout=60, cwd=self.folder.name)
            self.assertEqual(done.returncode, 0, text + done.stderr)
            self.assertEqual((len(lines(done.stdout, "step")), len(lines(done.stdout, "step", "y"))), (top, other), text)

    def test_a_mount_has_them_from_the_start(self):
        for words in (["-B", "high", "--enable", "step", "--filter", "step: i > 96"],
                      ["-p", self.path("m.kev", "instance high output x.dat\nevent kprobes/step\n  filter i > 96\n")]):
            directory = self.path("t")
            mount = subprocess.Popen([KEVTRACE, "mount", directory, "-e", STEP, *words, "--", STEPS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True)
            end = time.monotonic() + 60
            while not os.path.exists(os.path.join(directory, "instances/high")) and mount.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
            mount.stdin.write("0 100 1\n")
            mount.stdin.flush()
            self.assertEqual(mount.stdout.readline(), "done\n")
            found = []
            for name in ("trace", "instances/high/trace"):
                with open(os.path.join(directory, name), encoding="utf-8") as file:
                    found.append(len(re.findall(" step: ", file.read())))
            mount.stdin.close()
            said = mount.stderr.read()
            self.assertEqual(mount.wait(timeout=60), 0, said)
            mount.stdout.close()
            mount.stderr.close()
            self.assertEqual(found, [100, 3])
            if words[0] == "-p":
                self.assertIn("m.kev:1: note: `output` is for `kevtrace run`; a mount goes on without it", said)

    def refused(self, status, text, *words, **options):
        done = run(*words, **options)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertIn(text, done.stderr)

    def test_one_output_ends_and_the_others_are_whole(self):
        """A reader that leaves ends the tracing; what was traced up to there is in the other file, with its counters."""
        done = subprocess.run(f"{KEVTRACE} run -e '{STEP}' -B x --enable step -o {self.path('x.json')} -- {STEPS} | head -2", shell=True, input="0 20000 1\n",
                              capture_output=True, text=True, timeout=60)
        self.assertIn("nobody reads the trace any more", done.stderr)
        with open(self.path("x.json"), encoding="utf-8") as file:
            last = file.read().splitlines()[-1]
        recorded = int(re.search(r"^x/step: hits \d+ = recorded (\d+) ", done.stderr, re.MULTILINE)[1])
        self.assertIn(f'"type":"end","events":{recorded},', last)
        full = run("-e", STEP, "-o", self.path("top.dat"), "-B", "x", "--enable", "step", "-o", "/dev/full", to=20)
        self.assertEqual(full.returncode, 1, full.stderr)
        recorded = int(re.search(r"^step: hits \d+ = recorded (\d+) ", full.stderr, re.MULTILINE)[1])
        self.assertEqual(len(lines(self.report("top.dat"), "step")), recorded)

    def test_a_run_that_is_refused_empties_no_file(self):
        old = self.path("old.dat", "an earlier trace")
        for words in (["-B", "x", "--enable", "step"], ["-B", "x", "--enable", "step", "-o", "/nonexistent/b.dat"],
                      ["-B", "x", "--enable", "step", "-o", os.path.join(self.folder.name, ".", "old.dat")]):
            self.assertEqual(run("-e", STEP, "-o", old, *words).returncode, 2, words)
            with open(old, encoding="utf-8") as file:
                self.assertEqual(file.read(), "an earlier trace")
        self.refused(2, "are the same file", "-e", STEP, "--hist", "step: keys=i", "-B", "x", "--enable", "step", "-o", self.path("h"), "--hist-output", self.path("h"))

    def test_histograms_need_no_file(self):
        done = self.ran("-e", STEP, "-o", self.path("a.dat"), "-B", "x", "--hist", "step: keys=i if i < 3")
        self.assertTrue(done.stdout.endswith("    Hits: 3\n    Entries: 3\n    Dropped: 0\n"), done.stdout)
        self.ran("-e", STEP, "--hist", "step: keys=i", "--hist-format", "csv", "-B", "x", "--hist", "step: keys=i", "-o", self.path("x.txt"))
        with open(self.path("x.txt"), encoding="utf-8") as file:
            self.assertTrue(file.readline().startswith("event,histogram,"))

    def test_names(self):
        marked = os.path.join(PROGRAMS, "marked")
        done = subprocess.run([KEVTRACE, "run", "-B", "x", "-e", "p marked:marked:measured $arg1", "--", marked, "2"], capture_output=True, text=True, timeout=60)
        self.assertIn("x/measured: hits 2 = recorded 2 ", done.stderr)
        self.assertEqual(len(re.findall(r"^x: .* measured: ", done.stdout, re.MULTILINE)), 2)
        two = ("-e", "p:g1/step steps:step i=%di:s64", "-e", "p:g2/step steps:step i=%di:s64")
        self.refused(2, "several groups have `step`; write GROUP:EVENT", *two, "-B", "x", "--enable", "step")
        self.refused(3, "several groups have `step`; write GROUP:EVENT", *two, "-B", "x", "--enable", "g1:step", "--filter", "step: i == 1")
        plain = self.path("plain.kev", STEP + "\n")
        self.assertEqual(lines(self.ran("-p", plain, "-B", "x", "--enable", "step").stdout, "step", "x"), list(range(100)))
        self.refused(3, "%zz", "-e", "p:bad steps:step i=%zz", "-B", "x", "--enable", "bad")
        self.assertIn("instance `x` has no event: say --enable EVENT behind it", self.ran("-e", STEP, "-B", "x", "--filter", "step: i == 1").stderr)

    def test_what_is_wrong_is_told(self):
        self.refused(2, "`a/b`: an instance is named as a folder is: no `/`, not `.` or `..`", "-e", STEP, "-B", "a/b")
        self.refused(2, "-o: one file is enough", "-e", STEP, "-o", "/dev/null", "-o", "/dev/null")
        self.refused(2, "--enable nosuch: it is not defined here; of the kernel's own write GROUP:EVENT", "-e", STEP, "-B", "x", "--enable", "nosuch")
        self.refused(3, "<x: filter 1>:1", "-e", STEP, "-B", "x", "--enable", "step", "--filter", "step: nosuch == 1")
        self.refused(3, "<x: trigger 1>:1", "-e", STEP, "-B", "x", "--trigger", "step: traceof")
        self.refused(3, "<x: event 1>:1", "-e", STEP, "-B", "x", "-e", "p:q steps:step %zz")
        self.path("t.kev", f"{STEP}\ninstance x output a.dat\ninstance x output b.dat\n")
        self.refused(3, "`x` has the output of line 2", "-p", "t.kev", cwd=self.folder.name)
        self.refused(2, "the records of instance `x` need a file of their own, since the top instance makes a recording: -o FILE behind --instance", "-e", STEP, "-o", self.path("a.dat"), "-B", "x",
                     "--enable", "step")
        self.refused(2, "openmetrics is one exposition of one instance", "-e", STEP, "--hist-format", "openmetrics", "--hist", "step: keys=i", "-B", "x")
        self.path("w.kev", f"{STEP}\ninstance x output /tmp/x.dat\nevent step\n")
        self.refused(2, "w.kev:2: `/tmp/x.dat` is not in this folder; say -B x -o /tmp/x.dat, if it shall be written", "-p", "w.kev", cwd=self.folder.name)
        self.refused(2, "a question has one answer, of the top instance: `x` is for `kevtrace run` and `mount`", "-p", self.path("q.kev", f"{STEP}\ninstance x\nevent step\n"),
                     verb="count")
        self.refused(2, "File name too long, while making instance `x", "-e", STEP, "-B", "x" * 256)


if __name__ == "__main__":
    main()
