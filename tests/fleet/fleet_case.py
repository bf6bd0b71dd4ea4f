"""What tests of a fleet begin with: a server, a recording, a database for each test."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from kevtest import KEVTRACE, plain

import clickhouse
from clickhouse import ClickHouse

OPENS = "p:opened libc:open64 path=+0(%di):string"
BACK = "r:got libc:open64 $retval:s32"
PROGRAM = """import os
for i in range({}): os.close(os.open("/etc/passwd", 0))
for name in (b"\\xc3\\xa9", b"\\xff\\xfe", b"50%_", b"it's"):
 try: os.open(b"/nowhere/" + name, 0)
 except OSError: pass
"""


def kevtrace(*words, status=0, **options):
    got, out, err = plain([KEVTRACE, *words], **options)
    if got != status:
        raise AssertionError(f"kevtrace {' '.join(words)}: status {got}, not {status}: {err.decode()}")
    return out.decode(errors="surrogateescape"), err.decode()


def record(path, times=50, *more):
    kevtrace("run", "-q", "-o", path, "-e", OPENS, "-e", BACK, *more, "--", "/usr/bin/python3", "-S", "-c", PROGRAM.format(times))
    return path


class FleetCase(unittest.TestCase):
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.program = clickhouse.server_program()
        if cls.program is None:
            print("there is no ClickHouse server")
            sys.exit(77)
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        clickhouse.make_keys(os.path.join(cls.folder, "keys"))
        cls.server = ClickHouse(cls.program, os.path.join(cls.folder, "one"), keys=os.path.join(cls.folder, "keys"))
        cls.addClassCleanup(cls.server.stop)
        cls.recording = record(os.path.join(cls.folder, "all.dat"))

    def setUp(self):
        """A database of its own."""
        self.database = re.sub(r"\W", "_", self.id().split(".")[-1])
        self.address = self.server.address(self.database)
        kevtrace("fleet", "init", self.address)

    def path(self, name):
        return os.path.join(self.folder, self.database + "_" + name)

    def rows(self, server=None):
        server = server or self.server
        tables = server.ask(f"SELECT name FROM system.tables WHERE database = '{self.database}' AND name LIKE 'event\\_%'").split()
        return sum(int(server.ask(f"SELECT count() FROM {self.database}.{table}")) for table in tables)

    def recorded(self, path=None):
        return len(kevtrace("report", path or self.recording)[0].splitlines())

    def balance(self, address=None, status=0):
        return json.loads(kevtrace("fleet", "check", address or self.address, "-f", "json", status=status)[0])

    def assert_same(self, *words, address=None, recording=None):
        """The same question, of the file and of the database."""
        asked = [kevtrace(*[one if word == "X" else word for word in words])[0] for one in (recording or self.recording, address or self.address)]
        self.assertTrue(asked[0])
        self.assertEqual(asked[1], asked[0], words)

    def growing(self, path):
        """A tracer; each line that its program gets is ten calls."""
        program = 'import os, sys\nfor line in sys.stdin:\n for i in range(10): os.close(os.open("/etc/passwd", 0))\n print("done", flush=True)'
        tracer = subprocess.Popen([KEVTRACE, "run", "-q", "-o", path, "-e", OPENS, "-e", BACK, "--", "/usr/bin/python3", "-S", "-c", program],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(tracer.stdout.close)
        return tracer

    def call_ten_times(self, tracer):
        tracer.stdin.write(b"go\n")
        tracer.stdin.flush()
        self.assertEqual(tracer.stdout.readline(), b"done\n")
