"""Files that are not what their names say any more: built again while they run, in a mount namespace, behind a chroot."""
import os
import shutil
import subprocess

from attached import Attached, Target
from kevtest import KEVTRACE, PROGRAMS, TIMEOUT_S, main

BRIEF = os.path.join(PROGRAMS, "brief")
LEAF = "p:lf leaf n=%di:s32"
CALLS = 20


class Waiting(Target):
    """`brief N wait`: a line in, N calls of leaf()."""

    def calls(self):
        self.tell(b"go")
        self.expect(b"done")


class ReplacedFiles(Attached):
    def program(self, command, **options):
        return Waiting(self, command, **options)

    def check_traced(self, target, *definitions, place=None):
        tracer = self.start([target.pid], *definitions)
        target.calls()
        traced = self.stop(tracer, definitions)
        self.assertEqual([r["n"] for r in traced.records("lf")], list(range(CALLS)))
        if place:
            self.assertIn(place, traced.records("lf")[0].place)
        return traced

    def check_stack(self, target):
        path = self.path("stack.folded")
        tracer = subprocess.Popen([KEVTRACE, "run", "--stack", "-c", str(CALLS), "-o", path, "-e", LEAF, "--pid",
                                   str(target.pid)], stderr=subprocess.PIPE, text=True)
        self.addCleanup(tracer.wait)
        self.addCleanup(tracer.stderr.close)
        self.assertIn("lf: jump", tracer.stderr.readline())
        target.calls()
        self.assertEqual(tracer.wait(TIMEOUT_S), 0)
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(len(lines), 1, lines)
        frames, count = lines[0].rsplit(" ", 1)
        self.assertEqual(int(count), CALLS)
        self.assertEqual(frames.split(";")[-3:], ["main", "outer", "leaf"])

    def copy(self, name="brief"):
        path = self.path(name)
        shutil.copy(BRIEF, path)
        return path

    def test_a_program_that_was_built_again_while_it_runs(self):
        path = self.copy()
        target = self.program([path, str(CALLS), "wait"])
        os.unlink(path)
        shutil.copy("/bin/true", path)
        self.check_traced(target, LEAF)
        self.check_traced(target, "p:lf brief:leaf n=%di:s32", place="leaf+0x0/")
        self.check_stack(target)
        self.assertEqual(target.end(), 0)

    def test_a_program_that_was_deleted(self):
        path = self.copy()
        target = self.program([path, str(CALLS), "wait"])
        os.unlink(path)
        self.check_traced(target, LEAF)
        self.check_stack(target)
        self.assertEqual(target.end(), 0)

    def test_an_offset_is_one_of_the_new_file(self):
        path = self.copy()
        target = self.program([path, str(CALLS), "wait"])
        os.unlink(path)
        shutil.copy("/bin/true", path)
        done = subprocess.run([KEVTRACE, "run", "-d", "1", "-e", f"p:lf {path}:0x1200", "--pid", str(target.pid)],
                              capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertNotIn("lf: jump", done.stderr)
        self.assertNotIn("lf: int3", done.stderr)
        self.assertEqual(target.end(), 0)

    def test_a_file_in_a_mount_namespace(self):
        """A tmpfs that no other process sees, over a folder with another program of that name."""
        folder = self.path("place")
        os.mkdir(folder)
        shutil.copy("/bin/true", os.path.join(folder, "brief"))
        script = 'mount -t tmpfs none "$1" && cp "$2" "$1/brief" && exec "$1/brief" "$3" wait'
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", folder, BRIEF, str(CALLS)]
        if subprocess.run(command[:4] + ["mount", "-t", "tmpfs", "none", folder], capture_output=True).returncode != 0:
            self.skipTest("no mount namespace may be made here")
        target = self.program(command)
        self.check_traced(target, LEAF)
        self.check_traced(target, "p:lf brief:leaf n=%di:s32")
        self.check_stack(target)
        self.assertEqual(target.end(), 0)

    def test_what_was_mounted_over_later(self):
        """The file is in the process's namespace, and no name leads to it any more."""
        folder = self.path("place")
        os.mkdir(folder)
        script = 'mount -t tmpfs none "$1" && cp "$2" "$1/brief" && { "$1/brief" "$3" wait & mount -t tmpfs none "$1"; wait; }'
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", folder, BRIEF, str(CALLS)]
        if subprocess.run(command[:4] + ["mount", "-t", "tmpfs", "none", folder], capture_output=True).returncode != 0:
            self.skipTest("no mount namespace may be made here")
        script = script.replace(
            '"$1/brief" "$3" wait &', """exec 3<&0; sh -c 'echo "pid $$"; exec "$@"' sh "$1/brief" "$3" wait <&3 &
            until grep -q "$1/brief" /proc/$!/maps; do :; done;""")
        command[command.index("-c") + 1] = script
        shell = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(shell.communicate)
        pid = int(shell.stdout.readline().split()[1])
        self.assertEqual(shell.stdout.readline(), b"ready\n")
        with open(f"/proc/{shell.pid}/mountinfo", "rb") as mounts:
            while mounts.read().count(folder.encode()) < 2:  # the second one is there
                mounts.seek(0)
        tracer = self.start([pid], LEAF)
        shell.stdin.write(b"go\n")
        shell.stdin.flush()
        self.assertEqual(shell.stdout.readline(), b"done\n")
        self.assertEqual(len(self.stop(tracer, (LEAF,)).records("lf")), CALLS)

    def test_what_nobody_may_read_says_so(self):
        """Without capabilities a deleted program is still read by /proc/PID/exe."""
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv")
        if open("/proc/sys/kernel/yama/ptrace_scope").read().strip() != "0" \
                if os.path.exists("/proc/sys/kernel/yama/ptrace_scope") else False:
            self.skipTest("ptrace is root's here")
        os.chmod(self.folder, 0o755)
        path = self.copy()
        drop = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all",
                "--bounding-set=-all", "--"]
        target = self.program(drop + [path, str(CALLS), "wait"])
        os.unlink(path)
        done = subprocess.run(drop + [KEVTRACE, "run", "-d", "0.2", "-e", LEAF, "--pid", str(target.pid)],
                              capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("lf: jump", done.stderr)
        self.assertEqual(target.end(), 0)


if __name__ == "__main__":
    main()
