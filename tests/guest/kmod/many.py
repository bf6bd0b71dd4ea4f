"""Runs in the guest: many kprobes at once, ours and the kernel's own. many.py MODULE [COUNT]

Defined, enabled, hit, disabled and removed: by batches through /dev/kevtrace, and by kprobe_events with events/…/enable.
Prints the time of each step for a probe, and the ratios. Which functions: a seed decides (KEVT_SEED).
"""
import os
import random
import subprocess
import sys
import time

import device

TRACING = '/sys/kernel/tracing/'
# What runs while a probe is hit, or while text is changed: probes there cost much and say nothing.
BUSY = ('bpf', 'trac', 'rcu', 'kprobe', 'perf', 'ftrace', 'ring_buffer', 'raw_', '_raw', 'lock', 'sched', 'irq', 'nmi', 'apic',
        'time', 'tick', 'clock', 'text_poke', 'smp', 'cpu', 'mem', 'stack', 'unwind', 'print', 'console', 'x86', 'entry', 'exit',
        'preempt', 'task', 'signal', 'idle', 'wake', 'queue', 'timer', 'page', 'tlb', 'fault')


def timed(what, do):
    began = time.monotonic()
    result = do()
    took = time.monotonic() - began
    print('%s: %.1f s' % (what, took), flush=True)
    return took, result


def write(file, text, flags=os.O_APPEND):
    fd = os.open(TRACING + file, os.O_WRONLY | flags)
    try:
        data = text.encode()
        while data:
            data = data[os.write(fd, data):]
    finally:
        os.close(fd)


def chosen(count):
    seed = os.environ.get('KEVT_SEED') or str(random.SystemRandom().randrange(1 << 32))
    print('KEVT_SEED=%s' % seed, flush=True)
    at = device.symbols()
    with open(TRACING + 'available_filter_functions') as file:
        names = [line.split()[0] for line in file if '[' not in line]
    with open('/sys/kernel/debug/kprobes/blacklist') as file:
        names = set(names) - {line.split()[1] for line in file}
    names = sorted(n for n in names if n in at and not any(word in n for word in BUSY))
    names = random.Random(seed).sample(names, min(count + count // 20, len(names)))
    return probeable(names, at, count)


def accepted(names, at):
    """Those that the kernel takes; what it refuses (a jump label, a BUG() at the entry) is left out, and shown."""
    while True:
        client = device.Client()
        try:
            client.add([at[n] for n in names])
            return names
        except device.Refused as refusal:
            print('left out: %s: %s' % (names[refusal.item], refusal), flush=True)
            del names[refusal.item]
        finally:
            client.close()


def probeable(names, at, count):
    """`count` of them, tried by hundreds: a refusal undoes its whole batch."""
    good = []
    while names and len(good) < count:
        good += accepted(names[:100], at)
        names = names[100:]
    good = sorted(good[:count])
    return good, [at[n] for n in good]


def work():
    subprocess.run(['ls', '-lR', '/proc/self/'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def ours(addresses):
    client = device.Client()
    times = {}
    times['define'], ids = timed('define', lambda: client.add(addresses))
    times['enable'], _ = timed('enable', lambda: client.change(device.ENABLE, ids))
    work()
    hit = client.hits(ids)
    times['disable'], _ = timed('disable', lambda: client.change(device.DISABLE, ids))
    before = client.hits(ids)
    work()
    still = client.hits(ids) != before
    times['remove'], _ = timed('remove', lambda: client.change(device.REMOVE, ids))
    client.close()
    return times, sum(1 for hits, _ in hit if hits), still


def theirs(names):
    text = ''.join('p:many/e%d %s\n' % (i, name) for i, name in enumerate(names))
    times = {}
    times['define'], _ = timed('define', lambda: write('kprobe_events', text))
    times['enable'], _ = timed('enable', lambda: write('events/many/enable', '1'))
    work()
    with open(TRACING + 'kprobe_profile') as file:
        hit = sum(1 for line in file if int(line.split()[1]))
    times['disable'], _ = timed('disable', lambda: write('events/many/enable', '0'))
    times['remove'], _ = timed('remove', lambda: write('kprobe_events', '', os.O_TRUNC))
    return times, hit


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 5000
    if subprocess.run(['insmod', sys.argv[1]]).returncode:
        sys.exit(1)
    names, addresses = chosen(count)
    a, hit, still = ours(addresses)
    print('ours: %d of %d hit' % (hit, len(names)), flush=True)
    b, theirs_hit = theirs(names)
    print("the kernel's: %d of %d hit" % (theirs_hit, len(names)), flush=True)
    print('%-8s %12s %12s %8s' % ('us/probe', 'kevtrace.ko', 'kernel', 'ratio'))
    sums = {}
    for step in ('define', 'enable', 'disable', 'remove'):
        mine, other = (1e6 * t[step] / len(names) for t in (a, b))
        print('%-8s %12.1f %12.1f %8.2f' % (step, mine, other, other / mine))
        which = 'add' if step in ('define', 'enable') else 'take'
        sums[which] = [x + y for x, y in zip(sums.get(which, [0, 0]), (mine, other))]
    for which, label in (('add', 'to add'), ('take', 'to remove')):
        print('%-8s %12.1f %12.1f %8.2f' % (label, *sums[which], sums[which][1] / sums[which][0]))
    log = subprocess.run(['dmesg'], stdout=subprocess.PIPE).stdout.decode(errors='replace')
    bad = [line for line in log.splitlines() if 'WARNING' in line or 'BUG' in line or 'Oops' in line]
    print('\n'.join(bad[:5]))
    unloaded = subprocess.run(['rmmod', 'kevtrace']).returncode == 0
    sys.exit(0 if len(names) == count and hit and theirs_hit and not still and not bad and unloaded else 1)


main()
