"""Runs in the guest: writes the cases of a file to the kernel's tracing directory, then to a mount of kevtrace over the
same kernel, and tells, for each, what happened. in_guest.py KEVTRACE CASES ANSWERS OURS

An answer: {id, errno, log: [[location, message, caret, command]…] oldest first, listing: lines that were not there
before, gone: how many are there no more, format: {event: text}, read: of the filter or trigger file}.
"""
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TRACING = '/sys/kernel/tracing/'
DEADLINE = 120  # seconds: for what is certain to come
FOLDER = '/gold'


def raw(path, flags, text=None):
    """'' or the errno's name; the whole text in one write(2)."""
    try:
        fd = os.open(path, flags)
    except OSError as error:
        return 'open:' + errno.errorcode[error.errno]
    try:
        if text is not None:
            os.write(fd, text.encode('latin-1'))
    except OSError as error:
        return errno.errorcode[error.errno]
    finally:
        os.close(fd)
    return ''


def write(file, text):
    return raw(TRACING + file, os.O_WRONLY | os.O_APPEND, text)


def read(file):
    try:
        with open(TRACING + file, 'rb') as stream:
            return stream.read().decode('latin-1')
    except OSError as error:
        return 'open:' + errno.errorcode[error.errno]


def path_of(file):
    kind, _, event = file.partition(' ')
    return 'events/%s/%s' % (event, kind) if event else file


ENTRY = re.compile(r'\[ *\d+\.\d+\] (.*?): error: (.*)\n  Command: ((?:.|\n)*?)\n {11}( *)\^\n')


def error_log():
    return [[m[1], m[2], len(m[4]), m[3]] for m in ENTRY.finditer(read('error_log'))]


def clear_log():
    raw(TRACING + 'error_log', os.O_WRONLY | os.O_TRUNC)


def listing():
    return read('dynamic_events').splitlines()


def event_of(line):
    """group/event of a listing's line."""
    return line.split(':', 1)[1].split(None, 1)[0] if ':' in line else ''


def formats(lines):
    return {name: read('events/%s/format' % name) for name in sorted({event_of(line) for line in lines})}


# Histograms go by truncation unless others refer to them, so the files are gone through several times; simple
# triggers go by what is listed. Texts that removed triggers once are tried, too: some listings cannot be read back.
def clear_triggers(files, texts=()):
    for _ in range(4):
        left = False
        for file in files:
            if read(path_of(file)).startswith(('#', 'open:')):
                continue
            left = True
            raw(TRACING + path_of(file), os.O_WRONLY | os.O_TRUNC)
            lines = [line for line in read(path_of(file)).splitlines() if not line.startswith(('#', 'hist:'))]
            for text in list(texts) + lines:
                write(path_of(file), '!' + text)
        if not left:
            return
    raise SystemExit('triggers cannot be removed: %s' % {file: read(path_of(file)) for file in files})


def reset():
    clear_triggers(TRIGGER_FILES)
    for _ in range(3):
        if raw(TRACING + 'dynamic_events', os.O_WRONLY | os.O_TRUNC) == '':
            return


TRIGGER_FILES = ['trigger uprobes/ta', 'trigger uprobes/tb', 'trigger uprobes/tc', 'trigger uprobes/ts', 'trigger synthetic/tsyn']


def run(case):
    if case.get('reset'):
        reset()
    answer = {'id': case['id'], 'setup': [write(path_of(file), text) for file, text in case['setup']]}
    kind = case['file'].partition(' ')[0]
    if kind == 'filter':
        write(path_of(case['file']), '0')
    before = listing()
    clear_log()
    answer['errno'] = write(path_of(case['file']), case['text'])
    answer['log'] = error_log()
    if kind in ('filter', 'trigger'):
        answer['read'] = read(path_of(case['file']))
        if kind == 'trigger':
            clear_triggers(TRIGGER_FILES, [case['text']])
        return answer
    after = listing()
    answer['listing'] = [line for line in after if line not in before]
    answer['gone'] = [line for line in before if line not in after]
    answer['format'] = formats(answer['listing'])
    if case['clean']:
        made = answer['listing']
        for line in {event_of(line) for line in made}:
            write('dynamic_events', '-:' + line)
        for file, text in case['setup']:
            write('dynamic_events', '-:' + event_of(text))
    return answer


def make_files():
    os.makedirs(FOLDER + '/sub', exist_ok=True)
    for name in ('target', 'odd-name_x.1.bin', 'with:colon', 'data.txt', 'empty'):
        shutil.copyfile('/bin/true', FOLDER + '/' + name)
    if not os.path.islink(FOLDER + '/link'):
        os.symlink('target', FOLDER + '/link')


def answer_all(cases, answers):
    with open(cases) as lines, open(answers, 'w') as stream:
        for line in lines:
            stream.write(json.dumps(run(json.loads(line))) + '\n')


def mounted(kevtrace):
    place = os.path.join(tempfile.mkdtemp(), 't')
    daemon = subprocess.Popen([kevtrace, 'mount', place, '--runtime', 'bpf'])
    end = time.monotonic() + DEADLINE
    while not os.path.exists(place + '/trace'):
        if daemon.poll() is not None or time.monotonic() > end:
            sys.exit('no mount')
        time.sleep(0.05)
    return daemon, place + '/'


def main():
    global TRACING
    kevtrace, cases, answers, ours = sys.argv[1:]
    make_files()
    with open('/sys/kernel/rcu_expedited', 'w') as stream:
        stream.write('1')
    answer_all(cases, answers)
    reset()
    daemon, TRACING = mounted(kevtrace)
    answer_all(cases, ours)
    daemon.send_signal(signal.SIGINT)
    sys.exit(daemon.wait(timeout=DEADLINE))


main()
