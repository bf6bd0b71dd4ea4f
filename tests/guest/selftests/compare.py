#!/usr/bin/env python3
"""Two logs of ftracetest side by side.

    compare.py KERNEL.log KEVTRACE.log… [--doc FILE --kernel VERSION]

Prints each test with both results. Exits 1 when a test passes on the kernel's directory and neither passes nor is unsupported on
ours, nor has a reason in reasons.txt, or when one of the logs holds no tests. Of several logs of ours the last that has a test
counts: single ones may be run again. --doc writes the table into FILE, between the two marks of that kernel. A test is named by its file where
the folder beside the first log tells it (KERNEL/3-profile.tc-log.XXXXXX), else as it describes itself.
"""
import argparse
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LINE = re.compile(r"^\[(\d+)\] ?(\(instance\))? *(.*?)\s*\[(PASS|FAIL|UNRESOLVED|UNTESTED|UNSUPPORTED|XFAIL|UNDEFINED)\]$")
LOG = re.compile(r"^(\d+)-.+\.tc-log\.")
EXECUTED = re.compile(r"^execute.*?/test\.d/(.+)\.tc$")


def files_of(log):
    """{number: name of the test's file} of the tests that `log` is about."""
    folder = os.path.splitext(log)[0]
    if not os.path.isdir(folder):
        return {}
    files = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            number, test = LOG.match(name), EXECUTED.match(file.readline().strip())
        if number and test:
            files[number[1]] = test[1]
    return files


def described(path):
    """{(description, instance?): names of files} of a log whose folder has them."""
    names, files = {}, files_of(path)
    for match in lines_of(path):
        if match[1] in files:
            names.setdefault((match[3], bool(match[2])), []).append(files[match[1]])
    return names


def lines_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as log:
            return [match for match in map(LINE.match, log.read().splitlines()) if match]
    except FileNotFoundError:
        return []


def results(path, names):
    """{test: result} in the order of the log; equal names are numbered. `names`: of the tests by what they say they are."""
    found, seen = {}, {}
    for match in lines_of(path):
        said = (match[3], bool(match[2]))
        nth = seen[said] = seen.get(said, -1) + 1
        known = names.get(said, [])
        name = (known[nth] if nth < len(known) else match[3]) + (" (instance)" if match[2] else "")
        key, number = name, 2
        while key in found:
            key, number = f"{name} #{number}", number + 1
        found[key] = match[4].lower()
    return found


def reasons():
    """{test: why it cannot pass here}: lines `NAME: TEXT` of reasons.txt."""
    with open(os.path.join(HERE, "reasons.txt"), encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def counted(log):
    counts = {}
    for result in log.values():
        counts[result] = counts.get(result, 0) + 1
    return ", ".join(f"{count} {result}" for result, count in sorted(counts.items()))


def table(kernel, ours, why):
    """The lines of the table, and the tests that are worse on ours without a reason."""
    lines, worse = ["| test | kernel | kevtrace | |", "|---|---|---|---|"], []
    for name in list(kernel) + [n for n in ours if n not in kernel]:
        theirs, own = kernel.get(name, "-"), ours.get(name, "-")
        reason = why.get(name.replace(" (instance)", ""), "")
        bad = theirs == "pass" and own not in ("pass", "unsupported")
        if bad and not reason:
            worse.append(name)
        verdict = "not run" if own == "-" else "**worse**" if bad else ""
        note = "" if own == theirs or own == "pass" else reason or verdict
        lines.append(f"| {name} | {theirs} | {own} | {note} |")
    return lines + ["", f"kernel: {counted(kernel)}; kevtrace: {counted(ours)}"], worse


def write_doc(path, kernel, lines):
    first, last = f"<!-- results {kernel}: begin -->\n", f"<!-- results {kernel}: end -->\n"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    begin, end = text.index(first) + len(first), text.index(last)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:begin] + "\n".join(lines) + "\n" + text[end:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernel")
    parser.add_argument("kevtrace", nargs="+")
    parser.add_argument("--doc")
    parser.add_argument("--kernel", dest="version", default="6.1")
    options = parser.parse_args()
    names = described(options.kernel) or described(options.kevtrace[0])
    kernel, ours = results(options.kernel, names), {}
    for log in options.kevtrace:
        ours.update(results(log, names))
    lines, worse = table(kernel, ours, reasons())
    print("\n".join(lines))
    for name in worse:
        print("worse than the kernel's: " + name)
    if options.doc:
        write_doc(options.doc, options.version, lines)
    return 1 if worse or not kernel or not ours else 0


if __name__ == "__main__":
    sys.exit(main())
