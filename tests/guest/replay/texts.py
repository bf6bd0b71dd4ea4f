"""Texts of the event language, right ones and many with mistakes, from one random generator.

Every text names its event itself (`rg/eN`) unless names are what it is about, so that texts do not meet each other.
A text is a line; a case says where it is written. What depends on how a kernel was compiled (where instructions begin,
which functions there are) is left out: functions and data symbols come from a list that all kernels here have.
"""
import re

FUNCTIONS = ['vfs_read', 'vfs_write', 'vfs_open', 'vfs_fsync', 'do_sys_openat2', 'ksys_read', 'ksys_write', 'kernel_clone']
DATA = ['jiffies', 'init_task', 'linux_proc_banner']
REGISTERS = 'r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si di orig_ax ip cs flags sp ss'.split()
TYPES = 'u8 u16 u32 u64 s8 s16 s32 s64 x8 x16 x32 x64'.split()
STATIC = {
    'sched/sched_switch': ['prev_comm', 'prev_pid', 'prev_prio', 'prev_state', 'next_comm', 'next_pid', 'next_prio'],
    'sched.sched_process_exec': ['filename', 'pid', 'old_pid'],
    'syscalls/sys_enter_openat': ['dfd', 'filename', 'flags', 'mode'],
    'syscalls.sys_exit_read': ['ret'],
    'syscalls/sys_enter_read': ['fd', 'buf', 'count'],
}
NAMES = 'fd path size ret a b1 count flags _x who Name x9'.split()
ARGUMENTS = {'vfs_read': ['file', 'buf', 'count', 'pos'], 'vfs_write': ['file', 'buf', 'count', 'pos'],
             'vfs_open': ['path', 'file'], 'vfs_fsync': ['file', 'datasync'],
             'do_sys_openat2': ['dfd', 'filename', 'how'], 'ksys_read': ['fd', 'buf', 'count'],
             'ksys_write': ['fd', 'buf', 'count'], 'kernel_clone': ['args']}
FIELDS = {'file': ['f_mode', 'f_pos', 'f_path.dentry', 'f_inode->i_ino', 'f_flags', 'f_mapping->host->i_ino'],
          'path': ['dentry', 'mnt', 'dentry->d_inode->i_ino'], 'how': ['flags', 'mode', 'resolve'],
          'args': ['flags', 'stack_size']}
FOLDER = '/gold'
FILES = ['/gold/target', '/bin/sh', '/gold/odd-name_x.1.bin', '/gold/with:colon', '/gold/data.txt', '/gold/empty',
         '/gold/link']
NO_FILES = ['/gold/none', '/gold/sub', '/sys', '/gold', '/', '/gold/target/x', '/proc', '/dev/null']
LONG = {n: ('n' * n) for n in (31, 32, 33, 62, 63, 64, 65, 70)}


