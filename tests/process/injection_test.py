"""--inject: accepted hits make their function return a value without running."""
import os
import re
import subprocess

from kevtest import KEVTRACE, PROGRAMS, ProcessTest, main, plain

FAULTS = os.path.join(PROGRAMS, "faults")
N = 40


def returned(out):
    """(what served returned, what brief returned) by argument, for the parent and for its child."""
    runs = [[], []]
    which, ran = 0, []
    for line in out.decode().splitlines():
        if line.startswith("ran "):
            ran.append(int(line[4:]))
            which += 1
        else:
            runs[which].append(tuple(int(word) for word in line.split()[1:]))
    return runs, ran


class Injection(ProcessTest):
    def inject(self, *injections, definitions, command=(FAULTS, str(N)), **options):
        words = ["--unsafe", "-q"]
        for one in injections:
            words += ["--inject", one]
        return self.run_traced_quietly(command, definitions, words, **options)

    def run_traced_quietly(self, command, definitions, words, filters=()):
        words = [word for word in words if word != "-q"]
        traced = self.run_traced(list(command), *definitions, filters=filters, words=words)
        shown = [line for line in traced.err.splitlines() if b" without running" not in line]
        self.assertEqual(shown, [], traced.err)
        self.assert_none_lost(traced)
        return traced

    def test_every_call(self):
        traced = self.inject("served: ret=-12", definitions=["p:served served n=%di:s64"])
        runs, ran = returned(traced.out)
        self.assertEqual([a for a, _ in runs[0] + runs[1]], [-12] * 2 * N)
        self.assertEqual([b for _, b in runs[0]], list(range(1, N + 1)))
        self.assertEqual(ran, [0, 0])
        self.assertEqual([r["n"] for r in traced.records("served")], list(range(N)) * 2)

    def test_a_breakpoint_and_large_values(self):
        traced = self.inject("brief: ret=0x7fffffffffffffff", definitions=["p:brief brief n=%di:s64"])
        self.assertNotEqual(traced.how_armed()["brief"], "jump")
        runs, _ = returned(traced.out)
        self.assertEqual({b for _, b in runs[0] + runs[1]}, {2**63 - 1})

    def test_the_filter_decides(self):
        traced = self.inject("served: ret=7", definitions=["p:served served n=%di:s64 text=+0(%si):string"],
                             filters=['served: n >= 10 && n < 20 && text == "text"'])
        runs, ran = returned(traced.out)
        expected = [7 if 10 <= n < 20 else 2 * n + 4 for n in range(N)]
        self.assertEqual([a for a, _ in runs[0]], expected)
        self.assertEqual([a for a, _ in runs[1]], expected)
        self.assertEqual(ran, [N - 10] * 2)
        self.assertEqual((traced.accounts["served"].recorded, traced.accounts["served"].filtered), (20, 2 * N - 20))

    def test_chance_is_repeated_by_its_seed(self):
        outs = []
        for seed in (5, 5, 6):
            traced = self.inject(f"served: ret=-1 probability=25% seed={seed}", definitions=["p:served served n=%di:s64"],
                                 command=[FAULTS, "400"])
            runs, _ = returned(traced.out)
            failed = [n for n, (a, _) in enumerate(runs[0] + runs[1]) if a == -1]
            self.assertEqual([r["n"] for r in traced.records("served")], [n % 400 for n in failed])
            self.assertTrue(100 < len(failed) < 300, len(failed))  # 200 expected, deviation 12
            outs.append(traced.out)
        self.assertEqual(outs[0], outs[1])
        self.assertNotEqual(outs[0], outs[2])

    def test_a_count_holds_over_threads_and_children(self):
        traced = self.inject("served: ret=0 count=5", definitions=["p:served served n=%di:s64"],
                             command=[FAULTS, "2000", "threads"])
        ran = [int(n) for n in re.findall(rb"ran (\d+)", traced.out)]
        self.assertEqual(ran, [4 * 2000 - 5, 2000])
        self.assertEqual(traced.accounts["served"].recorded, 5)
        self.assertEqual(traced.accounts["served"].hits, 5 * 2000)

    def test_other_probes_at_the_place(self):
        """Entry probes see every call, return probes those that run."""
        traced = self.inject("served: ret=7", filters=["served: n < 10"],
                             definitions=["p:seen served n=%di:s64", "p:served served n=%di:s64", "r:back served r=$retval:s64"])
        self.assertEqual(traced.accounts["seen"].recorded, 2 * N)
        self.assertEqual([r["r"] for r in traced.records("back")], [2 * n + 4 for n in range(10, N)] * 2)

    def refused(self, *words, status, says):
        done = subprocess.run([KEVTRACE, "run", *words, "--", FAULTS, "3"], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(says, done.stderr.decode())
        self.assertEqual(done.stdout, b"")

    def test_refusals(self):
        event = ["-e", "p:served served"]
        self.refused(*event, "--inject", "served: ret=0", status=2, says="--unsafe")
        for text, says in (("served: ret=x", "a number of 64 bits"), ("served: count=3", "ret=VALUE"),
                           ("served: ret=1 probability=0", "percent"), ("served: ret=1 probability=101%", "percent"),
                           ("served: ret=1 ret=2", "twice"), ("served: ret=1 often=2", "`often`"), ("served: ret", "NAME=VALUE"),
                           ("ret=1", "names no event"), ("served: ret=0x1ffffffffffffffff", "64 bits")):
            self.refused(*event, "--unsafe", "--inject", text, status=2, says=says)
        self.refused(*event, "--unsafe", "--inject", "other: ret=1", status=1, says="`other`")
        self.refused("-e", "r:served served", "--unsafe", "--inject", "served: ret=1", status=1, says="return probe cannot inject")
        self.refused("-e", "p:served served+4", "--unsafe", "--inject", "served: ret=1", status=1, says="first instruction")
        self.refused(*event, "--runtime", "bpf", "--unsafe", "--inject", "served: ret=1", status=4, says="for programs")

    def script(self, *lines):
        return self.path("inject.kev", ("\n".join(lines) + "\n").encode())

    def test_in_a_script(self):
        script = self.script("p:served served n=%di:s64", "  inject ret=-12")
        self.refused("-p", script, status=2, says=f"{script}:2: `inject` changes the way the program takes; say --unsafe")
        for words, value in (([], -12), (["--inject", "served: ret=5"], 5)):  # the command line wins
            _, out, _ = plain([KEVTRACE, "run", "-o", "/dev/null", "-p", script, "--unsafe", *words, "--", FAULTS, str(N)])
            self.assertEqual([a for a, _ in returned(out)[0][0]], [value] * N)

    def test_scripts_that_are_wrong(self):
        for lines, status, says in ((["p:served served", "  inject ret=1", "p:served brief", "  inject ret=2"], 3, ":4:"),
                                    (["p:served served", "  inject count=3"], 3, "ret=VALUE"),
                                    (["p:served served", "  inject ret=1", "option event-pid 7"], 2, ":3: `option event-pid`")):
            self.refused("-p", self.script(*lines), "--unsafe", status=status, says=says)

    def test_of_an_event_that_is_off(self):
        script = self.script("p:served served", "  inject ret=1", "  enable 0", "p:brief brief")
        _, out, _ = plain([KEVTRACE, "run", "-o", "/dev/null", "-p", script, "--unsafe", "--", FAULTS, str(N)])
        self.assertEqual([a for a, _ in returned(out)[0][0]], [2 * n + 4 for n in range(N)])

    def test_a_script_is_compiled_without_being_asked(self):
        script, out = self.script("p:served served", "  inject ret=-12"), self.path("inject.kevo")
        self.assertEqual(plain([KEVTRACE, "compile", script, "-o", out, "--", FAULTS])[0], 0)
        self.refused("-p", out, status=2, says="--unsafe")

    def test_a_library_that_comes_later(self):
        """What waits for its library injects, too."""
        script = "import sys, ctypes; z = ctypes.CDLL('libz.so.1'); print(z.zlibCompileFlags())"
        traced = self.inject("flags: ret=4711", definitions=["p:flags libz:zlibCompileFlags"],
                             command=["/usr/bin/python3", "-S", "-c", script])
        self.assertEqual(traced.out.strip(), b"4711")
        self.assertNotEqual(plain(["/usr/bin/python3", "-S", "-c", script])[1].strip(), b"4711")


if __name__ == "__main__":
    main()
