"""/dev/kevtrace (common/abi/kmod.h) and bpf(2), as Python sees them."""
import ctypes
import errno
import fcntl
import os
import struct

DEVICE = '/dev/kevtrace'
REQUEST = struct.Struct('=IIIIQQ')  # kevt_kmod_request
PROBE = struct.Struct('=QQiIII32s')  # kevt_kmod_probe
STATUS_ITEM = struct.Struct('=QQII')  # kevt_kmod_status
ID = struct.Struct('=I')
SYS_BPF = 321
BPF_MAP_CREATE, BPF_MAP_LOOKUP_ELEM, BPF_PROG_LOAD = 0, 1, 5
BPF_PROG_GET_NEXT_ID, BPF_MAP_GET_NEXT_ID, BPF_LINK_GET_NEXT_ID = 11, 12, 31
BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_ARRAY = 1, 2
BPF_PROG_TYPE_KPROBE = 2


def command(number, size=REQUEST.size, direction=3):
    return direction << 30 | size << 16 | 0xb5 << 8 | number


ADD, REMOVE, ENABLE, DISABLE, STATUS = (command(n) for n in range(1, 6))


class Refused(Exception):
    """A batch that was not carried out; `item` was in the way."""

    def __init__(self, answer, item):
        super().__init__('%s at item %d' % (answer, item))
        self.item = item


def ask_for(device, cmd, version=2, item_size=4, count=1, items=0, results=0):
    """The errno's name, '' where the request was carried out; the item that was refused."""
    buffer = bytearray(REQUEST.pack(version, item_size, count, 0, items, results))
    answer = ''
    try:
        fcntl.ioctl(device, cmd, buffer)
    except OSError as error:
        answer = errno.errorcode[error.errno]
    return answer, REQUEST.unpack(buffer)[3]


def ask(device, cmd, **words):
    return ask_for(device, cmd, **words)[0]


class Client:
    """An open /dev/kevtrace: batches of probes that run one program, which does nothing unless it is given."""

    def __init__(self, program=None):
        self.device = os.open(DEVICE, os.O_RDWR)
        self.program = nothing() if program is None else program

    def close(self):
        os.close(self.device)
        os.close(self.program)

    def _batch(self, cmd, item, items, results=None):
        data = ctypes.create_string_buffer(b''.join(items), len(items) * item.size)
        answer, refused = ask_for(self.device, cmd, item_size=item.size, count=len(items), items=ctypes.addressof(data),
                                  results=ctypes.addressof(results) if results else 0)
        if answer:
            raise Refused(answer, refused)
        return data.raw

    def add(self, addresses, kind=0, maxactive=0):
        """ids, disabled"""
        data = self._batch(ADD, PROBE, [PROBE.pack(a, 0, self.program, kind, maxactive, 0, b'') for a in addresses])
        return [PROBE.unpack_from(data, i * PROBE.size)[5] for i in range(len(addresses))]

    def change(self, cmd, ids):
        self._batch(cmd, ID, [ID.pack(i) for i in ids])

    def _status(self, ids):
        results = ctypes.create_string_buffer(len(ids) * STATUS_ITEM.size)
        self._batch(STATUS, ID, [ID.pack(i) for i in ids], results)
        return [STATUS_ITEM.unpack_from(results.raw, i * STATUS_ITEM.size) for i in range(len(ids))]

    def hits(self, ids):
        """(hits, missed) of each"""
        return [item[:2] for item in self._status(ids)]

    def states(self, ids):
        """KEVT_KMOD_ bits of each"""
        return [item[2] for item in self._status(ids)]


def _bpf(cmd, attributes):
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, 128)
    return libc.syscall(SYS_BPF, cmd, buffer, 128), buffer.raw


def step(op, dst=0, src=0, off=0, imm=0):
    """An instruction of BPF."""
    return struct.pack('<BBhi', op, dst | src << 4, off, imm)


