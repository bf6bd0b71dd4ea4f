"""What is traced, with values that are known: workload.py KIND. Prints them as JSON.

sleep   threads that sleep at once, each its own number of nanoseconds every time: {thread: [nanoseconds, …]}
nest    makes epolls of epolls, and so on: how many
map     maps pages, by a call of eight arguments: how many
"""
import ctypes
import json
import mmap
import os
import select
import sys
import threading

THREADS, ROUNDS = 24, 6
libc = ctypes.CDLL(None)


class TimeSpec(ctypes.Structure):
    _fields_ = [('seconds', ctypes.c_long), ('nanoseconds', ctypes.c_long)]


def sleep():
    together = threading.Barrier(THREADS)
    slept = {}

    def sleeper(number):
        mine = slept.setdefault(threading.get_native_id(), [])
        for i in range(ROUNDS):
            pause = 20_000_000 + 1000 * number + i
            together.wait()
            libc.nanosleep(ctypes.byref(TimeSpec(0, pause)), None)
            mine.append(pause)

    threads = [threading.Thread(target=sleeper, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return slept


def nest():
    """The kernel follows each new link down, by a function that calls itself: depths 0; 0 1; 0 1 2."""
    chains = 5
    for _ in range(chains):
        reader, _ = os.pipe()
        inner, all_of_them = reader, []
        for _ in range(4):
            outer = select.epoll()
            outer.register(inner, select.EPOLLIN)
            all_of_them.append(outer)
            inner = outer.fileno()
    return chains


def map_pages():
    count = 7
    for i in range(count):
        mmap.mmap(-1, 4096 * (100 + i)).close()
    return count


print(json.dumps({'sleep': sleep, 'nest': nest, 'map': map_pages}[sys.argv[1]]()))
