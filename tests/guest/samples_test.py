"""Samples of guest tests: `left_out` names those that a run of ./kev test leaves out, `on_kernels` chooses a kernel.

A sample is good if a few seeds meet each test on each of its kernels.
"""
import functools
import json
import os
import re
import subprocess
import unittest
from pathlib import Path

HERE = Path(__file__).parent
SEEDS = range(7_000_000, 7_000_040)


def answer(command, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KEVT_")}
    ended = subprocess.run(command, env=environment | variables, capture_output=True, text=True, check=True)
    return ended.stdout.splitlines()


@functools.cache
def left_out(seed):
    return tuple(answer([HERE / "left_out"], KEVT_SEED=str(seed)))


def kernels_of_tests():
    """Name → its kernels, of the guest tests that ctest has."""
    tests = json.loads("\n".join(answer(["ctest", "--test-dir", os.environ["KEVT_BUILD"], "--show-only=json-v1"])))["tests"]
    return {test["name"]: test["command"][2].split() for test in tests if test["name"].startswith("guest_")}


class Samples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernels = kernels_of_tests()

    def test_half_of_the_tests_is_left_out(self):
        for seed in SEEDS:
            names = left_out(seed)
            self.assertEqual(len(set(names)), len(names))
            self.assertEqual(len(names), len(self.kernels) // 2, f"each guest test needs a row of tests/costs.txt: {sorted(self.kernels)}")
            self.assertLessEqual(set(names), set(self.kernels))

    def test_a_seed_gives_one_sample_and_the_next_another(self):
        self.assertEqual(left_out(1), left_out.__wrapped__(1))
        self.assertGreater(len({left_out(seed) for seed in SEEDS}), len(SEEDS) // 2)

    def test_nothing_is_left_out_when_all_is_asked_for(self):
        self.assertEqual(answer([HERE / "left_out"], KEVT_WHOLE="1"), [])
        self.assertEqual(answer([HERE / "left_out"], KEVT_KERNELS="all"), [])

    def test_every_test_meets_each_of_its_kernels(self):
        unmet = {name: set(kernels) for name, kernels in self.kernels.items()}
        for seed in SEEDS:
            for name in (name for name in unmet if unmet[name] and name not in left_out(seed)):
                said = answer([HERE / "on_kernels", name.removeprefix("guest_"), " ".join(self.kernels[name]), "true"], KEVT_SEED=str(seed))
                unmet[name].discard(re.match(r"on Linux (\S+), one of", said[0])[1])
        self.assertEqual({name: kernels for name, kernels in unmet.items() if kernels}, {})


if __name__ == "__main__":
    unittest.main(verbosity=2)
