"""Runs in the guest: probes at the entries of functions, which kevtrace.ko takes from ftrace itself.

entries.py MODULE TARGET KEVTRACE: TARGET is kevt_target.ko
"""
import os
import re
import subprocess
import sys

import device

MODULE, TARGET, KEVTRACE = sys.argv[1:4]
DISABLED, OPTIMIZED, FTRACE, GONE = 1, 2, 4, 8
CALLED = '/sys/module/kevt_target/parameters/call'
failures = 0


def check(holds, what):
    global failures
    failures += not holds
    print('%s %s' % ('ok    ' if holds else 'FAILED', what), flush=True)


def command(*words):
    return subprocess.run(words).returncode == 0


def call(times):
    for _ in range(times):
        with open(CALLED, 'w') as file:
            file.write('7')


def counts(client, ids):
    return [hits for hits, _ in client.hits(ids)]


def refusal(do):
    try:
        do()
        return 'nothing'
    except device.Refused as refused:
        return str(refused)


def at_offset(client, address):
    """A probe behind the entry, where a breakpoint stands: the first place that the kernel takes."""
    for offset in range(5, 64):
        try:
            return client.add([address + offset])[0]
        except device.Refused:
            pass
    raise SystemExit('no place for a breakpoint')


def test_one_function(at):
    """Entry and return probes of two clients at one function, switched each for itself."""
    a, b = device.Client(), device.Client()
    entry, = a.add([at])
    other, = b.add([at])
    returned, = b.add([at], kind=1)
    call(1)
    a.change(device.ENABLE, [entry])
    check(counts(a, [entry]) + counts(b, [other, returned]) == [0, 0, 0], 'added disabled')
    call(2)
    b.change(device.ENABLE, [other, returned, other])
    call(3)
    a.change(device.DISABLE, [entry])
    call(4)
    b.change(device.DISABLE, [other])
    call(5)
    check(counts(a, [entry]) + counts(b, [other, returned]) == [5, 7, 12], 'each is switched for itself')
    check([s & (DISABLED | FTRACE) for s in a.states([entry]) + b.states([other, returned])] == [5, 5, 4], 'states')
    b.close()
    call(1)
    a.change(device.ENABLE, [entry])
    call(6)
    check(counts(a, [entry]) == [11], 'and stays when the other client goes')
    a.close()


def test_hit_inside(reserve):
    """What a program of ours calls is missed, and counted, also at a breakpoint of the kernel's kprobes."""
    inner = device.Client()
    ids = inner.add([reserve]) + [at_offset(inner, reserve)]
    inner.change(device.ENABLE, ids)
    done = subprocess.run([KEVTRACE, 'run', '--runtime', 'kmod', '-o', '/dev/null', '-e', 'p:outer vfs_read', '--', 'cat', '/etc/hostname'],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    inner.change(device.DISABLE, ids)
    words = done.stderr.decode(errors='replace')
    outer = re.search(r'outer: hits (\d+) = recorded (\d+) \+ filtered 0 \+ lost (\d+) \+ missed (\d+)', words)
    tried = int(outer[2]) + int(outer[3]) if outer else 0
    check(tried > 0 and inner.hits(ids) == [(0, tried)] * 2, 'hits inside a program are missed: %s, %s' % (words.strip(), inner.hits(ids)))
    inner.close()


def test_module_goes(at, elsewhere):
    client = device.Client()
    ids = client.add([at]) + client.add([at], kind=1) + [at_offset(client, at)]
    kept = client.add([elsewhere])
    client.change(device.ENABLE, ids)
    call(3)
    check(counts(client, ids) == [3, 3, 3], 'a module is traced: %s' % client.hits(ids))
    check(command('rmmod', 'kevt_target'), 'and goes')
    check(all(s & GONE and s & DISABLED for s in client.states(ids)), 'its probes are gone')
    for number, id_ in enumerate(ids):
        said = refusal(lambda: client.change(device.ENABLE, kept + [id_]))
        check(said == 'EINVAL at item 1' and client.states(kept)[0] & DISABLED, 'enabling it again enables nothing: %d, %s' % (number, said))
    client.change(device.DISABLE, kept + ids)
    check(command('insmod', TARGET), 'the module comes again')
    call(2)
    check(counts(client, ids) == [3, 3, 3], 'a probe that is gone stays gone')
    again = client.add([device.module_symbol('kevt_called', 'kevt_target')])
    client.change(device.ENABLE, again)
    call(4)
    check(counts(client, again) == [4], 'a new one is hit')
    client.change(device.REMOVE, ids)
    call(1)
    check(counts(client, again) == [5], 'whatever is removed beside it')
    client.close()


def main():
    if not (command('insmod', MODULE) and command('insmod', TARGET)):
        sys.exit(1)
    called = device.module_symbol('kevt_called', 'kevt_target')
    at = device.symbols()
    test_one_function(called)
    test_hit_inside(at['bpf_ringbuf_reserve'])
    test_module_goes(called, at['vfs_read'])
    check(command('rmmod', 'kevtrace') and command('rmmod', 'kevt_target'), 'both are unloaded')
    log = subprocess.run(['dmesg'], stdout=subprocess.PIPE).stdout.decode(errors='replace')
    bad = [line for line in log.splitlines() if re.search(r'WARNING|BUG|Oops|general protection', line)]
    check(not bad, "no warning in the kernel's log %s" % bad[:5])
    sys.exit(1 if failures else 0)


main()
