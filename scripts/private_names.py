#!/usr/bin/env python3
"""private_names.py: names in anonymous namespaces that two files of one target share.

Sources of a target are compiled in batches (KEVT_UNITY). Two private functions of one name then are overloads of one
another, and a call may silently mean the other file's. Prints each name with its files; status 1 if there is one.
"""
import collections
import os
import re
import subprocess
import sys

ROOT = subprocess.check_output(["git", "rev-parse", "--show-toplevel"], text=True).strip()
PRIVATE = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.S | re.M)
# clang-format puts what stands at namespace scope in the first column.
FUNCTION = re.compile(r"^(?!return|else|using|typedef|namespace|class|struct|enum|template|//|#|\}|\{)"
                      r"[A-Za-z_\[][^;={}()]*?[\s&*](\w+)\(", re.M)
TARGET = re.compile(r"(?:kevt_library|add_executable|add_library|kevt_\w+_test)\((\S+)([^)]*)\)")


def targets():
    """(name, files) of what is compiled together: a library's sources, its tests, a program."""
    listing = subprocess.check_output(["git", "ls-files", "*CMakeLists.txt"], text=True, cwd=ROOT)
    for path in listing.split():
        folder = os.path.join(ROOT, os.path.dirname(path))
        with open(os.path.join(ROOT, path)) as file:
            text = file.read()
        for variable, value in re.findall(r"set\((\w+)\s([^)]*)\)", text):
            text = text.replace("${" + variable + "}", value)
        for name, words in TARGET.findall(text):
            files = [os.path.join(folder, word) for word in re.findall(r"[\w./]+\.cpp", words)]
            tests = [file for file in files if file.endswith("_test.cpp")]
            yield name, [file for file in files if file not in tests]
            yield name + " (tests)", tests


def private_functions(path):
    with open(path) as file:
        text = file.read()
    return {name for part in PRIVATE.findall(text) for name in FUNCTION.findall(part)}


def main():
    found = 0
    for target, files in targets():
        where = collections.defaultdict(list)
        for file in files:
            if os.path.exists(file):
                for name in private_functions(file):
                    where[name].append(os.path.relpath(file, ROOT))
        for name, places in sorted(where.items()):
            if len(set(places)) > 1:
                found += 1
                print(f"{target}: {name}() is private to {' and to '.join(sorted(set(places)))}")
    sys.exit(1 if found else 0)


main()
