"""Programs with a seccomp filter of their own: hits cost them nothing that it forbids."""
import os
import subprocess
import unittest

from attach_test import Attached, Target, read, text_of
from kevtest import KEVTRACE, PROGRAMS, main

FILTERED = os.path.join(PROGRAMS, "filtered")
WORK = "p:w work n=%di:s64"
CALLS = 1000


def may_suspend():
    """Whether PTRACE_O_SUSPEND_SECCOMP is for us: CAP_SYS_ADMIN, and no filter of our own (ptrace(2))."""
    status = dict(line.split(b":", 1) for line in read("/proc/self/status").splitlines())
    return int(status[b"Seccomp"]) == 0 and bool(int(status[b"CapEff"], 16) >> 21 & 1)


class Filtered(Attached):
    def check(self, how, *words, threads=5):
        traced = self.run_both([FILTERED, how, *words], WORK, "r:back work v=$retval:s64", filters=["back: v == 1000"])
        self.assertEqual(traced.status, 4)
        self.assert_none_lost(traced)
        records = [r for r in traced.records("w") if r["n"] >= 0]
        self.assertEqual(sorted(r["n"] for r in records), sorted([*range(CALLS)] * threads))
        self.assertEqual(len({r.tid for r in records}), threads)
        self.assertEqual(len(traced.records("back")), threads)
        self.assertIn(b"filtered", {r.comm for r in records})
        self.assertLessEqual({r.comm for r in records}, {b"filtered", b"<...>"})

    def test_prctl(self):
        self.check("prctl")

    def test_prctl_after_a_hit(self):
        self.check("prctl", "early")

    def test_system_call(self):
        self.check("syscall")

    def test_strict(self):
        """No rdtsc there: hits are missed, and the program goes on."""
        traced = self.run_both([FILTERED, "strict", "early"], WORK, "r:back work v=$retval:s64")
        self.assertEqual(traced.status, 4)
        for event, kept in (("w", -1), ("back", 0)):
            self.assertEqual([r["n" if event == "w" else "v"] for r in traced.records(event)], [kept])
            self.assertEqual((traced.accounts[event].hits, traced.accounts[event].missed), (1 + CALLS, CALLS))

    def test_none(self):
        self.check("none")

    def test_its_name(self):
        traced = self.run_both([FILTERED, "prctl"], "p:w work who=$comm:string")
        self.assert_none_lost(traced)
        names = {r["who"] for r in traced.records("w")}
        self.assertIn(b"filtered", names)  # of the thread that has set the filter, at least
        self.assertLessEqual(names, {b"filtered", b""})

    @unittest.skipUnless(may_suspend(), "a filter cannot be suspended here")
    def test_attached_with_the_filter_in_force(self):
        target = Target(self, [FILTERED, "stay"])
        text = text_of(target.pid, "/")
        for _ in range(3):
            tracer = self.start([target.pid], WORK)
            for _ in range(5):
                target.tell(b"again")
                target.expect(b"again")
            traced = self.stop(tracer, [WORK])
            self.assertEqual(traced.accounts["w"].hits, 5 * CALLS)
            self.assertEqual({r.comm for r in traced.records("w")}, {b"filtered"})
            self.assertEqual(text_of(target.pid, "/"), text)
            self.assertNotIn(b"memfd:kevtrace", read(f"/proc/{target.pid}/maps"))
        target.process.stdin.close()
        self.assertEqual(target.process.stdout.read(), b"done\n")
        self.assertEqual(target.process.wait(60), 4)

    @unittest.skipUnless(os.geteuid() == 0, "capabilities are taken away by root")
    def test_attached_without_the_right_to_suspend_it(self):
        """No CAP_SYS_ADMIN: a clear word, and the target goes on."""
        target = Target(self, [FILTERED, "stay"])
        done = subprocess.run(["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", KEVTRACE, "run", "--pid",
                               str(target.pid), "-d", "1", "-e", WORK], capture_output=True, timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"has a seccomp filter", done.stderr)
        target.tell(b"again")
        target.expect(b"again")


if __name__ == "__main__":
    main()
