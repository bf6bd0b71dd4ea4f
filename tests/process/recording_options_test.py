"""What `run` promises of a recording that is stopped: by its options, by a full ring, by SIGKILL at any moment."""
import csv
import io
import json
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import time

from kevtest import KEVTRACE, TIMEOUT_S, ProcessTest, main
from recording_formats_test import SCHEMA
from recording_test import OPENED, output

OPEN = "p:op libc:open64 path=+0(%di):string"
FILES = {"dat": "r.dat", "dat7": "r.dat7", "json": "r.json", "csv": "r.csv", "text": "r.txt", "ftrace": "r.trace",
         "perfetto": "r.pftrace", "chrome": "r.chrome.json", "ctf": "r.ctf"}


def python(text):
    return ["/usr/bin/python3", "-S", "-c", text]


def opens(count):
    """Each path has its number: which records are the newest is seen in them."""
    return python(f"import os\nfor i in range({count}):\n try: os.open('/n/%d' % i, 0)\n except OSError: pass")


def run(path, *options, program):
    done = subprocess.run([KEVTRACE, "run", "-o", path, *options, "--", *program], capture_output=True, text=True,
                          timeout=TIMEOUT_S)
    return done


def account(text, event="op"):
    match = re.search(rf"^{event}: hits (\d+) = recorded (\d+) \+ filtered (\d+) \+ lost (\d+) \+ missed (\d+)$", text,
                      re.MULTILINE)
    hits, *parts = map(int, match.groups())
    assert hits == sum(parts), text
    return dict(zip(("recorded", "filtered", "lost", "missed"), parts))


def wait_for(condition, what):
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("never came: " + what)
        time.sleep(0.002)


