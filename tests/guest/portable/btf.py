"""A small reader of BTF for tests: where a member of a structure lies. It shares nothing with the compiler's own.

Layout as in include/uapi/linux/btf.h: a header, types one behind the other, names.
"""
import struct
import sys

INT, ARRAY, STRUCT, UNION, ENUM, TYPEDEF, VOLATILE, CONST, FUNC_PROTO, VAR, DATASEC, DECL_TAG, ENUM64 = 1, 3, 4, 5, 6, 8, 9, 10, 13, 14, 15, 17, 19
BYTES_BEHIND = {INT: 4, ARRAY: 12, VAR: 4, DECL_TAG: 4}
BYTES_EACH = {STRUCT: 12, UNION: 12, ENUM: 8, FUNC_PROTO: 8, DATASEC: 12, ENUM64: 12}


class Btf:
    def __init__(self, path):
        with open(path, 'rb') as stream:
            data = stream.read()
        _, _, _, header, type_at, type_bytes, names_at, names_bytes = struct.unpack_from('<HBBIIIII', data)
        self.names = data[header + names_at:header + names_at + names_bytes]
        self.types = [None]  # (name, kind, members as (name, type, bits from the start, bits of a bit field), what follows)
        at, end = header + type_at, header + type_at + type_bytes
        while at < end:
            name, info, target = struct.unpack_from('<III', data, at)
            kind, count, with_sizes = info >> 24 & 0x1f, info & 0xffff, info >> 31
            at += 12
            members = []
            if kind in (STRUCT, UNION):
                for i in range(count):
                    member, its_type, offset = struct.unpack_from('<III', data, at + 12 * i)
                    bits = (offset & 0xffffff, offset >> 24) if with_sizes else (offset, 0)
                    members.append((member, its_type, *bits))
            self.types.append((name, kind, members, target))
            at += BYTES_BEHIND.get(kind, 0) + BYTES_EACH.get(kind, 0) * count

    def name(self, at):
        return self.names[at:self.names.index(0, at)].decode()

    def find(self, members, wanted):
        for name, its_type, offset, bits in members:
            if self.name(name) == wanted:
                return offset, bits, its_type
            if name == 0 and self.types[its_type][1] in (STRUCT, UNION):
                inner = self.find(self.types[its_type][2], wanted)
                if inner:
                    return (offset + inner[0], *inner[1:])
        return None

    def found(self, structure, wanted):
        for name, kind, members, _ in self.types[1:]:
            if kind == STRUCT and members and self.name(name) == structure:
                return self.find(members, wanted)
        return None

    def member(self, structure, wanted):
        """(bits from the start of `structure`, bits of a bit field or 0); None: there is none."""
        found = self.found(structure, wanted)
        return found and found[:2]

    def bytes(self, structure, wanted):
        """How many bytes an argument takes that names it: of an integer its own, of anything else a word."""
        at = self.found(structure, wanted)[2]
        while at and self.types[at][1] in (TYPEDEF, VOLATILE, CONST):
            at = self.types[at][3]
        return self.types[at][3] if at and self.types[at][1] == INT else 8


if __name__ == '__main__':
    files = [Btf(path) for path in sys.argv[2:]]
    for one in sys.argv[1].split(','):
        print(one, *(btf.member(*one.split('.')) for btf in files))
