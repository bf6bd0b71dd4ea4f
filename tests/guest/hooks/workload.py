"""What is traced, with values that are known: workload.py FOLDER. Prints them, by name, as JSON."""
import ctypes
import json
import os
import sys

SEEKS, READS = 40, 30
PANIC = '/proc/sys/kernel/panic'  # the variable panic_timeout

folder = sys.argv[1]
path = os.path.join(folder, 'known-name')
with open(path, 'wb') as stream:
    stream.write(b'x' * 4321)
fd = os.open(path, os.O_RDONLY)
for i in range(SEEKS):
    os.lseek(fd, 1000 + i, os.SEEK_SET)
for i in range(READS):
    os.lseek(fd, 0, os.SEEK_SET)
    os.read(fd, 700 + i)
status = os.fstat(fd)
os.close(fd)
os.chdir(folder)
timeouts = [3, -7, 2000000000, 0]
panic = os.open(PANIC, os.O_WRONLY)
for value in timeouts:
    os.pwrite(panic, b'%d\n' % value, 0)
os.close(panic)
for value in (b'1', b'0'):
    oops = os.open('/proc/sys/kernel/panic_on_oops', os.O_RDWR)
    os.pwrite(oops, value, 0)
    for _ in range(5):
        os.pread(oops, 100, 0)
    os.close(oops)
child = os.fork()
if child == 0:
    os.execv('/bin/true', ['true', 'known-word'])
os.waitpid(child, 0)
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(8, -1, ctypes.c_long(0x123456789abc), 0)  # lseek of no file
print(json.dumps({'pid': os.getpid(), 'child': child, 'ino': status.st_ino, 'path': path, 'folder': folder, 'timeouts': timeouts, 'touches': 12,
                  'seeks': SEEKS, 'reads': READS}))
