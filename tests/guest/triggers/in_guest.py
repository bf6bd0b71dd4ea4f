"""Runs in the guest: triggers of the kernel, and on a mount, decided at the hit by the programs themselves.
in_guest.py MODULE KEVTRACE

Two system calls that nothing else makes are probed; their argument is the number of the step.
"""
import errno
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import at_hit

MODULE, KEVTRACE = sys.argv[1:3]
TRACING = '/sys/kernel/tracing'
DEADLINE = 120  # seconds: for what is certain to come
# The system call's registers are at %di; its first argument is in word 14 of them.
DEFINITIONS = ('p:step __x64_sys_getpgid i=+112(%di):s32', 'p:other __x64_sys_getsid i=+112(%di):s32')
FLOOD = 200_000  # hits: more records than the ring of a CPU holds
failures = 0


def check(holds, what):
    global failures
    failures += not holds
    print('%s %s' % ('ok    ' if holds else 'FAILED', what), flush=True)


def wait_until(condition):
    end = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def steps(begin, end):
    for i in range(begin, end):
        for call in (os.getpgid, os.getsid):
            try:
                call(i)
            except ProcessLookupError:
                pass


def hit():
    steps(at_hit.BASE, at_hit.BASE + at_hit.HITS)


def check_case(case, files, what):
    try:
        answer = at_hit.run(case, files, hit)
    except OSError as error:
        answer = os.strerror(error.errno)
    finally:
        at_hit.undo(case, files)
    check(answer == case[2], '%s: %s' % (what, case[0]))
    if answer != case[2]:
        print('       is        %s\n       should be %s' % (answer, case[2]))


def check_markers(files, what):
    """A marker's trigger sees it as it was written, before a line end is added."""
    files.write('events/ftrace/print/trigger', 'traceoff if buf == "stop"')
    files.clear()
    for text in (b'stop it', b'stop', b'late'):
        fd = os.open(files.path('trace_marker'), os.O_WRONLY)
        try:
            os.write(fd, text)
        except OSError as error:  # the kernel's answer while tracing is off
            check(text == b'late' and error.errno == errno.EBADF, '%s: %s: %s' % (what, text, error))
        os.close(fd)
    answer = [re.findall(r'tracing_mark_write: (.*)', files.read('trace')), files.read('tracing_on')]
    check(answer == [['stop it', 'stop'], '0\n'], '%s: a marker that stops tracing: %s' % (what, answer))
    files.write('events/ftrace/print/trigger', '!traceoff')
    files.write('tracing_on', '1')
    files.clear()


def of_the_kernel():
    """The answers that the others are compared with are the running kernel's."""
    files = at_hit.Files(TRACING)
    for definition in DEFINITIONS:
        files.write('kprobe_events', definition)
    for case in at_hit.CASES:
        check_case(case, files, 'kernel')
    check_markers(files, 'kernel')
    files.clear('kprobe_events')


def of_a_mount(runtime, second):
    """`second`: another instance has an event on, so that the reader decides."""
    mount = Mount(runtime)
    files = at_hit.Files(mount.place)
    if second:
        os.mkdir(mount.path('instances/second'))
        with open(os.path.join(mount.place, 'instances/second/events/kprobes/other/enable'), 'w') as file:
            file.write('1')
    for case in at_hit.CASES:
        check_case(case, files, runtime + (', by the reader' if second else ''))
    check_markers(files, runtime)
    for name, numbers in mount.end().items():
        check(numbers[0] == sum(numbers[1:]), '%s: account of %s: %s' % (runtime, name, numbers))


