"""Stacks that hits walk by themselves: every call of a program with threads and a child, under every stack.

KEVT_SEED repeats a run; KEVT_STACK_CALLS is the number of calls in each thread.
"""
import collections
import os
import random
import re
import subprocess

from kevtest import KEVTRACE, PROGRAMS, ProcessTest, main

TOWERS = os.path.join(PROGRAMS, "towers")
TOP = "p:top towers:top n=%di:s64"
SEED = int(os.environ.get("KEVT_SEED", random.randrange(1 << 30)))
CALLS = int(os.environ.get("KEVT_STACK_CALLS", 100000))
THREADS = 3
TOTAL = (THREADS + 1) * CALLS
KEPT = 16  # addresses of a stack key, with that of top() itself


# Calls getppid under 3^11 stacks, each other than the rest, while kevtrace stands still: nothing makes room meanwhile.
MANY = """
import itertools, os, signal
with open("/proc/self/stat") as stat: tracer = int(stat.read().split()[3])
os.kill(tracer, signal.SIGSTOP)
def go(way):
    if not way:
        os.getppid()
        return 0
    turn, rest = way[0], way[1:]
    if turn == 0: return list(map(lambda _: go(rest), (1,)))
    if turn == 1: return sorted((1,), key=lambda _: go(rest) and 0)
    return max((1,), key=lambda _: go(rest) and 0)
for way in itertools.product((0, 1, 2), repeat=11): go(way)
os.kill(tracer, signal.SIGCONT)
"""
MANY_CALLS = 3 ** 11


def ways_of(text):
    ways = collections.Counter()
    for way, count in re.findall(r"^([abc]+) (\d+)$", text, re.M):
        ways[way] += int(count)  # two ways may have the same letters
    return ways


def as_keys(ways):
    """What becomes of the ways where a key keeps the innermost calls alone. main's own frames and a thread's are no letters."""
    keys = collections.Counter()
    for way, count in ways.items():
        keys[way[-(KEPT - 1):]] += count
    return keys


def stack_entries(text):
    keys = collections.Counter()
    for frames, hits in re.findall(r"^\{ common_stacktrace:\n((?: +\S+.*\n)+)\} hitcount: +(\d+)$", text, re.M):
        names = re.findall(r"^ +(\w+)\+0x", frames, re.M)
        if names[0] != "top":
            raise AssertionError(frames)
        keys["".join(reversed([name for name in names[1:] if name in "abc"]))] += int(hits)
    return keys


