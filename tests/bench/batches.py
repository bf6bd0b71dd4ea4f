"""What the interleaved runs do not show: two threads that hit at once, and many probes defined together."""

import os
import subprocess

BATCHES = [(1000, "same"), (1000, "different"), (10000, "same")]
SLICES, CALLS = 61, 2000


def _figures(command):
    """{word: number} of a program's lines; None when it fails or is not there."""
    if not os.path.exists(command[0]):
        return None
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if done.returncode != 0:
        return None
    pairs = [line.split() for line in done.stdout.splitlines()]
    return {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2}


def pair(program, kevtrace, probe, pause_ms):
    """{alone, together}: ns per accepted hit; {} without kevtrace or a second CPU."""
    event, definition, condition = probe
    beside = os.path.join(os.path.dirname(program), "pair")
    if not kevtrace or not os.path.exists(beside):
        return {}
    traced = [kevtrace, "run", "-o", "/dev/null", "-e", definition, "--filter", f"{event}: {condition}", "--"]
    return _figures([*traced, beside, str(SLICES), str(CALLS), str(int(pause_ms))]) or {}


def measure(program):
    """{(count, "same" or "different"): {step: ms}}."""
    folder = os.path.dirname(program)
    crowd = os.path.join(folder, "..", "tests", "process", "programs", "crowd")
    command = [os.path.join(folder, "batch_times"), crowd]
    measured = {(count, kind): _figures([*command, str(count), kind]) for count, kind in BATCHES}
    return {key: steps for key, steps in measured.items() if steps}
