"""docs/doors.md: what can be done through which door, in which runtime. Each `yes` is tried here with real hits.

doors_test.py [--runtime inproc|bpf|kmod]: tries that runtime's cells and compares its table with the page's. With KEVT_UPDATE_DOORS=1
the table is written into the page instead. bpf and kmod run in a guest (doors.sh). Needs KEVTRACE, and for programs KEVT_PROGRAMS.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "../../docs/doors.md")
KEVTRACE = os.environ["KEVTRACE"]
STEPS = os.path.join(os.environ.get("KEVT_PROGRAMS", ""), "steps")
BASE = 4_000_000  # values of the workload, which nobody else has
STATIC = "sched:sched_process_exec"
DOORS = ("command line", "script", "mount")
SEEKS = """import os, sys
fd = os.open('/bin/true', os.O_RDONLY)
for line in sys.stdin:
    first, last = line.split()[:2]
    for i in range(int(first), int(last)): os.lseek(fd, i, os.SEEK_SET)
    print('done', flush=True)
"""


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
        self.caller = "do_syscall_64" if self.is_kernel else "run"
        self.stack_option = "options/stacktrace" if self.is_kernel else "options/userstacktrace"
        self.command = ["/usr/bin/python3", "-S", "-c", SEEKS] if self.is_kernel else [STEPS]
        self.folder = tempfile.mkdtemp()

    def path(self, name):
        return os.path.join(self.folder, name)


def numbers(text, event):
    """The workload's values that the event was recorded with, in their order."""
    found = (int(number) - BASE for number in re.findall(rf" {event}: \(.*?\) [iv]=(\d+)$", text, re.MULTILINE))
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


