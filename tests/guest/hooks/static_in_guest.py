"""Runs in the guest: `e` probes of `run`, by the bpf runtime, and strings that lie behind a record's fields.

static_in_guest.py KEVTRACE: what is recorded is what the workload (execs.py) knows, and what the kernel's own event probe
records on the same hits.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from traced import KEVTRACE, check, failures, records, run

HERE = os.path.dirname(os.path.abspath(__file__))
TRACEFS = tempfile.mkdtemp()
RUN = [
    'e:exec sched/sched_process_exec file=$filename:string tail=+1($filename):string first=+0($filename):u8 pid=$pid:s32 old=$old_pid comm=$comm:string',
    'e:chosen sched.sched_process_exec file=$filename:string if filename ~ "*-x" && pid > 1',
    'e:named sched/sched_process_exec pid=$pid:s32',
    'e:seek syscalls/sys_enter_lseek offset=$offset:u64 fd=$fd:s32 if offset == 4242',
    'e:opened syscalls/sys_enter_execve file=$filename:ustring',
    'p:beside ksys_lseek offset=$arg2:u64',
]
FILTERS = ['named: pid == 1', 'seek: fd > 0']
# Those of the runtime's own words stand beside the definition's.
REFUSED = [
    ('e:x sched/no_such_event', 'Attached event does not exist'),
    ('e:x no_such/sched_switch', 'Attached event does not exist'),
    ('e:x ../sched_switch', ''),
    ('e:x kprobes/kev_other', 'Attached event does not exist'),
    ('e:x sched/sched_switch $nobody', ''),
    ('e:x sched/sched_process_exec f=$filename', '`:string` reads it'),
    ('e:x sched/sched_process_exec f=$filename:u32', '`:string` reads it'),
    ('e:x sched/sched_switch c=$comm', '`:string` reads it'),
    ('e:x sched/sched_process_exec if nobody == 1', ''),
]
def account(words, event):
    """[hits, recorded, filtered, lost, missed]; missed None: nobody can tell."""
    found = re.search(r'^%s: hits (\d+) = .*?(\d+) \+ filtered (\d+) \+ lost (\d+)(?: \+ missed (\d+|\?))?' % event, words, re.MULTILINE)
    if not found:
        return None
    return [None if number in (None, '?') else int(number) for number in found.groups()]


def write(name, text):
    fd = os.open(os.path.join(TRACEFS, name), os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, (text + '\n').encode())
    except OSError as error:
        with open(TRACEFS + '/error_log') as stream:
            check(False, "the kernel's own %s: %s %s" % (text, error, stream.read()[-400:]))
    finally:
        os.close(fd)


def kernel_events(on):
    """The kernel's own event probes on the same event, and one that asks."""
    if on:
        write('dynamic_events', 'e:kev/kexec sched.sched_process_exec file=$filename:string pid=$pid:s32')
        write('dynamic_events', 'e:kev/kchosen sched.sched_process_exec file=$filename:string if filename ~ "*-x"')
        write('dynamic_events', 'p:kprobes/kev_other vfs_read')
    for event in ('kexec', 'kchosen'):
        write('events/kev/%s/enable' % event, '1' if on else '0')


