"""What kevtrace says to somebody who asks for what a program does not have: it names what works instead."""
import os
import shutil
import struct
import subprocess
import tempfile

from kevtest import KEVTRACE, PROGRAMS, TIMEOUT_S, ProcessTest, main

BRIEF = os.path.join(PROGRAMS, "brief")

# mov $1, %eax; xor %ebx, %ebx; int $0x80: exit(0) of a 32-bit program.
EXIT_32 = b"\xb8\x01\x00\x00\x00\x31\xdb\xcd\x80"


def elf_32():
    """A program of 32 bits: its header, one segment, its code."""
    at, size = 0x08048000, 52 + 32 + len(EXIT_32)
    ident = b"\x7fELF\x01\x01\x01" + bytes(9)
    header = ident + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, at + 84, 52, 0, 0, 52, 32, 1, 40, 0, 0)
    return header + struct.pack("<IIIIIIII", 1, 0, at, at, size, size, 5, 0x1000) + EXIT_32


class Advice(ProcessTest):
    def refused(self, *definitions, status=3, command=(BRIEF, "1"), verb=("run",), words=()):
        events = [word for one in definitions for word in ("-e", one)]
        done = subprocess.run([KEVTRACE, *verb, *events, *words, "--", *command], capture_output=True, text=True,
                              timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def test_a_function_of_the_kernel(self):
        try:
            with open("/proc/kallsyms", encoding="utf-8") as names:
                if not any(line.split()[2] == "vfs_read" for line in names):
                    self.skipTest("kallsyms does not name vfs_read")
        except OSError:
            self.skipTest("no kallsyms")
        for definition in ("p vfs_read", "r:got vfs_read $retval", "p vfs_read count=%dx"):
            for verb, status in ((("run",), 3), (("explain",), 3), (("cost",), 3)):
                text = self.refused(definition, verb=verb, status=status)
                self.assertIn("no function `vfs_read`: it is a function of the kernel, which `--runtime bpf` and `--with-kernel` trace", text)
                self.assertNotIn("fts_read", text)
        self.assertIn("near it", self.refused("p brief:leef"))
        self.assertIn("near it", self.refused("p libc:vfs_read"), "who names a library means it")

    def test_kinds_of_events_that_programs_do_not_have(self):
        text = self.refused("f:x libc:malloc size=%di")
        self.assertIn("run in the kernel, by `--runtime bpf`; for a function of a program write `p libc:malloc`", text)
        self.assertIn("write `r libc:malloc`", self.refused("f:x libc:malloc%return"))
        for definition in ("t sched_switch", "w w@jiffies"):
            self.assertIn("run in the kernel, by `--runtime bpf`", self.refused(definition))

    def test_a_program_by_the_name_it_was_started_by(self):
        for name in ("shortcut", "a_name_longer_than_fifteen"):
            with tempfile.TemporaryDirectory() as folder:
                link = os.path.join(folder, name)
                os.symlink(BRIEF, link)
                done = subprocess.run([KEVTRACE, "count", "-q", "-e", f"p:m {name}:main", "--", link, "1"], capture_output=True, text=True, timeout=TIMEOUT_S)
                self.assertRegex(done.stdout, r"(?m)^kprobes:m +1 +1 ", done.stderr)
                self.assertIn("is not loaded: `other`", self.refused("p other:main", command=(link, "1")))
                script = os.path.join(folder, "runs_it")  # that is no name of its interpreter
                with open(script, "w") as file:
                    file.write("#!/bin/sh\n")
                os.chmod(script, 0o755)
                self.assertIn("is not loaded: `runs_it`", self.refused("p runs_it:main", command=(script,)))

    def test_a_place_alone(self):
        for place in ("open64", "libc:open64", "/bin/ls:0x1000", "printf"):
            text = self.refused(place)
            self.assertIn(f"`p {place}` at the function's entry, `r {place}` at its return", text)
        self.assertIn(" `p libc:open64` ", self.refused("libc:open64 path=+0(%di):string"))

    def test_names_of_arguments_are_not_a_matter_of_btf(self):
        """`total` of a function that is not loaded, and at an offset in a file."""
        for definition in ("p:a libnosuch.so:f total", f"p:a {BRIEF}:0x1200 total"):
            text = self.refused(definition)
            self.assertNotIn("needs types (BTF)", text)
            self.assertIn("`%di`", text)
        self.assertIn("debug information", self.refused("p:a libnosuch.so:f total"))

    def test_a_program_of_32_bits(self):
        path = self.path("old", elf_32())
        os.chmod(path, 0o755)
        try:
            self.assertEqual(subprocess.run([path], timeout=TIMEOUT_S).returncode, 0)
        except OSError:
            self.skipTest("this kernel runs no 32-bit programs")  # and a shell reads the file as its script
        for definition in ("p:a _start", "p:a /bin/ls:0x1000"):
            text = self.refused(definition, command=(path,), status=4)
            self.assertIn("old is a 32-bit program: in process only x86-64 can be traced; `--runtime bpf`", text)
            self.assertNotIn("thread control block", text)
        followed = subprocess.run([KEVTRACE, "run", "--follow-forks", "-e", "p:a libc:malloc", "--", "/bin/sh", "-c", path],
                                  capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertIn("32-bit program", followed.stderr)
        self.assertEqual(followed.returncode, 0, followed.stderr)

    def test_a_definition_for_a_file_that_may_not_be_read(self):
        """A library that was deleted: without the capability its names are gone, and that is what is said."""
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv")
        os.chmod(self.folder, 0o755)
        library = self.path("gone.so")
        shutil.copy(os.path.join(PROGRAMS, "brief_library.so"), library)
        drop = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--bounding-set=-all", "--"]
        code = f"import ctypes, sys\nctypes.CDLL({library!r})\nprint('ready', flush=True)\nsys.stdin.read()"
        target = subprocess.Popen(drop + ["/usr/bin/python3", "-S", "-c", code], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        try:
            self.assertEqual(target.stdout.readline(), b"ready\n")
            os.unlink(library)
            done = subprocess.run(drop + [KEVTRACE, "run", "-d", "1", "-e", "p:a gone:call_back", "--pid", str(target.pid)],
                                  capture_output=True, text=True, timeout=TIMEOUT_S)
        finally:
            target.communicate()
        if "ptrace_scope" in done.stderr:
            self.skipTest("ptrace is root's here")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(f"`{library}`, as it is mapped, cannot be read: it was deleted or replaced; as root", done.stderr)


if __name__ == "__main__":
    main()
