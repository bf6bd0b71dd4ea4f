"""What a file or a target names is opened as a regular file or not at all: FIFOs, sockets, devices and directories are
mistakes that are said, and nobody waits for them."""
import os
import re
import shutil
import socket
import subprocess
import sys

from attached import Target
from kevtest import KEVTRACE, ProcessTest, main, plain

PROGRAM = os.path.join(os.environ["KEVT_HOSTILE"], "maps_file")
NAMED = "p:t ticked number"  # the argument's name is looked up in debug information


class FifoDebuglink(ProcessTest):
    def linked(self, make):
        """The program without debug information and with a link to it; `make` puts there what the link names."""
        debug, program = self.path("program.debug"), self.path("program")
        subprocess.run(["objcopy", "--only-keep-debug", PROGRAM, debug], check=True)
        subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", PROGRAM, program], check=True)
        os.rename(debug, self.path("kept"))
        make(debug)
        return program

    def trace(self, program, definition=NAMED):
        return plain([KEVTRACE, "run", "-c", "1", "-e", definition, "--", program])

    def test_the_link_is_followed(self):
        program = self.linked(lambda path: os.rename(self.path("kept"), path))
        status, out, err = self.trace(program)
        self.assertEqual(status, 0, err)
        self.assertIn(b"number=0", out)

    def test_what_is_no_regular_file_is_said(self):
        def as_socket(path):
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(path)

        for make, kind in ((os.mkfifo, b"a FIFO"), (os.mkdir, b"a directory"), (as_socket, b"a socket"),
                           (lambda path: os.symlink("/dev/zero", path), b"a device")):
            with self.subTest(kind=kind):
                program = self.linked(make)
                status, _, err = self.trace(program)
                self.assertEqual(status, 3, err)
                self.assertIn(b"program.debug` is not a regular file: it is " + kind, err)
                status, out, err = self.trace(program, "p:t ticked n=%di:s64")
                self.assertEqual(status, 0, err)
                self.assertIn(b"n=0", out)
                found = self.path("program.debug")
                os.rmdir(found) if os.path.isdir(found) and not os.path.islink(found) else os.unlink(found)

    def test_the_folder_for_debug_files(self):
        program = self.linked(lambda path: None)
        os.mkdir(self.path(".debug"))
        os.mkfifo(self.path(".debug/program.debug"))
        status, _, err = self.trace(program)
        self.assertEqual(status, 3, err)
        self.assertIn(b".debug/program.debug` is not a regular file: it is a FIFO", err)

    def test_a_file_that_the_command_line_names(self):
        os.mkfifo(self.path("fifo"))
        for name, kind in ((self.path("fifo"), b"a FIFO"), ("/dev/null", b"a device"), (self.folder, b"a directory")):
            status, _, err = plain([KEVTRACE, "list", "*", name])
            self.assertEqual(status, 1, err)
            self.assertIn(b"is not a regular file: it is " + kind, err)
            status, _, err = plain([KEVTRACE, "check", "-e", f"p:t {name}:0x10"])
            self.assertLess(status, 128, err)
            status, _, err = self.trace(PROGRAM, f"p:t {name}:0x10")
            self.assertEqual(status, 3, err)

    def test_a_mapped_file_whose_name_is_a_fifo_now(self):
        file = self.path("mapped.so")
        shutil.copy(PROGRAM, file)
        target = Target(self, [PROGRAM, file])
        os.rename(file, self.path("moved.so"))
        os.mkfifo(file)
        words = [KEVTRACE, "run", "-c", "5", "--keep-going", "--stack", "-e", "p:own maps_file:ticked n=%di:s64", "-e",
                 "p:u mapped.so:ticked", "--pid", str(target.pid)]
        status, out, err = plain(words)
        self.assertEqual(status, 0, err)
        self.assertEqual(len(re.findall(rb" own: ", out)), 5, err)
        target.wait_for_ticks()

    def test_a_split_file(self):
        """libdw would look for the other half of the debug information by the name in it."""
        if not shutil.which("gcc"):
            self.skipTest("no compiler here")
        source = self.path("split.c", b"__attribute__((noinline)) long split(long number) { return number + 1; }\n"
                                      b"int main(int count, char** names) { (void)names; return split(count) != 2; }\n")
        done = subprocess.run(["gcc", "-g", "-gsplit-dwarf", "-O1", "-o", self.path("split"), source], cwd=self.folder)
        self.assertEqual(done.returncode, 0)
        found = [name for name in os.listdir(self.folder) if name.endswith(".dwo")]
        self.assertEqual(len(found), 1, found)
        os.unlink(self.path(found[0]))
        os.mkfifo(self.path(found[0]))
        status, _, err = self.trace(self.path("split"), "p:t split number")
        self.assertEqual(status, 3, err)


if __name__ == "__main__":
    if not os.path.exists(PROGRAM) or not shutil.which("objcopy"):
        print("SKIPPED: maps_file is not built, or objcopy is not installed")
        sys.exit(77)
    main()
