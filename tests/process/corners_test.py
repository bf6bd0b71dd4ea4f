"""Corners of signals and threads: a traced program ends, and sees its masks, as the kernel says."""
import os
import signal
import subprocess

from attached import Attached, Target
from kevtest import KEVTRACE, PROGRAMS, TIMEOUT_S, _prepared, main

CORNERS = os.path.join(PROGRAMS, "corners")
TOUCH = "p:touch corners:touch n=%di:s64 s=+0(%si):string"
BACK = "r:back corners:touch v=$retval:s64"
SHORT = "p:short corners:touch_short n=%di:s64"


class Corners(Attached):
    def corner(self, *words, **options):
        traced = self.run_both([CORNERS, *words], TOUCH, BACK, SHORT, **options)
        self.assertNotEqual(traced.how_armed()["short"], "jump")
        return traced

    def test_own_traps(self):
        """int3, its long form, icebp and a single step: handled, fatal, ignored (fatal), blocked (fatal)."""
        for trap in ("int3", "long_int3", "icebp", "single_step"):
            for how in ("default", "ignored", "blocked", "handled"):
                with self.subTest(trap=trap, how=how):
                    traced = self.corner(trap, how)
                    if traced.status == 77:
                        self.skipTest(f"no program goes past {trap} on this machine")
                    self.assertEqual(traced.status, 0 if how == "handled" else 128 + signal.SIGTRAP)

    def test_fault_that_the_handler_blocks(self):
        """A fault while sa_mask blocks it ends the program; its own handler does not run."""
        self.assertEqual(self.corner("fault_while_masked").status, 128 + signal.SIGSEGV)

    def test_masks_of_handlers(self):
        """What a handler sees blocked, what it returns to, what it jumps out with; its action as it was set."""
        self.assert_none_lost(self.corner("masks_of_handlers"))

    def test_masks_in_the_handlers_of_faults(self):
        self.assert_none_lost(self.corner("masks_of_faults"))

    def test_program_that_forbids_rdtsc(self):
        """Its own rdtsc faults, as untraced; its hits are recorded."""
        traced = self.corner("without_tsc")
        self.assertEqual([r["n"] for r in traced.records("touch")], list(range(1, 13)))
        self.assert_none_lost(traced)

    def test_child_without_thread_control_block(self):
        """Nobody can tell who hits: the child goes on, its hits are missed."""
        traced = self.corner("null_tls")
        self.assertEqual([r["n"] for r in traced.records("touch")], [1, 2])
        for event in ("touch", "back", "short"):
            account = traced.accounts[event]
            self.assertEqual((account.recorded, account.missed), (2, 10), event)

    def test_more_threads_than_are_known(self):
        """Address space for 1,280 of them; the others block all signals, hit and raise signals as untraced."""
        for mode, said, status in (("crowd_that_blocks", b"signal 11\nall came back\n", 0),
                                   ("crowd_that_raises", b"", -signal.SIGSEGV)):
            with self.subTest(mode=mode):
                target = Target(self, [CORNERS, mode, "1500", "780"])
                tracer = self.start([target.pid], SHORT, words=["--buffer", "64"])
                target.tell(b"go")
                self.assertEqual((target.process.stdout.read(), target.process.wait(TIMEOUT_S)), (said, status))
                self.assertGreater(self.finish(tracer, [SHORT]).accounts["short"].missed, 0)

    def test_signal_to_tracer_and_target_together(self):
        """As Ctrl-C and timeout(1) send it: the tracer ends with the program, whichever of 300 threads goes first."""
        for _ in range(30):
            command = [KEVTRACE, "run", "-e", TOUCH, "-e", SHORT, "-o", "/dev/null", "--", CORNERS, "crowd_that_stays",
                       "300"]
            tracer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      start_new_session=True, **_prepared({}))
            self.addCleanup(tracer.kill)
            self.assertEqual(tracer.stdout.readline(), b"ready\n")
            os.killpg(tracer.pid, signal.SIGTERM)
            out, err = tracer.communicate(timeout=TIMEOUT_S)
            self.assertEqual((tracer.returncode, out), (128 + signal.SIGTERM, b""), err)


if __name__ == "__main__":
    main()
