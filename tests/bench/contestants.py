"""The two contestants that need something outside of the program: LTTng-UST and kernel uprobe events.

Each is a context manager: `is_on` says whether it could be set up, `reason` why not; leaving it undoes everything.
"""

import os
import subprocess
import time

IN_NAMESPACE = bool(os.environ.get("KEVT_BENCH_NAMESPACE"))


def call(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


class Lttng:
    """A session in flight-recorder mode, from a session daemon of our own."""

    name = "lttng"
    session = "kevt-bench"

    def __init__(self, scratch, is_unwanted):
        self.scratch = scratch
        self.is_on = False
        self.reason = "not wanted" if is_unwanted else ""
        self.daemon = None

    def __enter__(self):
        if not self.reason:
            self.reason = self.start()
        self.is_on = not self.reason
        return self

    def lttng(self, *words):
        return call("lttng", "--no-sessiond", *words)

    def start(self):
        if os.geteuid() == 0:
            if not IN_NAMESPACE:
                return "as root it needs a private mount namespace (unshare -m), which is not allowed here"
            for folder in ("/run", "/dev/shm"):  # where root's daemon and its programs meet
                if call("mount", "-t", "tmpfs", "none", folder).returncode != 0:
                    return f"cannot mount a private {folder}"
        os.environ["LTTNG_HOME"] = self.scratch
        os.environ["LTTNG_UST_REGISTER_TIMEOUT"] = "3000"
        try:
            self.daemon = subprocess.Popen(
                ["lttng-sessiond", "--no-kernel"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        except FileNotFoundError:
            return "lttng-sessiond is not installed (package lttng-tools)"
        deadline = time.monotonic() + 15
        while self.lttng("list").returncode != 0:
            if time.monotonic() > deadline or self.daemon.poll() is not None:
                return "lttng-sessiond does not start"
            time.sleep(0.1)
        for words in (
            ("create", self.session, "--snapshot", f"--output={self.scratch}/lttng"),
            ("enable-channel", "-u", "--subbuf-size=1M", "--num-subbuf=4", "bench"),
            ("enable-event", "-u", "-c", "bench", "kevt_bench:accepted"),
            ("enable-event", "-u", "-c", "bench", "kevt_bench:rejected", "--filter", "a < 0 && b != -5"),
            ("start",),
        ):
            done = self.lttng(*words)
            if done.returncode != 0:
                return f"`lttng {' '.join(words)}` failed: {done.stderr.strip() or done.stdout.strip()}"
        return ""

    def sample(self):
        """The last records, as text: shows that it really recorded, and what."""
        if not self.is_on or self.lttng("snapshot", "record").returncode != 0:
            return ""
        text = call("babeltrace2", f"{self.scratch}/lttng").stdout
        return text[text.rfind("\n", 0, -1) + 1 :].strip()

    def __exit__(self, *_):
        if not self.daemon:
            return
        self.lttng("destroy", self.session)
        self.daemon.terminate()
        try:
            self.daemon.wait(10)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()


class KernelUprobes:
    """uprobe_events on our own program, in an instance of our own, through a tracefs mount of our own."""

    name = "kernel"

    def __init__(self, scratch, program, is_unwanted):
        self.program = os.path.realpath(program)
        self.root = os.path.join(scratch, "tracing")
        self.group = f"kevt_bench_{os.getpid()}"
        self.instance = os.path.join(self.root, "instances", self.group)
        self.reason = "not wanted" if is_unwanted else ""
        self.is_on = False
        self.is_mounted = False

    def __enter__(self):
        if not self.reason:
            try:
                self.reason = self.start()
            except OSError as error:
                self.reason = str(error)
        self.is_on = not self.reason
        if self.reason and self.is_mounted:
            self.stop()
        return self

    def start(self):
        if not IN_NAMESPACE:
            return "needs root and a private mount namespace (unshare -m)"
        os.mkdir(self.root)
        mounted = call("mount", "-t", "tracefs", "none", self.root)
        if mounted.returncode != 0:
            return f"tracefs cannot be mounted: {mounted.stderr.strip()}"
        self.is_mounted = True
        if not os.path.exists(f"{self.root}/uprobe_events"):
            return "the kernel has no uprobe_events (CONFIG_UPROBE_EVENTS)"
        fields = "a=%di:s32 b=%si:s64 s=+0(%dx):string d=%cx:s64"
        for kind, event, arguments, condition in (
            ("p", "accepted", fields, "a >= 0 && b != -5"),
            ("p", "rejected", fields, "a < 0 && b != -5"),
            ("r", "return", "ret=$retval:s64", ""),
        ):
            offset = call(self.program, "--file-offset", f"kernel_{event}").stdout.strip()
            self.append("uprobe_events", f"{kind}:{self.group}/{event} {self.program}:{offset} {arguments}")
            if not os.path.isdir(self.instance):
                os.mkdir(self.instance)
            folder = f"instances/{self.group}/events/{self.group}/{event}"
            if condition:
                self.append(f"{folder}/filter", condition)
            self.append(f"{folder}/enable", "1")
        return ""

    def append(self, path, text):
        file = os.open(os.path.join(self.root, path), os.O_WRONLY | os.O_APPEND)  # open() would seek, which is refused
        try:
            os.write(file, f"{text}\n".encode())
        except OSError as error:
            raise OSError(error.errno, f"writing `{text}` to {path}: {error.strerror}") from None
        finally:
            os.close(file)

    def hits(self):
        """{event: hits} of uprobe_profile."""
        if not self.is_on:
            return {}
        with open(f"{self.root}/uprobe_profile", encoding="utf-8") as file:
            rows = [line.split() for line in file]
        names = ("accepted", "rejected", "return")
        return {row[1]: int(row[2]) for row in rows if row[0] == self.program and row[1] in names}

    def stop(self):
        for event in ("accepted", "rejected", "return"):
            try:
                self.append(f"instances/{self.group}/events/{self.group}/{event}/enable", "0")
                self.append("uprobe_events", f"-:{self.group}/{event}")
            except OSError:
                pass  # it was never made
        if os.path.isdir(self.instance):
            os.rmdir(self.instance)
        call("umount", self.root)
        self.is_mounted = False

    def __exit__(self, *_):
        if self.is_mounted:
            self.stop()
