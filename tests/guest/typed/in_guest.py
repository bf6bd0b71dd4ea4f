"""Runs in the guest: names of arguments, `->`, `$arg*`, `$retval->` and `%pd`, compared with what the workload knows.

in_guest.py KEVTRACE RUNTIME: whether the kernel's own kprobe_events has these forms or not (6.1 has not), kevtrace does.
"""
import errno
import json
import os
import re
import subprocess
import sys
import tempfile
import time

KEVTRACE, RUNTIME = sys.argv[1:3]
HERE = os.path.dirname(os.path.abspath(__file__))
TRACING = '/sys/kernel/tracing/'
LARGE = 0o100000  # the kernel adds O_LARGEFILE
FILE_OPEN = ('do_filp_open', 'do_file_open')  # one of them is there; 7.2 has the second
MODULE_FUNCTION = ('9p', 'v9fs_vfs_lookup')  # what the guest's files come by
DEFINITIONS = [
    'p:all do_sys_openat2 $arg*',
    'p:named do_sys_openat2 name=filename:ustring flags=how->flags dfd',
    'p:text do_sys_openat2 filename:string $arg1',
    'p:inode vfs_read ino=file->f_inode->i_ino size=file->f_inode->i_size count name=file:%pD by=$arg1:%pD',
    'r:opened FILE_OPEN ino=$retval->f_inode->i_ino size=$retval->f_inode->i_size:u32',
    'r:got vfs_read ino=file->f_inode->i_ino count third=$arg3:u64 name=file:%pD got=$retval:s64',
    'r:all_at_return vfs_read $arg*',
    'p:gone vfs_unlink name=dentry:%pd folder=dir->i_ino size=dentry->d_inode->i_size',
    'p:forked wake_up_new_task child=p->pid comm=p->comm:string',
    'p:members do_sys_openat2 dfd how->* filename:ustring',
]
# A definition, what is said of it.
REFUSED = [
    ('p:x vfs_read nobody', 'ssize_t vfs_read(struct file *file'),
    ('p:x vfs_read file->f_nobody', '`struct file` has no such member'),
    ('p:x vfs_read count->f_inode', 'not a pointer to'),
    ('p:x vfs_read+4 count', 'BTF'),
    ('p:x vfs_read count->*', 'no pointer'),
    ('p:x vfs_read n=file->*', 'several members'),
]
failures = 0


def check(holds, what):
    global failures
    failures += not holds
    print('%s %s' % ('ok    ' if holds else 'FAILED', what), flush=True)


