"""Whatever ends the tracer, its keeper finishes the trace: tables and counts to the last hit, what is still in the rings, and an account of each hit.
"""
import os
import re
import signal
import subprocess
import tempfile
import time

from kevtest import KEVTRACE, PROGRAMS, ProcessTest, main
from mounted import MountTest, wait_until

STEPS = os.path.join(PROGRAMS, "steps")
STEP = "p:step steps:step i=%di:s64"
OTHER = "p:other steps:other i=%di:s64"
ROUNDS, EACH = 8, 1000
ALL = ROUNDS * EACH


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(") ")[2][0] in "ZX"
    except FileNotFoundError:
        return True


def began(pid):
    """When a process began, in seconds since boot, rounded down to a tick; 0: there is none."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rpartition(") ")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    except FileNotFoundError:
        return 0


def accounts(said):
    """{event: (hits, recorded, aggregated, filtered, lost, missed)}"""
    rows = re.findall(r"^(\w+): hits (\d+) = recorded (\d+)(?: \+ aggregated (\d+))? \+ filtered (\d+) \+ lost (\d+) \+ missed (\d+)$", said, re.M)
    return {name: tuple(int(number or 0) for number in numbers) for name, *numbers in rows}


def hits_of(text):
    return [int(number) for number in re.findall(r"^    Hits: (\d+)$", text, re.M)]


class Killed(ProcessTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def started(self, *words, verb="run"):
        """A run over `steps` with a keeper."""
        self.out = open(self.path("out"), "w+")
        self.err = open(self.path("err"), "w+")
        self.addCleanup(self.out.close)
        self.addCleanup(self.err.close)
        run = subprocess.Popen([KEVTRACE, verb, *words, "--", STEPS], stdin=subprocess.PIPE, stdout=self.out, stderr=self.err, text=True, cwd=self.folder)
        wait_until(lambda: self.keeper_of(run), "a keeper")
        return run

    @staticmethod
    def keeper_of(run):
        tracers = children_of(run.pid)
        return next((child for child in children_of(tracers[0]) if name_of(child) == "kevtrace-keeper"), None) if tracers else None

    def steps(self, run):
        for number in range(ROUNDS):
            run.stdin.write(f"{number * EACH} {(number + 1) * EACH} 1\n")
            run.stdin.flush()
            wait_until(lambda: self.said("out").count("done\n") > number, "the steps")

    def said(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def killed(self, *words, verb="run"):
        """Kills the tracer behind the last step; returns the accounts. Another step is not traced any more."""
        run = self.started(*words, verb=verb)
        self.steps(run)
        os.kill(children_of(run.pid)[0], signal.SIGKILL)
        wait_until(lambda: accounts(self.said("err")) or run.poll() is not None, "the accounts")
        run.communicate("5 6 1\n", timeout=60)
        self.assertEqual(run.returncode, 128 + signal.SIGKILL, self.said("err"))
        self.assertIn("the tracing process was ended by signal 9", self.said("err"))
        self.assertEqual(self.said("out").count("done\n"), ROUNDS + 1)
        found = accounts(self.said("err"))
        for name, (hits, *parts) in found.items():
            self.assertEqual(hits, sum(parts), name)
        return found

    def assert_within(self, recorded, written, lost):
        """Lines of a write in which the tracer was killed are in the file and count as lost."""
        self.assertLessEqual(recorded, written)
        self.assertLessEqual(written, recorded + lost)

    def report(self, name):
        return subprocess.run([KEVTRACE, "report", self.path(name)], capture_output=True, text=True, check=True, timeout=60).stdout

    def test_lines(self):
        found = self.killed("-e", STEP, "-e", OTHER, "--hist", "other: keys=i.log2")
        hits, recorded, _, _, lost, _ = found["step"]
        numbers = [int(number) for number in re.findall(r" step: .* i=(\d+)$", self.said("out"), re.M)]
        self.assertEqual((hits, recorded + lost), (ALL, ALL))
        self.assert_within(recorded, len(numbers), lost)
        self.assertEqual(numbers, sorted(set(numbers)), "each once, in order")
        self.assertEqual(found["other"], (ALL, 0, ALL, 0, 0, 0), "counted at the hit: to the last one")
        self.assertEqual(hits_of(self.said("out")), [ALL])

    def test_a_recording_goes_on_in_a_file_of_its_own(self):
        hits, recorded, _, _, lost, _ = self.killed("-e", STEP, "-o", "x.dat")["step"]
        numbers = [int(number) for name in ("x.dat", "x.rest.dat") for number in re.findall(r" step: .* i=(\d+)$", self.report(name), re.M)]
        self.assertEqual((hits, recorded + lost), (ALL, ALL))
        self.assert_within(recorded, len(numbers), lost)
        self.assertEqual(numbers, sorted(set(numbers)), "each once, in order")
        self.assertRegex(self.said("err"), r"wrote x\.rest\.dat: \d+ events")

    def test_json(self):
        _, recorded, _, _, lost, _ = self.killed("-e", STEP, "-f", "json", "-o", "x.json")["step"]
        numbers = [int(number) for name in ("x.json", "x.rest.json") for number in re.findall(r'"i":(\d+)', self.said(name))]
        self.assertEqual(recorded + lost, ALL)
        self.assert_within(recorded, len(numbers), lost)
        self.assertEqual(len(set(numbers)), len(numbers), "each once")

    def test_what_the_reader_counts_is_counted_or_lost(self):
        found = self.killed("-e", STEP, "-e", OTHER, "--hist", "step: keys=i:t0=common_timestamp",
                            "--hist", "other: keys=i:ns=common_timestamp-$t0", "--hist-output", "h.json")
        for _, recorded, aggregated, _, lost, _ in found.values():
            self.assertEqual((recorded, aggregated + lost), (0, ALL))
        tables = [int(number) for number in re.findall(r'"hits":(\d+)', self.said("h.json"))]
        self.assertEqual(sorted(tables), sorted(aggregated for _, _, aggregated, *_ in found.values()))

    def test_intervals(self):
        """No hit is in two tables, or in none."""
        hits, _, aggregated, _, lost, _ = self.killed("-e", STEP, "--interval", "0.02", "--hist", "step: keys=common_type")["step"]
        self.assertEqual((hits, aggregated + lost), (ALL, ALL))
        self.assertEqual(sum(hits_of(self.said("out"))), aggregated)

    def test_intervals_beside_a_recording(self):
        """The tables of all intervals are printed, and in the recording that goes on."""
        _, _, aggregated, _, lost, _ = self.killed("-e", STEP, "--interval", "0.02", "--hist", "step: keys=common_type", "-o", "x.dat")["step"]
        self.assertEqual(aggregated + lost, ALL)
        self.assertEqual(sum(hits_of(self.said("out"))), aggregated)
        self.assertEqual(sum(hits_of(self.report("x.rest.dat"))), aggregated)

    def test_intervals_in_ndjson(self):
        """The tables of intervals that had ended are in the recording, the others in the one that goes on: none in both."""
        _, _, aggregated, _, lost, _ = self.killed("-e", STEP, "--interval", "0.02", "--hist", "step: keys=common_type", "-o", "x.json")["step"]
        self.assertEqual(aggregated + lost, ALL)
        self.assertEqual(sum(hits_of(self.report("x.json"))) + sum(hits_of(self.report("x.rest.json"))), aggregated)

    def test_what_is_written_at_the_end_alone(self):
        _, recorded, _, _, lost, _ = self.killed("-e", STEP, "--stack", "-f", "folded", "-o", "x.folded", "-c", str(2 * ALL))["step"]
        self.assertEqual(recorded + lost, ALL)
        self.assertEqual(sum(int(number) for number in re.findall(r" (\d+)$", self.said("x.folded"), re.M)), recorded)

    def test_stacks_that_hits_count(self):
        found = self.killed("-e", STEP, "--stack", "-f", "folded", "-o", "x.folded")["step"]
        hits = sum(int(number) for number in re.findall(r" (\d+)$", self.said("x.folded"), re.M))
        self.assertEqual((found[0], hits + found[4]), (ALL, ALL))

    def test_a_limit(self):
        _, recorded, _, _, lost, _ = self.killed("-e", STEP, "-c", str(2 * ALL))["step"]
        self.assertEqual(recorded + lost, ALL)
        self.assert_within(recorded, len(re.findall(r" step: ", self.said("out"))), lost)

    def test_a_question(self):
        found = self.killed("-e", STEP, verb="count")
        hits, recorded, _, filtered, lost, missed = found["step"]
        self.assertEqual((hits, recorded + lost), (ALL, ALL))
        row = re.search(r"^kprobes:step +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)$", self.said("out"), re.M)
        self.assertEqual(tuple(map(int, row.groups())), (hits, recorded, filtered, lost, missed))

    def test_it_ends_with_the_tracer(self):
        run = self.started("-e", STEP)
        keeper = self.keeper_of(run)
        self.steps(run)
        run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0)
        self.assertTrue(has_ended(keeper))
        self.assertEqual(accounts(self.said("err"))["step"][1], ALL, "once")
        self.assertEqual(len(re.findall(r" step: ", self.said("out"))), ALL)

    def test_it_ends_with_front_and_tracer(self):
        run = self.started("-e", STEP)
        keeper, tracer = self.keeper_of(run), children_of(run.pid)[0]
        program = next(child for child in children_of(tracer) if name_of(child) == "steps")
        run.kill()
        os.kill(tracer, signal.SIGKILL)
        run.wait()
        wait_until(lambda: has_ended(keeper), "the keeper's end")
        os.kill(program, signal.SIGKILL)
        run.stdin.close()


class KilledMount(MountTest):
    COMMAND = (STEPS,)

    def test_its_files_are_kept(self):
        self.echo(STEP + "\n" + OTHER + "\n", "dynamic_events")
        self.echo("1", "events/kprobes/step/enable")
        self.echo("hist:keys=i.log2", "events/kprobes/other/trigger")
        defined = time.clock_gettime(time.CLOCK_BOOTTIME)
        done = 0

        def steps():
            nonlocal done
            self.target.stdin.write(f"{done} {done + EACH} 1\n")
            self.target.stdin.flush()
            self.assertEqual(self.target.stdout.readline(), "done\n")
            done += EACH
            return began(Killed.keeper_of(self.mount)) > defined
        wait_until(steps, "a keeper that knows")
        for _ in range(ROUNDS):
            steps()
        os.kill(children_of(self.mount.pid)[0], signal.SIGKILL)
        self.assertEqual(self.mount.wait(timeout=60), 128 + signal.SIGKILL)
        with open(self.log.name) as file:
            said = file.read()
        self.assertIn(f"what the directory had is in {self.dir}.left: trace, kprobes.other.hist\n", said)
        found = accounts(said)
        hits, recorded, _, _, lost, _ = found["step"]
        with open(self.dir + ".left/trace") as file:
            numbers = [int(number) for number in re.findall(r" step: .* i=(\d+)$", file.read(), re.M)]
        self.assertEqual((hits, recorded + lost), (done, done))
        self.assertLessEqual(len(numbers), recorded)  # the buffer keeps the newest
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertEqual(found["other"], (done, 0, done, 0, 0, 0))
        with open(self.dir + ".left/kprobes.other.hist") as file:
            self.assertEqual(hits_of(file.read()), [done])
        self.assertIsNone(self.target.poll())


if __name__ == "__main__":
    main()
