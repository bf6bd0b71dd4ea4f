"""A program that works several libraries hard and prints digests of what they made: the same in every run.

    busy.py FOLDER [PART…]     PART: sqlite zlib lzma math threads process text; none: all
"""
import hashlib
import json
import lzma
import math
import os
import random
import sqlite3
import subprocess
import sys
import threading
import zlib

MEGABYTE = 1 << 20
SIZE_MB = int(os.environ.get("KEVT_BUSY_MB", "50"))


def digest(*parts):
    total = hashlib.sha256()
    for part in parts:
        total.update(part if isinstance(part, bytes) else repr(part).encode())
    return total.hexdigest()[:16]


def some_bytes(megabytes):
    piece = b"".join(hashlib.sha256(b"%d" % i).digest() + b"text that can be packed, number %d\n" % i for i in range(16384))
    return (piece * (megabytes * MEGABYTE // len(piece) + 1))[: megabytes * MEGABYTE]


def sqlite(folder):
    path = os.path.join(folder, "busy.db")
    if os.path.exists(path):
        os.remove(path)
    base = sqlite3.connect(path)
    base.execute("create table t(id integer primary key, name text, value real, raw blob)")
    rows = [(i, f"name {i * 7919 % 1009}", i / 3, b"%d" % i * (i % 9)) for i in range(3000)]
    base.executemany("insert into t values(?,?,?,?)", rows)
    base.execute("create index by_name on t(name)")
    base.commit()
    base.execute("update t set value = value * 2 where name like '%7'")
    base.execute("delete from t where id % 11 = 3")
    answers = base.execute("select a.name, count(*), sum(a.value), group_concat(hex(b.raw)) from t a join t b on a.id = b.id + 1"
                           " group by a.name order by 3 desc, 1 limit 200").fetchall()
    check = base.execute("pragma integrity_check").fetchall()
    base.rollback()
    base.execute("vacuum")
    base.close()
    return digest(answers, check)


def packed_zlib(_):
    data, packed = some_bytes(SIZE_MB), []
    packer = zlib.compressobj(1)
    for at in range(0, len(data), 65536):
        packed.append(packer.compress(data[at : at + 65536]))
    packed.append(packer.flush())
    whole = b"".join(packed)
    back = zlib.decompress(whole)
    return digest(whole, back == data, zlib.crc32(data), zlib.adler32(data))


def packed_lzma(_):
    data = some_bytes(max(1, SIZE_MB // 10))
    whole = lzma.compress(data, preset=0)
    return digest(whole, lzma.decompress(whole) == data)


def maths(_):
    source = random.Random(7)
    values = [source.uniform(0.01, 50) for _ in range(3000)]
    one = (math.sin, math.cos, math.tan, math.exp, math.log, math.sqrt, math.atan, math.erf, math.gamma, math.cbrt
           if hasattr(math, "cbrt") else math.sqrt, math.sinh, math.asinh, math.log2, math.log1p, math.expm1, math.floor)
    return digest([[f(x) if f is not math.sinh else f(x / 10) for f in one] for x in values],
                  [(math.pow(x, 1.5), math.atan2(x, 2), math.fmod(x, 3), math.hypot(x, 1)) for x in values])


def threads(_):
    results = {}

    def work(number):
        own = random.Random(number)
        items = [{"n": own.random(), "s": "x" * own.randrange(50)} for _ in range(800)]
        text = json.dumps(items, sort_keys=True)
        results[number] = digest(json.loads(text), zlib.compress(text.encode()), sorted(text)[:50])

    running = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return digest(sorted(results.items()))


def processes(_):
    out = [subprocess.run(["/bin/echo", str(n)], capture_output=True, check=True).stdout for n in range(5)]
    child = os.fork()
    if child == 0:
        os._exit(3)
    return digest(out, os.waitpid(child, 0)[1])


def text(folder):
    path = os.path.join(folder, "busy.txt")
    with open(path, "w", encoding="utf-8") as file:
        for i in range(20000):
            file.write(f"{i:08d} {i * i % 9973:x} straße {i / 7:.5f}\n")
    with open(path, encoding="utf-8") as file:
        lines = sorted(file, key=lambda line: line.split()[1])
    return digest(lines[::97], sorted(os.listdir("/usr/lib")) == sorted(os.listdir("/usr/lib")))


PARTS = {"sqlite": sqlite, "zlib": packed_zlib, "lzma": packed_lzma, "math": maths, "threads": threads, "process": processes,
         "text": text}

for name in sys.argv[2:] or PARTS:
    print(name, PARTS[name](sys.argv[1]), flush=True)
