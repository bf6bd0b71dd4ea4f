"""Probes on libraries that are not there yet: they wait, and see the library's very first calls."""
import errno
import os
import signal
import subprocess
import tempfile
import time

from attach_test import Attached, Target, read, wait_until
from kevtest import KEVTRACE, PROGRAMS, ProcessTest, main, plain
from mounted import MountTest, is_mounted

LIBRARY = b"""
__attribute__((noipa)) int twice(int n) { return 2 * n; }
__attribute__((noipa)) const char* name_of(int n) { return n ? "one" : "none"; }
__attribute__((constructor)) static void first(void) { twice(1); twice(2); }
"""
# Loads what it is told, calls it, forks: one line in, one line out.
PROGRAM = b"""
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void* library;
static int load(const char* path) {
  library = dlopen(path, RTLD_NOW);
  return library ? ((int (*)(int))dlsym(library, "twice"))(20) : -1;
}
int main(int count, char** words) {
  char line[4096];
  if (count > 1) return printf("%d\\n", load(words[1])) < 0;
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    char* path = strchr(line, ' ');
    line[strcspn(line, "\\n")] = 0;
    if (path) *path++ = 0;
    int result = 0, status = 0;
    if (!strcmp(line, "load")) result = load(path);
    if (!strcmp(line, "close")) result = dlclose(library);
    if (!strcmp(line, "child")) {
      pid_t child = fork();
      if (!child) _exit(load(path));
      waitpid(child, &status, 0);
      result = WEXITSTATUS(status);
    }
    printf("%s %d\\n", line, result);
    fflush(stdout);
  }
  return 0;
}
"""


TWICE = "p:twice libwaited.so:twice n=%di:s32"


def compiled(folder, name, source, *options):
    path, text = os.path.join(folder, name), os.path.join(folder, name + ".c")
    with open(text, "wb") as file:
        file.write(source)
    subprocess.run(["cc", "-O1", *options, "-o", path, text, "-ldl"], check=True)
    return path


class Waiting(Attached):
    def setUp(self):
        super().setUp()
        self.library = compiled(self.folder, "libwaited.so", LIBRARY, "-shared", "-fPIC")
        self.program = compiled(self.folder, "loads", PROGRAM)
        self.twice = TWICE
        self.back = "r:back libwaited.so:twice v=$retval:s32"

    def test_the_constructor_s_calls_are_seen(self):
        traced = self.run_traced([self.program, self.library], self.twice, self.back)
        self.assertEqual((traced.status, traced.out), (0, b"40\n"))
        self.assertEqual([r["n"] for r in traced.records("twice")], [1, 2, 20])
        self.assertEqual([r["v"] for r in traced.records("back")], [2, 4, 40])
        self.assert_none_lost(traced)

    def test_by_offset_in_the_file_too(self):
        listed = subprocess.run(["nm", self.library], capture_output=True, check=True, text=True).stdout
        offset = next(int(line.split()[0], 16) for line in listed.splitlines() if line.endswith(" twice"))
        traced = self.run_traced([self.program, self.library], f"p:at {self.library}:{offset:#x} n=%di:s32")
        self.assertEqual([r["n"] for r in traced.records("at")], [1, 2, 20])

    def test_a_filter_waits_with_it(self):
        traced = self.run_traced([self.program, self.library], self.twice, filters=["twice:n > 1"])
        self.assertEqual([r["n"] for r in traced.records("twice")], [2, 20])
        self.assertEqual(traced.accounts["twice"].filtered, 1)

    def test_a_running_process(self):
        target = Target(self, [self.program])
        tracer = self.start([target.pid], self.twice)
        target.ask(b"load " + self.library.encode(), b"load")
        traced = self.stop(tracer, (self.twice,))
        self.assertEqual([r["n"] for r in traced.records("twice")], [1, 2, 20])

    def test_it_leaves_again(self):
        target = Target(self, [self.program])
        tracer = self.start([target.pid], self.twice)
        target.ask(b"load " + self.library.encode(), b"load")
        self.assertEqual(target.ask(b"close"), [b"0"])
        traced = self.stop(tracer, (self.twice,))
        self.assertIn(b"twice [GONE]", traced.err)
        self.assertEqual(target.ask(b"load " + self.library.encode(), b"load"), [b"40"])

    def test_it_never_comes(self):
        traced = self.run_traced(["/bin/true"], self.twice)
        self.assertEqual(traced.accounts["twice"].hits, 0)
        self.assertIn(b"was never armed", traced.err)

    def test_one_that_is_wrong_takes_no_other_down(self):
        wrong = "p:wrong libwaited.so:thrice"
        traced = self.run_traced([self.program, self.library], wrong, self.twice)
        self.assertIn(b"no function `thrice`", traced.err)
        self.assertEqual(len(traced.records("twice")), 3)

    def test_a_library_that_does_not_exist(self):
        for place in ("libnothere:f", "/nowhere/libx.so:0x10"):
            status, out, err = plain([KEVTRACE, "run", "-e", f"p {place}", "--", "/bin/echo", "ran"])
            self.assertEqual((status, out), (3, b""), err)

    def test_a_forked_child_is_not_held_up(self):
        target = Target(self, [self.program])
        tracer = self.start([target.pid], self.twice)
        begin = time.monotonic()
        self.assertEqual(target.ask(b"child " + self.library.encode(), b"child"), [b"40"])
        self.assertLess(time.monotonic() - begin, 9)  # LOOKS * LOOK_NS of the agent, when nobody answers
        target.ask(b"load " + self.library.encode(), b"load")
        self.assertEqual(len(self.stop(tracer, (self.twice,)).records("twice")), 3)

    def test_tracer_killed_before_it_comes(self):
        target = Target(self, [self.program])
        tracer = self.start([target.pid], self.twice)
        tracer.send_signal(signal.SIGKILL)
        tracer.wait()
        wait_until(lambda: b"memfd:kevtrace" not in read(f"/proc/{target.pid}/maps"), "it is left")
        self.assertEqual(target.ask(b"load " + self.library.encode(), b"load"), [b"40"])


