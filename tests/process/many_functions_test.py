"""200 functions of libsqlite3 and all of libz armed at once, under a program that works both hard.

The functions of libsqlite3 are drawn at random: KEVT_SEED repeats a draw. Every event fetches, so
that each hit reads registers and memory. What the program prints must not change by a letter, the
accounting must be exact for every event, and a return probe must have seen what its entry probe saw.
"""
import os
import random
import subprocess
import sys

from kevtest import KEVTRACE, PROGRAMS, ProcessTest, main, plain

DATABASE = os.path.join(PROGRAMS, "database")
SEED = int(os.environ.get("KEVT_SEED") or random.SystemRandom().getrandbits(32))
SQLITE_FUNCTIONS = 200
# Called from the start to the end by what database.c does: they are always among the 200.
SURE = ("sqlite3_step", "sqlite3_prepare_v2", "sqlite3_bind_text", "sqlite3_column_text", "sqlite3_malloc64")


def functions_of(module, library):
    """Names `kevtrace list` has of the library that are the only ones at their address and of their name."""
    listed = subprocess.run([KEVTRACE, "list", library], check=True, capture_output=True, text=True).stdout
    by_address, names = {}, []
    for line in listed.splitlines():
        name, address, size = line.split(maxsplit=3)[:3]  # a name of the source stands behind
        if int(size) > 0 and "@" not in name and address not in by_address:
            by_address[address] = name
            names.append(name)
    unique = [n for n in names if names.count(n) == 1]
    return [f"{module}:{n}" for n in sorted(unique)]


def library_of(name):
    for line in subprocess.run(["/usr/bin/ldd", DATABASE], capture_output=True, text=True).stdout.splitlines():
        if name in line:
            return line.split()[2]
    return None


class ManyFunctions(ProcessTest):
    @classmethod
    def setUpClass(cls):
        sqlite = functions_of("libsqlite3", library_of("libsqlite3.so"))
        sure = [f for f in sqlite if f.split(":")[1] in SURE]
        rest = [f for f in sqlite if f not in sure]
        cls.zlib = functions_of("libz", library_of("libz.so"))
        cls.sqlite = sorted(sure + random.Random(SEED).sample(rest, SQLITE_FUNCTIONS - len(sure)))
        print(f"KEVT_SEED={SEED}: {len(cls.sqlite)} of {len(sqlite)} functions of libsqlite3, all {len(cls.zlib)} of libz",
              file=sys.stderr)

    def trace(self, label, definitions):
        command = [DATABASE, self.path("packed.gz")]
        expected = plain(command)
        traced = self.run_traced(command, *definitions, trace="none", buffer_kb=16384)
        self.assertEqual((traced.status, traced.out, traced.err), expected)
        self.report(label, traced)
        return traced

    def report(self, label, traced):
        armed = traced.how_armed()
        self.assertEqual(set(armed), set(traced.accounts))
        jumps = [event for event, how in armed.items() if how == "jump"]
        sums = [sum(getattr(a, part) for a in traced.accounts.values())
                for part in ("hits", "recorded", "filtered", "lost", "missed")]
        hit = sum(1 for a in traced.accounts.values() if a.hits)
        print(f"\n{label}: {len(jumps)} of {len(armed)} probes by a jump ({100 * len(jumps) / len(armed):.1f} %); "
              f"{hit} were hit; hits {sums[0]} = recorded {sums[1]} + filtered {sums[2]} + lost {sums[3]} + "
              f"missed {sums[4]}", file=sys.stderr)
        for event, how in sorted(armed.items()):
            if how != "jump":
                print(f"  {event}: {how}", file=sys.stderr)
        self.assertGreater(len(jumps), 0.8 * len(armed))
        self.assertGreater(hit, 30)

    def events(self, kind, functions, arguments):
        return [f"{kind}:{kind}{i}_{f.split(':')[1]} {f} {arguments}"[:1000] for i, f in enumerate(functions)]

    def test_entries(self):
        definitions = self.events("p", self.sqlite + self.zlib, "a=%di s=+0(%di):string b=+8(%si):u32 c=$comm")
        traced = self.trace("entry probes", definitions)
        self.check_known_counts(traced, "p")

    def test_returns(self):
        definitions = self.events("r", self.sqlite + self.zlib, "v=$retval:s64 s=+0($retval):string")
        traced = self.trace("return probes", definitions)
        self.check_known_counts(traced, "r")

    def test_entries_and_returns_filtered(self):
        functions = self.sqlite[::2] + self.zlib
        definitions = self.events("p", functions, "a=%di w=%si:s32") + self.events("r", functions, "v=$retval:s32")
        command = [DATABASE, self.path("packed.gz")]
        names = [d.split(" ")[0][2:] for d in definitions]
        filters = [f"{n}: w >= 0 && w < 4" if n[0] == "p" else f"{n}: v & 1 || v < -1" for n in names]
        expected = plain(command)
        traced = self.run_traced(command, *definitions, filters=filters, buffer_kb=16384, trace="none")
        self.assertEqual((traced.status, traced.out, traced.err), expected)
        self.report("entries and returns, filtered", traced)
        self.assertGreater(sum(a.filtered for a in traced.accounts.values()), 1000)
        for i, function in enumerate(functions):
            name = f"{i}_{function.split(':')[1]}"
            entry, back = traced.accounts["p" + name], traced.accounts["r" + name]
            # Some functions call themselves on the way out and none is left by a longjmp.
            self.assertEqual(entry.hits, back.hits, name)

    def check_known_counts(self, traced, kind):
        """database.c binds three values for each of its 3000 rows, two of them not texts."""
        by_function = {name.split("_", 1)[1]: a for name, a in traced.accounts.items()}
        self.assertEqual(by_function["sqlite3_bind_text"].hits, 3000)
        self.assertEqual(by_function["compress2"].hits, 1)
        self.assertEqual(by_function["gzwrite"].hits, (20 << 20) // 8 // 4096)
        self.assertEqual(by_function["gzopen"].hits, 2)
        self.assertGreater(by_function["sqlite3_step"].hits, 3000)
        self.assertEqual(by_function["sqlite3_step"].missed, 0)


if __name__ == "__main__":
    if not os.path.exists(DATABASE):
        sys.exit(77)  # libsqlite3.so.0 or libz.so.1 is not installed
    main()
