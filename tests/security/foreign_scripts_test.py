"""A script may be another's: it names no file outside of the folder it is run in, and code of nobody knows whom is said to be.
"""
import os
import subprocess

from kevtest import KEVTRACE, ProcessTest, TIMEOUT_S, _prepared, main

EVENT = "p:opens libc:open64 path=+0(%di):string\n"
COMMAND = ["--", "/usr/bin/python3", "-S", "-c", "open('/etc/passwd').close()"]
SAID = b"holds machine code that nobody has checked; it runs in the traced program, with its rights\n"


class ForeignScripts(ProcessTest):
    def setUp(self):
        super().setUp()
        self.victim = self.path("victim", b"what was there")
        self.here = self.path("here")
        os.makedirs(os.path.join(self.here, "below"))

    def kevtrace(self, *words):
        done = subprocess.run([KEVTRACE, *words], capture_output=True, timeout=TIMEOUT_S,
                              **_prepared({"cwd": self.here}))
        return done.returncode, done.stderr

    def run_with_output(self, output, *words):
        script = self.path("s.kev", f"option output {output}\n{EVENT}".encode())
        return self.kevtrace("-q", "run", "-p", script, *words, *COMMAND)

    def test_output_elsewhere_must_be_said(self):
        os.symlink(self.victim, os.path.join(self.here, "link"))
        os.symlink(self.path("made"), os.path.join(self.here, "dangling"))
        os.symlink(self.folder, os.path.join(self.here, "folder"))
        for output in (self.victim, "../victim", "below/../../victim", "link", "dangling", "folder/victim"):
            with self.subTest(output=output):
                status, err = self.run_with_output(output)
                self.assertEqual(status, 2, err)
                self.assertEqual(err, f"kevtrace: error: {self.path('s.kev')}:1: `{output}` is not in this folder; "
                                      f"say -o {output}, if it shall be written\n".encode())
        with open(self.victim, "rb") as file:
            self.assertEqual(file.read(), b"what was there")
        self.assertFalse(os.path.exists(self.path("made")))

    def test_output_here_and_what_is_said_is_written(self):
        for output in ("out.txt", "./out2.txt", "below/out.txt", "/dev/null"):
            with self.subTest(output=output):
                self.assertEqual(self.run_with_output(output), (0, b""))
                path = os.path.join(self.here, output)
                self.assertTrue(path == "/dev/null" or os.path.getsize(path) > 0)
        self.assertEqual(self.run_with_output("../victim", "-o", "../victim"), (0, b""))
        with open(self.victim, "rb") as file:
            self.assertIn(b"/etc/passwd", file.read())

    def test_output_is_no_matter_where_nothing_is_written(self):
        script = self.path("s.kev", f"option output {self.victim}\n{EVENT}".encode())
        self.assertEqual(self.kevtrace("-q", "check", script), (0, b""))
        self.assertEqual(self.kevtrace("-q", "compile", script, "-o", self.path("s.kevo")), (0, b""))
        self.assertEqual(self.kevtrace("run", "-q", self.path("s.kevo"), *COMMAND)[0], 2)

    def test_machine_code_is_named_once(self):
        script, compiled = self.path("s.kev", EVENT.encode()), self.path("s.kevo")
        self.assertEqual(self.kevtrace("-q", "compile", script, "-o", compiled), (0, b""))
        for words in (["run", compiled], ["run", "-p", compiled], ["count", "-p", compiled]):
            with self.subTest(words=words):
                status, err = self.kevtrace(words[0], "-o", "/dev/null", *words[1:], *COMMAND)
                self.assertEqual(status, 0, err)
                self.assertEqual(err.count(compiled.encode() + b" " + SAID), 1, err)
        self.assertEqual(self.kevtrace("run", "-q", "-o", "/dev/null", compiled, *COMMAND), (0, b""))
        self.assertNotIn(SAID, self.kevtrace("run", "-p", script, "-o", "/dev/null", *COMMAND)[1])


if __name__ == "__main__":
    main()