class BehindAMount(MountTest):
    def setUp(self):
        self.built = tempfile.TemporaryDirectory()
        self.addCleanup(self.built.cleanup)
        self.library = compiled(self.built.name, "libwaited.so", LIBRARY, "-shared", "-fPIC")
        self.COMMAND = (compiled(self.built.name, "loads", PROGRAM),)
        super().setUp()
        self.assertEqual(self.target.stdout.readline(), "ready\n")
        self.echo(TWICE, "kprobe_events")

    def load(self):
        self.assertEqual(self.ask("load " + self.library), "40")

    def numbers(self):
        return [int(line.split("n=")[1]) for line in self.cat("trace").splitlines() if " twice: " in line]

    def test_the_constructor_s_calls_are_seen(self):
        self.echo("1", "events/kprobes/twice/enable", "w")
        self.assertEqual(self.cat("events/kprobes/twice/enable"), "1\n")
        self.assertEqual(self.cat("debug/kprobes/list"), "")
        self.load()
        self.assertEqual(self.numbers(), [1, 2, 20])
        self.assertIn("  k  twice+0x0  libwaited.so", self.cat("debug/kprobes/list"))
        self.assertEqual(self.end_mount(), {"twice": [3, 3, 0, 0, 0]})

    def test_a_filter_waits_with_it(self):
        self.echo("n > 1", "events/kprobes/twice/filter", "w")
        self.echo("1", "events/kprobes/twice/enable", "w")
        self.load()
        self.assertEqual(self.numbers(), [2, 20])
        self.assertEqual(self.end_mount(), {"twice": [3, 2, 1, 0, 0]})

    def test_a_sibling_that_is_there_is_hit_meanwhile(self):
        self.echo("p:twice libc:fgets n=%si:s32", "kprobe_events")
        self.echo("1", "events/kprobes/twice/enable", "w")
        self.load()
        self.assertEqual(self.ask("none"), "0")
        # It calls fgets for its next line when it has answered, so perhaps later than this line.
        wait_until(lambda: len(self.numbers()) > 4, "the second call of fgets is recorded")
        self.assertEqual(self.numbers(), [1, 2, 20, 4096, 4096])

    def test_off_and_on_before_it_comes(self):
        for state in "101":
            self.echo(state, "events/kprobes/twice/enable", "w")
        self.load()
        self.assertEqual(self.numbers(), [1, 2, 20])

    def test_on_again_when_it_has_come(self):
        self.echo("1", "events/kprobes/twice/enable", "w")
        self.echo("0", "events/kprobes/twice/enable", "w")
        self.load()
        self.echo("1", "events/kprobes/twice/enable", "w")
        self.load()
        self.assertEqual(self.numbers(), [20])
        self.assertEqual(self.end_mount(), {"twice": [1, 1, 0, 0, 0]})

    def test_removed_before_it_comes(self):
        self.echo("1", "events/kprobes/twice/enable", "w")
        self.echo("0", "events/kprobes/twice/enable", "w")
        self.echo("-:twice", "kprobe_events")
        self.load()
        self.assertEqual(self.cat("kprobe_events"), "")

    def test_it_never_comes(self):
        self.echo("1", "events/kprobes/twice/enable", "w")
        self.end_mount()
        self.log.seek(0)
        self.assertIn(f"kevtrace: `{TWICE}` was never armed: its library was not loaded\n", self.log.read())

    def test_one_that_is_wrong_takes_no_other_down(self):
        self.echo("p:wrong libwaited.so:thrice", "kprobe_events")
        self.echo("1", "events/kprobes/enable", "w")
        self.load()
        self.assertEqual(self.numbers(), [1, 2, 20])
        self.assertIn("no function `thrice`", self.cat("error_log"))

    def test_a_library_that_is_nowhere_is_refused(self):
        self.echo("p:nowhere libnothere:f", "kprobe_events")
        with self.assertRaises(OSError) as refused:
            self.echo("1", "events/kprobes/nowhere/enable", "w")
        self.assertEqual(refused.exception.errno, errno.ENOENT)


class UnwindersBehindAMount(MountTest):
    """An unwinder that comes later is guarded: a return probe that was armed before is not in its way."""

    def setUp(self):
        self.output = tempfile.TemporaryFile("w+")
        self.addCleanup(self.output.close)
        super().setUp()

    def start(self):
        words = [KEVTRACE, "mount", self.dir, "--hold", "--keep", "--", os.path.join(PROGRAMS, "late_unwinder")]
        self.mount = subprocess.Popen(words, stdout=self.output, stderr=self.log)
        wait_until(lambda: is_mounted(self.dir) or self.mount.poll() is not None, "the mount")
        if self.mount.poll() is not None:
            self.skipTest("cannot mount here")

    COMMAND = ("/bin/cat",)

    def test_an_exception_passes_a_return_probe(self):
        self.echo("r:sort libc:qsort", "kprobe_events")
        self.echo("1", "events/kprobes/sort/enable", "w")
        wait_until(lambda: self.log.seek(0) == 0 and "has ended" in self.log.read(), "its end")
        self.output.seek(0)
        self.assertEqual(self.output.read(), subprocess.run([os.path.join(PROGRAMS, "late_unwinder")], check=True,
                                                            capture_output=True, text=True).stdout)
        self.assertEqual(self.end_mount()["sort"][0], 1)


del Attached, MountTest, ProcessTest

if __name__ == "__main__":
    main()
