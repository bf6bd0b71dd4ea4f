"""Runs in the guest: the same hits in the kernel's own tracefs and in a mount of ours, then both are read.

in_guest.py KEVTRACE DRAIN [HITS]

Text: trace_pipe, events a second. Raw: trace_pipe_raw of all CPUs by read(2), bytes a second. The reader is the same program with
the same room for both. In an emulated guest seconds say nothing; the ratio of both sides, which take turns, does. Each is
measured three times, the middle one counts.
"""
import os
import subprocess
import sys
import tempfile
import time

KEVTRACE, DRAIN = sys.argv[1:3]
HITS = int(sys.argv[3]) if len(sys.argv) > 3 else 100_000
ROUNDS = 3
KERNEL = '/sys/kernel/tracing'
BUFFER_KB = 32768
EVENT = 'p:w vfs_read a=%di:u64 b=%si:x64 c=%dx:u64 d=%cx:u64\n'
PIECE = 1 << 16


def write(place, name, text):
    with open(os.path.join(place, name), 'w') as file:
        file.write(text)


def read(place, name):
    with open(os.path.join(place, name)) as file:
        return file.read()


def cpus(place):
    return sorted(os.listdir(os.path.join(place, 'per_cpu')))


def entries(place):
    return sum(int(read(place, 'per_cpu/%s/stats' % cpu).split()[1]) for cpu in cpus(place))


def fill(places):
    """Both record at once; the hits are made in one process."""
    for place in places:
        write(place, 'trace', '')
        write(place, 'tracing_on', '1')
        write(place, 'events/kprobes/w/enable', '1')
    fd = os.open('/dev/zero', os.O_RDONLY)
    for i in range(HITS):
        os.pread(fd, 1, 0)
    os.close(fd)
    for place in places:
        write(place, 'events/kprobes/w/enable', '0')
        write(place, 'tracing_on', '0')


def drained(place, names):
    words = subprocess.run([DRAIN, str(PIECE)] + [os.path.join(place, name) for name in names], stdout=subprocess.PIPE, check=True).stdout.split()
    return int(words[0]), float(words[1])


def measure(places, raw):
    """[rate of the kernel's, rate of ours], the middle one of the rounds."""
    rates = [[] for _ in places]
    for _ in range(ROUNDS):
        fill(places)
        for i, place in enumerate(places):
            count = entries(place)
            names = ['per_cpu/%s/trace_pipe_raw' % cpu for cpu in cpus(place)] if raw else ['trace_pipe']
            size, seconds = drained(place, names)
            if count < HITS * 0.9 or size == 0:
                sys.exit('FAILED: %s holds %d of %d events' % (place, count, HITS))
            rates[i].append((size if raw else count) / seconds)
    return [sorted(each)[ROUNDS // 2] for each in rates]


def main():
    ours = os.path.join(tempfile.mkdtemp(), 't')
    mount = subprocess.Popen([KEVTRACE, '-q', 'mount', ours, '--runtime', 'bpf', '--buffer', str(BUFFER_KB)])
    end = time.monotonic() + 120
    while not os.path.exists(os.path.join(ours, 'trace')):
        if mount.poll() is not None or time.monotonic() > end:
            sys.exit('FAILED: no mount')
        time.sleep(0.1)
    write(KERNEL, 'buffer_size_kb', str(BUFFER_KB))
    for place in (KERNEL, ours):
        write(place, 'kprobe_events', EVENT)
    below = []
    for name, raw, unit, goal in (('text, trace_pipe', False, 'events/s', 1.0), ('raw, trace_pipe_raw', True, 'bytes/s', 0.3)):
        theirs, own = measure((KERNEL, ours), raw)
        print('%-20s kernel %12.0f %s, kevtrace %12.0f: %.2f, goal %.1f' % (name, theirs, unit, own, own / theirs, goal), flush=True)
        if own / theirs < goal:
            below.append(name)
    subprocess.run(['umount', ours], check=True)
    mount.wait()
    if below:
        print('below the goal: ' + '; '.join(below))
    sys.exit(1 if below else 0)


main()