class Options(ProcessTest):
    def newest(self, path):
        """Numbers of the records in a recording."""
        return [int(n) for n in re.findall(r'"/n/(\d+)"', output(KEVTRACE, "report", path))]

    def check_overwritten(self, done, numbers, count):
        self.assertEqual(done.returncode, 0, done.stderr)
        recorded = account(done.stderr)["recorded"]
        gone = int(re.search(r"^op: (\d+) of the recorded were overwritten", done.stderr, re.MULTILINE)[1])
        self.assertTrue(numbers == list(range(count - len(numbers), count)), f"{len(numbers)} {numbers[:3]} {numbers[-3:]}")
        self.assertGreater(gone, 0)
        extra = recorded - count  # python3 opens a few files of its own, before ours
        self.assertEqual(len(numbers) + gone, count + extra)

    def stay_on_one_cpu(self):
        """Each CPU keeps its own newest: a program that moves about leaves gaps between them."""
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(allowed)})
        self.addCleanup(os.sched_setaffinity, 0, allowed)

    def test_overwrite_keeps_the_newest_and_counts_the_others(self):
        self.stay_on_one_cpu()
        count = 30000
        for name in ("dat", "dat7", "json"):
            path = self.path(FILES[name])
            done = run(path, "-f", name, "--overwrite", "--max-bytes", "256K", "-e", OPEN, program=opens(count))
            self.check_overwritten(done, self.newest(path), count)
            self.assertIn("of the recorded overwritten" if name == "dat" else "", output(KEVTRACE, "stat", path))
            self.assertEqual([n for n in os.listdir(self.folder) if n.endswith(".flight")], [])

    def test_overwrite_of_text(self):
        self.stay_on_one_cpu()
        count = 30000
        done = subprocess.run([KEVTRACE, "run", "--overwrite", "--max-bytes", "256K", "-e", OPEN, "--", *opens(count)],
                              capture_output=True, text=True, timeout=TIMEOUT_S, env={**os.environ, "TMPDIR": self.folder})
        self.check_overwritten(done, [int(n) for n in re.findall(r'"/n/(\d+)"', done.stdout)], count)
        self.assertEqual([n for n in os.listdir(self.folder) if n.startswith("kevtrace-")], [])

    def test_without_overwrite_max_bytes_ends_tracing(self):
        path = self.path("r.dat")
        done = run(path, "--max-bytes", "256K", "-e", OPEN, program=opens(300000))
        numbers = self.newest(path)
        self.assertEqual(numbers[:1000], list(range(1000)))  # the oldest
        self.assertEqual(len(numbers), len(set(numbers)))
        self.assertGreaterEqual(os.path.getsize(path), 256 << 10)
        self.assertLess(numbers[-1], 299999)
        self.assertEqual(done.returncode, 0)

    def test_count(self):
        path = self.path("r.dat")
        run(path, "-c", "123", "-e", OPEN, program=opens(5000))
        self.assertEqual(len(output(KEVTRACE, "report", path).splitlines()), 123)

    def test_duration(self):
        path, ready = self.path("r.dat"), self.path("ready")
        program = python(f"import time, os\nend = time.monotonic() + 5\nwhile time.monotonic() < end: os.open('/dev/null', 0) > 9 and os.closerange(3, 99)\nopen({ready!r}, 'w')")
        done = run(path, "-d", "0.3", "-e", OPEN, program=program)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(ready), "CMD goes on")
        moments = [float(line) for line in output(KEVTRACE, "report", path, "--columns", "time").splitlines()]
        self.assertLess(moments[-1] - moments[0], 4.5)
        self.assertNotIn("ready", output(KEVTRACE, "report", path))

    def test_fail_on_lost(self):
        """The reader is stopped until the ring has run over."""
        stop = self.path("stop")
        program = python(f"import os\nwhile not os.path.exists({stop!r}): open('/etc/passwd').close()")
        for options, expected in (((), 0), (("--fail-on", "missed"), 0), (("--fail-on", "lost,missed"), 5)):
            if os.path.exists(stop):
                os.unlink(stop)
            front = subprocess.Popen([KEVTRACE, "run", "-q", "--buffer", "64", "-o", "/dev/null", *options, "-e", OPEN, "--", *program],
                                     stderr=subprocess.PIPE, text=True)
            try:
                behind = self.child_of(front.pid)
                traced = self.child_of(behind)
                wait_for(lambda: self.ticks(traced) > 5, "the program's work")
                os.kill(behind, signal.SIGSTOP)
                before = self.ticks(traced)
                wait_for(lambda: self.ticks(traced) > before + 10, "the program's work")
                os.kill(behind, signal.SIGCONT)
            finally:
                with open(stop, "w", encoding="utf-8"):
                    pass
            errors = front.communicate(timeout=TIMEOUT_S)[1]
            self.assertGreater(account(errors)["lost"], 0)
            self.assertEqual(front.returncode, expected, errors)

    @staticmethod
    def child_of(pid):
        def children():
            with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
                return file.read().split()
        wait_for(children, "a child")
        return int(children()[0])

    @staticmethod
    def ticks(pid):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return int(file.read().rsplit(")", 1)[1].split()[11])

    def test_fail_on_missed(self):
        nested = python("a = []\nfor i in range(5): a = [a]\nrepr(a)")
        done = run("/dev/null", "--fail-on", "missed", "-e", "r1:op _PyEval_EvalFrameDefault", program=nested)
        self.assertGreater(account(done.stderr)["missed"], 0)
        self.assertEqual(done.returncode, 5)
        done = run("/dev/null", "--fail-on", "missed,lost", "-e", "r:op PyObject_Repr", program=nested)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_progress_on_a_terminal(self):
        control, terminal = pty.openpty()
        program = python("import time\nend = time.monotonic() + 4\nwhile time.monotonic() < end: open('/etc/passwd').close()")
        run_ = subprocess.Popen([KEVTRACE, "run", "-o", self.path("r.dat"), "-e", OPEN, "--", *program],
                                stdout=subprocess.DEVNULL, stderr=terminal, env={**os.environ, "TERM": "xterm"})
        os.close(terminal)
        shown = b""
        while True:
            try:
                piece = os.read(control, 4096)
            except OSError:  # the last one has closed it
                break
            if not piece:
                break
            shown += piece
        os.close(control)
        self.assertEqual(run_.wait(), 0)
        lines = re.findall(rb"\r *([\d.]+)s +(\d+) events +([\d.]+) k/s  lost (\d+)  missed (\d+)  (\d+) KiB", shown)
        self.assertGreater(len(lines), 1, shown)
        events = [int(line[1]) for line in lines]
        self.assertEqual(events, sorted(events))
        self.assertGreater(events[-1], 100)
        self.assertGreater(float(lines[-1][2]), 0)


