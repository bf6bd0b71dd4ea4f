"""Functions of files by PATH:FUNCTION, in programs of C, C++ and Go: values against what the program prints, and the uprobes
that they stand for. By bpf they are tried in the guest (tests/guest/hooks/lines_in_guest.py)."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import goprograms
from kevtest import KEVTRACE, PROGRAMS, main
from lines_test import ROUNDS, Traced, records, said
from mounted import MountTest


CHANGED = """
#[inline(never)]
fn pick(unused: u64, scale: u64) -> u64 { std::hint::black_box(scale) * 3 }
fn main() {
    let a = std::env::args().count() as u64;
    println!("scales {} {}", a, a + 1);
    std::process::exit((pick(7 + a, a) + pick(8 + a, a + 1) == 0) as i32);
}
"""


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
        said_of = self.refused(program, "p:e copied:fixed n=$arg1")
        self.assertIn("`$argN` is not known", said_of)
        self.assertIn("trace_kprobe: BAD_PROBE_ADDR", said_of)

    def test_copies_of_different_functions_are_not_joined(self):
        source = "extern int sink;\nstatic __attribute__((noinline)) int helper(int n, int always) { __asm__ volatile(\"\" ::: \"memory\"); return n * always + %d; }\n"
        with tempfile.TemporaryDirectory() as folder:
            def file(name, text):
                with open(os.path.join(folder, name), "w") as out:
                    out.write(text)
                return out.name
            one = file("one.c", source % 1 + "int one(int n) { return helper(n, 3) + helper(n + 1, 3); }\n")
            two = file("two.c", source % 2 + "int two(int n) { return helper(n, 5) + helper(n + 1, 5); }\nint one(int);\nint main(int argc, char** argv) { (void)argv; return one(argc) + two(argc) == 0; }\n")
            program = os.path.join(folder, "joined")
            subprocess.run(["gcc", "-O2", "-g", "-w", "-o", program, one, two], check=True)
            self.assertEqual(subprocess.run(["nm", program], capture_output=True, text=True).stdout.count(" t helper."), 2)
            for place in ("joined", program):
                self.assertIn(f"`helper` is the name of several functions: `{place}:0x", self.refused(program, f"p:h {place}:helper n"))

    @unittest.skipIf(shutil.which("rustc") is None, "there is no rustc")
    def test_functions_that_llvm_has_changed(self):
        """LLVM removes parameters under the same name (DW_CC_nocall): no register is claimed for what is not passed."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "changed.rs"), "w") as file:
                file.write(CHANGED)
            program = os.path.join(folder, "changed")
            subprocess.run(["rustc", "-O", "-g", "-o", program, file.name], check=True, capture_output=True, timeout=120)
            if "(nocall)" not in subprocess.run(["readelf", "--debug-dump=info", program], capture_output=True, text=True).stdout:
                self.skipTest("this rustc changes no function, or does not say so")
            done = self.traced(program, "-e", f"p:pick {program}:pick scale")
            self.assertEqual([one["scale"] for one in records(done.stdout, "pick")], said(done.stdout, "scales")[0])
            self.assertIn("`unused` at the entry of `pick`", self.refused(program, f"p:pick {program}:pick unused"))
            self.assertIn("the compiler has changed what callers of `pick` pass", self.refused(program, "p:pick changed:pick unused"))

    def test_a_glob_means_the_default_version_and_names_with_operator(self):
        libc = next(line.split()[-1] for line in open("/proc/self/maps") if line.rstrip().endswith("/libc.so.6"))
        alone, globbed = (subprocess.run([KEVTRACE, "explain", "--only=listing", "-e", f"p:e {libc}:pthread_cond_signa{end}", "/bin/true"], capture_output=True, text=True, timeout=60).stdout
                          for end in ("l", "?"))
        self.assertRegex(alone, r":0x[0-9a-f]+")
        self.assertEqual(globbed, alone)
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "c.c"), os.path.join(folder, "c")
            with open(source, "w") as out:
                out.write("__attribute__((noinline, noipa)) int cooperator_one(int n) { return n; }\nint main(int argc, char** argv) { (void)argv; return cooperator_one(argc) == 0; }\n")
            subprocess.run(["gcc", "-O1", "-w", "-o", program, source], check=True)
            self.assertIn("cooperator_one: hits 1 ", self.traced(program, "-e", f"p {program}:cooperator_*").stderr)

    def test_a_glob_means_all_functions_of_one_name(self):
        source = "static __attribute__((noinline, noipa)) int helper(int n) { return n + %d; }\n"
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for n, text in enumerate(("int one(int n) { return helper(n); }\n", "int one(int n);\nint main(int argc, char** argv) { (void)argv; return one(argc) + helper(argc) == 0; }\n")):
                paths.append(os.path.join(folder, f"{n}.c"))
                with open(paths[-1], "w") as out:
                    out.write(source % n + text)
            program = os.path.join(folder, "two")
            subprocess.run(["gcc", "-O2", "-w", "-o", program, *paths], check=True)
            done = self.traced(program, "-e", f"p {program}:help*")
            for event in ("helper", "helper_2"):
                self.assertIn(f"{event}: hits 1 = recorded 1 ", done.stderr)

    def test_globs(self):
        for program in self.each():
            done = self.traced(program, "-e", f"p {program}:*_[ot]?", "-e", f"p:all {program}:*_of s->at.x", "-e", f"r:v_* {program}:sum*")
            self.assertIn(f"`p {program}:*_[ot]?`: 2 functions", done.stderr)
            for event in ("area_of", "sum_to", "all", "v_sum_to"):
                self.assertIn(f"{event}: hits {ROUNDS} = recorded {ROUNDS} ", done.stderr)
            self.assertEqual([one["x"] for one in records(done.stdout, "all")], [one["x"] for one in records(self.traced(program, "-e", f"p:all {program}:area_of s->at.x").stdout, "all")])
        texts = os.path.join(PROGRAMS, "texts")
        done = self.traced(texts, "-e", f"p:by_* {texts}:shop::by*")
        self.assertRegex(done.stderr, r"(?m)^by_shop__by_view: hits [1-9]")
        check = subprocess.run([KEVTRACE, "check", "--kernel", "6.1", "-e", f"p {texts}:by*"], capture_output=True, text=True, timeout=60)
        self.assertIn("kernels know no globs", check.stdout + check.stderr)

    def test_mistakes(self):
        program = os.path.join(PROGRAMS, "lines2")
        for place, word in (("area_fo", "near it: `area_of`"), ("area_of+4 s", "at the entry"), ("area_of nobody", "there is no variable `nobody`; there are `s`, `scale`"),
                            ("*_fo", "no function that can be probed matches"), ("a*_of s nobody", "there is no variable `nobody`")):
            self.assertIn(word, self.refused(program, f"p:e {program}:{place}"))
        self.assertIn("stand for what was passed, at the entry", self.refused(program, f"r:e {program}:area_of s"))
        self.assertIn("Failed to find the given file", self.refused(program, "p:e /no/such/file:main"))
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

    @unittest.skipIf(goprograms.GO is None, "there is no Go")
    def test_go_passes_arguments_elsewhere(self):
        program = goprograms.built("static")
        for argument in ("n", "a=$arg1", "$arg*"):
            self.assertIn("Go's are in %ax %bx", self.refused(program, f"p:work {program}:main.work {argument}"))


