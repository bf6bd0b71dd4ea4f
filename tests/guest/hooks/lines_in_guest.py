"""Runs in the guest: lines of the source and functions of files by bpf, and what is listed of them given to the kernel itself.

lines_in_guest.py KEVTRACE COLD MARKED; lines0 and lines2 are beside MARKED.
"""
import os
import subprocess
import sys
import time

from traced import check, failures, records, run

FOLDER = os.path.dirname(sys.argv[3])
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../process/programs/lines.c')
TRACEFS = '/sys/kernel/tracing'
PLACE = '/tmp/kevtrace-lines'
ROUNDS = 3


def line_of(word):
    with open(SOURCE) as file:
        return next(number for number, line in enumerate(file, 1) if line.rstrip().endswith('// ' + word))


def said(out, word):
    return [line.split()[1:] for line in out.splitlines() if line.startswith(word + ' ')]


def write(path, text):
    file = os.open(os.path.join(TRACEFS, path), os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, text.encode() + b'\n')
    finally:
        os.close(file)


def definitions(program, more):
    return ['p:area %s:lines.c:%d width height area counter %s' % (program, line_of('area'), more),
            'p:body %s:lines.c:%d i' % (program, line_of('body')), 'p:copy %s:lines.c:%d given' % (program, line_of('inlined') - 1)]


def expected(out):
    """What the program says, as [width, height, area, counter] and the values of `given`."""
    areas = [numbers + [str(7 + 2 * at)] for at, numbers in enumerate(said(out, 'area'))]
    given = [value for at, (one, _) in enumerate(said(out, 'twice'), 1) for value in (str(at), one)]
    return areas, given


def judge(what, out, trace):
    areas, given = expected(out)
    check(len(areas) == ROUNDS, '%s: the program has run' % what)
    check([[r[n] for n in ('width', 'height', 'area', 'counter')] for r in records(trace, 'area')] == areas, '%s: %s' % (what, records(trace, 'area')))
    check([r['given'] for r in records(trace, 'copy')] == given, '%s: both copies %s' % (what, records(trace, 'copy')))
    check([int(r['i']) for r in records(trace, 'body')] == [i for r in range(1, ROUNDS + 1) for i in range(r + 2)], '%s: the loop %s' % (what, records(trace, 'body')))


def test_run():
    for name, more in (('lines0', 's->label:string all_counters'), ('lines2', 'all_counters')):
        program = os.path.join(FOLDER, name)
        status, out, err = run(definitions(program, more), [], program, str(ROUNDS))
        check(status == 0, '%s: status %d %s' % (name, status, err))
        judge(name, out, out)
        check(all(r['all_counters'] == '{1,2,3,4}' for r in records(out, 'area')), '%s: an array of the file' % name)
        check(name == 'lines2' or all(r['label'] == '"first"' for r in records(out, 'area')), '%s: a text' % name)


def meant(program):
    """What a mount lists of the definitions: lines of the kernel's language."""
    mount = subprocess.Popen([sys.argv[1], 'mount', PLACE, '--runtime', 'bpf'])
    end = time.monotonic() + 60
    while not os.path.exists(PLACE + '/trace') and mount.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    with open(PLACE + '/uprobe_events', 'a') as file:
        for line in definitions(program, ''):
            file.write(line + '\n')
            file.flush()
    with open(PLACE + '/uprobe_events') as file:
        listed = file.read().splitlines()
    check(subprocess.run(['umount', PLACE]).returncode == 0 and mount.wait(timeout=60) == 0, 'unmounted')
    return listed


def test_functions_of_files():
    """PATH:FUNCTION, with parameters as they are passed, without optimization too; what bpf cannot read is refused."""
    for name in ('lines0', 'lines2'):
        program = os.path.join(FOLDER, name)
        status, out, err = run(['p:entry %s:area_of x=s->at.x scale s->label:string second=$arg2:s32' % program, 'r:back %s:area_of got=$retval:s32' % program,
                                'p:sum %s:sum_to $arg*' % program, 'p:g_* %s:*_[ot]?' % program, 'p:kinds %s:area_of kind=s->kind:enum' % program], [], program, str(ROUNDS))
        check(status == 0, '%s, by function: status %d %s' % (name, status, err))
        areas = said(out, 'area')
        check([[int(r['x']) * int(r['scale']), r['label'], r['second']] for r in records(out, 'entry')] == [[int(one[0]), '"first"', '3'] for one in areas],
              '%s, by function: %s' % (name, records(out, 'entry')))
        check([r['got'] for r in records(out, 'back')] == [one[2] for one in areas], '%s: returned %s' % (name, records(out, 'back')))
        check({r['kind'] for r in records(out, 'kinds')} == {'kRound'}, '%s: an enumeration %s' % (name, records(out, 'kinds')))
        for event in ('g_area_of', 'g_sum_to'):
            check('%s: hits %d = recorded %d ' % (event, ROUNDS, ROUNDS) in err, '%s: %s by a glob: %s' % (name, event, err))
        check([int(r['n']) for r in records(out, 'sum')] == [r + 2 for r in range(1, ROUNDS + 1)], '%s: all parameters %s' % (name, records(out, 'sum')))


def test_the_kernel_takes_what_is_meant():
    """The kernel's own uprobes give the same records."""
    for name in ('lines0', 'lines2'):
        program = os.path.join(FOLDER, name)
        listed = meant(program)
        check(len(listed) == 4, '%s: two places for the copies, one for the others: %s' % (name, listed))
        for line in listed:
            write('uprobe_events', line)
        write('events/uprobes/enable', '1')
        out = subprocess.run([program, str(ROUNDS)], stdout=subprocess.PIPE, universal_newlines=True).stdout
        write('events/uprobes/enable', '0')
        with open(TRACEFS + '/trace') as file:
            judge('the kernel, ' + name, out, file.read())
        for path in ('uprobe_events', 'trace'):
            with open(os.path.join(TRACEFS, path), 'w'):
                pass


test_run()
test_functions_of_files()
test_the_kernel_takes_what_is_meant()
sys.exit(bool(failures))
