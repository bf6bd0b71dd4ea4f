"""Runs in the guest: checks, and what `kevtrace run --runtime bpf` prints. The first argument of the script is kevtrace."""
import re
import subprocess
import sys

KEVTRACE = sys.argv[1]
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
    print('%s %s' % ('ok    ' if holds else 'FAILED', what), flush=True)
    return holds


def run(definitions, filters, *words):
    """Status, output, errors."""
    written = [word for text in definitions for word in ('-e', text)] + [word for text in filters for word in ('--filter', text)]
    done = subprocess.run([KEVTRACE, 'run', '--runtime', 'bpf', '--buffer', '8192', *written, '--', *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')


def records(text, event):
    """The fields of each record of `event`, as written, with the task's id."""
    lines = re.findall(r'-(\d+) +\[\d+\].* %s: \(([^)]*)\) ?(.*)$' % event, text, re.MULTILINE)
    return [dict(re.findall(r'(\w+)=("[^"]*"|\S*)', rest), PID=pid, PLACE=place) for pid, place, rest in lines]
