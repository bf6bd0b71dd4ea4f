#!/usr/bin/env python3
"""Definitions, filters and triggers on a live guest kernel, compared with what the compiler says for that kernel.

  replay.py --kernel 6.1|6.12|7.2 --answers kevt_replay_answers [--definitions N] [--filters N] [--triggers N]

The texts are new in every run; the seed is printed, and KEVT_SEED repeats one. Every difference is printed with both
answers. KEVT_CASE=ID shows one case of a seed. Status 77: the guest cannot be had here; 1: more differences than
--tolerance percent, or a case that either side did not answer.
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
from cases import make_cases  # noqa: E402

CANNOT = 4  # of scripts/guest
SKIPPED = 77


def masked_format(text):
    """Ids differ; and kernels from 6.15 on separate the fields of a synthetic event by a blank alone."""
    head, _, tail = re.sub(r'\nID: \d+\n', '\nID: N\n', text).partition('\nprint fmt: ')
    return head + '\n' + (tail if '__probe_' in head else tail.replace(', ', ' '))


def masked_listing(lines):
    """Addresses are hashed, in places and in generated names."""
    return [re.sub(r'0x[0-9a-f]{16}(?=\s|$)', 'HASHED', line) if re.match(r'[pr]\d*:\S+ 0x', line) else line for line in lines]


def run_guest(kernel, cases, folder):
    (folder / 'cases').write_text(''.join(json.dumps(case) + '\n' for case in cases))
    done = subprocess.run([ROOT / 'scripts/guest', '--kernel', kernel, '--share', folder, '--', '/usr/bin/python3',
                           HERE / 'in_guest.py', folder / 'cases', folder / 'answers', folder / 'btf'])
    if done.returncode == CANNOT:
        print('SKIPPED: no guest with kernel %s here' % kernel)
        sys.exit(SKIPPED)
    if done.returncode != 0:
        print('the guest ended with status %d' % done.returncode)
        sys.exit(1)
    # One number has two names.
    return [json.loads(line.replace('"ENOTSUP"', '"EOPNOTSUPP"')) for line in (folder / 'answers').read_text().splitlines()]


def our_answers(program, kernel, btf, cases):
    text = ''.join(json.dumps(case) + '\n' for case in cases)
    done = subprocess.run([program, kernel, btf], input=text.encode(), stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def differences(theirs, ours):
    """The names of what differs."""
    found = [key for key in ('setup', 'errno', 'log') if theirs[key] != ours[key]]
    if 'read' in theirs:
        return found + (['read'] if theirs['read'] != ours['read'] else [])
    found += [key for key in ('listing', 'gone') if masked_listing(theirs[key]) != masked_listing(ours[key])]
    for name, text in theirs['format'].items():
        # A name that is too long for a folder has no format file.
        if not text.startswith('open:') and masked_format(text) != masked_format(ours['format'].get(name, '')):
            found.append('format')
            break
    return found


def show(case, theirs, ours, keys):
    print('DIFFERS case %d [%s] %s: %r' % (case['id'], case['cat'], case['file'], case['text']))
    if case['setup']:
        print('  after    %s' % case['setup'])
    for key in keys:
        print('  %-8s kernel %s\n           ours   %s' % (key, json.dumps(theirs.get(key)), json.dumps(ours.get(key))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--kernel', default='6.1')
    parser.add_argument('--answers', required=True)
    parser.add_argument('--definitions', type=int, default=1200)
    parser.add_argument('--filters', type=int, default=300)
    parser.add_argument('--triggers', type=int, default=300)
    parser.add_argument('--tolerance', type=float, default=0.5)
    options = parser.parse_args()

    seed = os.environ.get('KEVT_SEED') or str(random.SystemRandom().randrange(1 << 32))
    print('KEVT_SEED=%s' % seed, flush=True)
    cases = make_cases(seed, options.kernel, options.definitions, options.filters, options.triggers)
    with tempfile.TemporaryDirectory() as folder:
        theirs = run_guest(options.kernel, cases, pathlib.Path(folder))
        ours = our_answers(options.answers, options.kernel, pathlib.Path(folder) / 'btf', cases)
    if not len(theirs) == len(ours) == len(cases):
        print('%d cases, %d answers of the guest, %d of ours' % (len(cases), len(theirs), len(ours)))
        sys.exit(1)

    tally = {}
    for case, their, our in zip(cases, theirs, ours):
        keys = differences(their, our)
        all_, differ, taken = tally.get(case['cat'], (0, 0, 0))
        tally[case['cat']] = (all_ + 1, differ + bool(keys), taken + (their['errno'] == ''))
        if keys or os.environ.get('KEVT_CASE') == str(case['id']):
            show(case, their, our, keys or sorted(their))
    total = sum(all_ for all_, _, _ in tally.values())
    wrong = sum(differ for _, differ, _ in tally.values())
    for cat, (all_, differ, taken) in sorted(tally.items()):
        print('%-10s %5d cases, %5d taken by the kernel, %4d differ' % (cat, all_, taken, differ))
    percent = 100.0 * wrong / total
    print('kernel %s: %d of %d differ (%.2f %%; %.2f %% are tolerated), KEVT_SEED=%s' % (options.kernel, wrong, total, percent, options.tolerance, seed))
    sys.exit(1 if percent > options.tolerance else 0)


main()
