"""What a traced program names things must not reach a terminal as commands: escape sequences, line ends, 8-bit controls.

Each command runs on a pseudo terminal and what it shows is read from the other side. In files all is as it was.
"""
import json
import os
import pty
import re
import select
import subprocess
import termios

from kevtest import KEVTRACE, ProcessTest, TIMEOUT_S, _prepared, main

DEFINITION = "p:opens libc:open64 path=+0(%di):string"
# Sets the clipboard, the title, clears the screen; rings; ends the line and forges one; DEL, a C1 CSI, and UTF-8's.
EVIL = (b"/evil-\x1b]52;c;ZXZpbA==\x07-\x1b]0;owned\x1b\\-\x1b[2J-\r-\x7f-\x9b31m-\xc2\x9b32m-\n"
        b"            forged-1       [000] .....     1.000000: opens: (open+0x0/0x1 [libc.so.6])\t-n\xc3\xa4iv")
SHOWN = (rb"/evil-\033]52;c;ZXZpbA==\007-\033]0;owned\033\-\033[2J-\015-\177-\23331m-\302\23332m-\012"
         rb"            forged-1       [000] .....     1.000000: opens: (open+0x0/0x1 [libc.so.6])\011-n" + b"\xc3\xa4iv")
NAME = b"e\x1b]0;a\x07\nb\x9bc"
PROGRAM = f"""
import ctypes
libc = ctypes.CDLL("libc.so.6")
for i in range(3):
    libc.open64({EVIL!r}, 0)
"""
COLOURS = re.compile(rb"\x1b\[[0-9;]*m|\x1b\[K")


def controls_of(text):
    """What a terminal would obey, besides line ends, tabs, and our own colours."""
    text = COLOURS.sub(b"", text.replace(b"\r\n", b"\n"))
    found = re.findall(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]", text)
    try:
        text.decode()
    except UnicodeDecodeError as error:
        found.append(text[error.start:error.end])
    return found


