"""trace.dat files piece by piece, right ones and such as nobody would write: sections at any place, named any number of times,
CPUs whose data are anywhere, pieces packed by zstd. What the pieces are: trace-cmd.dat.v6(5), trace-cmd.dat.v7(5).

    file = Seven()
    page = ring_page(1000, [record(5)])
    file.finish(sections=[(EVENT_FORMATS, file.section(EVENT_FORMATS, event_formats([FORMAT])))],
                buffers=[file.buffer([(0, *file.packed_cpu([page]))])])
"""
import ctypes
import ctypes.util
import struct

MAGIC = b"\x17\x08\x44tracing"
PAGE = 4096
DONE, BUFFER, CPU_COUNT = 0, 3, 8
HEADER_INFO, FTRACE_FORMATS, EVENT_FORMATS, KALLSYMS, CMDLINES = 16, 17, 18, 19, 21
COMPRESSED = 1

_COMMON = b"""\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

"""


def event_format(name=b"tick", number=20000, fields=b"\tfield:u64 v;\toffset:8;\tsize:8;\tsigned:0;\n",
                 printed=b'"v=%Lu", REC->v'):
    return b"name: %s\nID: %d\nformat:\n%s%s\nprint fmt: %s\n" % (name, number, _COMMON, fields, printed)


FORMAT = event_format()

_zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
_zstd.ZSTD_compressBound.restype = _zstd.ZSTD_compress.restype = ctypes.c_size_t
_zstd.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
_zstd.ZSTD_compress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]


def zstd(plain):
    room = ctypes.create_string_buffer(_zstd.ZSTD_compressBound(len(plain)))
    size = _zstd.ZSTD_compress(room, len(room), plain, len(plain), 3)
    return room.raw[:size]


def record(value, number=20000, pid=7):
    return struct.pack("<HBBiQ", number, 0, 0, pid, value)


def ring_page(time_ns, records, step_ns=1, size=PAGE):
    events = b"".join(struct.pack("<I", len(one) // 4 | (step_ns if i else 0) << 5) + one for i, one in enumerate(records))
    assert len(events) <= size - 16
    return struct.pack("<QQ", time_ns, len(events)) + events.ljust(size - 16, b"\0")


def full_page(time_ns, step_ns=1, size=PAGE):
    return ring_page(time_ns, [record(i) for i in range((size - 16) // 20)], step_ns, size)


def ring_header():
    text = b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
    return b"".join(name + b"\0" + struct.pack("<Q", len(text)) + text for name in (b"header_page", b"header_event"))


def event_formats(formats, system=b"test"):
    return struct.pack("<I", 1) + system + b"\0" + struct.pack("<I", len(formats)) + b"".join(
        struct.pack("<Q", len(one)) + one for one in formats)


def packed(plain):
    bytes_ = zstd(plain)
    return struct.pack("<II", len(bytes_), len(plain)) + bytes_


def option(number, data):
    return struct.pack("<HI", number, len(data)) + data


def named(number, offset):
    """An option that names a section."""
    return option(number, struct.pack("<Q", offset))


class Seven:
    def __init__(self, page=PAGE):
        self.bytes = bytearray(MAGIC + b"7\0" + b"\0" + b"\x08" + struct.pack("<I", page) + b"zstd\0" + b"1.5\0" + bytes(8))
        self.options_at = len(self.bytes) - 8
        self.page = page

    def put(self, bytes_):
        at = len(self.bytes)
        self.bytes += bytes_
        return at

    def section(self, number, plain, is_packed=True):
        content = packed(plain) if is_packed else plain
        return self.put(struct.pack("<HHIQ", number, COMPRESSED if is_packed else 0, 0, len(content)) + content)

    def packed_cpu(self, chunks):
        """Offset and size of a CPU's data."""
        pieces = struct.pack("<I", len(chunks)) + b"".join(map(packed, chunks))
        return self.put(pieces), len(pieces)

    def buffer(self, cpus, is_packed=True):
        """The data of an option that names a buffer with these CPUs: (number, offset, size)."""
        at = self.put(struct.pack("<HHIQ", BUFFER, COMPRESSED if is_packed else 0, 0, 0))
        return struct.pack("<Q", at) + b"\0" + b"mono\0" + struct.pack("<II", self.page, len(cpus)) + b"".join(
            struct.pack("<IQQ", *one) for one in cpus)

    def finish(self, sections=(), buffers=(), more=b""):
        options = more + b"".join(named(*one) for one in sections)
        options += b"".join(option(BUFFER, one) for one in buffers) + named(DONE, 0)
        self.bytes[self.options_at:self.options_at + 8] = struct.pack("<Q", self.section(DONE, options))
        return bytes(self.bytes)


def six(formats, cpus, kallsyms=b""):
    """A version 6 head up to its table: `cpus` are (offset, size)."""
    head = MAGIC + b"6\0" + b"\0" + b"\x08" + struct.pack("<I", PAGE) + ring_header() + struct.pack("<I", 0)
    head += event_formats(formats) + struct.pack("<I", len(kallsyms)) + kallsyms + struct.pack("<I", 0)
    head += struct.pack("<QI", 0, len(cpus)) + b"options  \0" + struct.pack("<H", DONE) + b"flyrecord\0"
    return head + b"".join(struct.pack("<QQ", *one) for one in cpus)
