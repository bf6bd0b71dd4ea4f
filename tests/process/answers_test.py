"""What is counted and measured of a program: by its counters, as text and as JSON, with what is not in it named."""
import json
import os
import re
import subprocess

from kevtest import KEVTRACE, PROGRAMS, TIMEOUT_S, ProcessTest, main

BRIEF = os.path.join(PROGRAMS, "brief")
LEAF = ["-e", "p:lf brief:leaf n=%di:s32 what=%si:x64 low=%di:x8"]
PAIR = ["p:in brief:outer n=%di:s32", "r:out brief:outer"]


class Answers(ProcessTest):
    def ask(self, verb, *words, count=5, status=0, command=True):
        behind = ["--", BRIEF, str(count)] if command else []
        done = subprocess.run([KEVTRACE, verb, *words, *behind], capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, status, done.stderr)
        self.err = done.stderr
        return done.stdout

    def answer(self, verb, *words, **options):
        text = self.ask(verb, *words, "-f", "json", **options)
        self.assertEqual(text.count("\n"), 1)
        made = json.loads(text)
        self.assertEqual((made["v"], made["type"]), (1, verb))
        return made

    def full_ring(self, *words):
        """Calls that come faster than they are read, in a ring of 64 KiB."""
        for _ in range(20):
            done = subprocess.run([KEVTRACE, *words, "--buffer", "64", "--", BRIEF, "2000000"], capture_output=True,
                                  text=True, timeout=TIMEOUT_S)
            self.assertEqual(done.returncode, 0, done.stderr)
            account = re.search(r"lf: hits (\d+) = recorded (\d+) \+ filtered 0 \+ lost (\d+) \+ missed 0", done.stderr)
            if int(account[3]):
                return done.stdout, tuple(map(int, account.groups()))
        self.fail("nothing was lost")

    def test_count_is_of_hits_not_of_records(self):
        text, (hits, recorded, lost) = self.full_ring("count", *LEAF)
        self.assertEqual(hits, 2000000)
        head, row = (line.split() for line in text.splitlines())
        self.assertEqual(dict(zip(head, row)), {"EVENT": "kprobes:lf", "HITS": str(hits), "RECORDED": str(recorded),
                                                "FILTERED": "0", "LOST": str(lost), "MISSED": "0"})

    def test_hist_loses_nothing(self):
        """Live, hits count by themselves: no ring has to have room for them."""
        calls = 2000000
        (group,) = self.answer("hist", "lf.n", *LEAF, "--buffer", "64", count=calls)["groups"]
        self.assertIn(f"lf: hits {calls} = recorded 0 + aggregated {calls} + filtered 0 + lost 0 + missed 0\n", self.err)
        self.assertIn("counted by themselves", self.err)
        self.assertEqual((group["count"], group["min"], group["mean"]), (calls, 0, (calls - 1) / 2))
        self.assertAlmostEqual(group["p50"], calls / 2, delta=calls / 2 / 60)
        self.assertEqual([row["count"] for row in group["rows"]][:4], [1, 1, 2, 4])
        # By what the records would say, each way.
        for by in ("low", "pid", "comm", "cpu"):
            counted = self.answer("hist", "lf.n", "by", by, *LEAF, count=3000)["groups"]
            self.assertIn("aggregated 3000", self.err)
            recorded = self.answer("hist", "lf.n", "by", by, *LEAF, "-c", "3000", count=3000)["groups"]
            self.assertNotIn("aggregated", self.err)
            if by not in ("pid", "cpu"):
                self.assertEqual([g["key"] for g in counted], [g["key"] for g in recorded])
                self.assertEqual([(g["rows"], g["mean"], g["p99"]) for g in counted], [(g["rows"], g["mean"], g["p99"]) for g in recorded])
            self.assertEqual(sum(g["count"] for g in counted), 3000)
        # What is hit all the time when the question comes is counted once.
        busy = subprocess.Popen(["/usr/bin/python3", "-S", "-c", "import os\nf = os.open('/dev/null', os.O_WRONLY)\nprint(flush=True)\nwhile True:\n  for i in range(100): os.write(f, b'x' * i)"],
                                stdout=subprocess.PIPE)
        try:
            busy.stdout.readline()
            made = self.answer("hist", "w.len", "-e", "p:w libc:write len=%dx:u64", "--pid", str(busy.pid), "-d", "0.3", command=False)
        finally:
            busy.kill()
            busy.wait()
            busy.stdout.close()
        hits, recorded, counted, filtered, lost = map(int, re.search(r"w: hits (\d+) = recorded (\d+) \+ aggregated (\d+) \+ filtered ([01]) \+ lost (\d+) ", self.err).groups())
        # The hit of the only thread that was under way when the probe was disarmed is filtered.
        self.assertEqual((made["groups"][0]["count"], hits), (recorded + counted, recorded + counted + filtered + lost))
        # A sum over 2^64, and a field that is called as a word of histograms.
        (group,) = self.answer("hist", "lf.big", "-e", "p:lf brief:leaf big=\\0xfffffffffffffff0:u64", count=100)["groups"]
        self.assertAlmostEqual(group["mean"] / 2**64, 1, delta=1 / 64)
        for name in ("hitcount", "cpu", "stacktrace"):
            (group,) = self.answer("hist", f"lf.{name}", "-e", f"p:lf brief:leaf {name}=%di:u64", count=5)["groups"]
            self.assertEqual((group["count"], group["max"]), (5, 4), name)
        # Under a filter; and what cannot be counted is recorded.
        (group,) = self.answer("hist", "lf.n", *LEAF, "--filter", "lf: n >= 10", count=50)["groups"]
        self.assertEqual((group["count"], group["min"]), (40, 10))
        self.assertIn("aggregated 40 + filtered 10", self.err)
        self.answer("hist", "lf.pid", *LEAF)
        self.assertNotIn("aggregated", self.err)

    def test_count_of_a_recording_is_of_hits_too(self):
        path = self.path("r.dat")
        _, (hits, recorded, lost) = self.full_ring("run", "-o", path, *LEAF)
        event = self.answer("count", "-i", path, command=False)["events"][0]
        self.assertEqual(event, {"event": "kprobes:lf", "hits": hits, "recorded": recorded, "filtered": 0, "lost": lost,
                                 "missed": 0})
        self.assertEqual(self.answer("count", "-i", path, "l*", command=False)["events"], [event])
        self.ask("count", "-i", path, "x*", command=False, status=3)
        part = self.answer("count", "-i", path, "lf: n < 10", command=False)["events"]
        self.assertEqual(part, [{"event": "kprobes:lf", "recorded": 10}])
        self.assertEqual(self.ask("count", "-i", path, "-c", "7", command=False).splitlines()[0].split(), ["EVENT", "COUNT"])
        self.assertIn(f"not in here: {lost} hits lost, 0 missed",
                      self.ask("hist", "lf.n", "-i", path, command=False))

    def test_count_shows_what_never_happened(self):
        events = self.answer("count", *LEAF, "-e", "p:never brief:main", "--filter", "lf: n > 2")["events"]
        self.assertEqual([(e["event"], e["hits"], e["recorded"], e["filtered"]) for e in events],
                         [("kprobes:lf", 5, 2, 3), ("kprobes:never", 1, 1, 0)])
        events = self.answer("count", *LEAF, "-e", "p:never libc:qsort")["events"]
        self.assertEqual(events[1]["hits"], 0)

    def test_live_answers_are_json(self):
        made = self.answer("lat", *PAIR, "-q")
        self.assertEqual([(row["count"], row["unmatched"]) for row in made["rows"]], [(5, 0)])
        self.assertEqual((made["unit"], made["start"], made["end"], made["lost"]), ("ns", "in", "out", 0))
        made = self.answer("hist", "lf.n", *LEAF)
        (group,) = made["groups"]
        self.assertEqual((group["count"], group["min"], group["max"]), (5, 0, 4))
        self.assertEqual([(r["from"], r["to"], r["count"]) for r in group["rows"]], [(0, 0, 1), (1, 1, 1), (2, 3, 2), (4, 7, 1)])
        made = self.answer("hist", "lf.n", "by", "what", *LEAF)
        self.assertRegex(made["groups"][0]["key"], "^0x[0-9a-f]+$")
        # One answer a second: on a slow machine more than one.
        shown = [json.loads(line)["events"][0] for line in self.ask("top", *LEAF, "-f", "json").splitlines()]
        self.assertEqual((sum(row["new"] for row in shown), shown[-1]["event"], shown[-1]["all"]), (5, "kprobes:lf", 5))

    def test_the_ending_of_the_output_tells_the_form(self):
        for name, words in (("lat.json", ["lat", *PAIR]), ("hist.ndjson", ["hist", "lf.n", *LEAF]),
                            ("count.json", ["count", *LEAF])):
            path = self.path(name)
            self.assertEqual(self.ask(*words, "-o", path), "")
            with open(path, encoding="utf-8") as file:
                self.assertEqual(json.load(file)["type"], words[0])
        path = self.path("lat.json")
        self.ask("lat", *PAIR, "-f", "text", "-o", path)
        with open(path, encoding="utf-8") as file:
            self.assertTrue(file.read().startswith("in "))
        self.ask("lat", *PAIR, "-o", self.path("lat.dat"), status=2)
        self.assertIn("text or json", self.err)
        self.assertFalse(os.path.exists(self.path("lat.dat")))
        self.ask("lat", *PAIR, "-f", "dat", status=2)

    def test_stat_and_diff_have_forms(self):
        path, other = self.path("a.dat"), self.path("b.dat")
        self.ask("run", "-o", path, *LEAF)
        self.ask("run", "-o", other, *LEAF, count=7)
        made = self.answer("stat", path, command=False)
        self.assertEqual(made["records"], 5)
        self.assertEqual(made["totals"]["kprobes/lf"]["hits"], 5)
        self.assertEqual(made["values"]["lf.n"][0], {"value": "0", "count": 1})
        written = self.path("stat.json")
        self.ask("stat", path, "-o", written, command=False)
        with open(written, encoding="utf-8") as file:
            self.assertEqual(json.load(file), made)
        made = self.answer("diff", path, other, "--field", "lf.n", command=False)
        self.assertEqual([(e["event"], e["a"], e["b"]) for e in made["events"]], [("kprobes:lf", 5, 7)])
        self.assertEqual([(p["of"], p["a"]["max"], p["b"]["max"]) for p in made["percentiles"]], [("lf.n", 4, 6)])
        self.ask("diff", path, other, "-o", self.path("diff.txt"), command=False)
        with open(self.path("diff.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), self.ask("diff", path, other, command=False))

    def test_parts_of_a_recording_are_compared(self):
        path = self.path("a.dat")
        self.ask("run", "-o", path, *LEAF)
        lines = [json.loads(line) for line in self.ask("report", path, "-f", "json", command=False).splitlines()]
        third = [line["ts"] for line in lines if line["type"] == "event"][2]
        moment = f"{third // 10**9}.{third % 10**9:09}"
        made = self.answer("diff", path, path, "--range-a", f",{moment}", "--range-b", f"{moment},", command=False)
        self.assertEqual([(e["event"], e["a"], e["b"]) for e in made["events"]], [("kprobes:lf", 3, 3)])  # ends included
        self.assertEqual((made["a_to_ns"], made["b_from_ns"]), (third, third))
        flame = self.ask("flame", path, "--from", moment, "--before", path, "--before-range", ",", command=False)
        self.assertRegex(flame, r"(?m)^ +5 +3 +-2 +all$")

    def test_numbers_are_shown_as_their_type_says(self):
        path = self.path("a.dat")
        self.ask("run", "-o", path, *LEAF, "-e", "p:sy brief:leaf what=%si:symbol list=+0($stack):x8[2]")
        text = self.ask("stat", path, command=False)
        self.assertRegex(text, r"(?m)^lf\.what +COUNT\n0x[0-9a-f]+ +5$")
        self.assertRegex(text, r"(?m)^lf\.low +COUNT\n0x0 +1\n0x1 +1$")
        self.assertRegex(text, r"(?m)^lf\.n +COUNT\n0 +1\n1 +1$")
        self.assertRegex(text, r"(?m)^sy\.what +COUNT\nqsort\+0x0/0x[0-9a-f]+ \[libc\.so\.6\] +5$")
        self.assertRegex(text, r"(?m)^sy\.list +COUNT\n0x[0-9a-f]+,0x[0-9a-f]+ +5$")
        columns = self.ask("report", path, "-F", "lf", "--columns", "n,what", command=False)
        self.assertRegex(columns, r"^0\t0x[0-9a-f]+\n1\t0x")

    def test_an_odd_ending_is_told(self):
        odd, text = self.path("x.foo"), self.path("plain")
        self.ask("run", *LEAF, "-o", odd)
        self.assertIn(f"`{odd}` is written as text: .foo is no format's ending (.dat ", self.err)
        with open(odd, encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 5)
        for name in (text, self.path("a.log")):
            self.ask("run", *LEAF, "-o", name)
            self.assertNotIn("is written as text", self.err)
        self.ask("run", *LEAF, "-o", odd, "-f", "json")
        self.assertNotIn("is written as text", self.err)
        recording = self.path("r.dat")
        self.ask("run", "-o", recording, *LEAF)
        self.ask("report", recording, "-o", self.path("r.json"), command=False)
        with open(self.path("r.json"), encoding="utf-8") as file:
            self.assertEqual(json.loads(file.readline())["type"], "header")
        self.ask("report", recording, "-o", odd, command=False)
        self.assertIn("is written as text", self.err)
        self.ask("convert", recording, odd, status=2, command=False)
        self.assertIn(".folded", self.err)


if __name__ == "__main__":
    main()
