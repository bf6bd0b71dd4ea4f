"""A forked child with fewer rights than its parent attacks it through the memory that tracing has put into both.

It can falsify its family's trace: accounts, records and names of these runs are worth nothing, and are not looked at. It
cannot write what decides where its parent goes, stall it, or harm the tracer. KEVT_SECONDS of fuzzing (4 by itself,
minutes in ./kev soak) with KEVT_SEED.
"""
import os
import re
import select
import signal
import time

from attached import Attached, Target, read, text_of
from kevtest import TIMEOUT_S, main

HOSTILE = os.environ["KEVT_HOSTILE"]
PROGRAM = os.path.join(HOSTILE, "hostile_child")
LATE = os.path.join(HOSTILE, "libhostile_late.so")
SECONDS = float(os.environ.get("KEVT_SECONDS", "4"))
SEED = int(os.environ.get("KEVT_SEED", time.time_ns() % 2**32))
TOUCH = "p:touch hostile_child:touch n=%di:s64 s=+0(%si):string"
PROBES = (TOUCH, "r:back hostile_child:touch v=$retval:s64 $arg1", "p:short hostile_child:touch_short s=+0(%si):string",
          "r:deep hostile_child:descend v=$retval:s64", "p:never libhostile_never.so:comes_late", "p:late libhostile_late.so:comes_late n=%di:s32")
MOST_KB = 700_000  # of memory of the tracer, most of it the rings that it shares


def tracer_of(front):
    return int(read(f"/proc/{front.pid}/task/{front.pid}/children").split()[0])


def tids_of(pid):
    return [int(tid) for tid in os.listdir(f"/proc/{pid}/task")]


def tracers_of_threads(pid):
    return {int(re.search(rb"TracerPid:\t(\d+)", read(f"/proc/{pid}/task/{tid}/status"))[1]) for tid in tids_of(pid)}