def load(*steps):
    """A loaded program of type KPROBE that ends with r0 = 0."""
    text = b''.join(steps) + step(0xb7) + step(0x95)
    code = ctypes.create_string_buffer(text, len(text))
    license_ = ctypes.create_string_buffer(b'GPL')
    fd, _ = _bpf(BPF_PROG_LOAD, struct.pack('<IIQQ', BPF_PROG_TYPE_KPROBE, len(text) // 8, ctypes.addressof(code), ctypes.addressof(license_)))
    if fd < 0:
        raise OSError(ctypes.get_errno(), 'a BPF program of %d instructions' % (len(text) // 8))
    return fd


def nothing():
    return load()


def make_map(kind):
    """Of one number by a number."""
    fd, _ = _bpf(BPF_MAP_CREATE, struct.pack('<IIII', kind, 4, 8, 1))
    if fd < 0:
        raise OSError(ctypes.get_errno(), 'a BPF map')
    return fd


def number_of(map_fd):
    """What the map says of 0."""
    key, value = ctypes.create_string_buffer(4), ctypes.create_string_buffer(8)
    done, _ = _bpf(BPF_MAP_LOOKUP_ELEM, struct.pack('<IIQQQ', map_fd, 0, ctypes.addressof(key), ctypes.addressof(value), 0))
    if done < 0:
        raise OSError(ctypes.get_errno(), 'looking into a BPF map')
    return struct.unpack('<Q', value.raw)[0]


def _map_and_key(map_fd):
    """r1 is the map, r2 points to the key 0."""
    return (step(0x62, 10, off=-4) + step(0xbf, 2, 10) + step(0x07, 2, imm=-4) + step(0x18, 1, 1, imm=map_fd) + step(0))


def counts(map_fd):
    """Steps that add 1 to what the array says of 0."""
    return _map_and_key(map_fd) + step(0x85, imm=1) + step(0x15, off=2) + step(0xb7, 1, imm=1) + step(0xdb, 0, 1)


def updates(map_fd):
    """Steps that write into the hash map: the kernel calls htab_map_update_elem()."""
    return (step(0x7a, 10, off=-16) + step(0xbf, 3, 10) + step(0x07, 3, imm=-16) + _map_and_key(map_fd) + step(0xb7, 4)
            + step(0x85, imm=2))


def perf_probe(function, program):
    """The kernel's own kprobe at a function, which runs the program; closing it ends it."""
    with open('/sys/bus/event_source/devices/kprobe/type') as file:
        kind = int(file.read())
    name = ctypes.create_string_buffer(function.encode())
    attributes = struct.pack('<IIQQQQQIIQQ', kind, 128, 0, 0, 0, 0, 0, 0, 0, ctypes.addressof(name), 0).ljust(128, b'\0')
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(298, ctypes.create_string_buffer(attributes, 128), -1, 0, -1, 8)
    if fd < 0:
        raise OSError(ctypes.get_errno(), 'perf_event_open ' + function)
    fcntl.ioctl(fd, 0x40042408, program)  # PERF_EVENT_IOC_SET_BPF
    fcntl.ioctl(fd, 0x2400, 0)  # PERF_EVENT_IOC_ENABLE
    return fd


def bpf_objects():
    """How many programs, maps and links there are."""
    counts = []
    for cmd in (BPF_PROG_GET_NEXT_ID, BPF_MAP_GET_NEXT_ID, BPF_LINK_GET_NEXT_ID):
        last, count = 0, 0
        while True:
            done, answer = _bpf(cmd, struct.pack('<II', last, 0))
            if done < 0:
                break
            last = struct.unpack_from('<II', answer)[1]
            count += 1
        counts.append(count)
    return tuple(counts)


def symbols():
    """name → address, of the kernel's own text; names that occur twice are left out."""
    found, twice = {}, set()
    with open('/proc/kallsyms') as file:
        for line in file:
            words = line.split()
            if words[2] in found:
                twice.add(words[2])
            found[words[2]] = int(words[0], 16) if words[1] in 'tT' and len(words) == 3 else 0
    return {name: at for name, at in found.items() if at and name not in twice}


def module_symbol(name, module):
    """The address of a function of a module."""
    with open('/proc/kallsyms') as file:
        return next(int(w[0], 16) for w in map(str.split, file) if w[2:] == [name, '[%s]' % module])
