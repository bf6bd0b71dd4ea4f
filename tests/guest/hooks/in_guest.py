"""Runs in the guest: `f`, `t` and `w` probes in `run` and in a mount, and `e` probes with `if` in a mount, by the bpf runtime.

in_guest.py KEVTRACE: values are compared with what the workload knows, counts with how often it did something. Whether
the kernel's own files take these forms or not (6.1 takes none of them), kevtrace does.
"""
import errno
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from traced import KEVTRACE, check, failures, records, run

HERE = os.path.dirname(os.path.abspath(__file__))
DEADLINE = 120  # seconds: for what is certain to come
MOUNT = os.path.join(tempfile.mkdtemp(), 't')
RUN = [
    't:forked sched_process_fork parent=parent->pid child=child->pid comm=parent->comm:string',
    't:gone sched_process_exit $arg1 pid=p->pid',
    't:exec sched_process_exec bprm->filename:string old=old_pid',
    't:enter sys_enter id offset=regs->si pid=$comm',
    't:leave sys_exit $arg2:s64 nr=regs->orig_ax ret=ret',
    'f:reads vfs_read count ino=file->f_inode->i_ino name=file:%pD third=$arg3',
    'f:read vfs_read%return $retval:s64',
    'f:stacked vfs_read sp=$stack caller=$stack0:symbol n=$arg3:u32',
    'p:same vfs_read n=$arg3:u32',
    'w:panic w@panic_timeout:4 value=$value:s32 at=$addr by=$comm',
    'w:touched rw@panic_on_oops value=$value:s32',
]
FILTERS = ['enter: id == 8', 'leave: nr == 8', 'gone: pid > 1', 'reads: name == "known-name"', 'panic: value != -7']
# A definition, what is said of it.
REFUSED = [
    ('t:x no_such_tracepoint', 'Tracepoint is not found'),
    ('t:x sys_enter $arg3', 'has 2 arguments'),
    ('t:x sys_enter nobody', 'not found at this probe point'),
    ('t:x sys_enter $stack', 'neither registers nor a stack'),
    ('t:x sys_enter $retval', '$retval is not available'),
    ('f:x no_such_function_x', 'no function'),
    ('f:x no_such_fun*', 'no function that can be probed matches'),
    ('f:x vfs_read+4', 'Invalid probed address'),
    ('f:x vfs_read %ax', 'variable'),
    ('f:x vfs_read $retval->nobody', 'not a pointer'),
    ('w:x r@panic_timeout', 'rw@'),
    ('w:x w@no_such_variable', 'Invalid access memory address'),
    ('w:x w@panic_timeout+1:4', 'not a multiple'),
    ('w:x w@0x1000:4', 'no address of the kernel'),
    ('w:x w@panic_timeout $arg1', '$arg'),
]
def accounts(words):
    """{event: {what: count}}"""
    found = {}
    for line in re.findall(r'^(\w+): hits (.*)$', words, re.MULTILINE):
        numbers = re.findall(r'(\d+) \+ filtered (\d+) \+ lost (\d+)(?: \+ missed (\d+))?', line[1])
        hits = re.match(r'(\d+)', line[1])
        if numbers and hits:
            recorded, filtered, lost, missed = (int(number or 0) for number in numbers[0])
            found[line[0]] = {'hits': int(hits.group(1)), 'recorded': recorded, 'filtered': filtered, 'lost': lost, 'missed': missed}
    return found


