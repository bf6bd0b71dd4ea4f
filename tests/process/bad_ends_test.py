"""Targets that end badly or become something else: SIGKILL, a fault of their own, exec, fork, spawn."""
import os
import re
import resource
import signal
import subprocess

from attached import wait_until
from kevtest import KEVTRACE, PROGRAMS, ProcessTest, Traced, _prepared, main, plain

BADLY = os.path.join(PROGRAMS, "badly")
TOUCH = "p:touch badly:touch n=%di:s64 s=+0(%si):string"
BACK = "r:back badly:touch v=$retval:s64"
SHORT = "p:short badly:touch_short n=%di:s64 w=+0(%dx):u64 s=+0(%si):string"


def told_of_exec(name):
    """What is told where the next program is still there when kevtrace looks, and nothing else."""
    told = rf"kevtrace: process \d+ \({name}\) has become another program \(exec\): its probes are gone\n"
    return rf"\A({told})?\Z".encode()


class BadEnds(ProcessTest):
    def badly(self, mode, *definitions, **options):
        return self.run_both([BADLY, mode], *definitions, **options)

    def check_hundred(self, traced):
        self.assertEqual([r["n"] for r in traced.records("touch")], list(range(100)))
        self.assertEqual({r["s"] for r in traced.records("touch")}, {b"before"})
        self.assertEqual([r["v"] for r in traced.records("back")], [3 * n + 1 for n in range(100)])

    def test_plain_run_as_a_yardstick(self):
        traced = self.badly("plain", TOUCH, BACK)
        self.assertEqual([r["n"] for r in traced.records("touch")], list(range(1000)))
        self.assertEqual([r["v"] for r in traced.records("back")], [3 * n + 1 for n in range(1000)])
        times = [r.time for r in traced.all]
        self.assertEqual(times, sorted(times))

    def test_segv_of_its_own(self):
        traced = self.badly("segv", TOUCH, BACK)
        self.assertEqual(traced.status, 139)
        self.check_hundred(traced)

    def test_kill_of_its_own(self):
        traced = self.badly("kill", TOUCH, BACK)
        self.assertEqual(traced.status, 137)
        self.check_hundred(traced)

    def test_killed_in_the_middle(self):
        """Somebody else sends SIGKILL while hits are under way."""
        for attempt in range(3):
            events, trace = self.path("events", f"{TOUCH}\n{BACK}\n".encode()), self.path(f"trace{attempt}")
            words = [KEVTRACE, "run", "-p", events, "-o", trace, "--buffer", "65536", "--", BADLY, "spin"]
            with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **_prepared({})) as tracer:
                pid = int(tracer.stdout.readline())
                self.wait_for_output(trace)
                os.kill(pid, signal.SIGKILL)
                out, err = tracer.communicate(timeout=60)
            with open(trace, "rb") as file:
                text = file.read()
            self.assertEqual((tracer.returncode, out), (137, b""))
            self.check_spun(err, text)

    def wait_for_output(self, path):
        wait_until(lambda: os.path.getsize(path) >= 20000, "there are records")

    def check_spun(self, err, text):
        """Each number once and in order; a gap is a lost record and no more of them than were counted."""
        traced = Traced(137, b"", err, text[-2_000_000:][text[-2_000_000:].find(b"\n") + 1:])
        for event in ("touch", "back"):
            account = traced.accounts[event]
            self.assertTrue(account.adds_up(), account)
            self.assertEqual(len(re.findall(rb": %s: \(" % event.encode(), text)), account.recorded)
            self.assertEqual(account.missed, 0)
        numbers = [r["n"] for r in traced.records("touch")]
        self.assertGreater(len(numbers), 100)
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertLess(numbers[-1], traced.accounts["touch"].hits)

    def test_exec(self):
        traced = self.run_traced([BADLY, "exec"], TOUCH, BACK, SHORT)
        self.assertEqual((traced.status, traced.out), (0, b"after exec\n"))
        self.assertRegex(traced.err, told_of_exec("badly"))
        self.assertEqual([r["n"] for r in traced.records("touch")], list(range(10)))

    def test_exec_from_a_thread_of_python(self):
        code = ("import os, sys, threading\n"
                "t = threading.Thread(target=os.execv, args=('/bin/sh', ['sh', '-c', 'echo from sh; exit 6']))\n"
                "t.start(); t.join()")
        traced = self.run_traced(["/usr/bin/python3", "-S", "-c", code], "p:exec libc:execv path=+0(%di):string",
                                 "p:malloc libc:malloc size=%di:u64", buffer_kb=16384)
        self.assertEqual((traced.status, traced.out), (6, b"from sh\n"))
        self.assertRegex(traced.err, told_of_exec("python3"))
        self.assertEqual(traced.one("exec")["path"], b"/bin/sh")

    def test_ignored_sigchld_is_inherited(self):
        """Whoever starts kevtrace may ignore SIGCHLD; the program's end is seen all the same."""
        words = [KEVTRACE, "run", "-q", "-e", "p:m libc:malloc", "-o", "/dev/null", "--", "/bin/sh", "-c", "exit 7"]
        done = subprocess.run(words, timeout=60, check=False,
                              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(done.returncode, 7)

    def test_a_mistake_keeps_the_earlier_trace(self):
        earlier = self.path("earlier", b"an earlier trace\n")
        words = [KEVTRACE, "run", "-e", "p:m libc:no_such_function", "-o", earlier, "--", "/bin/true"]
        done = subprocess.run(words, capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 3)
        with open(earlier, "rb") as file:
            self.assertEqual(file.read(), b"an earlier trace\n")

    def test_many_definitions_leave_room_for_guards(self):
        """A power of two of events, one of them a return probe: the runtime's own events take rows too."""
        lines = "r:back libc:open64\n" + "".join(f"p:e{i} libc:open64\n" for i in range(63))
        words = [KEVTRACE, "run", "-q", "-p", self.path("many", lines.encode()), "-o", "/dev/null", "--", "/bin/true"]
        self.assertEqual(subprocess.run(words, timeout=60, check=False).returncode, 0)

    def test_fork(self):
        """Children keep the probes; their records carry their own ids."""
        traced = self.run_traced([BADLY, "fork"], TOUCH, BACK, SHORT)
        self.assertEqual(traced.status, 0)
        children = [int(line.split()[0]) for line in traced.out.splitlines()]
        self.assertEqual([line.split()[1] for line in traced.out.splitlines()], [b"0", b"1", b"2"])
        by_number = {r["n"]: r for r in traced.records("touch") if r["n"] >= 1000}
        self.assertEqual([by_number[1000 + k].tid for k in range(3)], children)
        self.assertEqual([by_number[1000 + k]["s"] for k in range(3)], [b"child"] * 3)
        back = {r["v"]: r.tid for r in traced.records("back") if r["v"] > 3000}
        self.assertEqual([back[3001 + 3 * k] for k in range(3)], children)
        short = traced.records("short")
        self.assertEqual([(r["n"], r.tid, r["w"], r["s"]) for r in short],
                         [(2000 + k, children[k], 0, b"child") for k in range(3)])
        parent = [r for r in traced.records("touch") if r["n"] < 1000]
        self.assertEqual([r["n"] for r in parent], [0, 1, 2, 3, 4] * 2)
        self.assertEqual(len({r.tid for r in parent}), 1)
        self.assertNotIn(parent[0].tid, children)
        self.assert_none_lost(traced)

    def test_first_hit_in_a_child_that_shares_memory(self):
        """What a vfork child leaves behind does not put its id on its parent's records."""
        traced = self.run_traced([BADLY, "vfork"], TOUCH, BACK)
        self.assertEqual(traced.status, 0)
        own = [r for r in traced.records("touch") if r["s"] != b"vforked"]
        self.assertEqual([r["s"] for r in own], [b"parent", b"forked", b"forked", b"forked", b"parent"])
        self.assertEqual([r.tid for r in own], [r["n"] for r in own])
        self.assertEqual([r.tid for r in traced.records("back")], [r.tid for r in traced.records("touch")])

    def test_spawn(self):
        """posix_spawn and system() share the parent's memory until their exec."""
        traced = self.badly("spawn", TOUCH, "p:spawn libc:posix_spawn path=+0(%si):string", BACK)
        self.assertEqual([r["n"] for r in traced.records("touch")], list(range(20)))
        self.assertEqual([r["path"] for r in traced.records("spawn")][:20], [b"/bin/true"] * 20)
        traced = self.run_both(["/usr/bin/python3", "-S", "-c", "import subprocess\nfor i in range(5):\n"
                                "  print(subprocess.run(['/bin/sh', '-c', f'exit {i}']).returncode)"],
                               "p:open libc:open64 path=+0(%di):string", "r:close libc:close rc=$retval:s32",
                               buffer_kb=4096)
        self.assertEqual(traced.out, b"0\n1\n2\n3\n4\n")

    def test_core_limit_and_signal_of_a_shell(self):
        for end, status in (("kill -SEGV $$", 139), ("kill -TRAP $$", 133), ("kill -BUS $$", 135), ("kill -ABRT $$", 134),
                            ("ulimit -t 1; exit 5", 5)):
            traced = self.run_both(["/bin/sh", "-c", end], "p:m libc:malloc size=%di:u64")
            self.assertEqual(traced.status, status, end)

    def test_core_file_is_the_programs(self):
        with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
            if file.read().strip() != "core":
                self.skipTest("core files do not go to the working folder here")

        def no_limit():
            resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))

        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        size = {}
        for kind in ("plain", "traced"):
            folder = os.path.join(self.folder, kind)
            os.mkdir(folder)
            if kind == "plain":
                plain([BADLY, "segv"], cwd=folder, preexec_fn=no_limit)
            else:
                self.run_traced([BADLY, "segv"], TOUCH, BACK, cwd=folder, preexec_fn=no_limit)
            cores = [os.path.join(folder, name) for name in os.listdir(folder)]
            size[kind] = sum(os.stat(path).st_blocks * 512 for path in cores)
        self.assertEqual(size["plain"] > 0, size["traced"] > 0, size)
        self.assertLess(size["traced"], size["plain"] + (16 << 20), size)  # the rings are not in it

    def test_definition_for_one_event_in_two_places(self):
        """Two probes of one event: the sums are over both."""
        traced = self.run_traced([BADLY, "plain"], "p:both badly:touch n=%di:s64", "p:both badly:touch_short n=%di:s64")
        self.assertEqual(traced.accounts["both"].hits, 1000)
        self.assertEqual(plain([BADLY, "plain"])[:2], (traced.status, traced.out))


if __name__ == "__main__":
    main()
