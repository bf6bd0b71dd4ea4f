#!/usr/bin/python3
"""What viewers of recordings take to load one, and a step of their zoom: each by itself, on an X server of its own.

    viewers.py [--times N] VIEWER FILE [VIEWER FILE …]

A viewer is kevtrace-gui, kernelshark or hotspot (which reads perf.data alone). `load` is the time until a viewer has been
idle for two seconds, without these; `CPU` is its process's and its children's, memory its process's. A step is a turn of the
wheel with Ctrl over the upper half of the window, which is 1600 by 1000 then: in and out, each when the one before is done.
`CPU a step` is 0 where that does nothing. KernelShark warns root, so root's viewers run as nobody, who must be able to read
FILE.
"""

import argparse
import contextlib
import os
import pwd
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
COMMANDS = {
    "kevtrace-gui": [os.path.join(ROOT, "build", "release", "bin", "kevtrace-gui")],
    "kernelshark": ["kernelshark", "-i"],
    "hotspot": ["hotspot"],
}
WIDTH, HEIGHT = 1600, 1000
IDLE_S, PATIENCE_S = 2.0, 600.0
QUIET_S, STEP_PATIENCE_S = 0.06, 5.0
STEPS = 20  # in, and as many out


def cpu_s(pid):
    """CPU time so far of all threads of the process, of its children, and of those that ended, in seconds."""
    total = 0.0
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            ended = file.read().rpartition(")")[2].split()[13:15]  # cutime and cstime, of proc(5)
        total += sum(map(int, ended)) / os.sysconf("SC_CLK_TCK")
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0]) / 1e9
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                total += sum(map(cpu_s, file.read().split()))
    return total


def memory_mb(pid, line):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return next(int(one.split()[1]) // 1024 for one in file if one.startswith(line + ":"))


def wait_idle(viewer, idle_s, patience_s):
    """Until the process took less than 1 % of a CPU for idle_s seconds. Returns when that time began (time.monotonic())."""
    end = time.monotonic() + patience_s
    since, before = time.monotonic(), cpu_s(viewer.pid)
    while time.monotonic() < end:
        time.sleep(0.01)
        if viewer.poll() is not None:
            sys.exit(f"viewers: {viewer.args[0]} ended with status {viewer.returncode}")
        now = cpu_s(viewer.pid)
        if now - before > 0.01 * (time.monotonic() - since) + 0.002:
            since, before = time.monotonic(), now
        elif time.monotonic() - since >= idle_s:
            return since
    sys.exit(f"viewers: {viewer.args[0]} is not idle after {patience_s:.0f} s")


def xdotool(*words):
    return subprocess.run(["xdotool", *map(str, words)], capture_output=True, text=True, check=False).stdout


def largest_window(pid):
    """The number of the largest window of the process."""
    windows = []
    for window in xdotool("search", "--all", "--onlyvisible", "--pid", pid, "--name", "").split():
        facts = dict(line.split("=") for line in xdotool("getwindowgeometry", "--shell", window).split())
        if "WIDTH" not in facts:
            continue  # it is gone again
        windows.append((int(facts["WIDTH"]) * int(facts["HEIGHT"]), window))
    return max(windows)[1] if windows else sys.exit("viewers: the viewer has no window")


def wheel_s(viewer):
    """CPU seconds of one step of the wheel."""
    window = largest_window(viewer.pid)
    xdotool("windowmove", window, 0, 0)
    xdotool("windowsize", window, WIDTH, HEIGHT)
    wait_idle(viewer, IDLE_S, PATIENCE_S)
    xdotool("mousemove", WIDTH // 2, HEIGHT * 3 // 10)
    wait_idle(viewer, 0.5, STEP_PATIENCE_S)
    before = cpu_s(viewer.pid)
    xdotool("keydown", "ctrl")
    for step in range(2 * STEPS):
        xdotool("click", 4 if step < STEPS else 5)
        wait_idle(viewer, QUIET_S, STEP_PATIENCE_S)
    xdotool("keyup", "ctrl")
    return (cpu_s(viewer.pid) - before) / (2 * STEPS)


@contextlib.contextmanager
def x_server():
    read, write = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-nolisten", "tcp"], pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as answer:
        display = answer.readline().strip()
    try:
        yield f":{display}"
    finally:
        server.terminate()
        server.wait()


def measure(name, file):
    with tempfile.TemporaryDirectory() as home, x_server() as display:
        user = pwd.getpwnam("nobody").pw_uid if os.getuid() == 0 else os.getuid()
        os.chown(home, user, -1)
        os.environ["DISPLAY"] = display
        environment = {**os.environ, "HOME": home, "XDG_RUNTIME_DIR": home, "QT_QPA_PLATFORM": "xcb"}
        start = time.monotonic()
        viewer = subprocess.Popen([*COMMANDS[name], file], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=user)
        try:
            load = wait_idle(viewer, IDLE_S, PATIENCE_S) - start
            facts = (load, cpu_s(viewer.pid), memory_mb(viewer.pid, "VmRSS"), memory_mb(viewer.pid, "VmHWM"))
            return (*facts, 1000 * wheel_s(viewer))
        finally:
            viewer.kill()
            viewer.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("pairs", nargs="+", metavar="VIEWER FILE")
    options = parser.parse_args()
    pairs = list(zip(options.pairs[::2], options.pairs[1::2], strict=True))
    if unknown := [name for name, _ in pairs if name not in COMMANDS]:
        parser.error(f"no viewer `{unknown[0]}`; there are {', '.join(COMMANDS)}")
    print(f"{'':14} {'load s':>8} {'CPU s':>8} {'memory MB':>10} {'at most':>8} {'CPU a step, ms':>15}   medians of {options.times}")
    results = {pair: [] for pair in pairs}
    for _ in range(options.times):  # in turn, so that each meets the same hour
        for pair in pairs:
            results[pair].append(measure(*pair))
    for (name, file), found in results.items():
        load, cpu, now, most, step = (statistics.median(column) for column in zip(*found, strict=True))
        print(f"{name:14} {load:8.1f} {cpu:8.1f} {now:10.0f} {most:8.0f} {step:15.1f}   {os.path.basename(file)}", flush=True)


if __name__ == "__main__":
    main()
