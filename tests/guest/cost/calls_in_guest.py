"""Runs in a guest with -icount: instructions of a hit in a program, its trap included: the kernel's own uprobe event, and bpf.
Then of a hit that is counted by an argument: the kernel's `hist` trigger, bpftrace's `count()`, and ours, by bpf and in process.

calls_in_guest.py CALLS KEVTRACE [KEVTRACE…]: several of them are compared with each other.
"""
import os
import re
import shutil
import subprocess
import sys

TRACING = '/sys/kernel/tracing/'
CALLS = shutil.copy(sys.argv[1], '/run/kevt_calls')
COUNT = '5000'
CASES = [('no argument', '', None), ('register', 'n=%dx:s64', None), ('number', 'v=+8(%si):s64', None), ('4 numbers', 'v=+0(%si):s64[4]', None),
         ('string', 's=+0(%di):string', None), ('string, number', 's=+0(%di):string v=+8(%si):s64 n=%dx', None),
         ('filter rejects number', 's=+0(%di):string n=%dx', 'n > 1000000'), ('filter rejects string', 's=+0(%di):string n=%dx', 's ~ "/etc/*"'),
         ('filter looks for string', 's=+0(%di):string n=%dx', 's ~ "*/nothing/*"')]


def place():
    words = subprocess.run(['nm', CALLS], stdout=subprocess.PIPE, check=True).stdout.decode()
    return '%s:0x%x' % (CALLS, int(re.search(r'^(\w+) T called$', words, re.MULTILINE).group(1), 16) - 0x400000)


def write(file, text, flags=os.O_APPEND):
    fd = os.open(TRACING + file, os.O_WRONLY | flags)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def calls():
    return float(subprocess.run([CALLS, COUNT], stdout=subprocess.PIPE, check=True).stdout)


def by_kernel(arguments, filter_):
    write('uprobe_events', 'p:cost/e %s %s\n' % (place(), arguments))
    if filter_:
        write('events/cost/e/filter', filter_, 0)
    write('events/cost/e/enable', '1', 0)
    cost = calls()
    write('events/cost/e/enable', '0', 0)
    write('uprobe_events', '-:cost/e\n')
    return cost


def by_us(kevtrace, arguments, filter_):
    words = [kevtrace, 'run', '--runtime', 'bpf', '-o', '/dev/null', '--buffer', '16384', '-e', 'p:e %s %s' % (place(), arguments)]
    done = subprocess.run(words + (['--filter', 'e: ' + filter_] if filter_ else []) + ['--', CALLS, COUNT], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return float(done.stdout) if done.returncode == 0 else float('nan')


def counted_by_kernel():
    write('uprobe_events', 'p:cost/e %s name=%%di:u64\n' % place())
    write('events/cost/e/trigger', 'hist:keys=name', 0)
    cost = calls()
    write('events/cost/e/trigger', '!hist:keys=name', 0)
    write('uprobe_events', '-:cost/e\n')
    return cost


def counted_by_bpftrace():
    if not shutil.which('bpftrace'):
        return float('nan')
    program = 'uprobe:%s:called { @[arg0] = count(); }' % CALLS
    done = subprocess.run(['bpftrace', '-e', program, '-c', CALLS + ' ' + COUNT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    keys = re.findall(r'^@\[\d+\]: (\d+)$', done.stdout, re.MULTILINE)
    cost = re.search(r'^\d+\.\d+$', done.stdout, re.MULTILINE)
    if done.returncode != 0 or sum(map(int, keys)) != int(COUNT) + 1 or not cost:
        sys.exit('bpftrace counted %d: %s %s' % (sum(map(int, keys)), done.stdout[-300:], done.stderr))
    return float(cost[0])


def counted_by_us(kevtrace, runtime):
    definition = 'p:e %s name=%%di:u64' % (place() if runtime == 'bpf' else 'kevt_calls:called')
    words = [kevtrace, 'run', '--runtime', runtime, '-e', definition, '--hist', 'e:keys=name', '--hist-output', '/dev/null', '--', CALLS, COUNT]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0 or not re.search(r'^e: hits (\d+) = recorded 0 \+ aggregated \1 ', done.stderr, re.MULTILINE):
        sys.exit(done.stdout + done.stderr)
    return float(done.stdout)


def main():
    print('a call %.0f' % calls())
    print('%-26s %8s' % ('instructions of a hit', 'kernel') + ' %8s %8s' % ('bpf', '/kernel') * len(sys.argv[2:]))
    for name, arguments, filter_ in CASES:
        theirs = by_kernel(arguments, filter_)
        ours = [by_us(kevtrace, arguments, filter_) for kevtrace in sys.argv[2:]]
        print('%-26s %8.0f' % (name, theirs) + ''.join(' %8.0f %8.2f' % (cost, cost / theirs) for cost in ours), flush=True)

    plain = calls()
    costs = [('kernel', counted_by_kernel()), ('bpftrace', counted_by_bpftrace())]
    for kevtrace in sys.argv[2:]:
        costs += [(runtime, counted_by_us(kevtrace, runtime)) for runtime in ('bpf', 'inproc')]
    print('counted by an argument, above the call: ' + ', '.join('%s %.0f' % (name, cost - plain) for name, cost in costs), flush=True)


main()
