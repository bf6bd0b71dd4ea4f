"""docs/doors.md: what can be done through which door, in which runtime. Each `yes` is tried here with real hits.

doors_test.py [--runtime inproc|bpf|kmod]: tries that runtime's cells and compares its table with the page's. With KEVT_UPDATE_DOORS=1
the table is written into the page instead. bpf and kmod run in a guest (doors.sh). Needs KEVTRACE, for programs
KEVT_PROGRAMS, and for the window KEVT_GUI_HANDS: without it that column is not tried. With KEVT_SAMPLE (a number,
../guest/on_kernels) a fifth of the rows is tried; of the others the page's words are taken.
"""
import contextlib
import copy
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from doors import BASE, HANDS, KEVTRACE, STEPS, Mount, Window, World, Wrong, accounts, expect, mounted, numbers, run, steps, with_mount, written
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../process"))
from jitted import Jitted

PAGE = os.path.join(HERE, "../../docs/doors.md")
STATIC = "sched:sched_process_exec"
DOORS = ("command line", "script", "mount", "window")


def is_own(text):
    """Whether each line's numbers in network byte order and octal are those of its `i`, and its text and list have three bytes."""
    lines = re.findall(r'net=(\d+) oct=0(\d+) text="(\w+)" list=\{([\d,]+)\} i=(\d+)$', text, re.MULTILINE)
    return bool(lines) and all(int(net) == int.from_bytes(int(i).to_bytes(8, "little")[:4], "big") and int(octal, 8) == int(i) & 0xffffffff and word in ("lib", "Lin")
                               and bytes(map(int, items.split(","))) == word.encode() for net, octal, word, items, i in lines)


def has_floats(text):
    return re.search(r" x=-?[\d.e+-]+ i=\d+$", text, re.MULTILINE) is not None


class Three:
    """One capability through the three doors: definitions, filters and triggers, and what is recorded then."""

    def __init__(self, definitions, filters=(), triggers=(), step=None, other=None, back=None, also=lambda text: True):
        self.definitions, self.filters, self.triggers, self.also = definitions, filters, triggers, also
        self.wanted = {"step": step, "other": other, "back": back}

    def compare(self, text):
        expect(self.also(text), True)
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
        names = [re.match(r"\w:(?:\w+/)?(\w+)", text)[1] for text in texts]
        mount, trace = mounted(world, *texts, on=names, files=files)
        with_mount(mount, lambda: self.compare(trace))

    def window(self, world):
        def is_right(text):
            try:
                self.compare(text)
            except Wrong:
                return False
            return True
        with Window(world) as window:
            window.start(*(getattr(world, one) for one in self.definitions))
            for event, text in self.filters:
                window.do("filter", event, text)
            for event, text in self.triggers:
                window.do("trigger", event, text)
            window.hit()
            self.compare(window.seen(is_right))

    def cells(self):
        return {"command line": self.command_line, "script": self.script, "mount": self.mount, "window": self.window}


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


# All values lie in one bucket.
STATISTICS = f"hist:keys=i.loglinear:vals=i.min,i.max,i.avg {OURS}"


def has_statistics(text):
    expect([line for line in text.splitlines() if line.startswith("{")],
           [f"{{ i: ~ 3997696-4030463 }} hitcount:        100  i (min): {BASE:10}  i (max): {BASE + 99:10}  i (avg): {BASE + 49.5:10.2f}"])
    expect(f"Percentiles of i:\n    p50: {4030463:10} " in text, True)


def statistics_in_run(world):
    has_statistics(run(world, "-e", world.step, "--hist", f"step: {STATISTICS.removeprefix('hist:')}"))


def statistics_in_script(world):
    has_statistics(run(world, "-p", written(world, world.step, "  enable 0", f"  trigger {STATISTICS}")))


def statistics_in_mount(world):
    mount, _ = mounted(world, world.step, files=[("events/kprobes/step/trigger", STATISTICS)])
    with_mount(mount, lambda: has_statistics(mount.read("events/kprobes/step/hist")))


WHOLE_STACKS = f"hist:keys=stacktrace.full {OURS}"


