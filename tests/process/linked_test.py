"""One program, linked in every way that a C library offers: the trace is the same."""
import os
import shutil
import subprocess
import unittest

from kevtest import FAULT, KEVTRACE, ProcessTest, main, plain

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "linked.c")
WORK = "p:w work n=%di:s32 s=+0(%si):string"
BACK = "r:back work ret=$retval:s64"
DUP = "p:dup strdup s=+0(%di):string"


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


class Linked(ProcessTest):
    def link(self, compiler, *options):
        program = self.path("linked")
        subprocess.run([compiler, "-O1", "-pthread", *options, "-o", program, SOURCE], check=True)
        return program

    def check(self, program):
        traced = self.run_both([program], WORK, BACK, DUP)
        self.assert_none_lost(traced)
        calls = [(r["n"], r["s"]) for r in traced.records("w")]
        expected = [(i, b"from a thread") for i in range(1000)] * 3
        expected += [(10, b"in a handler"), (-1, FAULT), (2, b"child"), (1, b"main")]
        self.assertEqual(sorted(calls, key=str), sorted(expected, key=str))
        self.assertEqual(sum(r["ret"] for r in traced.records("back")), sum(
            n + (0 if s == FAULT else len(s)) for n, s in calls))
        self.assertEqual(traced.one("dup")["s"], b"main")
        self.assertEqual(len({r.tid for r in traced.records("w")}), 5)

    def test_glibc_dynamic(self):
        self.check(self.link("cc"))

    def test_glibc_dynamic_without_pie(self):
        self.check(self.link("cc", "-no-pie"))

    def test_glibc_static(self):
        self.check(self.link("cc", "-static", "-no-pie"))

    def test_glibc_static_pie(self):
        self.check(self.link("cc", "-static-pie", "-fPIE"))

    @needs("musl-gcc")
    def test_musl_dynamic(self):
        self.check(self.link("musl-gcc"))

    @needs("musl-gcc")
    def test_musl_static(self):
        self.check(self.link("musl-gcc", "-static", "-no-pie"))

    def test_stripped_and_static(self):
        program = self.link("cc", "-static", "-no-pie")
        offset = self.offset_of("work", program)
        subprocess.run(["strip", program], check=True)
        traced = self.run_both([program], f"p:w {program}:{offset:#x} n=%di:s32")
        self.assertEqual(len(traced.records("w")), 3004)

    def offset_of(self, function, program):
        listed = subprocess.run(["nm", program], capture_output=True, check=True, text=True).stdout
        address = next(int(line.split()[0], 16) for line in listed.splitlines() if line.split()[-1] == function)
        headers = subprocess.run(["readelf", "-lW", program], capture_output=True, check=True, text=True).stdout
        for line in headers.splitlines():
            words = line.split()
            if words[:1] == ["LOAD"] and int(words[2], 16) <= address < int(words[2], 16) + int(words[4], 16):
                return address - int(words[2], 16) + int(words[1], 16)
        self.fail("not in the file")

    def test_without_a_c_library(self):
        source = self.path("bare.c", b"""
void _start(void) {
  __asm__ volatile("syscall" : : "a"(1), "D"(1), "S"("bare\\n"), "d"(5) : "rcx", "r11", "memory");
  __asm__ volatile("syscall" : : "a"(231), "D"(3));
}
""")
        program = self.path("bare")
        subprocess.run(["cc", "-O1", "-static", "-nostdlib", "-o", program, source], check=True)
        self.assertEqual(plain([program]), (3, b"bare\n", b""))
        status, out, err = plain([KEVTRACE, "run", "-e", "p _start", "--", program])
        self.assertEqual((status, out), (125, b""))
        self.assertIn(b"such programs cannot be traced", err)


if __name__ == "__main__":
    main()
