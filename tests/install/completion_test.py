"""Completion in the shells themselves, at a terminal: what somebody types, and the line after the Tab key."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

KEVTRACE = os.environ["KEVTRACE"]
ESCAPES = re.compile(r"\x1b(?:\[[0-9;?>=]*[A-Za-z]|[=>]|\][^\x07\x1b]*(?:\x07|\x1b\\)|\([AB0])")


def script(shell):
    return subprocess.run([KEVTRACE, "completion", shell], capture_output=True, text=True, check=True).stdout


class Terminal:
    """A shell that reads what is typed; `screen` is all it has written, without escapes."""

    def __init__(self, words, folder, **environment):
        self.screen = ""
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            path = os.path.dirname(KEVTRACE) + ":" + os.environ["PATH"]
            keep = {**os.environ, "PATH": path, "HOME": folder, "TERM": "xterm", "LC_ALL": "C.UTF-8", "COLUMNS": "200", **environment}
            os.chdir(folder)
            os.execvpe(words[0], words, keep)
        subprocess.run(["stty", "cols", "200", "rows", "50"], stdin=self.file, check=True)

    def type(self, text):
        self.screen = ""
        os.write(self.file, text.encode())

    def shows(self, text, seconds=30):
        end = time.monotonic() + seconds
        while text not in self.screen.replace("\r", "").replace("\n", "") and time.monotonic() < end:
            if select.select([self.file], [], [], 0.2)[0]:
                try:
                    read = os.read(self.file, 65536)
                except OSError:
                    return False
                if b"\x1b[6n" in read:
                    os.write(self.file, b"\x1b[1;1R")  # where the cursor is
                if b"\x1b[0c" in read or b"\x1b[c" in read:
                    os.write(self.file, b"\x1b[?1;2c")  # which terminal this is
                self.screen += ESCAPES.sub("", read.decode(errors="replace")).replace("\x07", "")  # the bell
        return text in self.screen.replace("\r", "").replace("\n", "")

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.file)


class InAShell(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        open(os.path.join(self.folder, "some-recording.dat"), "w").close()

    def shell(self, name):
        """A shell that reads the script, and is ready."""
        if not shutil.which(name):
            self.skipTest(f"{name} is not here")
        path = os.path.join(self.folder, "_kevtrace")
        with open(path, "w") as file:
            file.write(script(name))
        if name == "bash":
            terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], self.folder, PS1="ready> ")
            begin = f"source {path}\n"
        elif name == "zsh":
            terminal = Terminal(["zsh", "-f", "-i"], self.folder, PS1="ready> ")
            begin = f"fpath=({self.folder} $fpath); autoload -Uz compinit; compinit -u -d {self.folder}/dump; unsetopt beep\n"
        else:
            terminal = Terminal(["fish", "-N", "-i"], self.folder)
            begin = f"source {path}\n"
        self.addCleanup(terminal.close)
        terminal.type(begin + "echo al''l-set\n")
        self.assertTrue(terminal.shows("all-set"), terminal.screen)
        return terminal

    def check(self, terminal, typed, expected):
        terminal.type("\x15")  # an empty line
        terminal.type(typed + "\t")
        self.assertTrue(terminal.shows(expected), f"{typed!r}: {terminal.screen!r}")

    def check_all(self, name):
        terminal = self.shell(name)
        self.check(terminal, "kevtrace expl", "kevtrace explain ")
        self.check(terminal, "kevtrace run --follow", "kevtrace run --follow-forks ")
        self.check(terminal, "kevtrace run --runtime b", "kevtrace run --runtime bpf ")
        self.check(terminal, "kevtrace run --runtime=b", "kevtrace run --runtime=bpf ")
        self.check(terminal, "kevtrace report some-r", "kevtrace report some-recording.dat ")
        self.check(terminal, f"kevtrace run --pid {os.getpid()} -e 'p:x libc:open_wm", "-e 'p:x libc:open_wmemstream")
        self.check(terminal, "kevtrace run -e 'p:x libc:open path=+0(%di):string' --filter 'x: fd > 2 && pa", "fd > 2 && path")
        self.check(terminal, "kevtrace run -e 'p:opened libc:open path=+0(%di):string' --enable ope", "--enable opened ")
        self.check(terminal, "kevtrace run -- kevtr", "kevtrace run -- kevtrace")

    def test_bash(self):
        self.check_all("bash")

    def test_bash_quotes_what_others_name(self):
        """A name of a process is anybody's; what it would do as a command is not done."""
        name = "zzodd $(id)"
        process = subprocess.Popen(["/usr/bin/python3", "-S", "-c", "import ctypes, sys\n"
                                    f"ctypes.CDLL(None).prctl(15, {name.encode()!r})\nprint(flush=True)\nsys.stdin.read()"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        process.stdout.readline()
        terminal = self.shell("bash")
        self.check(terminal, "kevtrace run --comm zzo", r"--comm zzodd\ \$\(id\)")
        terminal.type('\x15kevtrace run --comm "zzo\tX')  # X comes behind what Tab has done
        self.assertTrue(terminal.shows('--comm "zzoX'), terminal.screen)

    def test_zsh(self):
        self.check_all("zsh")

    def test_fish(self):
        self.check_all("fish")


if __name__ == "__main__":
    unittest.main(verbosity=2)
