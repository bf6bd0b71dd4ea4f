#!/usr/bin/python3
"""How long a program takes to load a library and to unload it again, with probes in it and without.

    reloading.py --kevtrace PROGRAM --reloads PROGRAM [--times N]

`reloads` is the test program of tests/process/programs. Each case is N cycles of dlopen and dlclose of one library, each asked
for by a line to the program, whose answer is waited for: that takes part of the time of all cases.
"""

import argparse
import os
import subprocess
import tempfile
import time

SOURCE = "int twice(int n) { static volatile int calls; calls = calls + 1; return 2 * n; }"
CASES = (
    ("not traced", ()),
    ("probes in libc alone", ("p:gets libc:fgets",)),
    ("probes in another library", ("p:crc libz.so.1:crc32",)),
    ("a probe in the library", ("p:twice libagain.so:twice n=%di:s32",)),
    ("ten probes in the library", tuple(f"p:twice{i} libagain.so:twice n=%di:s32" for i in range(10))),
)


class Program:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def cycle_ms(program, library, times):
    start = time.monotonic_ns()
    for _ in range(times):
        if program.ask("load " + library) != "load 0\n" or program.ask("close") != "close 0\n":
            raise SystemExit("reloading: the program cannot load " + library)
    return (time.monotonic_ns() - start) / times / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kevtrace", required=True)
    parser.add_argument("--reloads", required=True)
    parser.add_argument("--times", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "libagain.so")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=SOURCE, text=True, check=True)
        for name, definitions in CASES:
            program = Program(options.reloads)
            program.ask("load libz.so.1")  # has no twice(): stays loaded
            program.ask("load " + library)
            words = [word for definition in definitions for word in ("-e", definition)]
            tracer = None
            if words:
                command = [options.kevtrace, "run", "--pid", str(program.process.pid), *words]
                tracer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                tracer.stderr.readline()  # how the probes are armed
            program.ask("close")
            print(f"{name:28} {cycle_ms(program, library, options.times):6.2f} ms a cycle", flush=True)
            if tracer:
                tracer.terminate()
                tracer.communicate()
            program.end()


if __name__ == "__main__":
    main()
