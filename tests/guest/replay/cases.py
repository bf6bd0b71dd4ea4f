"""Cases of one run: what is written to which file, in which order.

A case: {id, cat, file, text, setup: [[file, text]…], clean: whether what it made is deleted afterwards}.
`file` is one of the four files of events, or `filter EVENT`, or `trigger EVENT`. Both sides start from nothing at a case
that says `reset`. Bytes are written as Latin-1.
"""
import random

from texts import FUNCTIONS, NAMES, TYPES, Texts, depends_on_code

BATCH = 80

# Events whose filters and triggers are written; the same as in tests/golden/filter_fixtures.cpp and trigger_world.cpp.
FILTER_EVENTS = [
    ['kprobe_events', 'p:kprobes/fk vfs_read u8=%di:u8 s8=%si:s8 u16=%dx:u16 s16=%cx:s16 u32=%r8:u32 s32=%r9:s32 u64=%ax:u64 s64=%bx:s64 x64=%bp:x64'],
    ['kprobe_events', 'p:kprobes/fs vfs_read str=+0(%si):string ustr=+0(%si):ustring sym=%di:symbol arr=+0(%si):u8[16] sarr=+0(%si):string[2] bf=%di:b4@2/32 who=$comm lit=\\"abc" n=%dx:s32 plain=%di'],
    ['uprobe_events', 'p:uprobes/fu /gold/target:0x100 a=%di:s32 b=%si:u32 name=+0(%dx):string'],
    ['kprobe_events', 'r:kprobes/fr vfs_read ret=$retval:s64'],
]
FILTER_FIELDS = {
    'kprobes/fk': ['__probe_ip', 'u8', 's8', 'u16', 's16', 'u32', 's32', 'u64', 's64', 'x64'],
    'kprobes/fs': ['str', 'ustr', 'sym', 'arr', 'sarr', 'bf', 'who', 'lit', 'n', 'plain'],
    'uprobes/fu': ['a', 'b', 'name', '__probe_ip'],
    'kprobes/fr': ['ret', '__probe_func', '__probe_ret_ip'],
    'sched/sched_switch': ['prev_comm', 'prev_pid', 'next_comm', 'next_prio', 'prev_state'],
}
GENERIC = ['CPU', 'cpu', 'common_cpu', 'COMM', 'comm', 'common_type', 'common_flags', 'common_preempt_count', 'common_pid']
TRIGGER_EVENTS = [['dynamic_events', text] for text in (
    'p:ta /gold/target:0x110c i=%di:s32 m=%si:s32 v=%dx:s64 p=%dx',
    'p:tb /gold/target:0x111c id=%di:s32 val=%si:s64',
    'p:tc /gold/target:0x112a id=%di:s32 val=%si:s64',
    'p:ts /gold/target:0x107b s=+0(%di):string n=%si:u64 who=$comm',
    's:tsyn s32 id; s64 d; s32 who')]
TRIGGER_FIELDS = {'uprobes/ta': ['i', 'm', 'v', 'p'], 'uprobes/tb': ['id', 'val'], 'uprobes/tc': ['id', 'val'],
                  'uprobes/ts': ['s', 'n', 'who'], 'synthetic/tsyn': ['id', 'd', 'who']}


