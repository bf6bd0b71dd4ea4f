"""Whoever gets hold of a descriptor of the tracer's memory cuts nothing off under anybody.

Two ways: a process that shares the target's descriptor table catches it while it is sent; the same user opens it through
/proc/PID/fd, of the tracer and of the process in front of it. KEVT_ROUNDS (12 by itself).
"""
import os
import re
import subprocess

from attached import Target
from kevtest import main
from tampered import HOSTILE, SHARED, Tampered, random_rounds


class TruncatedMemory(Tampered):
    def test_by_who_shares_the_descriptor_table(self):
        self.rounds("truncate")

    def test_through_the_tracer_s_own_descriptors(self):
        target = Target(self, [SHARED, "none"])
        self.note_state(target)
        opened = 0
        for number, after_s in random_rounds():
            with self.subTest(round=number):
                opened += self.tampered_round(target, after_s)
        print(f"{opened} files were opened and not cut off", flush=True)
        self.assertTrue(opened)
        self.assertEqual(target.end(), 0)

    def tampered_round(self, target, after_s):
        """From the first moment of the process in front to its end."""
        spoilers = []
        start = self.start_front

        def start_and_spoil(pid):
            front = start(pid)
            spoilers.append(subprocess.Popen([os.path.join(HOSTILE, "truncates"), str(front.pid)], stdout=subprocess.PIPE))
            return front

        self.start_front = start_and_spoil
        try:
            outcome = self.round(target, after_s)
        finally:
            del self.start_front
        said = spoilers[0].communicate()[0]
        opened, cut = (int(n) for n in re.findall(rb"\d+", said))
        if outcome == "traced":
            self.assertEqual(cut, 0)
        return opened


if __name__ == "__main__":
    main()