class HostileChild(Attached):
    def server(self):
        target = Target(self, [PROGRAM, LATE])
        target.text = [text_of(target.pid, file) for file in (PROGRAM, "/libc.so")]
        return target

    def trace(self, target, *definitions, words=(), lines_before=0):
        return self.start([target.pid], *definitions, words=["--follow-forks", "--buffer", "1024", *words],
                          lines_before=lines_before)

    def attack(self, target, kind, seed=SEED):
        pid = int(target.ask(b"attack %s %d" % (kind.encode(), seed), b"attack")[0])
        self.assertGreater(pid, 0, kind)
        return pid

    def leave(self, tracer):
        """Ctrl-C: it ends with a status of its own, and a report that can be read."""
        tracer.send_signal(signal.SIGINT)
        err = tracer.head + tracer.stderr.read()
        _, status, usage = os.wait4(tracer.pid, 0)
        tracer.returncode = os.waitstatus_to_exitcode(status)
        self.assertIn(tracer.returncode, (0, 1), err)
        self.assertNotIn(b"ended by signal", err)
        self.assertRegex(err, rb"(?m)^touch: hits \d+ = recorded \d+( \+ aggregated \d+)? \+ filtered \d+ \+ lost \d+ \+ missed \d+$")
        self.assertLess(usage.ru_maxrss, MOST_KB, err)
        return err, usage

    def assert_untouched(self, target):
        self.assertIsNone(target.process.poll())
        self.assertEqual(re.findall(rb".*memfd:kevtrace.*", read(f"/proc/{target.pid}/maps")), [])
        self.assertTrue([text_of(target.pid, file) for file in (PROGRAM, "/libc.so")] == target.text)

    def test_read_only_mappings_stay_so(self):
        target = self.server()
        tracer = self.trace(target, *PROBES)
        for who in (b"root", b"user"):
            target.tell(b"check " + who)
            lines = []
            while not lines or not lines[-1].startswith(b"tried"):
                lines.append(target.process.stdout.readline().strip())
                self.assertNotEqual(lines[-1], b"", lines)
            tried, worked, mappings = (int(n) for n in re.findall(rb"\d+", lines[-1]))
            self.assertEqual((worked, lines[:-1]), (0, []))
            self.assertGreater(mappings, 4)
            self.assertGreater(tried, 30)
        self.leave(tracer)
        self.assert_untouched(target)
        self.assertEqual(target.ask(b"calls 1000", b"calls"), [sum_of_calls(1000)])
        self.assertEqual(target.end(), 0)

    def test_fuzz_of_every_writable_byte(self):
        target = self.server()
        tracer = self.trace(target, *PROBES)
        print(f"KEVT_SEED={SEED} KEVT_SECONDS={SECONDS}", flush=True)
        pid = tracer_of(tracer)
        end, attacks = time.monotonic() + SECONDS, 0
        target.tell(b"work")
        while True:
            self.attack(target, "fuzz", SEED + attacks)
            attacks += 1
            time.sleep(max(0.0, min(end - time.monotonic(), 2.0)))
            self.assertIsNone(tracer.poll())
            if time.monotonic() >= end:
                break
            target.ask(b"retreat")
        peak = int(re.search(rb"RssAnon:\s+(\d+)", read(f"/proc/{pid}/status"))[1])
        self.assertLess(peak, MOST_KB)
        err, usage = self.leave(tracer)  # under attack
        calls, births, forks, loads, errors = (int(n) for n in target.ask(b"rest"))
        print(f"{attacks} children, {calls} calls, {births} births, {forks} forks, {loads} loads; the tracer: "
              f"{peak} KB of its own, {usage.ru_maxrss} KB with the rings, {usage.ru_utime + usage.ru_stime:.1f} s", flush=True)
        self.assertEqual(errors, 0)
        self.assertTrue(calls and births and forks and loads)
        target.ask(b"retreat")
        self.assert_untouched(target)
        self.assertEqual(target.ask(b"calls 100", b"calls"), [sum_of_calls(100)])
        self.assertEqual(target.end(), 0)

    def test_each_lie(self):
        """Notes of names, heads that run on, forged asks: while they last, calls are right and Ctrl-C ends the tracer."""
        for kind in ("names", "heads", "asks"):
            with self.subTest(kind):
                target = self.server()
                tracer = self.trace(target, *PROBES)
                target.tell(b"work")
                self.attack(target, kind)
                time.sleep(0.5)
                self.leave(tracer)
                *counts, errors = (int(n) for n in target.ask(b"rest"))
                self.assertEqual(errors, 0, counts)
                target.ask(b"retreat")
                self.assert_untouched(target)
                self.assertEqual(target.end(), 0)

    def test_forged_asks_seize_no_thread(self):
        target = self.server()
        tracer = self.trace(target, *PROBES)
        self.attack(target, "asks")
        seen, end = set(), time.monotonic() + 1.5
        while time.monotonic() < end:
            seen |= tracers_of_threads(target.pid)
        self.assertEqual(seen - {0}, set())
        target.ask(b"retreat")
        self.leave(tracer)
        self.assertEqual(target.end(), 0)

    def test_forged_asks_expire(self):
        """Also those of threads that have died while they asked: programs are followed afterwards."""
        for kind in ("asks_once", "claims"):
            with self.subTest(kind):
                target = self.server()
                tracer = self.trace(target, *PROBES, "p:begun libc:__libc_start_main")
                self.attack(target, kind)
                end = time.monotonic() + 30
                followed = 0
                while not followed and time.monotonic() < end:
                    self.assertEqual(target.ask(b"spawn"), [b"0"])
                    followed = read(self.path("trace")).count(b" begun: ")
                self.assertTrue(followed)
                target.ask(b"retreat")
                err, _ = self.leave(tracer)
                self.assertEqual(target.end(), 0)

    def test_a_report_that_is_never_answered_is_not_waited_for(self):
        """Answers keep coming, but never the one that a loading thread waits for."""
        target = self.server()
        tracer = self.trace(target, *PROBES)
        self.assertEqual(target.ask(b"load"), [b"0"])
        self.attack(target, "libraries")
        target.tell(b"load")
        ready, _, _ = select.select([target.process.stdout], [], [], TIMEOUT_S / 2)
        self.assertTrue(ready, "dlopen does not return")
        self.assertEqual(target.expect(b"load"), [b"0"])
        target.ask(b"retreat")
        self.leave(tracer)
        self.assertEqual(target.end(), 0)

    def test_the_parent_s_injections_are_its_own(self):
        """Chance and limit: the same calls of a thread that is known fail, whatever a child writes."""
        sums = []
        for attacked in (False, True):
            target = self.server()
            tracer = self.trace(target, TOUCH,
                                words=["--unsafe", "--inject", "touch: ret=-5 probability=50% count=700 seed=7"],
                                lines_before=1)
            target.ask(b"calls 1", b"calls")  # its first hit: a child could have it missed
            if attacked:
                self.attack(target, "fuzz")
            sums.append(target.ask(b"calls 2000", b"calls"))
            target.ask(b"retreat")
            self.leave(tracer)
            self.assertEqual(target.end(), 0)
        self.assertEqual(sums[0], sums[1])
        self.assertNotEqual(sums[0], [sum_of_calls(2000)])


def sum_of_calls(count):
    total = 0
    for n in range(count):
        total = (total * 31 + 3 * n + 1) % 2**64
    return b"%d" % total


if __name__ == "__main__":
    main()
