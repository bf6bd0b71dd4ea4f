"""--keep-going: a definition that is wrong takes no other down; without it, it takes all."""
import os
import subprocess

from kevtest import KEVTRACE, PROGRAMS, ProcessTest, main

FAULTS = os.path.join(PROGRAMS, "faults")


class KeepGoing(ProcessTest):
    def run_with(self, *words):
        words = [KEVTRACE, "run", "-o", self.path("trace"), *words, "--", FAULTS, "3"]
        return subprocess.run(words, capture_output=True, timeout=60)

    BAD = ["-e", "p:good served n=%di:s64", "-e", "p:typo srved", "-e", "p:wrong served n=%zz", "-e", "p:also brief"]

    def test_all_or_nothing(self):
        done = self.run_with(*self.BAD)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stdout, b"")

    def test_each_by_itself(self):
        done = self.run_with("--keep-going", *self.BAD)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"srved", done.stderr)
        self.assertIn(b"%zz", done.stderr)
        self.assertIn(b"good: hits 6 = recorded 6", done.stderr)
        self.assertIn(b"also: hits 6 = recorded 6", done.stderr)
        self.assertNotIn(b"wrong: hits", done.stderr)

    def test_what_cannot_be_placed(self):
        """Why a function cannot have a return probe is found when the probe is placed, not when it is checked."""
        words = ["-e", "p:good served", "-e", "r:back libc:_setjmp"]
        self.assertNotEqual(self.run_with(*words).returncode, 0)
        done = self.run_with("--keep-going", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"good: hits 6 = recorded 6", done.stderr)
        self.assertIn(b"_setjmp", done.stderr)

    def test_nothing_is_left(self):
        done = self.run_with("--keep-going", "-e", "p:typo srved")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stdout, b"")

    def test_a_wrong_filter_is_still_refused(self):
        done = self.run_with("--keep-going", "-e", "p:good served n=%di:s64", "--filter", "good: m == 1")
        self.assertEqual(done.returncode, 3, done.stderr)


if __name__ == "__main__":
    main()
