"""A container, of which the tracer is outside: numbers there name other processes and other files.

A process of the container that has the tracer's PID and a file of its own on low descriptors gets none of it mapped into
the container's root process. A process that shares its descriptor table and exchanges what is there while the tracer
prepares gets an error at worst. KEVT_ROUNDS (12 by itself) with KEVT_SEED.
"""
import os
import re
import signal
import subprocess

from attached import Target, read, wait_until
from kevtest import TIMEOUT_S, main
from tampered import HOSTILE, SHARED, Tampered, executable_files


class Contained:
    """A program that is root of a container, and who else is there."""

    def __init__(self, case, file):
        asks, answers = os.pipe(), os.pipe()
        self.to, self.answers = os.fdopen(asks[1], "wb", 0), os.fdopen(answers[0], "rb")
        case.addCleanup(self.to.close)
        case.addCleanup(self.answers.close)
        command = [os.path.join(HOSTILE, "contained"), str(asks[0]), str(answers[1]), file, SHARED, "none"]
        try:
            self.program = Target(case, command, pass_fds=(asks[0], answers[1]))
        finally:
            os.close(asks[0])
            os.close(answers[1])
        words = [self.answers.readline().split() for _ in range(2)]
        case.assertEqual([w[0] for w in words], [b"contained", b"begun"])
        init = int(words[0][1])
        self.pid = int(read(f"/proc/{init}/task/{init}/children").split()[0])

    def hold(self, pid):
        self.to.write(b"hold %d\n" % pid)
        return int(self.answers.readline().split()[1])


def memory_files_of(pid):
    """Inodes of the memory files that a process has open, by name."""
    found = {}
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            name = os.readlink(f"/proc/{pid}/fd/{fd}")
            if name.startswith("/memfd:kevtrace"):
                found.setdefault(name.split(" ")[0], set()).add(os.stat(f"/proc/{pid}/fd/{fd}").st_ino)
        except FileNotFoundError:
            pass
    return found


class Container(Tampered):
    def stopped_tracer(self, pid):
        """One that has been stopped before it has touched the program: (the process in front, the tracer)."""
        for _ in range(50):
            front, children = self.start_front(pid), []
            while not children and front.poll() is None:
                children = read(f"/proc/{front.pid}/task/{front.pid}/children").split()
            tracer = int(children[0])
            os.kill(tracer, signal.SIGSTOP)
            wait_until(lambda: re.search(rb"State:\s+[TtZ]", read(f"/proc/{tracer}/status")), "it stops")
            is_untouched = b"TracerPid:\t0\n" in read(f"/proc/{pid}/status")
            if is_untouched and b"memfd:kevtrace" not in read(f"/proc/{pid}/maps"):
                return front, tracer
            os.kill(tracer, signal.SIGCONT)
            front.send_signal(signal.SIGINT)
            front.communicate(timeout=TIMEOUT_S)
        raise AssertionError("no tracer could be stopped in time")

    def test_a_process_there_has_the_tracer_s_number(self):
        file = self.hostile_file()
        contained = Contained(self, file)
        front, tracer = self.stopped_tracer(contained.pid)
        self.assertEqual([contained.hold(n) for n in (front.pid, tracer)], [front.pid, tracer])
        os.kill(tracer, signal.SIGCONT)
        head = front.stderr.readline()
        self.assertTrue(head.startswith(b"kevtrace: runtime=inproc"), head)
        mapped = executable_files(contained.pid)
        self.assertEqual([name for _, name in mapped if "/hostile" in name], [])
        self.assertEqual({inode for inode, name in mapped if "memfd:" in name},
                         memory_files_of(tracer)["/memfd:kevtrace-code"])
        self.wait_for_records(50)
        front.send_signal(signal.SIGINT)
        err = front.communicate(timeout=TIMEOUT_S)[1]
        self.assertEqual(front.returncode, 0, err)
        self.assertEqual(contained.program.ask(b"counts")[1], b"0")
        contained.program.tell(b"end")

    def test_descriptors_are_exchanged_meanwhile(self):
        self.rounds("exchange", self.hostile_file())

    def test_a_full_socket_takes_the_place_of_ours(self):
        self.rounds("stuff")

    def test_a_socket_that_nobody_reads_takes_the_place_of_ours(self):
        self.rounds("hangup")


def can_have_containers():
    return subprocess.run(["/usr/bin/unshare", "-Urmpf", "--mount-proc", "true"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


if __name__ == "__main__":
    if not can_have_containers():
        print("no namespaces can be made here")
        raise SystemExit(77)
    main()
