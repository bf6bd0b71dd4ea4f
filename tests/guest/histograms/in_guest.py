"""Runs in the guest: `hist` triggers of the kernel and of mounts over it see the same hits, and read alike.
in_guest.py MODULE KEVTRACE SEED COUNT
"""
import collections
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import generated

MODULE, KEVTRACE, SEED, COUNT = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
TRACING = '/sys/kernel/tracing'
DEADLINE = 120  # seconds: for what is certain to come
HITS = 40
# System calls that nothing else makes; the registers of the caller are at %di. The fourth argument is an address of ours.
ARGUMENTS = 'aa=+112(%di):s32 bb=+104(%di):s64 cc=+96(%di):u8 ss=+0(+56(%di)):ustring'
CALLS = {'ha': ('__x64_sys_ioprio_get', 252), 'hb': ('__x64_sys_tee', 276)}
DEFINITIONS = ['p:%s %s %s' % (event, function, ARGUMENTS) for event, (function, _) in CALLS.items()] + [
    's:hs s32 aa; s64 dd; char ss[]', 'e:he synthetic.hs a=$aa:s32 d=$dd:s64 s=$ss:string c=$comm:string']
LIBC = ctypes.CDLL(None, use_errno=True)
failures = 0
seen = {'hits': 0, 'lines': 0, 'eprobe': 0}  # rounds in which the kernel has counted; lines of the synthetic event; of its eprobe


def check(holds, what):
    global failures
    failures += not holds
    if not holds:
        print('FAILED %s' % what, flush=True)


def hit(event, aa, bb, cc, ss):
    LIBC.syscall(CALLS[event][1], ctypes.c_long(aa), ctypes.c_long(bb), ctypes.c_long(cc), ctypes.c_char_p(ss))


class Files:
    def __init__(self, root):
        self.root = root

    def path(self, name):
        return os.path.join(self.root, name)

    def folder(self, event):
        return 'events/synthetic/hs/' if event == 'synthetic' else 'events/kprobes/%s/' % event

    def read(self, name):
        with open(self.path(name), errors='surrogateescape') as file:
            return file.read()

    def write(self, name, text):
        """'' or the name of the error."""
        try:
            fd = os.open(self.path(name), os.O_WRONLY | os.O_APPEND)
            try:
                os.write(fd, text.encode() + b'\n')
            finally:
                os.close(fd)
        except OSError as error:
            return os.strerror(error.errno)
        return ''

    def clear(self, name='trace'):
        with open(self.path(name), 'w'):
            pass

    def trigger(self, event, text):
        return self.write(self.folder(event) + 'trigger', text)

    def clear_triggers(self):
        for _ in range(2):  # variables that others read go behind those who read them
            for event in ('synthetic', 'hb', 'ha'):
                try:
                    self.clear(self.folder(event) + 'trigger')
                except OSError:
                    pass

    def answer(self):
        """What the files read: the entries of each histogram, and the lines of synthetic events."""
        texts = {event: self.read(self.folder(event) + 'hist') for event in ('ha', 'hb', 'synthetic')}
        lines = re.findall(r': (hs: aa=.*|he: .*)', self.read('trace'))
        return {event: parted(text) for event, text in texts.items()} | {'lines': lines}


def parted(text):
    """(head, entries, totals) of each histogram of a file. The order of entries that `sort` does not tell apart is by chance."""
    parts = []
    for one in text.split('\n\n\n'):
        head, _, rest = one.partition('\n#\n\n')
        entries, _, totals = rest.partition('\nTotals:')
        key = re.search(r'keys=([^:]*):.*:sort=([^:]*)', head)
        entries = re.split(r'\n(?={)', entries.strip('\n'))
        is_told_apart = key and key[2].split('.desc')[0] == key[1]
        parts.append((head, entries if is_told_apart else sorted(entries), totals))
    return parts


