#!/usr/bin/env python3
"""What reading a mount costs: trace_pipe as text, trace_pipe_raw as pages, trace; and how soon a waiting reader is told.

    mount_reads.py --kevtrace PROGRAM [--events N] [--buffer MIB]

A program fills the buffer (4 arguments an event), then it is read. Two figures each: by the clock, and by the CPU seconds that the
serving process and the reader used together, which a loaded machine changes less. Gates: text 1.5 million events/s, raw 1 GB/s (by
CPU seconds), half of the waiting reader's lines within 5 ms.
"""
import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EVENT = "p:w paced_work a=%di:s32 b=%si:s64 c=%dx:u32 d=%cx:s64\n"
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / TICKS


def serving_process(mount):
    """The process behind the one that was started holds the targets and serves the mount."""
    with open(f"/proc/{mount.pid}/task/{mount.pid}/children", encoding="utf-8") as file:
        return int(file.read().split()[0])


class Mounted:
    def __init__(self, kevtrace, folder, words, buffer_mib):
        self.place = os.path.join(folder, "t")
        self.mount = subprocess.Popen([kevtrace, "-q", "mount", self.place, "--hold", "--keep", "--buffer", str(buffer_mib << 10), "--", *words],
                                      stdout=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while not os.path.exists(self.path("trace")):
            if self.mount.poll() is not None or time.monotonic() > end:
                sys.exit("nothing can be mounted here")
            time.sleep(0.01)
        self.server = serving_process(self.mount)

    def path(self, name):
        return os.path.join(self.place, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def entries(self):
        count = 0
        for cpu in os.listdir(self.path("per_cpu")):
            with open(self.path(f"per_cpu/{cpu}/stats"), encoding="utf-8") as file:
                count += int(file.readline().split()[1])
        return count

    def hits(self):
        with open(self.path("kprobe_profile"), encoding="utf-8") as file:
            return int(file.read().split()[1])

    def fill(self, events):
        self.write("kprobe_events", EVENT)
        self.write("events/kprobes/w/enable", "1")
        while self.hits() < events and self.mount.poll() is None:
            time.sleep(0.05)
        self.write("tracing_on", "0")

    def end(self):
        self.mount.send_signal(signal.SIGINT)
        self.mount.wait()


def drain(mounted, names, piece):
    """Bytes read, seconds, CPU seconds of both sides."""
    fds = [os.open(mounted.path(name), os.O_RDONLY | os.O_NONBLOCK) for name in names]
    began, used = time.monotonic(), cpu_seconds(mounted.server) + time.process_time()
    total = 0
    for fd in fds:
        while True:
            try:
                data = os.read(fd, piece)
            except BlockingIOError:
                break
            if not data:
                break
            total += len(data)
    took, used = time.monotonic() - began, cpu_seconds(mounted.server) + time.process_time() - used
    for fd in fds:
        os.close(fd)
    return total, took, max(used, 1 / TICKS)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kevtrace", required=True)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--buffer", type=int, default=256, help="MiB of each CPU")
    options = parser.parse_args()
    failed = []
    with tempfile.TemporaryDirectory(prefix="kevt-bench-") as folder:
        paced = os.path.join(folder, "paced")
        subprocess.run(["gcc", "-O2", "-o", paced, os.path.join(HERE, "paced.c")], check=True)
        for what in ("trace", "trace_pipe", "trace_pipe_raw"):
            mounted = Mounted(options.kevtrace, folder, [paced, str(options.events), "1e6"], options.buffer)
            mounted.fill(options.events)
            entries = mounted.entries()
            names = [what]
            if what == "trace_pipe_raw":
                names = [f"per_cpu/{cpu}/{what}" for cpu in sorted(os.listdir(mounted.path("per_cpu")))]
            total, took, used = drain(mounted, names, 1 << 20)
            mounted.end()
            raw = what == "trace_pipe_raw"
            clock, cpu = (total / took / 1e9, total / used / 1e9) if raw else (entries / took / 1e6, entries / used / 1e6)
            unit = "GB/s" if raw else "million events/s"
            print(f"{what:15} {entries} events, {total >> 20} MiB: {clock:.2f} {unit} by the clock, {cpu:.2f} by CPU seconds")
            if cpu < (1.0 if raw else 1.5):
                failed.append(what)
        mounted = Mounted(options.kevtrace, folder, [paced, "2000", "1000"], 1)
        mounted.write("kprobe_events", EVENT)
        late = []
        with open(mounted.path("trace_pipe"), encoding="utf-8") as pipe:
            mounted.write("events/kprobes/w/enable", "1")
            for _ in range(1000):
                hit = float(pipe.readline().split(": ")[0].split()[-1])
                late.append((time.clock_gettime(time.CLOCK_MONOTONIC) - hit) * 1000)
        mounted.end()
        late.sort()
        print(f"hit to a waiting reader: half within {late[500]:.2f} ms, 95 % within {late[950]:.2f} ms, all within {late[-1]:.2f} ms")
        if late[500] > 5:
            failed.append("latency")
    if failed:
        print("below its gate: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
