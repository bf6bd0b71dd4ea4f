"""Libraries that a program unloads and loads again, the same or a newer one: their probes come back with them."""
import os
import shutil
import signal
import subprocess
import tempfile

from attached import Attached, Target, read, wait_until
from kevtest import PROGRAMS, TIMEOUT_S, main
from mounted import MountTest
from waiting_test import compiled

RELOADS = os.path.join(PROGRAMS, "reloads")
# `twice` has room for a jump, or is so short that it takes an int3.
LONG = b"int twice(int n) { static volatile int calls; calls = calls + 1; return %d * n; }"
SHORT = b"int twice(int n) { return %d * n; }"
# An int3 on an instruction of one byte; a place where two probes are neighbours.
ONE_BYTE = b'__asm__(".globl twice\\n.type twice,@function\\ntwice: push %rdi\\npop %rax\\nret\\n.size twice,.-twice\\n");'
NEIGHBOURS = (b'__asm__(".globl twice\\n.type twice,@function\\ntwice: nop\\nnop\\nnop\\nnop\\nlea (%rdi,%rdi),%eax\\n"'
              b'"nop\\nnop\\nnop\\nnop\\nnop\\nret\\n.size twice,.-twice\\n");')
INNER = "p:inner libagain.so:twice+4 n=%di:s32"
INT3 = b"204"
OTHER_BEFORE = b"int before(int n) { return n ? before(n / 3) * 7 : 1; }\n"

TWICE = "p:twice libagain.so:twice n=%di:s32"
BACK = "r:back libagain.so:twice v=$retval:s32"


