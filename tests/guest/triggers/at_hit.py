"""What triggers do to the very hit that fires them: cases, and what Linux 6.1, 6.12 and 7.2 answer to them.

Each case writes to files, then hits `step` and `other` in turn, twenty times, with i = 0 to 19 (above BASE; `@7` in a text is
such a number). An answer says which i each event has recorded, what has a stack behind it, what the snapshot holds, and what
the files read. in_guest.py asks the kernel and mounts over it, tests/process/triggers_test.py a mount over a process.
"""
import os
import re

BASE = 100000
HITS = 20
EVENTS = ('step', 'other')

ON = ['step/enable 1', 'other/enable 1']
OFF = ['tracing_on 0']

# name, what is written, what the kernel answers
CASES = [
    ('traceoff', ON + ['step/trigger traceoff'],
     'step 0 | tracing_on 0 | enable 1* 1 | traceoff:unlimited'),
    ('traceoff with a condition', ON + ['step/trigger traceoff if i == @7'],
     'step 0-7, other 0-6 | tracing_on 0 | enable 1* 1 | traceoff:unlimited if i == @7'),
    ('traceoff with a condition and a filter', ON + ['step/filter i >= @2', 'step/trigger traceoff if i == @7'],
     'step 2-7, other 0-6 | tracing_on 0 | enable 1* 1 | traceoff:unlimited if i == @7'),
    ('traceoff with a condition, by a hit that the filter rejects', ON + ['step/filter i != @7', 'step/trigger traceoff if i == @7'],
     'step 0-6, other 0-6 | tracing_on 0 | enable 1* 1 | traceoff:unlimited if i == @7'),
    ('traceoff with a count', ON + ['step/trigger traceoff:1'],
     'step 0 | tracing_on 0 | enable 1* 1 | traceoff:count=0'),
    ('traceoff with a count and a condition, traceon by the other', ON + ['step/trigger traceoff:2 if (i & 1)', 'other/trigger traceon'],
     'step 0-19, other 0-19 | tracing_on 1 | enable 1* 1* | traceoff:count=0 if (i & 1) | traceon:unlimited'),
    ('traceoff and traceon with conditions', ON + ['step/trigger traceoff if (i & 1)', 'other/trigger traceon if i > @10'],
     'step 0-1 12-19, other 0 12 14 16 18 | tracing_on 1 | enable 1* 1* | traceoff:unlimited if (i & 1) | traceon:unlimited if i > @10'),
    ('traceoff by an event that is off', ['other/enable 1', 'step/trigger traceoff if i == @7'],
     'other 0-6 | tracing_on 0 | enable 0* 1 | traceoff:unlimited if i == @7'),
    ('traceoff without a condition by an event that is off', ['other/enable 1', 'step/trigger traceoff:1'],
     ' | tracing_on 0 | enable 0* 1 | traceoff:count=0'),
    ('traceon', ON + OFF + ['step/trigger traceon'],
     'step 0-19, other 0-19 | tracing_on 1 | enable 1* 1 | traceon:unlimited'),
    ('traceon with a condition', ON + OFF + ['step/trigger traceon if i == @7'],
     'step 8-19, other 7-19 | tracing_on 1 | enable 1* 1 | traceon:unlimited if i == @7'),
    ('traceon with a condition and a filter', ON + OFF + ['step/filter i >= @2', 'step/trigger traceon if i == @7'],
     'step 7-19, other 7-19 | tracing_on 1 | enable 1* 1 | traceon:unlimited if i == @7'),
    ('traceon with a condition, filter of the other', ON + OFF + ['other/filter i >= @2', 'step/trigger traceon if i == @7'],
     'step 8-19, other 7-19 | tracing_on 1 | enable 1* 1 | traceon:unlimited if i == @7'),
    ('traceon without a condition and a filter', ON + OFF + ['step/filter i != @0', 'step/trigger traceon:1'],
     'step 1-19, other 0-19 | tracing_on 1 | enable 1* 1 | traceon:count=0'),
    ('traceon by what the filter rejects', ON + OFF + ['step/filter i != @7', 'step/trigger traceon if i == @7'],
     'step 8-19, other 7-19 | tracing_on 1 | enable 1* 1 | traceon:unlimited if i == @7'),
    ('traceon with a condition by an event that is off', ['other/enable 1', 'tracing_on 0', 'step/trigger traceon:1 if i == @7'],
     'other 7-19 | tracing_on 1 | enable 0* 1 | traceon:count=0 if i == @7'),
    ('traceon beside a condition that is not met', ON + OFF + ['step/trigger traceon', 'step/trigger snapshot if i == @50'],
     'step 1-19, other 0-19 | snapshot:  | tracing_on 1 | enable 1* 1 | snapshot:unlimited if i == @50; traceon:unlimited'),
    ('disable_event of itself beside a condition that is not met', ON + ['step/trigger disable_event:kprobes:step', 'step/trigger snapshot if i == @50'],
     'other 0-19 | snapshot:  | tracing_on 1 | enable 0* 1 | snapshot:unlimited if i == @50; disable_event:kprobes:step:unlimited'),
    ('enable_event of itself beside a condition that is not met', ['step/trigger enable_event:kprobes:step', 'step/trigger snapshot if i == @50'],
     'step 0-19 | snapshot:  | tracing_on 1 | enable 1* 0 | snapshot:unlimited if i == @50; enable_event:kprobes:step:unlimited'),
    ('traceoff and disable_event of itself', ON + ['step/trigger traceoff if i == @7', 'step/trigger disable_event:kprobes:step if i == @7'],
     'step 0-6, other 0-6 | tracing_on 0 | enable 0* 1 | disable_event:kprobes:step:unlimited if i == @7; traceoff:unlimited if i == @7'),
    ('traceoff and enable_event of itself without conditions', ['step/trigger traceoff', 'step/trigger enable_event:kprobes:step'],
     'step 0 | tracing_on 0 | enable 1* 0 | enable_event:kprobes:step:unlimited; traceoff:unlimited'),
    ('traceoff by one, traceon by the other', ON + ['step/trigger traceoff if (i & 1)', 'other/trigger traceon if i == @9'],
     'step 0-1 10-11, other 0 10 | tracing_on 0 | enable 1* 1* | traceoff:unlimited if (i & 1) | traceon:unlimited if i == @9'),
    ('disable_event of itself', ON + ['step/trigger disable_event:kprobes:step'],
     'other 0-19 | tracing_on 1 | enable 0* 1 | disable_event:kprobes:step:unlimited'),
    ('disable_event of itself with a condition', ON + ['step/trigger disable_event:kprobes:step if i == @7'],
     'step 0-6, other 0-19 | tracing_on 1 | enable 0* 1 | disable_event:kprobes:step:unlimited if i == @7'),
    ('disable_event of itself with a count', ON + ['step/trigger disable_event:kprobes:step:1'],
     'other 0-19 | tracing_on 1 | enable 0* 1 | disable_event:kprobes:step:count=0'),
    ('enable_event of itself', ['step/trigger enable_event:kprobes:step'],
     'step 1-19 | tracing_on 1 | enable 1* 0 | enable_event:kprobes:step:unlimited'),
    ('enable_event of itself with a condition', ['step/trigger enable_event:kprobes:step if i == @7'],
     'step 7-19 | tracing_on 1 | enable 1* 0 | enable_event:kprobes:step:unlimited if i == @7'),
    ('enable_event of itself and traceon', ['tracing_on 0', 'step/trigger enable_event:kprobes:step if i == @7', 'step/trigger traceon if i == @7'],
     'step 7-19 | tracing_on 1 | enable 1* 0 | traceon:unlimited if i == @7; enable_event:kprobes:step:unlimited if i == @7'),
    ('traceon, then enable_event of itself', OFF + ['step/trigger traceon if i == @5', 'step/trigger enable_event:kprobes:step if i == @7'],
     'step 7-19 | tracing_on 1 | enable 1* 0 | enable_event:kprobes:step:unlimited if i == @7; traceon:unlimited if i == @5'),
    ('enable_event of itself and traceoff', ['step/trigger enable_event:kprobes:step if i == @7', 'step/trigger traceoff if i == @7'],
     'step 7 | tracing_on 0 | enable 1* 0 | traceoff:unlimited if i == @7; enable_event:kprobes:step:unlimited if i == @7'),
    ('enable_event of itself without a condition, and traceon', OFF + ['step/trigger enable_event:kprobes:step', 'step/trigger traceon'],
     'step 1-19 | tracing_on 1 | enable 1* 0 | traceon:unlimited; enable_event:kprobes:step:unlimited'),
    ('disable_event of the other', ON + ['step/trigger disable_event:kprobes:other if i == @7'],
     'step 0-19, other 0-6 | tracing_on 1 | enable 1* 0* | disable_event:kprobes:other:unlimited if i == @7'),
    ('enable_event of the other', ['step/enable 1', 'step/trigger enable_event:kprobes:other if i == @7'],
     'step 0-19, other 7-19 | tracing_on 1 | enable 1* 1* | enable_event:kprobes:other:unlimited if i == @7'),
    ('each disables the other', ON + ['step/trigger disable_event:kprobes:other:1 if i == @7', 'other/trigger disable_event:kprobes:step if i == @5'],
     'step 0-5, other 0-6 | tracing_on 1 | enable 0* 0* | disable_event:kprobes:other:count=0 if i == @7 | disable_event:kprobes:step:unlimited if i == @5'),
    ('enable_event with a count', ON + ['step/trigger enable_event:kprobes:other:2 if (i & 1)', 'other/trigger disable_event:kprobes:other if i > @3'],
     'step 0-19, other 0-3 | tracing_on 1 | enable 1* 0* | enable_event:kprobes:other:count=0 if (i & 1) | disable_event:kprobes:other:unlimited if i > @3'),
    ('snapshot, tracing off', ON + OFF + ['step/trigger snapshot:1 if i == @7', 'other/trigger traceon if i == @3'],
     'step 8-19, other 7-19 | snapshot: step 4-7, other 4-6 | tracing_on 1 | enable 1* 1* | snapshot:count=0 if i == @7 | traceon:unlimited if i == @3'),
    ('snapshot by two events', ON + ['step/trigger snapshot:1 if i == @7', 'other/trigger snapshot:2 if i > @10'],
     'step 8-11 13-19, other 7-11 13-19 | snapshot: step 0-7 12, other 0-6 12 | tracing_on 1 | enable 1* 1* | snapshot:count=0 if i == @7 | snapshot:count=0 if i > @10'),
    ('snapshot', ON + ['step/trigger snapshot:1'],
     'step 0-19, other 0-19 | snapshot:  | tracing_on 1 | enable 1* 1 | snapshot:count=0'),
    ('snapshot with a condition', ON + ['step/trigger snapshot:1 if i == @7'],
     'step 8-19, other 7-19 | snapshot: step 0-7, other 0-6 | tracing_on 1 | enable 1* 1 | snapshot:count=0 if i == @7'),
    ('snapshot with a condition and a filter', ON + ['step/filter i >= @2', 'step/trigger snapshot:1 if i == @7'],
     'step 8-19, other 7-19 | snapshot: step 2-7, other 0-6 | tracing_on 1 | enable 1* 1 | snapshot:count=0 if i == @7'),
    ('snapshot, then traceoff', ON + ['step/trigger snapshot:1 if i == @7', 'step/trigger traceoff if i == @7'],
     ' | snapshot: step 0-7, other 0-6 | tracing_on 0 | enable 1* 1 | traceoff:unlimited if i == @7; snapshot:count=0 if i == @7'),
    ('traceoff, then snapshot', ON + ['step/trigger traceoff if i == @7', 'step/trigger snapshot:1 if i == @7'],
     ' | snapshot: step 0-7, other 0-6 | tracing_on 0 | enable 1* 1 | snapshot:count=0 if i == @7; traceoff:unlimited if i == @7'),
    ('snapshot by an event that is off', ['other/enable 1', 'step/trigger snapshot:1 if i == @7'],
     'other 7-19 | snapshot: other 0-6 | tracing_on 1 | enable 0* 1 | snapshot:count=0 if i == @7'),
    ('stacktrace', ON + ['step/trigger stacktrace:2'],
     'step 0-19, other 0-19, stacks behind step 0 step 1 | tracing_on 1 | enable 1* 1 | stacktrace:count=0'),
    ('stacktrace with a condition', ON + ['step/trigger stacktrace if i == @7'],
     'step 0-19, other 0-19, stacks behind step 7 | tracing_on 1 | enable 1* 1 | stacktrace:unlimited if i == @7'),
    ('stacktrace of what the filter rejects', ON + ['step/filter i != @7', 'step/trigger stacktrace if i == @7'],
     'step 0-6 8-19, other 0-19, stacks behind other 6 | tracing_on 1 | enable 1* 1 | stacktrace:unlimited if i == @7'),
    ('stacktrace, then traceoff', ON + ['step/trigger stacktrace', 'step/trigger traceoff'],
     'step 0 | tracing_on 0 | enable 1* 1 | traceoff:unlimited; stacktrace:unlimited'),
    ('traceoff, then stacktrace', ON + ['step/trigger traceoff', 'step/trigger stacktrace'],
     'step 0, stacks behind step 0 | tracing_on 0 | enable 1* 1 | stacktrace:unlimited; traceoff:unlimited'),
    ('stacktrace and traceoff with conditions', ON + ['step/trigger stacktrace:3 if i > @5', 'step/trigger traceoff if i == @7'],
     'step 0-7, other 0-6, stacks behind step 6 | tracing_on 0 | enable 1* 1 | traceoff:unlimited if i == @7; stacktrace:count=0 if i > @5'),
    ('stacktrace and disable_event', ON + ['step/trigger stacktrace', 'step/trigger disable_event:kprobes:step'],
     'other 0-19, stacks behind None other 0 other 1 other 2 other 3 other 4 other 5 other 6 other 7 other 8 other 9 other 10 other 11 other 12 other 13 other 14 other 15 other 16 other 17 other 18 | tracing_on 1 | enable 0* 1 | disable_event:kprobes:step:unlimited; stacktrace:unlimited'),
    ('stacktrace and enable_event of itself', ['step/trigger stacktrace:1 if i == @7', 'step/trigger enable_event:kprobes:step if i == @7'],
     'step 7-19, stacks behind step 7 | tracing_on 1 | enable 1* 0 | enable_event:kprobes:step:unlimited if i == @7; stacktrace:count=0 if i == @7'),
    ('stacktrace and traceon', ON + OFF + ['step/trigger stacktrace:1', 'step/trigger traceon'],
     'step 1-19, other 0-19, stacks behind None | tracing_on 1 | enable 1* 1 | traceon:unlimited; stacktrace:count=0'),
    ('stacktrace and snapshot', ON + ['step/trigger stacktrace:1 if i == @7', 'step/trigger snapshot:1 if i == @7'],
     'step 8-19, other 7-19, stacks behind None | snapshot: step 0-7, other 0-6 | tracing_on 1 | enable 1* 1 | snapshot:count=0 if i == @7; stacktrace:count=0 if i == @7'),
]


