"""What is traced, with values that are known: workload.py FOLDER. Prints them, by name, as JSON."""
import json
import os
import sys

folder = sys.argv[1]
path = os.path.join(folder, 'known-name')
with open(path, 'wb') as stream:
    stream.write(b'x' * 4321)
flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
fd = os.open(path, flags)
os.read(fd, 1234)
status = os.fstat(fd)
os.close(fd)
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
os.unlink(path)
try:
    os.open('/kevtrace-is-not-there', os.O_RDONLY)
except FileNotFoundError:
    pass
with open('/proc/self/comm') as stream:
    comm = stream.read().strip()
print(json.dumps({'path': path, 'flags': flags, 'ino': status.st_ino, 'size': status.st_size, 'folder_ino': os.stat(folder).st_ino,
                  'child': child, 'comm': comm}))
