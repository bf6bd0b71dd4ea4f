"""Runs in a guest with -icount: instructions of a hit above an empty handler: the kernel's own event, kmod, bpf.

in_guest.py MODULE EMPTY KEVTRACE PREADS
"""
import os
import re
import subprocess
import sys

TRACING = '/sys/kernel/tracing/'
MODULE, EMPTY, KEVTRACE, PREADS = sys.argv[1:5]
COUNT = '20000'
FOUR = 'a=$arg1:u64 b=$arg2:u64 c=$arg3:u64 d=$arg4:u64'
# name, letter, arguments, filter
CASES = [('no argument', 'p', '', None), ('4 arguments', 'p', FOUR, None),
         ('4 arguments, string', 'p', FOUR + ' s=@linux_proc_banner:string', None),
         ('filter rejects', 'p', FOUR, 'c > 100'), ('8 arguments', 'p', FOUR + ' ' + FOUR.replace('a=', 'e=').replace('b=', 'f=').replace('c=', 'g=').replace('d=', 'h='), None),
         ('return', 'r', 'v=$retval:s64', None)]
# name, arguments, histogram
COUNTED = [('counted by a number', 'a=$arg1:u64', 'keys=a'), ('.log2, a sum', 'c=$arg3:u64', 'keys=c.log2:vals=c'),
           ('two numbers', 'a=$arg1:u64 c=$arg3:u64', 'keys=a,c'), ('a text', 's=$comm:string', 'keys=s')]


def write(file, text, flags=os.O_APPEND):
    fd = os.open(TRACING + file, os.O_WRONLY | flags)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def preads():
    return float(subprocess.run([PREADS, COUNT], stdout=subprocess.PIPE, check=True).stdout)


def empty(kind):
    subprocess.run(['insmod', EMPTY, 'kind=' + kind], check=True)
    cost = preads()
    subprocess.run(['rmmod', 'empty'], check=True)
    return cost


def by_kernel(letter, arguments, filter_):
    write('kprobe_events', '%s:cost/e vfs_read %s\n' % (letter, arguments))
    if filter_:
        write('events/cost/e/filter', filter_, 0)
    write('events/cost/e/enable', '1', 0)
    cost = preads()
    write('events/cost/e/enable', '0', 0)
    write('kprobe_events', '-:cost/e\n')
    return cost


def counted_by_kernel(arguments, histogram):
    write('kprobe_events', 'p:cost/e vfs_read %s\n' % arguments)
    write('events/cost/e/trigger', 'hist:' + histogram, 0)
    cost = preads()
    write('events/cost/e/trigger', '!hist:' + histogram, 0)
    write('kprobe_events', '-:cost/e\n')
    return cost


def counted_by_us(runtime, arguments, histogram):
    words = [KEVTRACE, 'run', '--runtime', runtime, '-e', 'p:e vfs_read ' + arguments, '--hist', 'e:' + histogram, '--', PREADS, COUNT]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    account = re.search(rb'^e: hits .*', done.stderr, re.MULTILINE)[0].decode()
    if done.returncode != 0 or 'recorded 0 ' not in account:
        sys.exit(account + done.stderr.decode())
    return float(done.stdout.split()[0])


def by_us(runtime, letter, arguments, filter_):
    words = [KEVTRACE, 'run', '--runtime', runtime, '-o', '/dev/null', '--buffer', '16384', '-e', '%s:e vfs_read %s' % (letter, arguments)]
    done = subprocess.run(words + (['--filter', 'e: ' + filter_] if filter_ else []) + ['--', PREADS, COUNT], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(done.stderr.decode())
    return float(done.stdout)


def main():
    subprocess.run(['insmod', MODULE], check=True)
    plain = preads()
    floor = {'p': empty('entry'), 'r': empty('return')}
    print('pread %.0f, with an empty kprobe %.0f, with an empty kretprobe %.0f' % (plain, floor['p'], floor['r']))
    print('%-22s %8s %8s %8s %8s %8s' % ('instructions of a hit', 'kernel', 'kmod', '/kernel', 'bpf', '/kernel'))
    for name, letter, arguments, filter_ in CASES:
        theirs = by_kernel(letter, arguments, filter_) - floor[letter]
        kmod = by_us('kmod', letter, arguments, filter_) - floor[letter]
        bpf = by_us('bpf', letter, arguments, filter_) - floor[letter]
        print('%-22s %8.0f %8.0f %8.2f %8.0f %8.2f' % (name, theirs, kmod, kmod / theirs, bpf, bpf / theirs), flush=True)
    for name, arguments, histogram in COUNTED:
        theirs = counted_by_kernel(arguments, histogram) - floor['p']
        kmod, bpf = (counted_by_us(runtime, arguments, histogram) - floor['p'] for runtime in ('kmod', 'bpf'))
        print('%-22s %8.0f %8.0f %8.2f %8.0f %8.2f' % (name, theirs, kmod, kmod / theirs, bpf, bpf / theirs), flush=True)


main()