def has_whole_stacks(world, text):
    expect((len(re.findall(r"^{ (?:common_)?stacktrace:", text, re.MULTILINE)), "} hitcount:        100\n" in text), (1, True))
    expect(re.search(rf"^ +{world.caller}\+0x", text, re.MULTILINE) is not None, True)


def whole_stacks_in_run(world):
    has_whole_stacks(world, run(world, "-e", world.step, "--hist", f"step: {WHOLE_STACKS.removeprefix('hist:')}"))


def whole_stacks_in_script(world):
    has_whole_stacks(world, run(world, "-p", written(world, world.step, "  enable 0", f"  trigger {WHOLE_STACKS}")))


def whole_stacks_in_mount(world):
    mount, _ = mounted(world, world.step, files=[("events/kprobes/step/trigger", WHOLE_STACKS)])
    with_mount(mount, lambda: has_whole_stacks(world, mount.read("events/kprobes/step/hist")))


TOP = f"hist:keys=i:size=128:top=3 {OURS}"
# The keys of one event beside those of the other: more than there is room for.
DROPPING = f"hist:name=both:keys=i,common_type:size=128:drop {OURS}"


def has_top_keys(text):
    expect(("    Hits: 100\n    Entries: 3\n    Dropped: 0\n\nTop 3: hits of any other key: 1 or fewer\n" in text,
            len(re.findall(r"^{ i: +40000\d\d } hitcount: +1$", text, re.MULTILINE))), (True, 3))


def has_dropped(text):
    expect("    Hits: 128\n    Entries: 128\n    Dropped: 72\n" in text, True)


def full_tables_in_run(world):
    has_top_keys(run(world, "-e", world.step, "--hist", f"step: {TOP.removeprefix('hist:')}"))
    words = ["-e", world.step, "-e", world.other]
    for event in ("step", "other"):
        words += ["--hist", f"{event}: {DROPPING.removeprefix('hist:')}"]
    has_dropped(run(world, *words))
    has_dropped(run(world, "--kernel-drops", *[word.replace(":drop", "") for word in words]))


def full_tables_in_script(world):
    has_top_keys(run(world, "-p", written(world, world.step, "  enable 0", f"  trigger {TOP}")))
    has_dropped(run(world, "-p", written(world, world.step, "  enable 0", f"  trigger {DROPPING}", world.other, "  enable 0", f"  trigger {DROPPING}")))


def full_tables_in_mount(world):
    files = [("events/kprobes/step/trigger", TOP), ("events/kprobes/step/trigger", DROPPING), ("events/kprobes/other/trigger", DROPPING)]
    mount, _ = mounted(world, world.step, world.other, files=files)

    def look():
        has_top_keys(mount.read("events/kprobes/step/hist"))
        has_dropped(mount.read("events/kprobes/other/hist"))
    with_mount(mount, look)


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


LATE = "e:late synthetic.took of=$ns:u64"


def late(text):
    # The window prints by the event's format, which has no place, as trace-cmd does.
    expect(len(re.findall(r" late: (?:\(synthetic\.took\))? of=\d+$", text, re.MULTILINE)), 100)


def of_synthetic_in_run(world):
    late(run(world, "-e", TOOK, "-e", world.step, "-e", world.other, "-e", LATE, "--hist", f"step: {START.removeprefix('hist:')}", "--hist",
             f"other: {END.removeprefix('hist:')}"))


def of_synthetic_in_script(world):
    late(run(world, "-p", written(world, TOOK, world.step, "  enable 0", f"  trigger {START}", world.other, "  enable 0", f"  trigger {END}", LATE)))


def of_synthetic_in_mount(world):
    mount, _ = mounted(world, TOOK, world.step, world.other, LATE)

    def look():
        mount.write("events/eprobes/late/enable", "1", "w")
        mount.write("events/kprobes/step/trigger", START)
        mount.write("events/kprobes/other/trigger", END)
        mount.hit()
        late(mount.read("trace"))
    with_mount(mount, look)


def of_synthetic_in_window(world):
    with Window(world) as window:
        window.start(TOOK, world.step, world.other, LATE)
        window.do("trigger", "step", START)
        window.do("trigger", "other", END)
        window.hit()
        late(window.seen(lambda text: text.count(" late: ") >= 100))


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


