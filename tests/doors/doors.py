"""The doors, as a user has them: a run, a mount, the window; and the program whose hits are known."""
import os
import re
import subprocess
import tempfile
import time

KEVTRACE = os.environ["KEVTRACE"]
HANDS = os.environ.get("KEVT_GUI_HANDS", "")
STEPS = os.path.join(os.environ.get("KEVT_PROGRAMS", ""), "steps")
BASE = 4_000_000  # values of the workload, which nobody else has
SEEKS = """import os, sys
fd = os.open('/bin/true', os.O_RDONLY)
for line in sys.stdin:
    first, last = line.split()[:2]
    for i in range(int(first), int(last)): os.lseek(fd, i, os.SEEK_SET)
    print('done', flush=True)
"""


def libc():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next(line.split()[5] for line in maps if line.rstrip().endswith("/libc.so.6"))


class Wrong(Exception):
    pass


def expect(got, wanted):
    if got != wanted:
        raise Wrong(f"{got!r} instead of {wanted!r}"[:300])


class World:
    """One runtime: what is probed, the program that hits it, how kevtrace is told."""

    def __init__(self, runtime):
        self.is_kernel = runtime != "inproc"
        self.words = ["--runtime", runtime] if self.is_kernel else []
        self.step = "p:step ksys_lseek i=$arg2:u64" if self.is_kernel else "p:step steps:step i=%di:s64"
        self.other = "p:other vfs_llseek i=$arg2:u64" if self.is_kernel else "p:other steps:other i=%di:s64"
        self.back = "r:back ksys_lseek v=$retval:u64" if self.is_kernel else "r:back steps:step v=$retval:x64"
        self.typed = "p:step ksys_lseek i=offset:u64" if self.is_kernel else "p:step steps:step i"
        first, text = ("$arg2", "linux_banner") if self.is_kernel else ("%di", "_libc_intl_domainname")
        # The last one is what numbers() reads.
        self.own = f"p:step {'ksys_lseek' if self.is_kernel else 'steps:step'} net={first}:be32 oct={first}:o32 text=@{text}:string(\\3) list=@{text}:u8[\\3] i={first}:u64"
        self.real = "p:step steps:step x=%xmm0:f64 i=%di:s64"
        self.globbed = "p:step ksys_lsee? i=$arg2:u64" if self.is_kernel else "p:step steps:ste? i=%di:s64"
        self.line = "p:kprobes/step steps:step:0 i"  # the first line of a function
        # A function of a file by its path; beside the kernel, one that whole programs have mapped.
        self.in_file = f"p:kprobes/step {libc()}:lseek64 i=$arg2:u64" if self.is_kernel else f"p:kprobes/step {STEPS}:step i"
        self.caller = "do_syscall_64" if self.is_kernel else "run"
        self.stack_option = "options/stacktrace" if self.is_kernel else "options/userstacktrace"
        self.command = ["/usr/bin/python3", "-S", "-c", SEEKS] if self.is_kernel else [STEPS]
        self.folder = tempfile.mkdtemp()

    def path(self, name):
        return os.path.join(self.folder, name)


def numbers(text, event):
    """The workload's values that the event was recorded with, in their order."""
    found = (int(number) - BASE for number in re.findall(rf" {event}: \(.*?\) (?:\w+=\S+ )*?[iv]=(\d+)$", text, re.MULTILINE))
    return [number for number in found if 0 <= number < 1_000_000]


def accounts(said):
    for line in said.splitlines():
        found = re.match(r"[\w/]+: hits (\d+) = recorded (\d+) (?:\+ aggregated (\d+) )?\+ filtered (\d+) \+ lost (\d+)(?: \+ missed (\d+|\?))?$", line)
        if found:
            hits, *parts = (int(number) for number in found.groups() if number not in (None, "?"))
            expect(sum(parts), hits)


def steps(first=0, last=100):
    return f"{BASE + first} {BASE + last} 1\n"


def written(world, *lines):
    """A script of these lines; its path."""
    path = world.path("s.kev")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*(["target kernel"] if world.is_kernel else []), *lines]) + "\n")
    return path


def run(world, *words, verb="run", command=None, given=None, **instead):
    done = subprocess.run([KEVTRACE, verb, *instead.get("words", world.words), *words, "--", *(command or world.command)], input=given or steps(), text=True,
                          capture_output=True, timeout=120)
    if done.returncode:
        raise Wrong(f"status {done.returncode}: {done.stderr[-400:]}")
    accounts(done.stderr)
    return done.stdout


