"""Floating point arguments, returns, fields and elements: values against what the program itself prints, filters, recordings."""
import json
import math
import os
import re
import struct
import subprocess
import tempfile
import unittest

from kevtest import KEVTRACE, PROGRAMS, main

FLOATS = os.path.join(PROGRAMS, "floats")
ROUNDS = 40


def same(a, b):
    return (math.isnan(a) and math.isnan(b)) or struct.pack("d", a) == struct.pack("d", b)


def single(value):
    """The number of 4 bytes that a text means."""
    return struct.unpack("f", struct.pack("f", value))[0]


class Floats(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_floats(self, *words, definitions=(), rounds=ROUNDS, status=0, program=FLOATS):
        events = [word for one in definitions for word in ("-e", one)]
        done = subprocess.run([KEVTRACE, "run", *words, *events, "--", program, str(rounds)], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    @staticmethod
    def printed(text, name):
        """What the program said of each call: numbers, %d and %a."""
        return [[float.fromhex(word) if "x" in word or word.strip("-") in ("inf", "nan") else int(word) for word in line.split()[1:]]
                for line in text.splitlines() if line.startswith(name + " ")]

    @staticmethod
    def traced(text, name):
        return [{key: value for key, value in re.findall(r"(\w+)=(\S+)", line.split(") ", 1)[1])}
                for line in text.splitlines() if f" {name}: (" in line]

    def assert_numbers(self, texts, wanted):
        self.assertEqual(len(texts), len(wanted))
        for text, number in zip(texts, wanted):
            self.assertTrue(same(float(text), number), f"{text} for {number}")

    def test_arguments_and_returns_by_register(self):
        done = self.run_floats(definitions=("p:price floats:price base=%xmm0 rate=%xmm1:f32 count=%si:s32", "r:cost floats:price v=$retval:f64",
                                            "r:half floats:half v=$retval:f32"))
        said = self.printed(done.stdout, "price")
        calls, costs, halves = (self.traced(done.stdout, name) for name in ("price", "cost", "half"))
        self.assert_numbers([call["base"] for call in calls], [one[0] for one in said])
        self.assert_numbers([single(float(call["rate"])) for call in calls], [one[1] for one in said])
        self.assertEqual([int(call["count"]) for call in calls], [one[2] for one in said])
        self.assert_numbers([call["v"] for call in costs], [one[3] for one in said])
        self.assert_numbers([single(float(call["v"])) for call in halves], [one[1] for one in self.printed(done.stdout, "half")])
        self.assertEqual([call["rate"] for call in calls][:3], ["0.1", "0.2", "0.3"])  # shortest: 0.1f, not 0.10000000149

    def test_names_and_fields(self):
        done = self.run_floats(definitions=("p:price floats:price base rate count", "p:ship floats:ship id=item->id w=item->weight d=+0($arg3):f64 r=+16($arg1):f32[3]",
                                            "p:all floats:price $arg*"))
        said = self.printed(done.stdout, "price")
        for name in ("price", "all"):
            calls = self.traced(done.stdout, name)
            self.assert_numbers([call["base"] for call in calls], [one[0] for one in said])
            self.assert_numbers([single(float(call["rate"])) for call in calls], [one[1] for one in said])
        ships = self.traced(done.stdout, "ship")
        self.assert_numbers([one["w"] for one in ships], [one[1] for one in self.printed(done.stdout, "ship")])
        self.assert_numbers([one["d"] for one in ships], [one[2] for one in self.printed(done.stdout, "ship")])
        for one, (_, rate, _, _) in zip(ships, said):
            self.assertEqual([single(float(item)) for item in one["r"].strip("{}").split(",")], [rate, -rate, 0.25])

    def test_at_an_int3(self):
        done = self.run_floats(definitions=("p:tiny floats:tiny v=%xmm0",))
        self.assertIn("tiny: int3 (", done.stderr)
        self.assert_numbers([one["v"] for one in self.traced(done.stdout, "tiny")], [one[0] for one in self.printed(done.stdout, "price")])

    def test_filters(self):
        said = [one[0] for one in self.printed(self.run_floats(definitions=("p:price floats:price",)).stdout, "price")]
        for text, holds in (("base > 2.5", lambda v: v > 2.5), ("base >= 1.5", lambda v: v >= 1.5), ("base < -1", lambda v: v < -1),
                            ("base <= 1e-310", lambda v: v <= 1e-310), ("base == 0", lambda v: v == 0), ("base != 0", lambda v: v != 0),
                            ("!(base > 0)", lambda v: not v > 0), ("base == 0.1 || base > 1e300", lambda v: v == 0.1 or v > 1e300),
                            ("base < 3 && base > -3e0", lambda v: -3 < v < 3), ("base == inf", lambda v: v == math.inf),
                            ("base == -inf", lambda v: v == -math.inf), ("base > -2.2250738585072014e-308", lambda v: v > -2.2250738585072014e-308)):
            with self.subTest(filter=text):
                wanted = [v for v in said if holds(v)]
                done = self.run_floats("--filter", f"price: {text}", definitions=("p:price floats:price base=%xmm0",))
                self.assert_numbers([one["base"] for one in self.traced(done.stdout, "price")], wanted)
                self.assertIn(f"price: hits {ROUNDS} = recorded {len(wanted)} + filtered {ROUNDS - len(wanted)} + lost 0 + missed 0\n", done.stderr)
                # The reader asks, where a second instance has the event; and a recording is asked.
                self.run_floats("-e", "p:price floats:price base=%xmm0", "-o", self.path("a.dat"), "-B", "x", "--enable", "price", "--filter", f"price: {text}",
                                "-o", self.path("x.dat"))
                for words in ([self.path("x.dat")], [self.path("a.dat"), "-F", f"price: {text}"]):
                    report = subprocess.run([KEVTRACE, "report", *words], capture_output=True, text=True, check=True).stdout
                    self.assert_numbers([one["base"] for one in self.traced(report, "price")], wanted)

    def test_a_constant_is_rounded_to_the_field(self):
        done = self.run_floats("--filter", "half: of == 0.1", definitions=("p:half floats:half of=%xmm0:f32",))
        self.assertEqual([one["of"] for one in self.traced(done.stdout, "half")], ["0.1"])

    def test_recordings(self):
        done = self.run_floats("-o", self.path("a.dat"), definitions=("p:price floats:price base=%xmm0 rate=%xmm1:f32 both=%xmm0:u64", "p:ship floats:ship r=+16($arg1):f32[3] w=+8($arg1):f64[1]"))
        said = self.printed(done.stdout, "price")

        def read(name):
            return subprocess.run([KEVTRACE, "report", self.path(name)], capture_output=True, text=True, check=True).stdout
        lines = read("a.dat")
        self.assert_numbers([one["base"] for one in self.traced(lines, "price")], [one[0] for one in said])
        for one, (base, rate, _, _) in zip(self.traced(lines, "ship"), said, strict=True):
            self.assertEqual([single(float(item)) for item in one["r"].strip("{}").split(",")], [rate, -rate, 0.25])
            self.assert_numbers([one["w"].strip("{}")], [base])
        subprocess.run([KEVTRACE, "convert", self.path("a.dat"), self.path("a.json")], check=True)
        with open(self.path("a.json"), encoding="utf-8") as file:
            all_events = [event for event in map(json.loads, file) if event["type"] == "event"]
        events = [event["fields"] for event in all_events if event["event"] == "kprobes:price"]
        self.assertEqual([[single(item) for item in event["fields"]["r"]] for event in all_events if event["event"] == "kprobes:ship"],
                         [[one[1], -one[1], 0.25] for one in said])
        self.assert_numbers([event["base"] for event in events], [one[0] for one in said])  # "inf" and "nan" are texts
        self.assertEqual([type(event["base"]) for event in events[8:11]], [str] * 3)
        self.assertEqual(read("a.json"), lines)
        for name in ("a.csv", "a.pftrace", "a.ctf"):
            subprocess.run([KEVTRACE, "convert", self.path("a.dat"), self.path(name)], check=True)
        with open(self.path("a.csv"), encoding="utf-8") as file:
            head, *rows = (line.rstrip("\n").split(",") for line in file)
        rows = [row for row in rows if row[head.index("event")].endswith("price")]
        self.assert_numbers([row[head.index("base")] for row in rows], [one[0] for one in said])
        self.assertEqual([single(float(row[head.index("rate")])) for row in rows], [one[1] for one in said])
        columns = subprocess.run([KEVTRACE, "report", self.path("a.dat"), "-F", "price", "--columns", "base"], capture_output=True, text=True, check=True).stdout
        self.assert_numbers(columns.split(), [one[0] for one in said])
        if os.path.exists("/usr/bin/trace-cmd"):  # which knows no floating point: the bits
            other = subprocess.run(["/usr/bin/trace-cmd", "report", self.path("a.dat")], capture_output=True, text=True, check=True).stdout
            found = re.findall(r" base=(\S+) .* both=(\d+)$", other, re.M)
            self.assertEqual(len(found), ROUNDS)
            for text, bits in found:
                self.assertEqual(int(text, 16), int(bits))
        with open(self.path("a.ctf/metadata"), encoding="latin-1") as file:
            self.assertRegex(file.read(), r"floating_point \{ exp_dig = 8; mant_dig = 24; align = 8; \} _r\[3\]")
        if os.path.exists("/usr/bin/babeltrace2"):
            other = subprocess.run(["/usr/bin/babeltrace2", self.path("a.ctf")], capture_output=True, text=True, check=True).stdout
            shown = re.findall(r"base = ([^,]+),", other)  # in six digits
            self.assert_numbers(shown, [float(f"{one[0]:g}") for one in said])

    def test_what_cannot_be(self):
        for definition, words, text in (
                ("p:many floats:many i", (), "`i` is passed in no register that is known"),
                ("r:cost floats:price base", (), "`base` is in %xmm0 at the entry and is not kept for the return"),
                ("p:price floats:price x=$arg2:f64", (), "`$arg2` is no floating point argument: they are in %xmm0, %xmm1 and so on"),
                ("p:price floats:price x=%xmm16", (), "Invalid register name"),
                ("p:price floats:price x=%xmm0:string", (), "String accepts only memory argument"),
                ("p:price floats:price x=%xmm0", ("--filter", "price: x & 1"), "& is for integers"),
                ("p:price floats:price x=%xmm0", ("--filter", "price: x == 1.5.2"), "Too many terms in predicate expression"),
                ("p:price floats:price x=%xmm0", ("--filter", "price: x == 1x"), "a number: 2.5, -3, 1e-6, inf"),
                ("p:price floats:price x=%xmm0", ("--filter", "price: x == -nan"), "a number: 2.5, -3, 1e-6, inf"),
                ("p:price floats:price x=%si:s32 y=%xmm0", ("--filter", "price: x > 1.5"), "`x` is an integer"),
                ("p:price floats:price x=%si:s32", ("--filter", "price: x > 1.5"), "Too many terms in predicate expression"),
                ("p:price floats:price x=%xmm0", ("--hist", "price: keys=x"), "a histogram counts integers and texts, no floating point numbers")):
            with self.subTest(definition=definition, words=words):
                done = self.run_floats(*words, definitions=(definition,), status=3)
                self.assertIn(text, done.stderr)

    def test_no_kernel_has_them(self):
        for text in ("p:a vfs_read x=%xmm0", "p:a vfs_read x=%di:f64"):
            newest = subprocess.run([KEVTRACE, "check", "--kernel", "newest", "-e", text], capture_output=True, text=True)
            self.assertEqual(newest.returncode, 3, text)
            ours = subprocess.run([KEVTRACE, "check", "-e", text], capture_output=True, text=True)
            self.assertEqual(ours.returncode, 0, ours.stderr)


if __name__ == "__main__":
    main()