def test_run(folder):
    status, out, words = run(RUN, FILTERS, 'python3', '-B', HERE + '/workload.py', folder)
    told = [line for line in out.splitlines() if line.startswith('{"pid"')]
    if not check(status == 0 and len(told) == 1, 'the workload is traced (status %d)' % status):
        print(words)
        return
    known = json.loads(told[0])
    pid, child = str(known['pid']), str(known['child'])
    mine = {name: [one for one in records(out, name) if one['PID'] == pid] for name in (re.split('[: ]', text)[1] for text in RUN)}
    check({'parent': pid, 'child': child, 'comm': '"python3"'}.items() <= (mine['forked'] or [{}])[-1].items(), 't: names, `->` and an array of a task')
    check(any(one['pid'] == child for one in records(out, 'gone')), 't: the task that ends')
    check(any(one.get('filename') == '"/bin/true"' and one['old'] == child for one in records(out, 'exec')) or
          any('"/bin/true"' in one.values() and one['old'] == child for one in records(out, 'exec')), 't: text behind an argument')
    offsets = [int(one['offset'], 0) for one in mine['enter']]
    expected = [1000 + i for i in range(known['seeks'])] + [0] * known['reads']
    check(offsets[-len(expected) - 1:] == expected + [0x123456789abc], 't: each system call in order, with its argument')
    check(all(one['id'] == '8' and one['pid'] == '"python3"' for one in mine['enter']), 't: the filter, and $comm')
    check([one['ret'] for one in mine['leave']][-1:] == ['-9'], 't: what the last one returned')
    check(all(re.match(r'__(probestub|traceiter)_sys_enter\+', one['PLACE']) for one in mine['enter']), 't: its place: %s' % mine['enter'][:1])
    reads = mine['reads']
    check([int(one['count']) for one in reads] == [700 + i for i in range(known['reads'])] and
          all(int(one['third'], 0) == int(one['count']) for one in reads), 'f: the counts as they were asked for')
    check(all(one['name'] == '"known-name"' and one['ino'] == str(known['ino']) for one in reads), 'f: %pD and `->`, as stat says')
    check(all(re.match(r'vfs_read\+0x[04]/', one['PLACE']) for one in reads), 'f: its place: %s' % reads[:1])
    returned = [int(one['arg1']) for one in mine['read']]
    wanted = [700 + i for i in range(known['reads'])]
    check(any(returned[at:at + len(wanted)] == wanted for at in range(len(returned))), 'f%return: what was read')
    check(all('<- vfs_read' in one['PLACE'] for one in mine['read']), 'f%return: its places')
    check(len(mine['stacked']) == len(mine['same']) and [one['n'] for one in mine['stacked']] == [one['n'] for one in mine['same']] and
          all('+0x' in one['caller'] for one in mine['stacked']), 'f beside p: the same hits, and its stack')
    panic, timeouts = mine['panic'], known['timeouts']
    check([int(one['value']) for one in panic] == [value for value in timeouts if value != -7], 'w: each write, with what was written: %s' % panic)
    check(len({one['at'] for one in panic}) == 1 and all(one['by'] == '"python3"' for one in panic), 'w: $addr, $comm')
    touched = mine['touched']
    check(len(touched) >= known['touches'] and {one['value'] for one in touched} == {'0', '1'}, 'w: reads and writes: %d' % len(touched))
    counts = accounts(words)
    check(set(counts) == set(mine), 'all events have an account')
    for name, one in counts.items():
        whole = one['hits'] == one['recorded'] + one['filtered'] + one['lost'] + one['missed']
        printed = len(records(out, name)) == one['recorded']
        check(whole and printed and one['lost'] == 0, 'account of %s: %s, %d lines' % (name, one, len(records(out, name))))
    check(counts['panic']['hits'] == len(timeouts) and counts['panic']['filtered'] == 1, 'w: as many hits as writes')
    if failures:
        print('\n'.join(line for line in out.splitlines() if ' stacked: ' not in line and ' same: ' not in line)[-6000:], words[-4000:])


def test_misses_are_told():
    """By every kernel, where no kprobe is among them."""
    status, _, words = run(['t:enter sys_enter id', 'w:panic w@panic_timeout'], [], 'true')
    check(status == 0 and re.search(r'^enter: hits \d+ .* missed \d+$', words, re.MULTILINE) and 'panic: hits 0 = ' in words, 'misses are told: %s' % words.strip())


def test_globs():
    status, out, words = run(['f:x vfs_re*'], [], 'true')
    check(status == 0 and re.search(r'`f:x vfs_re\*`: \d+ functions\n', words) and ' x: (vfs_read+' in out, 'f: a glob: %s' % words.strip()[:300])


def test_refusals():
    for definition, text in REFUSED:
        status, _, words = run([definition], [], 'true')
        check(status != 0 and text in words and 'internal error' not in words, 'refused: %s: %s' % (definition, words.strip().splitlines()[:1]))


