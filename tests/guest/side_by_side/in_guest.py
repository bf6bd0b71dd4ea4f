"""Runs in the guest: each batch of definitions through the kernel's own kprobe_events and through kevtrace, at the same
time, while the workload runs. Writes for each batch what both recorded of the workload.

in_guest.py CASES ANSWERS KEVTRACE WORKLOAD RUNTIME [MODULE]: the module is loaded, and has to be unloadable in the end.
"""
import json
import os
import re
import select
import signal
import subprocess
import sys
import time

TRACING = '/sys/kernel/tracing/'
LINE = re.compile(r'^ *(.+)-(\d+) +\[\d+\] \S+ +[\d.]+: (\w+): (.*)$', re.DOTALL)
ROUNDS = '6'
COMM = 'kevt_side_work'


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
    matches = (LINE.match(line) for line in text.split('\n'))
    return [(match[2], match[1], match[3], match[4]) for match in matches if match]


def while_it_ran(ours):
    """What stands between the workload's first line and kevtrace's next one."""
    comms = [comm for _, comm, _, _ in ours]
    first = next((i for i, comm in enumerate(comms) if comm.startswith(COMM)), len(ours))
    last = next((i for i in range(first, len(ours)) if comms[i].startswith('kevtrace')), len(ours))
    return ours[first:last]


def of_workload(kernel, ours):
    """{event: [what stands behind its name]} of both, for the threads that were the workload or its child when one of ours
    hit: the kernel's names of threads are later ones."""
    pids = {pid for pid, comm, _, _ in ours if comm.startswith(COMM) or comm == 'true'}
    out = []
    for lines in (kernel, ours):
        events = {}
        for pid, _, event, rest in lines:
            if pid in pids:
                events.setdefault(event, []).append((pid, rest))
        # Thread by thread: two threads' hits at nearly the same time may stand in either order.
        out.append({event: [rest for _, rest in sorted(hits, key=lambda hit: hit[0])] for event, hits in events.items()})
    return out


class Workload:
    """A process that has stopped itself. The kernel's events are on while it runs, and no longer: what kevtrace reads when it
    starts would fill the guest's memory."""

    def __init__(self, program):
        self.pid = os.posix_spawn(program, [program, '/tmp', ROUNDS], os.environ)
        _, status = os.waitpid(self.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            raise RuntimeError('the workload did not wait to be released')

    def run(self):
        write('events/side/enable', '1')
        os.kill(self.pid, signal.SIGCONT)
        status = os.waitpid(self.pid, 0)[1]
        write('events/side/enable', '0')
        return status

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Gate:
    """What kevtrace runs as its command: it says that probes are armed, and ends when it is let go. So the workload's first
    hit comes after both sides' arming, and its last one before both sides' end."""
    COMMAND = ['sh', '-c', 'echo armed >/tmp/armed; read word </tmp/release']

    def __init__(self):
        for path in ('/tmp/armed', '/tmp/release'):
            if not os.path.exists(path):
                os.mkfifo(path)
        self.armed, self.release = (os.open(path, os.O_RDWR) for path in ('/tmp/armed', '/tmp/release'))

    def is_armed(self, kevtrace):
        """Whether the probes were armed before kevtrace ended."""
        while not select.select([self.armed], [], [], 0.2)[0]:
            if kevtrace.poll() is not None:
                return False
        os.read(self.armed, 64)
        return True

    def let_go(self):
        os.write(self.release, b'go\n')

    def close(self):
        os.close(self.armed)
        os.close(self.release)


def define(case):
    write('kprobe_events', case['definition'] + '\n', os.O_APPEND)
    if case['filter']:
        write('events/side/%s/filter' % case['name'], case['filter'])


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


def children(pid):
    try:
        with open('/proc/%d/task/%d/children' % (pid, pid)) as stream:
            return [int(word) for word in stream.read().split()]
    except FileNotFoundError:
        return []


def state(pid):
    """The process's name and state; of one that has ended, nothing."""
    try:
        with open('/proc/%d/stat' % pid) as stream:
            head, tail = stream.read().rsplit(')', 1)
            return head.split('(', 1)[1], tail.split()[0]
    except FileNotFoundError:
        return '', ''


def stop_all(kevtrace):
    """Stops kevtrace, its tracer, and the tracer's copies; their numbers. A process that is stopped makes no other."""
    stopped = []
    left = [kevtrace.pid]
    while left:
        pid = left.pop()
        if not state(pid)[0].startswith('kevtrace'):
            continue
        try:
            os.kill(pid, signal.SIGSTOP)
        except ProcessLookupError:
            continue
        while state(pid)[1] not in ('T', 'Z', ''):
            time.sleep(0.001)
        stopped.append(pid)
        left += children(pid)
    return stopped


def run_ours(words, workload):
    """kevtrace's status and words; the workload runs while its probes are armed."""
    gate = Gate()
    with open('/tmp/words', 'wb+') as said:
        kevtrace = subprocess.Popen(words + ['--'] + Gate.COMMAND, stdout=said, stderr=said)
        if gate.is_armed(kevtrace):
            # It stands still meanwhile: its writes would be hits, too, with its own lines as strings.
            still = stop_all(kevtrace)
            ended = workload.run()
            for process in still:
                os.kill(process, signal.SIGCONT)
            gate.let_go()
        else:
            ended = 0
            workload.kill()
        status = kevtrace.wait()
        gate.close()
        said.seek(0)
        text = said.read().decode(errors='replace')
    return (status, text) if ended == 0 else (1, 'the workload ended with wait status %d' % ended)


def run_batch(cases, kevtrace, workload, runtime):
    answer = {'refused': refused_by_kernel(cases)}
    cases = [case for case in cases if case['name'] not in answer['refused']]
    answer['format'] = {case['name']: read('events/side/%s/format' % case['name']) for case in cases}
    write('trace', '')
    started = Workload(workload)
    with open('/tmp/ours', 'w'):
        pass  # kevtrace makes it only when all is right
    with open('/tmp/definitions', 'w') as stream:
        stream.write(''.join(case['definition'] + '\n' for case in cases))
    words = [kevtrace, 'run', '--runtime', runtime, '--buffer', '16384', '-o', '/tmp/ours', '-p', '/tmp/definitions']
    for case in cases:
        words += ['--filter', '%s: %s' % (case['name'], case['filter'])] if case['filter'] else []
    answer['status'], answer['words'] = run_ours(words, started)
    kernel = lines_of(read('trace'))
    with open('/tmp/ours', errors='surrogateescape') as stream:
        answer['kernel'], answer['ours'] = of_workload(kernel, while_it_ran(lines_of(stream.read())))
    write('kprobe_events', '')
    return answer


def main():
    with open('/sys/kernel/rcu_expedited', 'w') as stream:
        stream.write('1')
    write('buffer_size_kb', '16384')
    batches, answers, kevtrace, workload, runtime = sys.argv[1:6]
    for module in sys.argv[6:]:
        subprocess.run(['insmod', module], check=True)
    with open(batches) as stream, open(answers, 'w') as out:
        for line in stream:
            began = time.monotonic()
            cases = json.loads(line)
            out.write(json.dumps(run_batch(cases, kevtrace, workload, runtime)) + '\n')
            out.flush()
            print('%d definitions in %.0f s' % (len(cases), time.monotonic() - began), flush=True)
    for module in sys.argv[6:]:
        subprocess.run(['rmmod', os.path.basename(module)], check=True)


main()
