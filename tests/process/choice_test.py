"""Processes that are chosen: by name, control group and container, several at once, and those that come later."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from kevtest import KEVTRACE, PROGRAMS, main
from mounted import PlaceTest, is_mounted, wait_until


class Steps:
    """A program that calls step(i) for numbers that it is given."""

    def __init__(self, path, *before):
        self.process = subprocess.Popen([*before, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def step(self, first, last):
        self.process.stdin.write(f"{first} {last} 1\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def maps(self):
        with open(f"/proc/{self.process.pid}/maps") as file:
            return file.read()

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=20)
        self.process.stdout.close()


class Chosen(PlaceTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.name = f"kvs{os.getpid() % 10 ** 8}"  # a name that nobody else has
        self.program = shutil.copy(os.path.join(PROGRAMS, "steps"), os.path.join(self.folder, self.name))
        self.programs = []
        self.log = open(os.path.join(self.folder, "log"), "w+")
        self.addCleanup(self.log.close)

    def tearDown(self):
        for one in self.programs:
            if one.process.poll() is None:
                one.end()

    def started(self, *before):
        self.programs.append(Steps(self.program, *before))
        wait_until(lambda: "libc.so" in self.programs[-1].maps(), "the program's libraries")
        return self.programs[-1]

    def said(self):
        with open(self.log.name) as file:
            return file.read()

    def run_for(self, *words):
        return subprocess.Popen([KEVTRACE, "run", *words, "-e", f"p:step {self.name}:step i=%di:s64"], stdout=subprocess.PIPE, stderr=self.log, text=True)

    def end(self, tracer):
        tracer.send_signal(signal.SIGINT)
        out = tracer.communicate(timeout=60)[0]
        self.assertEqual(tracer.returncode, 0, self.said())
        return out

    def test_several_and_those_that_come_later(self):
        first, second = self.started(), self.started()
        tracer = self.run_for("--comm", self.name[:-1] + "*")
        wait_until(lambda: self.said().count("step: jump") == 2, "both programs")
        first.step(0, 3)
        second.step(10, 13)
        third = self.started()
        wait_until(lambda: "has come" in self.said(), "the third")
        third.step(20, 23)
        first.end()
        second.step(30, 33)
        out = self.end(tracer)
        self.assertEqual(sorted(int(i) for i in re.findall(r" i=(\d+)$", out, re.MULTILINE)), [0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32])
        self.assertIn("step: hits 12 = recorded 12 + filtered 0 + lost 0 + missed 0", self.said())
        second.step(40, 43)  # they go on
        third.step(40, 43)

    def test_chosen_by_a_script(self):
        first = self.started()
        script = os.path.join(self.folder, "s.kev")
        with open(script, "w") as file:
            file.write(f"target comm {self.name}\np:step {self.name}:step i=%di:s64\n")
        tracer = subprocess.Popen([KEVTRACE, "run", "-p", script], stdout=subprocess.PIPE, stderr=self.log, text=True)
        wait_until(lambda: "step: jump" in self.said() or tracer.poll() is not None, "the program")
        second = self.started()
        wait_until(lambda: "has come" in self.said() or tracer.poll() is not None, "the second")
        first.step(0, 2)
        second.step(5, 7)
        self.assertEqual(sorted(re.findall(r" i=(\d+)$", self.end(tracer), re.MULTILINE)), ["0", "1", "5", "6"])
        with open(script, "w") as file:
            file.write(f"target comm nosuch{self.name} cgroup /nosuch\np libc:open64\n")
        done = subprocess.run([KEVTRACE, "run", "-p", script], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (1, f"kevtrace: error: the script's target, --comm nosuch{self.name} --cgroup /nosuch: no process fits\n"))

    def test_it_goes_on_when_all_have_ended(self):
        first = self.started()
        tracer = self.run_for("--comm", self.name)
        wait_until(lambda: "step: jump" in self.said(), "the program")
        first.step(0, 2)
        first.end()
        wait_until(lambda: "has ended" in self.said(), "its end")
        second = self.started()
        wait_until(lambda: "has come" in self.said(), "the second")
        second.step(5, 7)
        self.assertEqual(re.findall(r" i=(\d+)$", self.end(tracer), re.MULTILINE), ["0", "1", "5", "6"])

    def test_a_forked_child_of_a_traced_process_is_not_attached_to(self):
        first = self.started()
        tracer = self.run_for("--comm", self.name)
        wait_until(lambda: "step: jump" in self.said(), "the program")
        first.process.stdin.write("0 0 -1\n")  # forks
        first.process.stdin.flush()
        self.assertEqual(first.process.stdout.readline(), "done\n")
        end = time.monotonic() + 0.5
        while time.monotonic() < end:  # some looks
            first.process.stdin.write("1 3 0\n")
            first.process.stdin.flush()
            self.assertEqual(first.process.stdout.readline(), "done\n")
            time.sleep(0.002)  # hits must not be more than a busy tracer keeps up with: none may be lost
        out = self.end(tracer)
        self.assertNotIn("has come", self.said())
        self.assertNotIn("not traced", self.said())
        hits = len(re.findall(r" step: ", out))
        self.assertGreater(hits, 2)
        self.assertIn(f"step: hits {hits} = recorded {hits} ", self.said())

    def test_by_control_group(self):
        first = self.started()
        with open(f"/proc/{first.process.pid}/cgroup") as file:
            group = file.read().splitlines()[-1].split(":", 2)[2]
        tracer = self.run_for("--cgroup", group, "--comm", self.name)
        wait_until(lambda: "step: jump" in self.said(), "the program")
        first.step(0, 2)
        self.assertEqual(re.findall(r" i=(\d+)$", self.end(tracer), re.MULTILINE), ["0", "1"])

    def test_none_fits(self):
        for words in (["--comm", "nosuch" + self.name], ["--container", "0123456789ab"], ["--cgroup", "/nosuch/group"]):
            done = subprocess.run([KEVTRACE, "run", *words, "-e", "p libc:open64"], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, "^kevtrace: error: --.*: no process fits\n$")
        done = subprocess.run([KEVTRACE, "run", "--comm", self.name, "-e", "p libc:open64", "--", "/bin/true"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)

    def test_its_number_in_a_namespace_of_its_own(self):
        if subprocess.run(["unshare", "-rpf", "true"], capture_output=True).returncode:
            self.skipTest("no PID namespace can be made here")
        outer = self.started("unshare", "-rpf")
        wait_until(lambda: subprocess.run(["pgrep", "-x", self.name], capture_output=True).returncode == 0, "the program")
        tracer = self.run_for("--comm", self.name)
        wait_until(lambda: "step: jump" in self.said(), "the program")
        outer.step(0, 2)
        self.assertEqual(re.findall(r" i=(\d+)$", self.end(tracer), re.MULTILINE), ["0", "1"])
        self.assertRegex(self.said(), r"runtime=inproc pid=\d+ \(1 in its namespace\) step: jump")

    def test_a_live_question(self):
        first = self.started()
        asked = subprocess.Popen([KEVTRACE, "count", "--comm", self.name, "-d", "1", "-e", f"p:step {self.name}:step"], stdout=subprocess.PIPE, stderr=self.log, text=True)
        wait_until(lambda: "step: jump" in self.said() or asked.poll() is not None, "the program")
        first.step(0, 7)
        self.assertRegex(asked.communicate(timeout=60)[0], r"step +7\b")

    def test_a_mount(self):
        first = self.started()
        mount = subprocess.Popen([KEVTRACE, "mount", self.dir, "--comm", self.name], stderr=self.log)
        try:
            wait_until(lambda: is_mounted(self.dir) or mount.poll() is not None, "the mount")
            if mount.poll() is not None:
                self.skipTest("cannot mount here: " + self.said())
            self.echo(f"p:step {self.name}:step i=%di:s64\n", "kprobe_events")
            self.echo("1", "events/kprobes/step/enable", "w")
            first.step(0, 2)
            second = self.started()
            wait_until(lambda: "has come" in self.said(), "the second")
            second.step(5, 7)
            wait_until(lambda: self.cat("trace").count(" step: ") == 4, "four records")
        finally:
            mount.send_signal(signal.SIGINT)
            mount.wait(timeout=60)


if __name__ == "__main__":
    main()