def run(definitions, *words):
    """Status, output, errors."""
    written = [word for text in definitions for word in ('-e', text)]
    done = subprocess.run([KEVTRACE, 'run', '--runtime', RUNTIME, *written, '--', *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')


def values(out, event):
    """The fields of each record of `event`, as written."""
    lines = re.findall(r' %s: \([^)]*\) (.*)$' % event, out, re.MULTILINE)
    return [dict(re.findall(r'(\w+)=("[^"]*"|\S+)', line)) for line in lines]


def test_enumerations():
    """`enum pid_type`: kill() sends to a thread group, tkill to a thread."""
    program = 'import os, signal, ctypes\nos.kill(os.getpid(), signal.SIGCONT)\nctypes.CDLL(None).syscall(200, os.getpid(), signal.SIGCONT)\n'
    for filters, wanted in (([], ['PIDTYPE_TGID', 'PIDTYPE_PID']), (['--filter', 'sent: type == "PIDTYPE_PID"'], ['PIDTYPE_PID'])):
        done = subprocess.run([KEVTRACE, 'run', '--runtime', RUNTIME, '-e', 'p:sent do_send_sig_info sig type:enum', *filters, '--', '/usr/bin/python3', '-S', '-c', program],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out = done.stdout.decode(errors='replace')
        check(done.returncode == 0, 'enumerations: %s' % done.stderr.decode(errors='replace'))
        check([record['type'] for record in values(out, 'sent') if record['sig'] == '18'] == wanted, 'names of values: %s' % values(out, 'sent'))


def has(records, **wanted):
    return any(all(record.get(name) == value for name, value in wanted.items()) for record in records)


def functions():
    """Names, those of modules with the module behind them."""
    with open('/proc/kallsyms') as stream:
        return {tuple(line.split()[2:]) for line in stream}


def knows_module_function(names):
    module, function = MODULE_FUNCTION
    return os.path.exists('/sys/kernel/btf/' + module) and (function, '[%s]' % module) in names


def test_values(folder):
    names = functions()
    file_open = next((name for name in FILE_OPEN if (name,) in names), FILE_OPEN[0])
    definitions = [text.replace('FILE_OPEN', file_open) for text in DEFINITIONS]
    in_module = knows_module_function(names)
    if in_module:
        definitions.append('p:looked %s name=dentry:%%pd again=dentry->d_name.name:string' % MODULE_FUNCTION[1])
    status, out, words = run(definitions, 'python3', '-B', HERE + '/workload.py', folder)
    told = [line for line in out.splitlines() if line.startswith('{"path"')]
    check(status == 0 and len(told) == 1, 'the workload is traced')
    if not told:
        print(words)
        return
    known = json.loads(told[0])
    path, flags, ino, size = '"%s"' % known['path'], str(known['flags'] | LARGE), str(known['ino']), str(known['size'])
    opens = values(out, 'all')
    check(opens and all(set(one) == {'dfd', 'filename', 'how'} for one in opens), '$arg* names all arguments')
    check(has(opens, dfd='-100') and all(int(one['how'], 16) >> 63 for one in opens), '$arg* has values')
    check(has(values(out, 'named'), name=path, flags=flags, dfd='-100'), 'names, `->` and the flags as they were given')
    check(has(values(out, 'members'), filename=path, flags=flags, dfd='-100', resolve='0x0') or has(values(out, 'members'), filename=path, flags=flags, dfd='-100', resolve='0'),
          'all members of a structure: %s' % values(out, 'members')[:2])
    check(has(values(out, 'text'), filename=path, arg2='0xffffff9c') or has(values(out, 'text'), filename=path, arg2='0xffffffffffffff9c'),
          '`char *` is text; $argN keeps its name and type')
    check(has(values(out, 'inode'), ino=ino, size=size, count='1234', name='"known-name"', by='"known-name"'), 'two `->` and %pD, as stat says')
    check(has(values(out, 'opened'), ino=ino, size=size), '$retval->, as stat says')
    check(has(values(out, 'got'), ino=ino, count='1234', third='1234', name='"known-name"', got='1234'), 'arguments at the return, beside its value')
    check(has(values(out, 'all_at_return'), count='1234'), '$arg* at the return')
    check(has(values(out, 'gone'), name='"known-name"', folder=str(known['folder_ino']), size=size), '%pd, and two inodes')
    check(has(values(out, 'forked'), child=str(known['child']), comm='"%s"' % known['comm']), 'a number and an array of a task')
    if in_module:
        check(has(values(out, 'looked'), name='"kevtrace-is-not-there"', again='"kevtrace-is-not-there"'), 'types of a module')
    else:
        print("       types of a module: %s's %s is not here" % MODULE_FUNCTION)
    if failures:
        print(out[-20000:], words)


def test_refusals():
    for definition, text in REFUSED:
        status, _, words = run([definition], 'true')
        check(status != 0 and text in words, 'refused: %s: %s' % (definition, words.strip()))


def test_kernel_itself():
    """What 6.5 brought: the kernel's own file takes it where its README tells of it."""
    with open(TRACING + 'README') as stream:
        expected = '<argname>' in stream.read()
    fd = os.open(TRACING + 'kprobe_events', os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, b'p:kevt_typed/own vfs_read count\n')
        taken = True
        os.write(fd, b'-:kevt_typed/own\n')
    except OSError:
        taken = False
    os.close(fd)
    check(taken == expected, "this kernel's own kprobe_events %s names of arguments" % ('takes' if taken else 'refuses'))


def write(path, text):
    """Status of the write: 0, or an errno."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, text.encode())
    except OSError as refused:
        return refused.errno
    finally:
        os.close(fd)
    return 0


class Mount:
    """A mount over the kernel, and files in it."""

    def __init__(self, folder):
        self.dir, self.log = folder, tempfile.TemporaryFile('w+')
        self.process = subprocess.Popen([KEVTRACE, 'mount', folder, '--runtime', RUNTIME], stderr=self.log)
        end = time.monotonic() + 60
        while not os.path.exists(folder + '/trace') and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.1)

    def read(self, name):
        with open('%s/%s' % (self.dir, name)) as stream:
            return stream.read()

    def write(self, name, text):
        return write('%s/%s' % (self.dir, name), text)

    def end(self):
        subprocess.run(['umount', self.dir], check=True)
        self.process.wait(60)


def test_mount_values(mount, folder):
    names = functions()
    file_open = next((name for name in FILE_OPEN if (name,) in names), FILE_OPEN[0])
    definitions = [text.replace('FILE_OPEN', file_open) for text in DEFINITIONS if not text.startswith('p:text')]
    for text in definitions:
        check(mount.write('kprobe_events', text + '\n') == 0, 'a mount takes ' + text)
    listed = mount.read('kprobe_events')
    check(mount.write('events/kprobes/enable', '1') == 0, 'and they can be on')
    done = subprocess.run(['python3', '-B', HERE + '/workload.py', folder], stdout=subprocess.PIPE)
    mount.write('tracing_on', '0')
    out, known = mount.read('trace'), json.loads(done.stdout.decode().splitlines()[-1])
    path, ino, size = '"%s"' % known['path'], str(known['ino']), str(known['size'])
    check(has(values(out, 'named'), name=path, flags=str(known['flags'] | LARGE), dfd='-100'), 'names and `->` in a mount')
    check(has(values(out, 'inode'), ino=ino, size=size, count='1234', name='"known-name"'), 'two `->` and %pD in a mount')
    check(has(values(out, 'members'), filename=path, flags=str(known['flags'] | LARGE), dfd='-100'), 'all members in a mount')
    check(has(values(out, 'opened'), ino=ino, size=size), '$retval-> in a mount')
    check(has(values(out, 'got'), ino=ino, count='1234', third='1234', got='1234'), 'arguments at the return in a mount')
    check(has(values(out, 'gone'), name='"known-name"', folder=str(known['folder_ino'])), '%pd in a mount')
    check(listed.count('\n') == len(definitions), 'all of them are listed')
    mount.write('events/kprobes/enable', '0')
    if failures:
        print(listed, mount.read('error_log'), out[-5000:])


def test_mount_as_the_kernel(mount):
    """`$arg1` has the type that this kernel gives it; what is wrong is refused in its words; README tells what is taken."""
    plain = 'p:kevt_typed/plain vfs_read $arg1 $arg3 again=$arg3:u32\n'
    check(write(TRACING + 'kprobe_events', plain) == 0, "this kernel's own kprobe_events takes $arg1")
    check(mount.write('kprobe_events', plain) == 0, 'a mount takes $arg1')
    formats = []
    for folder in (TRACING, mount.dir + '/'):
        with open(folder + 'events/kevt_typed/plain/format') as stream:
            formats.append([line for line in stream if 'field:' in line and 'common_' not in line])
    check(formats[0] == formats[1], 'its fields are those of the kernel: %s' % formats[1])
    check(mount.write('events/kevt_typed/plain/enable', '1') == 0, 'it can be on')
    write(TRACING + 'kprobe_events', '-:kevt_typed/plain\n')
    check(mount.write('kprobe_events', 'p:x vfs_read count->f_inode\n') == errno.EINVAL, 'a mount refuses what is no pointer')
    their_status = write(TRACING + 'kprobe_events', 'p:kevt_typed/x vfs_read nobody\n')
    with open(TRACING + 'error_log') as stream:
        theirs = re.findall('error: (.*)', stream.read())[-1:]
    check(their_status and mount.write('kprobe_events', 'p:kevt_typed/x vfs_read nobody\n') == their_status, 'and a name that is none')
    ours = re.findall('error: (.*)', mount.read('error_log'))[-1:]
    check(ours == theirs and ours, 'in the words of the kernel: %s, %s' % (ours, theirs))
    check('<argname>[->field[->field|.field...]]' in mount.read('README'), 'README tells of names')


def test_mount(folder):
    with tempfile.TemporaryDirectory() as place:
        mount = Mount(place)
        try:
            test_mount_values(mount, folder)
            test_mount_as_the_kernel(mount)
        finally:
            mount.end()


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(['mount', '-t', 'tmpfs', 'none', folder], check=True)  # its inode numbers are stat's
        try:
            test_values(folder)
            test_mount(folder)
        finally:
            subprocess.run(['umount', folder], check=True)
    test_enumerations()
    test_refusals()
    test_kernel_itself()
    sys.exit(1 if failures else 0)


main()
