"""Histograms that hits count by themselves: every call of a program with threads that come and go, and children, under every key.

KEVT_SEED repeats a run; KEVT_HIT_COUNTS_CALLS is the number of calls in each thread and round, KEVT_HIT_COUNTS_THREADS that of threads at a time.
"""
import csv
import json
import os
import random
import re
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import threading

from kevtest import KEVTRACE, PROGRAMS, ProcessTest, main
from mounted import MountTest, PlaceTest, is_mounted, wait_until

COUNTS = os.path.join(PROGRAMS, "counts")
PROBE = "p:counted counts:counted key=%di:u64 amount=%si:u64"
SEED = int(os.environ.get("KEVT_SEED", random.randrange(1 << 30)))
CALLS = int(os.environ.get("KEVT_HIT_COUNTS_CALLS", 1000000))
THREADS = int(os.environ.get("KEVT_HIT_COUNTS_THREADS", 4))
HISTOGRAM, COUNTED = "hist:keys=key:vals=amount", "events/kprobes/counted/"
STEPS = os.path.join(PROGRAMS, "steps")
STEP = "p:step steps:step i=%di:s64"
EXTREMES = "keys=common_type:vals=i.min,i.max"
BATCHES = ((10, 90), (40, 60), (30, 35))  # numbers of steps, each within what came before
ROUNDS = 4
TOTAL = THREADS * (ROUNDS + ROUNDS // 2) * CALLS


def entries(text):
    """{key: (hits, sum)} of a `hist` text by `keys=key:vals=amount`."""
    pattern = r"^\{ key: +(\d+) \} hitcount: +(\d+)  amount: +(\d+)$"
    return {int(key): (int(hits), int(amount)) for key, hits, amount in re.findall(pattern, text, re.M)}


def expected(lines):
    rows = [line.split() for line in lines if line and line != "ready"]
    return {int(key): (int(calls), int(amount)) for key, calls, amount in rows}


def extremes(text):
    """(hits, least, greatest) of each entry by EXTREMES."""
    rows = re.findall(r"^\{ common_type: +\d+ \} hitcount: +(\d+)  i \(min\): +(\d+)  i \(max\): +(\d+)$", text, re.M)
    return [tuple(map(int, row)) for row in rows]


def totals(text):
    return tuple(int(number) for number in re.search(r"Hits: (\d+)\n +Entries: (\d+)\n +Dropped: (\d+)", text).groups())


class CountedInARun(ProcessTest):
    def run_with(self, keys, *words, calls=CALLS, probe=PROBE, preexec_fn=None):
        command = [KEVTRACE, "run", "-e", probe, *words, "--", COUNTS, str(SEED), str(calls), str(keys), str(THREADS), str(ROUNDS)]
        done = subprocess.run(command, input=b"..", capture_output=True, timeout=1500, preexec_fn=preexec_fn)
        self.assertEqual(done.returncode, 0, done.stderr)
        out = done.stdout.decode()
        return expected(re.findall(r"^\d+ \d+ \d+$", out, re.M)), out, done.stderr.decode()

    def test_every_call_of_few_keys_is_in_a_table(self):
        with self.subTest(KEVT_SEED=SEED):
            want, text, err = self.run_with(300, "--hist", "counted:keys=key:vals=amount")
            self.assertEqual(entries(text), want)
            self.assertEqual(totals(text), (TOTAL, 300, 0))
            self.assertIn(f"counted: hits {TOTAL} = recorded 0 + aggregated {TOTAL} + filtered 0 + lost 0 + missed 0\n", err)

    def test_a_condition_filters_what_it_refuses(self):
        with self.subTest(KEVT_SEED=SEED):
            want, text, err = self.run_with(40, "--hist", "counted:keys=key:vals=amount if key < 10")
            counted = {key: row for key, row in want.items() if key < 10}
            self.assertEqual(entries(text), counted)
            hits = sum(row[0] for row in counted.values())
            self.assertIn(f"counted: hits {TOTAL} = recorded 0 + aggregated {hits} + filtered {TOTAL - hits} + lost 0 + missed 0\n", err)

    def test_two_histograms_count_the_same_hits(self):
        with self.subTest(KEVT_SEED=SEED):
            want, text, _ = self.run_with(40, "--hist", "counted:keys=key:vals=amount", "--hist", "counted:keys=common_pid.execname:vals=amount")
            self.assertEqual(entries(text), want)
            threads = re.findall(r"^\{ common_pid: counts +\[ +\d+\] \} hitcount: +(\d+) ", text, re.M)
            self.assertEqual(len(threads), THREADS * (ROUNDS + ROUNDS // 2))
            self.assertEqual({int(hits) for hits in threads}, {CALLS})

    def test_texts(self):
        """Those that are too long for a table are recorded, and in the same histogram."""
        with self.subTest(KEVT_SEED=SEED):
            probe = "p:counted counts:counted name=+0(%dx):string amount=%si:u64"
            want, text, err = self.run_with(50, "--hist", "counted:keys=name:vals=amount", "--buffer", "65536", calls=CALLS // 100, probe=probe)
            rows = re.findall(r"^\{ name: (\S+) +\} hitcount: +(\d+)  amount: +(\d+)$", text, re.M)
            name = {key: f"k{key}" if key % 10 else f"k{key}-with-a-long-name" for key in want}
            self.assertEqual({text: (int(hits), int(amount)) for text, hits, amount in rows}, {name[key]: row for key, row in want.items()})
            total = TOTAL // 100
            self.assertIn(f"counted: hits {total} = recorded 0 + aggregated {total} + filtered 0 + lost 0 + missed 0\n", err)

    def test_recordings_keep_them(self):
        """As text and as values, in each format that can be read again."""
        with self.subTest(KEVT_SEED=SEED), tempfile.TemporaryDirectory() as folder:
            def path(name):
                return os.path.join(folder, name)

            def report(name, *words):
                return subprocess.run([KEVTRACE, "report", path(name), *words], capture_output=True, text=True, check=True, timeout=120).stdout
            want, text, _ = self.run_with(300, "--hist", "counted:keys=key:vals=amount", "-o", path("a.dat"), calls=CALLS // 100)
            self.assertEqual(entries(report("a.dat")), want)
            self.assertIn(report("a.dat"), text)
            for name in ("b.json", "c.dat7", "d.dat"):
                subprocess.run([KEVTRACE, "convert", path("b.json" if name == "d.dat" else "a.dat"), path(name)], check=True, timeout=120)
                self.assertEqual(report(name), report("a.dat"), name)
            tables = [json.loads(line) for line in report("d.dat", "-f", "json").splitlines()]
            rows = [table["histogram"]["rows"] for table in tables if table["type"] == "histogram"]
            self.assertEqual([{row["keys"]["key"]: (row["hitcount"], row["values"]["amount"]) for row in rows[0]}], [want])

    def test_names_of_threads(self):
        _, text, _ = self.run_with(50, "--hist", "counted:keys=common_comm", calls=CALLS // 100)
        self.assertRegex(text, r"\{ common_comm: counts +\} hitcount: +%d\n" % (TOTAL // 100))

    def test_without_address_space_for_tables(self):
        """The reader counts what it gets."""
        with self.subTest(KEVT_SEED=SEED):
            limit = 12 << 30
            _, text, err = self.run_with(20, "--hist", "counted:keys=key:vals=amount", calls=CALLS // 100,
                                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
            hits, aggregated, lost = self.account(err)
            self.assertEqual((hits, aggregated + lost), (TOTAL // 100, hits))
            self.assertEqual(totals(text)[0], aggregated)

    def test_without_a_compiler(self):
        """A compiled script has the code that records; LLVM is not there to make the other: the reader counts."""
        script, compiled = self.path("s.kev", f"{PROBE}\n  enable 0\n  trigger hist:keys=key:vals=amount\n".encode()), self.path("s.kevo")
        subprocess.run([KEVTRACE, "compile", "-o", compiled, script], capture_output=True, check=True, timeout=60)
        alone = self.path("kevtrace")
        shutil.copy(KEVTRACE, alone)
        refused = subprocess.run([alone, "run", "-e", PROBE, "--", COUNTS], capture_output=True, timeout=60)
        self.assertNotEqual(refused.returncode, 0)
        command = [alone, "run", "--buffer", "65536", "-p", compiled, "--", COUNTS, str(SEED), str(CALLS // 100), "20", str(THREADS), "2"]
        done = subprocess.run(command, input=b"..", capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        hits, aggregated, lost = self.account(done.stderr.decode())
        self.assertEqual((hits, aggregated + lost), (3 * THREADS * (CALLS // 100), hits))
        self.assertEqual(totals(done.stdout.decode())[0], aggregated)

    def test_more_histograms_than_there_are_tables(self):
        """81 of them, where a session has 64 tables: whoever counts, the counts are the same."""
        with self.subTest(KEVT_SEED=SEED):
            words = []
            for event in "abcde":
                words += ["-e", f"p:{event} counts:counted key=%di:u64 amount=%si:u64"]
                for n in range(16):
                    words += ["--hist", f"{event}:keys=key:vals=amount if key != {n}"]
            want, text, err = self.run_with(20, "--hist", "counted:keys=key", "--buffer", "65536", *words, calls=CALLS // 100)
            texts = re.split(r"^# event histogram$", text, flags=re.M)[1:]
            self.assertEqual(len(texts), 81)
            for event in "abcde":
                self.assertRegex(err, rf"\n{event}: hits {TOTAL // 100} = recorded 0 \+ aggregated {TOTAL // 100} \+ filtered 0 \+ lost 0 ")
            for one in texts:
                left_out = re.search(r" if key != (\d+) ", one)
                if left_out:
                    self.assertEqual(entries(one), {key: row for key, row in want.items() if key != int(left_out[1])})

    def test_an_injection_has_no_histogram(self):
        done = subprocess.run([KEVTRACE, "run", "-e", PROBE, "--hist", "counted:keys=key", "--unsafe", "--inject", "counted: ret=1", "--",
                               COUNTS, "1", "1", "1", "1", "1"], input=b"..", capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"`counted` injects: its filter and triggers have to be asked at the hit", done.stderr)

    def account(self, err):
        found = re.search(r"counted: hits (\d+) = recorded 0 \+ aggregated (\d+) .* \+ lost (\d+)", err)
        return tuple(int(number) for number in found.groups())

    def test_every_interval(self):
        """No hit is in two intervals, or in none."""
        with self.subTest(KEVT_SEED=SEED):
            want, text, _ = self.run_with(20, "--hist", "counted:keys=key:vals=amount", "--interval", "0.02")
            texts = text.split("# kprobes:counted, ")[1:]
            self.assertGreater(len(texts), 1)
            ends = [float(time) for time in re.findall(r"^# kprobes:counted, [\d.]+ s to ([\d.]+) s$", text, re.M)]
            self.assertEqual(ends, sorted(ends))
            sums = {}
            for one in texts:
                for key, (hits, amount) in entries(one).items():
                    before = sums.get(key, (0, 0))
                    sums[key] = (before[0] + hits, before[1] + amount)
            self.assertEqual(sums, want)

    def test_for_other_programs(self):
        """The same counts in every form, by intervals as well."""
        with self.subTest(KEVT_SEED=SEED):
            for name in ("h.json", "h.csv", "h.prom"):
                words = ["--hist", "counted:keys=key:vals=amount", "--hist-output", self.path(name)]
                words += [] if name == "h.prom" else ["--interval", "0.02"]
                want, text, _ = self.run_with(20, *words)
                self.assertNotIn("hist:", text)
                with open(self.path(name), newline="") as file:
                    self.assertEqual(self.sums_of(name, file), want, name)

    def sums_of(self, name, file):
        if name == "h.json":
            lines = [json.loads(line) for line in file]
            self.assertGreater(len(lines), 1)
            rows = [(row["keys"]["key"], row["hitcount"], row["values"]["amount"]) for line in lines for row in line["rows"]]
            self.assertEqual(sum(row[1] for row in rows), sum(line["hits"] for line in lines))
        elif name == "h.csv":
            rows = [(row["key"], row["hitcount"], row["amount"]) for row in csv.DictReader(file)]
        else:
            text = file.read()
            self.assertTrue(text.endswith("# EOF\n"))
            hits = dict(re.findall(r'^kevtrace_hits_total\{event="kprobes:counted",histogram="1",key="(\d+)"\} (\d+)$', text, re.M))
            amounts = dict(re.findall(r'^kevtrace_values\{event="kprobes:counted",histogram="1",key="(\d+)",of="amount"\} (\d+)$', text, re.M))
            rows = [(key, hits[key], amounts[key]) for key in hits]
        sums = {}
        for key, hits, amount in rows:
            before = sums.get(int(key), (0, 0))
            sums[int(key)] = (before[0] + int(hits), before[1] + int(amount))
        return sums

    def test_percentiles(self):
        """Of a log-linear key: each at most 1/64 over the number that so many hits do not exceed."""
        with self.subTest(KEVT_SEED=SEED):
            file = self.path("h.json")
            want, _, _ = self.run_with(2000, "--hist", "counted:keys=key.loglinear", "--hist-output", file)
            with open(file) as lines:
                counted = json.load(lines)
            rows = [(row["keys"]["key.loglinear"], row["hitcount"]) for row in counted["rows"]]
            for bucket, hits in rows:
                self.assertEqual(hits, sum(row[0] for key, row in want.items() if bucket["from"] <= key <= bucket["to"]), bucket)
                self.assertLessEqual((bucket["to"] - bucket["from"]) * 64, bucket["from"])
            self.assertEqual(sum(hits for _, hits in rows), TOTAL)
            keys = [(key, want[key][0]) for key in sorted(want)]
            percentiles, = counted["percentiles"]
            self.assertEqual(percentiles["keys"], {})
            for name, percent in (("p50", 50), ("p90", 90), ("p99", 99), ("max", 100)):
                exact = next(key for key, so_far in self.running(keys) if 100 * so_far >= percent * TOTAL)
                self.assertLessEqual(exact, percentiles[name])
                self.assertLessEqual((percentiles[name] - exact) * 64, exact)

    @staticmethod
    def running(keys):
        so_far = 0
        for key, hits in keys:
            so_far += hits
            yield key, so_far

    def test_an_exposition_has_no_intervals(self):
        done = subprocess.run([KEVTRACE, "run", "-e", PROBE, "--hist", "counted:keys=key", "--hist-format", "openmetrics", "--interval", "1", "--",
                               COUNTS, "1", "1", "1", "1", "1"], input=b"..", capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"openmetrics is one exposition of the whole run: leave --interval out", done.stderr)

    def test_extremes(self):
        """At the hit; with intervals by the reader."""
        with self.subTest(KEVT_SEED=SEED):
            histogram = "counted:keys=key:vals=key.min,amount.min,amount.max,key.max,amount.avg"
            pattern = (r"^\{ key: +(\d+) \} hitcount: +(\d+)  key \(min\): +(\d+)  amount \(min\): +(\d+)  amount \(max\): +(\d+)  key \(max\): +(\d+)"
                       r"  amount \(avg\): +([\d.]+)$")
            want, text, err = self.run_with(40, "--hist", histogram)
            self.assertIn(f"counted: hits {TOTAL} = recorded 0 + aggregated {TOTAL} + filtered 0 + lost 0 + missed 0\n", err)
            rows = re.findall(pattern, text, re.M)
            self.assertEqual(len(rows), 40)
            for key, hits, least_key, least, greatest, greatest_key, mean in rows:
                calls, amount = want[int(key)]
                self.assertEqual((int(hits), least_key, greatest_key, least, greatest), (calls, key, key, "0", "7"))
                self.assertEqual(mean, f"{amount / calls:.2f}")
            want, text, err = self.run_with(40, "--hist", histogram, "--interval", "0.05", "--buffer", "65536", calls=CALLS // 50)
            _, aggregated, lost = self.account(err)
            rows = re.findall(pattern, text, re.M)
            self.assertEqual(sum(int(row[1]) for row in rows), aggregated)
            self.assertEqual(aggregated + lost, TOTAL // 50)
            self.assertTrue(all(row[0] == row[2] == row[5] and int(row[3]) <= float(row[6]) <= int(row[4]) for row in rows))

    def test_extremes_are_of_their_interval(self):
        """What was least or greatest in an earlier one is not shown again."""
        tracer = subprocess.Popen([KEVTRACE, "run", "-e", STEP, "--interval", "0.05", "--hist", "step:" + EXTREMES, "--", STEPS],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for first, last in BATCHES:
            tracer.stdin.write(f"{first} {last} 1\n")
            tracer.stdin.flush()
            rows = []
            while sum(hits for hits, _, _ in rows) < last - first:
                line = tracer.stdout.readline()
                self.assertTrue(line, "the end")
                rows += extremes(line)
            self.assertEqual((min(row[1] for row in rows), max(row[2] for row in rows)), (first, last - 1))
        err = tracer.communicate(timeout=60)[1]
        self.assertEqual(tracer.returncode, 0, err)
        self.assertIn(f"step: hits {sum(last - first for first, last in BATCHES)} = ", err)

    def test_top_keys(self):
        """Of more keys than are kept: within the errors that the table says."""
        with self.subTest(KEVT_SEED=SEED):
            file = self.path("t.json")
            want, _, err = self.run_with(3000, "--hist", "counted:keys=key:vals=amount:size=256:top=20", "--hist-output", file)
            hits, aggregated, lost = self.account(err)
            self.assertEqual((hits, aggregated), (TOTAL, TOTAL - lost))
            with open(file) as lines:
                counted = json.load(lines)
            self.assertEqual((counted["hits"], counted["dropped"], len(counted["rows"])), (TOTAL - lost, lost, 20))
            shown = {row["keys"]["key"]: row for row in counted["rows"]}
            for key, row in shown.items():
                self.assertLessEqual(row["at_least"], want[key][0])
                self.assertGreaterEqual(row["hitcount"] + lost, want[key][0])
                self.assertLessEqual(row["values"]["amount"], want[key][1])
                self.assertLessEqual(row["hitcount"] - row["at_least"], TOTAL // 256)
            others = max(row[0] for key, row in want.items() if key not in shown)
            self.assertLessEqual(others, counted["others_at_most"] + lost)

    def test_a_full_table_drops_as_a_kernels(self):
        with self.subTest(KEVT_SEED=SEED):
            want, text, err = self.run_with(1000, "--hist", "counted:keys=key:vals=amount:size=128", "--kernel-drops", "--buffer", "65536",
                                            calls=CALLS // 100)
            got = entries(text)
            counted, entered, dropped = totals(text)
            self.assertEqual((entered, len(got)), (128, 128))
            hits, aggregated, lost = self.account(err)
            self.assertEqual((hits, aggregated, lost), (TOTAL // 100, counted, TOTAL // 100 - counted))
            self.assertLessEqual(dropped, lost)
            if lost == dropped:
                self.assertEqual(got, {key: want[key] for key in got})

    def test_more_keys_than_a_table_has_room_for(self):
        """They are recorded, and the reader counts them: what the ring has no room for is lost, and `Dropped`."""
        with self.subTest(KEVT_SEED=SEED):
            want, text, err = self.run_with(60000, "--hist", "counted:keys=key:vals=amount", calls=CALLS // 2)
            total = TOTAL // 2
            hits, aggregated, lost = self.account(err)
            self.assertEqual(hits, total)
            self.assertEqual(aggregated + lost, total)
            counted, entered, dropped = totals(text)
            self.assertEqual((counted, dropped), (aggregated, lost))
            got = entries(text)
            self.assertEqual(len(got), entered)
            self.assertEqual(sum(row[0] for row in got.values()), aggregated)
            for key, (count, amount) in got.items():
                self.assertLessEqual(count, want[key][0])
                self.assertLessEqual(amount, want[key][1])
            if lost == 0:
                self.assertEqual(got, want)


class KilledWhileItCounts(ProcessTest):
    def test_nothing_of_it_is_left(self):
        """The tracer is killed in the middle of it: the program runs on, without the tables."""
        command = [COUNTS, str(SEED), str(20 * CALLS), "100", str(THREADS), str(ROUNDS)]
        target = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(target.kill)
        tracer = subprocess.Popen([KEVTRACE, "run", "-e", PROBE, "--hist", "counted:keys=key", "--pid", str(target.pid)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(tracer.kill)
        self.assertIn("counted: jump", tracer.stderr.readline())
        self.assertIn("/memfd:kevtrace-hits", self.maps(target))
        target.stdin.write(".")
        target.stdin.flush()
        with open(f"/proc/{tracer.pid}/task/{tracer.pid}/children") as file:
            os.kill(int(file.read().split()[0]), signal.SIGKILL)
        self.assertIn("ended by signal 9", tracer.communicate(timeout=60)[1])
        self.assertNotIn("memfd:kevtrace", self.maps(target))
        self.assertEqual(target.stdout.readline(), "ready\n")
        out, _ = target.communicate(".", timeout=60)
        self.assertEqual((target.returncode, sum(row[0] for row in expected(out.splitlines()).values())), (0, 20 * TOTAL))

    def maps(self, process):
        with open(f"/proc/{process.pid}/maps") as file:
            return file.read()


class CountedByOneTracerAfterTheOther(PlaceTest):
    """A program goes on, and in each of its phases another tracer attaches, reads as it likes, and leaves or is killed: together they have every
    call of every key, once."""
    KEYS = 300
    PHASES = int(os.environ.get("KEVT_HIT_COUNTS_PHASES", 8))

    def setUp(self):
        super().setUp()
        self.counted = {}
        command = [COUNTS, str(SEED), str(CALLS // 8), str(self.KEYS), str(THREADS), str(ROUNDS), str(self.PHASES)]
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.program.stdin.close)
        self.addCleanup(self.program.stdout.close)
        self.addCleanup(self.program.kill)

    def tell(self):
        self.program.stdin.write(".")
        self.program.stdin.flush()

    def phase(self):
        self.tell()
        self.assertEqual(self.program.stdout.readline(), "ready\n")

    def add(self, text):
        """All tables of a text."""
        for key, hits, amount in re.findall(r"^\{ key: +(\d+) \} hitcount: +(\d+)  amount: +(\d+)$", text, re.M):
            before = self.counted.get(int(key), (0, 0))
            self.counted[int(key)] = (before[0] + int(hits), before[1] + int(amount))

    def traced(self, end, *words):
        """A phase under a `run --pid`, which `end` ends. Its tables are added."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            run = subprocess.Popen([KEVTRACE, "run", "--pid", str(self.program.pid), "-e", PROBE, "--hist", "counted:" + HISTOGRAM.removeprefix("hist:"), *words],
                                   stdout=out, stderr=err, text=True)

            def said():
                err.seek(0)
                return err.read()
            wait_until(lambda: "counted: jump" in said() or run.poll() is not None, "the probe")
            self.phase()
            end(run)
            run.wait(timeout=120)
            hits, aggregated, lost = self.account(said())
            self.assertEqual((hits, aggregated, lost), (TOTAL // 8, TOTAL // 8, 0), said())
            out.seek(0)
            self.add(out.read())

    @staticmethod
    def account(said):
        return tuple(map(int, re.search(r"counted: hits (\d+) = recorded 0 \+ aggregated (\d+) \+ filtered 0 \+ lost (\d+) \+ missed 0\n", said).groups()))

    @staticmethod
    def leave(run):
        run.send_signal(signal.SIGINT)

    @staticmethod
    def kill_tracer(run):
        with open(f"/proc/{run.pid}/task/{run.pid}/children") as children:
            os.kill(int(children.read().split()[0]), signal.SIGKILL)

    def mounted(self):
        """A mount that counts."""
        mount = subprocess.Popen([KEVTRACE, "mount", self.dir, "--pid", str(self.program.pid)], stderr=subprocess.PIPE, text=True)
        wait_until(lambda: is_mounted(self.dir) or mount.poll() is not None, "the mount")
        self.echo(PROBE + "\n", "kprobe_events")
        self.echo(HISTOGRAM, COUNTED + "trigger")
        return mount

    def ended(self, mount):
        """Takes what was counted. What the mount says when it ends."""
        text = self.cat(COUNTED + "hist")
        self.assertEqual(totals(text), (TOTAL // 8, self.KEYS, 0))
        self.add(text)
        mount.send_signal(signal.SIGINT)
        said = mount.communicate(timeout=60)[1]
        self.assertEqual(self.account(said)[1], TOTAL // 8)
        return said

    def in_a_mount(self, rng):
        """Reads at random."""
        mount = self.mounted()
        self.tell()
        before = {}
        while not select.select([self.program.stdout], [], [], rng.random() / 50)[0]:
            now = entries(self.cat(COUNTED + "hist"))
            self.assertTrue(all(now[key] >= row for key, row in before.items()))
            before = now
        self.assertEqual(self.program.stdout.readline(), "ready\n")
        self.ended(mount)

    def switched_at_random(self, rng):
        """A second event of the same calls is paused, cleared, taken away, set again and recorded meanwhile: what its table had each time are all the
        hits that it saw, but for a hit of each thread that was under way when the table was read and cleared."""
        mount = self.mounted()
        event = "events/kprobes/switched/"
        self.echo(PROBE.replace("p:counted", "p:switched") + "\n", "kprobe_events")
        self.echo(HISTOGRAM, event + "trigger")
        self.tell()
        taken = readings = 0

        def take():
            nonlocal taken, readings
            readings += 1
            self.echo(HISTOGRAM + ":pause", event + "trigger")
            taken += totals(self.cat(event + "hist"))[0]
        while not select.select([self.program.stdout], [], [], rng.random() / 50)[0]:
            what = rng.choice(("clear", "take away", "record"))
            if what == "record":
                self.echo("1", event + "enable")
                self.echo("0", event + "enable")
                continue
            take()
            self.echo(HISTOGRAM + ":clear" if what == "clear" else "!" + HISTOGRAM, event + "trigger")
            self.echo(HISTOGRAM + ":cont" if what == "clear" else HISTOGRAM, event + "trigger")
        self.assertEqual(self.program.stdout.readline(), "ready\n")
        take()
        account = re.search(r"^switched: hits (\d+) = recorded (\d+) \+ aggregated (\d+) \+ filtered (\d+) \+ lost (\d+) \+ missed 0$", self.ended(mount), re.M)
        hits, recorded, aggregated, filtered, lost = map(int, account.groups())
        self.assertEqual(hits, recorded + aggregated + filtered + lost)
        self.assertLessEqual(taken, recorded + aggregated)
        self.assertLessEqual(recorded + aggregated, taken + readings * 2 * THREADS)  # of a program and its child
        self.assertGreater(taken, 0)

    def test_one_after_the_other(self):
        with self.subTest(KEVT_SEED=SEED):
            rng = random.Random(SEED)
            manners = [lambda: self.traced(self.leave), lambda: self.traced(self.leave, "--interval", str(rng.uniform(0.01, 0.2))),
                       lambda: self.traced(self.kill_tracer), lambda: self.traced(self.kill_tracer, "--interval", str(rng.uniform(0.01, 0.2))),
                       lambda: self.in_a_mount(rng), lambda: self.switched_at_random(rng)]
            for number in range(self.PHASES):
                manners[number if number < len(manners) else rng.randrange(len(manners))]()
            self.tell()
            self.assertEqual(self.counted, expected(self.program.stdout.read().splitlines()))


class ExtremesInAMount(MountTest):
    COMMAND = (STEPS,)

    def test_extremes_are_of_what_came_after_clear(self):
        self.echo(STEP + "\n", "kprobe_events")
        event = "events/kprobes/step/"
        self.echo("hist:" + EXTREMES, event + "trigger")
        for first, last in BATCHES:
            self.target.stdin.write(f"{first} {last} 2\n")
            self.target.stdin.flush()
            self.assertEqual(self.target.stdout.readline(), "done\n")
            self.assertEqual(extremes(self.cat(event + "hist")), [(2 * (last - first), first, last - 1)])
            self.echo(f"hist:{EXTREMES}:clear", event + "trigger")
            self.assertEqual(totals(self.cat(event + "hist")), (0, 0, 0))
        self.assertEqual(self.end_mount()["step"][0], sum(2 * (last - first) for first, last in BATCHES))


class CountedInAMount(MountTest):
    KEYS = 200
    COMMAND = (COUNTS, str(SEED), str(CALLS), str(KEYS), str(THREADS), str(ROUNDS))

    def setUp(self):
        super().setUp()
        self.echo(PROBE + "\n", "kprobe_events")
        self.event = "events/kprobes/counted/"
        self.tell(".")  # nothing is hit before the trigger is there: the program waits

    def tell(self, text):
        self.trigger = "hist:keys=key:vals=amount"
        self.echo(self.trigger, self.event + "trigger")
        self.target.stdin.write(text)
        self.target.stdin.flush()

    def ends(self):
        """All calls were made."""
        return self.target.stdout.readline() == "ready\n"

    def test_reading_while_it_counts(self):
        """No count is lost or taken twice, whoever reads how often."""
        with self.subTest(KEVT_SEED=SEED):
            before = {}
            while sum(row[0] for row in before.values()) < TOTAL // 2:
                now = entries(self.cat(self.event + "hist"))
                for key, row in before.items():
                    self.assertGreaterEqual(now[key], row)
                before = now
            self.assertTrue(self.ends())
            got = self.cat(self.event + "hist")
            self.target.stdin.write(".")
            self.target.stdin.flush()
            want = expected(self.target.stdout.read().splitlines())
            self.assertEqual(entries(got), want)
            self.assertEqual(totals(got), (TOTAL, len(want), 0))
            self.assertIn(f"aggregated {TOTAL} ", self.accounting())

    def accounting(self):
        """What the mount says when it ends."""
        self.mount.send_signal(signal.SIGINT)
        self.mount.wait(timeout=30)
        self.log.flush()
        self.log.seek(0)
        return self.log.read()

    def test_switched_between_hits_and_reader(self):
        """Whoever counts: each time the event is put on or off, its code is exchanged."""
        with self.subTest(KEVT_SEED=SEED):
            for _ in range(30):
                self.echo("1", self.event + "enable")
                self.echo("0", self.event + "enable")
            self.assertTrue(self.ends())
            counted, _, dropped = totals(self.cat(self.event + "hist"))
            said = re.search(r"counted: hits (\d+) = recorded (\d+) \+ aggregated (\d+) \+ filtered (\d+) \+ lost (\d+) \+ missed (\d+)",
                             self.accounting())
            self.assertIsNotNone(said)
            hits, recorded, aggregated, filtered, lost, missed = map(int, said.groups())
            self.assertEqual(hits, recorded + aggregated + filtered + lost + missed)
            # A child that was forked keeps the code that it has: what was taken out since filters all.
            self.assertEqual(counted, recorded + aggregated)
            self.assertLessEqual(dropped, lost)


class PolledInAMount(MountTest):
    """poll(2) on the file `hist`, as kernels from 6.14 on have it."""
    COMMAND = (os.path.join(PROGRAMS, "steps"),)

    def hit(self, count):
        self.target.stdin.write(f"0 {count} 1\n")
        self.target.stdin.flush()

    def test_it_waits_for_hits(self):
        self.echo("p:step steps:step i=%di:u64\n", "kprobe_events")
        self.echo("hist:keys=i", "events/kprobes/step/trigger")
        with open(self.path("events/kprobes/step/hist")) as file:
            asked = select.poll()
            asked.register(file, select.POLLIN | select.POLLPRI)

            def events(wait_ms):
                return [event for _, event in asked.poll(wait_ms)]
            self.assertEqual(events(0), [])
            self.hit(3)
            self.assertEqual(self.target.stdout.readline(), "done\n")
            self.assertEqual(events(20000), [select.POLLIN | select.POLLPRI])
            self.assertEqual(events(0), [select.POLLIN])  # told once, and not read yet
            self.assertIn("Hits: 3\n", file.read())
            self.assertEqual(events(0), [])
            # Who waits already is woken.
            later = threading.Timer(0.2, self.hit, (2,))
            later.start()
            self.assertEqual(events(20000), [select.POLLIN | select.POLLPRI])
            later.join()
            self.assertEqual(self.target.stdout.readline(), "done\n")
            file.seek(0)
            self.assertIn("Hits: 5\n", file.read())
            self.echo("hist:keys=i:clear", "events/kprobes/step/trigger")
            self.assertEqual(events(20000), [select.POLLIN | select.POLLPRI])
            self.echo("!hist:keys=i", "events/kprobes/step/trigger")
            self.echo("-:step\n", "kprobe_events")
            self.assertEqual(events(20000), [select.POLLERR])


if __name__ == "__main__":
    main()