def needs(case, word):
    return any(word in text for text in case[1])


def text_of(text):
    return re.sub(r'@(\d+)', lambda number: str(BASE + int(number[1])), text)


def ranges(numbers):
    """[0, 1, 2, 5] → '0-2 5'"""
    parts = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ' '.join('%d' % a if a == b else '%d-%d' % (a, b) for a, b in parts)


class Files:
    """A tracing directory: write(file, text) adds, clear() truncates."""

    def __init__(self, root):
        self.root = root

    def path(self, name):
        folder, slash, rest = name.partition('/')
        return os.path.join(self.root, 'events/kprobes/' + name if slash and folder in EVENTS else name)

    def read(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def write(self, name, text):
        fd = os.open(self.path(name), os.O_WRONLY | os.O_APPEND)
        try:
            os.write(fd, text.encode() + b'\n')
        finally:
            os.close(fd)

    def clear(self, name='trace'):
        with open(self.path(name), 'w'):
            pass


def recorded(text):
    """'step 0-7, other 0-6, stacks step 7'"""
    numbers = {name: [] for name in EVENTS}
    stacks, last = [], None
    for line in text.splitlines():
        hit = re.search(r': (step|other): .* i=(-?\d+)$', line)
        if hit and 0 <= int(hit[2]) - BASE < HITS:
            numbers[hit[1]].append(int(hit[2]) - BASE)
            last = '%s %d' % (hit[1], int(hit[2]) - BASE)
        elif re.search(r'<(user )?stack trace>$', line):
            stacks.append('%s' % last)
    parts = ['%s %s' % (name, ranges(numbers[name])) for name in EVENTS if numbers[name]]
    return ', '.join(parts + (['stacks behind ' + ' '.join(stacks)] if stacks else []))


def triggers_of(text):
    return '; '.join(re.sub(r'\b1000(\d\d)\b', lambda number: '@%d' % int(number[1]), line)
                     for line in text.splitlines() if not line.startswith('#'))


def run(case, files, hit):
    """What `files` answer; `hit` makes the hits of BASE up to BASE + HITS."""
    name, writes, _ = case
    for write in writes:
        file, text = write.split(' ', 1)
        files.write(file, text_of(text))
    if needs(case, 'snapshot'):
        files.write('snapshot', '2')
    files.clear()
    hit()
    answer = [recorded(files.read('trace'))]
    if needs(case, 'snapshot'):
        answer.append('snapshot: ' + recorded(files.read('snapshot')))
    answer.append('tracing_on ' + files.read('tracing_on').strip())
    answer.append('enable ' + ' '.join(files.read(event + '/enable').strip() for event in EVENTS))
    answer += [files_text for files_text in (triggers_of(files.read(event + '/trigger')) for event in EVENTS) if files_text]
    return ' | '.join(answer)


def undo(case, files):
    for write in reversed(case[1]):
        file, text = write.split(' ', 1)
        if file.endswith('trigger'):
            files.write(file, '!' + text_of(text))
        elif file.endswith('filter'):
            files.write(file, '0')
    for event in EVENTS:
        files.write(event + '/enable', '0')
    files.write('tracing_on', '1')
    if needs(case, 'snapshot'):
        files.write('snapshot', '0')
    files.clear()
