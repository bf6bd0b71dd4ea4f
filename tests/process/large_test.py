"""A program whose debug information is too large to be read whole: names, members and lines are found in the unit that has
them, with an empty cache and with a filled one."""
import os
import re
import subprocess
import tempfile
import unittest

import largeprogram
from kevtest import KEVTRACE, main

UNITS, FUNCTIONS, MEMBERS = 12, 600, 40  # 5 MB of .debug_info, 6 MB of .debug_str
FUNCTION = f"unit002_work_{largeprogram.CALLED}"


class LargeProgram(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.program = largeprogram.make(cls.folder.name, UNITS, FUNCTIONS, MEMBERS)
        cls.line = largeprogram.line_of_sum()

    def setUp(self):
        self.cache = os.path.join(self.folder.name, self.id())

    def kevtrace(self, *words):
        return subprocess.run([KEVTRACE, *words], capture_output=True, text=True, timeout=120, env={**os.environ, "XDG_CACHE_HOME": self.cache})

    def traced(self, definition):
        """The arguments of the event `ev`, hit by hit."""
        done = self.kevtrace("run", "-e", definition, "--", self.program)
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.findall(r" ev: \([^)]*\) (.*)", done.stdout)

    def test_it_is_large_enough_to_be_read_in_parts(self):
        sizes = dict(line.split()[:2] for line in subprocess.run(["size", "-A", self.program], capture_output=True, text=True, check=True).stdout.splitlines() if line.startswith(".debug"))
        for section, least in ((".debug_info", 4 << 20), (".debug_str", 4 << 20), (".debug_line", 1 << 18), (".debug_loclists", 1 << 18)):
            self.assertGreater(int(sizes[section]), least, section)

    def test_arguments_and_members_by_name(self):
        for _ in ("cold", "warm"):
            self.assertEqual(self.traced(f"p:ev {FUNCTION} count value=thing->unit002_field_500_7"), ["count=3 value=0"])

    def test_variables_at_a_line(self):
        for _ in ("cold", "warm"):
            self.assertEqual(self.traced(f"p:ev {self.program}:unit002.c:{self.line} sum value"), ["sum=0 value=0", "sum=0 value=1", "sum=1 value=2"])

    def test_a_line_of_a_function(self):
        for _ in ("cold", "warm"):
            self.assertEqual(self.traced(f"p:ev {self.program}:{FUNCTION}:4 sum"), ["sum=0", "sum=0", "sum=1"])

    def test_lines_of_every_unit_are_listed(self):
        for unit in (0, 5, UNITS - 1):
            done = self.kevtrace("list", "-L", f"unit{unit:03}_work_7", self.program)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"unit{unit:03}.c", done.stdout)
            self.assertIn("count", done.stdout)

    def test_what_is_not_there_is_said_with_what_is(self):
        done = self.kevtrace("run", "-e", f"p:ev {FUNCTION} coun", "--", self.program)
        self.assertEqual(done.returncode, 3)
        self.assertIn("count", done.stderr)
        done = self.kevtrace("run", "-e", f"p:ev {FUNCTION} thing->unit003_field_500_7", "--", self.program)
        self.assertEqual(done.returncode, 3)
        self.assertIn("`struct unit002_thing_500` has `unit002_field_500_0`", done.stderr)


if __name__ == "__main__":
    main()