class Refusals(Traced):
    def test_an_array_in_registers(self):
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "arrays.c"), os.path.join(folder, "arrays")
            with open(source, "w") as file:
                file.write('struct s { char text[16]; };\n__attribute__((noinline)) int by(struct s s, int n) { __asm__ volatile("" ::: "memory"); return s.text[n]; }\n'
                           'int main(int argc, char** argv) { (void)argv; struct s s = {"hello"}; return by(s, argc) == 0; }\n')
            subprocess.run(["gcc", "-O1", "-g", "-o", program, source], check=True)
            self.assertIn("it is an array in a register", self.refused(program, "p:b arrays:by s->text"))
            self.assertIn("it is kept in several pieces", self.refused(program, f"p:b {program}:by s.text"))


class InAMount(MountTest):
    COMMAND = (os.path.join(PROGRAMS, "lines2"), "3", "by hand")

    def test_a_mount_lists_the_uprobe(self):
        program = self.COMMAND[0]
        self.echo(f"p {program}:area_of scale x=s->at.x\n", "uprobe_events")
        with self.assertRaises(OSError):  # as a kernel: a place with a path is a uprobe's
            self.echo(f"p:other {program}:area_of\n", "kprobe_events")
        with self.assertRaises(OSError):
            self.echo(f"p:other {program}:aer*\n", "uprobe_events")
        self.assertIn("trace_uprobe: error: Invalid uprobe offset", self.cat("error_log"))
        self.assertRegex(self.cat("uprobe_events"), rf"^p:uprobes/area_of {re.escape(program)}:0x[0-9a-f]+ scale=%si:s32 x=\+\d+\(%di\):s32\n$")
        self.echo(f"p:g_* {program}:*_[ot]?\n", "uprobe_events")
        self.assertEqual(re.findall(r"^p:uprobes/g_(\S+)", self.cat("uprobe_events"), re.M), ["area_of", "sum_to"])


if __name__ == "__main__":
    main()
