"""Runs in the guest: uprobes of the bpf runtime read what is not resident, as the kernel's own do.

resident_in_guest.py KEVTRACE COLD: the same program is traced by the kernel's own uprobe events, then by kevtrace, each time from
cold: values, strings, filters and returns are the same lines. Threads that wait for their pages at the same time are none
of them missed.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from traced import KEVTRACE, check, failures

COLD = sys.argv[2]
TRACEFS = '/sys/kernel/tracing'


def symbols(path):
    """{name: (address, offset in the file)}"""
    words = subprocess.run(['readelf', '-SW', path], stdout=subprocess.PIPE, check=True).stdout.decode()
    sections = [[int(word, 16) for word in found] for found in re.findall(r'^ *\[[ \d]+\] \S+ +PROGBITS +(\w+) (\w+) (\w+)', words, re.MULTILINE)]
    table = subprocess.run(['nm', path], stdout=subprocess.PIPE, check=True).stdout.decode()
    at = {name: int(address, 16) for address, name in re.findall(r'^(\w+) \w (\w+)$', table, re.MULTILINE)}
    return {name: (address, address - start + offset) for name, address in at.items()
            for start, offset, size in sections if start <= address < start + size}


class Probes:
    """Definitions at the program, and filters of some of them."""

    def __init__(self, program):
        at = symbols(program)
        place = '%s:0x%x' % (program, at['called'][1])
        lines = {
            'text': 'p:%s {} s=+0(%%di):string u=+0(%%di):ustring n=%%cx:s64',
            'number': 'p:%s {} a=+0(%%si):s32 b=+4(%%si):u8 c=+0(%%si):s32[5] n=%%cx:s64',
            'pointer': 'p:%s {} s=+0(+0(%%dx)):string x=+0(+0(%%dx)):x64 n=%%cx:s64',
            'list': 'p:%s {} t=+0(%%dx):string[1] n=%%cx:s64',
            'far': 'p:%s {} v=@+0x{:x}:s32 w=@+0x{:x}:string n=%%cx:s64',
            'chosen': 'p:%s {} s=+0(%%di):string n=%%cx:s64',
            'equal': 'p:%s {} v=@+0x{:x}:s32 n=%%cx:s64',
            'returned': 'r:%s {} s=+0($retval):string x=+0($retval):x32',
        }
        number, constant = at['cold_number'][1], at['cold_constant'][1]
        self.definitions = {}
        for name, text in lines.items():
            words = (place, number, constant) if name in ('far', 'equal') else (place,)
            self.definitions[name] = (text % ('cold/' + name)).format(*words)
        self.filters = {'chosen': 's == "in two pages"', 'equal': 'v == -123456 && n < 3', 'text': 's ~ "*page*" || n > 3'}


def events(text):
    """{event: its fields, in order}, without numbers that cannot be read: the kernel leaves there what was there before."""
    found = {}
    for name, fields in re.findall(r'\[\d+\].*? (\w+): \([^)]*\) ?(.*)$', text, re.MULTILINE):
        if '(fault)' in fields:
            fields = re.sub(r' x=\S+', '', fields)
        found.setdefault(name, []).append(fields if name != 'number' or not fields.endswith('n=8') else 'n=8')
    return found


def write(name, text, mode='a'):
    fd = os.open(os.path.join(TRACEFS, name), os.O_WRONLY | (os.O_TRUNC if mode == 'w' else os.O_APPEND))
    try:
        os.write(fd, text.encode())
    except OSError as error:
        with open(TRACEFS + '/error_log') as stream:
            sys.exit("the kernel's own %s: %s %s" % (text, error, stream.read()[-400:]))
    finally:
        os.close(fd)


def by_kernel(program, probes, name):
    """One event at a time: another one would have made its pages resident."""
    write('trace', '', 'w')
    write('uprobe_events', probes.definitions[name] + '\n')
    if name in probes.filters:
        write('events/cold/%s/filter' % name, probes.filters[name])
    write('events/cold/%s/enable' % name, '1')
    subprocess.run(program, check=True)
    write('events/cold/%s/enable' % name, '0')
    with open(TRACEFS + '/trace', errors='replace') as stream:
        text = stream.read()
    write('uprobe_events', '-:cold/%s\n' % name)
    return events(text)


def by_kevtrace(program, probes, names):
    words = [word for name in names for word in ('-e', probes.definitions[name])]
    words += [word for name in names if name in probes.filters for word in ('--filter', 'cold/%s:%s' % (name, probes.filters[name]))]
    done = subprocess.run([KEVTRACE, 'run', '--runtime', 'bpf', *words, '--', *program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = done.stderr.decode(errors='replace')
    check(done.returncode == 0, 'traced: %s' % ' '.join(names) + (' ' + said if done.returncode else ''))
    return events(done.stdout.decode(errors='replace')), said


def test_beside_the_kernel(program, probes):
    wanted = {name: by_kernel(program, probes, name).get(name, []) for name in probes.definitions}
    for name in probes.definitions:
        mine, said = by_kevtrace(program, probes, [name])
        same = mine.get(name, []) == wanted[name]
        check(same and wanted[name], 'cold: %s: %d records' % (name, len(wanted[name])))
        if not same:
            print('   kernel %s\n   ours   %s\n%s' % ('\n          '.join(wanted[name]), '\n          '.join(mine.get(name, [])), said))
        check(' missed ' not in said or re.search(r'missed (0|\?)$', said, re.MULTILINE), 'none missed: ' + name)
    together, _ = by_kevtrace(program, probes, list(probes.definitions))
    check(all(together.get(name, []) == wanted[name] for name in probes.definitions), 'all of them together')
    resident = [line for line in wanted['text'] if '(fault)' not in line]
    check(len(resident) >= 3 and any('(fault)' in line for line in wanted['text']), 'some can be read and some cannot')


def test_constant_strings(program, probes):
    """The one named difference: the kernel looks for its own text in the program's memory."""
    probes.definitions['literal'] = probes.definitions['chosen'].replace('cold/chosen', 'cold/literal').replace('s=+0(%di):string', 'b=\\"lit"')
    theirs = by_kernel(program, probes, 'literal').get('literal', [])
    mine, _ = by_kevtrace(program, probes, ['literal'])
    check(theirs == ['b=(fault) n=%d' % n for n in range(9)] and mine.get('literal') == ['b="lit" n=%d' % n for n in range(9)], 'constant strings')


