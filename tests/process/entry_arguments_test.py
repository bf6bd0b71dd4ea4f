"""`$argN` in return probes: what the function was given, though it changed it."""
import collections
import os
import subprocess

from kevtest import KEVTRACE, PROGRAMS, ProcessTest, main, plain

ARGUMENTS = os.path.join(PROGRAMS, "arguments")


class EntryArguments(ProcessTest):
    def test_registers_stack_and_strings(self):
        traced = self.run_both([ARGUMENTS, "50"],
                               "r:nine nine a=$arg1 b=$arg2 c=$arg3 d=$arg4 e=$arg5 f=$arg6 g=$arg7 h=$arg8 "
                               "s=+0($arg9):string sum=$retval di=%di:s64")
        self.assert_none_lost(traced)
        records = traced.records("nine")
        self.assertEqual(len(records), 200)
        self.assertEqual({(r["c"], r["d"], r["e"], r["f"], r["h"], r["s"], r["di"]) for r in records},
                         {(3, 4, 5, 6, 80, b"text", -1)})
        self.assertEqual(collections.Counter((r["a"], r["b"]) for r in records),
                         collections.Counter((a, b) for a in range(1, 5) for b in range(50)))
        for r in records:
            self.assertEqual((r["g"], r["sum"]), (70 + r["b"], r["a"] + r["b"] + 18 + r["g"] + 80 + ord("t")))

    def test_what_was_pointed_to_is_read_at_the_return(self):
        traced = self.run_both([ARGUMENTS, "20"], "p:before fill text=+0($arg1):string", "r:fill fill text=+0($arg1):string "
                               "size=$arg2:s32 length=$retval:s32", "r:again fill n=$arg3:s32")
        for n, record in enumerate(sorted(traced.records("fill"), key=lambda r: (r.tid, r.time))):
            self.assertEqual((record["text"], record["size"]), (b"item %d" % (n % 20), 32))
            self.assertEqual(record["length"], len(record["text"]))
        self.assertEqual(sorted(r["n"] for r in traced.records("again")), sorted(list(range(20)) * 4))

    def test_recursion_keeps_each_calls_own(self):
        traced = self.run_both([ARGUMENTS, "8"], "r:sum sum_to n=$arg1 sum=$retval")
        self.assertEqual(len(traced.records("sum")), 4 * 36)
        for record in traced.records("sum"):
            self.assertEqual(record["sum"], record["n"] * (record["n"] + 1) // 2)

    def test_maxactive(self):
        traced = self.run_both([ARGUMENTS, "8"], "r2:sum sum_to n=$arg1 sum=$retval")
        account = traced.accounts["sum"]
        self.assertEqual(account.hits, 4 * 36)
        self.assertGreater(account.missed, 0)
        for record in traced.records("sum"):
            self.assertEqual(record["sum"], record["n"] * (record["n"] + 1) // 2)

    def test_filters_see_them(self):
        traced = self.run_both([ARGUMENTS, "30"], "r:behind behind n=$arg1 r=$retval", filters=["behind: n > 9 && n < 20"])
        self.assertEqual(sorted(r["n"] for r in traced.records("behind")), sorted(list(range(10, 20)) * 8))
        self.assertEqual(traced.accounts["behind"].filtered, 160)
        self.assertEqual({r["r"] - r["n"] for r in traced.records("behind")}, {1})

    def test_signals_between(self):
        traced = self.run_both([ARGUMENTS, "3000", "signals"], "r:handled in_handler n=$arg1 twice=$retval",
                               "r:nine nine b=$arg2 g=$arg7", "r:sum sum_to n=$arg1 sum=$retval")
        for record in traced.records("nine"):
            self.assertEqual(record["g"], record["b"] + 70)
        for record in traced.records("sum"):
            self.assertEqual(record["sum"], record["n"] * (record["n"] + 1) // 2)
        self.assertEqual({(r["n"], r["twice"]) for r in traced.records("handled")} - {(14, 28)}, set())
        self.assertEqual(len(traced.records("nine")) + traced.accounts["nine"].missed + traced.accounts["nine"].lost, 12000)

    def test_by_int3(self):
        traced = self.run_both([ARGUMENTS, "10"], "r:tiny tiny n=$arg1 r=$retval")
        self.assertNotEqual(traced.how_armed()["tiny"], "jump")
        self.assertEqual(sorted((r["n"], r["r"]) for r in traced.records("tiny")), sorted([(n, n + 1) for n in range(10)] * 4))

    def test_more_than_fifteen_are_refused(self):
        many = "r:nine nine " + " ".join(f"$arg{n}" for n in range(1, 17))
        status, out, err = plain([KEVTRACE, "run", "-e", many, "--", ARGUMENTS, "1"])
        self.assertEqual((status, out), (3, b""))
        self.assertIn(b"Too many entry arguments specified", err)


ARRAYS = """
#include <stdio.h>
enum color { RED, GREEN };
struct order { int counts[4]; char name[12]; double weights[2]; unsigned char digest[3]; enum color colors[2]; struct { int a; } parts[2]; };
__attribute__((noinline)) int take(struct order* order) { __asm__ volatile("" ::"r"(order) : "memory"); return order->counts[0]; }
int main(void) { struct order o = {{1, 2, -3, 4}, "hello", {1.5, 2.25}, {7, 8, 255}, {GREEN, RED}, {{1}, {2}}}; return take(&o) != 1; }
"""


class Arrays(ProcessTest):
    def test_whole_arrays_of_numbers_and_texts(self):
        source, program = self.path("arrays.c"), self.path("arrays")
        with open(source, "w", encoding="utf-8") as file:
            file.write(ARRAYS)
        subprocess.run(["gcc", "-g", "-O1", "-o", program, source], check=True)
        names = ["counts", "name", "weights", "digest", "colors"]
        for place in ("take", "take:0"):  # the entry of the function, and its first line
            _, out, err = plain([KEVTRACE, "run", "-e", f"p:t arrays:{place} " + " ".join(f"{n}=order->{n}" for n in names),
                                 "--filter", 't: name ~ "hel*"', "--", program])
            self.assertIn(b'counts={1,2,-3,4} name="hello" weights={1.5,2.25} digest={7,8,255} colors={1,0}', out, err)


if __name__ == "__main__":
    main()
