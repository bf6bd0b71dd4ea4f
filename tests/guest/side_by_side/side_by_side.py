#!/usr/bin/env python3
"""The same definitions through the kernel's own kprobe_events and through kevtrace, on the same hits of a live guest.

  side_by_side.py --kernel 6.1|6.12|7.2 --kevtrace FILE --workload FILE [--runtime bpf|kmod] [--definitions N]

Compared for each definition: `format` byte for byte but for the id, the number of records, and every record's line from
the event's name on. Definitions are new in every run; the seed is printed, KEVT_SEED repeats one. Left out: values of
events whose numbers could not be read (the kernel leaves old bytes there, we store 0), and return addresses that the
kernel itself shows as its trampoline. With kmod the guest's kevtrace.ko is built first, loaded, and unloaded at the end.
Status 77: no guest here, or no headers of its kernel; 1: something differs.
"""
import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE))
from definitions import Definitions  # noqa: E402

CANNOT = 4  # of scripts/guest
SKIPPED = 77
BATCH = 50
TRAMPOLINE = re.compile(r"\((?:arch_rethook_trampoline\S*|__kretprobe_trampoline\S*|\[unknown/kretprobe'd\]) <- ")


def module_of(kernel):
    """kevtrace.ko for the guest's kernel."""
    done = subprocess.run([ROOT / 'scripts/module', '--kernel', kernel], stdout=subprocess.PIPE)
    if done.returncode == CANNOT:
        print('SKIPPED: no headers of kernel %s here' % kernel)
        sys.exit(SKIPPED)
    if done.returncode != 0:
        sys.exit(1)
    return done.stdout.decode().strip()


def run_guest(options, batches, folder):
    module = [module_of(options.kernel)] if options.runtime == 'kmod' else []
    (folder / 'cases').write_text(''.join(json.dumps(batch) + '\n' for batch in batches))
    done = subprocess.run([ROOT / 'scripts/guest', '--kernel', options.kernel, '--limit', '1500', '--share', folder, '--', '/usr/bin/python3',
                           HERE / 'in_guest.py', folder / 'cases', folder / 'answers', os.path.abspath(options.kevtrace),
                           os.path.abspath(options.workload), options.runtime] + module)
    if done.returncode == CANNOT:
        print('SKIPPED: no guest with kernel %s here' % options.kernel)
        sys.exit(SKIPPED)
    if done.returncode != 0:
        print('the guest ended with status %d' % done.returncode)
        sys.exit(1)
    return [json.loads(line) for line in (folder / 'answers').read_text().splitlines()]


def our_formats(kevtrace, cases):
    """{event: format}. explain prints them one after the other, each under a line `#### GROUP/EVENT`, indented."""
    words = [kevtrace, 'explain', '--only', 'format']
    for case in cases:
        words += ['-e', re.sub(r'@linux_proc_banner(\+\d+)?', '@0x1000', case['definition'])]  # symbols are not looked up there
    text = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()
    bodies = ['\n'.join(line[2:] for line in part.split('\n')[2:]) for part in text.split('#### ')[1:]]
    return {body.split('\n', 1)[0].removeprefix('name: '): body for body in bodies}


def masked(text):
    return re.sub(r'\nID: \d+\n', '\nID: N\n', text).strip('\n')


def without_return(line):
    return re.sub(r'^\(.*? <- ', '(', line)


def faulted(answer):
    return set(re.findall(r'^(\w+): \d+ numbers? could not be read', answer['words'], re.MULTILINE))


def lines_differ(theirs, ours, is_faulted):
    if len(theirs) != len(ours):
        return 'the kernel recorded %d, we %d' % (len(theirs), len(ours))
    for their, our in zip(theirs, ours):
        if TRAMPOLINE.match(their):
            their, our = without_return(their), without_return(our)
        if their != our and not is_faulted:
            return 'kernel %s\n           ours   %s' % (their, our)
    return None


def compare(batch, answer, formats, tally):
    if answer['status'] != 0:
        print('kevtrace ended with status %d: %s' % (answer['status'], answer['words']))
        tally['differ'] += len(batch)
        return
    with_faults = faulted(answer)
    for case in batch:
        name = case['name']
        if name in answer['refused']:
            tally['refused'] += 1
            print('REFUSED by the kernel: %s (%s)' % (case['definition'], answer['refused'][name]))
            continue
        theirs, ours = answer['kernel'].get(name, []), answer['ours'].get(name, [])
        what = lines_differ(theirs, ours, name in with_faults)
        if not what and masked(answer['format'][name]) != masked(formats.get(name, '')):
            what = 'format\n%s\n%s' % (answer['format'][name], formats.get(name))
        tally['compared'] += 1
        tally['records'] += len(theirs)
        tally['faulted'] += name in with_faults
        if what:
            tally['differ'] += 1
            print('DIFFERS %s%s\n           %s' % (case['definition'], '  if ' + case['filter'] if case['filter'] else '', what))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--kernel', default='6.1')
    parser.add_argument('--kevtrace', required=True)
    parser.add_argument('--workload', required=True)
    parser.add_argument('--runtime', default='bpf', choices=['bpf', 'kmod'])
    parser.add_argument('--definitions', type=int, default=500)
    options = parser.parse_args()

    seed = os.environ.get('KEVT_SEED') or str(random.SystemRandom().randrange(1 << 32))
    print('KEVT_SEED=%s' % seed, flush=True)
    texts = Definitions(random.Random(seed), options.kernel)
    batches = [[texts.case() for _ in range(BATCH)] for _ in range((options.definitions + BATCH - 1) // BATCH)]
    with tempfile.TemporaryDirectory() as folder:
        answers = run_guest(options, batches, pathlib.Path(folder))
    tally = {'compared': 0, 'records': 0, 'faulted': 0, 'refused': 0, 'differ': 0}
    for batch, answer in zip(batches, answers):
        compare(batch, answer, our_formats(options.kevtrace, batch), tally)
    print('kernel %s, runtime %s: %s, KEVT_SEED=%s' % (options.kernel, options.runtime, ', '.join('%d %s' % (n, what) for what, n in tally.items()), seed))
    enough = len(answers) == len(batches) and tally['compared'] >= options.definitions * 9 // 10 and tally['records'] > tally['compared']
    sys.exit(0 if enough and tally['differ'] == 0 else 1)


main()
