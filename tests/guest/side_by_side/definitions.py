"""Right definitions for functions that the workload calls, most of them over memory that can be read there.

A case is {name, definition, filter or None}. Types are always written: newer kernels take unwritten ones from BTF. There is
no `symstr`: the kernel damages its own records, and its pages, with it (docs/kernel.md).
"""
REGISTERS = 'r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si di orig_ax ip cs flags sp ss'.split()
NUMBERS = 'u8 u16 u32 u64 s8 s16 s32 s64 x8 x16 x32 x64'.split()
# What an expression of each function points to: (expression, bytes that can be read, whether a string begins there).
POINTERS = {
    'do_sys_openat2': [('$arg2', 12, True), ('$arg3', 24, False)],
    'vfs_write': [('$arg1', 160, False), ('$arg2', 12, True), ('$arg4', 8, False)],
    'vfs_read': [('$arg1', 160, False), ('$arg4', 8, False)],
    'ksys_write': [('$arg2', 12, True)],
    '__x64_sys_openat': [('$arg1', 168, False), ('+104($arg1)', 0, False)],
    'getname_flags': [('$arg1', 12, True)],
    '__x64_sys_execve': [('$arg1', 168, False), ('+104($arg1)', 24, 'pointers')],
}
# Their paths may lie in pages that nobody has touched yet.
PATHS_NOT_READ_YET = ('do_sys_openat2', 'getname_flags', '__x64_sys_openat', '__x64_sys_execve')
# Arrays of one string only: where one of several cannot be read, kernels up to 7.2 write behind the record and die.
RETURNS = {'do_sys_openat2': [], 'vfs_write': [], 'vfs_read': [], 'ksys_write': [], '__x64_sys_openat': [],
           'getname_flags': [('$retval', 16, False), ('+0($retval)', 12, True)]}
ANYWHERE = [('$stack', 128, False), ('%sp', 128, False), ('@linux_proc_banner', 64, True), ('@linux_proc_banner+7', 32, True),
            ('@0x1000', 0, False)]
# Found by this test; always compared. The verifier refused to spill a register that was never written.
ONCE_WRONG = [('p:side/%s do_sys_openat2 x90=%%flags:s16 a1=+88($stack):s8 Name2=+21(%%sp):u32', 'common_pid > 1 && x90 >= 1 || Name2 & 64')]
NAMES = 'fd path size ret a b1 count flags _x who Name x9'.split()


class Definitions:
    def __init__(self, random, kernel):
        self.r = random
        self.version = tuple(int(n) for n in kernel.split('.'))
        self.count = 0

    def pick(self, items):
        return items[self.r.randrange(len(items))]

    def bits(self):
        container = self.pick([8, 16, 32, 64])
        width = self.r.randrange(1, container + 1)
        return 'b%d@%d/%d' % (width, self.r.randrange(0, container - width + 1), container)

    def scalar(self, returns):
        bases = ['%' + self.pick(REGISTERS)] * 3 + ['$stack%d' % self.r.randrange(0 if returns else 1, 16), '\\%d' % self.r.randrange(1 << 31), '\\-%d' % self.r.randrange(99)]
        bases += ['$retval'] * 4 if returns else ['$arg%d' % self.r.randrange(1, 7)] * 4
        types = NUMBERS + [self.bits(), 'symbol']
        if self.version >= (6, 3):
            types.append('char')
        return self.pick(bases), self.pick(types)

    def memory(self, pointers, returns):
        base, size, text = self.pick(pointers)
        kind = self.r.randrange(6)
        # The return address is left out: whether a return probe has replaced it depends on the order of the probes.
        least = 8 if base in ('$stack', '%sp') and not returns else 0
        offset = self.r.randrange(least, max(size - 8, 0) + 1)
        place = ('@' in base[:1]) and base or '+%s%d(%s)' % (self.pick(['', '', 'u']) if text is True and size == 12 else '', offset, base)
        if text is True and kind < 3:
            return (base if base[0] == '@' else '+0(%s)' % base), self.pick(['string', 'ustring'] if base[0] != '@' else ['string'])
        if kind == 3 and size >= 16:
            item = self.pick(['u8', 's16', 'x32', 'u64', 's8'])
            count = self.r.randrange(1, min(64, (size - offset) // 8 or 1) + 1)
            return place, '%s[%d]' % (item, count)
        if text == 'pointers' and kind > 1:
            return '+0(%s)' % base, self.pick(['string', 'ustring']) + '[1]'
        return place, self.pick(NUMBERS + [self.bits(), 'symbol'])

    def argument(self, index, pointers, returns):
        roll = self.r.randrange(16)
        name = '%s%d' % (self.pick(NAMES), index)
        if roll == 0:
            return name, '$comm', 'string'
        if roll == 1:
            return name, '\\"%s"' % self.pick(['abc', 'a=b', 'a-b', 'a(b', 'x' * 30]), 'string'
        base, kind = self.memory(pointers, returns) if roll < 10 else self.scalar(returns)
        return name, base, kind

    def filter(self, function, arguments):
        """Over one or two of the fields. Patterns with `*` inside or at both ends do not run as BPF yet."""
        terms = []
        for name, base, kind in arguments:
            is_path = '$arg' in base and function in PATHS_NOT_READ_YET or '$retval' in base and kind == 'ustring'
            if '[' in kind or '0x1000' in base or '+104(' in base or is_path and kind in ('string', 'ustring'):
                continue  # what may not be readable: the kernel's filter sees old bytes
            if kind in ('string', 'ustring'):
                terms.append('%s %s "%s"' % (name, self.pick(['==', '!=', '~']), self.pick(['r*', '/no*', '*.txt', '/no/such/file', '*file', 'Linux*', ''])))
            elif kind != 'char':
                terms.append('%s %s %s' % (name, self.pick(['==', '!=', '<', '<=', '>', '>=', '&']), self.pick(['0', '1', '3', '64', '0x7f', '1000'])))
        terms += ['common_pid > 1', 'COMM ~ "kevt_side*"', 'CPU == 0']
        text = self.pick(terms)
        for _ in range(self.pick([0, 0, 1, 2])):
            text += self.pick([' && ', ' || ']) + self.pick(['', '!']).replace('!', '') + self.pick(terms)
        return text

    def case(self):
        self.count += 1
        if self.count <= len(ONCE_WRONG):
            definition, text = ONCE_WRONG[self.count - 1]
            return {'name': 'e%d' % self.count, 'definition': definition % ('e%d' % self.count), 'filter': text}
        returns = self.r.randrange(3) == 0
        function = self.pick(sorted(RETURNS if returns else POINTERS))
        pointers = (RETURNS if returns else POINTERS)[function] * 2 + ANYWHERE
        arguments = [self.argument(i, pointers, returns) for i in range(self.pick([0, 1, 2, 2, 3, 3, 4, 6, 12]))]
        name = 'e%d' % self.count
        words = ['%s:side/%s' % ('r' if returns else 'p', name), function]
        words += ['%s=%s:%s' % argument for argument in arguments]
        return {'name': name, 'definition': ' '.join(words), 'filter': self.filter(function, arguments) if self.r.randrange(3) == 0 else None}
