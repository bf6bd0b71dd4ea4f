"""Running processes: traced from outside, left exactly as they were, traced again."""
import ctypes
import errno
import os
import signal
import struct
import subprocess
import time

from attached import Attached, BACK, STAYS, TOUCH, Target, read, state_of, text_of, wait_until
from kevtest import FAULT, KEVTRACE, PROGRAMS, PYTHON3, TIMEOUT_S, _prepared, main, plain

SHORT = "p:short stays:touch_short n=%di:s64 s=+0(%si):string"
HOLD = "r:hold stays:hold_and_throw v=$retval:s32"
PYTHON = "/usr/bin/python3"


class AttachAndDetach(Attached):
    def check_values(self, traced):
        for record in traced.records("touch"):
            self.assertEqual(record["s"], b"tick" if record["n"] > 0 else FAULT if record["n"] < 0 else record["s"])
        self.assertTrue(any(r["n"] < 0 for r in traced.records("touch")))
        self.assertTrue(any(r["n"] > 0 for r in traced.records("touch")))
        self.assertTrue(all((r["v"] - 1) % 3 == 0 for r in traced.records("back")))
        for sign in (1, -1):
            numbers = [r["n"] for r in traced.records("short") if (r["s"] == b"tick") == (sign == 1)]
            self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))

    def test_attached_three_times_and_left_as_it_was(self):
        target = self.stays()
        before, text = state_of(target.pid), text_of(target.pid, "/")
        for _ in range(3):
            definitions = (TOUCH, BACK, SHORT)
            tracer = self.start([target.pid], *definitions)
            self.assertNotEqual(text_of(target.pid, "/stays"), b"")
            self.assertNotEqual(text_of(target.pid, "/"), text)
            self.wait_for_records(300)
            target.wait_for_ticks()
            traced = self.stop(tracer, definitions)
            self.assertEqual(traced.how_armed()["touch"], "jump")
            self.assertNotEqual(traced.how_armed()["short"], "jump")
            self.check_values(traced)
            self.assert_none_lost(traced)
            self.assert_as_it_was(target.pid, before)
            self.assertEqual(text_of(target.pid, "/"), text)
            target.wait_for_ticks()
        ticks, faults, errors = (int(n) for n in target.ask(b"counts"))
        self.assertGreater(faults, 0)
        self.assertEqual((errors, target.ask(b"masks")), (0, [b"0"]))
        self.assertEqual(target.end(), 0)

    def test_what_a_breakpoint_has_left_on_the_stack_is_no_hit(self):
        for words in ([], ["overwrites"]):
            target = Target(self, [os.path.join(PROGRAMS, "reserves"), *words])
            text, short = text_of(target.pid, "/"), "p:short reserves:touch_short n=%di:s64"
            for _ in range(3):
                tracer = self.start([target.pid], short)
                self.wait_for_records(30)
                traced = self.stop(tracer, [short])
                self.assertNotEqual(traced.how_armed()["short"], "jump")
                self.assertNotIn(b"keeps our", traced.err)
                self.assertEqual(text_of(target.pid, "/"), text)
                self.assertNotIn(b"memfd:kevtrace", read(f"/proc/{target.pid}/maps"))
            target.tell(b"end")
            self.assertEqual(target.process.wait(TIMEOUT_S), 0)

    def test_handlers_without_siginfo_are_waited_for(self):
        """The kernel leaves the siginfo out of their frames: what tells these from stale ones must be there nevertheless."""
        target = Target(self, [os.path.join(PROGRAMS, "plainly")])
        text, short = text_of(target.pid, "/"), "p:short plainly:touch_short n=%di:s64"
        for signal_of in (b"masks", b"faults", b"faults", b"masks"):
            tracer = self.start([target.pid], short)
            target.ask(signal_of, b"inside")
            tracer.send_signal(signal.SIGINT)
            with self.assertRaises(subprocess.TimeoutExpired):
                tracer.wait(1)  # a defect may hide behind a slow machine, and nothing fails for it
            self.assertEqual(target.ask(b"go on", b"back"), [b"0"])
            self.finish(tracer, [short])
            self.assertEqual(text_of(target.pid, "/"), text)
        self.assertEqual(target.end(), 0)

    def test_a_child_that_is_about_to_become_a_program(self):
        """`CMD & kevtrace run --pid $!`"""
        steps = os.path.join(PROGRAMS, "steps")
        code = f"import os, time\nchild = os.fork()\nif child == 0:\n  time.sleep(0.03)\n  os.execv({steps!r}, ['steps'])\nprint(child, flush=True)\nos.waitpid(child, 0)"
        with subprocess.Popen([PYTHON, "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as shell:
            child = shell.stdout.readline().strip()
            with subprocess.Popen([KEVTRACE, "run", "--pid", child, "-e", "p:step steps:step i=%di:s64"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
                self.assertIn("step: jump", run.stderr.readline())
                shell.stdin.write("0 5 1\n")
                shell.stdin.close()
                self.assertEqual(shell.stdout.readline(), "done\n")
                out, err = run.communicate(timeout=TIMEOUT_S)
        self.assertEqual((run.returncode, out.count(" step: ")), (0, 5), err)

    def test_blocking_calls_are_started_again(self):
        target = self.stays()
        for _ in range(5):
            tracer = self.start([target.pid], TOUCH, BACK)
            self.wait_for_records(10)
            self.stop(tracer, (TOUCH, BACK))
        target.tell(b"wake")
        for name in (b"read", b"poll", b"epoll", b"futex", b"semop"):
            # A wait on a futex that starts again when the word has been changed already has nothing to wait for.
            late = ([b"-1", b"%d" % errno.EAGAIN],) if name == b"futex" else ()
            self.assertIn(target.expect(name), ([b"1", b"0"], [b"0", b"0"], *late), name)
        self.assertEqual(target.expect(b"signal"), [b"%d" % signal.SIGUSR2, b"0"])
        self.assertEqual(target.expect(b"condition"), [b"1", b"0"])
        self.assertEqual(target.expect(b"sleep"), [b"1", b"0"])
        self.assertEqual(target.end(), 0)

    def test_a_call_by_syscall_that_blocks_while_traced(self):
        """syscall(3) is looked at by the agent; who waits in it is not in our code."""
        code = ("import ctypes, sys, threading\nlibc = ctypes.CDLL(None)\nword = ctypes.c_int(0)\n"
                "at = ctypes.byref(word)\n"
                "def wait():\n    while word.value == 0: libc.syscall(202, at, 0, 0, None)\n    print('woken', flush=True)\n"
                "thread = threading.Thread(target=wait)\nprint('ready', flush=True)\n"
                "for line in sys.stdin:\n"
                "    if line == 'wait\\n': thread.start(); print('wait', thread.native_id, flush=True)\n"
                "    else: word.value = 1; libc.syscall(202, at, 1, 1, None); break\n"
                "thread.join()")
        target = Target(self, [PYTHON, "-S", "-c", code])
        definition = "p:open libc:open64"
        tracer = self.start([target.pid], definition)
        tid = target.ask(b"wait")[0].decode()
        # The first number of this file is that of the system call a thread is in (proc(5)).
        wait_until(lambda: read(f"/proc/{target.pid}/task/{tid}/syscall").startswith(b"202 "), "it waits")
        self.stop(tracer, [definition])
        self.assertNotIn(b"memfd:kevtrace", read(f"/proc/{target.pid}/maps"))
        target.tell(b"wake")
        target.expect(b"woken")
        self.assertEqual(target.process.wait(TIMEOUT_S), 0)

    def test_count_and_duration(self):
        target = self.stays()
        before = state_of(target.pid)
        for words in (("-c", "50"), ("-d", "0.2")):
            tracer = self.start([target.pid], TOUCH, words=words)
            err = tracer.stderr.read()
            self.assertEqual(tracer.wait(TIMEOUT_S), 0, err)
            lines = read(self.path("trace")).count(b"\n")
            self.assertTrue(lines == 50 if "-c" in words else lines > 0, (words, lines))
            self.assert_as_it_was(target.pid, before)
        target.wait_for_ticks()
        self.assertEqual(target.end(), 0)

    def threads_in(self, pid, function):
        return sum(function in read(f"/proc/{pid}/task/{tid}/wchan") for tid in os.listdir(f"/proc/{pid}/task"))

    def test_exception_after_detaching(self):
        """A call that began under a return probe ends by an exception when nobody traces any more."""
        target = self.stays()
        before, text = state_of(target.pid)["maps"], text_of(target.pid, "/")
        tracer = self.start([target.pid], HOLD, TOUCH)
        target.ask(b"call", b"inside")
        self.wait_for_records(10)
        # The main thread, the reader and the one inside, where it is told: "inside" is said before it waits.
        wait_until(lambda: self.threads_in(target.pid, b"pipe_read") in (0, 3), "three threads wait")
        traced = self.stop(tracer, (HOLD, TOUCH))
        self.assertEqual((traced.accounts["hold"].hits, traced.accounts["hold"].missed), (1, 1))
        after = state_of(target.pid)["maps"]
        self.assertFalse([line for line in after if any(b"memfd:kevtrace" in word for word in line)])
        self.assertEqual(text_of(target.pid, "/"), text)
        self.assertEqual([m for m in before if m not in after and m[2:] != [b"[heap]"]], [])
        target.ask(b"throw", b"caught")
        self.assertEqual(target.end(), 0)

    def test_ignored_signals(self):
        code = ("import signal, sys, time\nfor s in (signal.SIGTRAP, signal.SIGSEGV, signal.SIGBUS): "
                "signal.signal(s, signal.SIG_IGN)\nprint('ready', flush=True)\n"
                "for line in sys.stdin: print(*line.split(), int(signal.getsignal(signal.SIGTRAP)), flush=True)")
        target = Target(self, [PYTHON, "-S", "-c", code])
        before = state_of(target.pid)
        for _ in range(2):
            tracer = self.start([target.pid], f"p:get {PYTHON3}:PyLong_FromLong")
            os.kill(target.pid, signal.SIGTRAP)
            self.assertEqual(target.ask(b"x"), [b"1"])
            self.stop(tracer, (f"p:get {PYTHON3}:PyLong_FromLong",))
            self.assertEqual(state_of(target.pid)[str(target.pid)], before[str(target.pid)])
            os.kill(target.pid, signal.SIGTRAP)
            self.assertEqual(target.ask(b"x"), [b"1"])

    def test_stopped_by_job_control(self):
        """A process that job control has stopped is traced when it goes on, and stays stopped until then."""
        target = self.stays()
        os.kill(target.pid, signal.SIGSTOP)
        stopped = lambda: b"State:\tT" in read(f"/proc/{target.pid}/status")
        wait_until(stopped, "it is stopped")
        tracer = self.start([target.pid], TOUCH)
        # When it is let go its threads stop anew on their way out of the kernel, each when it gets a CPU.
        wait_until(stopped, "it is stopped again")
        self.assertEqual(self.stop(tracer, (TOUCH,)).accounts["touch"].hits, 0)
        wait_until(stopped, "it is stopped again")
        os.kill(target.pid, signal.SIGCONT)
        target.wait_for_ticks()
        self.assertEqual(target.end(), 0)

    def test_while_the_dynamic_linker_is_at_work(self):
        """A program that was just started has no thread pointer yet: here its linker waits for a library to preload."""
        fifo = self.path("library")
        os.mkfifo(fifo)
        loop = "import os\nwhile True: os.getppid()"
        target = subprocess.Popen([PYTHON, "-S", "-c", loop], env={**os.environ, "LD_PRELOAD": fifo}, stderr=subprocess.DEVNULL)
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        tracer = subprocess.Popen([KEVTRACE, "run", "-c", "3", "-e", "p:asked libc:getppid", "--pid", str(target.pid)],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(tracer.kill)
        wait_until(lambda: b"TracerPid:\t0\n" not in read(f"/proc/{target.pid}/status"), "kevtrace has come")
        os.close(os.open(fifo, os.O_WRONLY))  # an empty one, which the linker leaves out
        out, err = tracer.communicate(timeout=TIMEOUT_S)
        self.assertEqual((tracer.returncode, out.count(b": asked: ")), (0, 3), err)

    def test_python_with_threads(self):
        # No thread is further than 20 calls ahead of another.
        code = ("import sys, threading, time, zlib\nstop = False\ncounts = [0] * 4\n"
                "def work(k):\n"
                "    while not stop:\n"
                "        if counts[k] > min(counts) + 20: time.sleep(0.0001); continue\n"
                "        with open('/dev/null') as f: f.read()\n"
                "        zlib.crc32(b'abcdefgh' * 10)\n"
                "        counts[k] += 1\n"
                "all = [threading.Thread(target=work, args=(k,)) for k in range(4)]\n"
                "for t in all: t.start()\n"
                "print('ready', flush=True)\n"
                "for line in sys.stdin:\n"
                "    if line == 'counts\\n': print('counts', min(counts), flush=True)\n"
                "    else: break\n"
                "stop = True\nfor t in all: t.join()\nprint('done', flush=True)")
        target = Target(self, [PYTHON, "-S", "-c", code])
        definitions = ("p:open libc:open64 path=+0(%di):string", "r:opened libc:open64 fd=$retval:s32",
                       f"p:long {PYTHON3}:PyLong_FromLong v=%di:s64")
        before = text_of(target.pid, "/")
        for _ in range(2):
            tracer = self.start([target.pid], *definitions, words=("--buffer", "65536"))
            target.wait_for_ticks(50)
            traced = self.stop(tracer, definitions)
            self.assertEqual({r["path"] for r in traced.records("open")}, {b"/dev/null"})
            self.assertEqual(len({r.tid for r in traced.records("open")}), 4)
            self.assertTrue(all(r["fd"] > 2 for r in traced.records("opened")))
            self.assertEqual(text_of(target.pid, "/"), before)
            self.assertNotIn(b"memfd:kevtrace", read(f"/proc/{target.pid}/maps"))
            target.wait_for_ticks(20)
        target.tell(b"end")
        target.expect(b"done")
        self.assertEqual(target.process.wait(TIMEOUT_S), 0)


class ForkedChildren(Attached):
    CODE = ("import os, sys\nprint('ready', flush=True)\n"
            "for line in sys.stdin:\n"
            "    if line != 'fork\\n': break\n"
            "    child = os.fork()\n"
            "    if child == 0:\n"
            "        while True: os.close(os.open('/dev/zero', 0))\n"
            "    print('fork', child, flush=True)\n")

    def test_children_are_left_as_well(self):
        target = Target(self, [PYTHON, "-S", "-c", self.CODE])
        text = text_of(target.pid, "/")
        definitions = ("p:open libc:open64 path=+0(%di):string", "r:opened libc:open64 fd=$retval:s32",
                       f"p:vec {PYTHON3}:PyEval_SaveThread")
        tracer = self.start([target.pid], *definitions, words=("--buffer", "512"))
        children = [int(target.ask(b"fork")[0]) for _ in range(2)]
        for child in children:
            self.addCleanup(os.kill, child, signal.SIGKILL)
        for child in children:
            wait_until(lambda: b"-%d " % child in read(self.path("trace")), "the child hits")
        traced = self.stop(tracer, definitions)
        of_parent = {(r.tid, r["path"]) for r in traced.records("open") if r.tid not in children}
        self.assertLessEqual(of_parent, {(target.pid, b"/proc/self/stat")})  # Python 3.12 and later: os.fork() asks for threads
        self.assertEqual({(r.tid, r["path"]) for r in traced.records("open")} - of_parent, {(child, b"/dev/zero") for child in children})
        for pid in [target.pid, *children]:
            self.assertNotIn(b"memfd:kevtrace", read(f"/proc/{pid}/maps"))
            self.assertEqual(text_of(pid, "/"), text)
        for child in children:
            self.assertIn(read(f"/proc/{child}/stat").rsplit(b") ", 1)[1][:1], b"RSD")
        tracer = self.start([children[0]], *definitions)
        self.wait_for_records(100)
        self.assertEqual({r.tid for r in self.stop(tracer, definitions).all}, {children[0]})
        target.tell(b"end")
        self.assertEqual(target.process.wait(TIMEOUT_S), 0)

    def test_children_are_left_when_kevtrace_is_killed(self):
        target = Target(self, [PYTHON, "-S", "-c", self.CODE])
        text = text_of(target.pid, "/")
        tracer = self.start([target.pid], "p:open libc:open64", "r:opened libc:open64 fd=$retval:s32")
        child = int(target.ask(b"fork")[0])
        self.addCleanup(os.kill, child, signal.SIGKILL)
        self.wait_for_records(100)
        tracer.kill()
        tracer.wait()
        for pid in (target.pid, child):
            wait_until(lambda: b"memfd:kevtrace" not in read(f"/proc/{pid}/maps"), "it is unprobed")
            self.assertEqual(text_of(pid, "/"), text)


class Storms(Attached):
    def test_coming_and_going_in_a_storm(self):
        """Exceptions, timers, jumps, forks, short threads and changing masks while tracers come and go."""
        target = Target(self, [os.path.join(PROGRAMS, "storms")])
        definitions = ("p:touch storms:touch n=%di:s64 s=+0(%si):string", "r:back storms:touch v=$retval:s64",
                       "p:short storms:touch_short n=%di:s64 s=+0(%si):string", "r:deep storms:deep v=$retval:s64",
                       "p:malloc libc:malloc size=%di:u64")
        text = text_of(target.pid, "/")
        for _ in range(8):
            tracer = self.start([target.pid], *definitions, words=("--buffer", "256"))
            self.wait_for_records(2000)
            traced = self.stop(tracer, definitions)
            self.assertEqual(traced.err, b"")  # nothing of ours was left behind
            self.assertEqual(text_of(target.pid, "/"), text)
            self.assertNotIn(b"memfd:kevtrace", read(f"/proc/{target.pid}/maps"))
        target.tell(b"end")
        said = target.process.stdout.readline()
        self.assertTrue(said.endswith(b" errors 0\n"), said)
        self.assertEqual(target.process.wait(TIMEOUT_S), 0)


class AttachEnds(Attached):
    def test_kevtrace_is_killed(self):
        target = self.stays()
        before, text = state_of(target.pid), text_of(target.pid, "/")
        tracer = self.start([target.pid], TOUCH, BACK, SHORT)
        self.wait_for_records(100)
        tracer.kill()
        tracer.wait()
        wait_until(lambda: b"memfd:kevtrace" not in read(f"/proc/{target.pid}/maps"), "it is unprobed")
        wait_until(lambda: state_of(target.pid) == before, "it is as it was")
        self.assertEqual(text_of(target.pid, "/"), text)
        target.wait_for_ticks()
        tracer = self.start([target.pid], TOUCH)
        self.wait_for_records(10)
        self.stop(tracer, (TOUCH,))
        self.assertEqual(target.end(), 0)

    def test_target_is_killed(self):
        target = self.stays()
        tracer = self.start([target.pid], TOUCH, BACK)
        self.wait_for_records(100)
        target.process.kill()
        traced = self.finish(tracer, (TOUCH, BACK))
        self.assertIn(b"kevtrace: process %d (stays) has ended\n" % target.pid, traced.err)

    def test_target_execs(self):
        code = "import os, sys\nprint('ready', flush=True)\nsys.stdin.readline()\nos.execv('/bin/sleep', ['sleep', '60'])"
        target = Target(self, [PYTHON, "-S", "-c", code])
        definitions = ("p:exec libc:execv path=+0(%di):string",)
        tracer = self.start([target.pid], *definitions)
        target.tell(b"go")
        traced = self.finish(tracer, definitions)
        self.assertEqual(traced.one("exec")["path"], b"/bin/sleep")
        self.assertIn(b"has become another program (exec): its probes are gone", traced.err)
        self.assertIsNone(target.process.poll())

    def test_mistake_leaves_the_process_alone(self):
        target = self.stays()
        before, text = state_of(target.pid), text_of(target.pid, "/")
        for definition, status in (("p:no stays:no_such_function", 3), ("p:bad stays:touch n=%nonsense", 3),
                                   ("r:no libc:vfork", 1)):
            words = [KEVTRACE, "run", "-e", definition, "--pid", str(target.pid)]
            done = subprocess.run(words, capture_output=True, timeout=TIMEOUT_S, check=False)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assert_as_it_was(target.pid, before)
            self.assertEqual(text_of(target.pid, "/"), text)
        self.assertEqual(target.end(), 0)


class SeveralProcesses(Attached):
    def test_two_at_once(self):
        one, two = self.stays(), self.stays()
        before = [state_of(t.pid) for t in (one, two)]
        tracer = self.start([one.pid, two.pid], TOUCH, BACK)
        self.wait_for_records(400)
        for target in (one, two):
            target.wait_for_ticks()
        traced = self.stop(tracer, (TOUCH, BACK))
        times = [r.time for r in traced.all]
        self.assertEqual(times, sorted(times))
        tids = {r.tid for r in traced.all}
        for target in (one, two):
            own = {int(tid) for tid in os.listdir(f"/proc/{target.pid}/task")}
            self.assertEqual(len(tids & own), 2)
            self.assertGreater(traced.per_pid[target.pid, "touch"][1], 0)
        for event, account in traced.accounts.items():
            parts = [traced.per_pid[t.pid, event] for t in (one, two)]
            self.assertEqual([sum(column) for column in zip(*parts)],
                             [account.hits, account.recorded, account.filtered, account.lost, account.missed])
        for target, state in zip((one, two), before):
            self.assert_as_it_was(target.pid, state)
        self.assertEqual((one.end(), two.end()), (0, 0))

    def test_one_of_two_ends(self):
        one, two = self.stays(), self.stays()
        tracer = self.start([one.pid, two.pid], TOUCH)
        self.wait_for_records(100)
        self.assertEqual(one.end(), 0)
        self.assertEqual(tracer.stderr.readline(), b"kevtrace: process %d (stays) has ended\n" % one.pid)
        size = os.path.getsize(self.path("trace"))
        wait_until(lambda: os.path.getsize(self.path("trace")) > size + 2000, "the other one is still traced")
        self.stop(tracer, (TOUCH,))
        self.assertEqual(two.end(), 0)

    def test_a_symbol_that_one_does_not_have(self):
        one = self.stays()
        code = "import sys\nprint('ready', flush=True)\nsys.stdin.readline()"
        two = Target(self, [PYTHON, "-S", "-c", code])
        before = [state_of(t.pid) for t in (one, two)]
        words = [KEVTRACE, "run", "-e", "p:t touch", "--pid", f"{one.pid},{two.pid}"]
        done = subprocess.run(words, capture_output=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(b"process %d (python3)" % two.pid, done.stderr)
        for target, state in zip((one, two), before):
            self.assert_as_it_was(target.pid, state)
        self.assertEqual(one.end(), 0)


class Refusals(Attached):
    def refused(self, pid, status, *words):
        done = subprocess.run([KEVTRACE, "run", "-e", "p:m libc:malloc", "--pid", str(pid)], capture_output=True,
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_no_such_process(self):
        ended = subprocess.Popen(["/bin/true"])
        ended.wait()
        self.refused(ended.pid, 1, b"there is no process %d" % ended.pid)

    def test_zombie(self):
        zombie = subprocess.Popen(["/bin/true"])
        wait_until(lambda: b"State:\tZ" in read(f"/proc/{zombie.pid}/status"), "it is a zombie")
        self.refused(zombie.pid, 1, b"zombie")
        zombie.wait()

    def test_kernel_thread(self):
        if not os.path.exists("/proc/2/comm") or read("/proc/2/comm") != b"kthreadd\n":
            self.skipTest("no threads of the kernel in sight")
        self.refused(2, 1, b"thread of the kernel")

    def test_thread_of_a_process(self):
        target = self.stays()
        tid = next(int(t) for t in os.listdir(f"/proc/{target.pid}/task") if int(t) != target.pid)
        self.refused(tid, 1, b"give --pid %d" % target.pid)

    def test_traced_by_another(self):
        target = self.stays()
        tracer = self.start([target.pid], TOUCH)
        # kevtrace holds a process only for moments; a debugger keeps it.
        self.stop(tracer, (TOUCH,))
        code = ("import ctypes, sys, time\nlibc = ctypes.CDLL(None, use_errno=True)\n"
                "assert libc.ptrace(0x4206, int(sys.argv[1]), 0, 0) == 0\nprint('ready', flush=True)\nsys.stdin.readline()")
        debugger = Target(self, [PYTHON, "-S", "-c", code, str(target.pid)])
        self.refused(target.pid, 4, b"already traced by %d (python3)" % debugger.pid)
        debugger.tell(b"end")
        self.assertEqual(debugger.process.wait(TIMEOUT_S), 0)
        self.assertEqual(target.end(), 0)


class OtherUser(Attached):
    def test_root_traces_a_process_of_nobody(self):
        """It may not open our files by a path: they are sent to it."""
        if os.geteuid() != 0:
            self.skipTest("needs two users")
        target = Target(self, [STAYS], user=65534, group=65534, extra_groups=[])
        before = state_of(target.pid)
        tracer = self.start([target.pid], TOUCH)
        self.wait_for_records(50)
        self.assert_none_lost(self.stop(tracer, (TOUCH,)))
        self.assert_as_it_was(target.pid, before)
        self.assertEqual(target.end(), 0)


def refuse_pidfd_getfd():
    """As the seccomp filter of systemd-nspawn 252 does; before exec."""
    PIDFD_GETFD, LOAD, EQUALS, RETURN, ALLOW, ERRNO = 438, 0x20, 0x15, 0x06, 0x7fff0000, 0x00050000
    code = b"".join(struct.pack("HBBI", *one) for one in (
        (LOAD, 0, 0, 0), (EQUALS, 0, 1, PIDFD_GETFD), (RETURN, 0, 0, ERRNO | errno.EPERM), (RETURN, 0, 0, ALLOW)))
    kept = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(kept))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(38, 1, 0, 0, 0) or prctl(22, 2, program, 0, 0):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
        raise OSError(ctypes.get_errno(), "seccomp")


class RefusedCall(Attached):
    """In a container whose filter does not know pidfd_getfd."""

    def test_traces_its_own_users_processes(self):
        target = self.stays()
        before = state_of(target.pid)
        for _ in range(2):
            tracer = self.start([target.pid], TOUCH, BACK, preexec_fn=refuse_pidfd_getfd)
            self.wait_for_records(50)
            self.assert_none_lost(self.stop(tracer, (TOUCH, BACK)))
            self.assert_as_it_was(target.pid, before)
        self.assertEqual(target.end(), 0)

    def test_says_why_it_cannot_trace_anothers(self):
        if os.geteuid() != 0:
            self.skipTest("needs two users")
        target = Target(self, [STAYS], user=65534, group=65534, extra_groups=[])
        before = state_of(target.pid)
        done = plain([KEVTRACE, "run", "-e", TOUCH, "--pid", str(target.pid)], preexec_fn=refuse_pidfd_getfd)
        self.assertIn(b"pidfd_getfd is refused", done[2])
        self.assertNotEqual(done[0], 0)
        self.assert_as_it_was(target.pid, before)
        self.assertEqual(target.end(), 0)


if __name__ == "__main__":
    main()
