"""A mount with --follow-forks: what a program and its children become by exec is traced, too."""
import os
import re
import signal
import subprocess
import time

from kevtest import KEVTRACE, PROGRAMS, main
from mounted import PlaceTest, is_mounted, wait_until

SHELL = "/bin/sh"
OPENS = "p:op libc:open64 path=+0(%di):string"
MAINS = "p:begun libc:__libc_start_main argc=%si:s32"
BECOMES = os.path.join(PROGRAMS, "becomes")


class Following(PlaceTest):
    reader = None

    def start(self, script, *definitions, words=("--hold",), command=None):
        """The mount, with the definitions on; `script` begins then and gives its output to us."""
        self.mount = subprocess.Popen(
            [KEVTRACE, "mount", self.dir, "--follow-forks", *words, "--", *(command or (SHELL, "-c", script))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        wait_until(lambda: is_mounted(self.dir) or self.mount.poll() is not None, "the mount")
        if self.mount.poll() is not None:
            self.skipTest("cannot mount here: " + self.mount.stderr.read())
        self.echo("".join(one + "\n" for one in definitions), "kprobe_events")
        self.lines = open(os.path.join(self.folder, "lines"), "w+")
        self.addCleanup(self.lines.close)
        self.reader = subprocess.Popen(["cat", self.path("trace_pipe")], stdout=self.lines)
        wait_until(lambda: os.path.exists(f"/proc/{self.reader.pid}/fd/3"), "the reader to open it")

    def begin(self):
        self.echo("1", "events/kprobes/enable")

    def end(self):
        if self.mount.poll() is None:
            self.mount.terminate()
            self.mount.wait(timeout=30)
        if self.reader:
            self.reader.kill()
            self.reader.wait()
        for stream in (self.mount.stdin, self.mount.stdout, self.mount.stderr):
            stream.close()
        subprocess.run(["umount", "-l", self.dir], stderr=subprocess.DEVNULL)

    def finish(self, status=0):
        """Lines of trace_pipe, and what each event came to: [hits, recorded, filtered, lost, missed]."""
        self.said = self.mount.stderr.read()
        self.assertEqual(self.mount.wait(timeout=60), status, self.said)
        self.assertEqual(self.reader.wait(timeout=60), 0)
        self.lines.seek(0)
        accounts = {line.split(":")[0]: [int(word) for word in line.split() if word.isdigit()]
                    for line in self.said.splitlines() if ": hits " in line}
        for name, numbers in accounts.items():
            self.assertEqual(numbers[0], sum(numbers[1:]), name)
        return self.lines.read().splitlines(), accounts

    def test_children_and_the_program_itself(self):
        hosts, issue = os.path.join(self.folder, "hosts"), os.path.join(self.folder, "issue")
        for name in (hosts, issue):
            with open(name, "w") as file:
                file.write("text\n")
        self.start(f"cat {hosts}; cat {hosts}; exec cat {issue}", OPENS)
        self.echo(f'path ~ "{self.folder}/*"', "events/kprobes/op/filter")
        self.begin()
        lines, accounts = self.finish()
        self.assertEqual([re.search('path="(.*)"', line)[1] for line in lines], [hosts, hosts, issue])
        self.assertEqual({line.split("-")[0].strip() for line in lines}, {"cat"})
        self.assertEqual(len({line.split("-")[1].split()[0] for line in lines}), 3)
        self.assertTrue(all(re.search(r"\(open(64)?\+0x0/0x", line) for line in lines), lines)
        self.assertEqual(accounts["op"][1], 3)

    def test_status_is_that_of_what_the_program_became(self):
        self.start("exec sh -c 'exec sh -c \"exit 7\"'", MAINS)
        self.begin()
        lines, accounts = self.finish(7)
        self.assertEqual((len(lines), accounts["begun"][:2]), (3, [3, 3]))

    def test_every_way_to_exec(self):
        for how in ("execve", "execvp", "posix_spawn", "vfork", "thread", "failing", "system"):
            with self.subTest(how):
                self.start("", MAINS, command=(BECOMES, how))
                self.begin()
                lines, _ = self.finish()
                self.assertIn("cat", {line.split("-")[0].strip() for line in lines}, how)

    def test_probes_and_filters_reach_programs_that_run(self):
        """Defined, armed, filtered and disarmed while two programs that were followed run."""
        script = "sh -c 'while read x; do : </etc/hostname; echo did; done'"
        self.start(script, words=())
        self.echo(OPENS + "\n", "kprobe_events")

        def turn():
            self.mount.stdin.write("x\n")
            self.mount.stdin.flush()
            self.assertEqual(self.mount.stdout.readline(), "did\n")

        def hits():
            return sum(int(line.split()[-2]) for line in self.cat("kprobe_profile").splitlines())

        turn()
        self.assertEqual(hits(), 0)
        self.begin()
        turn()
        self.assertEqual(hits(), 1)
        self.echo('path == "nothing"', "events/kprobes/filter")
        turn()
        self.assertEqual(hits(), 2)
        self.echo("0", "events/kprobes/enable")
        turn()
        self.begin()
        self.echo("0", "events/kprobes/filter")
        turn()
        self.assertEqual(hits(), 3)
        self.mount.stdin.close()
        self.mount.stdin = open(os.devnull)
        lines, accounts = self.finish()
        self.assertEqual(len(lines), 2)
        self.assertEqual(sum(numbers[2] for numbers in accounts.values()), 1)

    def test_functions_of_a_program_that_was_followed(self):
        """The shell has no such function, nor the library it is in."""
        code = "import sys; print(1, flush=True); sys.stdin.readline(); import zlib; zlib.compress(bytes(5000))"
        self.start(f"/usr/bin/python3 -S -c '{code}'; cat /dev/null", words=())
        self.assertEqual(self.mount.stdout.readline(), "1\n")
        self.echo("p:ended Py_FinalizeEx\nr:packed libz:deflate code=$retval:s32\n", "kprobe_events")
        self.begin()
        self.mount.stdin.write("go\n")
        self.mount.stdin.flush()
        lines, _ = self.finish()
        self.assertEqual([line.split(": ")[1] for line in lines], ["packed", "ended"])

    def test_nobody_has_it(self):
        self.start("/bin/true; /bin/true", MAINS, "p:x no_such_function_anywhere", "p:off no_such_function_either")
        self.echo("kprobes:x\nkprobes:begun\n", "set_event")  # in one write: the program begins when one of them is on
        self.finish()
        self.assertIn("kevtrace: `p:x no_such_function_anywhere` was never armed: no program that was traced has it\n", self.said)
        self.assertEqual(self.said.count("was never armed"), 1)

    def test_switched_while_programs_start(self):
        """A shell that waits in vfork() for a child that asks to exec: it stops when the child has its answer."""
        stop = os.path.join(self.folder, "stop")
        self.start(f"until [ -e {stop} ]; do /bin/true; done", MAINS, words=())
        for _ in range(20):
            began = time.monotonic()
            self.begin()
            self.echo("0", "events/kprobes/enable")
            self.assertLess(time.monotonic() - began, 8, "it waited in vain for a thread to stop")
        self.begin()
        wait_until(lambda: int(self.cat("kprobe_profile").split()[1]) > 20, "hits")
        open(stop, "w").close()
        _, accounts = self.finish()
        self.assertGreater(accounts["begun"][0], 20)
        self.assertGreater(accounts["begun"][1], 0)

    def test_stacks_of_a_program_that_came_while_the_event_was_off(self):
        self.start("exec /bin/sh -c 'echo there; read x; read y < /etc/hostname'", OPENS, words=())
        self.echo("1", "options/userstacktrace")
        self.echo('path == "/etc/hostname"', "events/kprobes/op/filter")
        self.assertEqual(self.mount.stdout.readline(), "there\n")
        self.begin()
        self.mount.stdin.write("x\n")
        self.mount.stdin.flush()
        lines, _ = self.finish()
        self.assertIn("=> __libc_start_main+", "\n".join(lines))

    def test_stacks_of_programs_that_have_ended(self):
        self.start("cat /etc/hostname; exec cat /etc/issue", OPENS)
        self.echo("1", "options/userstacktrace")
        self.echo('path == "/etc/hostname" || path == "/etc/issue"', "events/kprobes/op/filter")
        self.begin()
        lines, _ = self.finish()
        stacks = "\n".join(lines).split("<user stack trace>")[1:]
        self.assertEqual(len(stacks), 2)
        for stack in stacks:
            self.assertRegex(stack, r"=> open(64)?\+0x0/")
            self.assertIn("=> __libc_start_main+", stack)

    def test_many_that_end(self):
        """They take no descriptors any more, are counted, and functions of the last 256 keep their names in `trace`."""
        self.start("i=0; while [ $i -lt 400 ]; do /bin/true; i=$((i+1)); done; echo done; read x", MAINS)
        self.reader.kill()
        with open(f"/proc/{self.mount.pid}/task/{self.mount.pid}/children") as children:
            behind = [self.mount.pid, *map(int, children.read().split())]
        self.begin()
        self.assertEqual(self.mount.stdout.readline(), "done\n")
        descriptors = max(len(os.listdir(f"/proc/{pid}/fd")) for pid in behind if "kevtrace" in self.comm(pid))
        self.assertLess(descriptors, 600)
        profile = self.cat("kprobe_profile").split()[1:]
        if profile != ["401", "0"]:
            os.set_blocking(self.mount.stderr.fileno(), False)
            self.fail(f"{profile}, then {self.cat('kprobe_profile').split()[1:]}; it said: {self.mount.stderr.read()}")
        begun = lambda: [line for line in self.cat("trace").splitlines() if "begun:" in line]
        try:
            wait_until(lambda: len(begun()) == 401, "the last record: it waits for programs that may still come with an older one")
        except AssertionError:
            os.set_blocking(self.mount.stderr.fileno(), False)
            files = [self.cat(f"per_cpu/cpu{cpu}/stats") for cpu in range(os.cpu_count())] + [self.cat("kprobe_profile")]
            self.fail(f"{len(begun())} of 401 records; {files}; it said: {self.mount.stderr.read()}; {begun()[-3:]}")
        lines = begun()
        self.assertTrue(all("(__libc_start_main" in line for line in lines[-256:]), lines[-3:])
        times = [float(line.split(": begun: ")[0].split()[-1]) for line in lines]
        self.assertEqual(times, sorted(times))
        self.mount.stdin.write("x\n")
        self.mount.stdin.flush()
        self.assertIn("begun: hits 401 = recorded 401 + filtered 0 + lost 0 + missed 0\n", self.mount.stderr.read())

    def comm(self, pid):
        with open(f"/proc/{pid}/comm") as file:
            return file.read()

    def test_names_are_of_what_a_thread_was_then(self):
        """One thread, three programs; `trace` is read when it is the last of them."""
        code = "import sys; print(1, flush=True); sys.stdin.readline()"
        self.start("", MAINS, command=(SHELL, "-c", "exec sh -c 'exec \"$@\"' sh \"$@\"", "sh", "/usr/bin/python3", "-S", "-c", code))
        self.reader.kill()
        self.begin()
        self.assertEqual(self.mount.stdout.readline(), "1\n")
        lines = [line for line in self.cat("trace").splitlines() if "begun:" in line]
        self.assertEqual(len({line.split("-")[1].split()[0] for line in lines}), 1)
        self.assertEqual(len(lines), 3)
        self.assertTrue(all("(__libc_start_main" in line for line in lines), lines)

    def test_a_followed_program_cannot_use_the_mount(self):
        """It may stand still while the mount changes it: refused, not locked for ever. Others go on using it."""
        self.start(f"cat {self.path('tracing_on')}; echo $?; read x; cat {self.path('tracing_on')}", MAINS)
        self.begin()
        self.assertEqual(self.mount.stdout.readline(), "1\n")
        self.echo("0", "events/kprobes/enable")
        self.assertEqual(self.cat("tracing_on"), "1\n")
        self.mount.stdin.write("x\n")
        self.mount.stdin.flush()
        self.finish(1)
        self.assertEqual(self.said.count("Resource deadlock avoided"), 2)

    def test_it_is_left_while_programs_run(self):
        """SIGTERM, and a killed kevtrace: the programs go on, with nothing of ours in them."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number):
                self.start("sh -c 'echo $$; while read x; do : </etc/hostname; echo $x; done'", OPENS.replace("open64", "open"))
                self.begin()
                pid = int(self.mount.stdout.readline())
                self.mount.send_signal(number)

                def is_clean():
                    with open(f"/proc/{pid}/maps") as maps:
                        return "memfd:kevtrace" not in maps.read()
                wait_until(is_clean, "it is left")
                for word in ("one\n", "two\n"):
                    self.mount.stdin.write(word)
                    self.mount.stdin.flush()
                    self.assertEqual(self.mount.stdout.readline(), word)
                self.mount.stdin.close()
                self.mount.stdin = open(os.devnull)
                self.mount.wait(timeout=30)
                self.end()

    def test_what_cannot_be(self):
        done = subprocess.run([KEVTRACE, "mount", self.dir, "--follow-forks", "--runtime", "bpf"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--follow-forks: --runtime bpf traces the whole machine", done.stderr)


if __name__ == "__main__":
    main()
