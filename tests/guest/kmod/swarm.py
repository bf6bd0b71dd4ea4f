"""Runs in the guest: clients that add, enable, disable and remove at random, under load. swarm.py MODULE KEVTRACE SECONDS

Four clients have a system call each, make it an exact number of times, and know how often each of their probes must have
been hit; two of them end by SIGKILL now and then, and a fifth traces by BPF. At the end: counts were exact, the kernel's log
holds no warning, no BPF object and no slab object is left over. KEVT_SEED repeats the choices.
"""
import os
import random
import signal
import subprocess
import sys
import time

import device

MODULE, KEVTRACE, SECONDS = sys.argv[1], sys.argv[2], float(sys.argv[3])
# Nobody else in the guest calls these.
CALLS = [('__x64_sys_getpgid', lambda: os.getpgid(0)), ('__x64_sys_getsid', lambda: os.getsid(0)),
         ('__x64_sys_sched_getscheduler', lambda: os.sched_getscheduler(0)),
         ('__x64_sys_sched_rr_get_interval', lambda: os.sched_rr_get_interval(0))]


ADDRESSES = {}


def client(number, seed, end):
    """Status 0: every count was what it had to be."""
    r = random.Random('%s %d' % (seed, number))
    name, call = CALLS[number]
    address = ADDRESSES[name]
    mine = device.Client()
    probes = {}  # id: [enabled, hits]
    rounds = 0
    while time.monotonic() < end:
        rounds += 1
        action = r.randrange(4)
        ids = r.sample(sorted(probes), r.randrange(len(probes) + 1)) if probes else []
        if action == 0 and len(probes) < 40:
            added = mine.add([address] * r.randrange(1, 10), kind=r.randrange(2))
            probes.update((i, [False, 0]) for i in added)
        elif action == 1 and ids:
            mine.change(device.ENABLE, ids)
            for i in ids:
                probes[i][0] = True
        elif action == 2 and ids:
            mine.change(device.DISABLE, ids)
            for i in ids:
                probes[i][0] = False
        elif action == 3 and ids:
            mine.change(device.REMOVE, ids)
            for i in ids:
                del probes[i]
        calls = r.randrange(20)
        for _ in range(calls):
            call()
        for state in probes.values():
            state[1] += calls if state[0] else 0
        if not probes:
            continue
        for i, (hits, missed) in zip(sorted(probes), mine.hits(sorted(probes))):
            if hits + missed != probes[i][1]:
                print('client %d: probe %d of %s hit %d missed %d instead of %d' % (number, i, name, hits, missed, probes[i][1]))
                return 1
    print('client %d: %d rounds, all counts exact' % (number, rounds), flush=True)
    mine.close()
    return 0 if rounds else 1


def fork_client(number, seed, end):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = client(number, seed, end)
        finally:
            sys.stdout.flush()
            os._exit(status)
    return pid


def traced(end, wrong):
    """Runs of `kevtrace run` by BPF, until the end; a client of /dev/kevtrace that is killed in between."""
    runs = 0
    while time.monotonic() < end:
        killed = fork_client(0, 'killed', end + 60)
        done = subprocess.run([KEVTRACE, 'run', '--runtime', 'bpf', '-o', '/dev/null', '-e', 'p:a vfs_read n=$arg3', '-e', 'r:b vfs_read $retval', '--', 'ls', '/'],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        os.kill(killed, signal.SIGKILL)
        os.waitpid(killed, 0)
        runs += 1
        if done.returncode or b'hits' not in done.stderr:
            wrong.append(done.stderr.decode(errors='replace'))
    return runs


def slab_objects():
    """Objects in use, of all kmalloc caches."""
    with open('/proc/slabinfo') as file:
        return sum(int(line.split()[1]) for line in file if line.startswith('kmalloc'))


def one_round(seed, seconds):
    end = time.monotonic() + seconds
    load = [subprocess.Popen(['sh', '-c', 'while :; do cat /proc/kallsyms > /dev/null; done']) for _ in range(2)]
    # Client 0's call is the killed ones' too, so it has none of its own here.
    clients = [fork_client(number, seed, end) for number in (1, 2, 3)]
    wrong = []
    runs = traced(end, wrong)
    statuses = [os.waitpid(pid, 0)[1] for pid in clients]
    for process in load:
        process.kill()
        process.wait()
    print('%d runs by BPF, %d wrong %s' % (runs, len(wrong), wrong[:1]), flush=True)
    return not any(statuses) and not wrong


def settled(count, before, slack):
    """The count comes down to what it was: frees are deferred by RCU."""
    deadline = time.monotonic() + 60
    while count() > before + slack and time.monotonic() < deadline:
        time.sleep(0.2)
    return count()


def main():
    seed = os.environ.get('KEVT_SEED') or str(random.SystemRandom().randrange(1 << 32))
    print('KEVT_SEED=%s' % seed, flush=True)
    if subprocess.run(['insmod', MODULE]).returncode:
        sys.exit(1)
    ADDRESSES.update(device.symbols())  # once: it takes long in a guest
    good = one_round(seed, SECONDS / 4)  # caches fill
    objects, slabs = device.bpf_objects(), slab_objects()
    good = one_round(seed + 'b', SECONDS) and good
    left = settled(lambda: sum(device.bpf_objects()), sum(objects), 0)
    print('BPF objects before %d, after %d' % (sum(objects), left))
    slack = 3000  # of other work in the guest; one lost for each operation would be more
    slabs_left = settled(slab_objects, slabs, slack)
    print('slab objects before %d, after %d' % (slabs, slabs_left))
    good = good and left <= sum(objects) and slabs_left <= slabs + slack
    unloaded = subprocess.run(['rmmod', 'kevtrace']).returncode == 0
    log = subprocess.run(['dmesg'], stdout=subprocess.PIPE).stdout.decode(errors='replace')
    bad = [line for line in log.splitlines() if any(word in line for word in ('WARNING', 'BUG', 'Oops', 'general protection'))]
    print('unloaded %s, warnings %s' % (unloaded, bad[:5]))
    sys.exit(0 if good and unloaded and not bad else 1)


main()
