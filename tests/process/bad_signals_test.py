"""Programs that use the very signals probes live on, block everything, or run on another stack."""
import os
import re

from kevtest import FAULT, PROGRAMS, ProcessTest, main, plain

BADLY = os.path.join(PROGRAMS, "badly")
FETCHES = "n=%di:s64 s=+0(%si):string w=+0(%dx):u64"
TOUCH = "p:touch badly:touch " + FETCHES
BACK = "r:back badly:touch v=$retval:s64"
SHORT = "p:short badly:touch_short " + FETCHES


class BadSignals(ProcessTest):
    def badly(self, mode, *definitions):
        traced = self.run_both([BADLY, mode], *definitions)
        if "short" in traced.accounts:
            self.assertNotEqual(traced.how_armed()["short"], "jump")
        return traced

    def test_handlers_of_the_program(self):
        """SIGSEGV and SIGTRAP handlers, 102 times; codes, addresses, masks and old actions as untraced."""
        traced = self.badly("handlers", TOUCH, BACK, SHORT)
        self.assertEqual((traced.status, traced.out), (0, b"handled 102\n"))
        self.assertEqual([r["n"] for r in traced.records("touch")], list(range(1, 103)))
        for record in traced.records("touch") + traced.records("short"):
            self.assertEqual(record["w"], 0)
        self.assertEqual([r["n"] for r in traced.records("short")], list(range(50)))
        self.assertEqual(traced.faults, {"touch": 102, "short": 50})
        self.assert_none_lost(traced)

    def test_everything_blocked(self):
        """All signals blocked around an int3 site and around reads that fault."""
        traced = self.badly("blocked", TOUCH, BACK, SHORT)
        self.assertEqual(traced.status, 0)
        for event in ("touch", "short"):
            records = traced.records(event)
            self.assertEqual([r["n"] for r in records], list(range(100)))
            self.assertEqual({(r["s"], r["w"]) for r in records}, {(FAULT, 0)})
        self.assert_none_lost(traced)

    def test_pending_while_blocked(self):
        traced = self.badly("held_back", TOUCH, SHORT)
        self.assertEqual((traced.status, traced.out), (0, b"delivered late\n"))
        self.assertEqual([r["n"] for r in traced.records("touch")], list(range(10)))

    def test_each_pending_one_is_handled_once(self):
        traced = self.run_both([os.path.join(PROGRAMS, "pending")], "p:touch pending:touch")
        self.assertEqual(traced.out, b"".join(b"signal %d handled 10\n" % n for n in (5, 7, 11)))

    def test_stack_overflow_on_an_alternate_stack(self):
        traced = self.run_traced([BADLY, "overflow"], TOUCH, BACK)
        self.assertEqual((traced.status, traced.out), (3, b"overflow caught\n"))
        numbers = [r["n"] for r in traced.records("touch")]
        self.assertEqual(numbers[:-1], list(range(1, len(numbers))))
        self.assertEqual((numbers[-1], traced.records("touch")[-1]["s"]), (77, b"alternate stack"))

    def test_signals_inside_hits(self):
        """A handler that hits while a hit is under way: recorded or counted as missed, each of them."""
        traced = self.run_traced([BADLY, "interrupted"], TOUCH, BACK, filters=['touch: s == "alarm"', "back: v < 0"])
        self.assertEqual(traced.status, 0)
        alarms, turns = map(int, traced.out.split())
        touch, back = traced.accounts["touch"], traced.accounts["back"]
        self.assertEqual((touch.hits, back.hits), (alarms + turns, alarms + turns))
        self.assertEqual((touch.lost, touch.filtered), (0, turns))
        self.assertEqual(touch.recorded + touch.missed, alarms)
        self.assertEqual(len(traced.records("touch")), touch.recorded)
        self.assertLessEqual({(r["n"], r["s"]) for r in traced.records("touch")}, {(-10, b"alarm")})
        self.assertEqual(len(traced.records("back")), back.recorded)
        self.assertLessEqual({r["v"] for r in traced.records("back")}, {-29})

    def test_handlers_outlive_a_spawn(self):
        """A spawned child resets signals while it still runs in our memory."""
        traced = self.badly("spawn_handler", TOUCH, SHORT)
        self.assertEqual(traced.status, 42)
        self.assertEqual([r["n"] for r in traced.records("touch")], [0, 1, 2])

    def test_faulthandler(self):
        code = "import ctypes, sys; print('before', flush=True); ctypes.string_at(16)"
        command = ["/usr/bin/python3", "-S", "-X", "faulthandler", "-c", code]
        traced = self.run_traced(command, "p:open libc:open64 path=+0(%di):string odd=+0(%si):u64",
                                 "r:opened libc:open64 fd=$retval:s32", "p:len libc:strlen s=+0(%di):string",
                                 buffer_kb=16384)

        def without_addresses(result):
            status, out, err = result
            return status, out, re.sub(rb"0x[0-9a-f]+", b"0x", err)

        self.assertEqual(without_addresses((traced.status, traced.out, traced.err)), without_addresses(plain(command)))
        self.assertEqual(traced.status, 139)
        self.assertIn(b"Fatal Python error: Segmentation fault", traced.err)
        self.assertIn(FAULT, [r["s"] for r in traced.records("len")])

    def test_python_signal_handlers(self):
        code = ("import os, signal\nseen = []\n"
                "for s in (signal.SIGTRAP, signal.SIGSEGV, signal.SIGBUS, signal.SIGUSR1):\n"
                "    assert signal.signal(s, lambda n, f: seen.append(n)) == signal.SIG_DFL\n"
                "    os.kill(os.getpid(), s)\n"
                "    signal.pthread_sigmask(signal.SIG_BLOCK, [s])\n"
                "    assert s in signal.pthread_sigmask(signal.SIG_BLOCK, [])\n"
                "    os.kill(os.getpid(), s)\n"
                "    open('/dev/null').close()\n"
                "    signal.pthread_sigmask(signal.SIG_UNBLOCK, [s])\n"
                "    assert s not in signal.pthread_sigmask(signal.SIG_BLOCK, [])\n"
                "print(*map(int, seen))")
        traced = self.run_both(["/usr/bin/python3", "-S", "-c", code],
                               "p:open libc:open64 path=+0(%di):string bad=+0(%si):u32",
                               filters=['open: path == "/dev/null" && bad == 0'])
        self.assertEqual((traced.status, traced.out), (0, b"5 5 11 11 7 7 10 10\n"))
        self.assertEqual(len(traced.records("open")), 4)

    def test_traps_of_bash(self):
        script = ("trap 'echo trap' TRAP; trap 'echo segv' SEGV; trap '' BUS; for i in 1 2 3; do kill -TRAP $$; "
                  "kill -SEGV $$; kill -BUS $$; done; trap - SEGV; trap -p; kill -SEGV $$; echo not reached")
        traced = self.run_both(["/bin/bash", "-c", script], "p:expr libc:malloc size=%di:u64", "r:got libc:malloc p=$retval",
                               "p:len libc:strlen s=+0(%di):string bad=+8(%ax):u64")
        self.assertEqual(traced.status, 139)
        self.assertTrue(traced.out.startswith(b"trap\nsegv\n" * 3), traced.out)


if __name__ == "__main__":
    main()
