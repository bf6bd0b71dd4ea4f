# A program to look at: threads that open, read and parse files, in bursts.
import json
import os
import threading
import time


def work(number):
    while True:
        for name in sorted(os.listdir("/etc"))[number::4][:12]:
            path = os.path.join("/etc", name)
            if os.path.isfile(path) and os.access(path, os.R_OK):
                with open(path, "rb") as file:
                    json.dumps(file.read(20000).hex())
        time.sleep(0.05 * (number + 1))


threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