class Cases:
    def __init__(self, seed, kernel):
        self.r = random.Random('%s %s' % (seed, kernel))
        self.t = Texts(self.r, kernel)
        self.cases = []

    def add(self, cat, file, text, setup=(), clean=False):
        self.cases.append({'id': len(self.cases), 'cat': cat, 'file': file, 'text': text, 'setup': list(setup), 'clean': clean})

    def definitions(self, count):
        made = 0
        while made < count:
            if made % BATCH == 0:
                first = len(self.cases)
            roll = self.r.randrange(12)
            if roll == 0:
                self.add('synthetic', *reversed(self.t.synthetic()), clean=True)
            elif roll == 1:
                self.append()
            elif roll == 2:
                self.deletion()
            elif roll <= 4:
                text, file = self.t.definition()
                text = self.t.mutated(text)
                if depends_on_code(text) or '\n' in text:
                    continue
                self.add('mutated', file, text, clean=True)
            else:
                text, file = self.t.definition()
                self.add('definition', file, text, clean=True)
            if made % BATCH == 0:
                self.cases[first]['reset'] = True
            made += 1

    # A second probe of an event.
    def append(self):
        t = self.t
        name = t.name()
        function = t.pick(FUNCTIONS)
        args = ['a%d=%s%s' % (i, t.pick(['%di', '%si', '+0(%si)', '\\1']), t.pick([':u8', ':u32', '', ':u8[4]'])) for i in range(t.pick([0, 1, 2, 3]))]
        first = ['p:rg/' + name, function] + args
        second = list(first)
        for _ in range(t.pick([0, 1, 1, 2])):
            roll = self.r.randrange(7)
            if roll == 0:
                second[0] = t.pick(['r:rg/', 'e:rg/', 's:rg/', 'p:']) + name
            elif roll == 1:
                second[1] = t.pick(FUNCTIONS)
            elif roll == 2 and len(second) > 2:
                second.pop()
            elif roll == 3:
                second.append('z=%di')
            elif roll == 4 and len(second) > 2:
                second[2] = t.pick(['a0=%dx:u8', 'b0=%di', 'a0=%di:s8', 'a0=+8(%di):u8[4]', 'a0=+8(%di):u8[5]', 'a0=\\"x"', 'a0=%di'])
            elif roll == 5:
                second[1] += '+0'
            else:
                second[1] = '/gold/target:0x100'
        self.add('append', 'dynamic_events', ' '.join(second), [['dynamic_events', ' '.join(first)]], clean=True)

    def deletion(self):
        t = self.t
        name = t.name()
        function = t.pick(FUNCTIONS)
        kind = t.pick(['k', 'k', 'u', 's', 'e'])
        first = {'k': 'p:rd/%s %s a=%%di b=%%si:u8' % (name, function), 'u': 'p:rd/%s /gold/target:0x100 a=%%di b=%%si:u8' % name,
                 's': 's:%s u32 a; u64 b' % name, 'e': 'e:rd/%s sched/sched_switch a=$prev_pid b=$next_pid:u8' % name}[kind]
        place = {'k': function, 'u': '/gold/target:0x0000000000000100', 's': 'u32 a', 'e': 'sched/sched_switch'}[kind]
        group = {'s': 'synthetic'}.get(kind, 'rd')
        text = t.pick(['-:%s/%s' % (group, name), '-:' + name, '-:%s/' % group, '-:', '-' + name, '-:%s.%s' % (group, name), '-:nosuch', '-:rd/nosuch', '-:nosuch/', '-', '- :' + name, '-:/' + name, '-:1x',
                       '!%s' % name, '!:' + name, '!p:' + name, '!p:rd/%s %s' % (name, place), '-p:' + name, '-:%s/%s x y' % (group, name), '-:%s/%s # c' % (group, name), '--:' + name,
                       '-:%s/%s %s' % (group, name, place), '-:%s/%s %s a=%%di' % (group, name, place), '-:%s/%s %s a=%%di b=%%si:u8' % (group, name, place), '-:%s/%s %s a=%%di b=%%si:u8 c=%%di' % (group, name, place),
                       '-:%s/%s %s b=%%si:u8' % (group, name, place), '-:%s %s+0' % (name, place), '-:%s sched.sched_switch' % name, '-:%s sched.sched_switch a=$prev_pid' % name, '!%s u32 a; u64 b' % name])
        files = {'k': 'kprobe_events', 'u': 'uprobe_events', 's': 'synthetic_events', 'e': 'dynamic_events'}
        file = t.pick(['dynamic_events', 'dynamic_events', files[kind], files[kind], t.pick(sorted(files.values()))])
        self.add('deletion', file, text, [['dynamic_events', first]], clean=True)

    # ---- filters -----------------------------------------------------------------------------------
    def value(self):
        t = self.t
        return t.pick([t.number(), t.number(), '-' + t.number(), '"abc"', "'abc'", '"a*"', '"*a"', '"*a*"', '"a?c"', '"a[bc]"', '"!x"', '""', '"a\\"b"', 'abc', '0x', '08', '"unclosed', "'x", '99999999999999999999', '-9223372036854775808', '18446744073709551615', '1a', '0x' + 'f' * 22, '"' + 'x' * t.pick([254, 255, 256, 257]) + '"', ''])

    def predicate(self, event):
        t = self.t
        field = t.pick(FILTER_FIELDS[event] * 3 + GENERIC + ['nofield', 'u8x', '1', 'x y', '', 'stacktrace', 'STACKTRACE'])
        if t.one_in(12):
            field += t.pick(['.ustring', '.function', '.foo', '.', '.ustringx', '.hex'])
        operator = t.pick(['==', '!=', '<', '<=', '>', '>=', '&', '~'] * 3 + ['=', '=<', '|', '!', '^', '', '===', '<>', '&&', '!~'])
        value = t.pick(['CPUS{0}', 'CPUS{0-1}', 'CPUS{x}', 'CPUS{', 'CPUS{}', 'CPUS{9999}', 'vfs_read', '0xffffffff81000000', 'cpus{0}', 'CPUS{0', 'CPUS 0']) if t.one_in(15) else self.value()
        blank = t.pick([' ', ' ', ' ', '', '  '])
        return field + blank + operator + blank + value

    def good_predicate(self, event):
        t = self.t
        field = t.pick(FILTER_FIELDS[event])
        text = field in ('str', 'ustr', 'who', 'lit', 'name', 'prev_comm', 'next_comm')
        if text:
            return '%s %s "%s"' % (field, t.pick(['==', '!=', '~']), t.pick(['abc', 'a*', '*a', '*a*', 'a?c', '!a']))
        return '%s %s %s' % (field, t.pick(['==', '!=', '<', '<=', '>', '>=', '&']), t.pick(['1', '0x10', '-1', '077']))

    def filter_text(self, event, depth=0):
        t = self.t
        roll = self.r.randrange(10)
        if roll < 5 or depth > 3:
            return self.good_predicate(event) if t.one_in(2) else self.predicate(event)
        if roll < 8:
            return self.filter_text(event, depth + 1) + t.pick([' && ', ' || ', '&&', '||', ' & ', ' | ', ' ']) + self.filter_text(event, depth + 1) if t.one_in(4) else \
                self.good_predicate(event) + t.pick([' && ', ' || ']) + self.filter_text(event, depth + 1)
        if roll == 8:
            return t.pick(['(%s)', '!(%s)', '!%s', '((%s))', '( %s )', '(%s', '%s)', '! (%s)', '!!(%s)', '()%s']).replace('%s', self.filter_text(event, depth + 1))
        return t.pick(['', '0', ' 0 ', 'none', '1', '(', ')', '!', '&&', '||', ' ', '()', '!()', '"', "'", '0x0', '&', '((', '0 0', 'a', '#', '\\'])

    def filters(self, count):
        events = sorted(FILTER_FIELDS)
        for number in range(count):
            event = self.t.pick(events)
            text = self.filter_text(event)
            if self.t.one_in(5):
                text = self.t.mutated(text)
            if not text:
                continue
            self.add('filter', 'filter ' + event, text.replace('\n', ' '))
            if number == 0:
                self.cases[-1].update(reset=True, setup=FILTER_EVENTS)

    # ---- triggers ----------------------------------------------------------------------------------
    def simple_trigger(self, event):
        t = self.t
        count = t.pick(['', '', ':1', ':5', ':0', ':0x10', ':x', ':', ':-1', ':1x', ':99999999999999999999'])
        other = t.pick(['uprobes:tb', 'uprobes:ta', 'uprobes:nosuch', 'sched:sched_switch', 'uprobes', '', ':', 'uprobes:tb:x:y'])
        command = t.pick(['traceon', 'traceoff', 'snapshot', 'stacktrace', 'enable_event:' + other, 'disable_event:' + other, 'enable_hist:' + other, 'disable_hist:' + other, 'foo', 'Traceon', 'traceonx', 'enable_event', ''])
        condition = t.pick(['', '', '', ' if ' + t.pick(TRIGGER_FIELDS[event]) + ' > 3', ' if nofield == 1', ' if', ' if (', ' iff x', ' if ' + t.pick(TRIGGER_FIELDS[event]), ' x'])
        return t.pick(['', '', '', '!', '! ', ' ']) + command + count + condition

    def hist_field(self, event):
        t = self.t
        field = t.pick(TRIGGER_FIELDS[event] * 4 + ['common_pid', 'common_timestamp', 'cpu', 'stacktrace', 'nofield', 'hitcount', 'common_cpu', 'common_stacktrace', 'common_comm', 'comm', ''])
        return field + t.pick([''] * 8 + ['.hex', '.sym', '.sym-offset', '.execname', '.syscall', '.log2', '.usecs', '.buckets=4', '.bucket=2', '.percent', '.graph', '.stacktrace', '.foo', '.buckets', '.buckets=0', '.'])

    def hist_part(self, event):
        t = self.t
        field = lambda: self.hist_field(event)
        return t.pick([
            lambda: t.pick(['vals=', 'val=', 'values=']) + ','.join(field() for _ in range(t.pick([1, 1, 2, 3]))),
            lambda: 'sort=' + ','.join(t.pick(TRIGGER_FIELDS[event] + ['hitcount', 'x', '']) + t.pick(['', '', '.descending', '.ascending', '.foo']) for _ in range(t.pick([1, 1, 2, 3]))),
            lambda: 'size=' + t.pick(['128', '100', '2048', '4096', '131072', '131073', '0', 'x', '', '1', '-1', '0x100']),
            lambda: t.pick(['pause', 'cont', 'continue', 'clear', 'nohitcount', 'NOHC', 'foo', '', 'pausex']),
            lambda: 'name=' + t.pick(['n1', 'n2', '', 'a b']),
            lambda: 'clock=' + t.pick(['global', 'local', 'mono', 'foo', '']),
            lambda: t.pick(['x', 'y', 'ts0', 'v']) + '=' + t.pick([field(), field(), field() + t.pick('+-*/') + field(), '5', field() + '-5', '$x', '$nosuch', '$x-$y', 'uprobes.ta.$x', field() + '-uprobes.tb.$y', '-' + field(), '-(%s)' % field(), field() + '/0', '3*4', '1+2+3+4+5', '', 'common_timestamp.usecs', field() + '+' + field() + '-' + field()]),
            lambda: self.hist_action(event),
        ])()

    def hist_action(self, event):
        t = self.t
        handler = t.pick(['onmatch(uprobes.tb)', 'onmatch(uprobes.ta)', 'onmax($x)', 'onchange($x)', 'onmax($nosuch)', 'onmax(x)', 'onmatch(nosuch.x)', 'onmatch(uprobes)', 'onmatch()', 'onmax()', 'onfoo($x)', 'onmax($x', 'onmatch(uprobes.tb'])
        action = t.pick(['trace(tsyn,id,val,id)', 'tsyn(id,val,id)', 'save(%s)' % t.pick(TRIGGER_FIELDS[event]), 'snapshot()', 'trace(tsyn,id)', 'trace(nosuch,id)', 'save()', 'save(nofield)', 'foo()', 'trace()', 'tsyn($x,val,id)', 'save(a', 'trace(tsyn,id,val,$nosuch)', 'tsyn(id,val,id'])
        return handler + t.pick(['.', '.', '.', '', ':']) + action

    def hist_trigger(self, event):
        t = self.t
        parts = [t.pick(['keys=', 'key=', 'keys=', 'keys=', 'keyss=', '']) + ','.join(self.hist_field(event) for _ in range(t.pick([1, 1, 1, 2, 3, 4])))]
        if t.one_in(2):
            parts = ['keys=' + t.pick(TRIGGER_FIELDS[event])]
        for _ in range(t.pick([0, 1, 1, 2, 3])):
            parts.append(self.hist_part(event))
        if t.one_in(8):
            self.r.shuffle(parts)
        condition = t.pick(['', '', '', '', ' if %s > 3' % t.pick(TRIGGER_FIELDS[event]), ' if nofield > 1'])
        return t.pick(['hist:'] * 12 + ['!hist:', 'hist', 'hist::', 'hist:hist:']) + ':'.join(parts) + condition

    def triggers(self, count):
        events = sorted(TRIGGER_FIELDS)
        for number in range(count):
            event = self.t.pick(events)
            setup = []
            for _ in range(self.t.pick([0, 0, 1, 2])):
                other = self.t.pick([event, self.t.pick(events)])
                good = self.t.pick(['traceoff:3', 'traceon', 'stacktrace', 'snapshot', 'hist:keys=%s' % TRIGGER_FIELDS[other][0], 'hist:keys=%s:x=%s' % (TRIGGER_FIELDS[other][0], TRIGGER_FIELDS[other][1]),
                                    'hist:keys=%s:y=%s:name=n1' % (TRIGGER_FIELDS[other][0], TRIGGER_FIELDS[other][1]), 'enable_event:uprobes:tb', 'disable_event:uprobes:ta:2'])
                setup.append(['trigger ' + other, good])
            text = self.hist_trigger(event) if self.r.randrange(3) else self.simple_trigger(event)
            if setup and self.t.one_in(6):
                text = self.t.pick(['', '!']) + setup[-1][1]
            if self.t.one_in(6):
                text = self.t.mutated(text)
            if not text:
                continue
            self.add('trigger', 'trigger ' + event, text.replace('\n', ' '), setup, clean=True)
            if number == 0:
                self.cases[-1].update(reset=True, setup=TRIGGER_EVENTS + setup)


def make_cases(seed, kernel, definitions, filters, triggers):
    cases = Cases(seed, kernel)
    cases.definitions(definitions)
    cases.filters(filters)
    cases.triggers(triggers)
    return cases.cases
