"""--follow-forks: what a process and its children become by exec is traced from its first instruction on."""
import json
import os
import signal
import subprocess
import time

from kevtest import KEVTRACE, PROGRAMS, TIMEOUT_S, ProcessTest, main, plain

SHELL = "/bin/sh"
OPENS = "p:op libc:open64 path=+0(%di):string"
MAINS = "p:begun libc:__libc_start_main argc=%si:s32"
BECOMES = os.path.join(PROGRAMS, "becomes")


class Following(ProcessTest):
    def follow(self, command, *definitions, words=(), **options):
        return self.run_both(command, *definitions, words=["--follow-forks", *words], **options)

    def test_children_and_the_program_itself(self):
        hosts = self.path("hosts", b"one\n")
        issue = self.path("issue", b"two\n")
        traced = self.follow([SHELL, "-c", f"cat {hosts}; cat {hosts}; exec cat {issue}"], OPENS,
                             filters=[f'op: path ~ "{self.folder}/*"'])
        paths = [r["path"].decode() for r in traced.records("op")]
        self.assertEqual(paths, [hosts, hosts, issue])
        self.assertEqual(len({r.tid for r in traced.records("op")}), 3)
        self.assertEqual({r.comm for r in traced.records("op")}, {b"cat"})
        self.assert_none_lost(traced)

    def test_status_is_that_of_what_the_program_became(self):
        traced = self.follow([SHELL, "-c", "exec sh -c 'exec sh -c \"kill -TERM $$\"'"], MAINS)
        self.assertEqual(traced.status, 128 + signal.SIGTERM)
        traced = self.follow([SHELL, "-c", "exec sh -c 'exit 7'"], MAINS)
        self.assertEqual(traced.status, 7)

    def test_functions_of_programs_to_come(self):
        script = self.path("script.py", b"import zlib\nzlib.compress(b'x' * 5000)\nprint('done')\n")
        python = os.path.basename(os.path.realpath("/usr/bin/python3"))
        traced = self.follow([SHELL, "-c", f"true; /usr/bin/python3 -S {script}; cat {script}"],
                             "r:packed libz:deflate code=$retval:s32", "p:ended Py_FinalizeEx",
                             f"p:elsewhere {python}:Py_BytesMain argc=%di:s32")
        self.assertEqual(len({r.tid for r in traced.all}), 1)
        self.assertEqual([r.event for r in traced.all], ["elsewhere", "packed", "ended"])

    def test_nobody_has_it(self):
        status, out, err = plain([KEVTRACE, "run", "--follow-forks", "-e", "p:x no_such_function_anywhere", "--", SHELL, "-c",
                                  "/bin/true; /bin/true; :"])
        self.assertEqual((status, out), (0, b""))
        self.assertIn(b"`p:x no_such_function_anywhere` was never armed: none of 3 programs has it", err)

    def test_every_way_to_exec(self):
        for how in ("execve", "execvp", "posix_spawn", "vfork", "thread", "failing", "system"):
            with self.subTest(how):
                traced = self.follow([BECOMES, how], OPENS.replace("open64", "open"), MAINS)
                self.assert_none_lost(traced)
                self.assertIn(b"cat", {r.comm for r in traced.all}, how)

    def test_a_program_that_takes_long_to_leave_its_memory(self):
        """Between a program's memory and the next one's the kernel frees half a gigabyte, page by page: nothing of the
        program is there any more, and what it becomes is not there yet."""
        hosts = self.path("hosts", b"one\n")
        code = ("import mmap, os, sys\n"
                "room = mmap.mmap(-1, 512 << 20)\n"
                "room.madvise(mmap.MADV_NOHUGEPAGE)\n"
                "for at in range(0, len(room), 4096): room[at] = 1\n"
                "print('ready', flush=True)\n"
                "sys.stdin.read()\n"
                f"os.execv('/bin/cat', ['cat', {hosts!r}])\n")
        command = ["/usr/bin/python3", "-S", "-c", code]
        traced = self.follow(command, OPENS, filters=[f'op: path == "{hosts}"'])
        self.assertEqual([r.comm for r in traced.records("op")], [b"cat"])
        with self.subTest("attached"):
            target = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.addCleanup(target.kill)
            self.assertEqual(target.stdout.readline(), b"ready\n")
            tracer = subprocess.Popen([KEVTRACE, "run", "--follow-forks", "--pid", str(target.pid), "-e", OPENS],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(tracer.kill)
            self.assertIn(b"pid=", tracer.stderr.readline())
            self.assertEqual(target.communicate(timeout=TIMEOUT_S)[0], b"one\n")
            out, err = tracer.communicate(timeout=TIMEOUT_S)
            self.assertIn(hosts.encode(), out)
            self.assertNotIn(b"probes are gone", err)

    def test_many(self):
        traced = self.follow([SHELL, "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do (/bin/true & /bin/true & wait); done"], MAINS)
        self.assertEqual(len(traced.records("begun")), 1 + 20)
        self.assert_none_lost(traced)

    def test_many_at_once(self):
        """More threads exec at the same time than may ask at the same time."""
        go = self.path("go")
        os.mkfifo(go)
        script = f"""exec 3<>{go}
                     i=0; while [ $i -lt 64 ]; do (read line <&3; exec /bin/true) & i=$((i+1)); done
                     printf '%64s' | tr ' ' '\\n' >&3; wait"""
        traced = self.follow([SHELL, "-c", script], MAINS)
        self.assertEqual(len(traced.records("begun")), 1 + 64 + 1)
        self.assert_none_lost(traced)

    def test_any_number_of_programs(self):
        """Those that have ended take no descriptors, and their hits are counted."""
        script = "i=0; while [ $i -lt 250 ]; do /bin/true; i=$((i+1)); done"
        for output in ("out.txt", "out.dat"):
            file = self.path(output)
            status, _, err = plain([SHELL, "-c", 'ulimit -n 350; exec "$@"', "sh", KEVTRACE, "run", "--follow-forks", "-o", file,
                                    "-e", MAINS, "--", SHELL, "-c", script])
            self.assertEqual(status, 0, err)
            self.assertIn(b"begun: hits 251 = recorded 251 + filtered 0 + lost 0 + missed 0\n", err)
            self.assertIn(b"followed 250 programs through exec", err)
            status, out, err = plain([KEVTRACE, "report", file] if output == "out.dat" else ["/bin/cat", file])
            times = [float(line.split(b": begun: ")[0].split()[-1]) for line in out.splitlines() if b": begun: " in line]
            self.assertEqual((status, len(times)), (0, 251), err)
            self.assertEqual(times, sorted(times))

    def test_children_of_programs_that_have_ended(self):
        """What was forked by a followed program hits when that program and a hundred others have ended."""
        go, done = self.path("go"), self.path("done")
        os.mkfifo(go), os.mkfifo(done)
        script = f"""sh -c '(read line < {go}; cd /usr; echo > {done}) &'
                     i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done
                     echo > {go}; read line < {done}"""
        traced = self.follow([SHELL, "-c", script], "p:moved libc:chdir to=+0(%di):string")
        self.assertEqual([r["to"] for r in traced.records("moved")], [b"/usr"])
        self.assert_none_lost(traced)

    def test_more_programs_than_descriptors(self):
        script = "i=0; while [ $i -lt 40 ]; do /bin/true; i=$((i+1)); done; echo all"
        status, out, err = plain([SHELL, "-c", 'ulimit -n 64; exec "$@"', "sh", KEVTRACE, "run", "--follow-forks", "-o",
                                  "/dev/null", "-e", MAINS, "--", SHELL, "-c", script])
        self.assertEqual((status, out), (0, b"all\n"), err)  # nobody is held for ever
        self.assertRegex(err, rb"(is not followed through exec|programs ran untraced: no file descriptor was left)")

    def test_recordings_have_them_all(self):
        file = self.path("out.json")
        status, _, err = plain([KEVTRACE, "run", "--follow-forks", "-e", MAINS, "-o", file, "-f", "json", "--", SHELL, "-c",
                                "/bin/true; exec /bin/true"])
        self.assertEqual(status, 0, err)
        with open(file, "rb") as lines:
            records = [json.loads(line) for line in lines]
        self.assertEqual([r["comm"] for r in records if r["type"] == "event"], ["sh", "true", "true"])

    def test_without_it_what_cmd_becomes_is_waited_for(self):
        for words in ((), ("--follow-forks",)):
            with self.subTest(words):
                done = subprocess.run([KEVTRACE, "run", *words, "-e", "p:begun libc:__libc_start_main", "--", "/bin/sh", "-c",
                                       "exec /bin/sh -c 'sleep 0.5; exit 7'"], capture_output=True, timeout=60)
                self.assertEqual(done.returncode, 7, done.stderr)

    def test_without_it_children_are_left(self):
        traced = self.run_both([SHELL, "-c", "/bin/true; /bin/true"], MAINS)
        self.assertEqual([r.comm for r in traced.records("begun")], [b"sh"])

    def test_when_tracing_stops_they_go_on(self):
        done = self.path("done")
        status, _, err = plain([KEVTRACE, "run", "--follow-forks", "-c", "1", "-e", MAINS, "--", SHELL, "-c",
                                f"/bin/true; /bin/true; echo yes > {done}"])
        self.assertEqual(status, 0, err)
        with open(done, "rb") as file:
            self.assertEqual(file.read(), b"yes\n")

    def test_when_kevtrace_is_killed_they_go_on(self):
        done, go = self.path("done"), self.path("go")
        os.mkfifo(go)
        child = subprocess.Popen([KEVTRACE, "run", "--follow-forks", "-e", MAINS, "--", SHELL, "-c",
                                  f"/bin/true; sh -c 'read line < {go}; /bin/true; echo yes > {done}'"],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertIn(b"begun", child.stdout.readline())
        with open(go, "wb") as gate:  # opens when the inner shell, which was followed, reads
            child.kill()
            child.wait()
            gate.write(b"go\n")
        child.stdout.close()
        deadline = time.monotonic() + 30
        while not os.path.exists(done) or os.path.getsize(done) == 0:
            self.assertLess(time.monotonic(), deadline, "the followed shell did not go on")
            time.sleep(0.01)


if __name__ == "__main__":
    main()
