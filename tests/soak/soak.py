#!/usr/bin/python3
"""Every exported function of one library after the other, as one batch, entries and then returns, under programs that
use it; then the swarm: sessions that come and go at random under threads that fork, to a number of hits.

A traced program must print what it prints untraced (programs that print times are held to their status), and each
event's hits must be recorded, filtered, lost or missed, exactly. `scripts/soak` builds the programs and calls this.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "process"))

import elf  # noqa: E402
from kevtest import KEVTRACE, Traced, plain  # noqa: E402
from libraries import exported_functions, functions_of, library_path, refusals  # noqa: E402
from workloads import Compared, prepare, workloads  # noqa: E402

ARGUMENTS = {"p": "a=%di b=%si:s32", "r": "v=$retval"}
REFUSED_AT_MOST = 0.03  # of a library's functions
SAMPLE = 6
HITS = 10**9


def say(text):
    print(f"soak: {text}", file=sys.stderr, flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./kev soak", description="every exported function under work, and a billion hits")
    parser.add_argument("--seed", type=int, default=None, help="repeats a run's choices (default: new, printed)")
    parser.add_argument("--library", action="append", default=[], help="only this one, e.g. libz.so.1; again for more")
    parser.add_argument("--rounds", type=int, default=1, help="how often each library is gone through (default 1)")
    parser.add_argument("--hits", type=int, default=None, help=f"of the swarm (default {HITS:,}); 0 leaves it out")
    parser.add_argument("--seconds", type=int, default=0, help="the swarm's time at most (default: until the hits are reached)")
    parser.add_argument("--sample", action="store_true", help=f"{SAMPLE} draws of library, kind and program, and a short swarm")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = int(os.environ.get("KEVT_SEED") or random.SystemRandom().getrandbits(32))
    if options.sample:
        options.seconds = options.seconds or 5
    if options.hits is None:
        options.hits = HITS
    return options


def functions(library):
    """Places of all exported functions: MODULE:NAME, or FILE:OFFSET where the name holds what ends a name."""
    if library == "python3":
        path = os.path.realpath("/usr/bin/python3")
        return functions_of(path, os.path.basename(path))
    path = library_path(library)
    if path is None:
        return []
    names = exported_functions(library)
    if not set("+-") & set(names[0].split(":")[0] if names else ""):
        return names
    return [f"{path}:{offset:#x}" for offset in elf.offsets_of(path, [name.split(":", 1)[1] for name in names])]


class Failed(Exception):
    pass


def check(label, command, compared, expected, traced, definitions):
    shown = " ".join(command)[:200]
    same = (traced.status, traced.out, traced.err) == expected
    if compared is Compared.STATUS:
        same = traced.status == expected[0]
    if not same:
        raise Failed(f"{label}: `{shown}` gives {traced.status} {traced.out[-300:]!r} {traced.err[-600:]!r}, "
                     f"untraced {expected[0]} {expected[1][-300:]!r} {expected[2][-300:]!r}")
    if len(traced.accounts) != len(definitions):
        raise Failed(f"{label}: {len(traced.accounts)} events have an account, {len(definitions)} were defined")
    for name, account in traced.accounts.items():
        if not account.adds_up():
            raise Failed(f"{label}: `{shown}`: {name}: {account}")


def trace(label, definitions, command, compared, folder):
    """Traces the command, without what is refused; (Traced, the definitions that were taken, the refusals)."""
    expected = plain(command)
    refused = {}
    for _ in range(5):
        events = os.path.join(folder, "events")
        with open(events, "w", encoding="utf-8") as file:
            file.write("\n".join(definitions) + "\n")
        status, out, err = plain([KEVTRACE, "run", "-p", events, "-o", "/dev/null", "--buffer", "2048", "--", *command])
        again = refusals(definitions, err)
        if not again or b"kevtrace: runtime=" in err:
            traced = Traced(status, out, err, b"")
            check(label, command, compared, expected, traced, definitions)
            return traced, definitions, refused
        refused |= {definitions[i].split()[1]: why for i, why in again.items()}
        definitions = [d for i, d in enumerate(definitions) if i not in again]
    raise Failed(f"{label}: definitions are refused again and again: {err[-1000:]!r}")


def report(label, command, traced, refused, seconds):
    armed = traced.how_armed()
    jumps = sum(how == "jump" for how in armed.values())
    sums = [sum(getattr(a, part) for a in traced.accounts.values()) for part in ("hits", "recorded", "lost", "missed")]
    hit = sum(1 for a in traced.accounts.values() if a.hits)
    name = os.path.basename(command[0]) if "busy.py" not in " ".join(command) else "busy.py"
    say(f"{label} under {name}: {len(armed)} armed ({100 * jumps / max(1, len(armed)):.1f} % jumps), {len(refused)} refused, "
        f"{hit} hit; {sums[0]} hits = {sums[1]} recorded + {sums[2]} lost + {sums[3]} missed; {seconds:.1f} s")


def run_one(library, kind, command, compared, folder, seen_reasons):
    label = f"{library} {'entries' if kind == 'p' else 'returns'}"
    definitions = [f"{kind}:{kind}{i} {place} {ARGUMENTS[kind]}" for i, place in enumerate(functions(library))]
    if not definitions or not os.path.exists(command[0]):
        say(f"{label}: left out: {'no such library' if not definitions else command[0] + ' is not installed'}")
        return 0
    start = time.monotonic()
    traced, taken, refused = trace(label, definitions, command, compared, folder)
    report(label, command, traced, refused, time.monotonic() - start)
    for place, why in refused.items():
        if (place, why) not in seen_reasons:
            say(f"  refused: {place}: {why}")
            seen_reasons.add((place, why))
    if len(refused) > max(20, REFUSED_AT_MOST * len(definitions)):
        raise Failed(f"{label}: {len(refused)} of {len(definitions)} are refused")
    hits = sum(a.hits for a in traced.accounts.values())
    if len(taken) and not hits:
        raise Failed(f"{label}: nothing was hit under `{' '.join(command)}`")
    return hits


def run_libraries(options, folder):
    prepare(folder)
    every = [(library, kind, command, compared)
             for library, commands in workloads(folder).items()
             for command, compared in commands
             for kind in ARGUMENTS
             if not options.library or library in options.library]
    chosen = every * options.rounds
    if options.sample:
        chosen = random.Random(options.seed).sample(every, min(SAMPLE, len(every)))
    seen, hits = set(), 0
    for library, kind, command, compared in chosen:
        hits += run_one(library, kind, command, compared, folder, seen)
    print(f"soak: {len(chosen)} batches, {hits} hits: the programs' results are the same, every hit is accounted for")


def run_swarm(options):
    words = [os.environ["KEVT_SWARM_SOAK"], os.environ["KEVT_SWARM"], str(options.hits), str(options.seconds), str(options.seed)]
    if subprocess.run(words, check=False).returncode != 0:
        raise Failed("the swarm: see above")


def main():
    options = parse_arguments()
    os.environ.setdefault("KEVT_BUSY_MB", "10" if options.sample else "50")
    print(f"soak: KEVT_SEED={options.seed}", flush=True)
    try:
        with tempfile.TemporaryDirectory(prefix="kevt-soak-") as folder:
            run_libraries(options, folder)
        if options.hits:
            run_swarm(options)
    except Failed as failure:
        print(f"soak: FAILED (seed {options.seed}): {failure}")
        sys.exit(1)


if __name__ == "__main__":
    main()
