"""Small recordings that promise to become endless: whoever reads one ends soon, in little memory, and says what was left out."""
import json
import os
import resource
import struct
import subprocess
import unittest

import dat_bytes as dat
from kevtest import KEVTRACE, ProcessTest, main

GUI = os.path.join(os.path.dirname(KEVTRACE), "kevtrace-gui")
MOST_MIB = 256  # resident, of a program that has LLVM in it
MOST_GUI_MIB = 512
NET_CPU_S = 120  # what ends a reader that does not end by itself; nothing is asserted about times
NET_BYTES = 6 << 30
MOST_PROBLEMS = 101


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (NET_BYTES, NET_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (NET_CPU_S, NET_CPU_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Done:
    def __init__(self, command, folder, **env):
        with open(os.path.join(folder, "out"), "wb") as out, open(os.path.join(folder, "err"), "w+b") as err:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=limited,
                                       env=os.environ | env)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            err.seek(0)
            self.err = err.read(1 << 20).decode(errors="replace")
        self.command, self.status, self.mib = command, process.returncode, used.ru_maxrss / 1024
        self.out_bytes = os.path.getsize(out.name)
        with open(out.name, "rb") as text:
            self.out = text.read(1 << 20).decode(errors="replace")

    def __str__(self):
        return f"{self.command}: status {self.status}, {self.mib:.0f} MiB, {self.out_bytes} bytes out\n{self.err[:2000]}"


class RecordingBombs(ProcessTest):
    def ask(self, *words):
        done = Done([KEVTRACE, *words], self.folder)
        print(f"{self.id().split('.')[-1]}: {words[0]}: {done.mib:.0f} MiB, {done.out_bytes} bytes", flush=True)
        self.assertIn(done.status, (0, 1), done)
        self.assertLess(done.mib, MOST_MIB, done)
        return done

    def ask_all(self, path, *expected, verbs=("report", "stat", "hist", "diff", "convert")):
        """All consumers end, in bounded memory, and say each of `expected`; what `report` did."""
        words = {"report": ["report", path], "stat": ["stat", path], "hist": ["hist", "tick.v", "by", "pid", "-i", path],
                 "diff": ["diff", path, path, "--field", "tick.v"], "convert": ["convert", path, self.path("converted.json")],
                 "lat": ["lat", "tick", "tick", "by", "v", "-i", path], "count": ["count", "-i", path]}
        reported = None
        for verb in verbs:
            done = self.ask(*words[verb])
            reported = reported or done
            for text in expected:
                self.assertRegex(done.err, text, done)
            self.assertLessEqual(len(done.err.splitlines()), 2 * MOST_PROBLEMS, done.err[:2000])
            self.assertLess(len(done.err), 100_000)
        self.look(path)
        return reported

    def look(self, path):
        """The window's loader, without a screen."""
        if not os.path.exists(GUI):
            return
        picture = self.path("shot.png")
        done = Done([GUI, path, "--screenshot", picture, "-platform", "offscreen"], self.folder, XDG_RUNTIME_DIR=self.folder,
                    XDG_CONFIG_HOME=self.folder, HOME=self.folder)
        print(f"{self.id().split('.')[-1]}: window: {done.mib:.0f} MiB", flush=True)
        self.assertEqual(done.status, 0, done)
        self.assertLess(done.mib, MOST_GUI_MIB, done)
        self.assertTrue(os.path.exists(picture))

    def file(self, bytes_, name="bomb.dat"):
        print(f"{self.id().split('.')[-1]}: {len(bytes_)} bytes", flush=True)
        return self.path(name, bytes_)

    def with_records(self, file, formats=(dat.FORMAT,)):
        """(sections, buffer) of a small right recording in `file`."""
        sections = [(dat.EVENT_FORMATS, file.section(dat.EVENT_FORMATS, dat.event_formats(formats)))]
        return sections, file.buffer([(0, *file.packed_cpu([dat.full_page(1000)]))])

    def test_a_right_one_is_read(self):
        file = dat.Seven()
        sections, buffer = self.with_records(file)
        done = self.ask("report", self.file(file.finish(sections, [buffer])))
        self.assertEqual(done.status, 0, done)
        self.assertEqual(len(done.out.splitlines()), 204, done.out[:500])

    def test_8192_cpus_on_one_chunk(self):
        file = dat.Seven()
        sections, _ = self.with_records(file)
        offset, size = file.packed_cpu([dat.full_page(1000) * 1024])
        path = self.file(file.finish(sections, [file.buffer([(cpu, offset, size) for cpu in range(8192)])]))
        done = self.ask_all(path, r"CPU 1's data .*overlap.* CPU 0's data", r"… and \d+ more")
        self.assertEqual(done.status, 1, done)
        self.assertIn("tick: v=203", done.out)  # what the first one has

    def test_version_6_with_8192_cpus_on_one_area(self):
        pages = dat.full_page(1000) * 256
        at = len(dat.six([dat.FORMAT], [(0, 0)] * 8192))
        path = self.file(dat.six([dat.FORMAT], [(at, len(pages))] * 8192) + pages)
        done = self.ask_all(path, r"CPU 1's data .*overlap.* CPU 0's data", r"… and \d+ more")
        self.assertIn("tick: v=203", done.out)

    def test_areas_that_begin_inside_others(self):
        """In turn: in the head, in another CPU's, in a section, around all of it."""
        pages = dat.full_page(1000) * 4
        at = len(dat.six([dat.FORMAT], [(0, 0)] * 4))
        bytes_ = dat.six([dat.FORMAT], [(at, len(pages)), (64, 64), (at + 4096, 4096), (at - 1, 8192)]) + pages
        done = self.ask_all(self.file(bytes_), r"CPU 1's data .*overlap.* the head", r"CPU 2's data .*overlap.* CPU 0's data",
                            r"CPU 3's data .*overlap", verbs=("report",))
        self.assertEqual(done.out.count("tick: v="), 4 * 204)
        file = dat.Seven()
        sections, _ = self.with_records(file)
        data = file.packed_cpu([dat.full_page(1000)])
        bytes_ = file.finish(sections, [file.buffer([(0, *data), (1, sections[0][1], 64), (2, 16, 8)])])
        done = self.ask_all(self.file(bytes_), r"CPU 1's data .*overlap.* section 18", r"CPU 2's data .*overlap.* the head",
                            verbs=("report",))
        self.assertEqual(done.out.count("tick: v="), 204)

    def test_one_section_named_a_million_times(self):
        file = dat.Seven()
        sections, buffer = self.with_records(file)
        kallsyms = struct.pack("<I", 6279) + b"%16x T abc\n" % 1 * 273
        again = dat.named(*sections[0]) + dat.named(dat.KALLSYMS, file.section(dat.KALLSYMS, kallsyms))
        done = self.ask_all(self.file(file.finish(sections, [buffer], more=again * 100_000)),
                            r"section 18 .* overlaps section 18", r"… and \d+ more")
        self.assertIn("tick: v=203", done.out)
        file = dat.Seven()
        sections, buffer = self.with_records(file)
        again = dat.named(*sections[0]) * 1_000_000
        done = self.ask_all(self.file(file.finish(sections, [buffer], more=again)), r"section 0 is not unpacked: .* 256 times")
        self.assertEqual(done.status, 1, done)

    def test_problems_without_end(self):
        file = dat.Seven()
        sections, buffer = self.with_records(file)
        nowhere = file.buffer([(cpu, 1 << 60, 1) for cpu in range(8192)])
        path = self.file(file.finish(sections, [buffer] + [nowhere] * 40))
        done = self.ask_all(path, r"CPU 0: its data begin at byte 1152921504606846976", r"… and \d+ more")
        self.assertIn("tick: v=203", done.out)

    def test_nothing_but_names(self):
        """Symbols and tasks in packed sections: every six bytes are to become an object."""
        for number, text in ((dat.KALLSYMS, b"".join(b"%x T a\n" % i for i in range(1, 1 << 22))),
                             (dat.CMDLINES, b"".join(b"%d a\n" % i for i in range(1 << 22))),
                             (dat.EVENT_FORMATS, None)):
            with self.subTest(section=number):
                file = dat.Seven()
                sections, buffer = self.with_records(file)
                plain = dat.event_formats([b""] * (1 << 22)) if text is None else struct.pack(
                    "<I" if number == dat.KALLSYMS else "<Q", len(text)) + text
                sections.append((number, file.section(number, plain)))
                self.ask_all(self.file(file.finish(sections, [buffer])), verbs=("report", "stat"))

    def test_pages_without_end_in_few_bytes(self):
        file = dat.Seven()
        sections, _ = self.with_records(file)
        data = file.packed_cpu([bytes(16 << 20)] * 64 + [dat.full_page(1000)])  # a gibibyte of empty pages in 35 KB
        path = self.file(file.finish(sections, [file.buffer([(0, *data)])]))
        done = self.ask_all(path, r"unpack.* 256 times")
        self.assertEqual(done.status, 1)

    def test_pages_that_are_all_unpacked_at_once(self):
        file = dat.Seven()
        sections, _ = self.with_records(file)
        chunk = dat.full_page(1000) * 4096
        cpus = [(cpu, *file.packed_cpu([chunk])) for cpu in range(200)]
        path = self.file(file.finish(sections, [file.buffer(cpus)]))
        self.ask_all(path, r"unpack", verbs=("report", "stat"))

    def test_pages_of_a_mebibyte_on_8192_cpus(self):
        file = dat.Seven(page=1 << 20)
        sections, _ = self.with_records(file)
        at = len(file.bytes)
        buffer = file.buffer([(cpu, at + (1 << 20) * (cpu + 1), 1 << 20) for cpu in range(8192)], is_packed=False)
        path = self.file(file.finish(sections, [buffer]))
        os.truncate(path, 8194 << 20)
        done = self.ask_all(path, verbs=("report", "stat"))
        self.assertEqual(done.status, 0, done)  # holes are pages without a record

    def test_a_hole_of_terabytes(self):
        head = dat.six([dat.FORMAT], [(1 << 20, 8 << 40)])
        path = self.file(head)
        with open(path, "r+b") as file:
            file.truncate((8 << 40) + (1 << 20))
            file.seek((4 << 40) + (1 << 20))
            file.write(dat.full_page(1000))
        done = self.ask_all(path)
        self.assertEqual(done.status, 0, done)
        self.assertEqual(done.out.count("tick: v="), 204)

    def test_a_head_that_goes_on_in_a_hole(self):
        head = dat.six([dat.FORMAT], [(0, 0)], kallsyms=b"")
        at = head.index(struct.pack("<I", 1) + b"test\0" + struct.pack("<I", 1))
        path = self.file(head[:at] + struct.pack("<I", 1) + b"test\0" + struct.pack("<I", 0xffffffff))
        os.truncate(path, 8 << 40)
        done = self.ask("report", path)
        self.assertEqual(done.status, 1, done)
        self.assertIn("cannot be read", done.err)

    def test_ndjson_with_a_hole_of_terabytes(self):
        lines = [{"v": 1, "type": "header", "cpus": 1},
                 {"v": 1, "type": "format", "system": "test", "event": "tick", "id": 20000, "format": dat.FORMAT.decode()}]
        event = {"v": 1, "type": "event", "ts": 1, "cpu": 0, "pid": 7, "comm": "x", "event": "test:tick", "fields": {"v": 5}}
        text = b"".join(json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in [*lines, event])
        path = self.file(text, "bomb.json")
        with open(path, "r+b") as file:
            file.seek(8 << 40)
            file.write(b"\n" + json.dumps(event, separators=(",", ":")).encode() + b"\n")
        done = self.ask_all(path, r"byte \d+: a line is no JSON object", verbs=("report", "stat"))
        self.assertEqual(done.out.count("tick: v=5"), 2)

    def test_ndjson_with_a_symbol_in_every_line(self):
        fields = "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
        text = dat.event_format(fields=fields.encode(), printed=b'"(%lx)", REC->__probe_ip').decode()
        head = [{"v": 1, "type": "header", "cpus": 1},
                {"v": 1, "type": "format", "system": "test", "event": "tick", "id": 20000, "format": text}]
        lines = [json.dumps(one, separators=(",", ":")) for one in head]
        for i in range(60_000):
            address = (0x10000000 - i) * 16
            lines.append('{"v":1,"type":"event","ts":%d,"pid":7,"comm":"x","event":"test:tick","ip":"f%d+0x0/0x8","fields":'
                         '{"__probe_ip":%d}}' % (i, i, address))
        done = self.ask("report", self.file("\n".join(lines).encode(), "bomb.json"))
        self.assertEqual(done.status, 0, done)
        self.assertIn("(f7+0x0/0x8)", done.out)

    def test_a_print_format_that_fills_memory(self):
        printed = b'"' + b"%65535Lu" * 3000 + b'"' + b", REC->v" * 3000
        file = dat.Seven()
        sections, buffer = self.with_records(file, [dat.event_format(printed=printed)])
        done = self.ask_all(self.file(file.finish(sections, [buffer])), verbs=("report",))
        self.assertLess(done.out_bytes, 32 << 20, done)

    def test_a_print_format_of_a_mebibyte(self):
        """Each of 160,000 records in 1 KB is to print it."""
        file = dat.Seven()
        formats = [dat.event_format(printed=b'"' + b"a" * 1_000_000 + b'%Lu", REC->v')]
        sections = [(dat.EVENT_FORMATS, file.section(dat.EVENT_FORMATS, dat.event_formats(formats)))]
        path = self.file(file.finish(sections, [file.buffer([(0, *file.packed_cpu([dat.full_page(1000) * 800]))])]))
        done = self.ask_all(path, r"more work than a file of \d+ bytes may cause", verbs=("stat", "report"))
        self.assertEqual(done.status, 1, done)
        self.assertLess(self.ask("report", path).out_bytes, 512 << 20)

    def test_fields_that_fill_memory(self):
        """Each of 1,000 fields is said to be 64 KiB of numbers, or all of the record again."""
        for name, line in (("fixed", b"\tfield:u8 f%d[65528];\toffset:8;\tsize:65528;\tsigned:0;\n"),
                           ("located", b"\tfield:__data_loc char[] f%d;\toffset:8;\tsize:4;\tsigned:0;\n")):
            with self.subTest(name):
                file = dat.Seven(page=65536)
                fields = b"".join(line % i for i in range(1000))
                formats = dat.event_formats([dat.event_format(fields=fields, printed=b'"%s", nobody(knows)'), dat.FORMAT])
                sections = [(dat.EVENT_FORMATS, file.section(dat.EVENT_FORMATS, formats))]
                long = struct.pack("<HBBiI", 20000, 0, 0, 7, 60000 << 16 | 12) + b"A" * 60000
                page = struct.pack("<QQII", 1000, len(long) + 8, 0, len(long) + 4) + long
                cpu = file.packed_cpu([page.ljust(65536, b"\0")] * 50)
                path = self.file(file.finish(sections, [file.buffer([(0, *cpu)])]))
                for words in (["report", path], ["stat", path], ["convert", path, self.path("converted.json")]):
                    done = self.ask(*words)
                    self.assertLess(done.out_bytes, 1 << 30, done)

    def test_as_many_groups_as_records(self):
        """A histogram of large numbers for each of 100,000 values of another field."""
        file = dat.Seven()
        sections = [(dat.EVENT_FORMATS, file.section(dat.EVENT_FORMATS, dat.event_formats([dat.FORMAT])))]
        pages = [dat.ring_page(1000 + i, [dat.record(~(i * 204 + j) % 2**64, pid=i * 204 + j) for j in range(204)])
                 for i in range(500)]
        path = self.file(file.finish(sections, [file.buffer([(0, *file.packed_cpu([b"".join(pages)]))])]))
        for words in (["hist", "tick.v", "by", "pid", "-i", path], ["lat", "tick", "tick", "by", "v", "-i", path],
                      ["stat", path]):
            self.assertEqual(self.ask(*words).status, 0)


if __name__ == "__main__":
    main()
