"""Runs in the guest: floating point by bpf, which has no floating point registers: what lies in registers and memory, filters, a refusal.

floats_in_guest.py KEVTRACE COLD MARKED
"""
import math
import struct
import sys

from traced import check, failures, records, run

NUMBERS = [1.5, 2.5, 0.1, 1e10, 3.75, 1e-310, math.inf]
# Offsets whose bits are these numbers, and what lies behind a pointer to them.
PROGRAM = """
import os, struct
fd = os.open('/bin/true', os.O_RDONLY)
for number in (%s): os.lseek(fd, struct.unpack('q', struct.pack('d', float(number)))[0], os.SEEK_SET)
""" % ', '.join("'%r'" % number for number in NUMBERS)
COMMAND = ('/usr/bin/python3', '-S', '-c', PROGRAM)


def ours(out):
    """The program's numbers, each as it was printed and as its bits say."""
    pairs = [(float(r['w']), struct.unpack('d', struct.pack('Q', int(r['bits'])))[0]) for r in records(out, 'x')]
    return [pair for pair in pairs if pair[1] in NUMBERS]


def test_numbers():
    status, out, err = run(['p:x ksys_lseek bits=$arg2:u64 w=%si:f64'], [], *COMMAND)
    check(status == 0, 'status %d %s' % (status, err))
    check(ours(out) == [(n, n) for n in NUMBERS], 'numbers: %s' % ours(out))


def test_filters():
    for text, holds in (('w > 2.0 && w < 1e9', lambda n: 2.0 < n < 1e9), ('w == inf || w <= 1e-310', lambda n: n == math.inf or n <= 1e-310)):
        status, out, err = run(['p:x ksys_lseek bits=$arg2:u64 w=%si:f64'], ['x: ' + text], *COMMAND)
        check(status == 0, 'status %d %s' % (status, err))
        check([pair[0] for pair in ours(out)] == [n for n in NUMBERS if holds(n)], '%s: %s' % (text, ours(out)))


def test_vector_registers():
    status, _, err = run(['p:x ksys_lseek w=%xmm0'], [], *COMMAND)
    check(status != 0 and 'the kernel hands over general-purpose registers alone' in err, 'vector registers: %d %s' % (status, err))


test_numbers()
test_filters()
test_vector_registers()
if failures:
    sys.exit('%d checks failed' % len(failures))
