"""File offsets of a library's functions, from its dynamic symbols as `nm` prints them and its program headers."""
import struct
import subprocess


def _loads(path):
    """(address, file offset, bytes) of each loaded segment."""
    with open(path, "rb") as file:
        head = file.read(64)
        table, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        file.seek(table)
        entries = [file.read(size) for _ in range(count)]
    for entry in entries:
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", entry)
        if kind == 1:
            yield address, offset, length


def offsets_of(path, names):
    listed = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    addresses = {}
    for line in listed.splitlines():
        words = line.split()
        if len(words) == 3:
            addresses.setdefault(words[2].split("@")[0], int(words[0], 16))
    loads = list(_loads(path))
    found = {addresses[name] for name in names if name in addresses}
    return [at - start + offset for at in sorted(found) for start, offset, length in loads if start <= at < start + length]
