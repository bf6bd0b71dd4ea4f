"""Markers of user programs (USDT): every form of argument, several places, semaphores, of a self-made program and of
Debian's python3."""
import os
import random
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from kevtest import KEVTRACE, PROGRAMS, main, plain
from mounted import MountTest

MARKED = os.path.join(PROGRAMS, "marked")
SEED = int(os.environ.get("KEVT_SEED", random.randrange(1 << 32)))
PYTHON = os.path.realpath("/usr/bin/python3")
PROGRAM = """
import gc
import colorsys
gc.collect()
for _ in range(7):
    cycle = []
    cycle.append(cycle)
    del cycle
print("collected %d" % gc.collect())  # in one piece: kevtrace writes there, too
gc.collect(1)
"""


def lines_of(out, name):
    """What stands behind `NAME: (PLACE) ` in each trace line of the event."""
    return re.findall(rf" {name}: \([^)]*\) ?(.*)$", out, re.MULTILINE)


class Markers(unittest.TestCase):
    def run_marked(self, *definitions, rounds=2, options=()):
        words = [word for definition in definitions for word in ("-e", definition)]
        done = subprocess.run([KEVTRACE, "run", *options, *words, "--", MARKED, str(rounds)], capture_output=True, text=True,
                              timeout=60)
        return done.returncode, done.stdout, done.stderr

    def test_every_form_of_argument(self):
        status, out, err = self.run_marked(
            "p:regs marked:marked:registers $arg1 $arg2 $arg3 text=$arg3:string low=$arg4 word=$arg5",
            "p:mem marked:marked:memory $arg1 $arg2 $arg3 text=$arg4:string c=$arg5 d=$arg6 counter=$arg7 first=+0($arg4):char")
        self.assertEqual(status, 0, err)
        regs, mem = lines_of(out, "regs"), lines_of(out, "mem")
        self.assertEqual(len(regs), 2)
        for number, line in enumerate(regs, 1):
            self.assertRegex(line, rf'^arg1={number:#x} arg2={-number} arg3=0x[0-9a-f]+ text="a text" low={number} '
                                   rf"word={65536 - number}$")
        self.assertEqual(mem, [f'arg1={n:#x} arg2={-n} arg3={-n} text="in memory" c=-42 d=0x7 counter=-77 first=\'i\''
                               for n in (1, 2)])

    def test_floating_point(self):
        status, out, err = self.run_marked("p:m marked:marked:measured $arg1 $arg2 there=$arg3", options=("--filter", "m: arg2 > 1.5"))
        self.assertEqual(status, 0, err)
        self.assertEqual(lines_of(out, "m"), ["arg1=2.1 arg2=3 there=2.1"])

    def test_all_places_of_a_marker_are_one_event(self):
        status, out, err = self.run_marked("p:both marked:marked:twice n=$arg1")
        self.assertEqual(status, 0, err)
        self.assertEqual(lines_of(out, "both"), ["n=1", "n=1001", "n=2", "n=1002"])
        self.assertIn("both: hits 4 = recorded 4 ", err)

    def test_a_filter_and_a_trigger(self):
        status, out, err = self.run_marked("p:both marked:marked:twice n=$arg1", rounds=9,
                                           options=("--filter", "both: n > 1000", "--trigger", "both: traceoff if n == 1003"))
        self.assertEqual(status, 0, err)
        self.assertEqual(lines_of(out, "both"), ["n=1001", "n=1002", "n=1003"])

    def test_all_arguments_and_the_name_that_perf_gives(self):
        status, out, err = self.run_marked("p marked:marked:twice $arg*")
        self.assertEqual(status, 0, err)
        self.assertEqual(lines_of(out, "twice"), ["arg1=1", "arg1=1001", "arg1=2", "arg1=1002"])

    def test_a_semaphore_is_up_while_somebody_traces(self):
        status, out, err = self.run_marked("p:g marked:marked:guarded n=$arg1", "p:h marked:marked:guarded n=$arg1")
        self.assertEqual(status, 0, err)
        self.assertEqual(lines_of(out, "g"), ["n=0x1", "n=0x2"])
        self.assertEqual(re.findall(r"^\d semaphore \d$", out, re.MULTILINE), ["1 semaphore 2", "2 semaphore 2"])
        self.assertEqual(plain([MARKED, "1"])[1], b"1 semaphore 0\n")

    def test_lengths_of_texts(self):
        """An argument that is a length has its own type, whatever the text's address is."""
        for written in ("s=+0($arg3):string($arg4)", "s=$arg3:string($arg4)", "s=+0(%dx):string($arg4)"):
            listed = subprocess.run([KEVTRACE, "explain", "-e", f"p:m marked:marked:registers {written}", "--", MARKED, "1"], capture_output=True, text=True, check=True).stdout
            self.assertIn(" s=+0(%dx):string(%di:u8)", listed, written)

    def test_what_is_wrong_is_said(self):
        for definition, words in (
                ("p:x marked:marked:twise", "`marked` has no marker `marked:twise`; near it: `marked:twice`"),
                ("r:x marked:marked:twice", "a marker is a place, not a function: `p` probes it"),
                ("p:x marked:marked:twice a=$arg2", "`marked:twice` has 1 argument"),
                ("p:x marked:marked:indexed a=$arg2", "its address is a sum of two registers")):
            status, out, err = self.run_marked(definition)
            self.assertEqual((status, lines_of(out, "x")), (3, []), err)
            self.assertIn(words, err)
        status, out, err = self.run_marked("p:x marked:marked:indexed a=$arg1")
        self.assertEqual((status, lines_of(out, "x")), (0, ["a=0x1", "a=0x2"]), err)

    def test_markers_of_python(self):
        """With semaphores; the program says itself what is to be found."""
        if b"python:gc__start" not in plain([KEVTRACE, "list", "--usdt", PYTHON])[1]:
            self.skipTest("this python has no markers")
        done = subprocess.run(
            [KEVTRACE, "run", "-e", f"p:gc {PYTHON}:python:gc__start generation=$arg1",
             "-e", f"p:done {PYTHON}:python:gc__done found=$arg1",
             "-e", f"p:load {PYTHON}:python:import__find__load__start name=$arg1:string",
             "--", PYTHON, "-S", "-c", PROGRAM], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("collected 7", done.stdout)
        collections = list(zip(lines_of(done.stdout, "gc"), lines_of(done.stdout, "done")))
        collected = collections.index(("generation=2", "found=7"))
        self.assertEqual(collections[collected + 1][0], "generation=1")
        self.assertIn('name="colorsys"', lines_of(done.stdout, "load"))

    def test_a_compiled_script(self):
        script = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"markers-{os.getpid()}.kev")
        compiled = script + "o"
        for path in (script, compiled):
            self.addCleanup(lambda path=path: os.path.exists(path) and os.unlink(path))
        with open(script, "w") as file:
            file.write("p:both marked:marked:twice n=$arg1\np:g marked:marked:guarded n=$arg1\n")
        status, out, err = plain([KEVTRACE, "compile", script, "-o", compiled, "--", MARKED, "1"])
        self.assertEqual(status, 0, err)
        done = subprocess.run([KEVTRACE, "run", compiled, "--", MARKED, "1"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(lines_of(done.stdout, "both") + lines_of(done.stdout, "g"), ["n=1", "n=1001", "n=0x1"])

    def test_damaged_notes(self):
        """Whatever stands there: a word about it, in no time."""
        with open(MARKED, "rb") as file:
            whole = file.read()
        places = [match.start() for match in re.finditer(rb"\x08\0\0\0.\0\0\0\x03\0\0\0stapsdt\0", whole, re.DOTALL)]
        self.assertGreater(len(places), 4)
        dice = random.Random(SEED)
        damaged = os.path.join(tempfile.mkdtemp(), "marked")
        self.addCleanup(shutil.rmtree, os.path.dirname(damaged))
        for _ in range(100):
            changed = bytearray(whole)
            for _ in range(dice.randrange(1, 5)):
                at = dice.choice(places) + dice.randrange(60)
                changed[at] = dice.choice((0, 0xff, dice.randrange(256)))
            with open(damaged, "wb") as file:
                file.write(changed)
            with self.subTest(KEVT_SEED=SEED):
                self.assertIn(plain([KEVTRACE, "list", "--usdt", damaged])[0], (0, 1))

    def test_list(self):
        status, out, err = plain([KEVTRACE, "list", "--usdt", MARKED])
        self.assertEqual(status, 0, err)
        self.assertEqual(out.decode().splitlines(), [
            "marked:guarded  1 place  semaphore  8@%rax",
            "marked:indexed  1 place  8@%rsi 8@(%rdi,%rsi,8)",
            "marked:measured  1 place  -8f@%xmm0 4f@%xmm1 8f@(%rax)",
            "marked:memory  1 place  8@(%rax) -8@8(%rax) -4@0x10(%rax) 8@24(%rax) -4@$-42 8@$7 -4@marked_counter(%rip)",
            "marked:registers  1 place  8@%rdi -4@%esi 8@%rdx 1@%dil 2@%si",
            "marked:twice  2 places  -8@%rbx"])
        status, out, err = plain([KEVTRACE, "list", "--usdt", "*:tw*", MARKED])
        self.assertEqual(out, b"marked:twice  2 places  -8@%rbx\n")
        status, out, err = plain([KEVTRACE, "list", "--usdt", "/bin/true"])
        self.assertEqual((status, out), (1, b""))
        self.assertIn(b"it has no markers (.note.stapsdt)", err)


class InAMount(MountTest):
    COMMAND = (MARKED,)

    def play(self, line="go"):
        self.target.stdin.write(line + "\n")
        self.target.stdin.flush()
        return self.target.stdout.readline().rstrip("\n")

    def trace(self, name):
        return lines_of(self.cat("trace"), name)

    def test_what_is_written_is_what_a_kernel_takes(self):
        self.echo(f"p:both {MARKED}:marked:twice n=$arg1\n", "uprobe_events")
        listing = self.cat("uprobe_events").splitlines()
        self.assertEqual(len(listing), 2)
        for line, register in zip(listing, ("bx", "cx")):
            self.assertRegex(line, rf"^p:uprobes/both {re.escape(MARKED)}:0x[0-9a-f]+ n=%{register}:s64$")
        self.echo("1", "events/uprobes/both/enable", "w")
        self.play()
        self.assertEqual(self.trace("both"), ["n=1", "n=1001"])
        self.echo("0", "events/uprobes/both/enable", "w")
        self.echo("-:both\n", "uprobe_events")
        self.assertEqual(self.cat("uprobe_events"), "")

    def test_semaphores_are_lowered_again(self):
        self.assertEqual(self.play(), "1 semaphore 0")
        self.echo(f"p:g {MARKED}:marked:guarded n=$arg1\n", "uprobe_events")
        self.assertEqual(self.play(), "2 semaphore 0")
        self.echo("1", "events/uprobes/g/enable", "w")
        self.assertEqual(self.play(), "3 semaphore 1")
        self.target.stdin.write("fork\n")
        self.assertEqual(self.play(), "4 semaphore 1")  # the child's
        self.echo("0", "events/uprobes/g/enable", "w")
        self.assertEqual(self.play(), "5 semaphore 0")
        self.echo("1", "events/uprobes/g/enable", "w")
        self.assertEqual(self.play(), "6 semaphore 1")
        self.end_mount()
        self.assertEqual(self.play(), "7 semaphore 0")

    def test_a_tracer_that_is_killed_leaves_none_raised(self):
        self.echo(f"p:g {MARKED}:marked:guarded n=$arg1\n", "uprobe_events")
        self.echo("1", "events/uprobes/g/enable", "w")
        self.assertEqual(self.play(), "1 semaphore 1")
        self.signal_mount(9)
        self.mount.wait(timeout=60)
        end = time.monotonic() + 60
        while time.monotonic() < end:  # what is left of the killed one may still be at work
            done = subprocess.run([KEVTRACE, "run", "--pid", str(self.target.pid), "-d", "0.1", "-e", "p:x libc:getppid"],
                                  capture_output=True, text=True, timeout=60)
            if "is traced by kevtrace already" not in done.stderr:
                break
        self.assertEqual((done.returncode, self.play()), (0, "2 semaphore 0"), done.stderr)

    def test_a_mistake_leaves_nothing(self):
        with self.assertRaises(OSError):
            self.echo("p:both marked:marked:twice n=$arg2\n", "kprobe_events")
        self.assertIn("`marked:twice` has 1 argument", self.cat("error_log"))
        self.assertEqual(self.cat("dynamic_events"), "")


if __name__ == "__main__":
    main()