class Mount:
    def __init__(self, runtime):
        self.place = os.path.join(tempfile.mkdtemp(), 't')
        self.log = tempfile.TemporaryFile('w+')
        self.daemon = subprocess.Popen([KEVTRACE, 'mount', self.place, '--runtime', runtime], stderr=self.log)
        end = time.monotonic() + DEADLINE
        while not os.path.exists(os.path.join(self.place, 'trace')):
            if self.daemon.poll() is not None or time.monotonic() > end:
                self.log.seek(0)
                sys.exit('no mount: ' + self.log.read())
            time.sleep(0.05)
        self.files = Files(self.place)

    def end(self):
        self.daemon.send_signal(signal.SIGINT)
        self.daemon.wait(timeout=DEADLINE)
        self.log.seek(0)
        for line in self.log:
            numbers = [int(word) for word in re.findall(r' (\d+)', line)]
            if ': hits ' in line:
                check(numbers[0] == sum(numbers[1:]), 'account: ' + line.strip())


def ready(files):
    for definition in DEFINITIONS:
        said = files.write('dynamic_events', definition)
        if said:
            sys.exit('%s: %s: %s' % (files.root, definition, said))
    files.write('events/synthetic/hs/enable', '1')
    check(not files.write('events/eprobes/he/enable', '1'), '%s: an eprobe on a synthetic event' % files.root)


def compare(sides, triggers, hits, what):
    """True: both took them, and they were compared."""
    verdicts = [[files.trigger(event, text) for event, text in triggers] for files in sides]
    check(verdicts[0] == verdicts[1], '%s: %s: kernel %s, ours %s' % (what, triggers, *verdicts))
    for one in hits:
        hit(*one)
    answers = [files.answer() for files in sides]
    same = answers[0] == answers[1]
    seen['hits'] += any(int(re.search(r'Hits: (\d+)', part[2])[1]) for event in ('ha', 'hb') for part in answers[0][event] if part[2])
    for kind, begin in (('lines', 'hs: '), ('eprobe', 'he: ')):
        seen[kind] += sum(line.startswith(begin) for line in answers[0]['lines'])
    check(same, '%s: %s' % (what, triggers))
    if not same:
        for part in answers[0]:
            if answers[0][part] != answers[1][part]:
                print('  %s\n    kernel %s\n    ours   %s' % (part, answers[0][part], answers[1][part]))
    for files in sides:
        files.clear_triggers()
        files.clear()
    return not any(any(verdict) for verdict in verdicts)


