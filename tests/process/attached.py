"""Running processes as targets: what a tracer may not change of them, and starting and stopping one."""
import os
import re
import signal
import subprocess
import time

from kevtest import KEVTRACE, PROGRAMS, ProcessTest, TIMEOUT_S, Traced, _prepared

STAYS = os.path.join(PROGRAMS, "stays")
TOUCH = "p:touch stays:touch n=%di:s64 s=+0(%si):string"
BACK = "r:back stays:touch v=$retval:s64"

RT_SIGTIMEDWAIT = b"128 "  # as /proc/PID/syscall begins


def wait_until(condition, what, seconds=TIMEOUT_S):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited too long until " + what)
        time.sleep(0.001)  # who polls without a rest takes the CPU that what it waits for needs


def read(path):
    with open(path, "rb") as file:
        return file.read()


def state_of(pid):
    """What a tracer may not change: maps, descriptors, dispositions, the masks of every thread."""
    state = {"maps": [line.split()[:2] + line.split()[5:] for line in read(f"/proc/{pid}/maps").splitlines()]}
    state["fds"] = sorted((fd, os.readlink(f"/proc/{pid}/fd/{fd}")) for fd in os.listdir(f"/proc/{pid}/fd"))
    for tid in os.listdir(f"/proc/{pid}/task"):
        status = read(f"/proc/{pid}/task/{tid}/status")
        state[tid] = re.findall(rb"^(Sig(?:Blk|Ign|Cgt|Pnd)|ShdPnd|TracerPid|State):\s*(\w+)", status, re.MULTILINE)
        state[tid] = [(k, shown_state(k, v)) for k, v in state[tid]]
    return state


def shown_state(key, value):
    """A value without what changes by itself: running or not, and a fault of the target's own on its way."""
    if key == b"State":
        return value in b"RSD"
    return int(value, 16) & ~(1 << (signal.SIGSEGV - 1)) if key == b"SigPnd" else value


def without_masks(state):
    return {key: [(k, v) for k, v in value if k != b"SigBlk"] if key.isdigit() else value for key, value in state.items()}


def text_of(pid, path):
    """The bytes of every executable mapping of a file, as the process has them."""
    text = b""
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for line in read(f"/proc/{pid}/maps").decode().splitlines():
            fields = line.split()
            if "x" not in fields[1] or path not in line:
                continue
            begin, end = (int(word, 16) for word in fields[0].split("-"))
            memory.seek(begin)
            text += memory.read(end - begin)
    return text


class Target:
    """A program that goes on while tracers come and go; told what to do by lines."""

    def __init__(self, case, command, **options):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        case.addCleanup(self.close)
        self.pid = self.process.pid
        self.expect(b"ready")

    def expect(self, word):
        line = self.process.stdout.readline().strip()
        if not line.startswith(word):
            raise AssertionError(f"{line!r} instead of {word!r}")
        return line.split()[1:]

    def tell(self, word):
        self.process.stdin.write(word + b"\n")
        self.process.stdin.flush()

    def ask(self, word, answer=None):
        self.tell(word)
        return self.expect(answer or word)

    def ticks(self):
        return int(self.ask(b"counts")[0])

    def wait_for_ticks(self, more=20):
        wanted = self.ticks() + more
        wait_until(lambda: self.ticks() >= wanted, "it ticks")

    def end(self):
        self.tell(b"end")
        return self.process.wait(TIMEOUT_S)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Attached(ProcessTest):
    def stays(self):
        target = Target(self, [STAYS])
        tasks = f"/proc/{target.pid}/task"
        wait_until(lambda: any(read(f"{tasks}/{tid}/syscall").startswith(RT_SIGTIMEDWAIT) for tid in os.listdir(tasks)),
                   "a thread of it waits for a signal")
        return target

    def assert_as_it_was(self, pid, before):
        """At once, but for masks: a thread that waits for a signal has it unblocked (sigwaitinfo(2) in the kernel), and
        one that was stopped there has to run before it waits again."""
        self.assertEqual(without_masks(state_of(pid)), without_masks(before))
        wait_until(lambda: state_of(pid) == before, "masks are as they were")

    def start(self, pids, *definitions, words=(), lines_before=0, **options):
        """Starts a tracer and returns it once it traces; `lines_before`: that it says before that; `options` are Popen's."""
        events = self.path("events", "\n".join(definitions).encode() + b"\n")
        command = [KEVTRACE, "run", "-p", events, "-o", self.path("trace"), "--pid", ",".join(map(str, pids)), *words]
        tracer = subprocess.Popen(command, stderr=subprocess.PIPE, **_prepared(options))
        self.addCleanup(tracer.stderr.close)
        self.addCleanup(tracer.kill)
        before = [tracer.stderr.readline() for _ in range(lines_before)]
        head = [tracer.stderr.readline() for _ in pids]
        self.assertTrue(all(line.startswith(b"kevtrace: runtime=inproc pid=") for line in head), head)
        tracer.head = b"".join(before + head)
        return tracer

    def stop(self, tracer, definitions, status=0):
        tracer.send_signal(signal.SIGINT)
        return self.finish(tracer, definitions, status)

    def finish(self, tracer, definitions, status=0):
        err = tracer.head + tracer.stderr.read()
        self.assertEqual(tracer.wait(TIMEOUT_S), status, err)
        per_pid = re.compile(rb"^  pid \d+ .*\n", re.MULTILINE)
        traced = Traced(tracer.returncode, b"", per_pid.sub(b"", err), read(self.path("trace")))
        traced.per_pid = {(int(p), e.decode()): tuple(map(int, n)) for p, e, *n in re.findall(
            rb"^  pid (\d+) (\w+): hits (\d+) = recorded (\d+) \+ filtered (\d+) \+ lost (\d+) \+ missed (\d+)$", err,
            re.MULTILINE)}
        self.check_accounts(traced, definitions, "file")
        return traced

    def wait_for_records(self, count):
        wait_until(lambda: os.path.getsize(self.path("trace")) >= count * 60, "there are records")
