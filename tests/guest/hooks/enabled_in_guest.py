"""Runs in the guest: the kernel's own events in `kevtrace run` (--enable, scripts), with filters and triggers, beside a probe.

enabled_in_guest.py KEVTRACE: what is recorded is what the workload (execs.py) knows.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

from traced import KEVTRACE, check, failures

HERE = os.path.dirname(os.path.abspath(__file__))
EXEC = 'sched:sched_process_exec'
PROBE = 'p:seek ksys_lseek offset=$arg2:u64'


def run(folder, *words):
    """What the workload knows, the trace, standard error."""
    trace = os.path.join(folder, 'trace')
    done = subprocess.run([KEVTRACE, 'run', '--runtime', 'bpf', '--buffer', '8192', '-o', trace, *words, '--', 'python3', '-B', HERE + '/execs.py',
                           os.path.join(folder, 'work')], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = done.stderr.decode(errors='replace')
    check(done.returncode == 0, 'the workload is traced (status %d)%s' % (done.returncode, said if done.returncode else ''))
    with open(trace, errors='replace') as stream:
        return json.loads(done.stdout.splitlines()[-1]), stream.read(), said


def adds_up(said, event):
    found = re.search(r'^%s: hits (\d+) = recorded (\d+) \+ filtered (\d+) \+ lost (\d+)' % event, said, re.MULTILINE)
    numbers = [int(number) for number in found.groups()] if found else []
    check(len(numbers) == 4 and numbers[0] == sum(numbers[1:]) and numbers[3] == 0, 'account of %s: %s' % (event, numbers))
    return numbers


def files(trace):
    return re.findall(r'sched_process_exec: filename=(\S+) ', trace)


def test_with_a_filter():
    with tempfile.TemporaryDirectory() as folder:
        known, trace, said = run(folder, '--enable', EXEC, '--filter', EXEC + ': filename ~ "*-x"', '-e', PROBE)
        wanted = [path for _, path in known['execs'] if path.endswith('-x')]
        check(files(trace) == wanted, 'a static event with its filter: %d of %d' % (len(files(trace)), len(wanted)))
        check(len(re.findall(r' seek: \(ksys_lseek.*offset=(?:4242|17)$', trace, re.MULTILINE)) == 50, 'a probe beside it')
        numbers = adds_up(said, 'sched_process_exec')
        check(numbers and numbers[1] == len(wanted) and numbers[2] >= len(known['execs']) - len(wanted), 'what the filter rejects is filtered')
        adds_up(said, 'seek')


def test_with_triggers():
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, 's.kev')
        with open(script, 'w') as stream:
            stream.write('target kernel\nevent sched/sched_process_exec\n  trigger traceoff:1 if filename ~ "*known-7-*"\n%s\n' % PROBE)
        known, trace, said = run(folder, '-p', script)
        ours = [name for name in files(trace) if 'known-' in name]
        check(ours == [path for _, path in known['execs'][:8]], 'traceoff at the eighth exec: %s' % ours[-1:])
        check(not re.search(r' seek: .*offset=(?:4242|17)$', trace, re.MULTILINE), 'and nothing behind it')
        adds_up(said, 'sched_process_exec')
        adds_up(said, 'seek')


def test_into_a_recording():
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, 'trace')
        known, _, _ = run(folder, '-f', 'dat', '--enable', EXEC, '-e', PROBE)
        report = subprocess.run([KEVTRACE, 'report', recording], stdout=subprocess.PIPE).stdout.decode(errors='replace')
        check([name for name in files(report) if 'known-' in name] == [path for _, path in known['execs']], 'in trace.dat: %d' % len(files(report)))


def test_refusals():
    for words, status, text in ((['--enable', 'sched:no_such_event'], 3, 'there is no event `sched:no_such_event`'),
                                (['--enable', 'sched_switch'], 2, 'write GROUP:EVENT'),
                                (['--enable', 'sched:../sched_switch'], 3, 'there is no event'),
                                (['--enable', EXEC, '--trigger', EXEC + ':hist:keys=nobody'], 3, "Couldn't find field"),
                                (['--enable', EXEC, '--filter', EXEC + ': nobody == 1'], 3, 'Field not found')):
        done = subprocess.run([KEVTRACE, 'run', '--runtime', 'bpf', *words, '--', 'true'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said = done.stderr.decode(errors='replace')
        check(done.returncode == status and text in said, 'refused: %s: %d %s' % (words, done.returncode, said.strip()[-200:]))


def main():
    test_with_a_filter()
    test_with_triggers()
    test_into_a_recording()
    test_refusals()
    sys.exit(1 if failures else 0)


main()
