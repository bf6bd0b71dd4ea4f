#!/usr/bin/env python3
"""Which calls of a function in a running program took longest: PROGRAM_OR_LIBRARY:FUNCTION, PID, seconds.

    slow_calls.py libc:read 1234 5
"""
import collections
import sys

import kevtrace


def main(function, pid, seconds):
    entered, slowest = {}, collections.Counter()
    definitions = [f"p:enter {function}", f"r:leave {function} returned=$retval:s64"]
    with kevtrace.run(definitions, pid=int(pid), seconds=float(seconds)) as reader:
        for record in reader:
            if record.lost_before:
                entered.clear()  # a call's other half may be among what was lost
            if record.event.endswith("/enter"):
                entered[record.thread] = record.time
            elif record.thread in entered:
                began = entered.pop(record.thread)
                slowest[record.thread, began, record.returned] = record.time - began
    for (thread, began, returned), took in slowest.most_common(10):
        print(f"{took / 1e6:10.3f} ms  thread {thread}  at {began / 1e9:.6f}  returned {returned}")
    for event, counts in reader.counts.items():
        print(f"{event}: {counts.hits} hits, {counts.lost} lost", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
