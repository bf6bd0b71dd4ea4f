"""Histogram triggers by chance, and hits for them.

Both events have the fields aa (s32), bb (s64), cc (u8) and ss (text).
"""
import random

EVENTS = ('ha', 'hb')
KEYS = ['aa', 'bb', 'cc', 'ss', 'common_pid', 'aa.hex', 'bb.log2', 'cc.buckets=4', 'common_pid.execname', 'cc.syscall', 'cc.sym', 'cc.sym-offset',
        'common_cpu', 'bb.buckets=100', 'cc.log2', 'cpu']
VALUES = ['hitcount', 'aa', 'bb', 'cc', 'bb.hex', 'aa.hex', 'cc.graph', 'bb.graph']
EXPRESSIONS = ['aa+bb', 'bb-aa', 'cc*3', 'bb/7', 'bb/8', 'cc/3', '-(aa)', 'aa+bb*2', 'aa*cc-5', 'bb/cc', '5', 'cc', 'bb', 'aa']
CONDITIONS = ['cc > 3', 'bb < 50', 'ss == "one"', 'ss ~ "t*"', 'aa & 1', 'aa >= 0 && cc != 2']
TEXTS = [b'one', b'two', b'three', b'', b'x' * 300]


class Texts:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def some(self, pool, least, most):
        return self.r.sample(pool, self.r.randint(least, most))

    def hits(self, count):
        """(event, aa, bb, cc, ss) each."""
        r = self.r
        return [(r.choice(EVENTS), r.choice([-2, -1, 0, 1, 2, 70000]), r.choice([0, 1, 2, 3, 63, 64, 65, 1000, 1 << 40, -5]), r.choice([0, 1, 2, 5, 9, 255]),
                 r.choice(TEXTS)) for _ in range(count)]

    def condition(self):
        return ' if ' + self.r.choice(CONDITIONS) if self.r.randrange(3) == 0 else ''

    def histogram(self):
        """A trigger of one event, right or nearly."""
        r = self.r
        keys = self.some(KEYS, 1, 3)
        parts = ['keys=' + ','.join(keys)]
        values = self.some(VALUES, 0, 2)
        if values:
            parts.append('vals=' + ','.join(values))
        variables = ['v%d' % i for i in range(r.choice([0, 0, 1, 2]))]
        if variables:
            parts.append(','.join('%s=%s' % (name, r.choice(EXPRESSIONS)) for name in variables))
        sortable = ['hitcount'] + [word for word in keys + values if word != 'hitcount']
        if r.randrange(2):
            chosen = self.some(sortable, 1, min(2, len(sortable)))
            parts.append('sort=' + ','.join(word.split('.')[0] + r.choice(['', '.descending', '.ascending']) for word in chosen))
        if r.randrange(4) == 0:
            parts.append('size=%d' % r.choice([128, 256, 1000, 4096]))
        if variables:
            for handler in self.some(['onmax', 'onchange'], 0, 1):
                parts.append('%s($%s).save(%s)' % (handler, r.choice(variables), ','.join(self.some(['aa', 'bb', 'cc', 'ss'], 1, 3))))
        return 'hist:' + ':'.join(parts) + self.condition()

    def chain(self):
        """[(event, trigger)]: from `ha` to `hb` to the synthetic event `hs`, which has an aa, a dd and an ss."""
        r = self.r
        key = ','.join(self.some(['aa', 'cc', 'ss', 'common_pid'], 1, 2))
        start = 'hist:keys=%s:start=%s:name=%s' % (key, r.choice(['bb', 'bb+1', 'bb*2']), r.choice(['ss', 'ss', 'common_pid.execname']))
        start = start.replace(':name=', ':text=')
        end = 'hist:keys=%s:dd=%s:' % (key, r.choice(['bb-$start', '$start+cc', '$start']))
        end += r.choice(['onmatch(kprobes.ha).trace(hs,aa,$dd,$text)', 'onmatch(kprobes.ha).hs(aa,$dd,ss)', 'onmax($dd).trace(hs,aa,$dd,ss)'])
        return [('ha', start + self.condition()), ('hb', end + self.condition()),
                ('synthetic', 'hist:keys=%s:vals=dd' % r.choice(['aa', 'ss', 'aa,ss', 'dd.log2']))]
