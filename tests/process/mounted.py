"""A tracing directory of a live program, for tests that use it as people do."""
import os
import shutil
import signal
import subprocess
import tempfile
import time

from kevtest import KEVTRACE, ProcessTest


def wait_until(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited for " + what)
        time.sleep(0.01)


def is_mounted(path):
    with open("/proc/self/mountinfo") as table:
        return any(line.split()[4] == path for line in table)


class PlaceTest(ProcessTest):
    """`self.dir` is where a test may mount, in a folder of its own, `self.folder`."""

    def setUp(self):
        super().setUp()
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            self.skipTest("/dev/fuse cannot be opened")
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.dir = os.path.join(self.folder, "t")

    def path(self, name):
        return os.path.join(self.dir, name)

    def cat(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def echo(self, text, name, mode="a"):
        with open(self.path(name), mode) as file:
            file.write(text)


class MountTest(PlaceTest):
    """`self.target` runs COMMAND; `self.dir` is its mount, whose messages are in `self.log`."""

    COMMAND = ()

    def setUp(self):
        super().setUp()
        self.log = open(os.path.join(self.folder, "log"), "w+")
        self.target = subprocess.Popen(self.COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.mount = None
        self.addCleanup(self.clean_up)
        self.start()

    def start(self):
        self.mount = subprocess.Popen([KEVTRACE, "mount", self.dir, "--pid", str(self.target.pid)], stderr=self.log)
        wait_until(lambda: is_mounted(self.dir) or self.mount.poll() is not None, "the mount")
        if self.mount.poll() is not None:
            self.log.seek(0)
            self.skipTest("cannot mount here: " + self.log.read())

    def ask(self, line):
        """Tells the target, which answers with a line: its last word."""
        self.target.stdin.write(line + "\n")
        self.target.stdin.flush()
        return self.target.stdout.readline().split()[-1]

    def clean_up(self):
        if self.mount and self.mount.poll() is None:
            self.mount.send_signal(signal.SIGINT)
            self.mount.wait(timeout=30)
        self.target.kill()
        self.target.wait()
        self.target.stdin.close()
        self.target.stdout.close()
        subprocess.run(["umount", "-l", self.dir], stderr=subprocess.DEVNULL)
        self.log.close()

    def signal_mount(self, number):
        """To it and the process that watches over it."""
        with open(f"/proc/{self.mount.pid}/task/{self.mount.pid}/children") as children:
            for pid in [self.mount.pid, *map(int, children.read().split())]:
                os.kill(pid, number)

    def end_mount(self):
        """Ends it and gives what it said of each event: [hits, recorded, filtered, lost, missed]."""
        self.mount.send_signal(signal.SIGINT)
        self.mount.wait(timeout=60)
        self.log.seek(0)
        accounts = {line.split(":")[0]: [int(word) for word in line.split() if word.isdigit()]
                    for line in self.log if ": hits " in line}
        for name, numbers in accounts.items():
            self.assertEqual(numbers[0], sum(numbers[1:]), name)
        return accounts