def run(world, *words, verb="run", command=None, given=None):
    done = subprocess.run([KEVTRACE, verb, *world.words, *words, "--", *(command or world.command)], input=given or steps(), text=True,
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


class Three:
    """One capability through the three doors: definitions, filters and triggers, and what is recorded then."""

    def __init__(self, definitions, filters=(), triggers=(), step=None, other=None, back=None):
        self.definitions, self.filters, self.triggers = definitions, filters, triggers
        self.wanted = {"step": step, "other": other, "back": back}

    def compare(self, text):
        for event, wanted in self.wanted.items():
            if wanted is not None:
                expect(numbers(text, event) if event != "back" else len(re.findall(rf" {event}: ", text)) >= wanted,
                       wanted if event != "back" else True)

    def command_line(self, world):
        words = []
        for one in self.definitions:
            words += ["-e", getattr(world, one)]
        for event, text in self.filters:
            words += ["--filter", f"{event}: {text}"]
        for event, text in self.triggers:
            words += ["--trigger", f"{event}: {text}"]
        self.compare(run(world, *words))

    def script(self, world):
        lines = []
        for one in self.definitions:
            lines.append(getattr(world, one))
            lines += [f"  filter {text}" for event, text in self.filters if event == one]
            lines += [f"  trigger {text}" for event, text in self.triggers if event == one]
        self.compare(run(world, "-p", written(world, *lines)))

    def mount(self, world):
        files = [(f"events/kprobes/{event}/filter", text) for event, text in self.filters]
        files += [(f"events/kprobes/{event}/trigger", text) for event, text in self.triggers]
        texts = [getattr(world, one) for one in self.definitions]
        names = [re.match(r"\w:(\w+)", text)[1] for text in texts]
        mount, trace = mounted(world, *texts, on=names, files=files)
        with_mount(mount, lambda: self.compare(trace))

    def cells(self):
        return {"command line": self.command_line, "script": self.script, "mount": self.mount}


def with_mount(mount, look):
    try:
        look()
    except BaseException:
        mount.__exit__(Wrong)
        raise
    mount.__exit__(None)


def value(i):
    return BASE + i


ALL = list(range(100))


# ---- single cells ---------------------------------------------------------------------------

def snapshot_in_mount(world):
    mount, _ = mounted(world, world.step, on=("step",), files=[("events/kprobes/step/trigger", f"snapshot:1 if i == {value(50)}")])
    with_mount(mount, lambda: expect(numbers(mount.read("snapshot"), "step"), list(range(51))))


# ---- histograms -----------------------------------------------------------------------------

OURS = f"if i >= {BASE} && i < {BASE + 100}"
COUNT = f"hist:keys=i:sort=i {OURS}"
# How long from step(i) to other(i).
START = f"hist:keys=i:t0=common_timestamp {OURS}"
END = f"hist:keys=i:ns=common_timestamp-$t0:onmatch(kprobes.step).trace(took,$ns) {OURS}"
TOOK = "s:took u64 ns"


def counted_each_once(text):
    expect([int(number) - BASE for number in re.findall(r"^{ i: +(\d+) } hitcount: +1$", text, re.MULTILINE)], ALL)
    expect("    Hits: 100\n    Entries: 100\n    Dropped: 0\n" in text, True)


def counted_in_run(world):
    counted_each_once(run(world, "-e", world.step, "--hist", f"step: {COUNT.removeprefix('hist:')}"))
    counted_each_once(run(world, "-e", world.step, "--trigger", f"step: {COUNT}"))


def counted_in_script(world):
    counted_each_once(run(world, "-p", written(world, world.step, "  enable 0", f"  trigger {COUNT}")))


def counted_in_mount(world):
    mount, _ = mounted(world, world.step, files=[("events/kprobes/step/trigger", COUNT)])

    def look():
        counted_each_once(mount.read("events/kprobes/step/hist"))
        mount.write("events/kprobes/step/trigger", COUNT.replace(" if", ":clear if"))
        expect("Hits: 0" in mount.read("events/kprobes/step/hist"), True)
    with_mount(mount, look)


def took(text):
    expect(len(re.findall(r" took: ns=\d+$", text, re.MULTILINE)), 100)


def latencies_in_run(world):
    took(run(world, "-e", TOOK, "-e", world.step, "-e", world.other, "--hist", f"step: {START.removeprefix('hist:')}", "--hist",
             f"other: {END.removeprefix('hist:')}"))


def latencies_in_script(world):
    took(run(world, "-p", written(world, TOOK, world.step, "  enable 0", f"  trigger {START}", world.other, "  enable 0", f"  trigger {END}")))


def latencies_in_mount(world):
    mount, _ = mounted(world, TOOK, world.step, world.other)

    def look():
        mount.write("events/synthetic/took/enable", "1", "w")
        mount.write("events/kprobes/step/trigger", START)
        mount.write("events/kprobes/other/trigger", END)
        mount.write("events/synthetic/took/trigger", "hist:keys=ns.log2")
        mount.hit()
        took(mount.read("trace"))
        expect("    Hits: 100\n" in mount.read("events/synthetic/took/hist"), True)
    with_mount(mount, look)


def questions_in_mount(world):
    """What the questions ask, files answer: how many, of which values, how long from one event to the other."""
    counted_in_mount(world)
    latencies_in_mount(world)


def instance_in_mount(world):
    mount, _ = mounted(world, world.step)

    def look():
        os.mkdir(os.path.join(mount.dir, "instances/a"))
        mount.write("instances/a/events/kprobes/step/filter", f"i > {value(97)}")
        mount.write("instances/a/events/kprobes/step/enable", "1", "w")
        mount.hit()
        expect(numbers(mount.read("instances/a/trace"), "step"), [98, 99])
        expect(numbers(mount.read("trace"), "step"), [])
    with_mount(mount, look)


def report(file):
    return subprocess.run([KEVTRACE, "report", file], capture_output=True, text=True, check=True).stdout


def of_instance(text, name, event="step"):
    """The values in the instance's lines, and those in the top one's."""
    theirs = [line for line in text.splitlines() if line.startswith(name + ": ")]
    return numbers("\n".join(theirs), event), numbers("\n".join(line for line in text.splitlines() if line not in theirs), event)


def instance_in_run(world):
    # Its own filter and its own switch, of what the top one records all of; and into a file of its own.
    text = run(world, "-e", world.step, "-B", "few", "--enable", "step", "--filter", f"step: i > {value(90)}", "--trigger", f"step: traceoff if i == {value(98)}")
    expect(of_instance(text, "few"), (list(range(91, 99)), ALL))
    if world.is_kernel:
        return  # who writes files does not know the runtime, and a run in the emulated guest takes long
    run(world, "-e", world.step, "-o", world.path("top.dat"), "-B", "few", "--enable", "step", "--filter", f"step: i == {value(97)}", "-o", world.path("few.dat"))
    expect(numbers(report(world.path("top.dat")), "step"), ALL)
    expect(numbers(report(world.path("few.dat")), "step"), [97])


def instance_in_script(world):
    script = written(world, world.step, "  enable 0", "instance few", "event step", f"  filter i > {value(97)}")
    expect(of_instance(run(world, "-p", script), "few"), ([98, 99], []))


def event_pid_in_mount(world):
    mount, _ = mounted(world, world.step, on=("step",))

    def look():
        mount.write("trace", "", "w")
        mount.write("set_event_pid", "1", "w")
        mount.hit()
        expect(numbers(mount.read("trace"), "step"), [])
    with_mount(mount, look)


def event_pid_in_run(world):
    expect(numbers(run(world, "--event-pid", "1", "-e", world.step), "step"), [])


def event_pid_in_script(world):
    expect(numbers(run(world, "-p", written(world, "option event-pid 1", world.step)), "step"), [])


FAIL = ["p:fail libc:open64 path=+0(%di):string", 'path == "/etc/hosts"', "ret=-1"]


def injected(*words):
    code = "try: open('/etc/hosts')\nexcept OSError: print('refused')"
    done = subprocess.run([KEVTRACE, *words, "--", "/usr/bin/python3", "-S", "-c", code], capture_output=True, text=True, timeout=60)
    return done.stdout, done.returncode


def injection(*words):
    expect(injected(*words, "-e", FAIL[0], "--filter", f"fail: {FAIL[1]}", "--unsafe", "--inject", f"fail: {FAIL[2]}"), ("refused\n", 0))


def injection_in_script(world):
    script = written(world, FAIL[0], f"  filter {FAIL[1]}", f"  inject {FAIL[2]}")
    expect(injected("run", "-q", "-o", "/dev/null", "-p", script, "--unsafe"), ("refused\n", 0))
    expect(injected("mount", world.path("t"), "-p", script, "--unsafe"), ("refused\n", 0))
    expect(injected("run", "-q", "-p", script), ("", 2))


TWO_STACKS = f"stacktrace:2 if i >= {BASE + 7} && i < {BASE + 1000}"  # other programs seek, too


def stacked(world, text):
    """The workload's values behind whose records a stack stands that has the caller, in their order."""
    found = re.findall(rf" step: \(.*?\) i=(\d+)\n.*<(?:user )?stack trace>\n(?: => .*\n)*? => {world.caller}\b", text)
    return [int(number) - BASE for number in found if 0 <= int(number) - BASE < 1_000_000]


def all_stacks_in_run(world):
    expect(stacked(world, run(world, "--stack", "-e", world.step)), ALL)


def all_stacks_in_script(world):
    expect(stacked(world, run(world, "-p", written(world, "option stack 1", world.step))), ALL)


def all_stacks_in_mount(world):
    mount, trace = mounted(world, world.step, on=("step",), files=[(world.stack_option, "1")])
    with_mount(mount, lambda: expect(stacked(world, trace), ALL))


def stacktrace_in_run(world):
    expect(stacked(world, run(world, "-e", world.step, "--trigger", f"step: {TWO_STACKS}")), [7, 8])


def stacktrace_in_script(world):
    expect(stacked(world, run(world, "-p", written(world, world.step, f"  trigger {TWO_STACKS}"))), [7, 8])


def stacktrace_in_mount(world):
    mount, trace = mounted(world, world.step, on=("step",), files=[("events/kprobes/step/trigger", f"{TWO_STACKS}")])
    with_mount(mount, lambda: expect(stacked(world, trace), [7, 8]))


def newest_in_run(world, *words):
    file = world.path("o.dat")
    run(world, *(words or ["--overwrite", "-e", world.step]), "--max-bytes", "64K", "-o", file, given=steps(0, 20000))
    text = report(file)
    kept = numbers(text, "step")
    expect((kept[-1], len(kept) < 20000, kept == sorted(kept)), (19999, True, True))


def newest_in_script(world):
    newest_in_run(world, "-p", written(world, "option overwrite 1", world.step))


def newest_in_mount(world):
    with Mount(world, "--buffer", "64") as mount:
        mount.write("dynamic_events", world.step)
        mount.write("events/kprobes/step/enable", "1", "w")
        mount.hit(0, 20000)
        kept = numbers(mount.read("trace"), "step")
        expect((kept[-1], len(kept) < 20000, kept == sorted(kept)), (19999, True, True))


def followed_in_run(world, *words):
    shell = ["/bin/sh", "-c", f"echo {steps().strip()} | {STEPS}; echo {steps().strip()} | {STEPS}"]
    expect(numbers(run(world, *(words or ["--follow-forks", "-e", world.step]), command=shell), "step"), ALL + ALL)


def followed_in_script(world):
    followed_in_run(world, "-p", written(world, "option follow-forks 1", world.step))


def followed_in_mount(world):
    with Mount(world, "--follow-forks", "-e", world.step, command=["/bin/sh", "-c", f"{STEPS}; read x"]) as mount:
        mount.hit()
        expect(numbers(mount.read("trace"), "step"), ALL)
        mount.process.stdin.write("x\n")


def pids(world):
    programs = [subprocess.Popen(world.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    return programs, ",".join(str(one.pid) for one in programs)


def hit_all(programs):
    for one in programs:
        one.stdin.write(steps())
        one.stdin.flush()
        expect(one.stdout.readline(), "done\n")


def end_all(programs):
    for one in programs:
        one.stdin.close()
        one.wait(timeout=60)
        one.stdout.close()


def several_in_run(world, in_script=False):
    programs, list_of_pids = pids(world)
    words = ["-p", written(world, f"target pid {list_of_pids}", world.step)] if in_script else ["-e", world.step, "--pid", list_of_pids]
    tracer = subprocess.Popen([KEVTRACE, "run", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(2):
        expect(tracer.stderr.readline().startswith("kevtrace: runtime=inproc"), True)
    hit_all(programs)
    end_all(programs)
    out, said = tracer.communicate(timeout=60)
    accounts(said)
    expect(sorted(numbers(out, "step")), sorted(ALL + ALL))


def several_in_mount(world):
    programs, list_of_pids = pids(world)
    tracer = subprocess.Popen([KEVTRACE, "mount", world.path("t"), "-e", world.step, "--pid", list_of_pids], stderr=subprocess.PIPE, text=True)
    while not (line := tracer.stderr.readline()).startswith("kevtrace: mounted on"):
        if not line:
            raise Wrong("no mount")
    hit_all(programs)
    with open(world.path("t/trace"), encoding="utf-8") as file:
        expect(sorted(numbers(file.read(), "step")), sorted(ALL + ALL))
    tracer.send_signal(signal.SIGINT)
    tracer.wait(timeout=60)
    tracer.stderr.close()
    end_all(programs)


def compiled(world):
    script, out = written(world, world.step, f"  filter i >= {BASE}"), world.path("c.kevo")
    made = subprocess.run([KEVTRACE, "compile", script, "-o", out, *([] if world.is_kernel else ["--", *world.command])], capture_output=True, text=True,
                          timeout=120, stdin=subprocess.DEVNULL)
    if made.returncode:
        raise Wrong(made.stderr[-300:])
    return out


def compiled_in_run(world):
    expect(numbers(run(world, "-p", compiled(world)), "step"), ALL)


def compiled_in_mount(world):
    with Mount(world, "-p", compiled(world)) as mount:
        mount.hit()
        expect(numbers(mount.read("trace"), "step"), ALL)


EXEC = r" sched_process_exec: filename=\S+/true "


def static_in_run(world):
    expect(len(re.findall(EXEC, run(world, "--enable", STATIC, command=["/bin/sh", "-c", "/bin/true; /bin/true"]))) >= 2, True)


def static_in_script(world):
    script = written(world, "event sched/sched_process_exec")
    expect(len(re.findall(EXEC, run(world, "-p", script, command=["/bin/sh", "-c", "/bin/true; /bin/true"]))) >= 2, True)


def static_in_mount(world):
    with Mount(world) as mount:
        mount.write("events/sched/sched_process_exec/enable", "1", "w")
        subprocess.run(["/bin/true"], check=True)
        expect(len(re.findall(EXEC, mount.read("trace"))) >= 1, True)


def every_format(world):
    for name in ("dat", "dat7", "json", "csv", "perfetto", "chrome", "ctf", "folded", "perf", "ftrace"):
        out = world.path("r." + name)
        run(world, "-f", name, "-o", out, "-e", world.step)
        if not os.path.exists(out):
            raise Wrong(f"nothing in {name}")


def raw_pages(world):
    mount, _ = mounted(world, world.step, on=("step",))

    def look():
        cpus = os.listdir(os.path.join(mount.dir, "per_cpu"))
        pages = b""
        for cpu in cpus:
            fd = os.open(os.path.join(mount.dir, "per_cpu", cpu, "trace_pipe_raw"), os.O_RDONLY | os.O_NONBLOCK)
            try:
                pages += os.read(fd, 4096)
            except BlockingIOError:
                pass
            finally:
                os.close(fd)
        expect((BASE + 1).to_bytes(8, "little") in pages, True)
    with_mount(mount, look)


def questions(world, in_script=False):
    condition = f"i >= {BASE} && i < {BASE + 1000}"
    words = ["-e", world.step, "-e", world.other, "--filter", f"step: {condition}"]
    if in_script:
        words = ["-p", written(world, world.step, f"  filter {condition}", world.other)]
    expect("step" in run(world, *words, verb="count"), True)
    expect("count 100 " in run(world, "step.i", *words, verb="hist"), True)
    expect("-> other" in run(world, "step", "other", *words, verb="lat"), True)
    expect("step" in run(world, *words, verb="top"), True)
    expect(len(run(world, *words, verb="stream").splitlines()) >= 200, True)


OPEN = "open"


def table(world, runtime):
    """capability → door → what tries it, or the text of the cell."""
    rows = {
        "`p` probes": Three(["step"], step=ALL).cells(),
        "`r` probes": Three(["back"], back=100).cells(),
        "names and types of arguments": Three(["typed"], step=ALL).cells(),
        "filters": Three(["step"], filters=[("step", f"i == {value(5)}")], step=[5]).cells(),
        "trigger `traceoff`, `if`": Three(["step", "other"], triggers=[("step", f"traceoff if i == {value(50)}")], step=list(range(51)),
                                          other=list(range(50))).cells(),
        "trigger `traceon`, counts": Three(["step", "other"], triggers=[("step", f"traceoff:1 if i == {value(10)}"), ("other", f"traceon:1 if i == {value(30)}")],
                                           step=list(range(11)) + list(range(31, 100))).cells(),
        "triggers `enable_event`, `disable_event`": Three(["step", "other"], triggers=[("step", f"disable_event:kprobes:other:1 if i == {value(10)}")],
                                                          step=ALL, other=list(range(10))).cells(),
        "trigger `snapshot`": {"command line": "no: records are written as they come; nothing is kept that could be set aside", "mount": snapshot_in_mount},
        "trigger `stacktrace`": {"command line": stacktrace_in_run, "script": stacktrace_in_script, "mount": stacktrace_in_mount},
        "trigger `hist`": {"command line": counted_in_run, "script": counted_in_script, "mount": counted_in_mount},
        "`hist` variables, synthetic events": {"command line": latencies_in_run, "script": latencies_in_script, "mount": latencies_in_mount},
        "a stack for every record": {"command line": all_stacks_in_run, "script": all_stacks_in_script, "mount": all_stacks_in_mount},
        "instances": {"command line": instance_in_run, "script": instance_in_script, "mount": instance_in_mount},
        "`set_event_pid`": {"command line": event_pid_in_run, "script": event_pid_in_script, "mount": event_pid_in_mount},
        "injection": {"command line": lambda w: injection("run", "-q", "-o", "/dev/null"), "script": injection_in_script,
                      "mount": lambda w: injection("mount", w.path("t"))},
        "the newest records (overwrite)": {"command line": newest_in_run, "script": newest_in_script, "mount": newest_in_mount},
        "programs that are followed": {"command line": followed_in_run, "script": followed_in_script, "mount": followed_in_mount},
        "several processes": {"command line": several_in_run, "script": lambda w: several_in_run(w, in_script=True), "mount": several_in_mount},
        "compiled scripts": {"command line": compiled_in_run, "mount": compiled_in_mount},
        "the kernel's own events": {"command line": static_in_run, "script": static_in_script, "mount": static_in_mount},
        "recordings in every format": {"command line": every_format, "mount": raw_pages},
        "live questions (count, hist, lat, top, stream)": {"command line": questions, "script": lambda w: questions(w, in_script=True), "mount": questions_in_mount},
    }
    if world.is_kernel:
        whole = "no: the whole machine is traced"
        for name in ("programs that are followed", "several processes"):
            rows[name] = dict.fromkeys(DOORS, whole)
        rows["injection"] = dict.fromkeys(DOORS, "no: the kernel's way is never changed")
    else:
        rows["the kernel's own events"] = dict.fromkeys(DOORS, "no: a process has none")
    # What belongs to a recording or a script as a whole is the command line's, whose script says what is defined.
    for name in ("compiled scripts", "recordings in every format", "trigger `snapshot`"):
        rows[name].setdefault("script", rows[name]["command line"])
    return rows


def main():
    runtime = sys.argv[sys.argv.index("--runtime") + 1] if "--runtime" in sys.argv else "inproc"
    world = World(runtime)
    failed = 0
    lines = [f"| {runtime} | " + " | ".join(DOORS) + " |", "|---" * (len(DOORS) + 1) + "|"]
    try:
        for name, cells in table(world, runtime).items():
            texts = []
            for door in DOORS:
                cell = cells[door]
                if isinstance(cell, str):
                    texts.append("**open**" if cell == OPEN else cell)
                    continue
                try:
                    cell(world)
                    texts.append("yes")
                except (Wrong, OSError, subprocess.SubprocessError) as error:
                    failed += 1
                    texts.append("FAILED")
                    print(f"FAILED {name}, {door}: {error}", flush=True)
            print(f"{name}: {', '.join(texts)}", flush=True)
            lines.append(f"| {name} | " + " | ".join(texts) + " |")
    finally:
        shutil.rmtree(world.folder, ignore_errors=True)
    text = "\n".join(lines) + "\n"
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    begin, end = f"<!-- {runtime} -->\n", f"<!-- end of {runtime} -->\n"
    before, rest = page.split(begin)
    now, after = rest.split(end)
    if "--print" in sys.argv:
        print(begin + text + end)
    if failed:
        sys.exit(1)
    if os.environ.get("KEVT_UPDATE_DOORS"):
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(before + begin + text + end + after)
    elif now != text:
        print(f"docs/doors.md says another thing of {runtime}; KEVT_UPDATE_DOORS=1 writes it:\n{text}")
        sys.exit(1)


main()
