"""Exceptions, pthread_exit and backtrace() through functions with return probes: as if none were there."""
import os

from kevtest import PROGRAMS, ProcessTest, main

UNWINDS = os.path.join(PROGRAMS, "unwinds")


class Unwinding(ProcessTest):
    def both(self, mode, functions):
        definitions = [f"p:in_{f} unwinds:{f}" for f in functions] + [f"r:out_{f} unwinds:{f} v=$retval:s32" for f in functions]
        traced = self.run_both([UNWINDS, mode], *definitions)
        for function in functions:
            entered, left = traced.accounts["in_" + function], traced.accounts["out_" + function]
            self.assertEqual((entered.recorded, entered.lost, left.lost), (entered.hits, 0, 0))
            self.assertEqual(left.hits, entered.hits, function)  # what did not return to us is missed, not forgotten
        return traced

    def test_exceptions(self):
        traced = self.both("throw", ["risky", "careful", "again", "deep"])
        self.assertEqual(traced.status, 5)
        self.assertEqual(traced.accounts["in_risky"].hits, 600)
        self.assertEqual(traced.accounts["out_risky"].missed, 300)
        self.assertEqual([r["v"] for r in traced.records("out_careful")], [n + 2 for n in range(0, 600, 2)])

    def test_exceptions_with_few_instances(self):
        traced = self.run_both([UNWINDS, "throw"], "r1:risky unwinds:risky v=$retval:s32", "r2:deep unwinds:deep",
                               "r3:again unwinds:again", "p:thrown __cxa_throw")
        self.assertEqual([r["v"] for r in traced.records("risky")], [n + 1 for n in range(0, 600, 2)])
        self.assertEqual(traced.accounts["thrown"].recorded, 300)

    def test_probes_on_the_unwinder_itself(self):
        traced = self.run_both([UNWINDS, "throw"], "r:risky unwinds:risky v=$retval:s32",
                               "p:raise libgcc_s:_Unwind_RaiseException", "r:alloc __cxa_allocate_exception")
        self.assertEqual(traced.accounts["raise"].recorded, 300 + 100)  # and thrown again
        self.assertEqual(traced.accounts["risky"].recorded, 300)
        self.assertEqual(traced.accounts["alloc"].recorded, 300)

    def test_an_unwinder_that_is_loaded_later(self):
        traced = self.run_both([os.path.join(PROGRAMS, "late_unwinder")], "r:sort libc:qsort")
        self.assertIn(b" main 1\n", traced.out)
        self.assertEqual(traced.accounts["sort"].hits, 1)

    def test_threads_that_leave_in_the_middle(self):
        traced = self.both("leave", ["start", "leave"])
        self.assertEqual((traced.status, traced.out), (0, b"cleanups 40\n"))

    def test_backtrace(self):
        self.both("walk", ["more_frames", "frames"])

    def test_entry_probes_leave_unwinders_alone(self):
        traced = self.run_both([UNWINDS, "throw"], "p:risky unwinds:risky n=%di:s32", "p:deep unwinds:deep n=%si:s32")
        self.assertEqual([r["n"] for r in traced.records("risky")], list(range(600)))
        self.assert_none_lost(traced)


if __name__ == "__main__":
    main()
