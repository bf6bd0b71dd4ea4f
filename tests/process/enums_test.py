"""Enumerations by name: arguments, fields, bit fields, references, returned values; filters; what other tools read."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from kevtest import KEVTRACE, PROGRAMS, main

ENUMS = os.path.join(PROGRAMS, "enums")
PLAIN = ["kMinus", "kNone", "kOne", "kLarge", "0x5"]
SMALL = ["Off", "On", "Top", "On", "0x9"]
WIDE = ["Back", "Far", "Back", "Far", "Back"]
TAKEN = "p:t enums:take_plain plain:enum n=plain number"


class Enums(unittest.TestCase):
    def run_with(self, *words, status=0):
        done = subprocess.run([KEVTRACE, "run", *words, "--", ENUMS], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def records(self, text, event):
        return [dict(re.findall(r"(\w+)=(\S+)", line.split(") ", 1)[1])) for line in text.splitlines() if f" {event}: (" in line]

    def test_by_name(self):
        done = self.run_with("-e", TAKEN, "-e", "p:all enums:take_all small:enum wide:enum rs=request->small:enum rp=request->plain:enum rw=request->wide:enum ref=plain:enum b=request->byte:enum",
                             "-e", "r:back enums:give_plain v=$retval:enum")
        self.assertEqual([(r["plain"], r["n"]) for r in self.records(done.stdout, "t")], list(zip(PLAIN, ["-3", "0", "1", "70000", "5"])))
        self.assertEqual(self.records(done.stdout, "all"), [{"small": s, "wide": w, "rs": s, "rp": p, "rw": w, "ref": r, "b": p}
                                                            for s, w, p, r in zip(SMALL, WIDE, ["kMinus", "kNone", "kOne", "kMinus", "kNone"], PLAIN)])
        self.assertEqual([r["v"] for r in self.records(done.stdout, "back")], PLAIN)

    def test_bool_by_name(self):
        done = self.run_with("-e", "p:t enums:take_bool is_odd:enum ready=request->ready:enum last=request->last:enum n=is_odd", "-e", "r:back enums:take_bool v=$retval:enum",
                             "--filter", 't: ready == "true"')
        self.assertEqual([tuple(r.values()) for r in self.records(done.stdout, "t")],
                         [("false", "true", "false", "0"), ("true", "true", "false", "1"), ("false", "true", "true", "0")])
        self.assertEqual([r["v"] for r in self.records(done.stdout, "back")], ["true", "false", "true", "false", "true"])

    def test_filters(self):
        for filter_text, wanted in (('plain == "kOne"', ["kOne"]), ('plain != "kMinus" && plain < "kLarge"', ["kNone", "kOne", "0x5"]), ("plain == 70000", ["kLarge"])):
            done = self.run_with("-e", TAKEN, "--filter", "t: " + filter_text)
            self.assertEqual([r["plain"] for r in self.records(done.stdout, "t")], wanted, filter_text)
        done = self.run_with("-e", TAKEN, "--filter", 't: plain ~ "k*"', status=3)
        self.assertIn("Expecting numeric field", done.stderr)
        done = self.run_with("-e", TAKEN, "--filter", 't: plain == "kTwo"', status=3)
        self.assertIn("values of `plain` are kMinus kNone kOne kLarge", done.stderr)

    def test_recordings(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a.dat", "a.json", "a.csv"):
                self.run_with("-e", TAKEN, "-o", os.path.join(folder, name))
            read = subprocess.run([KEVTRACE, "report", os.path.join(folder, "a.dat")], capture_output=True, text=True, check=True).stdout
            self.assertEqual([r["plain"] for r in self.records(read, "t")], PLAIN)
            self.run_with("-e", "p:w enums:take_all wide:enum", "-o", os.path.join(folder, "w.dat"))
            if shutil.which("trace-cmd"):
                wide = subprocess.run(["trace-cmd", "report", os.path.join(folder, "w.dat")], capture_output=True, text=True, check=True).stdout
                self.assertEqual(re.findall(r"wide=(\S+)", wide), WIDE)
                theirs = subprocess.run(["trace-cmd", "report", os.path.join(folder, "a.dat")], capture_output=True, text=True, check=True).stdout
                self.assertEqual(re.findall(r"plain=(\S+)", theirs), PLAIN)
            with open(os.path.join(folder, "a.json"), encoding="utf-8") as file:
                rows = [json.loads(line) for line in file]
            self.assertEqual([row["fields"]["plain"] for row in rows if row["type"] == "event"], [-3, 0, 1, 70000, 5])

    def test_two_probes_of_one_event(self):
        """They have one format, and so the same names."""
        done = self.run_with("-e", "p:t enums:take_plain plain:enum", "-e", "p:t enums:take_all plain:enum")
        self.assertEqual(len(self.records(done.stdout, "t")), 10)
        done = self.run_with("-e", "p:t enums:take_plain v=plain:enum", "-e", "p:t enums:take_all v=request->plain:enum", status=3)
        self.assertIn("Argument type or name is different", done.stderr)

    def test_compiled(self):
        """What is written out has no types: the number is printed."""
        with tempfile.TemporaryDirectory() as folder:
            script, made = os.path.join(folder, "e.kev"), os.path.join(folder, "e.kevo")
            with open(script, "w", encoding="utf-8") as file:
                file.write("p:t enums:take_all small:enum rp=request->plain:enum\n")
            subprocess.run([KEVTRACE, "compile", script, "-o", made, "--", ENUMS], check=True, capture_output=True)
            done = self.run_with("-p", made)
        self.assertEqual([(r["small"], r["rp"]) for r in self.records(done.stdout, "t")], [("0", "1048573"), ("1", "0"), ("-56", "1"), ("1", "1048573"), ("9", "0")])

    def test_octal(self):
        done = self.run_with("-e", "p:t enums:take_plain n=%si:o16 m=%di:o32")
        self.assertEqual([(r["n"], r["m"]) for r in self.records(done.stdout, "t")], [("00", "037777777775"), ("01", "00"), ("02", "01"), ("03", "0210560"), ("04", "05")])

    def test_network_byte_order(self):
        events = ["-e", "p:t enums:take_plain n=%si:be16 m=%di:be32 wide=%di:be64 some=+0($stack):be16[2] many=+0($stack):be32[5] same=+0($stack):u32[5]"]
        records = self.records(self.run_with(*events).stdout, "t")
        numbers = [int.from_bytes(number.to_bytes(4, "little", signed=True), "big") for number in (-3, 0, 1, 70000, 5)]
        self.assertEqual([r["m"] for r in records], [str(number) for number in numbers])
        self.assertEqual([r["n"] for r in records], [str(i << 8) for i in range(5)])
        for r in records:
            self.assertEqual(int(r["wide"]) >> 32, int(r["m"]))
            words = [int(word) for word in r["same"].strip("{}").split(",")]
            many = [str(int.from_bytes(word.to_bytes(4, "little"), "big")) for word in words]
            self.assertEqual(r["many"], "{" + ",".join(many) + "}")
            halves = [int.from_bytes(words[0].to_bytes(4, "little")[at:at + 2], "big") for at in (0, 2)]
            self.assertEqual(r["some"], "{" + ",".join(map(str, halves)) + "}")
        found = self.records(self.run_with(*events, "--filter", f"t: m > {numbers[2]} && n != 0").stdout, "t")
        self.assertEqual([r["m"] for r in found], [str(number) for number in numbers if number > numbers[2]][1:])

    def test_names_that_are_written_out(self):
        """Where no type is known, and in what is compiled."""
        names = "kMinus=-3,kNone=0,kOne=1,kLarge=0x11170"
        events = ["-e", f"p:t enums:take_plain m=%di:enum({names}) low=%si:enum8(zero=0,three=3)"]
        done = self.run_with(*events)
        self.assertEqual([(r["m"], r["low"]) for r in self.records(done.stdout, "t")], list(zip(PLAIN, ["zero", "0x1", "0x2", "three", "0x4"])))
        done = self.run_with(*events, "--filter", 't: m == "kLarge" || low == "zero"')
        self.assertEqual([r["m"] for r in self.records(done.stdout, "t")], ["kMinus", "kLarge"])
        with tempfile.TemporaryDirectory() as folder:
            script, made = os.path.join(folder, "e.kev"), os.path.join(folder, "e.kevo")
            with open(script, "w", encoding="utf-8") as file:
                file.write(f"p:t enums:take_plain m=%di:enum({names})\n")
            subprocess.run([KEVTRACE, "compile", script, "-o", made, "--", ENUMS], check=True, capture_output=True)
            self.assertEqual([r["m"] for r in self.records(self.run_with("-p", made).stdout, "t")], PLAIN)
        for bad in ("enum()", "enum(a)", "enum(a=)", "enum(a=x)", "enum(1a=1)", "enum(a=1,)", "enum(a=1)[2]", "enum7(a=1)", "enum(" + ",".join(f"n{i}=0" for i in range(513)) + ")"):
            self.assertIn("Unknown type", self.run_with("-e", f"p:t enums:take_plain m=%di:{bad}", status=3).stderr, bad)
        done = subprocess.run([KEVTRACE, "check", "--kernel", "6.1", "-e", "p:t vfs_read x=%di:enum(a=1)"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 3, done.stdout)

    def test_of_a_file_and_at_a_line(self):
        done = self.run_with("-e", f"p:t {ENUMS}:take_plain plain:enum number", "-e", f"p:b {ENUMS}:take_bool is_odd:enum ready=request.ready:enum",
                             "-e", f"p:all {ENUMS}:take_all small:enum wide:enum rs=request.small:enum ref=plain:enum")
        self.assertEqual([r["plain"] for r in self.records(done.stdout, "t")], PLAIN)
        self.assertEqual([r["is_odd"] for r in self.records(done.stdout, "b")], ["false", "true", "false", "true", "false"])
        self.assertEqual([(r["small"], r["wide"], r["rs"], r["ref"]) for r in self.records(done.stdout, "all")], list(zip(SMALL, WIDE, SMALL, PLAIN)))
        for definition, said in ((f"p:t {ENUMS}:take_all x=request.plain:enum", "it is a bit field"), (f"p:t {ENUMS}:take_plain number:enum", "it is a `int`, not an enumeration")):
            self.assertIn(said, self.run_with("-e", definition, status=3).stderr)
        for name in ("lines0", "lines2"):
            program = os.path.join(PROGRAMS, name)
            done = subprocess.run([KEVTRACE, "run", "-e", f"p:k {name}:area_of:1 s->kind:enum", "-e", f"p:s {name}:show:3 first->next->kind:enum", "--", program, "3"],
                                  capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([r["kind"] for r in self.records(done.stdout, "k")], ["kRound"] * 3, name)
            self.assertEqual([r["kind"] for r in self.records(done.stdout, "s")], ["kSquare"] * 3, name)

    def test_what_has_no_names(self):
        for definition, said in (("p:t enums:take_plain number:enum", "it is `int`, not an enumeration"), ("p:t enums:take_plain x=%di:enum", "`enum` is for arguments and fields by their names"),
                                 ("p:t enums:take_plain plain:enum[2]", "not an enumeration of up to")):
            done = self.run_with("-e", definition, status=3)
            self.assertIn(said, done.stderr, definition)
        done = subprocess.run([KEVTRACE, "check", "--kernel", "6.1", "-e", "p:t vfs_read x=file:enum"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 3, done.stdout)
        done = subprocess.run([KEVTRACE, "check", "-e", "p:t nosuch:f mode:enum"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    main()
