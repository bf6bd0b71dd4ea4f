"""Trace and span ids of OpenTelemetry, and thread-local variables: of a program, of libraries, of threads that have none."""
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from kevtest import KEVTRACE, PROGRAMS, main

WORK = "p:work {}:work thread=%di:s32 turn=@turn:s32 $trace_id span=$span_id"
NOTHING = ("0" * 32, "0" * 16)


def program(name):
    return os.path.join(PROGRAMS, name)


def expected(out):
    """(thread, turn, trace id, span id) of each call, as the program says."""
    return sorted((int(thread), int(turn), trace, span) for thread, turn, trace, span in re.findall(r"^(\d) (\d) (\w{32}) (\w{16})$", out, re.MULTILINE))


def traced(out):
    return sorted((int(thread), int(turn), trace, span)
                  for thread, turn, trace, span in re.findall(r"\bwork: +\(.*\) thread=(\d) turn=(\d) trace_id=(\w{32}) span=(\w{16})$", out, re.MULTILINE))


class Spans(unittest.TestCase):
    def check(self, out, text):
        wanted = expected(out)
        self.assertEqual(len(wanted), 20)
        self.assertEqual(len({one[2:] for one in wanted}), 1 + 3 * 2)  # none, and two spans of each of three threads
        self.assertEqual(traced(text), wanted)

    def run_with(self, *words, command=("spans",), status=0):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace")
            done = subprocess.run([KEVTRACE, "run", "-o", trace, *words, "--", program(command[0]), *command[1:]], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, status, done.stderr)
            if status:
                return done.stderr
            with open(trace, encoding="utf-8") as file:
                return done.stdout, file.read(), done.stderr

    def test_of_the_program_itself(self):
        out, trace, err = self.run_with("-e", WORK.format("spans"))
        self.check(out, trace)
        self.assertIn("work: hits 20 = recorded 20 + filtered 0 + lost 0 + missed 0", err)
        self.assertNotIn("fault", err)

    def test_of_a_linked_library(self):
        out, trace, _ = self.run_with("-e", WORK.format("spans_linked"), command=("spans_linked",))
        self.check(out, trace)

    def test_at_a_return_and_behind_a_path(self):
        path = program("spans")
        out, trace, _ = self.run_with("-e", "r:back spans:work t=$trace_id s=$span_id", "-e", f"p:work {path}:work thread=%di:s32 turn=%si:u8 $trace_id span=$span_id")
        wanted = sorted(one[2:] for one in expected(out))
        self.assertEqual(sorted(re.findall(r"\bback: .* t=(\w{32}) s=(\w{16})$", trace, re.MULTILINE)), wanted)
        self.assertEqual(sorted(re.findall(r"\bwork: .* trace_id=(\w{32}) span=(\w{16})$", trace, re.MULTILINE)), wanted)

    def test_of_libraries_that_were_loaded_later(self):
        """In the static block, and elsewhere in each thread; threads that have no block yet have no span."""
        for name in ("descriptor", "initial", "large_descriptor", "large"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                trace = os.path.join(folder, "trace")
                target = subprocess.Popen([program("spans_loaded"), program(f"libspan_{name}.so"), "attach"], stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.assertEqual(target.stderr.readline(), "ready\n")
                tracer = subprocess.Popen([KEVTRACE, "run", "--pid", str(target.pid), "-o", trace, "-e", WORK.format("spans_loaded"),
                                           "-e", f"p:published libspan_{name}:publish_span spans_published=@spans_published:s32"],
                                          stderr=subprocess.PIPE, text=True)
                self.assertIn("work: ", tracer.stderr.readline())
                out, _ = target.communicate("go\n", timeout=60)
                tracer.send_signal(signal.SIGINT)
                _, err = tracer.communicate(timeout=60)
                self.assertEqual((target.returncode, tracer.returncode), (0, 0), err)
                with open(trace, encoding="utf-8") as file:
                    text = file.read()
                self.check(out, text)
                self.assertEqual(sorted(re.findall(r"spans_published=(\d+)", text)), sorted("00123" * 3))

    def test_filters(self):
        out, trace, err = self.run_with("-e", WORK.format("spans"), "--filter", "work: span != 0 && turn == 1")
        self.assertEqual(traced(trace), [one for one in expected(out) if one[1] == 1 and one[3] != NOTHING[1]])
        self.assertIn("work: hits 20 = recorded 3 + filtered 17 + lost 0 + missed 0", err)
        out, trace, err = self.run_with("-e", WORK.format("spans"), "--filter", 'work: span == "a2a3a4a5a6a7a8a9"')
        self.assertEqual(traced(trace), [one for one in expected(out) if one[3] == "a2a3a4a5a6a7a8a9"])
        self.assertIn("work: hits 20 = recorded 3 + filtered 17 + lost 0 + missed 0", err)
        for words, why in (('span == "a2a3"', "`span` is 16 hexadecimal digits"), (f'trace_id == "{"0" * 32}"', "`trace_id` has more than 8 bytes")):
            self.assertIn(why, self.run_with("-e", WORK.format("spans"), "--filter", "work: " + words, status=3))

    def test_recordings(self):
        with tempfile.TemporaryDirectory() as folder:
            path = {name: os.path.join(folder, "r." + name) for name in ("dat", "json", "csv", "back")}
            done = subprocess.run([KEVTRACE, "run", "-o", path["dat"], "-e", WORK.format("spans"), "--", program("spans")],
                                  capture_output=True, text=True, timeout=120, check=True)
            wanted = expected(done.stdout)

            def read(*command):
                return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout

            self.assertEqual(traced(read(KEVTRACE, "report", path["dat"])), wanted)
            if shutil.which("trace-cmd"):
                self.assertEqual(traced(read("trace-cmd", "report", path["dat"])), wanted)
            self.assertEqual(traced(read(KEVTRACE, "report", path["dat"], "-F", 'work: span == "a1a2a3a4a5a6a7a8"')), [one for one in wanted if one[3] == "a1a2a3a4a5a6a7a8"])
            self.assertEqual(len(traced(read(KEVTRACE, "report", path["dat"], "-F", "work: span != 0"))), 6)
            self.assertEqual(read(KEVTRACE, "report", path["dat"], "-F", 'work: turn == 1 && thread == 1', "--columns", "trace_id,span").split(),
                             ["101112131415161718191a1b1c1d1e1f", "a1a2a3a4a5a6a7a8"])
            self.assertRegex(read(KEVTRACE, "hist", "work.span", "-i", path["dat"]), r"(?m)^a2a3a4a5a6a7a8a9 +3$")
            for name in ("json", "csv"):
                read(KEVTRACE, "convert", path["dat"], path[name])
            with open(path["json"], encoding="utf-8") as file:
                events = [one["fields"] for one in map(json.loads, file) if one["type"] == "event"]
            self.assertEqual(sorted((one["thread"], one["turn"], one["trace_id"], one["span"]) for one in events), wanted)
            with open(path["csv"], encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            self.assertEqual(sorted((int(one["thread"]), int(one["turn"]), one["trace_id"], one["span"]) for one in rows), wanted)
            read(KEVTRACE, "convert", path["json"], path["back"], "-f", "dat")
            self.assertEqual(traced(read(KEVTRACE, "report", path["back"])), wanted)

    def test_what_is_refused(self):
        self.assertIn("no file that the program has loaded publishes spans of OpenTelemetry (thread-local `otel_thread_ctx_v1`)",
                      self.run_with("-e", "p:w libc:write $trace_id", command=("/bin/true",), status=3))
        for argument in ("s=$span_id:u64", "s=+0($span_id):u8", "s=$span_id:x8[8]"):
            self.assertIn("`$span_id` is 8 bytes, of the type `hex[8]`", self.run_with("-e", "p:work spans:work " + argument, status=3))
        self.assertIn("`hex` is for arrays of bytes: `hex[16]`", self.run_with("-e", "p:work spans:work s=+0(%si):hex", status=3))
        checked = subprocess.run([KEVTRACE, "check", "-e", "p:work libc:write s=$trace_id:u8"], capture_output=True, text=True, timeout=60)
        self.assertEqual(checked.returncode, 3, checked.stderr)
        self.assertIn("`$trace_id` is 16 bytes", checked.stderr)
        for argument, word in (("$trace_id", "Invalid $-variable specified"), ("i=+0(%di):hex[16]", "fix: write `x8` for `hex`")):
            kernel = subprocess.run([KEVTRACE, "check", "--kernel", "6.1", "-e", "p:work do_sys_open " + argument], capture_output=True, text=True, timeout=60)
            self.assertEqual(kernel.returncode, 3, kernel.stderr)
            self.assertIn(word, kernel.stderr)

    def test_a_compiled_script_has_code_for_processes_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            script, compiled, trace = (os.path.join(folder, name) for name in ("s.kev", "s.kevo", "trace"))
            with open(script, "w", encoding="utf-8") as file:
                file.write(WORK.format("spans") + "\n")
            made = subprocess.run([KEVTRACE, "compile", script, "-o", compiled], capture_output=True, text=True, timeout=60)
            self.assertEqual(made.returncode, 0, made.stderr)
            done = subprocess.run([KEVTRACE, "run", "-o", trace, compiled, "--", program("spans")], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(trace, encoding="utf-8") as file:
                self.check(done.stdout, file.read())
            with open(script, "w", encoding="utf-8") as file:
                file.write("p:work do_sys_open $trace_id\n")
            made = subprocess.run([KEVTRACE, "compile", script, "-o", compiled], capture_output=True, text=True, timeout=60)
            self.assertIn("no code for the kernel: event0_work: a thread-local variable", made.stderr)


if __name__ == "__main__":
    main()
