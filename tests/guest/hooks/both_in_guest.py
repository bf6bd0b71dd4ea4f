"""Runs in the guest: a program and the kernel in one session (`--with-kernel`), by the bpf runtime.

both_in_guest.py KEVTRACE …: the program makes system calls through libc, so that each call is an event of both sides.
"""
import errno
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from traced import KEVTRACE, check, failures

COUNT = 200
BASE = 7000000  # offsets that nobody else has
WORKLOAD = 'import os, sys\nfd = os.open("/bin/true", os.O_RDONLY)\nif len(sys.argv) > 1: sys.stdin.readline()\nfor i in range(%d): os.lseek(fd, %d + i, 0)\nif len(sys.argv) > 1: sys.stdin.readline()\n' % (COUNT, BASE)
COMMAND = ('/usr/bin/python3', '-S', '-c', WORKLOAD)
USER = 'p:user libc:lseek64 offset=%si:u64'
KERNEL = 'p:kern ksys_lseek offset=$arg2:u64'
OURS = 'offset >= %d && offset < %d' % (BASE, BASE + COUNT)
WANTED = list(range(BASE, BASE + COUNT))
FOLDER = tempfile.mkdtemp()


def run(*words, command=COMMAND):
    done = subprocess.run([KEVTRACE, 'run', '--with-kernel=bpf', '--buffer', '8192', *words, '--', *command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors='replace')
    return done.returncode, done.stdout, done.stderr


def in_order(text):
    """(event, offset, task) of the lines, as they stand."""
    return [(event, int(offset), task) for task, event, offset in re.findall(r'-(\d+) +\[\d+\].* (user|kern): \([^)]*\) offset=(\d+)', text)]


def accounts(said):
    sums = re.findall(r'^(\w+): hits (\d+) = recorded (\d+) (?:\+ aggregated (\d+) )?\+ filtered (\d+) \+ lost (\d+)(?: \+ missed (\d+|\?))?$', said, re.MULTILINE)
    return {name: (int(hits), sum(int(one) for one in parts if one not in ('', '?'))) for name, hits, *parts in sums}


def judge(what, text):
    seen = in_order(text)
    users, kernels = ([offset for event, offset, _ in seen if event == side] for side in ('user', 'kern'))
    check(users == WANTED, '%s: the calls of the program: %d' % (what, len(users)))
    check(kernels == WANTED, '%s: those of the kernel: %d' % (what, len(kernels)))
    check(len({task for _, _, task in seen}) == 1, '%s: of one thread' % what)
    check([event for event, _, _ in seen] == ['user', 'kern'] * COUNT, '%s: in turns' % what)


def test_run():
    status, out, err = run('-e', USER, '-e', KERNEL, '--filter', 'user: ' + OURS, '--filter', 'kern: ' + OURS)
    check(status == 0, 'run: status %d %s' % (status, err[-600:]))
    judge('run', out)
    check('runtime=bpf the kernel kern\n' in err, 'run: what is armed in the kernel: %s' % err)
    check('pid ' not in err.partition('kern: hits')[2], 'run: each event is of one target')
    sums = accounts(err)
    check(set(sums) == {'user', 'kern'} and all(hits == parts for hits, parts in sums.values()), 'run: accounts %s' % err)


def test_script_and_statics():
    script = os.path.join(FOLDER, 's.kev')
    with open(script, 'w') as file:
        file.write('option with-kernel bpf\n%s\n  filter %s\n%s\n  filter %s\nevent sched:sched_process_exit\n' % (USER, OURS, KERNEL, OURS))
    dat = os.path.join(FOLDER, 'both.dat')
    done = subprocess.run([KEVTRACE, 'run', '-p', script, '-o', dat, '--', *COMMAND], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(done.returncode == 0, 'script: status %d %s' % (done.returncode, done.stderr[-600:]))
    report = subprocess.run([KEVTRACE, 'report', dat], stdout=subprocess.PIPE, text=True, errors='replace').stdout
    judge('script, recording', report)
    check(' sched_process_exit: ' in report, 'script: an event of the kernel')


def test_latencies():
    """From the program to the kernel and back: variables and synthetic events across both."""
    back = 'r:back libc:lseek64'
    status, out, err = run(
        '-e', 's:there u64 ns; u64 offset', '-e', 's:home u64 ns', '-e', USER, '-e', KERNEL, '-e', back,
        '--hist', 'user: keys=common_pid:t0=common_timestamp if ' + OURS,
        '--hist', 'kern: keys=common_pid:t1=common_timestamp,ns=common_timestamp-$t0,o=offset:onmatch(kprobes.user).trace(there,$ns,$o) if ' + OURS,
        '--hist', 'back: keys=common_pid:ns2=common_timestamp-$t1:onmatch(kprobes.kern).trace(home,$ns2)')
    check(status == 0, 'latencies: status %d %s' % (status, err[-600:]))
    there = re.findall(r' there: ns=(\d+) offset=(\d+)$', out, re.MULTILINE)
    home = re.findall(r' home: ns=(\d+)$', out, re.MULTILINE)
    check([int(offset) for _, offset in there] == WANTED, 'latencies: each way in: %d' % len(there))
    check(len(home) == COUNT, 'latencies: each way out: %d' % len(home))
    check(all(int(ns) < 10 ** 9 for ns, _ in there), 'latencies: no wrong order: %s' % there[:3])


def test_mount():
    place = os.path.join(FOLDER, 't')
    mount = subprocess.Popen([KEVTRACE, 'mount', place, '--with-kernel=bpf', '--', *COMMAND, 'wait'], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 120
    while not os.path.exists(place + '/dynamic_events') and mount.poll() is None and time.monotonic() < end:
        time.sleep(0.05)

    def write(name, text):
        with open(os.path.join(place, name), 'a') as file:
            file.write(text + '\n')
    write('dynamic_events', USER)
    write('dynamic_events', KERNEL)
    try:
        write('dynamic_events', 'p:no libc:ksys_lseek')
        check(False, 'mount: a function of the kernel is none of the program')
    except OSError:
        pass
    for event in ('user', 'kern'):
        write('events/kprobes/%s/filter' % event, OURS)
        write('events/kprobes/%s/enable' % event, '1')
        write('events/kprobes/%s/trigger' % event, 'hist:keys=common_pid if ' + OURS)
    check(os.path.exists(place + '/events/sched/sched_switch/format'), 'mount: the kernel has its own events, too')
    mount.stdin.write('\n')
    mount.stdin.flush()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with open(place + '/events/kprobes/kern/hist') as file:
            if 'Hits: %d\n' % COUNT in file.read():
                break
    with open(place + '/trace') as file:
        judge('mount', file.read())
    mount.stdin.close()
    said = mount.stderr.read()
    check(mount.wait(timeout=120) == 0, 'mount: ends: %s' % said[-400:])
    check(all(hits == parts for hits, parts in accounts(said).values()), 'mount: accounts %s' % said)


def test_the_kernel_goes_on():
    """The program ends, the mount of `--pid` does not."""
    place = os.path.join(FOLDER, 'on')
    program = subprocess.Popen([*COMMAND, 'wait'], stdin=subprocess.PIPE)
    mount = subprocess.Popen([KEVTRACE, 'mount', place, '--with-kernel=bpf', '--pid', str(program.pid)], stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 120
    while not os.path.exists(place + '/dynamic_events') and mount.poll() is None and time.monotonic() < end:
        time.sleep(0.05)

    def write(name, text):
        with open(os.path.join(place, name), 'a') as file:
            file.write(text + '\n')
    for name, line in (('user', USER), ('kern', KERNEL)):
        write('dynamic_events', line)
        write('events/kprobes/%s/filter' % name, OURS)
        write('events/kprobes/%s/enable' % name, '1')
    program.communicate(b'\n\n')
    # The ends of both are switched at once: what was hit before is recorded, however young it is.
    write('events/kprobes/user/enable', '0')
    write('events/kprobes/kern/enable', '0')
    with open(place + '/trace') as file:
        judge('the program has ended', file.read())
    try:
        write('dynamic_events', USER.replace('p:user', 'p:later'))
        write('events/kprobes/later/enable', '1')
        check(False, 'ended: an event of the program is refused')
    except OSError as error:
        check(error.errno == errno.ESRCH, 'ended: an event of the program: %s' % error)
    write('events/kprobes/kern/enable', '1')
    file = os.open('/bin/true', os.O_RDONLY)
    os.lseek(file, BASE, 0)
    os.close(file)
    with open(place + '/trace') as file:
        check(len(in_order(file.read())) == 2 * COUNT + 1, 'ended: the kernel is traced on')
    mount.send_signal(signal.SIGINT)
    said = mount.stderr.read()
    check(mount.wait(timeout=120) == 0, 'ended: status: %s' % said[-400:])
    sums = accounts(said)
    check(set(sums) >= {'user', 'kern'} and all(hits == parts for hits, parts in sums.values()), 'ended: accounts %s' % said)


def test_refusals():
    for words, what in ((['-e', 'p:x lseek64'], '`lseek64`'), (['-e', 'p:x libc:ksys_lseek'], 'ksys_lseek'), (['-e', 'p:x libc:lseek64', '-e', 'p:x ksys_lseek'], 'have this name'),
                        (['--runtime', 'bpf', '-e', 'p:x ksys_lseek'], 'traces the kernel already')):
        status, _, err = run(*words, command=('/bin/true',))
        check(status != 0 and what in err, 'refused: %s %s' % (words, err))


for name, test in list(globals().items()):
    if name.startswith('test_'):
        print(name, flush=True)
        test()
print('%d failed' % len(failures), flush=True)
sys.exit(1 if failures else 0)
