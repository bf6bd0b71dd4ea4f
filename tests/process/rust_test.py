"""Texts, numbers, returned values and markers of Rust, against what the program prints. 77: there is no Rust compiler."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from kevtest import KEVTRACE, main

RUSTC = shutil.which("rustc")
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")

if not RUSTC:
    print("rust_test: no Rust compiler (package rustc)")
    sys.exit(77)


class RustProgram(unittest.TestCase):
    """A program of programs/NAME.rs: `rounds` is what it prints, by line and `|`."""

    NAME = ""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.source = os.path.join(PROGRAMS, cls.NAME + ".rs")
        cls.program = os.path.join(cls.folder.name, cls.NAME)
        subprocess.run([RUSTC, "-g", "-O", "-o", cls.program, cls.source], check=True, capture_output=True)
        out = subprocess.run([cls.program], capture_output=True, text=True, check=True).stdout
        cls.rounds = [line.split("|") for line in out.splitlines()]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def records(self, event, *words):
        done = subprocess.run([KEVTRACE, "run", *words, "--", self.program], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [re.findall(r'(\w+)=("[^"]*"|\S+)', line.split(") ", 1)[1]) for line in done.stdout.splitlines() if f" {event}: (" in line]


class RustTexts(RustProgram):
    NAME = "rust_texts"

    def test_by_name(self):
        self.assertEqual(len(self.rounds), 20)
        self.assertEqual(self.records("s", "-e", "p:s take_str text number"), [[("text", f'"{part}"'), ("number", str(i))] for i, (part, *_) in enumerate(self.rounds)])
        self.assertEqual(self.records("i", "-e", "p:i take_item id=item->id name=item->name owned=item->owned number"),
                         [[("id", str(i)), ("name", f'"{name}"'), ("owned", f'"{owned}"'), ("number", "7")] for i, (_, name, owned, _) in enumerate(self.rounds)])
        self.assertEqual(self.records("o", "-e", "p:o take_string borrowed=borrowed:string moved number"),
                         [[("borrowed", f'"{owned}"'), ("moved", f'"{part}"'), ("number", "9")] for part, _, owned, _ in self.rounds])

    def test_references_are_what_they_refer_to(self):
        """Numbers, texts and lists; of other structures a reference is an address, with members."""
        records = self.records("f", "-e", "p:f take_references numbers bytes price count x=at->x at")
        self.assertEqual(len(records), len(self.rounds))
        for i, record in enumerate(records):
            values = dict(record)
            self.assertEqual(values["numbers"], "{" + ",".join(str(n - 5) for n in range(i)) + "}")
            self.assertEqual(values["bytes"], "{%d}" % i)
            self.assertEqual(float(values["price"]), i / 4)
            self.assertEqual((values["count"], values["x"]), (str(i), str(i)))
            self.assertRegex(values["at"], r"^0x[0-9a-f]+$")
        self.assertEqual(self.records("o", "-e", "p:o take_string borrowed"), [[("borrowed", f'"{owned}"')] for _, _, owned, _ in self.rounds])

    def test_stacks_have_the_names_of_the_source(self):
        """Under either mangling."""
        for mangling in ("legacy", "v0"):
            with self.subTest(mangling=mangling):
                program = os.path.join(self.folder.name, "rust_" + mangling)
                built = subprocess.run([RUSTC, "-O", "--crate-name", "rust_texts", "-C", "symbol-mangling-version=" + mangling, "-o", program, self.source], capture_output=True, text=True)
                if built.returncode:
                    self.skipTest(built.stderr)  # of Debian 12: v0 is not stable yet
                done = subprocess.run([KEVTRACE, "run", "--stack", "-f", "folded", "-e", "p:s take_str", "--", program], capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)
                (stack,) = [line for line in done.stdout.splitlines() if ";" in line]
                frames, count = stack.rsplit(" ", 1)
                names = frames.split(";")
                self.assertEqual((names[0], names[1], names[-2:], count), ("rust_" + mangling, "_start", ["rust_texts::main", "take_str"], "20"))
                self.assertIn("std::rt::lang_start_internal", names)

    def test_functions_have_the_names_of_the_source(self):
        program = os.path.join(self.folder.name, "rust_texts")
        done = subprocess.run([KEVTRACE, "run", "-c", "1", "-e", "p:m rust_texts:rust_texts::main", "--", program], capture_output=True, text=True, timeout=120)
        self.assertIn("m: (rust_texts::main+0x0/", done.stdout, done.stderr)

    def test_what_is_not_certain_has_no_name(self):
        """Rust has a register for each of two scalars, however small: what stands behind them is not where C has it."""
        done = subprocess.run([KEVTRACE, "run", "-e", "p:p take_point after", "--", self.program], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("`after` is passed in no register that is known", done.stderr)

    def test_by_hand(self):
        wanted = [part for part, *_ in self.rounds if "Rust" in part]
        self.assertGreater(len(wanted), 3)
        self.assertEqual(self.records("s", "-e", "p:s take_str text=+0($arg1):string($arg2)", "--filter", 's: text ~ "*Rust*"'), [[("text", f'"{part}"')] for part in wanted])


class RustValues(RustProgram):
    """Floating point, what functions return, methods, and a marker, against what the program prints."""

    NAME = "rust_values"

    def records(self, event, *words):
        return [dict(one) for one in super().records(event, *words)]

    def columns(self, *which):
        self.assertEqual(len(self.rounds), 20)
        return [tuple(one[i] for i in which) for one in self.rounds]

    def test_floating_point_by_name_and_by_register(self):
        for words in ("base rate", "base=%xmm0 rate=%xmm1:f32"):
            with self.subTest(words=words):
                records = self.records("c", "-e", "p:c cost " + words)
                self.assertEqual([(one["base"], one["rate"]) for one in records], self.columns(0, 1))

    def test_returned_values(self):
        for event, definition, column in (("c", "r:c cost v=$retval:f64", 2), ("f", "r:f rounded v=$retval:f32", 3),
                                          ("n", "r:n scaled v=$retval:s64", 5), ("e", "r:e is_even v=$retval:u8", 6)):
            records = self.records(event, "-e", definition)
            wanted = self.columns(column)
            if event == "e":
                wanted = [("1" if value == "true" else "0",) for (value,) in wanted]
            self.assertEqual([(one["v"],) for one in records], wanted, definition)

    def test_a_method_by_the_name_of_the_source(self):
        """LLVM may remove `self`, whose one factor it knows: then its registers are not those of the ABI, which is refused
        or known, and never a wrong value."""
        wanted = [{"count": str(i), "price": base} for i, (base,) in enumerate(self.columns(0))]
        self.assertEqual(self.records("m", "-e", f"p:m {self.program}:rust_values::Shelf::value count price"), wanted)
        event = "p:m rust_values:rust_values::Shelf::value factor=self->factor count price"
        done = subprocess.run([KEVTRACE, "run", "-e", event, "--", self.program], capture_output=True, text=True, timeout=120)
        if done.returncode:
            self.assertIn("the compiler has changed what callers of `rust_values::Shelf::value` pass", done.stderr)
        else:
            self.assertEqual(self.records("m", "-e", event), [{"factor": "0.5", **one} for one in wanted])
        returned = self.records("v", "-e", "r:v rust_values:rust_values::Shelf::value v=$retval:f64")
        self.assertEqual([(one["v"],) for one in returned], self.columns(7))

    def test_filters_of_floating_point(self):
        records = self.records("c", "-e", "p:c cost base", "--filter", "c: base > 1.5")
        self.assertEqual([one["base"] for one in records], [base for (base,) in self.columns(0) if float(base) > 1.5])

    def test_a_marker(self):
        listed = subprocess.run([KEVTRACE, "list", "--usdt", "shelf:*", self.program], capture_output=True, text=True, check=True).stdout
        self.assertRegex(listed, r"^shelf:sold  1 place  8@%\w+ -4@%\w+\n$")
        records = self.records("s", "-e", f"p:s {self.program}:shelf:sold units=$arg1:u64 change=$arg2")
        self.assertEqual([(one["units"], one["change"]) for one in records], self.columns(8, 4))


if __name__ == "__main__":
    main()