class Texts:
    def __init__(self, random, kernel):
        self.r = random
        self.kernel = kernel
        self.version = tuple(int(n) for n in kernel.split('.'))
        self.count = 0

    def pick(self, items):
        return items[self.r.randrange(len(items))]

    def one_in(self, n):
        return self.r.randrange(n) == 0

    def number(self):
        r = self.r
        return self.pick([lambda: str(r.randrange(10)), lambda: str(r.randrange(5000)), lambda: hex(r.randrange(1 << 16)),
                          lambda: '0%o' % r.randrange(512), lambda: hex(r.randrange(1 << 48))])()

    def bad_number(self):
        return self.pick(['', 'x', '0x', '1a', '08', '0xg', '-', '--1', '1.5', '99999999999999999999', '+1', '1 ', '0b1', '١'])

    # ---- arguments ---------------------------------------------------------------------------------
    def base(self, kind):
        """(text, is memory). kind: k R u U e f F t."""
        r = self.r
        choices = []
        if kind in 'kRuU':
            choices += [lambda: ('%' + self.pick(REGISTERS), False)] * 4
        if kind in 'kRuUfF':
            choices += [lambda: ('$stack', False), lambda: ('$stack%d' % r.randrange(20), False)]
        if kind in 'RUF':
            choices += [lambda: ('$retval', False)] * 4
        if kind in 'kf' or (kind in 'RF' and self.version >= (6, 12)):
            choices += [lambda: ('$arg%d' % r.randrange(1, 7), False)] * 2
        if kind == 'e':
            choices += [lambda: ('$' + self.pick(self.fields), False)] * 5
        choices += [lambda: ('@' + hex(r.randrange(1 << 30)), True), lambda: ('\\' + self.pick(['', '-']) + self.number(), False)]
        if kind in 'kRfF':
            choices += [lambda: ('@' + self.pick(DATA) + self.pick(['', '+8', '-16', '+0x10']), True)]
        if kind in 'uU':
            choices += [lambda: ('@+' + self.number(), True)]
        return self.pick(choices)()

    def bad_base(self, kind):
        return self.pick([
            '%', '%zz', '%rdi', '%Di', '%r16', '%eax', '%di2', '$', '$$', '$foo', '$retvalx', '$retval1', '$stackx', '$stack99999',
            '$stack2048', '$stack2047', '$stack-1', '$stack+1', '$stack0x1', '$stack1a', '$arg0', '$arg', '$argx', '$arg-1', '$arg99999', '$arg2048', '$arg1x',
            '$argument', '$arg0x1', '$Retval', '$STACK', '$COMM', '$comm', '$common', '$comm1', '$comm+1', '@', '@+', '@-8', '@+8', '@+x', '@+0xg',
            '@0xg', '@12ab', '@nosuch_symbol_zz', '@jiffies+', '@jiffies+x', '@jiffies-', '@jiffies+8x', '@vfs_read', '@+-8', '\\', '\\x', '\\-', '\\--1', '\\+1', '\\0x',
            '\\"', '\\"abc', '\\"abc"', '\\""', '\\"a"b', '\\"abc"d"', "\\'a'", '\\99999999999999999999', '\\-99999999999999999999', '\\0x1ffffffffffffffff',
            '&1', 'foo', '1', '0x10', '-', '+', '=', '(', ')', '()', '(x)', '*', '~', '"x"', '%di,%si', '+8', '-8', '$retval', '%sp', '$stack', '$stack1', '$arg1'])

    def deref(self, inner):
        return '%s%s%s(%s)' % (self.pick('+-'), self.pick(['', '', '', 'u']), self.pick(['0', '8', '16', '0x10', '4096', '010', self.number()]), inner)

    def bad_deref(self, inner):
        return self.pick([
            '+0(%s', '+0%s)', '+0%s', '+(%s)', '+u(%s)', '+uu8(%s)', '+0x(%s)', '+8a(%s)', '+-8(%s)', '+0(%s)x', '+0(%s))', '+0()%s', '0(%s)',
            '+08(%s)', '+99999999999999999999(%s)', '-99999999999(%s)', '+U0(%s)', '+u-8(%s)', '+0((%s))', '+0[%s]', '+0(%s)+8', '+ 0(%s)', '+0 (%s)',
            '-0(%s)', '+2147483648(%s)', '+9223372036854775807(%s)', '+9223372036854775808(%s)', '-9223372036854775808(%s)', '+0(+0(%s)', '+0(0(%s))', '+0(+0%s))', '+0(%s)(%s)'
        ]).replace('%s', inner)

    def good_type(self, memory, kind):
        r = self.r
        types = [lambda: ':' + self.pick(TYPES)] * 6 + [lambda: '']*3
        bits = self.pick([8, 16, 32, 64])
        width = r.randrange(1, bits + 1)
        types += [lambda: ':b%d@%d/%d' % (width, r.randrange(0, bits - width + 1), bits)]
        if kind not in 'uU' or self.version < (6, 2):
            types += [lambda: ':symbol']
        if self.version >= (6, 3):
            types += [lambda: ':char']
        if memory:
            types += [lambda: ':' + self.pick(['string', 'ustring'])] * 4
            types += [lambda: ':%s[%d]' % (self.pick(TYPES + ['string', 'ustring']), r.randrange(1, 65))] * 2
        elif kind not in 'uU' or self.version < (6, 2):
            types += [lambda: ':symstr']
        return self.pick(types)()

    def bad_type(self):
        return ':' + self.pick([
            '', 'foo', 'u128', 'U8', 'u8x', 'u 8', 'int', 'u8[', 'u8]', 'u8[]', 'u8[0]', 'u8[65]', 'u8[64]', 'u8[1', 'u8[1]x', 'u8[-1]', 'u8[0x4]', 'u8[x]', 'u8[1][2]', 'u8[999999999999]', 'u8[04]', 'u8[09]',
            'string', 'ustring', 'string[3]', 'symstr', 'symstr[2]', 'symbol', 'symbol[2]', 'string[65]', 'char', 'char[4]', 'b', 'b1', 'b1@', 'b1@0', 'b1@0/', 'b1@0/7', 'b0@0/8', 'b9@0/8', 'b4@5/8',
            'b8@0/8', 'b1@0/128', 'b1@a/8', 'b-1@0/8', 'b1@-1/8', 'b1/8', 'b1@0/8x', 'b1@0/8[2]', 'b16@0/16', 'bx@0/8', 'b1@0x1/8', '%pd', '%pD', '%pX', '%p', 'u8:u8', ':u8', 's32:', 'stringx', 'x64,', 'sym', 'u8[2', 'b64@0/64', 'b0x4@0/8', 'b1@08/16'])

    def expression(self, kind):
        """A right expression with its type."""
        base, memory = self.base(kind)
        for _ in range(self.pick([0, 0, 0, 1, 1, 2, 3])):
            base, memory = self.deref(base), True
        return base + self.good_type(memory, kind)

    def right_arg(self, kind, index):
        roll = self.r.randrange(20)
        if roll == 0:
            return '%s%d=$comm' % (self.pick(NAMES), index)
        if roll == 1:
            return '%s%d=\\"%s"%s' % (self.pick(NAMES), index, self.pick(['abc', '', 'a=b', 'x:u8', 'a(b']), self.pick(['', ':string']))
        text = self.expression(kind)
        return text if self.one_in(5) else '%s%d=%s' % (self.pick(NAMES), index, text)

    def wrong_arg(self, kind, index):
        name = self.pick(['', '%s%d=' % (self.pick(NAMES), index)])
        roll = self.r.randrange(14)
        if roll < 4:
            text = name + self.bad_base(kind)
            return text + (self.pick([':' + self.pick(TYPES), ':string', ':symstr', ':u8[4]']) if self.one_in(4) else '')
        if roll < 7:
            return name + self.bad_deref(self.pick([self.base(kind)[0], self.bad_base(kind)]))
        if roll == 7:
            return name + self.deref(self.pick([self.bad_base(kind), '$comm', '\\"a"', '\\1']))
        if roll < 11:
            base, _ = self.base(kind)
            return name + (self.deref(base) if self.one_in(2) else base) + self.bad_type()
        if roll == 11:
            bad = self.pick(['=', '1a=', 'a.b=', 'a-b=', '-a=', 'a b=', 'ä=', LONG[31] + '=', LONG[32] + '=', LONG[33] + '=', 'common_pid=', '__probe_ip=',
                             '__probe_func=', '__probe_ret_ip=', 'common_type=', 'common_flags=', 'common_tgid=', 'common_preempt_count=', 'a==', 'a:b=', 'a+b=', '$x=', '%di=', 'arg1=', 'arg2='])
            return bad + self.pick([self.expression(kind), '', '%di', '@0'])
        if roll == 12:
            depth = self.pick([7, 8, 9, 13, 14, 15, 16, 20])
            return name + '+0(' * depth + self.pick(['%di', '@8', '$stack', self.base(kind)[0]]) + ')' * self.pick([depth, depth, depth - 1, depth + 1])
        length = self.pick([61, 62, 63, 64, 70, 130, 255, 256])
        return name + self.pick(['@' + '0' * (length - 1), '\\' + '0' * (length - 1), '%di' + ':' + 'u' * (length - 4), '\\"' + 'a' * (length - 3) + '"'])

    def types_arg(self, kind, function, index):
        """BTF forms."""
        arguments = ARGUMENTS[function]
        name = self.pick(arguments)
        choice = self.r.randrange(9)
        lead = self.pick(['', '%s%d=' % (self.pick(NAMES), index)])
        if choice == 0:
            return '$arg*'
        if choice <= 2:
            return lead + name + self.pick(['', ':u64', ':x32'])
        if choice <= 4 and name in FIELDS:
            return lead + name + '->' + self.pick(FIELDS[name]) + self.pick(['', '', ':x64', ':u8'])
        if choice == 5:
            return lead + self.pick([name + '.x', name + '-.x', name + '-x', name + '->', name + '->nofield_', name + '->.x', 'nosuchname', name + '->f_inode-i', '$arg*x',
                                     'x=$arg*', '$arg1->f_mode', '$retval->f', '$arg*:u8', name + ':string', '+0($arg*)', '$arg10', name + '->f_pos.x'])
        if choice == 6:
            return lead + self.pick(['$arg1:%pd', '$arg1:%pD', 'file:%pD', '%di:%pd', '+0(%di):%pD', '@0:%pd', '$retval:%pd', '%di:%pd[2]', '\\1:%pD', '%pd', '$comm:%pd'])
        if choice == 7:
            return lead + '+0(%s)' % name + self.pick(['', ':string', ':u8[4]'])
        return lead + self.pick(['(file)%s->f_pos', '(task_struct)%s->pid', '$current', '$current->pid', 'this_cpu_read(%s)', 'this_cpu_ptr(@jiffies)', '(x']).replace('%s', name)

    # ---- heads -------------------------------------------------------------------------------------
    def name(self):
        self.count += 1
        return 'e%d' % self.count

    def event(self):
        return ':rg%s%s' % (self.pick('//.'), self.name())

    def bad_event(self):
        n = self.name()
        return self.pick([':', ':/', ':/' + n, ':rg/', ':rg.', ':.' + n, ':1g/' + n, ':g.h/' + n, ':g/h/' + n, ':rg/1' + n, ':rg/a-b', ':r-g/' + n, ':-g/' + n, ':rg/a b', ':a b',
                          ':' + LONG[63] + '/' + n, ':' + LONG[64] + '/' + n, ':rg/' + LONG[62] + n[:1], ':rg/' + LONG[64], ':rg/' + LONG[63], ':' + LONG[64], ':' + LONG[65], ':ä', ':rg/ä', ':rg//' + n, ':a.b.c', ':a/b.c', ':a.b/c', n, 'x:' + n, ' ' + n, '::' + n,
                          ':rg/' + n + ':', ':rg/x+1', ':sched/sched_switch', ':syscalls/sys_enter_read', ':$x', ':rg/%x', ':!', ':_g/_' + n, ':kprobes/' + n, ':uprobes/' + n])

    def kplace(self, point):
        function = self.pick(FUNCTIONS)
        return function, function + self.pick(['', '', '', '+0', '+0x0'])

    def bad_kplace(self):
        f = self.pick(FUNCTIONS)
        return self.pick(['', 'no_such_function_zz', f + '+', f + '+x', f + '-1', f + '+1000-1000', f + '-0', f + '+-1', f + '+99999999999999999999', f + '+4294967296', f + '+0x', f + '%', f + '%ret',
                          f + '%return%return', f + '%returnx', f + '+0%return', f + '%return+0', f + '%hoge', 'hoge-fuga', '+8', '-8', '%return', 'nomod:' + f, ':' + f, 'nomod:', 'a:b:c', 'kernel:' + f, 'vmlinux:' + f, f + '.x', f + '*', '*', '1x', '0xg', '@' + f, '$' + f, f + ',' + f, f.upper(), f + '+1+1', f + '++1', 'nomod:' + f + '+4', 'nomod:' + f + '%return',
                          '/x', 'x/y', '/x:', '"' + f + '"'])

    def kprobe(self, wrong_head=False, args=None):
        point = self.pick('kkR')
        function, place = self.kplace(point)
        letter = 'p'
        if point == 'R':
            if self.one_in(3):
                place = function + '%return'
            else:
                letter = 'r' + self.pick(['', '', '', '1', '4096', '12', '0100' if self.one_in(4) else ''])
        head, event = letter, self.event()
        if wrong_head:
            roll = self.r.randrange(5)
            if roll == 0:
                event = self.bad_event()
            elif roll <= 2:
                place = self.bad_kplace()
            elif roll == 3:
                head = self.pick(['p1', 'p0', 'px', 'p-1', 'p100', 'r0', 'r4097', 'r99999', 'r1a', 'rx', 'r-1', 'r0x10', 'r08', 'r 10', 'P', 'R', 'x', '', 'pp', 'q', 'r99999999999999999999', 'p%', 'r+1'])
            else:
                head, event, place = self.pick([('p', '', ''), ('r', '', ''), ('p', event, ''), ('p', ':', place), ('p', '', place), ('r', '', place), ('p', ' ', event), ('', event, place)])
        words = [head + event] + ([place] if place else [])
        return point, function, words

    def uprobe(self, wrong_head=False):
        point = self.pick('uuU')
        path = self.pick(FILES)
        offset = self.pick([self.number(), '0x110c', '100', '0x0', '0'])
        ref = self.pick(['', '', '', '(0x%x)' % self.r.randrange(1, 4096), '(%d)' % self.r.randrange(1, 99)])
        letter = 'p'
        suffix = ''
        if point == 'U':
            letter, suffix = self.pick([('r', ''), ('p', '%return'), ('r', '%return')])
        place = path + ':' + offset + suffix + ref
        event = self.event()
        if wrong_head:
            roll = self.r.randrange(4)
            if roll == 0:
                event = self.bad_event()
            elif roll == 1:
                place = self.pick(NO_FILES) + ':' + offset
            elif roll == 2:
                place = path + self.pick([':', ':x', ':10a', ':10(', ':10(1', ':10(1a)', ':10()', ':10(10)a', ':10(10)%return', ':10%hoge', ':10%', ':10%return%return', ':10%returnx', ':-1', ':10(0)', ':10((1))', ':10)', ':10(-1)', '', ':0x', ':0xg(1)', ':10+1', ':10%return(1', ':99999999999999999999', ':10(99999999999999999999)', ':08', ':10(08)', ':1:2', '::1', ':10(0x)', ':10(1)(2)', ':10%return(4)x', ':10)(', ':10%(4)'])
            else:
                letter = self.pick(['r10', 'p1', 'px', 'P', 'r0', 'r4097', 'rx'])
        return point, None, [letter + event, place]

    def eprobe(self, wrong_head=False):
        place = self.pick(sorted(STATIC))
        self.fields = STATIC[place]
        event = self.event()
        head = 'e'
        if wrong_head:
            roll = self.r.randrange(3)
            if roll == 0:
                event = self.bad_event()
            elif roll == 1:
                place = self.pick(['a.', '.b', 'a.b', 'sched', 'sched/', '/sched_switch', 'sched/nosuch', 'nosuch/sched_switch', 'sched.sched_switch.x', 'sched/sched_switch/x', '', 'ftrace/function', 'sched:sched_switch', '.', '/', '1a/b', 'sched/1x', 'sched-x/y', LONG[65] + '/x', 'sched/' + LONG[65], 'sched./x', 'sched//x'])
            else:
                head = self.pick(['e1', 'ex', 'E', 'e 1', 'ee'])
        words = [head + event] + ([place] if place else [])
        return 'e', None, words

    def function_probe(self, wrong_head=False):
        point = self.pick('fF')
        function = self.pick(FUNCTIONS)
        place = function + ('%return' if point == 'F' else '')
        head, event = 'f', self.event()
        if point == 'F' and self.one_in(6):
            head = 'f' + self.pick(['1', '10', '4096'])
        if wrong_head:
            roll = self.r.randrange(4)
            if roll == 0:
                event = self.bad_event()
            elif roll <= 2:
                place = self.pick([function + '+4', function + '+0', function + '%ret', 'no_such_function_zz', '', function + '%return%return', 'nomod:' + function, '%return', function + '-1', '0x1234', function + '%', function + '*', '1', function + '%return+0'])
            else:
                head = self.pick(['f1', 'f0', 'fx', 'f100', 'f4097', 'F', 'f-1', 'f99999999999999999999', 'ff'])
        return point, function, [head + event] + ([place] if place else [])

    def tracepoint(self, wrong_head=False):
        place = self.pick(['sched_switch', 'kfree', 'sched_process_exec', 'sys_enter'])
        head, event = 't', self.event()
        if wrong_head:
            roll = self.r.randrange(3)
            if roll == 0:
                event = self.bad_event()
            elif roll == 1:
                place = self.pick(['kmem/kfree', 'no_such_tp_zz', 'kfree%return', 'kfree+1', '', 'k-free', 'kfree.x', 'kfree:x', '1', '$x'])
            else:
                head = self.pick(['t1', 't100', 'tx', 'T', 't0', 'tt'])
        return 't', None, [head + event] + ([place] if place else [])

    def definition(self):
        """One line of a probe definition: (text, file)."""
        makers = [(self.kprobe, 'kprobe_events'), (self.uprobe, 'uprobe_events'), (self.eprobe, 'dynamic_events')]
        weights = [5, 4, 3]
        makers += [(self.function_probe, 'dynamic_events'), (self.tracepoint, 'dynamic_events')]
        weights += [3, 1] if self.version >= (6, 5) else [1, 1]
        make, file = self.r.choices(makers, weights)[0]
        roll = self.r.randrange(10)
        point, function, words = make(wrong_head=roll < 3)
        words += self.arguments(point, function, wrong=roll >= 3 and roll < 8)
        if point == 'e' and self.one_in(4):
            words += self.eprobe_filter()
        if self.one_in(2):
            file = 'dynamic_events'
        elif self.one_in(12):
            file = self.pick(['kprobe_events', 'uprobe_events', 'synthetic_events'])
        text = (self.pick(['  ', '\t', ' ']) if self.one_in(12) else ' ').join(words)
        if self.one_in(15):
            text = self.pick([' ' + text, text + ' ', text + ' # c', text + '#c', '\t' + text, text.replace(' ', '\t', 1)])
        return text, file

    def arguments(self, point, function, wrong):
        args = [self.right_arg(point, i) for i in range(self.pick([0, 1, 1, 2, 3, 5]))] if point != 't' else []
        if not hasattr(self, 'fields'):
            self.fields = ['x']
        if wrong:
            for _ in range(self.pick([1, 1, 1, 2])):
                args.insert(self.r.randrange(len(args) + 1), self.wrong_arg(point, 7))
        if function and self.version >= (6, 5) and self.one_in(4) or self.one_in(25):
            args.insert(self.r.randrange(len(args) + 1), self.types_arg(point, function or 'vfs_read', 8))
        if self.one_in(30) and args:
            args.append(args[0])
        if self.one_in(60):
            args = ['a%d=%s' % (i, '%di') for i in range(self.pick([127, 128, 129, 130]))]
        if self.one_in(60):
            args = ['b%d=+0(%%di):u64[64]' % i for i in range(self.pick([5, 6, 7]))]
        return args

    def eprobe_filter(self):
        # Pointers to text are left out: which fields are that differs.
        field = self.pick([name for name in self.fields if name not in ('buf', 'filename')])
        return ['if'] + self.pick([[], [field + ' == 1'], [field, '>', '1'], ['nofield == 1'], [field + ' == 1 &&'], ['(' + field + ' == 1'], [field + ' ~ "a*"'], [field + ' == 1 || ' + field + ' == 2'], ['1'], [field], [field + ' = 1']])

    # ---- synthetic events --------------------------------------------------------------------------
    def synthetic(self):
        types = 's8 s16 s32 s64 u8 u16 u32 u64 char int long bool pid_t gfp_t'.split() + ['unsigned int', 'unsigned long', 'unsigned char', 'char[16]', 'char[]', 'char[256]']
        bad_types = ['foo', 'char[257]', 'char[0]', 'char[x]', 'unsigned', 'unsigned s32', 'u128', 'int[4]', 'char[', 'char]', 'char[1', 'char*', 'unsigned unsigned int', 'string', 'short', 'long[]', 'unsigned long[]', 'char[9999]', 'char[-1]', 'signed int', 'u8[]', '']
        def field(i):
            return '%s %s%d' % (self.pick(types), self.pick('abc'), i)
        fields = [field(i) for i in range(self.pick([1, 2, 3, 6]))]
        if self.one_in(2):
            bad = self.pick(['%s x' % self.pick(bad_types), 'u32', 'u32 1x', 'u32 x-y', 'u32 a.b', 'char a[16]', 'char a[]', 'char a[16] b', 'u32 x y', 'u32 a0', '', 'u32  z', 'u32 x[4]', 'char x[300]', 'u32 x,', 'u32 x=1', 'char a[', 'char a[1', 'char a]', 'u32 ' + LONG[65], 'u32 common_pid', 'u32 $x', 'pid_t unsigned', 'unsigned char[8] q', 'unsigned int  q'])
            fields.insert(self.r.randrange(len(fields) + 1), bad)
        if self.one_in(30):
            fields = ['u32 f%d' % i for i in range(self.pick([63, 64, 65]))]
        body = self.pick(['; ', ';', ' ; ', ';  ']).join(fields) + self.pick(['', ';', '; ', ';;'])
        name = 'y' + self.name()
        if self.one_in(4):
            name = self.pick(['', '1a', 'a-b', 'a.b', 'a/b', LONG[63], LONG[64], LONG[65], '!x', 'synthetic/' + name, '$x', 'rg/' + name])
        if self.one_in(2):
            head = self.pick(['s:', 's:', 's:', 's:synthetic/', 's:', 's1:', 's', 's :', 's:rg/', 'sx:']) if self.one_in(3) else 's:'
            return head + name + ' ' + body, 'dynamic_events'
        return name + ' ' + body, 'synthetic_events'

    # ---- mutations ---------------------------------------------------------------------------------
    def mutated(self, text):
        alphabet = ' :=+-()@$%\\"[]/.,;!#019axu_bps*'
        for _ in range(self.pick([1, 1, 1, 2, 3])):
            at = self.r.randrange(len(text) + 1)
            roll = self.r.randrange(4)
            if roll == 0:
                text = text[:at] + self.pick(alphabet) + text[at:]
            elif roll == 1:
                text = text[:at] + text[at + 1:]
            elif roll == 2:
                text = text[:at] + self.pick(alphabet) + text[at + 1:]
            else:
                end = at + self.r.randrange(1, 6)
                text = text[:at] + text[end:]
        return text


# A place inside a function, or an address: what is there differs between kernels.
_COMPILED = re.compile(r'^\s*[prf]\S*\s+(\S*[a-z_]\w*\+0*[1-9x]\S*|0x?[0-9a-f]+|\d+)(\s|$)')


def depends_on_code(text):
    return bool(_COMPILED.match(text))