class Mount:
    """A mount whose program waits for its steps; CMD ends when `with` does."""

    def __init__(self, world, *words, command=None):
        self.dir = world.path("t")
        self.words = [KEVTRACE, "mount", self.dir, *world.words, *words, "--", *(command or world.command)]

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 60
        while not self.is_mounted():
            if self.process.poll() is not None or time.monotonic() > end:
                raise Wrong("no mount: " + self.process.stderr.read()[-400:])
            time.sleep(0.01)
        return self

    def is_mounted(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as table:
            return any(line.split()[4] == self.dir for line in table)

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        said = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        if _[0] is None:
            accounts(said)

    def write(self, name, text, mode="a"):
        try:
            with open(os.path.join(self.dir, name), mode, encoding="utf-8") as file:
                file.write(text + "\n")
        except OSError as error:
            raise Wrong(f"{name}: {error}: {self.read('error_log')[-300:]}") from error

    def read(self, name):
        with open(os.path.join(self.dir, name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def hit(self, first=0, last=100):
        self.process.stdin.write(steps(first, last))
        self.process.stdin.flush()
        expect(self.process.stdout.readline(), "done\n")


class Window:
    """Somebody at the real window, without a screen (gui/app/gui_hands.cpp)."""

    def __init__(self, world):
        self.world, self.target = world, None
        self.steps_in, self.steps_out = world.path("steps.in"), world.path("steps.out")
        environment = {**os.environ, "XDG_RUNTIME_DIR": world.folder, "XDG_CONFIG_HOME": world.folder, "QT_QPA_PLATFORM": "offscreen"}
        with open(world.path("hands.said"), "w", encoding="utf-8") as said:
            self.hands = subprocess.Popen([HANDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True, env=environment)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if self.target:
                self.target.stdin.close()
                self.target.wait(timeout=60)
            self.hands.stdin.close()
            if self.hands.wait(timeout=120) != 0 and kind is None:
                raise Wrong(f"the window ended with {self.hands.returncode}: {self.said()}")
        finally:
            for one in filter(None, (self.target, self.hands)):
                if one.poll() is None:
                    one.kill()
                    one.wait()
                one.stdout.close()

    def said(self):
        with open(self.world.path("hands.said"), encoding="utf-8", errors="replace") as file:
            return file.read()[-400:]

    def do(self, *words):
        self.hands.stdin.write("\t".join(words) + "\n")
        self.hands.stdin.flush()
        answer = self.hands.stdout.readline().strip()
        if answer != "ok" and not answer.startswith("ok "):
            raise Wrong(f"{words[0]}: {answer or self.said()}")
        return "".join(self.hands.stdout.readline() for _ in range(int((answer.split() + ["0"])[1])))

    def start(self, *definitions, command=None):
        """A program that waits for its steps, or the kernel; definitions are applied."""
        self.target = subprocess.Popen(command or self.world.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.world.is_kernel:
            self.do("kernel", self.world.words[1])
        else:
            self.do("attach", str(self.target.pid))
        if definitions:
            self.do("define", *definitions)

    def hit(self, first=0, last=100):
        self.target.stdin.write(steps(first, last))
        self.target.stdin.flush()
        expect(self.target.stdout.readline(), "done\n")

    def shown(self, path, is_enough):
        """What a file reads in the page Directory, once it is enough."""
        end = time.monotonic() + 60
        while not is_enough(text := self.do("show", path)) and time.monotonic() < end:
            pass
        return text

    def seen(self, is_enough):
        """The table's lines, once they are enough."""
        end = time.monotonic() + 60
        while True:
            text = self.do("lines")
            if is_enough(text) or time.monotonic() > end:
                return text
            self.do("rest")


def mounted(world, *definitions, on=(), files=(), words=()):
    """Defines, writes `files`, switches on, and hits: the mount is handed to who looks at it."""
    mount = Mount(world, *words)
    mount.__enter__()
    try:
        for one in definitions:
            mount.write("dynamic_events", one)
        for name, text in files:
            mount.write(name, text)
        for name in on:
            mount.write(f"events/kprobes/{name}/enable", "1", "w")
        mount.hit()
        return mount, mount.read("trace")
    except BaseException:
        mount.__exit__(Wrong)
        raise


def with_mount(mount, look):
    try:
        look()
    except BaseException:
        mount.__exit__(Wrong)
        raise
    mount.__exit__(None)