def test_who_waits_keeps_nobody(program, probes):
    """As many hits as threads and rounds, each with its text; kernels from 6.7 on tell of their own misses, too."""
    threads, rounds = 12, 40
    mine, said = by_kevtrace([*program, str(threads), str(rounds)], probes, ['pointer'])
    texts = mine.get('pointer', [])
    check(len(texts) == threads * rounds and all('s="behind a pointer"' in line for line in texts), '%d threads at once: %d records' % (threads, len(texts)))
    account = re.search(r'pointer: hits (\d+) = recorded (\d+) \+ filtered 0 \+ lost 0 \+ missed (\d+|\?)', said)
    check(account and account.group(1) == account.group(2) == str(threads * rounds) and account.group(3) in ('0', '?'), 'none missed: %s' % (account and account.group(0)))


def main():
    folder = tempfile.mkdtemp()
    program = shutil.copy(COLD, '/run/kevt_cold')
    command = [program, os.path.join(folder, 'pages')]
    probes = Probes(program)
    test_beside_the_kernel(command, probes)
    test_constant_strings(command, probes)
    test_who_waits_keeps_nobody(command, probes)
    bad = [line for line in subprocess.run(['dmesg'], stdout=subprocess.PIPE).stdout.decode(errors='replace').splitlines()
           if re.search(r'WARNING|BUG|Oops|general protection|sleeping function', line)]
    check(not bad, "no warning in the kernel's log %s" % bad[:5])
    sys.exit(1 if failures else 0)


main()
