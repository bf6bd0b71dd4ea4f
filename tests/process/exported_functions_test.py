"""Every exported function of libc, libm, libz and liblzma and 1,000 functions of libsqlite3, armed in one batch.

The program (programs/busy.py) is python3 building and querying a database, packing and unpacking 50 MB and running
threads. What it prints must not change by a letter and the accounting must be exact for every event. What is
refused is listed with the reason, and so is every probe that is not a jump.
"""
import collections
import os
import sys

from kevtest import KEVTRACE, ProcessTest, main, plain
from libraries import all_functions, exported_functions, library_path, refusals

BUSY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "busy.py")
PRELOADED = ("libsqlite3.so.0", "libz.so.1", "liblzma.so.5", "libm.so.6")
SQLITE_FUNCTIONS = 1000
GOAL = 0.97  # of the entries by a jump
MOST_REFUSED = 20


class ExportedFunctions(ProcessTest):
    @classmethod
    def setUpClass(cls):
        cls.functions = []
        for name in ("libc.so.6", "libm.so.6", "libz.so.1", "liblzma.so.5"):
            cls.functions += exported_functions(name)
        cls.functions += all_functions("libsqlite3.so.0")[:SQLITE_FUNCTIONS]
        cls.env = {"LD_PRELOAD": " ".join(PRELOADED), "PYTHONHASHSEED": "1", "KEVT_BUSY_MB": os.environ.get("KEVT_BUSY_MB", "50")}

    def command(self, *parts):
        return ["/usr/bin/python3", "-B", BUSY, self.folder, *parts]

    def without_refused(self, definitions):
        """Those that `kevtrace run` takes; what it refuses is printed with the reason."""
        events = os.path.join(self.folder, "events")
        for _ in range(4):
            self.path("events", "\n".join(definitions).encode() + b"\n")
            status, _, err = plain([KEVTRACE, "run", "-p", events, "-o", "/dev/null", "--", "/bin/true"], env=self.env)
            if status == 0:
                return definitions
            refused = refusals(definitions, err)
            self.assertTrue(refused, err[-2000:])
            for i, why in sorted(refused.items()):
                print(f"  refused: {definitions[i].split()[1]}: {why}", file=sys.stderr)
            self.refused += len(refused)
            definitions = [d for i, d in enumerate(definitions) if i not in refused]
        return self.fail("definitions are refused again and again")

    def trace(self, kind, arguments):
        self.refused = 0
        definitions = [f"{kind}:{kind}{i} {function} {arguments}" for i, function in enumerate(self.functions)]
        definitions = self.without_refused(definitions)
        expected = plain(self.command(), env=self.env)
        self.assertEqual(expected[0], 0, expected[2])
        traced = self.run_traced(self.command(), *definitions, trace="none", buffer_kb=4096, env=self.env)
        self.assertEqual((traced.status, traced.out, traced.err), expected)
        self.report(kind, traced)
        self.assertLess(self.refused, MOST_REFUSED)

    def report(self, kind, traced):
        armed = traced.how_armed()
        self.assertEqual(set(armed), set(traced.accounts))
        jumps = sum(how == "jump" for how in armed.values())
        sums = [sum(getattr(a, part) for a in traced.accounts.values()) for part in ("hits", "recorded", "lost", "missed")]
        hit = sum(1 for a in traced.accounts.values() if a.hits)
        print(f"\n{kind}: {len(armed)} armed, {self.refused} refused; {jumps} by a jump ({100 * jumps / len(armed):.2f} %); "
              f"{hit} were hit; {sums[0]} hits = {sums[1]} recorded + {sums[2]} lost + {sums[3]} missed", file=sys.stderr)
        for why, number in collections.Counter(h for h in armed.values() if h != "jump").items():
            print(f"  int3: {number} because {why}", file=sys.stderr)
        self.assertGreaterEqual(jumps, GOAL * len(armed))
        self.assertGreater(hit, 300)

    def test_entries(self):
        self.trace("p", "a=%di b=%si:s32")

    def test_returns(self):
        self.trace("r", "v=$retval")


if __name__ == "__main__":
    if not all(library_path(name) for name in (*PRELOADED, "libc.so.6")):
        sys.exit(77)
    main()
