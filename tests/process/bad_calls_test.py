"""Pointers to nowhere, functions left by longjmp, deep recursion, threads on reused stacks, crowded places."""
import os
from collections import Counter

from kevtest import FAULT, PROGRAMS, ProcessTest, main

BADLY = os.path.join(PROGRAMS, "badly")
LIMIT = 256  # KEVT_RETURN_DEPTH: return instances of a thread, over all events


class BadCalls(ProcessTest):
    def badly(self, mode, *definitions, **options):
        return self.run_both([BADLY, mode], *definitions, **options)

    def test_pointers(self):
        fetches = ("n=%di:s64 s=+0(%si):string w=+0(%dx):x64 h=+4(%dx):x32 a=+0(%dx):x32[3] z=+0(%dx):u8[4] "
                   "bits=+0(%dx):b4@2/16 twice=+0(+0(%dx)):string arr=+0(%dx):string[2]")
        traced = self.badly("pointers", "p:touch badly:touch " + fetches, "p:short badly:touch_short " + fetches)
        seen = {r["n"]: r for r in traced.all}
        self.assertEqual(sorted(seen), [1, 2, 3, 4, 5, 6, 7])
        self.assertEqual([seen[n]["s"] for n in range(1, 8)], [b"end", FAULT, FAULT, FAULT, FAULT, b"fine", FAULT])
        whole = int.from_bytes(b"xxxxend\0", "little")
        self.assertEqual((seen[1]["w"], seen[1]["h"]), (whole, whole >> 32))
        self.assertEqual(seen[1]["a"], [0x78787878, whole >> 32, 0])  # the third lies in the next page
        self.assertEqual(bytes(seen[1]["z"]), b"xxxx")
        self.assertEqual((seen[2]["w"], seen[2]["h"], seen[2]["a"]), (0, 0, [int.from_bytes(b"end\0", "little"), 0, 0]))
        self.assertEqual(bytes(seen[2]["z"]), b"end\0")
        for n in (3, 4, 5, 7):
            self.assertEqual((seen[n]["w"], seen[n]["h"], seen[n]["a"], seen[n]["z"], seen[n]["bits"]),
                             (0, 0, [0, 0, 0], [0, 0, 0, 0], 0), n)
        digits = int.from_bytes(b"12345678", "little")
        self.assertEqual((seen[6]["w"], seen[6]["h"], seen[6]["bits"]), (digits, digits >> 32, digits >> 2 & 0xf))
        for n in range(1, 8):
            self.assertEqual((seen[n]["twice"], seen[n]["arr"]), (FAULT, [FAULT, FAULT]), n)
        self.assertGreater(traced.faults["touch"], 20)

    def test_filter_on_what_cannot_be_read(self):
        traced = self.badly("pointers", "p:a badly:touch n=%di:s64 s=+0(%si):string w=+0(%dx):u64",
                            "p:b badly:touch n=%di:s64 s=+0(%si):string", "p:c badly:touch n=%di:s64 s=+0(%si):string",
                            filters=["a: w == 0", 'b: s ~ "*n*"', 'c: s != "fine"'])
        self.assertEqual([r["n"] for r in traced.records("a")], [2, 3, 4, 5])
        self.assertLessEqual({1, 6}, {r["n"] for r in traced.records("b")})
        self.assertIn(1, [r["n"] for r in traced.records("c")])
        self.assertNotIn(6, [r["n"] for r in traced.records("c")])

    def test_longjmp_out_of_return_probed_functions(self):
        traced = self.badly("longjmp", "p:in badly:escape n=%di:s64", "r:out badly:escape v=$retval:s64",
                            "r:deep badly:deeper v=$retval:s64", "r:touched badly:touch v=$retval:s64",
                            "p:touch badly:touch n=%di:s64")
        self.assertEqual((traced.status, traced.out), (0, b"returned 2000 jumped 4000\n"))
        self.assertEqual([r["n"] for r in traced.records("in")], list(range(6000)))
        returned = list(range(0, 6000, 3))
        self.assertEqual([r["n"] for r in traced.records("touch")], returned)
        # The ones that were left do not stand in the way of those that return.
        self.assertEqual([r["v"] for r in traced.records("out")], [3 * n + 1 for n in returned])
        self.assertEqual([r["v"] for r in traced.records("touched")], [3 * n + 1 for n in returned])

    def test_longjmp_with_few_instances(self):
        traced = self.badly("longjmp", "r3:out badly:escape v=$retval:s64", "r1:deep badly:deeper v=$retval:s64")
        self.assertEqual(traced.out, b"returned 2000 jumped 4000\n")
        self.assertEqual([r["v"] for r in traced.records("out")], [3 * n + 1 for n in range(0, 6000, 3)])

    def test_recursion_deeper_than_maxactive(self):
        calls, outer = 10 * 101 + 1001, 11
        traced = self.badly("recurse", "r2:two badly:recurse v=$retval:s64", "p:in badly:recurse depth=%di:s64")
        self.assertEqual(traced.accounts["in"].recorded, calls)
        two = traced.accounts["two"]
        self.assertEqual((two.hits, two.recorded, two.missed), (calls, 2 * outer, calls - 2 * outer))
        # The outermost two are the ones that have an instance.
        self.assertEqual([r["v"] for r in traced.records("two")], [100, 101] * 10 + [1000, 1001])

    def test_recursion_deeper_than_any_thread_may(self):
        traced = self.badly("recurse", "r:all badly:recurse v=$retval:s64")
        account = traced.accounts["all"]
        self.assertEqual((account.hits, account.missed), (10 * 101 + 1001, 1001 - LIMIT))
        values = [r["v"] for r in traced.records("all")]
        self.assertEqual(values, list(range(1, 102)) * 10 + list(range(1001 - LIMIT + 1, 1002)))

    def test_threads_on_reused_stacks(self):
        """Each thread passes its own id: the record must be that thread's, though stacks are used again."""
        traced = self.badly("threads", "p:touch badly:touch tid=%di:s32 i=%dx:u64 comm=$comm", "r:back badly:touch v=$retval:s64",
                            "p:short badly:touch_short tid=%di:s32", "r:sback badly:touch_short v=$retval:s32")
        count = 600 + 20 * 16
        self.assertEqual({e: len(traced.records(e)) for e in traced.accounts},
                         dict.fromkeys(("touch", "back", "short", "sback"), count))
        for record in traced.all:
            value = record.values.get("tid", record.values.get("v"))
            self.assertEqual(value, 3 * record.tid + 1 if record.event == "back" else record.tid, record)
        self.assertEqual({r["comm"] for r in traced.records("touch")}, {b"badly"})
        self.assertEqual({r.comm for r in traced.all}, {b"badly"})
        self.assertEqual(Counter(r["i"] for r in traced.records("touch"))[3], 1 + 16)
        self.assert_none_lost(traced)

    def test_several_probes_on_one_address(self):
        for function in ("touch", "touch_short"):
            definitions = [f"p:e{i} badly:{function} n=%di:s64 k=\\{i}:u8" for i in range(5)]
            definitions += [f"r:x{i} badly:{function} v=$retval:s64" for i in range(3)]
            traced = self.badly("fork" if function == "touch_short" else "plain", *definitions,
                                filters=["e1: n & 1", "e2: n < 0", "x1: v > 3000000"]) \
                if function == "touch" else self.run_traced([BADLY, "fork"], *definitions)
            numbers = [r["n"] for r in traced.records("e0")]
            self.assertEqual(numbers, list(range(1000)) if function == "touch" else [2000, 2001, 2002])
            for i in (3, 4):
                self.assertEqual([(r["n"], r["k"]) for r in traced.records(f"e{i}")], [(n, i) for n in numbers])
            expected = [3 * n + 1 if function == "touch" else n for n in numbers]
            for i in (0, 2):
                self.assertEqual([r["v"] for r in traced.records(f"x{i}")], expected)
            if function == "touch":
                self.assertEqual([r["n"] for r in traced.records("e1")], numbers[1::2])
                self.assertEqual((traced.records("e2"), traced.records("x1")), ([], []))
                self.assertEqual(traced.accounts["e2"].filtered, 1000)
            hits = {a.hits for a in traced.accounts.values()}
            self.assertEqual(hits, {len(numbers)})
            # All of them show the caller, not the detour of another.
            places = {r.place for r in traced.records("x0")} | {r.place for r in traced.records("x2")}
            self.assertTrue(all(p.startswith(("touch", "main", "0x")) or "<-" in p for p in places), places)
            self.assertEqual({r.place for r in traced.records("x0")}, {r.place for r in traced.records("x2")})
            self.assert_none_lost(traced)


if __name__ == "__main__":
    main()
