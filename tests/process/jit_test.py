"""Functions that a JIT compiler has made, by the names in its perf map; values and counts against what the program prints."""
import os
import re
import signal
import subprocess
import time
import unittest

from jitted import Jitted
from kevtest import KEVTRACE, PROGRAMS, main
from mounted import MountTest

ROUNDS = 10
EVENTS = ("twice", "thrice", "other")
COMMAND = (os.path.join(PROGRAMS, "jitted"), str(ROUNDS))
DEFINITIONS = [word for event in EVENTS for word in ("-e", f"p:{event} jit:{event} n=%di:s64")]


class Jit(unittest.TestCase):
    def program(self):
        process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        program = Jitted(process)
        self.addCleanup(program.clear)
        return program

    def start(self, program, *words):
        tracer = subprocess.Popen([KEVTRACE, "run", *words, "--pid", str(program.process.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (tracer.kill(), tracer.communicate()))
        for line in tracer.stderr:
            if "waits for its function" in line:
                return tracer
        self.fail("the tracer ended")

    def finish(self, tracer):
        out, err = tracer.communicate(timeout=60)
        self.assertEqual(tracer.returncode, 0, err)
        return out, err

    def hits(self, err):
        return {event: [int(n) for n in numbers] for event, *numbers in
                re.findall(r"^(\w+): hits (\d+) = recorded (\d+) \+ filtered (\d+) \+ lost (\d+) \+ missed (\d+)$", err, re.M)}

    def test_code_that_is_compiled_later_again_and_reused(self):
        program = self.program()
        tracer = self.start(program, *DEFINITIONS)
        first = program.compile_twice()
        self.assertEqual(program.byte(first), 0xcc)  # it may run there, too
        program.step("reused")
        program.wait_for(first, 0xcc)  # of `other`
        program.step("data")
        program.end()
        out, err = self.finish(tracer)
        self.assertIn("data is intact", program.said)
        for event in EVENTS:
            values = [int(n) for n in re.findall(rf" {event}: \(.*\) n=(\d+)$", out, re.M)]
            calls = program.called(event)
            self.assertEqual(values, list(range(ROUNDS)) * (calls // ROUNDS), event)
            self.assertEqual(self.hits(err)[event], [calls, calls, 0, 0, 0], event)
            self.assertEqual(set(re.findall(rf" {event}: \((\w+)\+0x0/0x1[12] \[jit\]\)", out)), {event})

    def test_code_that_was_probed_twice_at_one_place_gets_its_own_bytes_back(self):
        program = self.program()
        tracer = self.start(program, *DEFINITIONS)
        first = program.compile_twice()
        program.step("reused")
        program.wait_for(first, 0xcc)  # of `other`, which begins with another byte than `twice` did
        tracer.send_signal(signal.SIGINT)
        self.finish(tracer)
        self.assertEqual(program.byte(first), 0x90)
        program.step("data")
        program.end()
        self.assertIn(f"other {ROUNDS} {sum(5 * n + 7 for n in range(ROUNDS))}", program.said)

    def test_memory_that_was_reused_is_left_alone(self):
        program = self.program()
        tracer = self.start(program, *DEFINITIONS[:4])
        program.step("compiled")
        program.wait_for(program.at, 0xcc)
        thrice = program.at
        for word in ("again", "reused", "data"):
            program.step(word)
        tracer.send_signal(signal.SIGINT)
        _, err = self.finish(tracer)
        self.assertIn("thrice [GONE]", err)
        self.assertEqual(program.byte(thrice), 0xcc)  # data of the program, which the probe's own byte would break
        program.end()
        self.assertIn("data is intact", program.said)

    def test_a_tracer_that_is_killed(self):
        program = self.program()
        tracer = self.start(program, *DEFINITIONS[:4])
        program.step("compiled")
        program.wait_for(program.at, 0xcc)
        tracer.kill()
        tracer.wait()
        program.wait_for(program.at, 0x48)
        for word in ("again", "reused", "data"):
            program.step(word)
        program.end()
        self.assertIn("data is intact", program.said)

    def test_globs_counts_and_filters(self):
        program = self.program()
        program.step("compiled")
        done = subprocess.Popen([KEVTRACE, "run", "-e", "p jit:* n=%di:s64", "--filter", "p_jit_twice_0: n > 6", "--pid", str(program.process.pid)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (done.kill(), done.communicate()))
        program.wait_for(program.at, 0xcc)
        for word in ("again", "reused", "data"):
            program.step(word)
        program.end()
        _, err = self.finish(done)
        hits, recorded, filtered, *_ = self.hits(err)["p_jit_twice_0"]
        self.assertEqual((recorded * 10, filtered * 10), (hits * 3, hits * 7), err)
        self.assertEqual(self.hits(err)["p_jit_thrice_0"][0], program.called("thrice"), err)

    def test_a_map_of_another_user_is_not_believed_and_in_nobodys_way(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a file of another user")
        program = self.program()
        program.step("compiled")
        os.chown(f"/tmp/perf-{program.process.pid}.map", 65534, 65534)
        done = subprocess.run([KEVTRACE, "run", "-e", "p:f jit:twice", "--pid", str(program.process.pid), "-d", "1"],
                              capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("is not believed: it belongs to user 65534, the process to user 0", done.stderr)
        done = subprocess.run([KEVTRACE, "run", "-e", "p:w libc:write", "--pid", str(program.process.pid), "-d", "1"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_is_compiled_is_listed(self):
        program = self.program()
        program.step("compiled")
        pid = str(program.process.pid)
        done = subprocess.run([KEVTRACE, "list", "--pid", pid, "t*ice", "writ?"], capture_output=True, text=True, timeout=60)
        self.assertRegex(done.stdout, rf"(?sm)libc.so.6:\n.*^write  0x.*^jit of process {pid}:\n.*^thrice  0x[0-9a-f]+  1[78].*^twice  0x{program.at - 64:x}  1[78]")
        done = subprocess.run([KEVTRACE, "list", "--pid", pid, "-v", "twice"], capture_output=True, text=True, timeout=60)
        self.assertIn("int3: a JIT compiler made this code", done.stdout)
        done = subprocess.run([KEVTRACE, "list", "--pid", pid, "twicee"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("near it: `twice`", done.stderr)
        done = subprocess.run([KEVTRACE, "list", "--pid", pid, "-L", "main"], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, "lines are those of a file" in done.stderr), (2, True))
        done = subprocess.run([KEVTRACE, "list", "--pid", "1999999999", "x"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)

    def test_what_cannot_be_done_says_so(self):
        program = self.program()
        program.step("compiled")
        done = subprocess.run([KEVTRACE, "run", "-e", "p:t jit:nosuch", "--pid", str(program.process.pid), "-d", "1"],
                              capture_output=True, text=True, timeout=60)
        self.assertIn("has not compiled its function", done.stderr)
        for definition, why in (("r:t jit:twice $retval", "no return probe on code of a JIT compiler"),
                                ("p:t jit:twice n", "a JIT compiler leaves no debug information")):
            done = subprocess.run([KEVTRACE, "run", "-e", definition, "--pid", str(program.process.pid), "-d", "1"],
                                  capture_output=True, text=True, timeout=60)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(why, done.stderr)


class InAMount(MountTest):
    COMMAND = COMMAND

    def test_events_wait_for_their_functions(self):
        program = Jitted(self.target)
        self.addCleanup(program.clear)
        for event in EVENTS:
            self.echo(f"p:{event} jit:{event} n=%di:s64\n", "kprobe_events")
        self.echo("hist:keys=n", "events/kprobes/thrice/trigger")
        self.echo("1", "events/kprobes/enable", "w")
        first = program.compile_twice()
        listed = self.cat("available_filter_functions").splitlines()
        self.assertTrue({"twice [jit]", "thrice [jit]", "write [libc.so.6]"} <= set(listed), listed[-20:])
        program.step("reused")
        program.wait_for(first, 0xcc)
        program.step("data")
        trace = self.cat("trace")
        for event in EVENTS:
            # Names are those of the moment of reading: `other` lies where `twice` was.
            self.assertEqual(len(re.findall(rf" {event}: \(\w+\+0x0/0x1[12] \[jit\]\) n=", trace)), program.called(event), event)
        self.assertEqual(re.findall(r"n: +(\d+) .* hitcount: +(\d+)", self.cat("events/kprobes/thrice/hist")),
                         [(str(n), "2") for n in range(ROUNDS)])


if __name__ == "__main__":
    main()
