"""Names of the source: C++ functions and Rust's are found as their programmer wrote them, and shown so."""
import os
import re
import subprocess
import unittest

from kevtest import KEVTRACE, PROGRAMS, main, plain

NAMED = os.path.join(PROGRAMS, "named")


def run(*words, rounds=2):
    done = subprocess.run([KEVTRACE, "run", *words, "--", NAMED, str(rounds)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def values(out, event, field):
    return [int(number) for number in re.findall(rf" {event}: .*\b{field}=(-?\d+)", out)]


class Names(unittest.TestCase):
    def test_found_by_the_name_of_the_source(self):
        status, out, err = run(
            "-e", "r:area named:shapes::Square::area v=$retval:s64",
            "-e", "r:scaled named:shapes::Square::scale(int) v=$retval:s64",
            "-e", "r:exactly named:shapes::Square::scale(long, double) v=$retval:s64",
            "-e", "r:sum named:shapes::sum<int, char> v=$retval:s64",
            "-e", "r:hidden named:hidden v=$retval:s64",
            "-e", "r:computed named:compute v=$retval:s64",
            "-e", "r:rust named:main::Shape::area v=$retval:s64")
        self.assertEqual(status, 0, err)
        for event, told in (("area", "area"), ("scaled", "scaled"), ("exactly", "exactly"), ("sum", "sum"), ("hidden", "hidden"),
                            ("computed", "computed"), ("rust", "rust")):
            said = [int(number) for number in re.findall(rf"\b{told} (\d+)", out)]
            self.assertEqual(len(said), 2)
            self.assertEqual(values(out, event, "v"), said, event)

    def test_shown_by_the_name_of_the_source(self):
        status, out, err = run("-e", "p:scaled named:shapes::Square::scale(int)", "--stack", rounds=1)
        self.assertEqual(status, 0, err)
        self.assertRegex(out, r" scaled: \(shapes::Square::scale\+0x0/0x[0-9a-f]+\)")
        self.assertIn("=> shapes::Square::scale", out)

    def test_overloads_are_named(self):
        status, out, err = run("-e", "p:x named:shapes::Square::scale")
        self.assertEqual(status, 3)
        for words in ("_ZN6shapes6Square5scaleEi (shapes::Square::scale(int))",
                      "_ZN6shapes6Square5scaleEld (shapes::Square::scale(long, double))"):
            self.assertIn(words, err)
        status, out, err = run("-e", "p:x named:_ZN6shapes6Square5scaleEi", rounds=3)
        self.assertEqual((status, len(re.findall(" x: ", out))), (0, 3), err)

    def test_nobody_has_it(self):
        status, out, err = run("-e", "p:x named:shapes::Square::scale(char)")
        self.assertEqual(status, 3)
        self.assertIn("[trace_kprobe: BAD_PROBE_ADDR]", err)

    def test_list(self):
        status, out, err = plain([KEVTRACE, "list", "shapes::Square::*", NAMED])
        self.assertEqual(status, 0, err)
        lines = out.decode().splitlines()
        self.assertEqual([re.sub(r"  0x[0-9a-f]+  \d+", "", line) for line in lines], [
            "_ZN6shapes6Square5scaleEi  shapes::Square::scale(int)",
            "_ZN6shapes6Square5scaleEld  shapes::Square::scale(long, double)",
            "_ZN6shapes6SquareC1El  shapes::Square::Square(long)",
            "_ZN6shapes6SquareC2El  shapes::Square::Square(long)",
            "_ZNK6shapes6Square4areaEv  shapes::Square::area() const",
            "_ZNK6shapes6SquareplERKS0_  shapes::Square::operator+(shapes::Square const&) const"])
        status, out, err = plain([KEVTRACE, "list", "main::*", NAMED])
        self.assertRegex(out.decode(), r"^_ZN4main5Shape4area17h0123456789abcdefE  0x[0-9a-f]+  \d+  main::Shape::area\n$")


if __name__ == "__main__":
    main()
