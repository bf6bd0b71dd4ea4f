"""A share of a program's tests, where all of them take longer than a run of every test has time for.

KEVT_SHARE=N: of each class one test of N, drawn by KEVT_SEED, which is printed; a few runs meet each test.
KEVT_WHOLE=1: all of them, as ./kev soak runs them.
"""
import os
import random
import unittest


class OneOf(unittest.TestLoader):
    def __init__(self, share, seed):
        super().__init__()
        self.share, self.seed = share, seed

    def getTestCaseNames(self, testCaseClass):
        names = super().getTestCaseNames(testCaseClass)
        drawn = random.Random(f"{self.seed} {testCaseClass.__name__}").sample(names, -(-len(names) // self.share))
        return sorted(drawn)


def main():
    share = 1 if os.environ.get("KEVT_WHOLE") else int(os.environ.get("KEVT_SHARE", "1"))
    if share == 1:
        unittest.main(verbosity=2)
    seed = int(os.environ.get("KEVT_SEED") or random.SystemRandom().getrandbits(32))
    print(f"one test of {share}, drawn by KEVT_SEED={seed}; KEVT_WHOLE=1 runs all", flush=True)
    unittest.main(verbosity=2, testLoader=OneOf(share, seed))
