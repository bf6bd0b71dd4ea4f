"""Runs in the guest: compiled scripts that were made with the types of Linux 6.1, on the kernel that is here.

in_guest.py FOLDER: has bin/kevtrace without LLVM, 6.1.btf and the compiled scripts. What is recorded is compared with what
the workload knows from stat and fork; that members lie elsewhere than on 6.1 is shown from the BTF of both.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

from btf import Btf

FOLDER = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
WORKLOAD = os.path.join(HERE, '../typed/workload.py')
LARGE = 0o100000  # the kernel adds O_LARGEFILE
MEMBERS = [('file', 'f_inode'), ('file', 'f_path'), ('file', 'f_flags'), ('file', 'f_pos'), ('task_struct', 'pid'), ('task_struct', 'comm'),
           ('task_struct', 'in_execve')]
failures = 0


def check(holds, what):
    global failures
    failures += not holds
    print('%s %s' % ('ok    ' if holds else 'FAILED', what), flush=True)


def run(name, *words):
    """Status, output, errors of the compiled script `name`."""
    done = subprocess.run([FOLDER + '/bin/kevtrace', 'run', '%s/%s.kevo' % (FOLDER, name), '--', *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120)
    return done.returncode, done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')


def values(out, event):
    lines = re.findall(r' %s: \([^)]*\) (.*)$' % event, out, re.MULTILINE)
    return [dict(re.findall(r'(\w+)=("[^"]*"|\{[^}]*\}|\S+)', line)) for line in lines]


def has(records, **wanted):
    return any(all(record.get(name) == value for name, value in wanted.items()) for record in records)


def show_places(here, there, is_6_1):
    moved = []
    for structure, member in MEMBERS:
        now, then = here.member(structure, member), there.member(structure, member)
        print('       %s.%s: %s bits here, %s in 6.1' % (structure, member, now, then))
        check(now and then, 'both kernels have it')
        moved += [member] if now != then else []
    check(not moved if is_6_1 else {'f_flags', 'pid', 'in_execve'} <= set(moved), 'elsewhere than in 6.1: %s' % moved)
    bit, bit_then = here.member('task_struct', 'in_execve')[0] % 8, there.member('task_struct', 'in_execve')[0] % 8
    print('       in_execve is bit %d of its byte here, %d in 6.1' % (bit, bit_then))


def test_values(folder):
    status, out, words = run('values', 'python3', '-B', WORKLOAD, folder)
    told = [line for line in out.splitlines() if line.startswith('{"path"')]
    check(status == 0 and len(told) == 1, 'a script made for 6.1 runs here, without LLVM')
    if not told:
        return print(words)
    known = json.loads(told[0])
    path, ino, size, child = '"%s"' % known['path'], str(known['ino']), str(known['size']), str(known['child'])
    flags = str((known['flags'] | LARGE) & ~os.O_CLOEXEC)  # that is the descriptor's, not the file's
    comm = '{%s}' % ','.join('0x%x' % byte for byte in known['comm'].encode()[:6])
    for event in ('inode', 'twin'):
        check(has(values(out, event), ino=ino, size=size, count='1234', name='"known-name"', flags=flags, pos='0'),
              '%s: members behind members and %%pD, as stat says; the filter too' % event)
        check(all(one['size'] == '4321' for one in values(out, event)), '%s: no other size passes' % event)
    check(has(values(out, 'got'), ino=ino, count='1234', got='1234'), 'arguments at the return')
    check(has(values(out, 'opened'), name=path, dfd='-100'), '$arg* at the return')
    check(has(values(out, 'forked'), child=child, comm='"%s"' % known['comm'], execs='0', bytes=comm), 'members of a task: number, text, array, bit')
    execs = values(out, 'exec')
    check(execs and all(one['execs'] == '1' for one in execs) and any('python3' in one['name'] for one in execs), 't: a bit that is 1 in an exec')
    check(has(values(out, 'gone'), name='"known-name"'), 'f: %pd')
    check(has(values(out, 'parted'), pid=child) and has(values(out, 'parted_too'), pid=child), 'an argument, whatever its number')
    if failures:
        print(out[-10000:], words)


def test_sizes(here, there, is_6_1):
    """inode.i_state: 8 bytes in 6.1, 4 in 6.12, a structure in 7.2, which is read like 8 bytes."""
    now, then = here.bytes('inode', 'i_state'), there.bytes('inode', 'i_state')
    print('       inode.i_state: %s bytes here, %s in 6.1' % (now, then))
    status, out, words = run('state', 'cat', '/etc/hostname')
    if now == then:
        check(status == 0 and values(out, 'state'), 'a member of the size that it had')
    else:
        check(not is_6_1 and status != 0 and not values(out, 'state'), 'a member of another size is refused')
        check('`u32 state` in this kernel, `u64 state` where' in words and '--btf' in words, 'in words: %s' % words.strip())
    status, out, words = run('state_of_both', 'cat', '/etc/hostname')
    check(status == 0 and values(out, 'state') and values(out, 'plain'), 'a script for both kernels runs: %s' % words.strip())
    if here.bytes('inode', 'i_state') == 4:
        check(max(int(one['state']) for one in values(out, 'state')) < 1 << 32, 'and reads no more than the member')


def test_missing(here):
    gone = here.member('file', 'f_count') is None
    status, out, words = run('count', 'cat', '/etc/hostname')
    if not gone:
        return check(status == 0 and values(out, 'users'), 'a member that is still there')
    check(status == 3, 'a member that is gone is a mistake of the definition')
    for part in ('users', 'file->f_count', 'struct file', 'no such member'):
        check(part in words, 'which says `%s`' % part)
    print(words)


def main():
    is_6_1 = os.uname().release.startswith('6.1.')
    here, there = Btf('/sys/kernel/btf/vmlinux'), Btf(FOLDER + '/6.1.btf')
    show_places(here, there, is_6_1)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(['mount', '-t', 'tmpfs', 'none', folder], check=True)  # its inode numbers are stat's
        try:
            test_values(folder)
        finally:
            subprocess.run(['umount', folder], check=True)
    test_sizes(here, there, is_6_1)
    test_missing(here)
    sys.exit(1 if failures else 0)


main()
