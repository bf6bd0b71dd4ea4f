#!/usr/bin/env python3
"""Definitions, filters and triggers on a live guest kernel, and on a mount of kevtrace over it.

  replay.py --kernel 6.1|6.12|7.2 --kevtrace FILE [--definitions N] [--filters N] [--triggers N]

The texts are new in every run; the seed is printed, and KEVT_SEED repeats one. Every difference is printed with both
answers, but for those that docs/tree.md names ("What differs from the kernel's"): they are counted by their reason.
KEVT_CASE=ID shows one case of a seed. Status 77: the guest cannot be had here; 1: more differences than --tolerance
percent, or a case that either side did not answer.
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
    """Ids differ."""
    return re.sub(r'\nID: \d+\n', '\nID: N\n', text)


def with_blanks(text):
    """As kernels from 6.15 on separate the fields of a synthetic event."""
    head, _, tail = masked_format(text).partition('\nprint fmt: ')
    return head + '\n' + tail.replace(', ', ' ')


def masked_listing(lines):
    """Addresses are hashed, in places and in generated names."""
    return [re.sub(r'0x[0-9a-f]{16}(?=\s|$)', 'HASHED', line) if re.match(r'[pr]\d*:\S+ 0x', line) else line for line in lines]


def run_guest(kernel, kevtrace, cases, folder):
    """Of the kernel and of the mount."""
    (folder / 'cases').write_text(''.join(json.dumps(case) + '\n' for case in cases))
    done = subprocess.run([ROOT / 'scripts/guest', '--kernel', kernel, '--share', folder, '--', '/usr/bin/python3',
                           HERE / 'in_guest.py', pathlib.Path(kevtrace).resolve(), folder / 'cases', folder / 'answers', folder / 'ours'])
    if done.returncode == CANNOT:
        print('SKIPPED: no guest with kernel %s here' % kernel)
        sys.exit(SKIPPED)
    if done.returncode != 0:
        print('the guest ended with status %d' % done.returncode)
        sys.exit(1)
    # One number has two names.
    return [[json.loads(line.replace('"ENOTSUP"', '"EOPNOTSUPP"')) for line in (folder / name).read_text().splitlines()]
            for name in ('answers', 'ours')]


def differences(theirs, ours):
    """The names of what differs."""
    found = [key for key in ('setup', 'errno', 'log') if theirs[key] != ours[key]]
    if 'read' in theirs:
        return found + (['read'] if theirs['read'] != ours['read'] else [])
    found += [key for key in ('listing', 'gone') if masked_listing(theirs[key]) != masked_listing(ours[key])]
    for name, text in theirs['format'].items():
        if masked_format(text) != masked_format(ours['format'].get(name, '')):
            found.append('format')
            break
    return found


STACK = ' no stack'  # of probes, over a kernel
# What 6.1 has not and is run all the same: names of arguments, what lies behind them, types of files and folders.
TYPED = re.compile(r'%pd|%pD|->|[\s=(][A-Za-z_]\w*(:|\.|\s|\)|$)')


def is_refused_here(text, verdict):
    return verdict == 'EOPNOTSUPP' and re.match(r'(hist\b.*)?stacktrace', text) is not None


def reason_of(kernel, case, theirs, ours):
    """Why they may differ, in the words of the table; None: they may not."""
    if kernel == '7.2' and differences(theirs, ours) == ['format'] and ' synthetic/' in ' ' + ' '.join(ours['format']) and \
            all(with_blanks(text) == with_blanks(ours['format'].get(name, '')) for name, text in theirs['format'].items()):
        return 'format of a synthetic event is that of kernels up to 6.14'
    setups = [(text, our) for (_, text), their, our in zip(case['setup'], theirs['setup'], ours['setup']) if their != our]
    if setups and all(is_refused_here(text, our) for text, our in setups):
        return 'behind a trigger that is refused here'
    said = ours['log'][-1][:2] if ours['log'] else ['', '']
    refused = ours['errno'] == 'EOPNOTSUPP' and said[0] == 'kevtrace' and theirs['errno'] == ''
    if refused and STACK in said[1]:
        return 'stacktrace of such an event is refused here'
    if re.match(r'\s*[ft]', case['text']) and case['file'] == 'dynamic_events' and ours['errno'] != '' and \
            said[1] in ('Invalid probed address or symbol', 'Tracepoint is not found'):
        return 'a function or tracepoint that is not there is refused first'
    if kernel != '6.1' or theirs['errno'] == '' or case['cat'] not in ('definition', 'mutated', 'append'):
        return None
    if re.match(r'\s*[ft]', case['text']) and case['file'] == 'dynamic_events':
        return 'function and tracepoint probes are there on 6.1'
    if ours['errno'] == '' and TYPED.search(case['text']):
        return 'names of arguments are there on 6.1'
    return None


def show(case, theirs, ours, keys):
    print('DIFFERS case %d [%s] %s: %r' % (case['id'], case['cat'], case['file'], case['text']))
    if case['setup']:
        print('  after    %s' % case['setup'])
    for key in keys:
        print('  %-8s kernel %s\n           ours   %s' % (key, json.dumps(theirs.get(key)), json.dumps(ours.get(key))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--kernel', default='6.1')
    parser.add_argument('--kevtrace', required=True)
    parser.add_argument('--definitions', type=int, default=1200)
    parser.add_argument('--filters', type=int, default=300)
    parser.add_argument('--triggers', type=int, default=300)
    parser.add_argument('--tolerance', type=float, default=0.5)
    options = parser.parse_args()

    seed = os.environ.get('KEVT_SEED') or str(random.SystemRandom().randrange(1 << 32))
    print('KEVT_SEED=%s' % seed, flush=True)
    cases = make_cases(seed, options.kernel, options.definitions, options.filters, options.triggers)
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = run_guest(options.kernel, options.kevtrace, cases, pathlib.Path(folder))
    if not len(theirs) == len(ours) == len(cases):
        print('%d cases, %d answers of the guest, %d of ours' % (len(cases), len(theirs), len(ours)))
        sys.exit(1)

    tally = {}
    reasons = {}
    for case, their, our in zip(cases, theirs, ours):
        keys = differences(their, our)
        reason = reason_of(options.kernel, case, their, our) if keys else None
        if reason:
            reasons[reason] = reasons.get(reason, 0) + 1
            if os.environ.get('KEVT_CASE') == str(case['id']):
                show(case, their, our, sorted(their))
            continue
        all_, differ, taken = tally.get(case['cat'], (0, 0, 0))
        tally[case['cat']] = (all_ + 1, differ + bool(keys), taken + (their['errno'] == ''))
        if keys or os.environ.get('KEVT_CASE') == str(case['id']):
            show(case, their, our, keys or sorted(their))
    total = sum(all_ for all_, _, _ in tally.values())
    wrong = sum(differ for _, differ, _ in tally.values())
    for cat, (all_, differ, taken) in sorted(tally.items()):
        print('%-10s %5d cases, %5d taken by the kernel, %4d differ' % (cat, all_, taken, differ))
    for reason, count in sorted(reasons.items()):
        print('%5d not compared: %s' % (count, reason))
    percent = 100.0 * wrong / total
    print('kernel %s: %d of %d differ (%.2f %%; %.2f %% are tolerated), KEVT_SEED=%s' % (options.kernel, wrong, total, percent, options.tolerance, seed))
    sys.exit(1 if percent > options.tolerance else 0)


main()