class ControlCharacters(ProcessTest):
    def setUp(self):
        super().setUp()
        self.program = self.path(os.fsdecode(NAME.replace(b"/", b"_")))  # a program's name is its thread's
        os.symlink("/usr/bin/python3", self.program)
        self.command = [self.program, "-S", "-c", PROGRAM]

    def on_terminal(self, words, streams=("stdout", "stderr")):
        """Runs a command whose `streams` are a terminal; its status and what the terminal gets."""
        master, slave = pty.openpty()
        attributes = termios.tcgetattr(slave)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        places = {name: slave if name in streams else subprocess.DEVNULL for name in ("stdout", "stderr")}
        process = subprocess.Popen(words, **places, **_prepared({"env": {"TERM": "xterm"}}))
        os.close(slave)
        shown = b""
        while select.select([master], [], [], TIMEOUT_S)[0]:
            try:
                piece = os.read(master, 65536)
            except OSError:  # nobody has the other side any more
                break
            if not piece:
                break
            shown += piece
        os.close(master)
        return process.wait(TIMEOUT_S), shown

    def recording(self, *definitions):
        path = self.path("evil.dat")
        words = [word for one in definitions or (DEFINITION,) for word in ("-e", one)]
        done = subprocess.run([KEVTRACE, "-q", "run", *words, "-o", path, "--"] + self.command, capture_output=True,
                              timeout=TIMEOUT_S, **_prepared({}))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return path

    def in_file(self, words):
        done = subprocess.run(words, capture_output=True, timeout=TIMEOUT_S, **_prepared({}))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def assert_clean(self, words, status=0, streams=("stdout", "stderr")):
        got, shown = self.on_terminal([KEVTRACE] + words, streams)
        self.assertEqual(got, status, shown)
        self.assertEqual(controls_of(shown), [], shown)
        return shown

    def test_trace_lines(self):
        shown = self.assert_clean(["run", "-e", DEFINITION, "--"] + self.command)
        self.assertEqual(shown.count(b'path="' + SHOWN + b'"\n'), 3, shown)
        self.assertIn(rb"e\033]0;a\007\012b\233c-", shown)
        plain = self.in_file([KEVTRACE, "-q", "run", "-e", DEFINITION, "--"] + self.command)
        self.assertEqual(plain.count(b'path="' + EVIL + b'"\n'), 3)
        self.assertIn(NAME + b"-", plain)

    def test_lines_of_several_processes(self):
        shown = self.assert_clean(["run", "--follow-forks", "-e", DEFINITION, "--", "/bin/sh", "-c",
                                   "/usr/bin/python3 -S -c \"$1\"; true", "-", PROGRAM])
        self.assertEqual(shown.count(b'path="' + SHOWN + b'"\n'), 3, shown)

    def test_reports_and_questions(self):
        file = self.recording()
        shown = self.assert_clean(["report", file])
        self.assertEqual(shown.count(b'path="' + SHOWN + b'"\n'), 3, shown)
        for words in (["report", file, "-f", "ftrace"], ["report", file, "--columns", "comm,path,text"],
                      ["report", file, "-f", "csv"], ["report", file, "-f", "folded"], ["stat", file],
                      ["hist", "opens.path", "-i", file], ["hist", "opens.path", "by", "comm", "-i", file],
                      ["lat", "opens", "opens", "by", "path", "-i", file], ["count", "-i", file],
                      ["diff", file, file], ["top", "-i", file]):
            with self.subTest(words=words[:4]):
                self.assert_clean(words)
        shown = self.assert_clean(["hist", "opens.path", "-i", file])
        self.assertIn(SHOWN[:80], shown)
        self.assertNotIn(b"\n            forged", shown)

    def test_columns_and_csv_stay_lines(self):
        file = self.recording()
        records = self.in_file([KEVTRACE, "report", file, "-f", "json"]).count(b'"type":"event"')
        self.assertGreater(records, 3)
        for words, heads in ((["report", file, "--columns", "comm,path"], 0), (["report", file, "-f", "csv"], 1)):
            with self.subTest(words=words):
                lines = self.assert_clean(words).splitlines()
                self.assertEqual(len(lines), records + heads)
                self.assertEqual(len([line for line in lines if SHOWN in line]), 3)

    def test_json_is_clean_everywhere(self):
        file = self.recording()
        for form in ("json", "chrome"):
            with self.subTest(form=form):
                shown = self.assert_clean(["report", file, "-f", form])
                plain = self.in_file([KEVTRACE, "report", file, "-f", form])
                self.assertEqual(controls_of(plain), [])
                self.assertEqual(shown.replace(b"\r\n", b"\n"), plain)
        records = [json.loads(line) for line in self.in_file([KEVTRACE, "report", file, "-f", "json"]).splitlines()]
        paths = [one["fields"]["path"] for one in records if one["type"] == "event"]
        self.assertEqual(paths.count(EVIL.decode(errors="replace")), 3)

    def test_stacks(self):
        file = self.recording()
        shown = self.assert_clean(["run", "--stack", "-e", DEFINITION, "--"] + self.command)
        self.assertIn(b"<stack trace>\n => ", shown)
        shown = self.assert_clean(["run", "--stack", "-f", "folded", "-e", DEFINITION, "--"] + self.command)
        self.assertIn(rb"e\033]0_a\007_b\233c;", shown)

    def test_symbols(self):
        with open("/usr/lib/x86_64-linux-gnu/libz.so.1", "rb") as library:
            evil = library.read().replace(b"\0deflateParams\0", b"\0e\x1b]0;own\x07\n\x9bx\0\0")
        shown = self.assert_clean(["list", self.path("evil.so", evil)])
        self.assertRegex(shown, rb"\ne\\033\]0;own\\007\\012\\233x  0x[0-9a-f]+  [0-9]+\n")

    def test_binary_output_is_refused(self):
        file = self.recording()
        status, shown = self.on_terminal([KEVTRACE, "report", file, "-f", "perfetto"])
        self.assertEqual(status, 1, shown)
        self.assertIn(b"standard output is a terminal", shown)
        self.assertEqual(controls_of(shown), [])

    def test_messages(self):
        evil = os.fsdecode(EVIL.replace(b"/", b"_"))
        script = self.path("evil.kev", b"p:ok libc:open64\np:bad libc:open64 path=+0(%zz):string # " +
                           EVIL.replace(b"\n", b" ") + b"\n")
        for words, status in ((["report", evil], 1), (["list", "./" + evil], 1), (["run", "--", "./" + evil], 2),
                              (["run", "-e", DEFINITION, "--", "./" + evil], 127), (["stat", evil], 1),
                              (["run", "-e", DEFINITION, "-o", "/none/" + evil, "--", "/bin/true"], 1),
                              (["check", "-p", evil], 2), ([evil], 2), (["check", "-e", "p:a " + evil], 3),
                              (["check", "--diagnostics=kernel", "-e", "p:a " + evil], 3), (["check", script], 3),
                              (["--color=always", "check", script], 3),
                              (["check", "--diagnostics=json", "-e", "p:a " + evil], 3),
                              (["check", "--diagnostics=sarif", "-e", "p:a " + evil], 3)):
            with self.subTest(words=words[:3]):
                self.assert_clean(words, status)

    def test_scripts_keep_their_lines(self):
        script = self.path("evil.kev", b"# \x1b]0;a\x07\np:a   openat\n")
        with open(script, "rb") as text:
            self.assertEqual(self.in_file(["/bin/sh", "-c", '"$0" fmt - <"$1"', KEVTRACE, script]),
                             text.read().replace(b"   ", b" "))
        shown = self.on_terminal(["/bin/sh", "-c", '"$0" fmt - <"$1"', KEVTRACE, script])
        self.assertEqual(shown, (0, b"# \\033]0;a\\007\np:a openat\n"))

    def test_choice(self):
        file = self.recording()
        raw = self.in_file([KEVTRACE, "report", file])
        always = self.in_file([KEVTRACE, "--escape=always", "report", file])
        self.assertEqual(always.count(SHOWN), 3)
        self.assertEqual(controls_of(always), [])
        status, never = self.on_terminal([KEVTRACE, "report", "--escape", "never", file])
        self.assertEqual((status, never), (0, raw))
        self.assertEqual(self.on_terminal([KEVTRACE, "report", file])[1], always)


if __name__ == "__main__":
    main()
