"""A mount that begins with definitions: of the command line, of scripts, of compiled scripts, with injections."""
import os
import shutil
import signal
import subprocess

from kevtest import KEVTRACE, main
from mounted import PlaceTest, is_mounted, wait_until

OPENS = "p:op libc:open64 path=+0(%di):string"
SCRIPT = OPENS + '\n  filter path ~ "/etc/*"\n  trigger traceoff:1 if path == "/etc/passwd"\n'
HOSTS = "open('/etc/hosts').close()"
TWICE = f"{HOSTS}; open('/etc/passwd').close(); {HOSTS}"


class Defined(PlaceTest):
    def mount(self, *words, code, kevtrace=KEVTRACE):
        """A mount of a python3 that runs `code`; it stays when that has ended."""
        self.mounted = subprocess.Popen([kevtrace, "mount", self.dir, "--keep", *words, "--", "/usr/bin/python3", "-S", "-c", code],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        wait_until(lambda: is_mounted(self.dir) or self.mounted.poll() is not None, "the mount")
        if self.mounted.poll() is not None and "libfuse" in (said := self.mounted.stderr.read()):
            self.skipTest("cannot mount here: " + said)

    def end(self):
        if self.mounted.poll() is None:
            self.mounted.send_signal(signal.SIGINT)
            self.mounted.wait(timeout=30)
        for stream in (self.mounted.stdin, self.mounted.stdout, self.mounted.stderr):
            stream.close()
        subprocess.run(["umount", "-l", self.dir], stderr=subprocess.DEVNULL)

    def recorded(self):
        return [line.split('path="')[1].rstrip('"') for line in self.cat("trace").splitlines() if " op: " in line]

    def await_end(self):
        said = ""
        for line in self.mounted.stderr:
            said += line
            if "has ended" in line:
                return said
        self.fail("the command did not end: " + said)

    def script(self, text):
        path = os.path.join(self.folder, "s.kev")
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_a_script_is_on_from_the_first_instruction(self):
        self.mount("-p", self.script(SCRIPT), code=TWICE)
        self.await_end()
        self.assertEqual(self.recorded(), ["/etc/hosts", "/etc/passwd"])
        self.assertEqual(self.cat("events/kprobes/op/filter"), 'path ~ "/etc/*"\n')
        self.assertIn('traceoff:count=0 if path == "/etc/passwd"', self.cat("events/kprobes/op/trigger"))
        self.assertEqual(self.cat("tracing_on"), "0\n")
        self.assertIn("op libc:open64", self.cat("kprobe_events"))

    def test_how_a_script_wants_it_recorded(self):
        self.mount("-p", self.script("option stack 1\noption overwrite 0\noption event-pid 1\noption duration 5\n" + OPENS + "\n"), code=HOSTS)
        said = self.await_end()
        self.assertEqual([self.cat(name) for name in ("options/userstacktrace", "options/overwrite", "set_event_pid")], ["1\n", "0\n", "1\n"])
        self.assertEqual(self.recorded(), [])
        self.assertIn("`duration` is for `kevtrace run`", said)
        self.assertNotIn("`stack` is for", said)

    def test_what_a_script_has_off_can_be_switched_on(self):
        self.mount("-p", self.script(OPENS + "\n  enable 0\n"), code=f"input(); {HOSTS}")
        self.assertEqual(self.cat("events/kprobes/op/enable"), "0\n")
        self.echo("1", "events/kprobes/op/enable")
        self.mounted.stdin.write("\n")
        self.mounted.stdin.flush()
        self.await_end()
        self.assertEqual(self.recorded(), ["/etc/hosts"])

    def test_a_compiled_script_needs_no_compiler(self):
        compiled = os.path.join(self.folder, "s.kevo")
        script = self.script(OPENS + '\n  filter path ~ "/etc/*"\n')
        subprocess.run([KEVTRACE, "compile", script, "-o", compiled, "--", "/usr/bin/python3"], check=True, stderr=subprocess.DEVNULL,
                       timeout=60)
        alone = shutil.copy(KEVTRACE, self.folder)  # without libkevt-llvm.so beside it
        self.mount("-p", compiled, code=TWICE, kevtrace=alone)
        self.assertIn("holds machine code that nobody has checked", self.await_end())
        self.assertEqual(self.recorded(), ["/etc/hosts", "/etc/passwd", "/etc/hosts"])

    def test_an_event_that_is_defined_later_injects(self):
        code = "input()\ntry: open('/etc/hosts')\nexcept OSError: print('refused', flush=True)"
        self.mount("--inject", "op: ret=-1", "--unsafe", code=code)
        self.echo(OPENS + "\n", "kprobe_events")
        self.echo('path == "/etc/hosts"', "events/kprobes/op/filter")
        self.echo("1", "events/kprobes/op/enable")
        self.mounted.stdin.write("\n")
        self.mounted.stdin.flush()
        self.assertEqual(self.mounted.stdout.readline(), "refused\n")
        self.await_end()
        self.assertEqual(self.recorded(), ["/etc/hosts"])

    def refused(self, *words):
        done = subprocess.run([KEVTRACE, "mount", self.dir, *words, "--", "/usr/bin/touch", os.path.join(self.folder, "ran")],
                              capture_output=True, text=True, timeout=60)
        self.assertFalse(is_mounted(self.dir))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "ran")))
        return done.returncode, done.stderr

    def test_what_is_wrong_mounts_nothing_and_runs_nothing(self):
        status, said = self.refused("-e", "p:x libc:no_such_function", "-e", "p:y libc:open64 a=%zz")
        self.assertEqual(status, 3)
        self.assertIn("<event 1>:1:5", said)
        self.assertIn("<event 2>:1:19", said)
        status, said = self.refused("-e", OPENS, "--trigger", "op: traceof")
        self.assertEqual(status, 3)
        self.assertIn("<trigger 1>:1:1", said)
        status, said = self.refused("-e", OPENS, "--inject", "op: ret=1")
        self.assertEqual(status, 2)
        self.assertIn("--unsafe", said)
        status, said = self.refused("--enable", "sched:sched_switch")
        self.assertEqual(status, 3)
        self.assertIn("there is no event `sched:sched_switch` of the kernel here", said)


if __name__ == "__main__":
    main()
