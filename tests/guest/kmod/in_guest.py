"""Runs in the guest: kevtrace.ko from loading to unloading. in_guest.py MODULE KEVTRACE SLEEPERS

Misses against the kernel's own count, a client's death, requests that no client should send, unloading; at the end the
kernel's log must hold no warning. KEVT_SEED repeats the random requests.
"""
import ctypes
import os
import random
import re
import signal
import struct
import subprocess
import sys
import time

from device import ADD, DEVICE, DISABLE, ENABLE, PROBE, REMOVE, STATUS, ask, command

TRACING = '/sys/kernel/tracing/'
MODULE, KEVTRACE, SLEEPERS = sys.argv[1:4]
failures = 0


def check(holds, what):
    global failures
    failures += not holds
    print('%s %s' % ('ok    ' if holds else 'FAILED', what), flush=True)


def ask_with(device, cmd, data, item_size, count, **words):
    memory = ctypes.create_string_buffer(data, len(data) + 64)
    return ask(device, cmd, item_size=item_size, count=count, items=ctypes.addressof(memory), **words)


def write(file, text):
    fd = os.open(TRACING + file, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def log():
    return subprocess.run(['dmesg'], stdout=subprocess.PIPE).stdout.decode(errors='replace')


def loaded():
    return subprocess.run(['insmod', MODULE]).returncode == 0


def unload():
    return subprocess.run(['rmmod', 'kevtrace'], stderr=subprocess.PIPE).returncode == 0


def run(*words):
    done = subprocess.run([KEVTRACE, 'run', '--runtime', 'kmod', *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')


def test_traces():
    status, out, words = run('-e', 'p:open do_sys_openat2 path=+0($arg2):ustring', '-e', 'r:opened do_sys_openat2 $retval:s32', '--', 'cat', '/etc/hostname')
    check(status == 0 and 'path="/etc/hostname"' in out, 'strings of an entry probe')
    check(re.search(r'opened: \(\S+ <- do_sys_openat2\) arg1=3', out) is not None, 'values of a return probe')
    counts = re.findall(r'^open\w*: hits (\d+) = recorded (\d+) \+ filtered (\d+) \+ lost (\d+) \+ missed (\d+)', words, re.MULTILINE)
    check(len(counts) == 2 and all(int(c[0]) == sum(map(int, c[1:])) for c in counts), 'hits = recorded + filtered + lost + missed: %s' % counts)


def test_lists():
    status, out, _ = run('-e', 'p:w ksys_write n=$arg3:u64 l=+0($arg2):u8[$arg3] h=+0($arg2):hex[$arg3] none=+0($arg2):u32[..$arg2] bad=+8(\\0):u8[\\2]', '--filter', 'w: n == 6', '--', 'sh', '-c', 'echo lists >/dev/null')
    check(status == 0 and 'n=6 l={108,105,115,116,115,10} h=6c697374730a none={} bad={}' in out, 'lists: %s' % out)


def test_types():
    typed = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'typed', 'in_guest.py')
    check(subprocess.run([sys.executable, '-B', typed, KEVTRACE, 'kmod']).returncode == 0, 'names of arguments and fields')


def test_misses():
    """maxactive 1; in 10 rounds one thread sleeps in the function and 7 pass through it: ours and the kernel's own side by side."""
    write('kprobe_events', 'r1:side/theirs __x64_sys_msgrcv\n')
    write('events/side/theirs/enable', '1')
    status, _, words = run('-o', '/dev/null', '-e', 'r1:ours __x64_sys_msgrcv', '--', SLEEPERS, '8', '10')
    write('events/side/theirs/enable', '0')
    with open(TRACING + 'kprobe_profile') as stream:
        theirs = next(line.split()[1:] for line in stream if 'theirs' in line)
    write('kprobe_events', '-:side/theirs\n')
    ours = re.search(r'ours: hits (\d+) = recorded (\d+) \+ filtered 0 \+ lost 0 \+ missed (\d+)', words)
    check(status == 0 and ours is not None and (ours[1], ours[2], ours[3]) == ('80', '10', '70'), 'misses with maxactive 1: %s' % words.strip())
    check(ours is not None and theirs == [ours[2], ours[3]], "our hits and misses are the kernel's: %s" % theirs)


def test_client_dies():
    client = subprocess.Popen([KEVTRACE, 'run', '--runtime', 'kmod', '-o', '/dev/null', '-e', 'p:a vfs_read', '-e', 'r:b vfs_read'], stderr=subprocess.DEVNULL)
    def become(wanted):
        """Whether there are probes, or there are none, within 30 s."""
        for _ in range(300):
            with open('/sys/kernel/debug/kprobes/list') as stream:
                if ('vfs_read' in stream.read()) == wanted:
                    return True
            time.sleep(0.1)
        return False

    check(become(True), 'a client has probes')
    check(not unload(), 'the module stays while a client is there')
    client.send_signal(signal.SIGKILL)
    client.wait()
    check(become(False), 'a killed client leaves no probe')


def test_requests():
    device = os.open(DEVICE, os.O_RDWR)
    text = next(int(line.split()[0], 16) for line in open('/proc/kallsyms') if line.split()[2] == 'vfs_read')
    data = lambda **k: PROBE.pack(k.get('address', text), 0, k.get('program', device), k.get('kind', 0), k.get('maxactive', 0), k.get('id', 0), struct.pack('16H', *(k.get('kept', []) + 16 * [0])[:16]))
    one = ctypes.create_string_buffer(128)
    at = ctypes.addressof(one)
    for what, answer, wanted in [
            ('another version', ask(device, ADD, version=1, item_size=PROBE.size, items=at), 'EPROTONOSUPPORT'),
            ('another item size', ask(device, ADD, item_size=PROBE.size + 8, items=at), 'EINVAL'),
            ('no items', ask(device, ADD, item_size=PROBE.size, count=0, items=at), 'EINVAL'),
            ('too many items', ask(device, ADD, item_size=PROBE.size, count=1 << 31, items=at), 'E2BIG'),
            ('items nowhere', ask(device, ADD, item_size=PROBE.size, items=8), 'EFAULT'),
            ('items in the kernel', ask(device, ADD, item_size=PROBE.size, items=text), 'EFAULT'),
            ('results where there are none', ask(device, ENABLE, items=at, results=at), 'EINVAL'),
            ('no such command', ask(device, command(9), items=at), 'ENOTTY'),
            ('another size of request', ask(device, command(1, 8), items=at), 'EINVAL'),
            ('another driver\'s command', ask(device, 0x5401, items=at), 'ENOTTY'),
            ('an id that nobody has', ask(device, REMOVE, items=at), 'ENOENT'),
            ('a file that is no program', ask_with(device, ADD, data(), PROBE.size, 1), 'EINVAL'),
            ('no file', ask_with(device, ADD, data(program=-1), PROBE.size, 1), 'EBADF'),
            ('a kind that is none', ask_with(device, ADD, data(kind=2), PROBE.size, 1), 'EINVAL'),
            ('maxactive of an entry probe', ask_with(device, ADD, data(maxactive=3), PROBE.size, 1), 'EINVAL'),
            ('maxactive over the limit', ask_with(device, ADD, data(kind=1, maxactive=4097), PROBE.size, 1), 'E2BIG'),
            ('an id of the client\'s', ask_with(device, ADD, data(id=1), PROBE.size, 1), 'EINVAL'),
            ('arguments of an entry probe', ask_with(device, ADD, data(kept=[1]), PROBE.size, 1), 'EINVAL'),
            ('arguments behind the end', ask_with(device, ADD, data(kind=1, kept=[1, 0, 2]), PROBE.size, 1), 'EINVAL'),
            ('arguments without an end', ask_with(device, ADD, data(kind=1, kept=16 * [1]), PROBE.size, 1), 'E2BIG'),
            ('address 0', ask_with(device, ADD, data(address=0), PROBE.size, 1), 'EINVAL')]:
        check(answer == wanted, '%s: %s' % (what, answer))
    os.close(device)


def test_random_requests():
    seed = os.environ.get('KEVT_SEED') or str(random.SystemRandom().randrange(1 << 32))
    print('       KEVT_SEED=%s' % seed)
    r = random.Random(seed)
    memory = ctypes.create_string_buffer(1 << 16)
    places = [0, 8, ctypes.addressof(memory), ctypes.addressof(memory) + 0xff00, 1 << 47, (1 << 64) - 4096, 0xffffffff81000000]
    devices = [os.open(DEVICE, os.O_RDWR) for _ in range(3)]
    taken = 0
    for _ in range(20000):
        memory[:64] = bytes(r.randrange(256) if r.randrange(2) else 0 for _ in range(64))
        cmd = r.choice([ADD, REMOVE, ENABLE, DISABLE, STATUS, command(r.randrange(16), r.randrange(64), r.randrange(4))])
        answer = ask(r.choice(devices), cmd, version=r.choice([2, 2, 2, 0, 1]), item_size=r.choice([4, 4, PROBE.size, 0, 24, r.randrange(1 << 32)]),
                     count=r.choice([0, 1, 2, 100, 16384, 16385, 0xffffffff]), items=r.choice(places), results=r.choice(places))
        taken += answer == ''
    for device in devices:
        os.close(device)
    check(taken == 0, '20,000 random requests: %d were carried out' % taken)


def main():
    check(loaded(), 'the module loads')
    test_traces()
    test_lists()
    test_types()
    test_misses()
    test_client_dies()
    test_requests()
    test_random_requests()
    check(unload(), 'the module unloads')
    check(loaded() and unload(), 'and again')
    bad = [line for line in log().splitlines() if re.search(r'WARNING|BUG|Oops|general protection|leak', line)]
    check(not bad, 'no warning in the kernel\'s log %s' % bad[:5])
    sys.exit(1 if failures else 0)


main()
