"""A file of some KiB that is 4 TiB long, with tables as long, is read for what is there, or refused, in the memory that a
file of its true length takes; the program that it is goes on and is traced."""
import os
import subprocess
import sys

from attached import Target
from elf_files import SECTION, Elf
from kevtest import KEVTRACE, ProcessTest, TIMEOUT_S, _prepared, main

PROGRAM = os.path.join(os.environ["KEVT_HOSTILE"], "maps_file")
LENGTH = 4 << 40
MORE_KIB = 48 << 10  # than of the file as it was


class Sparse(ProcessTest):
    def measured(self, *words):
        """Status, what it said, and the largest memory of it or a child in KiB."""
        out, err = self.path("out"), self.path("err")
        with open(out, "wb") as out_file, open(err, "wb") as err_file:
            process = subprocess.Popen([KEVTRACE, *words], stdout=out_file, stderr=err_file, **_prepared({}))
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        with open(out, "rb") as out_file, open(err, "rb") as err_file:
            return process.returncode, out_file.read() + err_file.read(), usage.ru_maxrss

    def sparse(self, name, **how):
        path = self.path(name)
        try:
            Elf(PROGRAM).save(path, LENGTH, **how)
        except OSError as error:
            self.skipTest(f"no file of 4 TiB here: {error}")
        os.chmod(path, 0o755)
        self.assertLess(os.stat(path).st_blocks * 512, 4 << 20)
        return path

    def ask(self, words, file, define="p:t ticked n=%di:s64"):
        """The same of the program as it was and of the file."""
        for name in (PROGRAM, file):
            status, said, kib = self.measured(*(word.format(FILE=name, DEFINE=define) for word in words))
            if name == PROGRAM:
                limit, expected = kib + MORE_KIB, status
        print(f"{self.id()} {words[0]} {os.path.basename(file)}: {kib} KiB, limit {limit}", flush=True)
        self.assertGreaterEqual(status, 0, said)
        self.assertLess(status, 128, said)
        self.assertLess(kib, limit, said)
        return status == expected, said

    def check_all(self, file, define="p:t ticked n=%di:s64", is_answered=True):
        for words in (("list", "ticked", "{FILE}"), ("list", "-v", "ticked", "{FILE}"),
                      ("run", "-c", "5", "-e", "{DEFINE}", "--", "{FILE}"),
                      ("explain", "-e", "{DEFINE}", "--", "{FILE}"),
                      ("run", "--stack", "-c", "5", "-e", "{DEFINE}", "--", "{FILE}")):
            with self.subTest(words=words):
                answered, said = self.ask(words, file, define)
                if is_answered:
                    self.assertTrue(answered, said)
                    self.assertIn(b"ticked" if words[0] != "run" else b"n=0", said)

    def test_symbols(self):
        self.check_all(self.sparse("symbols", last=".symtab"))

    def test_dynamic_symbols(self):
        self.check_all(self.sparse("dynamic", last=".dynsym"))

    def test_names(self):
        self.check_all(self.sparse("names", last=".strtab"))

    def test_sections(self):
        """Their count is not believed; without sections the program has no names but exported ones."""
        self.check_all(self.sparse("sections", count=LENGTH // SECTION.size), is_answered=False)

    def test_frames(self):
        self.check_all(self.sparse("frames", last=".eh_frame"))

    def test_notes(self):
        self.check_all(self.sparse("notes", last=".note.gnu.build-id"))

    def test_debug_information(self):
        """A definition that names an argument asks for it."""
        for section in (".debug_info", ".debug_str", ".debug_abbrev"):
            self.check_all(self.sparse("debug" + section, last=section), "p:t ticked number", is_answered=False)

    def test_attached(self):
        file = self.sparse("attached", last=".symtab")
        target = Target(self, [file])
        status, said, kib = self.measured("run", "-c", "5", "-e", "p:t ticked n=%di:s64", "--pid", str(target.pid))
        self.assertEqual(status, 0, said)
        self.assertIn(b" t: ", said)
        print(f"attached: {kib} KiB", flush=True)
        before = int(target.ask(b"counts")[0])
        while int(target.ask(b"counts")[0]) <= before:
            pass
        target.process.stdin.close()
        self.assertEqual(target.process.wait(TIMEOUT_S), 0)

    def test_a_mapped_file(self):
        """4 TiB of the target's address space, and a definition that names a function in them."""
        file, short = self.sparse("long.so", last=".symtab"), self.path("short.so")
        Elf(PROGRAM).save(short)
        kibs = []
        for mapped in (short, file):
            status, said, kib = self.measured("run", "-c", "1", "--keep-going", "-e", "p:t maps_file:ticked n=%di:s64", "-e",
                                              f"p:u {os.path.basename(mapped)}:ticked", "--", PROGRAM, mapped)
            self.assertIn(status, (0, 2), said)  # 2: the program has no room for it
            self.assertIn(b"n=0", said)
            kibs.append(kib)
        self.assertLess(kibs[1], kibs[0] + MORE_KIB)

if __name__ == "__main__":
    if not os.path.exists(PROGRAM):
        print("SKIPPED: maps_file is not built")
        sys.exit(77)
    main()
