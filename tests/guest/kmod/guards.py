"""Runs in the guest: who may open kevtrace.ko, what all clients may take together, which programs run and when they do not.

guards.py MODULE
"""
import ctypes
import os
import re
import stat
import subprocess
import sys
import time

import device
from device import DEVICE, ENABLE, Client, Refused

MODULE = sys.argv[1]
PARAMETERS = '/sys/module/kevtrace/parameters/'
CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF = 21, 38, 39
ALL = (1 << 41) - 1
libc = ctypes.CDLL(None, use_errno=True)
symbols = device.symbols()
failures = 0


def check(holds, what):
    global failures
    failures += not holds
    print('%s %s' % ('ok    ' if holds else 'FAILED', what), flush=True)


def refusal(do, *words, **named):
    """The errno's name and the item, '' where it was done."""
    try:
        do(*words, **named)
    except (Refused, OSError) as error:
        return str(error)
    return ''


def in_child(do):
    """What a child answers."""
    ours, its = os.pipe()
    child = os.fork()
    if child == 0:
        answer = 'an exception'
        try:
            answer = do()
        finally:
            os.write(its, answer.encode()[:4096])
            os._exit(0)
    os.close(its)
    with os.fdopen(ours) as file:
        answer = file.read()
    os.waitpid(child, 0)
    return answer


def keep_capabilities(kept):
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    low, high = kept & 0xffffffff, kept >> 32
    data = (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)
    if libc.syscall(126, header, data) != 0:
        raise OSError(ctypes.get_errno(), 'capset')


def opened_with(kept):
    def do():
        keep_capabilities(kept)
        return refusal(os.open, DEVICE, os.O_RDWR)
    return in_child(do)


def bit(*capabilities):
    return sum(1 << one for one in capabilities)


def test_who_may_open():
    check(stat.S_IMODE(os.stat(DEVICE).st_mode) == 0o600, 'the device is its owner\'s alone')
    check(opened_with(ALL) == '', 'root may open it')
    check(opened_with(bit(CAP_BPF, CAP_PERFMON)) == '', 'CAP_BPF and CAP_PERFMON are enough')
    check(opened_with(bit(CAP_SYS_ADMIN)) == '', 'CAP_SYS_ADMIN is enough')
    for missing, name in ((CAP_PERFMON, 'CAP_PERFMON'), (CAP_BPF, 'CAP_BPF')):
        answer = opened_with(ALL & ~bit(missing, CAP_SYS_ADMIN))
        check('Operation not permitted' in answer, 'root without %s: %s' % (name, answer))


def test_a_delegated_descriptor():
    """Who is handed an open device and a program needs no capability, as documented."""
    client = Client()

    def do():
        keep_capabilities(0)
        ids = client.add([symbols['vfs_read']])
        client.change(ENABLE, ids)
        with open('/proc/self/stat') as file:
            file.read()
        return 'hits' if client.hits(ids)[0][0] > 0 else 'none'
    answer = in_child(do)
    check(answer == 'hits', 'a delegated descriptor: %s' % answer)
    client.close()


def set_limit(name, value):
    with open(PARAMETERS + name) as file:
        before = file.read()
    with open(PARAMETERS + name, 'w') as file:
        file.write(str(value))
    return before


def functions(count):
    names = sorted(name for name in symbols if re.match(r'__x64_sys_[a-z0-9_]+$', name))
    return [symbols[name] for name in names[:count]]


def test_probes_of_all_clients():
    before = set_limit('max_probes', 10)
    places = functions(12)
    a, b = Client(), Client()
    ids = a.add(places[:6])
    answer = refusal(b.add, places[6:12])
    check(answer == 'ENOSPC at item 4', 'the 11th probe of two clients: %s' % answer)
    check(len(b.add(places[6:10])) == 4, 'what was refused has left nothing, so 4 more fit')
    a.change(device.REMOVE, ids[:1])
    check(refusal(b.add, places[:1]) == '', 'a removed probe makes room')
    check(refusal(b.add, places[1:2]) == 'ENOSPC at item 0', 'for one')
    a.close()
    check(refusal(b.add, places[:5]) == '', 'a client that goes makes room')
    b.close()
    set_limit('max_probes', before)


