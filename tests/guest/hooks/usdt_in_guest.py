"""Runs in the guest: markers of programs by bpf, and what is listed of them given to the kernel itself.

usdt_in_guest.py KEVTRACE COLD MARKED
"""
import os
import re
import subprocess
import sys
import time

from traced import KEVTRACE, check, failures, records, run

MARKED = sys.argv[3]
TRACEFS = '/sys/kernel/tracing'
PLACE = '/tmp/kevtrace-usdt'


def write(path, text):
    file = os.open(os.path.join(TRACEFS, path), os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def read(path):
    with open(os.path.join(TRACEFS, path)) as file:
        return file.read()


def test_run():
    status, out, err = run(['p:both %s:marked:twice n=$arg1' % MARKED, 'p:g %s:marked:guarded n=$arg1' % MARKED,
                            'p:regs %s:marked:registers $arg1 $arg2 text=$arg3:string' % MARKED], [], MARKED, '3')
    check(status == 0, 'status %d %s' % (status, err))
    check([r['n'] for r in records(out, 'both')] == ['1', '1001', '2', '1002', '3', '1003'], 'both places: %s' % records(out, 'both'))
    check([r['n'] for r in records(out, 'g')] == ['0x1', '0x2', '0x3'], 'behind a semaphore: %s' % records(out, 'g'))
    check('3 semaphore 1' in out, 'which is raised')
    check([(r['arg1'], r['arg2'], r['text']) for r in records(out, 'regs')] ==
          [('0x%x' % n, str(-n), '"a text"') for n in (1, 2, 3)], 'arguments: %s' % records(out, 'regs'))
    after = subprocess.run([MARKED, '1'], stdout=subprocess.PIPE).stdout
    check(after == b'1 semaphore 0\n', 'and lowered: %s' % after)


def test_the_kernel_takes_what_is_listed():
    mount = subprocess.Popen([KEVTRACE, 'mount', PLACE, '--runtime', 'bpf'])
    end = time.monotonic() + 60
    while not os.path.exists(PLACE + '/trace') and mount.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    with open(PLACE + '/uprobe_events', 'a') as file:
        file.write('p:g %s:marked:guarded n=$arg1\n' % MARKED)
    with open(PLACE + '/uprobe_events') as file:
        line = file.read()
    check(subprocess.run(['umount', PLACE]).returncode == 0 and mount.wait(timeout=60) == 0, 'unmounted')
    check(re.fullmatch(r'p:uprobes/g %s:0x[0-9a-f]+\(0x[0-9a-f]+\) n=%%ax:x64\n' % re.escape(MARKED), line), 'listed: ' + line)
    write('uprobe_events', line)
    event = 'uprobes/g'
    write('events/%s/enable' % event, '1')
    said = subprocess.run([MARKED, '2'], stdout=subprocess.PIPE).stdout
    write('events/%s/enable' % event, '0')
    check(said == b'1 semaphore 1\n2 semaphore 1\n', 'the kernel raises the semaphore: %s' % said)
    check(re.findall(r' g: \(0x[0-9a-f]+\) n=(0x\d)$', read('trace'), re.MULTILINE) == ['0x1', '0x2'], 'and records the argument')
    write('uprobe_events', '-:%s\n' % event)


test_run()
test_the_kernel_takes_what_is_listed()
if failures:
    sys.exit('%d checks failed' % len(failures))
