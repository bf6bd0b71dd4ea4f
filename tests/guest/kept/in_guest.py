"""Runs in the guest: arguments of the entry in return probes. in_guest.py KEVTRACE MODULE

A call that is inside another of the same function, one that gets no return instance, one whose arguments lie on the
stack: each record has the arguments of its own call, and the counts say what has none.
"""
import json
import os
import re
import subprocess
import sys

KEVTRACE, MODULE = sys.argv[1:3]
WORKLOAD = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'workload.py')
RECORD = re.compile(r'-(\d+)\s+\[.*?: (\w+): \([^)]*\) (.*)$', re.MULTILINE)
COUNTS = re.compile(r'^(\w+): hits (\d+) = recorded (\d+) \+ filtered (\d+) \+ lost (\d+) \+ missed (\d+|\?)', re.MULTILINE)
failures = 0


def check(holds, what):
    global failures
    failures += not holds
    print('%s %s' % ('ok    ' if holds else 'FAILED', what), flush=True)


class Run:
    """One run over the workload KIND: what it says of itself, records as (thread, event, fields), counts by event."""

    def __init__(self, runtime, kind, definitions, before=()):
        words = [word for text in definitions for word in ('-e', text)]
        done = subprocess.run([KEVTRACE, 'run', '--runtime', runtime, *before, *words, '--', 'python3', '-B', WORKLOAD, kind],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.out, self.words = done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')
        told = [line for line in self.out.splitlines() if re.match(r'[{\d]', line)]
        self.known = json.loads(told[-1]) if told else None
        self.records = [(int(m[1]), m[2], dict(f.split('=', 1) for f in m[3].split())) for m in RECORD.finditer(self.out)]
        self.counts = {m[1]: [int(n) if n != '?' else None for n in m.groups()[1:]] for m in COUNTS.finditer(self.words)}
        check(done.returncode == 0 and self.known is not None, '%s is traced by %s: %s' % (kind, runtime, ' '.join(definitions)))
        if done.returncode:
            print(self.words)

    def of(self, event):
        return [(thread, fields) for thread, name, fields in self.records if name == event]


def is_whole(run, event):
    """Nothing is lost, and what is counted is there."""
    hits, recorded, filtered, lost, missed = run.counts[event]
    return lost == 0 and filtered == 0 and recorded == len(run.of(event)) and hits == recorded + (missed or 0)


def pairs(calls):
    """Of entries and returns in the order of time: the entry of each return, by thread."""
    waiting = {}
    for thread, name, fields in calls:
        if name == 'entry':
            waiting.setdefault(thread, []).append(fields)
        elif waiting.get(thread):
            yield waiting[thread].pop(), fields


def test_nested(runtime):
    entry, back = ('%s ep_loop_check_proc ep depth' % kind for kind in ('p:entry', 'r:back'))
    run = Run(runtime, 'nest', [entry, back])
    both = list(pairs(run.records))
    depths = [int(fields['depth']) for _, fields in run.of('back')]
    check(depths == [0, 1, 0, 2, 1, 0] * run.known, 'the innermost returns first: %s' % depths[:6])
    check(len(both) == len(depths) and all(a == b for a, b in both), 'each with the arguments of its own entry')
    check(is_whole(run, 'back') and not run.counts['back'][4], 'none is missed: %s' % run.counts)


def test_stack_arguments(runtime):
    words = 'file=$arg1 length=$arg3:u64 seven=$arg7 eight=$arg8'
    run = Run(runtime, 'map', ['p:entry do_mmap ' + words, 'r:back do_mmap %s got=$retval' % words])
    both = [(a, {k: v for k, v in b.items() if k != 'got'}) for a, b in pairs(run.records)]
    check(len(both) >= run.known and all(a == b for a, b in both), '%d returns, with arguments that lie on the stack' % len(both))
    lengths = {int(fields['length']) for _, fields in run.of('back')}
    check({4096 * (100 + i) for i in range(run.known)} <= lengths, 'the lengths that were mapped')
    check(all(int(fields['eight'], 16) >> 40 for _, fields in run.of('back')), 'the eighth is an address')


def test_misses(runtime, maxactive):
    """More threads sleep than there are instances: what is recorded is right, what is not is counted."""
    run = Run(runtime, 'sleep', ['r%s:slept hrtimer_nanosleep ns=$arg1:u64' % maxactive])
    known = {int(thread): set(times) for thread, times in run.known.items()}
    mine = [(thread, int(fields['ns'])) for thread, fields in run.of('slept') if thread in known]
    calls = sum(map(len, known.values()))
    check(mine and all(ns in known[thread] for thread, ns in mine), '%d of %d calls are recorded, each with its own argument' % (len(mine), calls))
    check(len(mine) == len(set(mine)) and len(mine) < calls, 'no argument twice, and some calls are missed')
    hits, recorded, _, _, missed = run.counts['slept']
    check(is_whole(run, 'slept') or missed is None, 'hits = recorded + missed: %s' % run.counts)
    check(missed is None or hits >= calls, 'every call is a record or a miss: %s, %d calls' % (run.counts, calls))


def test_filter(runtime):
    run = Run(runtime, 'map', ['r:mapped do_mmap length=$arg3:u64'], ['--filter', 'mapped: length == %d' % (4096 * 103)])
    lengths = [int(fields['length']) for _, fields in run.of('mapped')]
    check(lengths == [4096 * 103], 'a filter on what was kept: %s' % run.counts)


def test_function_return():
    """`f` events, by the same means; the module runs none."""
    run = Run('bpf', 'map', ['f:mapped do_mmap%return length=$arg3:u64', 'r:same do_mmap length=$arg3:u64'])
    both = [[(thread, fields['length']) for thread, fields in run.of(event)] for event in ('mapped', 'same')]
    check({str(4096 * (100 + i)) for i in range(run.known)} <= {length for _, length in both[0]}, 'f%return: the lengths that were mapped')
    check(set(both[1]) <= set(both[0]) and is_whole(run, 'mapped'), 'as an r event on it has them: %s' % run.counts)


def test_shared(runtime):
    """Two events of one program, on one function and on another that runs inside it."""
    run = Run(runtime, 'map', ['r:outer vm_mmap_pgoff x=$arg1', 'r:again vm_mmap_pgoff x=$arg1', 'r:inner do_mmap x=$arg1'])
    counts = [len(run.of(event)) for event in ('outer', 'again', 'inner')]
    check(counts[0] == counts[1] >= run.known and counts[2] >= run.known, 'equal programs on one call: %s' % counts)
    by_event = [[(thread, fields['x']) for thread, fields in run.of(event)] for event in ('outer', 'again', 'inner')]
    check(by_event[0] == by_event[1] and set(by_event[0]) <= set(by_event[2]), 'each has its own')


def main():
    if subprocess.run(['insmod', MODULE]).returncode:
        sys.exit(1)
    for runtime in 'bpf', 'kmod':
        test_nested(runtime)
        test_stack_arguments(runtime)
        test_misses(runtime, '' if runtime == 'bpf' else '4')
        test_filter(runtime)
        test_shared(runtime)
    test_function_return()
    check(subprocess.run(['rmmod', 'kevtrace']).returncode == 0, 'the module unloads')
    log = subprocess.run(['dmesg'], stdout=subprocess.PIPE).stdout.decode(errors='replace')
    bad = [line for line in log.splitlines() if re.search(r'WARNING|BUG|Oops|general protection', line)]
    check(not bad, "no warning in the kernel's log %s" % bad[:5])
    sys.exit(1 if failures else 0)


main()
