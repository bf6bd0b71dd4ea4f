"""Runs in the guest: each batch of definitions through the kernel's own kprobe_events and through kevtrace, at the same
time, while the workload runs. Prints for each batch what both recorded of the workload.

in_guest.py CASES ANSWERS KEVTRACE WORKLOAD [RUNTIME]
"""
import json
import os
import re
import subprocess
import sys

TRACING = '/sys/kernel/tracing/'
LINE = re.compile(r'^ *(.+)-(\d+) +\[\d+\] \S+ +[\d.]+: (\w+): (.*)$', re.DOTALL)
ROUNDS = '6'


def write(file, text, flags=os.O_TRUNC):
    fd = os.open(TRACING + file, os.O_WRONLY | flags)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def read(file):
    with open(TRACING + file, errors='surrogateescape') as stream:
        return stream.read()


def lines_of(text):
    """(pid, comm, event, what stands behind its name) of each line."""
    matches = (LINE.match(line) for line in text.splitlines())
    return [(match[2], match[1], match[3], match[4]) for match in matches if match]


def of_workload(kernel, ours):
    """{event: [what stands behind its name]} of both, for the threads that were the workload when one of ours hit: the
    kernel's names of threads are later ones."""
    pids = {pid for pid, comm, _, _ in ours if comm.startswith('side_work')}
    out = []
    for lines in (kernel, ours):
        events = {}
        for pid, _, event, rest in lines:
            if pid in pids:
                events.setdefault(event, []).append((pid, rest))
        # Thread by thread: two threads' hits at nearly the same time may stand in either order.
        out.append({event: [rest for _, rest in sorted(hits, key=lambda hit: hit[0])] for event, hits in events.items()})
    return out


def define(case):
    write('kprobe_events', case['definition'] + '\n', os.O_APPEND)
    if case['filter']:
        write('events/side/%s/filter' % case['name'], case['filter'])


def profile():
    return {line.split()[0]: line.split()[1:] for line in read('kprobe_profile').splitlines()}


def refused_by_kernel(cases):
    refused = {}
    for case in cases:
        try:
            define(case)
        except OSError as error:
            refused[case['name']] = str(error)
            try:
                write('kprobe_events', '-:side/%s\n' % case['name'], os.O_APPEND)
            except OSError:
                pass
    return refused


def run_batch(cases, kevtrace, workload, runtime):
    answer = {'refused': refused_by_kernel(cases)}
    cases = [case for case in cases if case['name'] not in answer['refused']]
    answer['format'] = {case['name']: read('events/side/%s/format' % case['name']) for case in cases}
    write('trace', '')
    write('events/side/enable', '1')
    with open('/tmp/ours', 'w'):
        pass  # kevtrace makes it only when all is right
    with open('/tmp/definitions', 'w') as stream:
        stream.write(''.join(case['definition'] + '\n' for case in cases))
    words = [kevtrace, 'run', '--runtime', runtime, '--buffer', '16384', '-o', '/tmp/ours', '-p', '/tmp/definitions']
    for case in cases:
        words += ['--filter', '%s: %s' % (case['name'], case['filter'])] if case['filter'] else []
    done = subprocess.run(words + ['--', workload, '/tmp', ROUNDS], stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    answer['status'] = done.returncode
    answer['words'] = done.stderr.decode(errors='replace')
    write('events/side/enable', '0')
    kernel = lines_of(read('trace'))
    with open('/tmp/ours', errors='surrogateescape') as stream:
        answer['kernel'], answer['ours'] = of_workload(kernel, lines_of(stream.read()))
    answer['profile'] = profile()
    write('kprobe_events', '')
    words = [kevtrace, 'explain', '--only', 'format']
    for case in cases:
        words += ['-e', re.sub(r'@linux_proc_banner(\+\d+)?', '@0x1000', case['definition'])]  # symbols are not looked up there
    answer['our_format'] = subprocess.run(words, stdout=subprocess.PIPE).stdout.decode()
    return answer


def main():
    with open('/sys/kernel/rcu_expedited', 'w') as stream:
        stream.write('1')
    write('buffer_size_kb', '16384')
    batches, answers, kevtrace, workload = sys.argv[1:5]
    runtime = sys.argv[5] if len(sys.argv) > 5 else 'bpf'
    with open(batches) as stream, open(answers, 'w') as out:
        for line in stream:
            out.write(json.dumps(run_batch(json.loads(line), kevtrace, workload, runtime)) + '\n')
            out.flush()


main()
