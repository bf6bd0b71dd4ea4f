#!/usr/bin/env python3
"""Two logs of ftracetest side by side.

    compare.py KERNEL.log KEVTRACE.log

Prints each test with both results. Exits 1 when a test passes on the kernel's directory and neither passes nor is
unsupported on ours, or when one of the logs holds no tests.
"""
import re
import sys

LINE = re.compile(r"^\[\d+\] ?(\(instance\))? *(.*?)\s*\[(PASS|FAIL|UNRESOLVED|UNTESTED|UNSUPPORTED|XFAIL|UNDEFINED)\]$")


def results(path):
    """{(test, instance?): result} in the order of the log; equal descriptions are numbered."""
    found = {}
    try:
        with open(path, encoding="utf-8", errors="replace") as log:
            lines = log.read().splitlines()
    except FileNotFoundError:
        return found
    for line in lines:
        match = LINE.match(line)
        if not match:
            continue
        name = match[2] + (" (instance)" if match[1] else "")
        key, number = name, 2
        while key in found:
            key, number = f"{name} #{number}", number + 1
        found[key] = match[3]
    return found


def main():
    kernel, ours = results(sys.argv[1]), results(sys.argv[2])
    worse = 0
    print(f"| test | kernel | kevtrace |\n|---|---|---|")
    for name in list(kernel) + [n for n in ours if n not in kernel]:
        theirs, own = kernel.get(name, "-"), ours.get(name, "-")
        bad = theirs == "PASS" and own not in ("PASS", "UNSUPPORTED")
        worse += bad
        print(f"| {name} | {theirs} | {own}{' **worse**' if bad else ''} |")
    for title, log in (("kernel", kernel), ("kevtrace", ours)):
        counts = {}
        for result in log.values():
            counts[result] = counts.get(result, 0) + 1
        print(f"{title}: " + ", ".join(f"{count} {result}" for result, count in sorted(counts.items())))
    return 1 if worse or not kernel or not ours else 0


if __name__ == "__main__":
    sys.exit(main())
