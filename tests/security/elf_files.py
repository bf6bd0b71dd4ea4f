"""ELF files whose tables say more than is there."""
import struct

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SECTION_FIELDS = ("name", "type", "flags", "address", "offset", "size", "link", "info", "align", "entry")
TABLE_AT, COUNT, NAMES = 6, 12, 13  # of the header's fields


class Elf:
    """A 64-bit file; its section table is written anew, behind the rest."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = bytearray(file.read())
        self.header = list(HEADER.unpack_from(self.bytes))
        self.sections = [dict(zip(SECTION_FIELDS, SECTION.unpack_from(self.bytes, self.header[TABLE_AT] + i * SECTION.size)))
                         for i in range(self.header[COUNT])]
        names = self.contents(self.sections[self.header[NAMES]])
        self.names = [names[s["name"]:names.index(b"\0", s["name"])].decode() for s in self.sections]

    def contents(self, section):
        return bytes(self.bytes[section["offset"]:section["offset"] + section["size"]])

    def section(self, name):
        return self.sections[self.names.index(name)]

    def append(self, data):
        self.bytes += bytes(-len(self.bytes) % 4096)
        at = len(self.bytes)
        self.bytes += data
        return at

    def save(self, path, length=None, last=None, count=None):
        """`length`: with a hole up to there. `last`: the section that begins behind the others and has all of the hole.
        `count`: so many sections, as the first one's size says it."""
        self.header[TABLE_AT] = self.append(bytes(SECTION.size * len(self.sections)))
        if last:
            section = self.section(last)
            section["offset"] = self.append(self.contents(section))
            section["size"] = length - section["offset"]
        if count:
            self.header[COUNT] = 0
            self.sections[0]["size"] = count
        HEADER.pack_into(self.bytes, 0, *self.header)
        for i, section in enumerate(self.sections):
            SECTION.pack_into(self.bytes, self.header[TABLE_AT] + i * SECTION.size, *(section[f] for f in SECTION_FIELDS))
        with open(path, "wb") as file:
            file.write(self.bytes)
            if length:
                file.truncate(length)
