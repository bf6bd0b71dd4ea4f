"""Runs in the guest: the tracer of the kernel is killed, and its keeper finishes the trace.

keeper_in_guest.py KEVTRACE [RUNTIME…]: what hits count by themselves is exact to the last hit, and each hit has an account.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from traced import KEVTRACE, check, failures

COUNT = 300
BASE = 9000000  # offsets that nobody else has
WORKLOAD = ('import os, sys\nfd = os.open("/bin/true", os.O_RDONLY)\n'
            'for line in sys.stdin:\n  for i in range(%d): os.lseek(fd, %d + i, 0)\n  print("done", flush=True)\n' % (COUNT, BASE))
COMMAND = ('/usr/bin/python3', '-S', '-c', WORKLOAD)
PROBE = 'p:seek ksys_lseek offset=$arg2:u64'
COUNTED = 'p:counted ksys_lseek offset=$arg2:u64'
OURS = 'offset >= %d && offset < %d' % (BASE, BASE + COUNT)
FOLDER = tempfile.mkdtemp()
ROUNDS = 4
RUNTIMES = [word for word in sys.argv[2:] if word == 'kmod'] or ['bpf']


def accounts(said):
    sums = re.findall(r'^(\w+): hits (\d+) = recorded (\d+) (?:\+ aggregated (\d+) )?\+ filtered (\d+) \+ lost (\d+)(?: \+ missed (\d+|\?))?$', said, re.MULTILINE)
    return {name: [int(one) if one not in ('', '?') else 0 for one in parts] for name, *parts in sums}


def text_in(path):
    with open(path) as file:
        return file.read()


def children_of(pid):
    return [int(word) for word in text_in('/proc/%d/task/%d/children' % (pid, pid)).split()]


def began(pid):
    """When a process began, in seconds since boot, rounded down to a tick; 0: there is none."""
    try:
        return int(text_in('/proc/%d/stat' % pid).rpartition(') ')[2].split()[19]) / os.sysconf('SC_CLK_TCK')
    except (FileNotFoundError, ProcessLookupError):
        return 0


def killed(*words):
    """The output of a run whose tracer is killed behind the last of ROUNDS rounds; what it said."""
    lines = os.path.join(FOLDER, 'lines')
    with open(lines, 'w') as out:
        run = subprocess.Popen([KEVTRACE, 'run', *words, '--', *COMMAND], stdin=subprocess.PIPE, stdout=out, stderr=subprocess.PIPE, text=True)
        for number in range(ROUNDS):
            run.stdin.write('go\n')
            run.stdin.flush()
            end = time.monotonic() + 120
            while text_in(lines).count('done') <= number and run.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
        os.kill(children_of(run.pid)[0], signal.SIGKILL)
        said = run.communicate(timeout=120)[1]
    check(run.returncode == 128 + signal.SIGKILL and 'the tracing process was ended by signal 9' in said, 'killed: status %d %s' % (run.returncode, said[-600:]))
    return text_in(lines), said


def test_kernel(runtime):
    text, said = killed('--runtime', runtime, '--buffer', '8192', '-e', PROBE, '--filter', 'seek: ' + OURS, '-e', COUNTED,
                        '--hist', 'counted: keys=common_type if ' + OURS)
    sums = accounts(said)
    check(set(sums) == {'seek', 'counted'}, runtime + ': accounts: %s' % said)
    for name, (hits, *parts) in sums.items():
        check(hits == sum(parts), runtime + ': accounts of %s: %s' % (name, said))
    recorded = text.count(': seek: ')
    check(sums['seek'][1] <= recorded <= ROUNDS * COUNT == sums['seek'][1] + sums['seek'][4], runtime + ': lines: %d %s' % (recorded, said))
    check(re.findall(r'^\{ common_type: +\d+ \} hitcount: +(\d+)$', text, re.MULTILINE) == [str(ROUNDS * COUNT)], runtime + ': the table: %s' % text[-600:])
    check(sums['counted'][2] == ROUNDS * COUNT, runtime + ': aggregated: %s' % said)


def test_both_sides(runtime):
    text, said = killed('--with-kernel=' + runtime, '--buffer', '8192', '-e', 'p:user libc:lseek64 offset=%si:u64', '--filter', 'user: ' + OURS, '-e', COUNTED,
                        '--hist', 'counted: keys=common_type if ' + OURS)
    sums = accounts(said)
    check(set(sums) == {'user', 'counted'} and all(hits == sum(parts) for hits, *parts in sums.values()), runtime + ', both: accounts: %s' % said)
    check(sums['counted'][2] == ROUNDS * COUNT, runtime + ', both: aggregated: %s' % said)
    check(sums['user'][1] <= text.count(': user: ') <= ROUNDS * COUNT == sums['user'][1] + sums['user'][4], runtime + ', both: lines: %s' % said)


def test_mount(runtime):
    """Code is exchanged while copies come and go: each hit has one record. Then the tracer is killed."""
    place = os.path.join(FOLDER, 't-' + runtime)
    mount = subprocess.Popen([KEVTRACE, 'mount', place + '/', '--runtime', runtime], stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 120
    while not os.path.exists(place + '/dynamic_events') and mount.poll() is None and time.monotonic() < end:
        time.sleep(0.05)

    def write(name, text):
        with open(os.path.join(place, name), 'a') as file:
            file.write(text + '\n')
    write('dynamic_events', PROBE)
    write('dynamic_events', COUNTED)
    write('events/kprobes/counted/trigger', 'hist:keys=common_type if ' + OURS)
    write('events/kprobes/seek/filter', OURS)
    write('events/kprobes/seek/enable', '1')
    write('events/sched/sched_process_exit/enable', '1')
    file = os.open('/bin/true', os.O_RDONLY)
    tracer = children_of(mount.pid)[0]
    rounds = 20

    def hit():
        for i in range(COUNT):
            os.lseek(file, BASE + i, 0)
    for number in range(rounds):
        write('events/kprobes/seek/filter', '%s && offset != %d' % (OURS, number))
        hit()
    exchanged = time.clock_gettime(time.CLOCK_BOOTTIME)

    def copy_is_new():
        """While a copy is made there are two: the older one is the keeper until the newer one has begun its work."""
        began_at = [began(child) for child in children_of(tracer)]
        return len(began_at) == 1 and began_at[0] > exchanged
    while not copy_is_new() and time.monotonic() < end:
        hit()
        rounds += 1
    hit()
    rounds += 1
    os.close(file)
    os.kill(tracer, signal.SIGKILL)
    said = mount.communicate(timeout=120)[1]
    sums = accounts(said)
    check(set(sums) >= {'seek', 'counted'} and all(hits == sum(parts) for hits, *parts in sums.values()), runtime + ', mount: accounts: %s' % said)
    check('what the directory had is in %s.left: trace, kprobes.counted.hist' % place in said, runtime + ', mount: files: %s' % said)
    check('    Hits: %d\n' % (rounds * COUNT) in text_in(place + '.left/kprobes.counted.hist'), runtime + ', mount: the table: %s' % text_in(place + '.left/kprobes.counted.hist'))
    lines = text_in(place + '.left/trace').count(': seek: ')
    check(sums['seek'][1] + sums['seek'][4] == rounds * COUNT and lines <= sums['seek'][1], runtime + ', mount: each hit once: %d %s' % (lines, said))
    subprocess.run(['umount', '-l', place], stderr=subprocess.DEVNULL)


def test_nothing_stays_behind(_):
    """A process that ends closes its files one after the other: the last probe may go a moment after kevtrace has returned."""
    if not os.path.exists('/sys/kernel/debug/kprobes/list'):
        subprocess.run(['mount', '-t', 'debugfs', 'none', '/sys/kernel/debug'], check=True)
    end = time.monotonic() + 20
    while 'ksys_lseek' in text_in('/sys/kernel/debug/kprobes/list') and time.monotonic() < end:
        time.sleep(0.1)
    check('ksys_lseek' not in text_in('/sys/kernel/debug/kprobes/list'), 'no probe stays: %s' % text_in('/sys/kernel/debug/kprobes/list'))


for name, test in list(globals().items()):
    if name.startswith('test_'):
        for runtime in RUNTIMES:
            print(name, runtime, flush=True)
            test(runtime)
print('%d failed' % len(failures), flush=True)
sys.exit(1 if failures else 0)
