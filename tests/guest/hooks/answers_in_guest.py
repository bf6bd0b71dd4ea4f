"""Runs in the guest: what a mount by the bpf runtime answers, beside the kernel's own tracing directory.

answers_in_guest.py KEVTRACE COLD: the same steps are taken in both, one after the other; every errno, count of bytes,
listing and record of them must be the same.
"""
import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from traced import KEVTRACE, check, failures

TRACEFS = '/sys/kernel/tracing'
PROGRAM = '/run/kevt_answers'
# Over the texts that the program calls with.
# The verifier walks each of them for a second or two in a guest: one of each shape.
PATTERNS = ['*page*', 'in*p?ge*', 'in*page', 'e?d', '?d', '*n?', '[e-i]n*', '*[!a-m]o*s*', '*\\*', '**', 'in one page', '*pages', '*nobody has rea[d]', '*e*e*', '?*?']


class Directory:
    """Answers of one of the two, in the order of the steps."""

    def __init__(self, root):
        self.root, self.answers = root, []

    def note(self, what, answer):
        self.answers.append((what, answer))

    def path(self, name):
        return os.path.join(self.root, name)

    def write(self, name, text, flags=os.O_APPEND):
        try:
            fd = os.open(self.path(name), os.O_WRONLY | flags)
        except OSError as error:
            return self.note('open %s' % name, errno.errorcode[error.errno])
        try:
            answer = os.write(fd, text.encode())
        except OSError as error:
            answer = errno.errorcode[error.errno]
        finally:
            os.close(fd)
        self.note('write %s %r' % (name, text), answer)

    def truncate(self, name):
        self.write(name, '', os.O_TRUNC)

    def read(self, name):
        try:
            with open(self.path(name), errors='replace') as stream:
                text = stream.read()
        except OSError as error:
            text = errno.errorcode[error.errno]
        self.note('read ' + name, text)
        return text

    def call(self, what, function, name):
        try:
            function(self.path(name))
            answer = 'done'
        except OSError as error:
            answer = errno.errorcode[error.errno]
        self.note('%s %s' % (what, name if len(name) < 60 else '%s… (%d)' % (name[:20], len(name))), answer)

    def records(self, what, but=None):
        """Of the program, run now: event and fields, without those that `but` is in."""
        self.truncate('trace')
        subprocess.run([PROGRAM, '/run/kevt_answers_pages'], check=True)
        with open(self.path('trace'), errors='replace') as stream:
            found = re.findall(r'\[\d+\].*? (\w+): \([^)]*\) ?(.*)$', stream.read(), re.MULTILINE)
        self.note('records: ' + what, '\n'.join(' '.join(one) for one in found if not but or but not in one[1]))


def place_of(function):
    words = subprocess.run(['nm', PROGRAM], stdout=subprocess.PIPE, check=True).stdout.decode()
    address = int(re.search(r'^(\w+) T %s$' % function, words, re.MULTILINE).group(1), 16)
    return '%s:0x%x' % (PROGRAM, address - 0x400000)


def uprobes_at_one_place(directory):
    """Enabled as a group they come in the order of their definitions, one by one in the other one."""
    place = place_of('called')
    for line in ('p:order/b %s n=%%cx:s32', 'p:order/a %s s=+0(%%di):string', 'p:order/c %s n=%%cx:s32', 'r:order/y %s v=$retval:x64', 'r:order/x %s v=$retval:x64'):
        directory.write('uprobe_events', line % place + '\n')
    directory.write('events/order/enable', '1')
    directory.records('enabled as a group')
    directory.write('events/order/enable', '0')
    for event in ('a', 'c', 'b', 'x', 'y'):
        directory.write('events/order/%s/enable' % event, '1')
    directory.records('enabled one by one')
    directory.write('events/order/enable', '0')
    directory.write('events/order/c/enable', '1')
    directory.write('events/order/enable', '1')
    directory.records('one of them before')
    directory.write('events/order/enable', '0')
    directory.write('set_event', 'order:')
    directory.records('by set_event')
    directory.write('events/order/enable', '0')
    directory.write('uprobe_events', 'p:order/a %s s=+0(%%di):string\n' % place_of('also_called'))
    directory.write('events/order/a/enable', '1')
    directory.records('an event with two probes')
    directory.write('events/order/a/enable', '0')
    directory.read('uprobe_profile')
    directory.truncate('uprobe_events')


def patterns(directory):
    """An event for each: one run of the program. Of a text that cannot be read the kernel compares what was there before."""
    place = place_of('called')
    for i, pattern in enumerate(PATTERNS):
        directory.write('uprobe_events', 'p:glob/g%d %s s=+0(%%di):string n=%%cx:s32\n' % (i, place))
        directory.write('events/glob/g%d/filter' % i, 's ~ "%s"' % pattern)
    directory.write('uprobe_events', 'p:glob/not %s s=+0(%%di):string n=%%cx:s32\n' % place)
    directory.write('events/glob/not/filter', '!(s ~ "*page*") && s != "end" || n == 1')
    directory.write('events/glob/enable', '1')
    directory.records('patterns', but='(fault)')
    directory.read('events/glob/g0/filter')
    directory.write('events/glob/enable', '0')
    directory.truncate('uprobe_events')