class Mount:
    def __init__(self, runtime):
        self.place = os.path.join(tempfile.mkdtemp(), 't')
        self.log = tempfile.TemporaryFile('w+')
        self.daemon = subprocess.Popen([KEVTRACE, 'mount', self.place, '--runtime', runtime], stderr=self.log)
        if not wait_until(lambda: os.path.exists(self.path('trace')) or self.daemon.poll() is not None) or \
                self.daemon.poll() is not None:
            self.log.seek(0)
            sys.exit('no mount: ' + self.log.read())
        for definition in DEFINITIONS:
            self.echo(definition, 'kprobe_events')

    def path(self, name):
        return os.path.join(self.place, name.replace('step/', 'events/kprobes/step/').replace('other/', 'events/kprobes/other/'))

    def read(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def echo(self, text, name):
        with open(self.path(name), 'a') as file:
            file.write(text + '\n')

    def recorded(self, name):
        return [int(i) for i in re.findall(r': %s: .* i=(-?\d+)$' % name, self.read('trace'), re.MULTILINE)]

    def clear(self):
        with open(self.path('trace'), 'w'):
            pass

    def signal_all(self, number):
        """To it and the process that watches over it."""
        with open('/proc/%d/task/%d/children' % (self.daemon.pid, self.daemon.pid)) as children:
            for pid in [self.daemon.pid] + [int(word) for word in children.read().split()]:
                os.kill(pid, number)

    def end(self):
        """[hits, recorded, filtered, lost, missed] of each event; misses that nobody can tell are 0."""
        self.daemon.send_signal(signal.SIGINT)
        self.daemon.wait(timeout=DEADLINE)
        self.log.seek(0)
        return {line.split(':')[0]: [int(word) for word in re.findall(r' (\d+)', line)] for line in self.log if ': hits ' in line}


def exact(runtime):
    mount = Mount(runtime)
    mount.echo('1', 'step/enable')
    mount.echo('1', 'other/enable')
    mount.echo('traceoff:1 if i == 100050', 'step/trigger')
    steps(100000, 100100)
    check(mount.recorded('step') == list(range(100000, 100051)), '%s: traceoff keeps what was up to it' % runtime)
    check(mount.recorded('other') == list(range(100000, 100050)), '%s: of every event' % runtime)
    check(mount.read('tracing_on') == '0\n', '%s: tracing_on says so' % runtime)
    check(mount.read('step/trigger') == 'traceoff:count=0 if i == 100050\n', '%s: and the count' % runtime)
    mount.echo('1', 'tracing_on')
    mount.clear()
    steps(100040, 100060)
    check(mount.recorded('step') == list(range(100040, 100060)), '%s: a count that is spent' % runtime)
    mount.echo('!traceoff', 'step/trigger')

    mount.echo('0', 'other/enable')
    mount.echo('enable_event:kprobes:other if i == 100010', 'step/trigger')
    mount.echo('disable_event:kprobes:step if i == 100020', 'other/trigger')
    check(mount.read('other/enable') == '0*\n', '%s: softly on' % runtime)
    mount.clear()
    steps(100000, 100030)
    check(mount.recorded('other') == list(range(100010, 100030)), '%s: enable_event from that hit on' % runtime)
    check(mount.recorded('step') == list(range(100000, 100021)), '%s: disable_event likewise' % runtime)
    check(mount.read('step/enable') == '0*\n', '%s: what enable reads' % runtime)
    for name, numbers in mount.end().items():
        check(numbers[0] == sum(numbers[1:]) == 150, '%s: account of %s: %s' % (runtime, name, numbers))


def full_ring(runtime):
    mount = Mount(runtime)
    mount.echo('1', 'step/enable')
    mount.echo('traceoff if i == %d' % (FLOOD - 10), 'step/trigger')
    os.sched_setaffinity(0, {0})
    mount.signal_all(signal.SIGSTOP)
    for i in range(FLOOD):
        try:
            os.getpgid(i)
        except ProcessLookupError:
            pass
    mount.signal_all(signal.SIGCONT)
    check(wait_until(lambda: mount.read('tracing_on') == '0\n'), '%s: a full ring does not hold up a trigger' % runtime)
    numbers = mount.end()['step']
    check(numbers[0] == FLOOD and numbers[2] == 9 and numbers[3] > 0 and numbers[0] == sum(numbers[1:]),
          '%s: account %s' % (runtime, numbers))


os.sched_setaffinity(0, {0})
of_the_kernel()
of_a_mount('bpf', False)
of_a_mount('bpf', True)
exact('bpf')
full_ring('bpf')
subprocess.run(['insmod', MODULE], check=True)
of_a_mount('kmod', False)
exact('kmod')
subprocess.run(['rmmod', 'kevtrace'], check=True)
sys.exit(1 if failures else 0)
