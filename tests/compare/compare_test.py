"""The comparison itself: two that are the same, one that answers otherwise, what is listed and what is listed in vain."""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
KEVTRACE = os.environ["KEVTRACE"]


class Compare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def compare(self, old, *words):
        done = subprocess.run([sys.executable, "-B", os.path.join(HERE, "compare.py"), old, KEVTRACE, *words], capture_output=True, text=True, timeout=240, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_the_same(self):
        for only in ("recording: ", "run, two events: -", *(["mount: an event"] if os.access("/dev/fuse", os.W_OK) else [])):
            status, said = self.compare(KEVTRACE, "--only", only)
            self.assertEqual(status, 0, said)
            self.assertRegex(said, r"(\d+) cases: \1 the same, 0 differ as listed, 0 differ")

    def test_no_mount(self):
        other = self.write("other", "#!/bin/sh\necho 'kevtrace: error: not here' >&2; exit 4\n")
        status, said = self.compare(other, "--only", "mount: an event")
        self.assertNotEqual(status, 0)
        self.assertIn("not here", said)

    def test_another(self):
        other = self.write("other", f'#!/bin/sh\necho another; exec {KEVTRACE} "$@"\n')
        status, said = self.compare(other, "--only", "recording: stat")
        self.assertEqual(status, 1)
        self.assertIn("-another", said)
        listed = self.write("listed", "recording: stat*\tit says another\n")
        status, said = self.compare(other, "--only", "recording: stat", "--accepted", listed)
        self.assertEqual(status, 0, said)

    def test_listed_in_vain(self):
        listed = self.write("listed", "no such case\tnothing\n")
        status, said = self.compare(KEVTRACE, "--only", "", "--accepted", listed, "--most", "3")
        self.assertEqual(status, 1)
        self.assertIn("no such case: is listed, and nothing differs", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
