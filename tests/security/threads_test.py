"""Any number of threads: each is seen, whoever lives beside it, and those that have been cost no memory.

KEVT_THREADS live at a time (1,500 by itself) and KEVT_BIRTHS are born one after the other (100,000); ./kev soak has
20,000 and 1,000,000.
"""
import os
import re
import subprocess

from attached import read
from kevtest import KEVTRACE, ProcessTest, TIMEOUT_S, Traced, _prepared, main

PROGRAM = os.path.join(os.environ["KEVT_HOSTILE"], "many_threads")
THREADS = int(os.environ.get("KEVT_THREADS", "1500"))
BIRTHS = int(os.environ.get("KEVT_BIRTHS", "100000"))
TIMES = 3
PROBES = ("p:touch many_threads:touch n=%di:s64", "r:back many_threads:touch v=$retval:s64",
          "p:short many_threads:touch_short n=%di:s64", "r:shortly many_threads:touch_short v=$retval:s64")
MOST_GROWTH_KB = 32_000  # from the first half of the births to the second


def number_in(path):
    with open(path, encoding="ascii") as file:
        text = file.read().strip()
    return int(text) if text.isdigit() else None


def private_kb(pid):
    return int(re.search(rb"RssAnon:\s+(\d+)", read(f"/proc/{pid}/status"))[1])


def lack():
    """What of this machine is too small for so many threads; a thread takes two mappings."""
    limits = {"/proc/sys/kernel/threads-max": THREADS + 1000, "/proc/sys/kernel/pid_max": THREADS + 1000,
              "/proc/sys/vm/max_map_count": 2 * THREADS + 1000, "/sys/fs/cgroup/pids.max": THREADS + 1000}
    for path, needed in limits.items():
        if os.path.exists(path) and (number_in(path) or needed) < needed:
            return f"{path} is {number_in(path)}, {THREADS} threads need {needed}"
    return None


class Threads(ProcessTest):
    def start(self):
        events = self.path("events", "\n".join(PROBES).encode() + b"\n")
        command = [KEVTRACE, "run", "-p", events, "-o", "/dev/null", "--", PROGRAM, str(THREADS), str(TIMES), str(BIRTHS)]
        options = _prepared({}) | {"stdin": subprocess.PIPE}
        front = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        for file in (front.stdin, front.stdout, front.stderr):
            self.addCleanup(file.close)
        self.addCleanup(front.kill)
        return front

    def stage(self, front, name):
        """(KB of the program, KB of the tracer) when it has come so far."""
        line = front.stdout.readline().split()
        self.assertEqual(line[:1], [name])
        tracer = int(read(f"/proc/{front.pid}/task/{front.pid}/children").split()[0])
        kb = int(line[1]), private_kb(tracer)
        front.stdin.write(b"on\n")
        front.stdin.flush()
        return kb

    def test_none_is_missed(self):
        if reason := lack():
            self.skipTest(reason)
        front = self.start()
        figures = {name: self.stage(front, name.split()[0]) for name in (b"ready", b"living", b"born 1", b"born 2")}
        out, err = front.communicate(timeout=TIMEOUT_S)
        self.assertEqual((front.returncode, out), (0, b"done 0\n"), err)
        print(f"{THREADS} threads at a time, {BIRTHS} births; KB (program, tracer): {figures}", flush=True)
        traced = Traced(0, b"", err, b"")
        self.assertEqual(len(traced.accounts), len(PROBES), err)
        for name, account in traced.accounts.items():
            self.assertEqual((account.hits, account.missed), (THREADS * TIMES + BIRTHS, 0), name)
            self.assertTrue(account.adds_up(), name)
        for half, all_of_it in zip(figures[b"born 1"], figures[b"born 2"]):
            self.assertLess(all_of_it - half, MOST_GROWTH_KB, figures)


if __name__ == "__main__":
    main()
