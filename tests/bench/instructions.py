"""Instructions per hit: exact, so one run is enough.

The hand-written twins by callgrind: (calls n2 - calls n1) / (n2 - n1). Valgrind runs a translation of a
program, not the text that probes patch, so kevtrace's own hits are counted by single steps (hit_steps.cpp).
"""

import os
import re
import shutil
import subprocess

VARIANTS = {"limit_accepted": "base", "limit_rejected": "base"}
FEW, MANY = 1000, 3000


def count(program, variant, calls):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--smc-check=all"]
    done = subprocess.run([*command, program, "--count", variant, str(calls)], capture_output=True, text=True, check=False)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    return int(collected[1]) if collected else None


def per_call(program, variant):
    few, many = count(program, variant, FEW), count(program, variant, MANY)
    return None if few is None or many is None else (many - few) / (MANY - FEW)


def per_hit(program):
    """{variant: instructions more than its unprobed twin}; empty without valgrind."""
    if not shutil.which("valgrind"):
        return {}
    base = {name: per_call(program, name) for name in set(VARIANTS.values())}
    result = {}
    for variant, twin in VARIANTS.items():
        calls = per_call(program, variant)
        if calls is not None and base[twin] is not None:
            result[variant] = calls - base[twin]
    return result


def per_kevtrace_hit(program, probes):
    """{event: instructions from the probed function's first to the last that is not its own}."""
    steps = os.path.join(os.path.dirname(program), "hit_steps")
    result = {}
    if not os.path.exists(steps):
        return result
    for event, definition, condition in probes:  # a condition is a filter, or a histogram
        if event in ("int3", "stacked"):
            continue  # the kernel's part of a signal cannot be stepped; a stack is learned by many hits
        command = [steps, program, event, definition] + ([f"{event}:{condition}"] if condition else [])
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            result[event] = int(done.stdout)
    return result