def profiles(directory):
    """A line for each probe, the hits its own."""
    for line in ('p:many/a ksys_lseek n=%si:s32', 'p:many/b ksys_lseek n=%si:s32', 'p:many/a ksys_dup3 n=%si:s32', 'p:many/a __x64_sys_chroot n=%si:s32'):
        directory.write('kprobe_events', line + '\n')
    directory.write('events/many/enable', '1')
    directory.write('events/many/enable', '0')
    with open(directory.path('kprobe_profile')) as stream:
        directory.note('lines of the profile', [line.split()[0] for line in stream])
    directory.truncate('kprobe_events')


def synthetic_events(directory):
    """They stay while an eprobe stands on them."""
    for line in ('sz u64 lat', 'sy u64 lat; char name[16]', 'sx u64 lat'):
        directory.write('synthetic_events', line + '\n')
    directory.write('dynamic_events', 'e:ep/x synthetic.sy lat=$lat\n')
    for name, line in (('synthetic_events', '!sy\n'), ('dynamic_events', '-:sy\n'), ('dynamic_events', '-:synthetic/sy\n')):
        directory.write(name, line)
    directory.truncate('synthetic_events')
    directory.read('synthetic_events')
    directory.write('kprobe_events', 'p:k/one vfs_read\n')
    directory.truncate('dynamic_events')
    directory.read('dynamic_events')
    for line in ('-:ep/x\n', '-:sy\n'):
        directory.write('dynamic_events', line)
    directory.truncate('dynamic_events')
    directory.read('dynamic_events')


def words_of_set_event(directory):
    directory.write('kprobe_events', 'p:k1 vfs_read\n')
    for text in ('!', '! ', '!\n', ' k1 \n', 'k1 \n', 'k1\n', '\n', '  ', '!k1', ' !k1 ', 'kprobes:  ', '!kprobes:*', 'nosuch', '!nosuch', '*', '! k1',
                 'kprobes:k1 !kprobes:k1', '  !kprobes:k1\t\n'):
        directory.write('set_event', text)
        directory.read('set_event')
    directory.truncate('kprobe_events')


def instances(directory):
    directory.call('mkdir', os.mkdir, 'instances/X')
    ours = {'available_events', 'available_tracers', 'buffer_percent', 'buffer_size_kb', 'buffer_total_size_kb', 'current_tracer', 'error_log', 'events',
            'free_buffer', 'options', 'per_cpu', 'set_event', 'set_event_notrace_pid', 'set_event_pid', 'snapshot', 'timestamp_mode', 'trace', 'trace_clock',
            'trace_marker', 'trace_marker_raw', 'trace_options', 'trace_pipe', 'tracing_cpumask', 'tracing_max_latency', 'tracing_on'}
    directory.note('files of an instance', sorted(ours & set(os.listdir(directory.path('instances/X')))))
    directory.note('of the top', sorted((ours | {'tracing_thresh', 'kprobe_events'}) & set(os.listdir(directory.root))))
    for name in ('tracing_max_latency', 'instances/X/tracing_max_latency'):
        for text in ('7', '8\n', 'x', '1000000000000000000000', '-1', '0x10', '18446744073709551615', '0'):
            if os.path.exists(directory.path(name)):
                directory.write(name, text)
                directory.read(name)
    directory.call('rmdir', os.rmdir, 'instances/X')
    for length in (255, 256, 300, 5000):
        directory.call('mkdir', os.mkdir, 'instances/' + 'y' * length)
        directory.call('stat', os.stat, 'instances/' + 'y' * length)
        directory.call('rmdir', os.rmdir, 'instances/' + 'y' * length)
    directory.call('stat', os.stat, 'z' * 256)


def listings(directory):
    for line in ('r:m1 vmlinux:vfs_read', 'r10:m2 vmlinux:vfs_read', 'r10:m3 vfs_read', 'p:m4 vmlinux:vfs_read', 'r:m5 vfs_read', 'r:m6 nomodule:vfs_read'):
        directory.write('kprobe_events', line + '\n')
    directory.read('kprobe_events')
    directory.truncate('kprobe_events')


def take(directory):
    for step in (uprobes_at_one_place, patterns, profiles, synthetic_events, words_of_set_event, instances, listings):
        step(directory)
    return directory.answers


def main():
    shutil.copy(sys.argv[2], PROGRAM)
    with open(TRACEFS + '/dynamic_events', 'w'):  # what others have left there
        pass
    theirs = take(Directory(TRACEFS))
    place = os.path.join(tempfile.mkdtemp(), 't')
    with open(place + '.log', 'w+') as log:
        mount = subprocess.Popen([KEVTRACE, 'mount', place, '--runtime', 'bpf'], stdout=log, stderr=log)
        end = time.monotonic() + 120
        while not os.path.exists(os.path.join(place, 'trace')) and mount.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        ours = take(Directory(place))
        with open(place + '/error_log', errors='replace') as stream:
            errors = stream.read()
        check(subprocess.run(['umount', place]).returncode == 0 and mount.wait(timeout=120) == 0, 'unmounted')
    different = [(one, other) for one, other in zip(theirs, ours) if one != other]
    check(len(theirs) == len(ours) > 150 and not different, '%d answers as the kernel gives them, %d not' % (len(theirs), len(different)))
    for (what, answer), (_, other) in different:
        print('   %s\n      kernel %r\n      ours   %r' % (what, answer, other))
    if different:
        print(errors[-1500:])
    chosen = next(answer for what, answer in theirs if what == 'records: patterns')
    check(len(set(re.findall(r'^g\d+', chosen, re.MULTILINE))) >= 10 and 'not ' in chosen, 'most of the patterns choose something')
    sys.exit(1 if failures else 0)


main()