class StackCounts(ProcessTest):
    def run_with(self, *words):
        command = [KEVTRACE, "run", *words, "--", TOWERS, str(SEED), str(CALLS), str(THREADS)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        print(f"KEVT_SEED={SEED}", flush=True)
        return done.stdout, done.stderr

    def assert_counted(self, said, event="top"):
        hits, recorded, aggregated, filtered, lost, missed = map(int, re.search(
            rf"^{event}: hits (\d+) = recorded (\d+) \+ aggregated (\d+) \+ filtered (\d+) \+ lost (\d+) \+ missed (\d+)$", said, re.M).groups())
        self.assertEqual((hits, recorded, filtered, lost, missed), (TOTAL, 0, 0, 0, 0))
        self.assertEqual(aggregated, TOTAL)

    def test_hits_count_by_their_stack(self):
        text, said = self.run_with("-e", TOP, "--hist", "top:keys=stacktrace")
        self.assert_counted(said)
        self.assertEqual(stack_entries(text), as_keys(ways_of(text)))
        self.assertIn(f"    Hits: {TOTAL}\n", text)
        self.assertIn("    Dropped: 0\n", text)

    def test_by_stack_and_number(self):
        text, said = self.run_with("-e", "p:top towers:top n=%di:s64", "--hist", "top:keys=stacktrace,n.buckets=50000:vals=n")
        self.assert_counted(said)
        hits = [int(count) for count in re.findall(r"hitcount: +(\d+)", text)]
        self.assertEqual(sum(hits), TOTAL)
        sums = [int(number) for number in re.findall(r"hitcount: +\d+  n: +(\d+)", text)]
        self.assertEqual(sum(sums), (THREADS + 1) * sum(range(CALLS)))

    def test_a_return_probe_below_changes_no_stack(self):
        text, said = self.run_with("-e", TOP, "-e", "r:back towers:b", "--filter", "back: common_pid == 0", "--hist", "top:keys=stacktrace")
        self.assert_counted(said)
        self.assertEqual(stack_entries(text), as_keys(ways_of(text)))

    def assert_folded(self, lines, text):
        found = collections.Counter()
        for line in lines:
            stack, _, count = line.rpartition(" ")
            names = stack.split(";")
            self.assertEqual((names[0], names[-1]), ("towers", "top"))
            found["".join(name for name in names if name in ("a", "b", "c"))] += int(count)
        self.assertEqual(found, ways_of(text))

    def test_folded_stacks_are_counted_whole(self):
        """As many as there are, without a record."""
        path = self.path("towers.folded")
        text, said = self.run_with("--stack", "-o", path, "-e", TOP)
        self.assert_counted(said)
        self.assertIn(f"wrote {path}: {TOTAL} hits, ", said)
        with open(path, encoding="utf-8") as file:
            self.assert_folded(file, text)

    def test_a_tree_shows_the_ways_that_weigh_enough(self):
        path = self.path("towers.tree")
        text, said = self.run_with("--stack", "-f", "tree", "-o", path, "-e", TOP)
        self.assert_counted(said)
        found = collections.Counter()
        names = []  # from the root to the row
        with open(path, encoding="utf-8") as file:
            rows = file.read().splitlines()[1:]
        for row in rows:
            weight, own, indent, name = re.fullmatch(r" *(\d+) +[\d.]+ +(\d+)  ( *)(\S.*)", row).groups()
            if not names:
                self.assertEqual((int(weight), name), (TOTAL, "all"))
            names[len(indent) // 2:] = [name]
            if name == "top":
                self.assertEqual(own, weight)
                found["".join(name for name in names if name in ("a", "b", "c"))] += int(weight)
        # Less than 0.5 % is left out, of the main thread's and of the other threads' stacks each.
        for way, count in ways_of(text).items():
            self.assertTrue(0 <= count - found.pop(way, 0) < 0.01 * TOTAL, f"{way}: {count}")
        self.assertFalse(found)

    def test_hits_without_room_are_lost_and_told(self):
        path = self.path("many.folded")
        command = [KEVTRACE, "run", "--stack", "-o", path, "-e", "p:ask libc:getppid", "--", "/usr/bin/python3", "-S", "-c", MANY]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        counts = re.search(r"^ask: hits (\d+) = recorded 0 \+ aggregated (\d+) \+ filtered 0 \+ lost (\d+) \+ missed 0$", done.stderr, re.M)
        hits, aggregated, lost = map(int, counts.groups())
        self.assertEqual((hits, aggregated + lost), (MANY_CALLS, MANY_CALLS))
        self.assertGreater(lost, 0)
        self.assertIn(f"{lost} hits are in no stack: there was no memory for more stacks\n", done.stderr)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(sum(int(line.rpartition(" ")[2]) for line in file), aggregated)

    def test_records_have_all_of_a_stack(self):
        path = self.path("towers.dat")
        text, said = self.run_with("--stack", "-o", path, "-e", TOP)
        self.assertIn(f"top: hits {TOTAL} = recorded {TOTAL} + filtered 0 + lost 0 + missed 0\n", said)
        folded = subprocess.run([KEVTRACE, "flame", path, "-f", "folded"], capture_output=True, text=True, check=True, timeout=600)
        self.assert_folded(folded.stdout.splitlines(), text)

    def test_a_stack_key_has_sixteen_addresses_and_a_full_one_all(self):
        text, said = self.run_with("-e", TOP, "--hist", "top:keys=stacktrace.full")
        self.assert_counted(said)
        keys = collections.Counter()
        for frames, hits in re.findall(r"^\{ common_stacktrace:\n((?: +\S+.*\n)+)\} hitcount: +(\d+)$", text, re.M):
            keys["".join(reversed([name for name in re.findall(r"^ +(\w+)\+0x", frames, re.M) if name in "abc"]))] += int(hits)
        self.assertEqual(keys, ways_of(text))
        wrong = subprocess.run([KEVTRACE, "run", "-e", TOP, "--hist", "top:keys=n.full", "--", TOWERS, "1", "1", "1"], capture_output=True, text=True, timeout=60)
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn("Invalid field modifier", wrong.stderr)


if __name__ == "__main__":
    main()
