"""Runs in the guest: `--runtime auto` without the module and with it. auto_in_guest.py MODULE KEVTRACE

Events that the module cannot have run beside those that it has: all are recorded, in one order of time, and while they are
armed the module is in use.
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

MODULE, KEVTRACE = sys.argv[1:3]
DEADLINE = 120  # seconds: for what is certain to come
failures = 0


def check(holds, what):
    global failures
    failures += not holds
    print('%s %s' % ('ok    ' if holds else 'FAILED', what), flush=True)


def entry_of(program):
    """Where the first instruction of an ELF program lies in its file."""
    with open(program, 'rb') as stream:
        data = stream.read(4096)
    entry, headers = struct.unpack_from('<QQ', data, 24)
    size, count = struct.unpack_from('<HH', data, 54)
    for at in range(headers, headers + size * count, size):
        kind, _, offset, address, _, bytes_in_file = struct.unpack_from('<IIQQQQ', data, at)
        if kind == 1 and address <= entry < address + bytes_in_file:
            return entry - address + offset
    raise ValueError(program)


CAT = os.path.realpath('/usr/bin/cat')
SCRIPT = """target kernel
p:read vfs_read count=$arg3
r:got vfs_read count=$arg3 got=$retval:s64
f:fread vfs_read name=file:%%pD
f:fgot vfs_read%%return name=file:%%pD got=$retval:s64
t:exec sched_process_exec pid=p->pid
w:dump w@panic_timeout:4 now=$value:s32
p:begun %s:0x%x
""" % (CAT, entry_of(CAT))
KINDS = ('read', 'got', 'fread', 'fgot', 'exec', 'dump', 'begun')
WORK = 'echo 17 > /proc/sys/kernel/panic; echo 0 > /proc/sys/kernel/panic; /usr/bin/cat /etc/hostname; echo "users: $(cat /sys/module/kevtrace/refcnt)"'


def run(script, *options):
    with tempfile.NamedTemporaryFile('w', suffix='.kev') as file:
        file.write(script)
        file.flush()
        done = subprocess.run([KEVTRACE, 'run', *options, '-p', file.name, '--', 'sh', '-c', WORK], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=DEADLINE)
    return done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')


def check_all_kinds(out, words):
    for event in KINDS:
        check(re.search(r' %s: \(' % event, out), '%s is recorded' % event)
        check(re.search(r'^ ?%s: hits \d+ = recorded' % event, words, re.MULTILINE), '%s is accounted for' % event)
    check(re.search(r' fgot: .* name="hostname" got=[1-9]', out), 'arguments of the entry where BPF keeps them')
    check(re.search(r' got: .* got=[1-9]', out), 'and where the module does')
    times = [float(one) for one in re.findall(r'^.{33,45}? +(\d+\.\d{6}): ', out, re.MULTILINE)]
    check(len(times) > len(KINDS) and times == sorted(times), '%d records in one order of time' % len(times))


def test_run():
    out, words = run(SCRIPT)
    check('runtime: bpf' in words, 'without the module: bpf, and it says so')
    check_all_kinds(out, words)
    subprocess.run(['insmod', MODULE], check=True)
    out, words = run(SCRIPT)
    check('runtime: kmod for `p` and `r` of the kernel, bpf for other events' in words, 'with it: each by who has it, and it says so')
    check_all_kinds(out, words)
    check(re.search(r'^users: [1-9]', out, re.MULTILINE), 'the module is in use meanwhile')
    if failures:
        print(out[-6000:], words)
    out, words = run('target kernel\nr2:got vfs_read $retval:s64\n')
    check(re.search(r'got: hits \d+ = recorded \d+ .*missed \d', words), 'the module alone: misses are known on every kernel: ' + words.strip())
    _, words = run(SCRIPT, '--runtime', 'kmod')
    check('the kmod runtime runs kprobes alone' in words, 'kmod that was asked for refuses the others')


def test_compiled():
    """Open numbers in the module's programs: members, and arguments of the entry by their number."""
    folder = tempfile.mkdtemp()
    with open(folder + '/typed.kev', 'w') as file:
        file.write('target kernel\nr64:typed vfs_read size=file->f_inode->i_size count name=file:%pD got=$retval:s64\n  filter name == "known"\n')
    with open(folder + '/known', 'w') as file:
        file.write('x' * 4321)
    os.mkdir(folder + '/bin')
    bare = folder + '/bin/kevtrace'  # without the library that compiles
    shutil.copy(KEVTRACE, bare)
    subprocess.run([KEVTRACE, 'compile', folder + '/typed.kev', '-o', folder + '/typed.kevo'], check=True)
    done = subprocess.run([bare, 'run', folder + '/typed.kevo', '--runtime', 'kmod', '--', 'head', '-c', '1234', folder + '/known'],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE)
    out, words = done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')
    hit = re.search(r' typed: .* size=4321 count=(\d+) name="known" got=(\d+)', out)
    check(done.returncode == 0 and hit, 'a compiled script that names types: %s %s' % (hit and hit[0], words.strip()))
    check(hit and int(hit[2]) == min(int(hit[1]), 4321), 'count is what the call was given')


def module_users():
    with open('/sys/module/kevtrace/refcnt') as stream:
        return int(stream.read())


def wait_until(condition):
    end = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def main():
    test_run()
    test_compiled()
    check(wait_until(lambda: module_users() == 0), 'nobody uses the module any more')
    check(subprocess.run(['rmmod', 'kevtrace']).returncode == 0, 'it is unloaded')
    dmesg = subprocess.run(['dmesg'], stdout=subprocess.PIPE).stdout.decode(errors='replace')
    check(not re.search(r'WARNING:|BUG:|Oops', dmesg), 'the kernel is content')
    sys.exit(1 if failures else 0)


main()
