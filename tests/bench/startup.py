"""How long from `kevtrace run` to the traced program's main, with one event: the program prints the time it got there.

Where it goes, from the outside: the program started alone; kevtrace started and doing nothing (`--version`); the
definition checked without a target (`check`). What is left is code generation, starting under control, and arming.
"""

import statistics
import subprocess
import time

TIMES = 9


def wall_ms(command):
    start = time.monotonic_ns()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return (time.monotonic_ns() - start) / 1e6 if done.returncode == 0 else None


def to_main_ms(command):
    start = time.monotonic_ns()
    done = subprocess.run([*command, "--startup", str(start)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("startup_ms ")]
    return float(lines[0].split()[1]) if lines else None


def median(measure, command):
    values = [measure(command) for _ in range(TIMES)]
    return None if None in values else statistics.median(values)


def measure(program, kevtrace, definition):
    """{step: ms or None}; empty without kevtrace."""
    if not kevtrace:
        return {}
    return {
        "program alone, to its main": median(to_main_ms, [program]),
        "kevtrace --version, whole": median(wall_ms, [kevtrace, "--version"]),
        "kevtrace check, whole": median(wall_ms, [kevtrace, "check", "-e", definition]),
        "kevtrace run, to main": median(to_main_ms, [kevtrace, "run", "-o", "/dev/null", "-e", definition, "--", program]),
    }