@contextlib.contextmanager
def mounted_on(world, *words):
    """A mount over processes that run already."""
    tracer = subprocess.Popen([KEVTRACE, "mount", world.path("t"), *words], stderr=subprocess.PIPE, text=True)
    try:
        while not (line := tracer.stderr.readline()).startswith("kevtrace: mounted on"):
            if not line:
                raise Wrong("no mount")
        yield lambda name: open(world.path("t/" + name), "r+" if name != "trace" else "r", encoding="utf-8")
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.communicate(timeout=60)


def several_in_mount(world):
    programs, list_of_pids = pids(world)
    with mounted_on(world, "-e", world.step, "--pid", list_of_pids) as file:
        hit_all(programs)
        with file("trace") as trace:
            expect(sorted(numbers(trace.read(), "step")), sorted(ALL + ALL))
    end_all(programs)


# ---- processes by what they are: a copy of the program, whose name nobody else has -------------------------------

def named(world):
    name = f"steps{os.getpid()}"[:15]
    shutil.copy(STEPS, world.path(name))
    return name, subprocess.Popen([world.path(name)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def chosen_in_run(world, in_script=False):
    name, program = named(world)
    step = f"p:step {name}:step i=%di:s64"
    words = ["-p", written(world, f"target comm {name}", step)] if in_script else ["-e", step, "--comm", name]
    tracer = subprocess.Popen([KEVTRACE, "run", *words, "-c", "100"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    expect(tracer.stderr.readline().startswith("kevtrace: runtime=inproc"), True)
    hit_all([program])
    out, said = tracer.communicate(timeout=60)
    end_all([program])
    accounts(said)
    expect(numbers(out, "step"), ALL)


def chosen_in_mount(world):
    name, program = named(world)
    with mounted_on(world, "-e", f"p:step {name}:step i=%di:s64", "--comm", name) as file:
        hit_all([program])
        with file("trace") as trace:
            expect(numbers(trace.read(), "step"), ALL)
    end_all([program])


def chosen_in_window(world):
    name, program = named(world)
    try:
        with Window(world) as window:
            window.do("attach-to", "comm", name)
            window.do("define", f"p:step {name}:step i=%di:s64")
            hit_all([program])
            expect(numbers(window.seen(lambda text: len(numbers(text, "step")) >= 100), "step"), ALL)
    finally:
        end_all([program])


# ---- functions that a JIT compiler makes, as it makes them -------------------------------------------------------

TWICE = "p:twice jit:twice n=%di:s64"


@contextlib.contextmanager
def jitted():
    """The program, whose functions wait to be called until they are probed."""
    program = Jitted.start(os.path.join(os.path.dirname(STEPS), "jitted"), 10)
    try:
        yield program
    finally:
        program.process.kill()
        program.process.communicate()
        program.clear()


def calls_of_twice(program):
    """Functions are compiled, again, and reused; how often `twice` was called."""
    first = program.compile_twice()
    program.step("reused")
    program.wait_for(first, 0xcc)
    program.step("data")
    return program.called("twice")


def hits_of_twice(text):
    return len(re.findall(r" twice: \(.*\) n=\d$", text, re.MULTILINE))


ALL_OF_JIT = [TWICE, "p:thrice jit:thrice", "p:other jit:other"]  # each is probed where `step` looks for a breakpoint


def jit_in_run(world, in_script=False):
    with jitted() as program:
        pid = str(program.process.pid)
        words = ["-p", written(world, f"target pid {pid}", *ALL_OF_JIT)] if in_script else ["--pid", pid, *[word for one in ALL_OF_JIT for word in ("-e", one)]]
        tracer = subprocess.Popen([KEVTRACE, "run", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while "waits for its function" not in (line := tracer.stderr.readline()):
            if not line:
                raise Wrong("the tracer ended")
        calls = calls_of_twice(program)
        tracer.send_signal(signal.SIGINT)
        out, said = tracer.communicate(timeout=60)
        accounts(said)
        expect(hits_of_twice(out), calls)


def jit_in_mount(world):
    with jitted() as program, mounted_on(world, "--pid", str(program.process.pid)) as file:
        for one in ALL_OF_JIT:
            with file("dynamic_events") as events:
                events.write(one + "\n")
        with file("events/kprobes/enable") as enable:
            enable.write("1")
        calls = calls_of_twice(program)
        with file("trace") as trace:
            expect(hits_of_twice(trace.read()), calls)


def jit_in_window(world):
    with jitted() as program, Window(world) as window:
        window.do("attach", str(program.process.pid))
        window.do("define", *ALL_OF_JIT)
        calls = calls_of_twice(program)
        expect(hits_of_twice(window.seen(lambda text: hits_of_twice(text) >= calls)), calls)


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


# ---- a program and the kernel together: each call of the program is an event of both sides ----------------------

BESIDE = ["p:user libc:lseek64 i=%si:u64", "p:step ksys_lseek i=$arg2:u64"]


def beside(world):
    """The same program, traced in process with the kernel beside it."""
    both = copy.copy(world)
    both.words, both.is_kernel = ["--with-kernel=" + world.words[1]], False
    return both


def has_both(text):
    expect([name for name in re.findall(rf" (user|step): \(.*?\) i={BASE // 1000}\d\d\d$", text, re.MULTILINE)], ["user", "step"] * 100)
    expect((numbers(text, "user"), numbers(text, "step")), (ALL, ALL))


def both_in_run(world):
    has_both(run(beside(world), "-e", BESIDE[0], "-e", BESIDE[1]))


def both_in_script(world):
    has_both(run(world, "-p", written(beside(world), "option with-kernel " + world.words[1], *BESIDE), words=[]))


def both_in_mount(world):
    mount, trace = mounted(beside(world), *BESIDE, on=("user", "step"))
    with_mount(mount, lambda: has_both(trace))


def both_in_window(world):
    with Window(beside(world)) as window:
        window.do("beside", world.words[1])
        window.start(*BESIDE)
        window.hit()
        has_both(window.seen(lambda text: numbers(text, "step") == ALL))


# ---- the window: what has no page of its own is a line that is written in its page Directory --------------------

def snapshot_in_window(world):
    with Window(world) as window:
        window.start(world.step)
        window.do("trigger", "step", f"snapshot:1 if i == {value(50)}")
        window.hit()
        expect(numbers(window.shown("snapshot", lambda text: "i=" in text), "step")[-1:], [50])


def stacktrace_in_window(world):
    with Window(world) as window:
        window.start(world.step)
        window.do("trigger", "step", TWO_STACKS)
        window.hit()
        expect(stacked(world, window.seen(lambda text: len(stacked(world, text)) >= 2)), [7, 8])


def counted_in_window(world):
    with Window(world) as window:
        window.start(world.step)
        window.do("trigger", "step", COUNT)
        window.hit()
        counted_each_once(window.shown("events/kprobes/step/hist", lambda text: "Hits: 100" in text))


def statistics_in_window(world):
    """By the page Histogram: its line, its table."""
    with Window(world) as window:
        window.start(world.step)
        window.do("count", "step", "i.loglinear", "i.min,i.max,i.avg", OURS.removeprefix("if "))
        window.hit()
        expect(window.do("counted", "100"), "~ 3997696-4030463\t100\t100.00 %\t4 000 000\t4 000 099\t4000049.50\n")


def full_tables_in_window(world):
    with Window(world) as window:
        window.start(world.step, world.other)
        window.do("count", "step", "i:size=128:top=3", "", OURS.removeprefix("if "))
        for event in ("step", "other"):
            window.do("trigger", event, DROPPING)
        window.hit()
        has_top_keys(window.shown("events/kprobes/step/hist", lambda text: "Hits: 100" in text))
        has_dropped(window.shown("events/kprobes/other/hist", lambda text: "Hits: 128" in text))


def whole_stacks_in_window(world):
    with Window(world) as window:
        window.start(world.step)
        window.do("trigger", "step", WHOLE_STACKS)
        window.hit()
        has_whole_stacks(world, window.shown("events/kprobes/step/hist", lambda text: "Hits: 100" in text))


def latencies_in_window(world):
    with Window(world) as window:
        window.start(TOOK, world.step, world.other)
        window.do("trigger", "step", START)
        window.do("trigger", "other", END)
        window.hit()
        took(window.seen(lambda text: text.count(" took: ns=") >= 100))


def all_stacks_in_window(world):
    with Window(world) as window:
        window.start(world.step)
        window.do("file", world.stack_option, "1")
        window.hit()
        expect(stacked(world, window.seen(lambda text: len(stacked(world, text)) >= 100)), ALL)


def instance_in_window(world):
    with Window(world) as window:
        window.start(world.step)
        window.do("file", "instances", "a")
        window.do("file", "instances/a/events/kprobes/step/filter", f"i > {value(97)}")
        window.do("file", "instances/a/events/kprobes/step/enable", "1")
        window.hit()
        expect(numbers(window.shown("instances/a/trace", lambda text: "i=" in text), "step"), [98, 99])
        expect(numbers(window.seen(lambda text: len(numbers(text, "step")) >= 100), "step"), ALL)


def event_pid_in_window(world):
    with Window(world) as window:
        window.start(world.step)
        window.do("file", "set_event_pid", "1")
        window.hit()
        window.do("file", "set_event_pid", "")
        window.hit(100, 200)
        expect(numbers(window.seen(lambda text: len(numbers(text, "step")) >= 100), "step"), list(range(100, 200)))


def newest_in_window(world):
    with Window(world) as window:
        window.start(world.step)
        window.do("file", "buffer_size_kb", "64")
        window.do("press", "Flight recorder")
        window.hit(0, 20000)
        expect(numbers(window.do("lines"), "step"), [])
        window.do("press", "Flight recorder")
        kept = numbers(window.seen(lambda text: "i=" in text and numbers(text, "step")[-1:] == [19999]), "step")
        expect((kept[-1], len(kept) < 20000, kept == sorted(kept)), (19999, True, True))


def followed_in_window(world):
    os.mkfifo(world.path("steps"))
    with Window(world) as window, os.fdopen(os.open(world.path("steps"), os.O_RDWR), "wb", buffering=0) as given:
        window.do("follow")
        window.do("start", "/bin/sh", "-c", f"{STEPS} < {world.path('steps')}; read x")
        window.do("define", world.step)
        given.write(steps().encode())
        expect(numbers(window.seen(lambda text: len(numbers(text, "step")) >= 100), "step"), ALL)

def several_in_window(world):
    programs, _ = pids(world)
    try:
        with Window(world) as window:
            window.do("attach", *(str(one.pid) for one in programs))
            window.do("define", world.step)
            hit_all(programs)
            expect(sorted(numbers(window.seen(lambda text: len(numbers(text, "step")) >= 200), "step")), sorted(ALL + ALL))
    finally:
        end_all(programs)


def static_in_window(world):
    with Window(world) as window:
        window.start()
        window.do("switch", "sched_process_exec", "1")
        subprocess.run(["/bin/true"], check=True)
        expect(len(re.findall(EXEC, window.seen(lambda text: re.search(EXEC, text)))) >= 1, True)


def formats_in_window(world):
    with Window(world) as window:
        window.start(world.step)
        window.hit()
        window.seen(lambda text: len(numbers(text, "step")) >= 100)
        for ending in ("dat", "dat7", "json", "csv", "pftrace", "chrome.json", "ctf", "folded", "svg", "perf", "txt", "trace"):
            window.do("save", world.path("w." + ending))
            expect(os.path.exists(world.path("w." + ending)), True)
        expect(numbers(report(world.path("w.dat")), "step"), ALL)


def questions_in_window(world):
    """How many, how much, how long: the page Measure, of what is recorded."""
    with Window(world) as window:
        window.start(world.step, world.back, world.other)
        window.do("filter", "step", OURS.removeprefix("if "))
        window.hit()
        window.seen(lambda text: len(numbers(text, "other")) >= 100)
        text = window.do("measure")
        expect([name for name in ("step", "back", "other") if f"\n {name}\t100\t" in text], ["step", "back", "other"])
        expect(re.search(r"^  i\t100\t", text, re.MULTILINE) is not None, True)  # a field: least, mean, quantiles
        expect(re.search(r"^  duration\t100\t", text, re.MULTILINE) is not None, True)

def compiled_in_window(world):
    with Window(world) as window:
        window.do("script", compiled(world))
        window.start()
        window.hit()
        expect(numbers(window.seen(lambda text: len(numbers(text, "step")) >= 100), "step"), ALL)


def injection_in_window(world):
    said = world.path("said")
    program = world.path("opens.py")
    with open(program, "w", encoding="utf-8") as file:
        file.write(f"try: open('/etc/hosts')\nexcept OSError: open({said!r}, 'w').write('refused')\n")
    with Window(world) as window:
        window.do("script", written(world, FAIL[0], f"  filter {FAIL[1]}", f"  inject {FAIL[2]}"), "unsafe")
        window.do("start", "/usr/bin/python3", "-S", program)
        window.seen(lambda text: os.path.exists(said) and os.path.getsize(said))
    with open(said, encoding="utf-8") as file:
        expect(file.read(), "refused")


OPEN = "open"


def table(world, runtime):
    """capability → door → what tries it, or the text of the cell."""
    rows = {
        "`p` probes": Three(["step"], step=ALL).cells(),
        "`r` probes": Three(["back"], back=100).cells(),
        "names and types of arguments": Three(["typed"], step=ALL).cells(),
        "types `be32`, `o32`, `string(LENGTH)`, `u8[LENGTH]`": Three(["own"], step=ALL, also=is_own).cells(),
        "floating point": Three(["real"], step=ALL, also=has_floats).cells(),
        "globs in places": Three(["globbed"], step=ALL).cells(),
        "lines of the source, local variables": Three(["line"], step=ALL).cells(),
        "functions of a file by its path": Three(["in_file"], step=ALL).cells(),
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
        "`.loglinear`, `.min .max .avg` of `hist`": {"command line": statistics_in_run, "script": statistics_in_script, "mount": statistics_in_mount,
                                                     "window": statistics_in_window},
        "`top=N`, `drop` of `hist`": {"command line": full_tables_in_run, "script": full_tables_in_script, "mount": full_tables_in_mount,
                                      "window": full_tables_in_window},
        "`stacktrace.full` of `hist`": {"command line": whole_stacks_in_run, "script": whole_stacks_in_script, "mount": whole_stacks_in_mount,
                                        "window": whole_stacks_in_window},
        "`hist` variables, synthetic events": {"command line": latencies_in_run, "script": latencies_in_script, "mount": latencies_in_mount},
        "eprobes on synthetic events": {"command line": of_synthetic_in_run, "script": of_synthetic_in_script, "mount": of_synthetic_in_mount,
                                        "window": of_synthetic_in_window},
        "a stack for every record": {"command line": all_stacks_in_run, "script": all_stacks_in_script, "mount": all_stacks_in_mount},
        "instances": {"command line": instance_in_run, "script": instance_in_script, "mount": instance_in_mount},
        "`set_event_pid`": {"command line": event_pid_in_run, "script": event_pid_in_script, "mount": event_pid_in_mount},
        "injection": {"command line": lambda w: injection("run", "-q", "-o", "/dev/null"), "script": injection_in_script,
                      "mount": lambda w: injection("mount", w.path("t"))},
        "the newest records (overwrite)": {"command line": newest_in_run, "script": newest_in_script, "mount": newest_in_mount},
        "programs that are followed": {"command line": followed_in_run, "script": followed_in_script, "mount": followed_in_mount},
        "several processes": {"command line": several_in_run, "script": lambda w: several_in_run(w, in_script=True), "mount": several_in_mount},
        "processes by name, control group, container": {"command line": chosen_in_run, "script": lambda w: chosen_in_run(w, in_script=True),
                                                        "mount": chosen_in_mount, "window": chosen_in_window},
        "functions of JIT compilers": {"command line": jit_in_run, "script": lambda w: jit_in_run(w, in_script=True), "mount": jit_in_mount,
                                       "window": jit_in_window},
        "compiled scripts": {"command line": compiled_in_run, "mount": compiled_in_mount},
        "the kernel's own events": {"command line": static_in_run, "script": static_in_script, "mount": static_in_mount},
        "recordings in every format": {"command line": every_format, "mount": raw_pages},
        "live questions (count, hist, lat, top, stream)": {"command line": questions, "script": lambda w: questions(w, in_script=True), "mount": questions_in_mount},
    }
    if world.is_kernel:
        rows["a program beside it (`--with-kernel`)"] = {"command line": both_in_run, "script": both_in_script, "mount": both_in_mount, "window": both_in_window}
        whole = "no: the whole machine is traced"
        for name in ("programs that are followed", "several processes", "processes by name, control group, container"):
            rows[name] = dict.fromkeys(DOORS, whole)
        answers = "no: over a kernel it answers as the kernel does, which knows no globs"
        rows["globs in places"] |= {"mount": answers, "window": answers}
        if runtime == "kmod":
            rows["functions of a file by its path"] = dict.fromkeys(DOORS, "no: the module has kprobes alone; `--runtime auto` gives uprobes to bpf")
        rows["functions of JIT compilers"] = dict.fromkeys(DOORS, "no: uprobes stand in files, and this memory has none")
        rows["injection"] = dict.fromkeys(DOORS, "no: the kernel's way is never changed")
        rows["lines of the source, local variables"] = dict.fromkeys(DOORS, "no: a kernel's BTF has no lines (those of programs, by bpf: `guest_hooks`)")
        rows["floating point"] = dict.fromkeys(DOORS, "no: the kernel saves no vector registers where it is probed")
    else:
        rows["the kernel's own events"] = dict.fromkeys(DOORS, "no: a process has none")
    rows["trigger `snapshot`"]["window"] = snapshot_in_window
    rows["trigger `stacktrace`"]["window"] = stacktrace_in_window
    rows["trigger `hist`"]["window"] = counted_in_window
    rows["`hist` variables, synthetic events"]["window"] = latencies_in_window
    rows["a stack for every record"]["window"] = all_stacks_in_window
    rows["instances"]["window"] = instance_in_window
    rows["`set_event_pid`"]["window"] = event_pid_in_window
    rows["injection"].setdefault("window", injection_in_window)
    rows["the newest records (overwrite)"]["window"] = newest_in_window
    rows["programs that are followed"].setdefault("window", followed_in_window)
    rows["several processes"].setdefault("window", several_in_window)
    rows["compiled scripts"]["window"] = compiled_in_window
    rows["the kernel's own events"].setdefault("window", static_in_window)
    rows["recordings in every format"]["window"] = formats_in_window
    rows["live questions (count, hist, lat, top, stream)"]["window"] = questions_in_window
    # What belongs to a recording or a script as a whole is the command line's, whose script says what is defined.
    for name in ("compiled scripts", "recordings in every format", "trigger `snapshot`"):
        rows[name].setdefault("script", rows[name]["command line"])
    return rows


def main():
    runtime = sys.argv[sys.argv.index("--runtime") + 1] if "--runtime" in sys.argv else "inproc"
    # For who works on one: doors, and rows whose names have a text.
    only = sys.argv[sys.argv.index("--only") + 1].split(",") if "--only" in sys.argv else []
    part = sys.argv[sys.argv.index("--rows") + 1] if "--rows" in sys.argv else ""
    sample = os.environ.get("KEVT_SAMPLE")
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    begin, end = f"<!-- {runtime} -->\n", f"<!-- end of {runtime} -->\n"
    before, rest = page.split(begin)
    now, after = rest.split(end)
    there = {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in (line.strip("|").split(" |") for line in now.splitlines())}
    if not HANDS:
        print("the window is not tried: KEVT_GUI_HANDS names no program", flush=True)
    world = World(runtime)
    failed = 0
    lines = [f"| {runtime} | " + " | ".join(DOORS) + " |", "|---" * (len(DOORS) + 1) + "|"]
    try:
        for name, cells in table(world, runtime).items():
            texts = []
            if part not in name:
                continue
            if sample and (len(lines) + int(sample)) % 5 and name in there:
                lines.append(f"| {name} | " + " | ".join(there[name]) + " |")
                continue
            for door in DOORS:
                cell = cells[door]
                if only and door not in only:
                    texts.append("not tried")
                    continue
                if door == "window" and not HANDS:  # in the guest it is tried in the soak
                    texts.append(there.get(name, [])[-1] if len(there.get(name, [])) == len(DOORS) else "?")
                    continue
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
    if "--print" in sys.argv:
        print(begin + text + end)
    if failed or only or part:
        sys.exit(failed != 0)
    if os.environ.get("KEVT_UPDATE_DOORS"):
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(before + begin + text + end + after)
    elif now != text:
        print(f"docs/doors.md says another thing of {runtime}; KEVT_UPDATE_DOORS=1 writes it:\n{text}")
        sys.exit(1)


main()
