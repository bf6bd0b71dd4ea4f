"""One recording in every format: the same records everywhere, and other people's tools agree.

Each conversion is read by whoever the format belongs to, where it is installed: trace-cmd, babeltrace2, protoc with the public
field numbers of Perfetto's schema, Python's json and csv.
"""
import collections
import csv
import json
import os
import re
import shutil
import subprocess
import tempfile

from kevtest import KEVTRACE, TIMEOUT_S, ProcessTest, main
from recording_test import OPENED, OPENING, PROGRAM, output, parts

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "record")


class Formats(ProcessTest):
    @classmethod
    def setUpClass(cls):
        cls.kept = os.environ.get("KEVT_RECORDING")  # another one to be converted

    def setUp(self):
        super().setUp()
        self.dat = self.kept or self.path("r.dat")
        if not self.kept:
            subprocess.run([KEVTRACE, "run", "-q", "-o", self.dat, "-e", OPENING, "-e", OPENED, "--", *PROGRAM],
                           check=True, timeout=TIMEOUT_S)
        self.lines = output(KEVTRACE, "report", "--raw-format", self.dat)
        self.columns = output(KEVTRACE, "report", self.dat, "--columns", "time,cpu,pid,comm,event")
        self.count = len(self.columns.splitlines())
        self.assertGreater(self.count, 40)

    def convert(self, name, *options):
        path = self.path(name)
        output(KEVTRACE, "convert", self.dat, path, *options)
        return path

    def skip_without(self, program):
        if not shutil.which(program):
            self.skipTest("no " + program)

    def test_packed_and_back(self):
        seven = self.convert("r7.dat", "-f", "dat7")
        self.assertEqual(output(KEVTRACE, "report", "--raw-format", seven), self.lines)
        six = self.path("r6.dat")
        output(KEVTRACE, "convert", seven, six)
        self.assertEqual(output(KEVTRACE, "report", "--raw-format", six), self.lines)
        if shutil.which("trace-cmd"):
            self.assertEqual(output("trace-cmd", "report", "-N", seven), output("trace-cmd", "report", "-N", six))

    def test_json_and_back(self):
        path = self.convert("r.json")
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        events = [line for line in lines if line["type"] == "event"]
        self.assertEqual((len(events), lines[0]["type"], lines[-1]["type"]), (self.count, "header", "end"))
        self.assertTrue(all(line["v"] == 1 for line in lines))
        self.assertEqual(output(KEVTRACE, "report", path, "--columns", "time,cpu,pid,comm,event"), self.columns)
        fields = sorted({name for event in events for name in event["fields"]})
        back = self.path("back.dat")
        output(KEVTRACE, "convert", path, back)
        for name in fields:
            self.assertEqual(output(KEVTRACE, "report", back, "--columns", name),
                             output(KEVTRACE, "report", self.dat, "--columns", name), name)

    def test_csv(self):
        path = self.convert("csv/", "-f", "csv")
        rows = 0
        for name in os.listdir(path):
            with open(os.path.join(path, name), newline="", encoding="utf-8", errors="surrogateescape") as file:
                sheet = list(csv.reader(file))
            self.assertEqual({len(row) for row in sheet}, {len(sheet[0])}, name)
            rows += len(sheet) - 1
        self.assertEqual(rows, self.count)

    def chrome(self):
        with open(self.convert("r.chrome.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_chrome(self):
        events = self.chrome()
        phases = collections.Counter(event["ph"] for event in events)
        self.assertEqual(phases["i"], self.count)
        for event in events:
            self.assertIsInstance(event["name"], str)
            self.assertIsInstance(event["ts"], (int, float))

    def test_perfetto_is_valid_and_holds_the_same(self):
        self.skip_without("protoc")
        path = self.convert("r.pftrace")
        with open(path, "rb") as file:
            text = subprocess.run(["protoc", f"--proto_path={SCHEMA}", "--decode=perfetto.protos.Trace", "perfetto.proto"],
                                  stdin=file, capture_output=True, check=True, timeout=TIMEOUT_S).stdout.decode()
        self.assertFalse(re.findall(r"^\s*\d+:", text, re.MULTILINE), "fields that the schema does not have")
        self.assertEqual(len(re.findall(r"^    generic \{|^      generic \{", text, re.MULTILINE)), self.count)
        begins, ends = text.count("TYPE_SLICE_BEGIN"), text.count("TYPE_SLICE_END")
        slices = sum(event["ph"] == "X" for event in self.chrome())
        self.assertEqual((begins, ends), (slices, slices))
        if not self.kept:
            self.assertGreater(slices, 19)
        self.assertIn("primary_trace_clock: 3", text)
        self.assertIn("thread_name", text)

    def test_ctf(self):
        self.skip_without("babeltrace2")
        path = self.convert("r.ctf")
        done = subprocess.run(["babeltrace2", path], capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), self.count)
        self.assertNotIn("rror", done.stderr)

    def test_pprof_says_what_is_folded(self):
        self.skip_without("go")
        with open(self.convert("r.folded"), encoding="utf-8") as file:
            folded = collections.Counter()
            for line in file:
                path, _, weight = line.rpartition(" ")
                folded[tuple(path.split(";"))] += int(weight)
        with tempfile.TemporaryDirectory() as home:
            raw = subprocess.run(["go", "tool", "pprof", "-raw", self.convert("r.pprof")], capture_output=True, text=True, check=True, timeout=TIMEOUT_S,
                                 env={"PATH": os.environ["PATH"], "HOME": home, "PPROF_TMPDIR": home}).stdout
        names = {number: name.strip() for number, name in re.findall(r"^ +(\d+): 0x0 (?:M=\d+ )?(.*?) :0", raw, re.MULTILINE)}
        told = {(thread, *(names[one] for one in reversed(locations.split()))): int(weight)
                for weight, locations, thread in re.findall(r"^ +(\d+): ([\d ]+) *\n +thread:\[(.*)\]$", raw, re.MULTILINE)}
        self.assertEqual(told, dict(folded))

    def test_text_and_ftrace(self):
        # As `report` tells the records; and as the kernel's own file does.
        with open(self.convert("r.txt"), encoding="utf-8", errors="surrogateescape") as file:
            self.assertEqual(parts(file.read()), parts(output(KEVTRACE, "report", self.dat)))
        with open(self.convert("r.trace"), encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
        self.assertTrue(text.startswith("# tracer: nop\n"))
        self.assertEqual(parts(text), parts(self.lines))

    def test_questions(self):
        counts = output(KEVTRACE, "count", "-i", self.dat)
        head, *rows = (line.split() for line in counts.splitlines())
        column = head.index("RECORDED" if "RECORDED" in head else "COUNT")
        self.assertEqual(sum(int(row[column]) for row in rows), self.count)
        self.assertIn(f"records {self.count} ", output(KEVTRACE, "stat", self.dat))
        same = output(KEVTRACE, "diff", self.dat, self.dat)
        self.assertEqual({line.split()[3] for line in same.splitlines()[1:]}, {"="})
        marker = self.columns.splitlines()[-1].split()[-1]  # an event that the recording has, whoever made it
        aligned = output(KEVTRACE, "diff", self.dat, self.dat, "--align", marker)
        self.assertRegex(aligned.splitlines()[0], rf"^\d+\.\d{{6}} s of each, from the first {re.escape(marker)} on$")
        self.assertEqual({line.split()[3] for line in aligned.splitlines()[2:]}, {"="})
        if not self.kept:
            lat = output(KEVTRACE, "lat", "opening", "opened", "by", "comm", "-i", self.dat)
            self.assertRegex(lat, r"python3 +\d\d")
            hist = output(KEVTRACE, "hist", "opening.path", "-i", self.dat)
            self.assertRegex(hist, r"/etc/passwd +20\n")


class Live(ProcessTest):
    def test_questions_are_answered_while_a_program_runs(self):
        counted = output(KEVTRACE, "count", "-q", "-e", OPENING, "-e", OPENED, "--", *PROGRAM)
        self.assertRegex(counted, r"kprobes:opened +\d\d")
        lat = output(KEVTRACE, "lat", "-q", "p libc:open64", "r libc:open64", "--", *PROGRAM)
        self.assertRegex(lat, r"-> lat_end +\d\d ")
        hist = output(KEVTRACE, "hist", "-q", "opening.path", "-e", OPENING, "--", *PROGRAM)
        self.assertRegex(hist, r"/etc/passwd +20\n")
        lines = [json.loads(line) for line in
                 output(KEVTRACE, "stream", "-q", "-f", "json", "-e", OPENED, "--", *PROGRAM).splitlines()]
        self.assertGreater(sum(line["type"] == "event" for line in lines), 19)
        self.assertIn("EVENT", output(KEVTRACE, "top", "-q", "-e", OPENED, "--", *PROGRAM))

    def test_every_format_is_recorded_directly(self):
        for name, options in {"a.dat": [], "a7.dat": ["-f", "dat7"], "a.json": [], "a.csv": [], "a.pftrace": [],
                              "a.chrome.json": [], "a.ctf": [], "a.folded": [], "a.pprof": [], "a.trace": []}.items():
            path = self.path(name)
            done = subprocess.run([KEVTRACE, "run", "-o", path, *options, "-e", OPENED, "--", *PROGRAM],
                                  capture_output=True, text=True, timeout=TIMEOUT_S)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(os.path.exists(path), name)
            self.assertIn(f"wrote {path}: ", done.stderr)


if __name__ == "__main__":
    main()