def test_programs_of_all_clients():
    before = set_limit('max_programs', 1)
    a, b = Client(), Client()
    places = functions(3)
    check(refusal(a.add, places[:2]) == '', 'one program on two probes')
    answer = refusal(b.add, places[2:])
    check(answer == 'ENOSPC at item 0', 'another program: %s' % answer)
    a.close()
    check(refusal(b.add, places[2:]) == '', 'a client that goes makes room for a program')
    b.close()
    set_limit('max_programs', before)


def test_memory_of_all_clients():
    before = set_limit('max_memory_mib', 1)
    clients, added = [Client(), Client()], 0
    answer = ''
    while not answer and added < 64:
        answer = refusal(clients[added % 2].add, functions(64)[added:added + 1], kind=1, maxactive=4096)
        added += not answer
    check(answer == 'ENOSPC at item 0' and 1 <= added <= 8, '%d return probes of 4096 instances in 1 MiB: %s' % (added, answer))
    check(refusal(clients[0].add, functions(1)) == '', 'a small probe fits all the same')
    for client in clients:
        client.close()
    after = Client()
    check(refusal(after.add, functions(1), kind=1, maxactive=4096) == '', 'clients that go make room for instances')
    after.close()
    set_limit('max_memory_mib', before)


def test_programs_that_write_registers():
    try:
        program = device.load(device.step(0xb7, 2), device.step(0x7b, 1, 2))  # regs->r15 = 0
    except OSError as error:
        release = tuple(map(int, os.uname().release.split('.')[:2]))
        check(release < (6, 18), 'this kernel refuses them itself: %s' % error)
        return
    client = Client(program)
    answer = refusal(client.add, functions(1))
    check(answer == 'ENOTSUP at item 0', 'a program that writes registers: %s' % answer)
    client.close()


def sleep(times):
    for _ in range(times):
        time.sleep(0.001)


def test_inside_a_program_of_the_kernel():
    """A program that perf runs calls htab_map_update_elem(), where our probe is: each call is missed, and counted."""
    counter, hashed = device.make_map(device.BPF_MAP_TYPE_ARRAY), device.make_map(device.BPF_MAP_TYPE_HASH)
    client = Client()
    ids = client.add([symbols['htab_map_update_elem']])
    client.change(ENABLE, ids)
    outer = device.perf_probe('hrtimer_nanosleep', device.load(device.counts(counter), device.updates(hashed)))
    sleep(20)
    os.close(outer)
    runs, (hits, missed) = device.number_of(counter), client.hits(ids)[0]
    check(runs >= 20 and hits == 0 and missed == runs, 'inside %d runs of perf: %d hits, %d missed' % (runs, hits, missed))
    client.close()


def test_the_kernel_inside_a_program_of_ours():
    """The other way round: perf does not run its program inside ours."""
    counter, hashed = device.make_map(device.BPF_MAP_TYPE_ARRAY), device.make_map(device.BPF_MAP_TYPE_HASH)
    inner = device.perf_probe('htab_map_update_elem', device.load(device.counts(counter)))
    client = Client(device.load(device.updates(hashed)))
    ids = client.add([symbols['hrtimer_nanosleep']])
    client.change(ENABLE, ids)
    sleep(20)
    hits, _ = client.hits(ids)[0]
    check(hits >= 20 and device.number_of(counter) == 0, '%d hits of ours, %d runs of perf inside' % (hits, device.number_of(counter)))
    client.close()
    os.close(inner)


def main():
    check(subprocess.run(['insmod', MODULE]).returncode == 0, 'the module loads')
    test_who_may_open()
    test_a_delegated_descriptor()
    test_probes_of_all_clients()
    test_programs_of_all_clients()
    test_memory_of_all_clients()
    test_programs_that_write_registers()
    test_inside_a_program_of_the_kernel()
    test_the_kernel_inside_a_program_of_ours()
    check(subprocess.run(['rmmod', 'kevtrace']).returncode == 0, 'the module unloads')
    log = subprocess.run(['dmesg'], stdout=subprocess.PIPE).stdout.decode(errors='replace')
    bad = [line for line in log.splitlines() if re.search(r'WARNING|BUG|Oops|general protection|leak', line)]
    check(not bad, 'no warning in the kernel\'s log %s' % bad[:5])
    sys.exit(1 if failures else 0)


main()
