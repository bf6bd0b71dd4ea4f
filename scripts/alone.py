"""Sources and headers that do not compile alone: they live by another's includes, which batches (unity builds) hide.

    alone.py [--all] [BUILD]     default: what was changed last, and a sample (KEVT_SEED, KEVT_SAMPLE files)

Commands come from BUILD/compile_commands.json (build/dev); the compiler parses and generates nothing. Headers are those
that CMake lists for its own check of interface headers. Exit code 1: some do not compile, their errors are printed.
"""
import concurrent.futures
import json
import os
import random
import re
import shlex
import subprocess
import sys
import time

SAMPLE = int(os.environ.get("KEVT_SAMPLE", "40"))
SEED = int(os.environ.get("KEVT_SEED") or time.time_ns() % 2**32)
INCLUDE = re.compile(r'^#include "(/[^"]+)"$', re.MULTILINE)


def without_output(command):
    """The compiler and its options: no ccache, no precompiled headers, no -c, no -o, no input."""
    words = shlex.split(command)
    while not os.path.basename(words[0]).startswith(("c++", "g++", "cc", "gcc", "clang")) or words[0].endswith("ccache"):
        words = words[1:]
    kept, skip = [], False
    for word in words[:-1]:
        if skip or word in ("-c", "-o", "-include"):
            skip = word in ("-o", "-include")
            continue
        kept.append(word)
    return [word for word in kept if word != "-Winvalid-pch"]


def units(entries):
    """What is compiled alone -> its command, with the name by which people know it."""
    found = {}
    for entry in entries:
        command, file = without_output(entry["command"]), entry["file"]
        if "/Unity/" in file:
            with open(file, encoding="utf-8") as batch:
                for source in INCLUDE.findall(batch.read()):
                    found[source] = (command + [source], entry["directory"])
        elif "verify_interface_header_sets/" in file:
            header = os.path.join(file.rpartition("verify_interface_header_sets/")[2].removesuffix(".cxx"))
            found[header] = (command + [file], entry["directory"])
    return found


def changed(root):
    """Paths in the last commit and in the working tree."""
    listed = subprocess.run(["git", "diff", "--name-only", "HEAD~1"], cwd=root, capture_output=True, text=True)
    return set(listed.stdout.split())


def compile_alone(name, command, directory):
    done = subprocess.run(command + ["-fsyntax-only", "-w"], cwd=directory, capture_output=True, text=True)
    return name, done.returncode, done.stderr


def main(words):
    take_all = "--all" in words
    words = [word for word in words if word != "--all"]
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    build = words[0] if words else os.path.join(root, "build", "dev")
    try:
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            found = units(json.load(file))
    except FileNotFoundError:
        print("alone: nothing is configured in build/dev yet, so nothing was tried")
        return 0
    names = sorted(name for name in found if os.path.exists(found[name][0][-1]))
    if not take_all:
        last = changed(root)
        own = [name for name in names if os.path.relpath(name, root) in last or name in last]
        others = random.Random(SEED).sample(names, min(SAMPLE, len(names)))
        names = sorted({*own[:SAMPLE], *others})
    print(f"alone: {len(names)} of {len(found)} sources and headers, KEVT_SEED={SEED}", flush=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for name, status, err in pool.map(lambda one: compile_alone(one, *found[one]), names):
            if status:
                failed += 1
                print(f"alone: {name} does not compile alone:\n{err}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