def test_values(folder):
    kernel_events(True)
    status, out, words = run(RUN, FILTERS, 'python3', '-B', HERE + '/execs.py', folder)
    kernel_events(False)
    with open(TRACEFS + '/trace', errors='replace') as stream:
        theirs = stream.read()
    told = [line for line in out.splitlines() if line.startswith('{"pid"')]
    if not check(status == 0 and len(told) == 1, 'the workload is traced (status %d)' % status):
        print(words)
        return
    known = json.loads(told[0])
    children = {str(pid) for pid, _ in known['execs']}
    mine = {text: [one for one in records(out, text) if one['PID'] in children] for text in ('exec', 'chosen', 'opened')}
    wanted = [(str(pid), '"%s"' % path) for pid, path in known['execs']]
    check([(one['pid'], one['file']) for one in mine['exec']] == wanted, 'the string behind the fields: %s' % mine['exec'][:1])
    check(all(one['tail'] == '"' + one['file'][2:] and one['first'] == str(ord('/')) for one in mine['exec']), '+1() and +0(): one byte further, and one byte')
    check(all(one['old'] == hex(int(one['pid'])) or one['old'] == one['pid'] for one in mine['exec']), 'numbers beside it')
    check(all(one['PLACE'] == 'sched.sched_process_exec' for one in mine['exec']), 'the place is the event')
    chosen = [pair for pair in wanted if pair[1].endswith('-x"')]
    check(0 < len(chosen) < len(wanted) and [(one['PID'], one['file']) for one in mine['chosen']] == chosen, '`if` over it: %d of %d' % (len(chosen), len(wanted)))
    check([one['file'] for one in mine['opened']] == [path for _, path in wanted], 'what a system call points to')
    check([(one['PID'], one['file']) for one in records(theirs, 'kexec') if one['PID'] in children] ==
          [(one['PID'], one['file']) for one in mine['exec']], "the kernel's own event probe records the same")
    check([(one['PID'], one['file']) for one in records(theirs, 'kchosen') if one['PID'] in children] ==
          [(one['PID'], one['file']) for one in mine['chosen']], "the kernel's own `if` chooses the same")
    seeks = [one for one in records(out, 'seek') if one['PID'] == str(known['pid'])]
    beside = [one for one in records(out, 'beside') if one['PID'] == str(known['pid'])]
    check(len(seeks) == 25 and all(one['offset'] == '4242' for one in seeks), '`if` and --filter over numbers: %d' % len(seeks))
    check(len([one for one in beside if one['offset'] in ('4242', '17')]) == 50, 'a kprobe beside: %d' % len(beside))
    counts = {name: account(words, name) for name in ('exec', 'chosen', 'named', 'seek', 'opened')}
    for name, one in counts.items():
        whole = one is not None and one[0] == sum(number or 0 for number in one[1:])
        check(whole and one[3] == 0 and one[1] == len(records(out, name)), 'account of %s: %s, %d lines' % (name, one, len(records(out, name))))
    if all(counts.values()):
        check(counts['exec'][0] == counts['chosen'][0] == counts['named'][0] >= len(wanted), 'three on one event have the same hits: %s' % counts)
        check(counts['exec'][1] == counts['exec'][0] - (counts['exec'][4] or 0) and counts['named'][1] == 0, 'all recorded, all filtered')
    if failures:
        print(out[-6000:], words[-4000:], theirs[-3000:])


def test_refusals():
    refused = list(REFUSED)
    with open(TRACEFS + '/events/syscalls/sys_enter_openat/format') as stream:
        text = re.search(r'__data_loc char\[\] (\w+);', stream.read())
    if text:  # newer kernels
        refused += [('e:x syscalls/sys_enter_openat f=$%s:string' % text.group(1), 'read the argument itself'),
                    ('e:x syscalls/sys_enter_openat if %s == "x"' % text.group(1), 'read the argument itself')]
    for definition, words in refused:
        status, _, said = run([definition], [], 'true')
        check(status not in (0, 139) and words in said and 'internal error' not in said, 'refused: %s: %s' % (definition, said.strip().splitlines()[:2]))


def test_explain():
    done = subprocess.run([KEVTRACE, 'explain', '--only=ir,arm', '--runtime', 'bpf', '-e', RUN[0]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = done.stdout.decode(errors='replace')
    check(done.returncode == 0 and 'at the static event `sched/sched_process_exec`, number ' in said and ' = located v' in said, 'explain')


def test_without_tracefs():
    """Where no tracefs is mounted, and none may be."""
    if not shutil.which('setpriv') or not shutil.which('unshare'):
        print('skipped: no setpriv or unshare here')
        return
    hidden = 'umount -a -t tracefs; exec setpriv --bounding-set=-sys_admin "$@"'
    done = subprocess.run(['unshare', '-m', 'sh', '-c', hidden, 'sh', KEVTRACE, 'run', '--runtime', 'bpf', '-e', RUN[0], '--', 'true'],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = done.stderr.decode(errors='replace')
    check(done.returncode == 4 and 'no tracefs can be read here' in said, 'without tracefs: %d %s' % (done.returncode, said.strip()[-300:]))


def main():
    subprocess.run(['mount', '-t', 'tracefs', 'none', TRACEFS], check=True)
    with tempfile.TemporaryDirectory() as folder:
        test_values(folder)
    test_refusals()
    test_explain()
    test_without_tracefs()
    bad = [line for line in subprocess.run(['dmesg'], stdout=subprocess.PIPE).stdout.decode(errors='replace').splitlines()
           if re.search(r'WARNING|BUG|Oops|general protection', line)]
    check(not bad, "no warning in the kernel's log %s" % bad[:5])
    sys.exit(1 if failures else 0)


main()