class Killed(ProcessTest):
    """SIGKILL at several moments: what is complete is read."""
    seed = int(os.environ.get("KEVT_SEED", "0")) or random.SystemRandom().randrange(1 << 31)

    @classmethod
    def setUpClass(cls):
        print("KEVT_SEED", cls.seed)
        cls.random = random.Random(cls.seed)

    def has_records(self, path):
        if path.endswith((".dat", ".dat7")):  # sparse: its size says nothing
            done = subprocess.run([KEVTRACE, "report", path], capture_output=True, text=True, timeout=TIMEOUT_S)
            return len(done.stdout.splitlines()) > 100
        if os.path.isdir(path):
            return sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path)) > 30_000
        return os.path.exists(path) and os.path.getsize(path) > 30_000

    def kill_at(self, name, moment, *options):
        folder = os.path.join(self.folder, f"{name}-{moment:.3f}")
        os.mkdir(folder)
        path = os.path.join(folder, FILES[name])
        endless = python("while True: open('/etc/passwd').close()")
        run_ = subprocess.Popen([KEVTRACE, "run", "-q", "-o", path, "-f", name, *options, "-e", OPEN, "-e", OPENED, "--",
                                 *endless], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: self.has_records(path), "records in the file")
            time.sleep(moment)  # any moment will do
        finally:
            os.killpg(run_.pid, signal.SIGKILL)
            run_.wait()
        return path

    def check(self, name, *options):
        for moment in sorted(self.random.uniform(0, 0.3) for _ in range(4)):
            path = self.kill_at(name, moment, *options)
            self.assertGreater(getattr(self, "read_" + name)(path), 100, path)
            shutil.rmtree(os.path.dirname(path))

    def read_dat(self, path):
        lines = output(KEVTRACE, "report", path).splitlines()  # status 0: nothing is damaged
        self.assertTrue(all(" op: " in line or " opened: " in line for line in lines))
        if shutil.which("trace-cmd"):
            theirs = [line for line in output("trace-cmd", "report", path).splitlines() if "[" in line]
            self.assertEqual(len(theirs), len(lines))
        return len(lines)

    read_dat7 = read_dat

    def complete(self, path):
        """Whole lines; what is behind the last line end was being written."""
        with open(path, encoding="utf-8") as file:
            return file.read().rpartition("\n")[0].splitlines()

    def read_json(self, path):
        lines = [json.loads(line) for line in self.complete(path)]
        count = sum(line["type"] == "event" for line in lines)
        done = subprocess.run([KEVTRACE, "report", path], capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(len(done.stdout.splitlines()), count, done.stderr)
        return count

    def read_csv(self, path):
        rows = list(csv.reader(io.StringIO("\n".join(self.complete(path)))))
        self.assertEqual({len(row) for row in rows}, {len(rows[0])})
        return len(rows) - 1

    def read_text(self, path):
        lines = [line for line in self.complete(path) if not line.startswith("#")]
        for line in lines:
            self.assertRegex(line, r'^ *\S+-\d+ +\[\d+\] \S+ +\d+\.\d+: (op: \(.*\) path="\S+"|opened: \(.*\) fd=-?\d+)$')
        return len(lines)

    read_ftrace = read_text

    def read_chrome(self, path):
        lines = self.complete(path)
        events = json.loads("\n".join(lines).rstrip(",") + "]")
        return sum(event["ph"] == "i" for event in events)

    def read_perfetto(self, path):
        with open(path, "rb") as file:
            data = file.read()
        at = 0
        while at < len(data):  # packets: tag 0x0a, length, bytes
            self.assertEqual(data[at], 0x0a)
            length, shift, behind = 0, 0, at + 1
            while behind < len(data):
                byte = data[behind]
                length |= (byte & 127) << shift
                shift, behind = shift + 7, behind + 1
                if byte < 128:
                    break
            if behind + length > len(data):
                break
            at = behind + length
        if not shutil.which("protoc"):
            self.skipTest("no protoc")
        text = subprocess.run(["protoc", f"--proto_path={SCHEMA}", "--decode=perfetto.protos.Trace", "perfetto.proto"],
                              input=data[:at], capture_output=True, check=True, timeout=TIMEOUT_S).stdout.decode()
        return len(re.findall(r"^ +generic \{", text, re.MULTILINE))

    def read_ctf(self, path):
        if not shutil.which("babeltrace2"):
            self.skipTest("no babeltrace2")
        return len(output("babeltrace2", path).splitlines())

    def test_dat(self):
        self.check("dat")

    def test_dat7(self):
        self.check("dat7")

    def test_json(self):
        self.check("json")

    def test_csv(self):
        self.check("csv")

    def test_text(self):
        self.check("text")

    def test_ftrace(self):
        self.check("ftrace")

    def test_chrome(self):
        self.check("chrome")

    def test_perfetto(self):
        self.check("perfetto")

    def test_ctf(self):
        self.check("ctf")

    def test_flight_recorder(self):
        self.check("dat", "--overwrite", "--max-bytes", "1M")


if __name__ == "__main__":
    main()
