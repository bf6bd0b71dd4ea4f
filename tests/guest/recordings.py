#!/usr/bin/env python3
"""Recordings made on a real kernel: one by kevtrace's bpf runtime, one by trace-cmd itself, converted to every format.

    recordings.py --kevtrace PROGRAM [--kernel 6.1]

Boots a guest, records in it, and runs tests/process/recording_formats_test.py on each file; what trace-cmd recorded is also
compared line by line with what `trace-cmd report` prints. Exits 77 where there is no guest.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SKIPPED = 77

IN_GUEST = r"""
cd "$1" || exit 1
"$2" run -q --runtime bpf -o bpf.dat -e 'p:rd vfs_read count=%dx:u64' -e 'r:rdr vfs_read ret=$retval:s64' \
  -e 'p:op do_sys_openat2 path=+0(%si):ustring' -- /bin/ls -R /etc/apt > ls.out
echo "bpf: $?"
mount -t tracefs none /sys/kernel/tracing 2> /dev/null
echo 'p:kp1 ksys_read fd=%di:s32 cnt=%dx:u64' > /sys/kernel/tracing/kprobe_events
trace-cmd record -q -o theirs.dat -e kprobes -e sched -e syscalls ls / > ls.out
echo "trace-cmd: $?"
trace-cmd record -q --file-version 6 -o theirs6.dat -e sched -e syscalls ls / > ls.out
for version in 6 7; do
  trace-cmd record -q --file-version $version -o instances$version.dat -e sched:sched_process_exec -B few -e sched -B alloc -e syscalls ls / > ls.out
done
trace-cmd record -q --compression none -o theirs-plain.dat -e sched -e syscalls ls / > ls.out
trace-cmd record -q --compression zstd -o theirs-zstd.dat -e sched -e syscalls ls / > ls.out
trace-cmd record -q -o static.dat -e sched -e irq -e block -e syscalls -e kmem -e timer -e rcu sh -c 'ls -R /etc; sync' > ls.out
echo "trace-cmd: $?"
"""


def lines_of(text, pattern):
    return [match.groups() for match in map(re.compile(pattern).match, text.splitlines()) if match]


# libtraceevent finds flags of timers that are not set (the kernel's own trace file has none).
NOT_THEIRS = {"timer_start"}


def same_lines(kevtrace, path, words):
    """With plugins of libtraceevent, which reword events, and without them. trace-cmd knows no symbols of kprobes."""
    ours_words, theirs_words = ([], []) if words == "plugins" else (["--raw-format"], ["-N"])
    done = subprocess.run([kevtrace, "report", *ours_words, path], capture_output=True, text=True, check=True)
    theirs = subprocess.run(["trace-cmd", "report", *theirs_words, path], capture_output=True, text=True, check=True).stdout
    ours = done.stdout
    if "print fmt" in done.stderr:
        print(f"{path}: {done.stderr}")
        return False
    a = lines_of(ours, r" *(.+?)-(\d+) +\[(\d+)\] \S{5} +(\d+\.\d+): (\w+): ?(.*?) *$")
    b = lines_of(theirs, r" *(.+?)-(\d+) +\[(\d+)\] +(\d+\.\d+): (\w+): +(.*?) *$")
    for lines in (a, b):  # CPUs' records of the same nanosecond have no order
        lines.sort(key=lambda line: (float(line[3]), line[2]))
    plain = [(x, y) for x, y in zip(a, b) if x[4] != "kp1" and x[4] not in NOT_THEIRS]
    different = [(x, y) for x, y in plain if x != y]
    print(f"{path}, {words}: {len(a)} lines of ours, {len(b)} of trace-cmd, {len(different)} differ")
    for x, y in different[:5]:
        print(f"  ours   {x}\n  theirs {y}")
    return len(a) == len(b) and len(plain) > 100 and not different


def has_instances(kevtrace, path):
    """Each instance alone, and in NDJSON and back, is what the whole says of it."""
    def report(*words):
        return subprocess.run([kevtrace, "report", *words], capture_output=True, text=True, check=True).stdout
    whole = report(path)
    again = path + ".json"
    subprocess.run([kevtrace, "convert", path, again], check=True)
    parts = {name: report(path, "-B", name).count("\n") for name in ("top", "few", "alloc")}
    lines = whole.splitlines()
    told = {name: sum(line.strip().startswith(name + ": ") for line in lines) for name in ("few", "alloc")}
    unknown = subprocess.run([kevtrace, "report", path, "-B", "nosuch"], capture_output=True, text=True)
    right = (report(again) == whole and parts["few"] == told["few"] > 10 and parts["alloc"] == told["alloc"] > 10 and parts["top"] > 0
             and sum(parts.values()) == len(lines) and unknown.returncode == 2 and "it has top, " in unknown.stderr)
    if not right:
        print(f"{path}: parts {parts}, told {told}, {len(lines)} lines, {unknown.stderr}")
    return right


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kevtrace", required=True)
    parser.add_argument("--kernel", default="6.1")
    options = parser.parse_args()
    if not shutil.which("trace-cmd"):
        print("skipped: no trace-cmd")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="kevt-recordings-") as folder:
        script = os.path.join(folder, "in-guest.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write(IN_GUEST)
        done = subprocess.run([os.path.join(ROOT, "scripts", "guest"), "--kernel", options.kernel, "--share", folder, "--",
                               "sh", script, folder, options.kevtrace], capture_output=True, text=True)
        print(done.stdout, done.stderr)
        if done.returncode == 4:
            return SKIPPED
        failed = 0
        for name in ("bpf.dat", "theirs.dat"):
            path = os.path.join(folder, name)
            if not os.path.exists(path):
                print(f"{name} was not recorded")
                failed += 1
                continue
            test = subprocess.run([sys.executable, "-B", "recording_formats_test.py", "Formats"],
                                  cwd=os.path.join(ROOT, "tests", "process"),
                                  env={**os.environ, "KEVTRACE": options.kevtrace, "KEVT_RECORDING": path})
            failed += test.returncode != 0
        for name, version in (("theirs", 7), ("theirs6", 6), ("theirs-plain", 7), ("theirs-zstd", 7), ("instances6", 6), ("instances7", 7)):
            path = os.path.join(folder, name + ".dat")
            with open(path, "rb") as file:
                head = file.read(64)
            if int(head[10:11]) != version or (name.endswith("zstd") and b"zstd" not in head):
                print(f"{name}: not made as asked: {head}")
                failed += 1
            failed += sum(not same_lines(options.kevtrace, path, words) for words in ("plugins", "print fmt"))
        for version in (6, 7):
            failed += not has_instances(options.kevtrace, os.path.join(folder, f"instances{version}.dat"))
        # Without plugins trace-cmd prints what it cannot evaluate field by field, as we do in our way.
        failed += not same_lines(options.kevtrace, os.path.join(folder, "static.dat"), "plugins")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