def sum_of(calls, factor=2):
    return [b"%d" % (factor * calls * (calls + 1) // 2)]


def report_of(pid):
    """What stands where the process's dynamic linker reports to debuggers."""
    with open(f"/proc/{pid}/maps") as maps:
        line = next(line for line in maps if "/ld-linux" in line)
    symbols = subprocess.run(["nm", "-D", line.split()[-1]], check=True, capture_output=True, text=True).stdout
    place = next(line.split()[0] for line in symbols.splitlines() if " _dl_debug_state" in line)
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(int(line.split("-")[0], 16) + int(place, 16))
        return memory.read(5)


class Library:
    def __init__(self, folder):
        self.folder, self.path, self.number = folder, os.path.join(folder, "libagain.so"), 0

    def build(self, source, in_place=False):
        """Puts a newer library where the one before is, as a linker does or as cp does."""
        self.number += 1
        made = compiled(self.folder, f"build{self.number}.so", source, "-shared", "-fPIC", "-fno-ipa-ra")
        (shutil.copyfile if in_place else os.replace)(made, self.path)


class Reloading(Attached):
    def setUp(self):
        super().setUp()
        self.library = Library(self.folder)
        self.library.build(LONG % 2)
        self.load_line = b"load " + self.library.path.encode()

    def target(self, loaded=True):
        target = Target(self, [RELOADS])
        if loaded:
            self.load(target)
        return target

    def load(self, target):
        self.assertEqual(target.ask(self.load_line, b"load"), [b"0"])

    def check_calls(self, target, number, factor=2, who=b"calls"):
        self.assertEqual(target.ask(b"%s %d" % (who, number), who), sum_of(number, factor))

    def numbers(self, traced, name="twice", field="n"):
        return [record[field] for record in traced.records(name)]

    def test_one_that_was_there_before_the_tracer(self):
        target = self.target()
        tracer = self.start([target.pid], TWICE, BACK)
        self.check_calls(target, 3)
        for _ in range(3):
            target.ask(b"close")
            self.load(target)
            self.check_calls(target, 3)
        traced = self.stop(tracer, (TWICE, BACK))
        self.assertEqual(self.numbers(traced), [1, 2, 3] * 4)
        self.assertEqual(self.numbers(traced, "back", "v"), [2, 4, 6] * 4)
        self.assert_none_lost(traced)
        self.assertNotIn(b"GONE", traced.err)
        self.check_calls(target, 3)
        self.assertEqual(target.end(), 0)

    def test_at_another_place(self):
        target = self.target()
        tracer = self.start([target.pid], TWICE)
        before = target.ask(b"place")
        self.check_calls(target, 2)
        target.ask(b"close")
        self.assertEqual(target.ask(b"block 0", b"block"), [b"0"])
        self.load(target)
        self.assertNotEqual(target.ask(b"place"), before)
        self.check_calls(target, 3)
        traced = self.stop(tracer, (TWICE,))
        self.assertEqual(self.numbers(traced), [1, 2, 1, 2, 3])
        self.check_calls(target, 3)

    def test_only_who_probes_such_a_library_waits_for_reports(self):
        target = self.target()
        before = report_of(target.pid)
        for definition, is_watched in (("p:gets libc:fgets", False), ("p:main reloads:main", False), (TWICE, True)):
            tracer = self.start([target.pid], definition)
            self.assertEqual(report_of(target.pid) != before, is_watched, definition)
            self.stop(tracer, [definition])
            self.assertEqual(report_of(target.pid), before)

    def test_an_address_stays_gone(self):
        """As in the kernel: what comes to that place may be anything."""
        target = self.target()
        address = f"p:at {target.ask(b'place')[0].decode()} n=%di:s32"
        tracer = self.start([target.pid], BACK, address)
        self.check_calls(target, 2)
        target.ask(b"close")
        self.load(target)
        self.check_calls(target, 2)
        traced = self.stop(tracer, (BACK, address))
        self.assertEqual(self.numbers(traced, "back", "v"), [2, 4, 2, 4])
        self.assertEqual(self.numbers(traced, "at"), [1, 2])
        self.assertIn(b"at [GONE]", traced.err)
        self.assertNotIn(b"back [GONE]", traced.err)

    def test_a_symbol_without_a_library_waits_silently(self):
        target = self.target()
        anywhere = "p:twice twice n=%di:s32"
        tracer = self.start([target.pid], anywhere)
        self.check_calls(target, 2)
        target.ask(b"close")
        self.assertEqual(target.ask(b"load libz.so.1", b"load"), [b"-1"])
        self.load(target)
        self.check_calls(target, 2)
        traced = self.stop(tracer, (anywhere,))
        self.assertEqual(self.numbers(traced), [1, 2, 1, 2])
        self.assertNotIn(b"no function", traced.err)

    def test_a_newer_library_at_the_same_place(self):
        for in_place in (False, True):
            for before, after in ((LONG % 2, OTHER_BEFORE + LONG % 5), (SHORT % 2, SHORT % 5), (LONG % 2, SHORT % 5)):
                with self.subTest(in_place=in_place, after=after):
                    self.library.build(before)
                    target = self.target()
                    tracer = self.start([target.pid], TWICE, BACK)
                    self.check_calls(target, 3)
                    target.ask(b"close")
                    self.library.build(after, in_place)
                    self.load(target)
                    self.check_calls(target, 3, factor=5)
                    traced = self.stop(tracer, (TWICE, BACK))
                    self.assertEqual(self.numbers(traced), [1, 2, 3] * 2)
                    self.assertEqual(self.numbers(traced, "back", "v"), [2, 4, 6, 5, 10, 15])
                    self.check_calls(target, 3, factor=5)
                    self.assertEqual(target.end(), 0)

    def test_a_child_keeps_the_library_that_it_was_forked_with(self):
        """It has our patches in the old code, is left with the old code's own bytes, and runs nothing of the new one."""
        for source, closes in ((LONG, False), (LONG, True), (SHORT, False), (SHORT, True)):
            with self.subTest(source=source, closes=closes):
                self.library.build(source % 2)
                target = self.target()
                tracer = self.start([target.pid], TWICE)
                self.check_calls(target, 2)
                self.assertNotEqual(target.ask(b"fork"), [b"-1"])
                self.check_calls(target, 2, who=b"child")
                before = target.ask(b"place")
                target.ask(b"close")
                self.check_calls(target, 2, who=b"child")
                self.library.build(source % 5)
                self.load(target)
                self.assertEqual(target.ask(b"place"), before)
                self.check_calls(target, 2, factor=5)
                self.check_calls(target, 2, who=b"child")
                if closes:
                    target.ask(b"close")
                traced = self.stop(tracer, (TWICE,))
                # At the same place the short one's other code is refused: the child's int3 would lead into its copy.
                of_parent = 2 if b"forked children of the process run other code there" in traced.err else 4
                self.assertEqual(of_parent, 4 if source == LONG else 2)
                # What the child calls after its parent has unloaded the library is not recorded.
                self.assertEqual(self.numbers(traced), [1, 2] * (of_parent // 2 + 1))
                if not closes:
                    self.check_calls(target, 2, factor=5)
                self.check_calls(target, 2, who=b"child")
                self.assertNotIn(b"memfd:kevtrace", read(f"/proc/{target.pid}/maps"))
                self.assertEqual(target.end(), 0)

    def test_a_child_of_a_program_that_has_unloaded_it(self):
        """It is left without our patches, wherever they are."""
        for source, factor, definitions in ((LONG % 2, 2, (TWICE,)), (SHORT % 2, 2, (TWICE,)), (ONE_BYTE, 1, (TWICE,)),
                                            (NEIGHBOURS, 2, (TWICE, INNER))):
            for ending in (signal.SIGINT, signal.SIGKILL):
                with self.subTest(source=source, ending=ending):
                    self.library.build(source)
                    target = self.target()
                    tracer = self.start([target.pid], *definitions)
                    child = int(target.ask(b"fork")[0])
                    target.ask(b"close")
                    if ending == signal.SIGINT:
                        self.assertIn(b"twice [GONE]", self.stop(tracer, definitions).err)
                    else:
                        tracer.send_signal(ending)
                        tracer.wait()
                        wait_until(lambda: b"memfd:kevtrace" not in read(f"/proc/{child}/maps"), "the child is left")
                    self.check_calls(target, 4, factor, who=b"child")
                    self.assertEqual(target.end(), 0)

    def test_what_looks_like_ours_at_its_place_is_left_alone(self):
        for source in (LONG % 2, SHORT % 2, ONE_BYTE):
            self.library.build(source)
            target = self.target()
            tracer = self.start([target.pid], TWICE)
            target.ask(b"close")
            self.assertEqual(target.ask(b"block " + INT3, b"block"), [b"0"])
            self.stop(tracer, (TWICE,))
            self.assertEqual(target.ask(b"intact"), [b"1"])
            self.assertEqual(target.end(), 0)

    def test_unwinders_that_come_and_go(self):
        """Each has guards while a return probe is armed: they are the same ones each time."""
        target = self.target()
        gets = "p:gets libc:fgets"
        tracer = self.start([target.pid], gets, BACK)
        self.check_calls(target, 2)
        for _ in range(300):
            self.assertEqual(target.ask(b"load libgcc_s.so.1", b"load"), [b"-1"])  # it has no twice()
            self.assertEqual(target.ask(b"close"), [b"0"])
            self.assertNotIn(b"/libgcc_s", read(f"/proc/{target.pid}/maps"))
        traced = self.stop(tracer, (gets, BACK))
        self.assertNotIn(b"error", traced.err)
        self.assertEqual(traced.accounts["back"].hits, 2)

    def test_a_newer_library_without_the_function(self):
        target = self.target()
        tracer = self.start([target.pid], TWICE)
        self.check_calls(target, 2)
        target.ask(b"close")
        self.library.build(b"int thrice(int n) { return 3 * n; }")
        self.assertEqual(target.ask(self.load_line, b"load"), [b"-1"])
        traced = self.stop(tracer, (TWICE,))
        self.assertEqual(self.numbers(traced), [1, 2])
        self.assertIn(b"no function `twice`", traced.err)

    def test_many_times(self):
        times = 300
        target = self.target()
        tracer = self.start([target.pid], TWICE, BACK, words=["--hist", "twice:keys=n", "--hist-output", self.path("table")])
        for _ in range(times):
            self.check_calls(target, 2)
            target.ask(b"close")
            self.load(target)
        tracer.send_signal(signal.SIGINT)
        err = tracer.communicate(timeout=TIMEOUT_S)[1]
        all_hits = b"hits %d = recorded" % (2 * times)
        self.assertIn(b"twice: " + all_hits + b" 0 + aggregated %d + filtered 0 + lost 0 + missed 0" % (2 * times), err)
        self.assertIn(b"back: " + all_hits + b" %d + filtered 0 + lost 0 + missed 0" % (2 * times), err)
        for number in (1, 2):
            self.assertRegex(read(self.path("table")), rb"\{ n: +%d \} hitcount: +%d\b" % (number, times))
        self.check_calls(target, 2)

    def test_a_tracer_that_is_killed_between_two_libraries(self):
        target = self.target()
        tracer = self.start([target.pid], TWICE)
        target.ask(b"close")
        tracer.send_signal(signal.SIGKILL)
        tracer.wait()
        wait_until(lambda: b"memfd:kevtrace" not in read(f"/proc/{target.pid}/maps"), "it is left")
        self.load(target)
        self.check_calls(target, 3)


class BehindAMount(MountTest):
    COMMAND = (RELOADS,)

    def setUp(self):
        built = tempfile.TemporaryDirectory()
        self.addCleanup(built.cleanup)
        self.library = Library(built.name)
        self.library.build(LONG % 2)
        super().setUp()
        self.assertEqual(self.target.stdout.readline(), "ready\n")
        self.load()
        self.echo(TWICE, "kprobe_events")

    def load(self):
        self.assertEqual(self.ask("load " + self.library.path), "0")

    def numbers(self):
        return [int(line.split("n=")[1]) for line in self.cat("trace").splitlines() if " twice: " in line]

    def test_the_list_of_probes_tells(self):
        self.echo("1", "events/kprobes/twice/enable", "w")
        self.assertIn("libagain.so [OPTIMIZED]", self.cat("debug/kprobes/list"))
        self.ask("close")
        self.assertIn("[GONE]", self.cat("debug/kprobes/list"))
        self.load()
        self.assertIn("libagain.so [OPTIMIZED]", self.cat("debug/kprobes/list"))
        self.ask("calls 2")
        self.assertEqual(self.numbers(), [1, 2])
        self.assertEqual(self.end_mount(), {"twice": [2, 2, 0, 0, 0]})

    def test_off_and_on_while_it_is_gone(self):
        self.echo("1", "events/kprobes/twice/enable", "w")
        self.ask("calls 1")
        self.ask("close")
        self.echo("0", "events/kprobes/twice/enable", "w")
        self.echo("1", "events/kprobes/twice/enable", "w")
        self.load()
        self.ask("calls 2")
        self.assertEqual(self.numbers(), [1, 1, 2])

    def test_a_symbol_without_a_library_off_and_on(self):
        self.echo("p:any twice n=%di:s32", "kprobe_events")
        self.echo("1", "events/kprobes/any/enable", "w")
        self.ask("close")
        self.echo("0", "events/kprobes/any/enable", "w")
        self.echo("1", "events/kprobes/any/enable", "w")
        self.load()
        self.ask("calls 2")
        self.assertEqual(self.end_mount(), {"any": [2, 2, 0, 0, 0]})

    def test_what_looks_like_ours_where_an_event_is_off(self):
        self.echo("1", "events/kprobes/twice/enable", "w")
        self.ask("calls 1")
        self.echo("0", "events/kprobes/twice/enable", "w")
        self.ask("close")
        self.assertEqual(self.ask("block " + INT3.decode()), "0")
        self.end_mount()
        self.assertEqual(self.ask("intact"), "1")

    def test_on_again_in_a_newer_one(self):
        self.echo("1", "events/kprobes/twice/enable", "w")
        self.ask("calls 1")
        self.echo("0", "events/kprobes/twice/enable", "w")
        self.ask("close")
        self.library.build(OTHER_BEFORE + LONG % 5)
        self.load()
        self.ask("calls 2")
        self.echo("1", "events/kprobes/twice/enable", "w")
        self.assertEqual(self.ask("calls 2"), "15")
        self.assertEqual(self.numbers(), [1, 1, 2])

    def test_a_filter_that_changes_while_it_is_gone(self):
        self.echo("1", "events/kprobes/twice/enable", "w")
        self.ask("close")
        self.echo("n > 1", "events/kprobes/twice/filter", "w")
        self.load()
        self.ask("calls 3")
        self.assertEqual(self.numbers(), [2, 3])
        self.assertEqual(self.end_mount(), {"twice": [3, 2, 1, 0, 0]})


del Attached, MountTest

if __name__ == "__main__":
    main()