def beside(kernel, runtime, count):
    mount = Mount(runtime)  # what the kernel has defined when it begins it has, too
    ready(mount.files)
    ready(kernel)
    texts = generated.Texts(SEED)
    taken = {'histograms': 0, 'chains': 0}
    for _ in range(count):
        triggers = [(event, texts.histogram()) for event in texts.some(list(generated.EVENTS), 1, 2)]
        taken['histograms'] += compare((kernel, mount.files), triggers, texts.hits(HITS), runtime)
    for _ in range(max(count // 5, 4)):
        taken['chains'] += compare((kernel, mount.files), texts.chain(), texts.hits(HITS), runtime)
    mount.end()
    kernel.write('events/synthetic/hs/enable', '0')
    kernel.write('events/eprobes/he/enable', '0')
    kernel.write('dynamic_events', '-:eprobes/he')
    kernel.clear('dynamic_events')
    print('%s: %d of %d histograms and %d of %d chains were taken, and read as the kernel\'s' %
          (runtime, taken['histograms'], count, taken['chains'], max(count // 5, 4)), flush=True)
    check(taken['histograms'] >= count // 3 and taken['chains'] > 0, '%s: enough of them are right: %s' % (runtime, taken))


WORKER = """import ctypes, sys
call = ctypes.CDLL(None).syscall
for i in range(int(sys.argv[1])): call(252, 7, i * i % 1009, 0, b'text%d' % (i % 50))
"""
CALLERS, CALLS_EACH = 4, 20000


def place_of_syscall():
    words = subprocess.run(['nm', '-D', '/lib/x86_64-linux-gnu/libc.so.6'], stdout=subprocess.PIPE, check=True).stdout.decode()
    return '/lib/x86_64-linux-gnu/libc.so.6:0x%x' % int(re.search(r'^(\w+) T syscall@', words, re.MULTILINE)[1], 16)


def pages_moved():
    """Counts of /proc/vmstat: a text on a page that the kernel moves just then cannot be read."""
    with open('/proc/vmstat') as file:
        counts = dict(line.split() for line in file)
    return collections.Counter({name: int(count) for name, count in counts.items() if re.match('thp_collapse|pgmigrate|compact|numa_hint', name)})


def without_loss(runtime, probe, histogram, expected, cpus=frozenset({0})):
    """Hits that no ring could hold are counted: of several processes that share a CPU, under each key, in the second table of an event."""
    loop = 'for i in 1 2 3 4; do %s -c "$0" %d & done; wait' % (sys.executable, CALLS_EACH)
    words = [KEVTRACE, 'run', '--runtime', runtime, '--buffer', '64', '-e', probe, '--hist', 'cc:keys=common_cpu', '--hist', 'cc:' + histogram]
    before = pages_moved()
    done = subprocess.run(words + ['--hist-format', 'json', '--', 'sh', '-c', loop, WORKER], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    what = '%s: %s %s' % (runtime, probe, histogram)
    check(done.returncode == 0, '%s: %s' % (what, done.stderr.decode()))
    counted = json.loads(done.stdout.splitlines()[-1])
    rows = {tuple(row['keys'].values())[0]: (row['hitcount'], row['values'].get('bb', 0)) for row in counted['rows']}
    check(counted['dropped'] == 0 and counted['hits'] == CALLERS * CALLS_EACH, '%s: %d hits, %d dropped' % (what, counted['hits'], counted['dropped']))
    check(rows == expected, '%s: %s instead of %s; pages moved meanwhile: %s' % (what, rows, expected, dict(pages_moved() - before)))


def counts_of(key_of):
    rows = collections.Counter(), collections.Counter()
    for i in range(CALLS_EACH):
        rows[0][key_of(i)] += CALLERS
        rows[1][key_of(i)] += CALLERS * (i * i % 1009)
    return {key: (rows[0][key], rows[1][key]) for key in rows[0]}


def runs(runtime, with_programs):
    by_number, by_text = counts_of(lambda i: i * i % 1009), counts_of(lambda i: 'text%d' % (i % 50))
    in_kernel = 'p:cc %s %s' % (CALLS['ha'][0], ARGUMENTS)
    without_loss(runtime, in_kernel, 'keys=bb:vals=bb if aa == 7', by_number)
    without_loss(runtime, in_kernel, 'keys=ss:vals=bb if aa == 7', by_text)
    without_loss(runtime, in_kernel, 'keys=bb:vals=bb if aa == 7', by_number, ALL_CPUS)
    if with_programs:
        in_libc = 'p:cc %s aa=%%si:s32 bb=%%dx:s64 ss=+0(%%r8):string' % place_of_syscall()
        without_loss(runtime, in_libc, 'keys=bb:vals=bb if aa == 7', by_number)
        without_loss(runtime, in_libc, 'keys=ss:vals=bb if aa == 7', by_text)
        without_loss(runtime, in_libc, 'keys=bb:vals=bb if aa == 7', by_number, ALL_CPUS)


ALL_CPUS = os.sched_getaffinity(0)
os.sched_setaffinity(0, {0})
runs('bpf', True)
kernel_files = Files(TRACING)
beside(kernel_files, 'bpf', COUNT)
check(seen['hits'] >= COUNT // 2 and 0 < seen['lines'] == seen['eprobe'], 'the kernel has counted something: %s' % seen)
subprocess.run(['insmod', MODULE], check=True)
runs('kmod', False)
beside(kernel_files, 'kmod', max(COUNT // 3, 10))
subprocess.run(['rmmod', 'kevtrace'], check=True)
sys.exit(1 if failures else 0)
