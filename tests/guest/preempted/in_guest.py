"""Runs in the guest: BPF programs of uprobes while several processes share one CPU, and preempt each other within them.

in_guest.py KEVTRACE: each process makes the same calls. Every record has the arguments of one call, and each call is recorded as
often as there are processes, also where a filter keeps more on the program's stack than 64 bytes: from there on Linux 6.13 and
later give programs a stack for each CPU.
"""
import collections
import os
import re
import subprocess
import sys

KEVTRACE = sys.argv[1]
LIBC = '/lib/x86_64-linux-gnu/libc.so.6'
CALLERS, CALLS_EACH = 4, 20000
WORKER = """import ctypes, sys
call = ctypes.CDLL(None).syscall
for i in range(int(sys.argv[1])): call(252, 7, i * i % 1009, 0, b'text%d' % (i % 50))
"""
failures = 0


def place_of_syscall():
    words = subprocess.run(['nm', '-D', LIBC], stdout=subprocess.PIPE, check=True).stdout.decode()
    return '%s:0x%x' % (LIBC, int(re.search(r'^(\w+) T syscall@', words, re.MULTILINE)[1], 16))


def recorded(values, condition):
    """The calls that were recorded, (number, text); what else was; and the account's line."""
    definition = 'p:cc %s %s' % (place_of_syscall(), values)
    loop = 'for i in $(seq %d); do %s -c "$0" %d & done; wait' % (CALLERS, sys.executable, CALLS_EACH)
    words = [KEVTRACE, 'run', '--runtime', 'bpf', '--buffer', '65536', '-e', definition, '--filter', 'cc:' + condition]
    done = subprocess.run(words + ['--', 'sh', '-c', loop, WORKER], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    calls = collections.Counter()
    others = []
    for line in done.stdout.decode(errors='surrogateescape').splitlines():
        found = re.search(r': cc: \(0x\w+\) aa=7 bb=(\d+) .*ss="(text\d+)"$', line)
        if found:
            calls[int(found[1]), found[2]] += 1
        else:
            others.append(line)
    return calls, others, done.stderr.decode()


def test(values, condition):
    global failures
    expected = collections.Counter()
    for i in range(CALLS_EACH):
        expected[i * i % 1009, 'text%d' % (i % 50)] += CALLERS
    calls, others, said = recorded(values, condition)
    account = [int(word) for word in re.findall(r'(?:hits|recorded|filtered|lost|missed) (\d+)', said)]
    holds = calls == expected and not others and account[0] == sum(account[1:]) and account[3:] == [0, 0]
    failures += not holds
    print('%s: %s: %d records of calls, %d others: %s' % ('ok' if holds else 'FAILED', condition, calls.total(), len(others), said.strip()), flush=True)
    if not holds:
        print('  %s\n  %s' % (list((calls - expected).items())[:5], others[:5]))


def test_stacks():
    """Each stack begins at the place of its own process; libraries lie elsewhere in others."""
    global failures
    loop = 'for i in $(seq %d); do %s -c "$0" %d & done; wait' % (CALLERS, sys.executable, CALLS_EACH // 4)
    words = [KEVTRACE, 'run', '--runtime', 'bpf', '--stack', '--buffer', '65536', '-e', 'p:cc %s aa=%%si:s32' % place_of_syscall(), '--filter', 'cc: aa == 7']
    done = subprocess.run(words + ['--', 'sh', '-c', loop, WORKER], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text = done.stdout.decode(errors='surrogateescape')
    stacks = re.findall(r': cc: \((0x\w+)\) aa=7\n.*<stack trace>\n => (.*)\n', text)
    holds = len(stacks) == CALLERS * CALLS_EACH // 4 and all(place == first for place, first in stacks)
    failures += not holds
    print('%s: %d stacks from their own places: %s' % ('ok' if holds else 'FAILED', len(stacks), done.stderr.decode().strip()), flush=True)


os.sched_setaffinity(0, {0})
test_stacks()
test('aa=%si:s32 bb=%dx:s64 ss=+0(%r8):string', 'aa == 7 && ss ~ "text*"')
test('aa=%si:s32 bb=%dx:s64 ss=+0(%r8):string', 'ss ~ "*e*t*" && aa == 7 && bb < 2000 || aa == 8 && bb == 3')
test('aa=%si:s32 bb=%dx:s64 c=+0(%r8):u8[8] d=+0(%r8):b4@3/32 e=$comm:string ss=+0(%r8):string',
     'ss ~ "*e*t*" && aa == 7 && bb < 2000 || aa == 8 && bb == 3')
sys.exit(1 if failures else 0)
