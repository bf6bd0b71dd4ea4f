"""Programs with names that are known, and seeks: execs.py FOLDER. Prints [[pid, path] of each exec, in order], as JSON."""
import json
import os
import sys

folder = sys.argv[1]
deep = os.path.join(folder, *(['d' * 100] * 6))  # a name of more than 600 bytes
os.makedirs(deep)
known = []
for i in range(24):
    name = os.path.join(deep if i % 5 == 0 else folder, 'known-%d-%s' % (i, 'xy'[i % 2]))
    os.symlink('/bin/true', name)
    child = os.fork()
    if child == 0:
        os.execv(name, ['true'])
    os.waitpid(child, 0)
    known.append([child, name])
fd = os.open('/bin/true', os.O_RDONLY)
for i in range(50):
    os.lseek(fd, 4242 if i % 2 else 17, os.SEEK_SET)
print(json.dumps({'pid': os.getpid(), 'execs': known}))
