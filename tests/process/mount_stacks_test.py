"""The trigger `stacktrace` on a mount over processes: exact stacks of a program that knows where its calls return to."""
import os
import re
import shutil
import signal
import subprocess

from kevtest import KEVTRACE, PROGRAMS, ProcessTest, main
from mounted import is_mounted, wait_until

LEAF = 'p:lf chain:leaf n=%di:s32 text=+0(%si):string\n'
TRIGGER = "events/kprobes/lf/trigger"
ENDS_IN = ["main", "libc.so.6", "__libc_start_main", "_start"]  # innermost first; libc's own has no symbol, but a file


class Chain:
    """A running programs/chain."""

    def __init__(self):
        self.process = subprocess.Popen([os.path.join(PROGRAMS, "chain")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        assert self.process.stdout.readline() == "ready\n"

    def write(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def answer(self):
        """Addresses of leaf() and of what each call returns to, innermost first."""
        return [int(word, 16) for word in self.process.stdout.readline().split()[1:]]

    def call(self, number):
        self.write(number)
        return self.answer()

    def end(self):
        self.process.kill()
        self.process.communicate()


class Entry:
    """A line of the trace, and the stack behind it: [(name or "", address)], or None."""

    def __init__(self, tid, event, text):
        self.tid, self.event, self.text, self.stack = tid, event, text, None

    def addresses(self):
        return [address for _, address in self.stack]


def entries_of(trace):
    found = []
    for line in trace.splitlines():
        if not line or line.startswith("#"):
            continue
        if match := re.fullmatch(r" => (?:(\S+)\+0x[0-9a-f]+(?:/0x[0-9a-f]+(?: \[\S+\])?)?)? <([0-9a-f]{16})>", line):
            found[-1].stack.append((match[1] or "", int(match[2], 16)))
            continue
        match = re.fullmatch(r" +(?:\S+)-(\d+) +\[\d+\] \S+ +\d+\.\d+: (?:(<user stack trace>)|(\w+): \(.*?\) ?(.*))", line)
        if not match:
            raise AssertionError(f"not a line of a trace: {line!r}")
        if match[2]:
            assert found[-1].tid == int(match[1]) and found[-1].stack is None
            found[-1].stack = []
        else:
            found.append(Entry(int(match[1]), match[3], match[4]))
    return found


class MountedChains(ProcessTest):
    PROCESSES = 1

    def setUp(self):
        super().setUp()
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            self.skipTest("/dev/fuse cannot be opened")
        self.dir = os.path.join(self.folder, "t")
        self.log = open(os.path.join(self.folder, "log"), "w+")
        self.addCleanup(self.log.close)
        self.chains = [Chain() for _ in range(self.PROCESSES)]
        for chain in self.chains:
            self.addCleanup(chain.end)
        pids = ",".join(str(chain.process.pid) for chain in self.chains)
        self.mount = subprocess.Popen([KEVTRACE, "mount", self.dir, "--pid", pids], stderr=self.log)
        self.addCleanup(self.leave)
        wait_until(lambda: is_mounted(self.dir) or self.mount.poll() is not None, "the mount")
        if self.mount.poll() is not None:
            self.log.seek(0)
            self.skipTest("cannot mount here: " + self.log.read())

    def leave(self):
        if self.mount.poll() is None:
            self.mount.send_signal(signal.SIGINT)
            self.mount.wait(timeout=60)
        subprocess.run(["umount", "-l", self.dir], stderr=subprocess.DEVNULL)

    def cat(self, name):
        with open(os.path.join(self.dir, name)) as file:
            return file.read()

    def echo(self, text, name, mode="a"):
        with open(os.path.join(self.dir, name), mode) as file:
            file.write(text)

    def entries(self, event, count):
        """Waits for so many of that event."""
        wait_until(lambda: sum(e.event == event for e in entries_of(self.cat("trace"))) >= count, f"{count} of {event}")
        return [entry for entry in entries_of(self.cat("trace")) if entry.event == event]

    def account(self, event):
        self.log.seek(0)
        line = next(line for line in self.log if line.startswith(event + ": hits"))
        return [int(word) for word in line.split() if word.isdigit()]

    def check_stack(self, entry, expected):
        self.assertIsNotNone(entry.stack, entry.text)
        self.assertEqual(entry.addresses()[:5], expected)
        self.assertEqual([name for name, _ in entry.stack[:4]], ["leaf", "inner", "middle", "outer"])
        self.assertEqual([name for name, _ in entry.stack[4:] if name], ENDS_IN)


class OneProcess(MountedChains):
    def test_condition_count_and_removal(self):
        chain = self.chains[0]
        self.echo(LEAF, "kprobe_events")
        plain = self.cat("events/kprobes/lf/format")
        self.echo("stacktrace:3 if n > 4", TRIGGER, "w")
        self.assertEqual(self.cat(TRIGGER), "stacktrace:count=3 if n > 4\n")
        self.assertEqual(self.cat("events/kprobes/lf/enable"), "0*\n")
        self.echo("1", "events/kprobes/enable")
        expected = [chain.call(number) for number in range(1, 10)]
        entries = self.entries("lf", 9)
        self.assertEqual([entry.text for entry in entries], [f'n={i} text="word"' for i in range(1, 10)])
        for number, (entry, addresses) in enumerate(zip(entries, expected), 1):
            if number in (5, 6, 7):
                self.check_stack(entry, addresses)
            else:
                self.assertIsNone(entry.stack, number)
        self.assertEqual(self.cat(TRIGGER), "stacktrace:count=0 if n > 4\n")
        self.echo("!stacktrace", TRIGGER, "w")
        self.assertIn("# Available triggers:", self.cat(TRIGGER))
        self.assertEqual(self.cat("events/kprobes/lf/format"), plain)
        chain.call(50)
        self.assertIsNone(self.entries("lf", 10)[-1].stack)
        self.assertEqual(self.cat("error_log"), "")

    def test_an_event_that_is_off_has_stacks_alone(self):
        self.echo(LEAF, "kprobe_events")
        self.echo("stacktrace", TRIGGER, "w")
        expected = self.chains[0].call(1)
        wait_until(lambda: "<user stack trace>" in self.cat("trace"), "a stack")
        lines = [line for line in self.cat("trace").splitlines() if not line.startswith("#")]
        self.assertIn("<user stack trace>", lines[0])
        self.assertIn(f" <{expected[1]:016x}>", lines[2])
        self.assertFalse([line for line in lines if " lf: " in line])

    def test_a_return_probe_s_stack_begins_where_it_returns_to(self):
        expected = self.chains[0].call(3)  # under the probe leaf() itself sees our code as the place it returns to
        self.echo("r:lf chain:leaf got=$retval:s32\n", "kprobe_events")
        self.echo("stacktrace", TRIGGER, "w")
        self.echo("1", "events/kprobes/enable")
        self.chains[0].call(3)
        self.assertEqual(self.entries("lf", 1)[0].addresses()[:4], expected[1:])

    def test_pipes_give_what_trace_shows(self):
        self.echo(LEAF, "kprobe_events")
        self.echo("stacktrace", TRIGGER, "w")
        self.echo("1", "events/kprobes/enable")
        expected = [self.chains[0].call(number) for number in range(5)]
        self.entries("lf", 5)
        shown = [line for line in self.cat("trace").splitlines(keepends=True) if not line.startswith("#")]
        with open(os.path.join(self.dir, "trace_pipe")) as pipe:
            self.assertEqual([pipe.readline() for _ in shown], shown)
        for entry, addresses in zip(entries_of("".join(shown)), expected):
            self.check_stack(entry, addresses)

    def test_trace_cmd_records_them(self):
        if not shutil.which("trace-cmd"):
            self.skipTest("no trace-cmd")
        self.echo(LEAF, "kprobe_events")
        self.echo("stacktrace", TRIGGER, "w")
        self.echo("1", "events/kprobes/enable")
        expected = [self.chains[0].call(number) for number in range(5)]
        self.entries("lf", 5)
        path = os.path.join(self.folder, "extracted.dat")
        done = subprocess.run([KEVTRACE, "exec", self.dir, "--", "trace-cmd", "extract", "-o", path], capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = subprocess.run(["trace-cmd", "report", path], capture_output=True, text=True, timeout=120).stdout
        for addresses in expected:
            for address in addresses:
                self.assertIn(f"{address:x}", text)
        self.assertEqual(text.count("user_stack"), 5, text)
        done = subprocess.run([KEVTRACE, "report", path], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        ours = done.stdout
        self.assertEqual(ours.count("<user stack trace>"), 5, ours)
        self.assertIn(f" => 0x{expected[0][4]:x}", ours)

    def test_options_give_every_record_a_stack(self):
        self.echo(LEAF + "p:md chain:middle n=%di:s32\n", "kprobe_events")
        self.echo("1", "events/kprobes/enable")
        for number, option in enumerate(("userstacktrace", "stacktrace")):
            self.echo("", "trace", "w")
            self.echo("1", f"options/{option}", "w")
            expected = self.chains[0].call(number)
            self.check_stack(self.entries("lf", 1)[0], expected)
            self.assertEqual(self.entries("md", 1)[0].addresses()[1:3], expected[3:])
            self.echo("1", "options/sym-userobj", "w")
            start = self.start_of("chain", expected[0])
            program = os.path.realpath(os.path.join(PROGRAMS, "chain"))
            self.assertIn(f" => {program}[+0x{expected[0] - start:x}]\n", self.cat("trace"))
            self.echo("0", "options/sym-userobj", "w")
            self.echo("0", f"options/{option}", "w")
            self.chains[0].call(77)
            self.assertIsNone(self.entries("lf", 2)[1].stack)

    def start_of(self, name, address):
        with open(f"/proc/{self.chains[0].process.pid}/maps") as maps:
            for line in maps:
                start, end = (int(word, 16) for word in line.split()[0].split("-"))
                if start <= address < end and line.rstrip().endswith("/" + name):
                    return start
        raise AssertionError("not mapped")

    def test_the_process_dies_while_its_stacks_are_read(self):
        chain = self.chains[0]
        self.echo(LEAF, "kprobe_events")
        self.echo("stacktrace", TRIGGER, "w")
        self.echo("1", "events/kprobes/enable")
        expected = chain.call(1)
        chain.write("die")
        self.assertEqual(chain.process.wait(timeout=60), -signal.SIGKILL)
        for entry in self.entries("lf", 201)[:201]:
            self.check_stack(entry, expected)
        self.leave()
        hits, recorded, filtered, lost, missed = self.account("lf")
        self.assertEqual((hits, recorded, filtered, lost, missed), (201, 201, 0, 0, 0))

    def test_set_and_removed_while_it_is_hit(self):
        """Records with and without a stack are under way together: none is taken for the other, none is lost."""
        chain = self.chains[0]
        self.echo(LEAF, "kprobe_events")
        self.echo("1", "events/kprobes/enable")
        expected = chain.call(77)
        chain.write("77+")
        for _ in range(8):
            self.echo("", "trace", "w")
            self.echo("stacktrace", TRIGGER, "w")
            wait_until(lambda: self.cat("trace").count("<user stack trace>") > 5, "stacks")
            entries = entries_of(self.cat("trace"))
            self.echo("!stacktrace", TRIGGER, "w")
            before = self.cat("trace").count(" lf: ")
            wait_until(lambda: self.cat("trace").count(" lf: ") > before + 5, "hits without")
            after = entries_of(self.cat("trace"))
            self.assertIsNone(after[-1].stack)
            for entry in entries + after:
                self.assertEqual(entry.text, 'n=77 text="word"')
                if entry.stack:
                    self.assertEqual(entry.addresses()[:3], expected[:3])
        chain.call(78)
        wait_until(lambda: "n=78" in self.cat("trace"), "the last hit")
        self.leave()
        numbers = self.account("lf")
        self.assertEqual(numbers[0], sum(numbers[1:]))
        self.assertEqual(numbers[4], 0, numbers)

    def test_the_largest_record_has_a_stack_too(self):
        self.echo("p:lf chain:leaf " + " ".join(f"a{i}=+{512 * i}($stack):x64[64]" for i in range(4)) + "\n",
                  "kprobe_events")
        self.echo("stacktrace", TRIGGER, "w")
        self.echo("1", "events/kprobes/enable")
        expected = self.chains[0].call(1)
        (entry,) = self.entries("lf", 1)
        self.assertEqual(entry.addresses()[:len(expected)], expected)


class TwoProcesses(MountedChains):
    PROCESSES = 2

    def test_each_is_unwound_by_its_own_files(self):
        self.echo(LEAF, "kprobe_events")
        self.echo("stacktrace", TRIGGER, "w")
        self.echo("1", "events/kprobes/enable")
        expected = {chain.process.pid: chain.call(i) for i, chain in enumerate(self.chains)}
        entries = self.entries("lf", 2)
        self.assertEqual({entry.tid for entry in entries}, set(expected))
        for entry in entries:
            self.check_stack(entry, expected[entry.tid])


if __name__ == "__main__":
    main()
