"""Functions of files by PATH:FUNCTION, in programs of C, C++ and Go: values against what the program prints, and the uprobes
that they stand for. By bpf they are tried in the guest (tests/guest/hooks/lines_in_guest.py)."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from kevtest import KEVTRACE, PROGRAMS, main
from lines_test import ROUNDS, Traced, records, said
from mounted import MountTest


class FileFunctions(Traced):
    def each(self):
        for name in ("lines0", "lines2"):
            yield os.path.join(PROGRAMS, name)

    def test_parameters_are_as_they_are_passed(self):
        """Also without optimization, where debug information names places that are filled later."""
        for program in self.each():
            done = self.traced(program, "-e", f"p:area {program}:area_of x=s->at.x y=s->at.y scale s->label:string", "-e", f"p:sum {program}:sum_to n=$arg1:s32",
                               "-e", f"p {program}:area_of $arg*", "-e", f"r:back {program}:area_of got=$retval:s32", "-e", f"p:again {program}:area_of%return")
            areas = said(done.stdout, "area")
            found = records(done.stdout, "area")
            self.assertEqual([[str(int(one["x"]) * int(one["scale"])), str(int(one["y"]) * int(one["scale"]))] for one in found], [words[:2] for words in areas], program)
            self.assertEqual({one["label"] for one in found}, {'"first"'})
            self.assertEqual([int(one["n"]) for one in records(done.stdout, "sum")], [round + 2 for round in range(1, ROUNDS + 1)])
            self.assertEqual([one["scale"] for one in records(done.stdout, "area_of")], ["3"] * ROUNDS)
            self.assertEqual([one["got"] for one in records(done.stdout, "back")], [words[2] for words in areas])
            self.assertIn(f"again: hits {ROUNDS} =", done.stderr)

    def test_what_cxx_passes(self):
        """Texts, references, structures by value, and names with parentheses and blanks."""
        program = os.path.join(PROGRAMS, "texts")
        done = self.traced(program, "-e", f"p:view {program}:shop::by_view text number", "-e", f"p:ref {program}:by_reference text", "-e", f"p:four {program}:behind_four x=at.x text c last")
        by_name = self.traced(program, "-e", "p:view texts:by_view text number", "-e", "p:ref texts:by_reference text", "-e", "p:four texts:behind_four text c last")
        for event in ("view", "ref"):
            self.assertEqual(records(done.stdout, event), records(by_name.stdout, event))
            self.assertGreater(len(records(done.stdout, event)), ROUNDS // 2)
        four = records(done.stdout, "four")
        self.assertEqual([one.pop("x") for one in four], ["3"] * len(four))
        self.assertEqual(four, records(by_name.stdout, "four"))
        self.assertIn("it is a member of a structure in a register", self.refused(program, f"p:four {program}:behind_four at.y"))
        whole = self.traced(program, "-e", f"p:view {program}:shop::by_view(std::basic_string_view<char, std::char_traits<char> >, int) number")
        self.assertEqual(len(records(whole.stdout, "view")), len(records(done.stdout, "view")))
        self.assertIn("near it: `shop::by_view(std::basic_string_view<char, std::char_traits<char> >", self.refused(program, f"p:view {program}:shop::by_view(char)"))

    def test_copies_with_other_arguments(self):
        """Where GCC has made a copy for some callers, only debug information tells where an argument is; it may be a constant."""
        program = os.path.join(PROGRAMS, "copied")
        symbols = subprocess.run(["nm", program], capture_output=True, text=True).stdout
        self.assertRegex(symbols, r" t fixed\.(constprop|isra)\.0\n")
        for place in ("copied", program):
            done = self.traced(program, "-e", f"p:fixed {place}:fixed n always doubled", "-e", f"p:pick {place}:pick s->b scale unused", "-e", f"r {place}:pick v=$retval:s64")
            self.assertEqual([[one["n"], one["always"]] for one in records(done.stdout, "fixed")], [words[:2] for words in said(done.stdout, "fixed")])
            self.assertEqual([[one["b"], one["scale"]] for one in records(done.stdout, "pick")], [words[:2] for words in said(done.stdout, "pick")])
            self.assertEqual({one["unused"] for one in records(done.stdout, "pick")}, {"7"})
            self.assertEqual([one["doubled"] for one in records(done.stdout, "fixed")], [str(2 + 2 * i) for i in range(ROUNDS)])
            back = "r_copied_pick_0" if place == "copied" else "pick__return"
            self.assertEqual(re.findall(rf" {back}: \(\S+ <- (\S+)\) v=(\d+)$", done.stdout, re.M)[0][1], said(done.stdout, "pick")[0][2])
            self.assertNotIn("<- 0x0)", done.stdout)
        symbol = re.search(r" t (fixed\.\S+)\n", symbols)[1]
        self.assertIn("it is a copy of `fixed` that the compiler has made", self.refused(program, f"p:e copied:{symbol} n"))
        self.assertIn("`$argN` is not known", self.refused(program, f"p:e copied:fixed n=$arg1"))

    def test_mistakes(self):
        program = os.path.join(PROGRAMS, "lines2")
        for place, word in (("area_fo", "near it: `area_of`"), ("area_of+4 s", "at the entry"), ("area_of nobody", "there is no variable `nobody`; there are `s`, `scale`"),
                            ("*_of", "no glob stands behind a path")):
            self.assertIn(word, self.refused(program, f"p:e {program}:{place}"))
        self.assertIn("names of parameters stand for what was passed", self.refused(program, f"r:e {program}:area_of s"))
        self.assertNotIn("has no function", self.refused(program, "p:e /no/such/file:main"))
        done = subprocess.run([KEVTRACE, "check", "-e", f"p:e {program}:main"], capture_output=True, text=True, timeout=60)
        self.assertIn("`PATH:FUNCTION` is a function of a file", done.stdout + done.stderr)

    def test_without_debug_information(self):
        """Places and registers are known, names are not."""
        program = os.path.join(PROGRAMS, "lines2")
        with tempfile.TemporaryDirectory() as folder:
            stripped = os.path.join(folder, "lines2")
            subprocess.run(["objcopy", "--strip-debug", "--remove-section=.note.gnu.build-id", program, stripped], check=True)
            done = self.traced(stripped, "-e", f"p:sum {stripped}:sum_to n=$arg1:s32")
            self.assertEqual([int(one["n"]) for one in records(done.stdout, "sum")], [round + 2 for round in range(1, ROUNDS + 1)])
            self.assertIn("has neither debug information nor a build id", self.refused(stripped, f"p:sum {stripped}:sum_to n"))

    @unittest.skipIf(shutil.which("go") is None, "there is no Go")
    def test_go_passes_arguments_elsewhere(self):
        program = os.path.join(PROGRAMS, "go-programs", "static")
        for argument in ("n", "a=$arg1", "$arg*"):
            self.assertIn("Go's are in %ax %bx", self.refused(program, f"p:work {program}:main.work {argument}"))


class InAMount(MountTest):
    COMMAND = (os.path.join(PROGRAMS, "lines2"), "3", "by hand")

    def test_a_mount_lists_the_uprobe(self):
        program = self.COMMAND[0]
        self.echo(f"p {program}:area_of scale x=s->at.x\n", "uprobe_events")
        self.assertRegex(self.cat("uprobe_events"), rf"^p:uprobes/area_of {re.escape(program)}:0x[0-9a-f]+ scale=%si:s32 x=\+\d+\(%di\):s32\n$")


if __name__ == "__main__":
    main()
