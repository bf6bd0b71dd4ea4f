"""Probes on neighbouring instructions: the jump of one must not cover another."""
import itertools
import os
import signal
import subprocess
import unittest

from kevtest import KEVTRACE, PROGRAMS, ProcessTest, main
from mount_test import is_mounted, wait_until

ADJACENT = os.path.join(PROGRAMS, "adjacent")
OFFSETS = (0, 1, 2, 3, 4, 8, 12, 13, 14)
N = 50
SUM = b"%d\n" % sum(n + 4 for n in range(N))


def probe(offset):
    return f"p:at{offset} steps" + (f"+{offset}" if offset else "")


class Adjacent(ProcessTest):
    def check_all_hit(self, traced, offsets):
        self.assert_none_lost(traced)
        for offset in offsets:
            self.assertEqual(traced.accounts[f"at{offset}"].recorded, N, offset)

    def test_every_instruction_at_once(self):
        traced = self.run_both([ADJACENT, str(N)], *[probe(offset) for offset in OFFSETS])
        self.check_all_hit(traced, OFFSETS)
        order = [r.event for r in traced.all[:len(OFFSETS)]]
        self.assertEqual(order, [f"at{offset}" for offset in OFFSETS])

    def test_every_pair(self):
        for pair in itertools.permutations(OFFSETS[:6], 2):
            with self.subTest(pair=pair):
                traced = self.run_both([ADJACENT, str(N)], *[probe(offset) for offset in pair])
                self.check_all_hit(traced, pair)
                how = traced.how_armed()
                if max(pair) - min(pair) < 5:
                    self.assertIn("another probe", how[f"at{min(pair)}"])

    def test_a_return_probe_and_one_inside(self):
        traced = self.run_both([ADJACENT, str(N)], "r:back steps r=$retval:s64", probe(1), probe(0))
        self.assertEqual([r["r"] for r in traced.records("back")], [n + 4 for n in range(N)])
        self.check_all_hit(traced, (0, 1))

    @unittest.skipUnless(os.access("/dev/fuse", os.R_OK | os.W_OK), "/dev/fuse cannot be opened")
    def test_one_after_the_other(self):
        """Armed at different times, in a running program: what is there gives way, and each can be taken out."""
        where = self.path("tracing")
        target = subprocess.Popen([ADJACENT, str(N), "again"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(target.stdout.readline(), SUM)
        mount = subprocess.Popen([KEVTRACE, "mount", where, "--pid", str(target.pid)])
        try:
            wait_until(lambda: is_mounted(where) or mount.poll() is not None, "the mount")
            self.assertIsNone(mount.poll())
            self.switch_in_turns(where, target)
        finally:
            mount.send_signal(signal.SIGINT)
            mount.wait(timeout=60)
            target.stdin.close()
            self.assertEqual(target.wait(timeout=60), 0)
            target.stdout.close()

    def switch_in_turns(self, where, target):
        expected = {}

        def write(file, text):
            with open(os.path.join(where, file), "a") as out:
                out.write(text)

        def hits():
            with open(os.path.join(where, "kprobe_profile")) as file:
                return {line.split()[0]: int(line.split()[1]) for line in file}

        def round_of(*on):
            for offset in on:
                expected[f"at{offset}"] = expected.get(f"at{offset}", 0) + N
            target.stdin.write(b"\n")
            target.stdin.flush()
            self.assertEqual(target.stdout.readline(), SUM)
            seen = hits()
            for name, count in expected.items():
                self.assertEqual(seen[name], count, name)

        for offset in (0, 2, 1, 4):
            write("kprobe_events", probe(offset) + "\n")
        write("events/kprobes/at0/enable", "1")
        round_of(0)
        write("events/kprobes/at2/enable", "1")
        round_of(0, 2)
        write("events/kprobes/at0/enable", "0")
        round_of(2)
        write("events/kprobes/at1/enable", "1")
        write("events/kprobes/at4/enable", "1")
        round_of(1, 2, 4)
        write("events/kprobes/at0/enable", "1")
        round_of(0, 1, 2, 4)
        write("kprobe_events", probe(3) + "\n")
        write("events/kprobes/at3/enable", "1")
        round_of(0, 1, 2, 3, 4)
        for offset in (2, 0, 4):
            write(f"events/kprobes/at{offset}/enable", "0")
        round_of(1, 3)
        write("events/kprobes/enable", "0")
        round_of()


if __name__ == "__main__":
    main()
