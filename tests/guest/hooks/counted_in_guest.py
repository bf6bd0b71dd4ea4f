"""Runs in the guest: texts and lists of a given length by bpf, of kernel functions and of programs.

counted_in_guest.py KEVTRACE COLD MARKED
"""
import re
import sys

from traced import check, failures, records, run

TEXT = 'GET /index.html HTTP/1.1 and much more'
LENGTHS = [0, 1, 3, 4, 15, 16, 17, 30]
PROGRAM = """
import os
fd = os.open('/dev/null', os.O_WRONLY)
for length in %r: os.write(fd, %r.encode()[:length] + b'')
""" % (LENGTHS, TEXT)
COMMAND = ('/usr/bin/python3', '-S', '-c', PROGRAM)


def test_functions_of_the_kernel():
    definitions = ['p:w ksys_write fd=$arg1:u32 s=+0($arg2):string($arg3) u=+u0($arg2):ustring($arg3:u32) n=$arg3:u64 two=+0($arg2):string(\\2) l=+0($arg2):u8[$arg3] h=+0($arg2):hex[$arg3:u32]']
    status, out, err = run(definitions, ['w: s ~ "GET*" || s == "" || s == "G"'], *COMMAND)
    check(status == 0, 'status %d %s' % (status, err))
    seen = [(r['s'], r['u'], r['two']) for r in records(out, 'w')]
    wanted = ['"%s"' % TEXT[:n] for n in LENGTHS]
    ours = [one for one in seen if one[0] in wanted][-len(LENGTHS):]  # somebody else may have written nothing
    check([one[0] for one in ours] == wanted, 'texts: %s' % seen)
    check(all(one[0] == one[1] for one in ours), 'of user memory: %s' % ours)
    check([one[2] for one in ours][3:] == ['"GE"'] * 5, 'two bytes: %s' % ours)
    lists = [(r['l'], r['h']) for r in records(out, 'w') if r['s'] in wanted][-len(LENGTHS):]
    check(lists == [('{%s}' % ','.join(str(byte) for byte in TEXT[:n].encode()), TEXT[:n].encode().hex()) for n in LENGTHS], 'lists: %s' % lists)


def test_nothing_at_no_address():
    program = 'import ctypes, os\nctypes.CDLL(None).syscall(1, os.open("/dev/null", 1), 0, 0)\nctypes.CDLL(None).syscall(1, os.open("/dev/null", 1), 0, 5)\n'
    status, out, err = run(['p:w ksys_write s=+0($arg2):string($arg3) p=$arg2:x64'], ['w: p == 0'], '/usr/bin/python3', '-S', '-c', program)
    check(status == 0, 'status %d %s' % (status, err))
    check([r['s'] for r in records(out, 'w')] == ['""', '(fault)'], 'at 0: %s' % out)


def test_markers_of_programs():
    marked = sys.argv[3]
    for filters, wanted in (([], ['"a"', '"a "', '"a t"']), (['m: t ~ "a *"'], ['"a "', '"a t"'])):
        status, out, err = run(['p:m %s:marked:registers t=$arg3:string($arg1) u=+0($arg3):ustring(\\3) l=+0($arg3):u8[$arg1] h=+0($arg3):hex[\\3]' % marked], filters, marked, '3')
        check(status == 0, 'status %d %s' % (status, err))
        check([(r['t'], r['u']) for r in records(out, 'm')] == [(t, '"a t"') for t in wanted], 'of programs: %s' % records(out, 'm'))
        lists = [(r['l'], r['h']) for r in records(out, 'm')]
        check(lists == [('{%s}' % ','.join(str(byte) for byte in t.strip('"').encode()), b'a t'.hex()) for t in wanted], 'lists of programs: %s' % lists)


def test_a_text_at_the_end_of_a_page():
    """Nothing is mapped behind it; and one whose NUL comes before what is not mapped."""
    program = (
        'import ctypes, os\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\n'
        'libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]\n'
        'at = libc.mmap(None, 8192, 3, 0x22, -1, 0)\nlibc.mprotect(ctypes.c_void_p(at + 4096), ctypes.c_size_t(4096), 0)\n'
        'ctypes.memmove(at + 4096 - 9, b"at an end", 9)\nctypes.memmove(at + 4096 - 16, b"nul\\0", 4)\nfd = os.open("/dev/null", os.O_WRONLY)\n'
        'for begin, size in ((9, 9), (9, 8), (9, 10), (16, 40), (1, 1)): libc.syscall(1, fd, ctypes.c_void_p(at + 4096 - begin), ctypes.c_size_t(size))\n')
    wanted = ['"at an end"', '"at an en"', '(fault)', '"nul"', '"d"']
    in_hex = [b'at an end'.hex(), b'at an en'.hex(), '', '', b'd'.hex()]  # a list has no NUL: the fourth is too long
    for definition in ('p:w ksys_write s=+0($arg2):string($arg3) h=+0($arg2):hex[$arg3]', 'p:w ksys_write s=+u0($arg2):ustring($arg3) h=+0($arg2):hex[$arg3]'):
        for filters in ([], ['w: s != "another"']):  # kept in the scratch, and read where it is recorded
            status, out, err = run([definition], filters, '/usr/bin/python3', '-S', '-c', program)
            check(status == 0, 'status %d %s' % (status, err))
            seen = [(r['s'], r['h']) for r in records(out, 'w')]
            check(any(seen[i:i + 5] == [*zip(wanted, in_hex)] for i in range(len(seen))), 'at an end of a page, %s: %s' % (definition, seen))
            check(re.search(r'^w: \d+ numbers or lists could not be read', err, re.MULTILINE), 'unreadable lists are counted: %s' % err)


test_functions_of_the_kernel()
test_a_text_at_the_end_of_a_page()
test_markers_of_programs()
test_nothing_at_no_address()
if failures:
    sys.exit('%d checks failed' % len(failures))