def test_explain():
    for definition, text in (('t:x sys_enter id', 'by a raw tracepoint, `sys_enter`'), ('f:x vfs_read count', 'by a kprobe at vfs_read+0x'),
                             ('f:x vfs_read%return $retval', 'by a kretprobe at vfs_read+0x'),
                             ('w:x w@panic_timeout', 'by a debug register of each CPU: writes of 4 bytes at 0xffff')):
        done = subprocess.run([KEVTRACE, 'explain', '--runtime', 'bpf', '-e', definition], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        check(done.returncode == 0 and text in done.stdout.decode() and '== BPF program ==' in done.stdout.decode(), 'explain: %s' % definition)


# ---- a mount --------------------------------------------------------------------------------------


def wait_until(condition):
    end = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def read(name):
    with open(os.path.join(MOUNT, name), errors='replace') as stream:
        return stream.read()


def write(name, text, flags=os.O_APPEND):
    """The errno's name, '' where it was taken."""
    try:
        fd = os.open(os.path.join(MOUNT, name), os.O_WRONLY | flags)
    except OSError as error:
        return errno.errorcode[error.errno]
    try:
        os.write(fd, text.encode())
    except OSError as error:
        return errno.errorcode[error.errno]
    finally:
        os.close(fd)
    return ''


def seeks(fd, offset, count):
    for _ in range(count):
        os.lseek(fd, offset, os.SEEK_SET)


def test_mount(folder):
    lines = ['t:tracepoints/enter sys_enter id=id offset=regs->si',
             'f:fprobes/reads vfs_read count=count name=file:%pD',
             'f:fprobes/read vfs_read%return got=$retval:s64',
             'w:wprobes/panic w@panic_timeout:4 value=$value:s32',
             'e:eprobes/seek syscalls.sys_enter_lseek offset=$offset:u64 fd=$fd:s32',
             'e:eprobes/started sched.sched_process_exec file=$filename:string']
    written = list(lines)
    written[-2] += ' if offset == 4242 && COMM ~ "python*"'
    written[-1] += ' if filename ~ "*-started"'
    for line in written:
        check(write('dynamic_events', line + '\n') == '', 'mount: taken: ' + line)
    listed = read('dynamic_events').splitlines()
    check(listed[0] == lines[0] and [line.split()[0] for line in listed] == [line.split()[0] for line in lines], 'mount: listed: %s' % listed)
    check(write('dynamic_events', 't:x no_such_tracepoint\n') == 'EINVAL' and 'Tracepoint is not found' in read('error_log'), 'mount: refused with a line in error_log')
    check('field:unsigned long __probe_ip' in read('events/tracepoints/enter/format'), 'mount: format')
    readme = read('README')
    check(all(text in readme for text in ('f[:[<group>/][<event>]] <func-name>[%return] [<args>]', 't[:[<group>/][<event>]] <tracepoint> [<args>]',
                                          '<argname>[->field[->field|.field...]]', '[if <filter>]')), 'mount: README tells of them')
    check(write('events/tracepoints/enter/filter', 'id == 8 && offset == 4242', 0) == '', 'mount: a filter')
    for event in ('tracepoints/enter', 'fprobes/reads', 'fprobes/read', 'wprobes/panic', 'eprobes/seek', 'eprobes/started'):
        check(write('events/%s/enable' % event, '1', 0) == '', 'mount: on: ' + event + ' ' + read('error_log')[-300:] * bool(failures))
    path = os.path.join(folder, 'in-mount')
    with open(path, 'w') as stream:
        stream.write('y' * 5000)
    fd = os.open(path, os.O_RDONLY)
    seeks(fd, 4242, 25)
    seeks(fd, 17, 30)
    os.lseek(fd, 0, os.SEEK_SET)
    os.read(fd, 1717)
    os.close(fd)
    started = os.path.join(folder, 'known-started')
    os.symlink('/bin/true', started)
    child = subprocess.Popen([started])
    child.wait()
    with open('/proc/sys/kernel/panic', 'w') as stream:
        stream.write('55')
    wait_until(lambda: ' panic: ' in read('trace'))
    for event in ('tracepoints/enter', 'fprobes/reads', 'fprobes/read', 'wprobes/panic', 'eprobes/seek', 'eprobes/started'):
        write('events/%s/enable' % event, '0', 0)
    text = read('trace')
    me = str(os.getpid())
    mine = {name: [one for one in records(text, name) if one['PID'] == me] for name in ('enter', 'reads', 'read', 'panic', 'seek')}
    check(len(mine['enter']) == 25 and all(one['offset'] in ('4242', '0x1092') for one in mine['enter']), 'mount: t and its filter: %d' % len(mine['enter']))
    check(len(mine['seek']) == 25 and all(one['offset'] == '4242' and one['fd'] == str(fd) for one in mine['seek']), 'mount: e with `if`: %d %s' % (len(mine['seek']), mine['seek'][:1]))
    check([(one['PID'], one['file']) for one in records(text, 'started')] == [(str(child.pid), '"%s"' % started)], 'mount: e and a string behind the fields')
    check(any(one['count'] == '1717' and one['name'] == '"in-mount"' for one in mine['reads']), 'mount: f')
    check(any(one['got'] == '1717' for one in mine['read']), 'mount: f%return')
    check([one['value'] for one in mine['panic']] == ['55'], 'mount: w: %s' % mine['panic'])
    if failures:
        print(text[-3000:], read('error_log'))
    check(write('dynamic_events', '-:tracepoints/enter\n-:fprobes/\n-:wprobes/panic\n-:eprobes/seek\n-:eprobes/started\n') == '' and read('dynamic_events') == '', 'mount: removed')


def mounted(test, folder):
    log = open(MOUNT + '.log', 'w+')
    mount = subprocess.Popen([KEVTRACE, 'mount', MOUNT, '--runtime', 'bpf'], stdout=log, stderr=log)
    if not wait_until(lambda: mount.poll() is not None or os.path.exists(os.path.join(MOUNT, 'trace'))) or mount.poll() is not None:
        log.seek(0)
        check(False, 'no mount: ' + log.read())
        return
    test(folder)
    check(subprocess.run(['umount', MOUNT]).returncode == 0 and mount.wait(timeout=DEADLINE) == 0, 'unmounted')


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(['mount', '-t', 'tmpfs', 'none', folder], check=True)  # its inode numbers are stat's
        try:
            test_run(folder)
            test_misses_are_told()
            test_globs()
            test_refusals()
            test_explain()
            mounted(test_mount, folder)
        finally:
            subprocess.run(['umount', folder], check=True)
    bad = [line for line in subprocess.run(['dmesg'], stdout=subprocess.PIPE).stdout.decode(errors='replace').splitlines()
           if re.search(r'WARNING|BUG|Oops|general protection', line)]
    check(not bad, "no warning in the kernel's log %s" % bad[:5])
    sys.exit(1 if failures else 0)


main()
