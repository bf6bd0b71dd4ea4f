"""Runs in the guest: `kevtrace mount --runtime kmod`, from defining to unmounting. mount_in_guest.py MODULE KEVTRACE

What is read is waited for, with a deadline; nothing depends on how fast the guest is.
"""
import errno
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

MODULE, KEVTRACE = sys.argv[1:3]
PLACE = os.path.join(tempfile.mkdtemp(), 't')
DEADLINE = 120  # seconds: for what is certain to come
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


def name_of(error):
    return 'EOPNOTSUPP' if error.errno == errno.EOPNOTSUPP else errno.errorcode[error.errno]


def read(name):
    with open(os.path.join(PLACE, name), errors='replace') as stream:
        return stream.read()


def write(name, text, flags=os.O_APPEND):
    """The errno's name, '' where it was taken."""
    try:
        fd = os.open(os.path.join(PLACE, name), os.O_WRONLY | flags)
    except OSError as error:
        return name_of(error)
    try:
        os.write(fd, text.encode())
    except OSError as error:
        return name_of(error)
    finally:
        os.close(fd)
    return ''


def opens(count):
    for _ in range(count):
        open('/etc/hostname').close()


def pipe_until(pattern, work):
    """Lines of a trace_pipe that waits, until one fits; '' where none comes."""
    text = ''
    fd = os.open(os.path.join(PLACE, 'trace_pipe'), os.O_RDONLY | os.O_NONBLOCK)
    end = time.monotonic() + DEADLINE
    while not re.search(pattern, text) and time.monotonic() < end:
        work()
        if select.select([fd], [], [], 1)[0]:
            try:
                text += os.read(fd, 65536).decode(errors='replace')
            except BlockingIOError:
                pass
    os.close(fd)
    return text if re.search(pattern, text) else ''


def profile():
    """{event: (hits, misses)}"""
    return {line.split()[0]: tuple(map(int, line.split()[1:])) for line in read('kprobe_profile').splitlines()}


def test_probes():
    check(write('kprobe_events', 'p:op do_sys_openat2 path=+0(%si):ustring dfd=%di:s32\nr4:opret do_sys_openat2 $retval:s32\n') == '', 'definitions')
    check(read('kprobe_events') == 'p:kprobes/op do_sys_openat2 path=+0(%si):ustring dfd=%di:s32\nr4:kprobes/opret do_sys_openat2 arg1=$retval:s32\n',
          'they are listed, maxactive too')
    check(write('events/kprobes/enable', '1', 0) == '', 'switched on')
    check(write('kprobe_events', '-:op\n') == 'EBUSY', 'what is on cannot be removed')
    text = pipe_until(r'opret: .*arg1=', lambda: opens(5))
    check('op: (do_sys_openat2+' in text and 'path="/etc/hostname"' in text, 'trace_pipe has the entries')
    check(re.search(r'opret: \(\S+ <- do_sys_openat2\) arg1=\d+', text) is not None, 'and the returns')
    hits = profile()
    check(hits['op'][0] >= 5 and hits['opret'][0] >= 5, 'the profile counts: %s' % hits)
    listed = read('debug/kprobes/list')
    check(re.search(r'^\S+  k  do_sys_openat2\+', listed, re.MULTILINE) is not None and '  r  do_sys_openat2' in listed, 'the list has both')


def test_filter():
    check(write('events/kprobes/op/filter', 'path == "/etc/hostname"', 0) == '', 'a filter')
    write('trace', '', os.O_TRUNC)
    check(wait_until(lambda: opens(2) or 'op: ' in read('trace')), 'its event goes on')
    check(all('path="/etc/hostname"' in line for line in read('trace').splitlines() if ' op: ' in line), 'nothing else passes')
    check(write('events/kprobes/op/filter', 'nofield == 1', 0) == 'EINVAL', 'a wrong filter is refused')
    write('events/kprobes/op/filter', '0', 0)


def test_static():
    check(write('events/sched/sched_process_exec/enable', '1', 0) == '', "an event of the kernel's own")
    subprocess.run(['true'], check=True)
    check(wait_until(lambda: 'sched_process_exec: filename=' in read('trace')), 'is recorded beside the probes')
    write('events/sched/sched_process_exec/enable', '0', 0)


def test_refusals():
    write('uprobe_events', 'p:up /bin/true:0x10\n')
    check(write('events/uprobes/up/enable', '1', 0) == 'EOPNOTSUPP', 'a uprobe is refused')
    check('kmod runtime runs kprobes alone' in read('error_log'), 'and error_log says why')
    write('uprobe_events', '', os.O_TRUNC)


def test_off():
    check(write('events/kprobes/enable', '0', 0) == '', 'switched off')
    before = profile()
    opens(20)
    check(profile() == before, 'nothing hits any more')
    check(write('kprobe_events', '-:op\n-:opret\n') == '' and read('kprobe_events') == '', 'removed')
    with open('/sys/kernel/debug/kprobes/list') as stream:
        check('do_sys_openat2' not in stream.read(), "the kernel's list has no probe of ours")


def main():
    check(subprocess.run(['insmod', MODULE]).returncode == 0, 'the module loads')
    log = open(PLACE + '.log', 'w+')
    mount = subprocess.Popen([KEVTRACE, 'mount', PLACE, '--runtime', 'kmod'], stdout=log, stderr=log)
    if not wait_until(lambda: mount.poll() is not None or os.path.exists(os.path.join(PLACE, 'trace'))) or mount.poll() is not None:
        log.seek(0)
        sys.exit('FAILED no mount: ' + log.read())
    for test in (test_probes, test_filter, test_static, test_refusals, test_off):
        test()
    write('kprobe_events', 'p:left vfs_read\n')
    write('events/kprobes/left/enable', '1', 0)
    check(subprocess.run(['umount', PLACE]).returncode == 0, 'unmounted with a probe that is on')
    try:
        check(mount.wait(timeout=DEADLINE) == 0, 'the mount ended')
    except subprocess.TimeoutExpired:
        check(False, 'the mount ended')
        mount.send_signal(signal.SIGKILL)
    with open('/sys/kernel/debug/kprobes/list') as stream:
        check('vfs_read' not in stream.read(), 'and left no probe')
    check(subprocess.run(['rmmod', 'kevtrace']).returncode == 0, 'the module unloads')
    bad = [line for line in subprocess.run(['dmesg'], stdout=subprocess.PIPE).stdout.decode(errors='replace').splitlines()
           if re.search(r'WARNING|BUG|Oops|general protection', line)]
    check(not bad, "no warning in the kernel's log %s" % bad[:5])
    sys.exit(1 if failures else 0)


main()
