"""Runs in the guest: stacks of hits that the bpf runtime traces: of the kernel, and of programs where they hit uprobes.

stacks_in_guest.py KEVTRACE
"""
import os
import re
import subprocess
import sys
import tempfile
import time

from traced import KEVTRACE, check, failures

LIBC = '/lib/x86_64-linux-gnu/libc.so.6'
SEEK = 'import os; f = os.open("/etc/passwd", os.O_RDONLY); [os.lseek(f, 4242, 0) for _ in range(20)]'
SECONDS = 60


def run(*words):
    done = subprocess.run([KEVTRACE, 'run', '--runtime', 'bpf', '--stack', *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = done.stderr.decode(errors='replace')
    check(done.returncode == 0, 'status %d%s' % (done.returncode, said if done.returncode else ''))
    for line in said.splitlines():
        numbers = [int(number) for number in re.findall(r'(?:hits|recorded|filtered|lost|missed) (\d+)', line)]
        if numbers:
            check(numbers[0] == sum(numbers[1:]), 'account: ' + line)
    return done.stdout.decode(errors='replace')


def stacks_of(text, event):
    """The place and the frames of each record of `event`."""
    found = re.findall(r' %s: (?:\(([^)]*)\))?.*\n.*<(?:user )?stack trace>\n((?: => .*\n)*)' % event, text)
    return [(place, frames.replace(' => ', '').splitlines()) for place, frames in found]


def test_kernel():
    text = run('-e', 'p:enter ksys_lseek offset=%si:u64 task=$comm:string', '--filter', 'enter: offset == 4242', '-e', 'r:leave ksys_lseek', '--', 'python3', '-c', SEEK)
    stacks = stacks_of(text, 'enter')
    check(len(stacks) == 20, 'a stack behind each record: %d' % len(stacks))
    check(all(frames[0] == 'ksys_lseek' and 'do_syscall_64' in frames for _, frames in stacks), 'from the function to the system call: %s' % stacks[:1])
    returns = [frames for _, frames in stacks_of(text, 'leave')]
    check(len(returns) >= 20 and all('do_syscall_64' in frames and 'ksys_lseek' not in frames for frames in returns), 'a return is where the call came from')


def test_other_hooks():
    text = run('--enable', 'sched:sched_process_exec', '-e', 't:point sched_process_exec', '-e', 'e:again sched/sched_process_exec pid=$pid', '--', 'sh', '-c',
               '/bin/true; /bin/true')
    for event in ('sched_process_exec', 'point', 'again'):
        stacks = stacks_of(text, event)
        check(len(stacks) == 3 and all('do_syscall_64' in frames for _, frames in stacks), '%s: %s' % (event, stacks[:1]))
    names = {name for event in ('point', 'again') for _, frames in stacks_of(text, event) for name in frames}
    check(not [name for name in names if 'bpf' in name or name.startswith('0x')], 'nothing of ours is in it: %s' % sorted(names))


def test_watch():
    text = run('-e', 'w:limit w@panic_timeout:4 now=$value:s32', '--', 'sh', '-c', 'echo 7 > /proc/sys/kernel/panic')
    stacks = stacks_of(text, 'limit')
    check(len(stacks) == 1 and 'do_syscall_64' in stacks[0][1], 'of an access to memory: %s' % stacks)


def test_program():
    words = subprocess.run(['nm', '-D', LIBC], stdout=subprocess.PIPE, check=True).stdout.decode()
    place = '%s:0x%x' % (LIBC, int(re.search(r'^(\w+) \w lseek64?@', words, re.MULTILINE)[1], 16))
    stacks = stacks_of(run('-e', 'p:seek %s offset=%%si:u64' % place, '--filter', 'seek: offset == 4242', '--', 'python3', '-c', SEEK), 'seek')
    check(len(stacks) == 20 and all(frames[0] == at for at, frames in stacks), 'a stack of the program: %s' % stacks[:1])


KEYS = 'keys=common_stacktrace,offset'


def counted(*words, runtime='bpf', probe='p:enter ksys_lseek offset=%si:u64'):
    """The rows of a histogram by stack, {(frames, offset): hits}, and what became of the hits."""
    done = subprocess.run([KEVTRACE, 'run', '--runtime', runtime, '-e', probe, *words, '--', 'python3', '-c', SEEK], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text, said = done.stdout.decode(), done.stderr.decode()
    check(done.returncode == 0, '%s: %s' % (words, said))
    rows = re.findall(r'^\{ (?:common_)?stacktrace:\n((?: +.*\n)+), offset: +(\d+)\} hitcount: +(\d+)', text, re.MULTILINE)
    return {(frames, int(offset)): int(hits) for frames, offset, hits in rows}, text, said


def test_histograms():
    """By stacks that hits number themselves, and by those of records: the same ones."""
    for probe in ('p:enter ksys_lseek offset=%si:u64', 'r:enter ksys_lseek offset=$arg2:u64', 't:enter sys_enter offset=regs->si:u64'):
        trigger = 'enter: %s if offset == 4242' % KEYS
        at_hit, text, said = counted('--hist', trigger, probe=probe)
        check(re.search(r'recorded 0 \+ aggregated 20 ', said) is not None, '%s: at the hit: %s' % (probe, said))  # few stacks: no two have one place
        check(sum(at_hit.values()) == 20 and all('do_syscall_64' in frames for frames, _ in at_hit), '%s: its stacks: %s' % (probe, text))
        by_reader, _, said = counted('--hist', trigger.replace(KEYS, KEYS + ':x=offset'), probe=probe)
        check(by_reader == at_hit, '%s: those of records: %s %s' % (probe, by_reader, at_hit))


def test_flame():
    done = subprocess.run([KEVTRACE, 'run', '--runtime', 'bpf', '--stack', '-f', 'folded', '-o', '/dev/stdout', '-e', 'p:enter ksys_lseek offset=%si:u64', '--filter', 'enter: offset == 4242', '--', 'python3', '-c', SEEK], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = done.stderr.decode()
    check(done.returncode == 0 and 'hits are counted by themselves' in said, 'folded: counted: %s' % said)
    check(re.search(r'^python3(?:-\d+)?;.*do_syscall_64.*;ksys_lseek 20$', done.stdout.decode(), re.MULTILINE) is not None, 'folded: %s' % done.stdout.decode())


def test_mount():
    place = os.path.join(tempfile.mkdtemp(), 't')
    daemon = subprocess.Popen([KEVTRACE, 'mount', place, '--runtime', 'bpf'], stderr=subprocess.DEVNULL)
    end = time.monotonic() + SECONDS
    while not os.path.exists(place + '/trace') and daemon.poll() is None and time.monotonic() < end:
        time.sleep(0.05)

    def write(name, text):
        with open(os.path.join(place, name), 'w') as file:
            file.write(text)

    def read(name):
        with open(os.path.join(place, name)) as file:
            return file.read()

    def hit(triggers):
        for one in triggers:
            write('events/kprobes/enter/trigger', one)
        subprocess.run(['python3', '-c', SEEK], check=True)
        text = read('trace'), read('events/kprobes/enter/hist')
        write('trace', '')
        write('events/kprobes/enter/trigger', '!' + triggers[0].split(' if ')[0])
        return text

    write('dynamic_events', 'p:enter ksys_lseek offset=%si:u64')
    write('events/kprobes/enter/filter', 'offset == 4242')
    write('events/kprobes/enter/enable', '1')
    trace, _ = hit(['stacktrace:3 if offset == 4242'])
    check([frames[0] for _, frames in stacks_of(trace, 'enter')] == ['ksys_lseek'] * 3, 'stacktrace:3')
    _, hist = hit(['hist:keys=common_stacktrace if offset == 4242'] if 'common_stacktrace' in read('README') else ['hist:keys=stacktrace if offset == 4242'])
    check(re.search(r'ksys_lseek.*\n.*do_syscall_64(?:.*\n)*.*} hitcount: +20\n', hist) is not None, 'a histogram by stack: %s' % hist)
    write('options/stacktrace', '1')
    write('events/sched/sched_process_exec/enable', '1')
    subprocess.run(['python3', '-c', SEEK], check=True)
    trace = read('trace')
    check(len(stacks_of(trace, 'enter')) == 20, 'the option stacktrace: %d' % len(stacks_of(trace, 'enter')))
    check(any('do_syscall_64' in frames for _, frames in stacks_of(trace, 'sched_process_exec')), 'also of the kernel\'s own events')
    write('trace', '')
    write('options/stacktrace', '0')
    subprocess.run(['python3', '-c', SEEK], check=True)
    check('stack trace' not in read('trace'), 'and off again')
    daemon.send_signal(2)
    daemon.wait(timeout=SECONDS)


test_kernel()
test_other_hooks()
test_watch()
test_program()
test_histograms()
test_flame()
test_mount()
sys.exit(1 if failures else 0)
