"""Stacks through code that a JIT compiler has made: a program's own, whose chain of calls is known, and those of node,
OpenJDK and CPython 3.12 and later, where they are installed."""
import os
import re
import shutil
import signal
import subprocess
import time

from kevtest import KEVTRACE, PROGRAMS, ProcessTest, main

ROUNDS = 20
CHAIN = ["leaf", "inner [jit]", "evaluate", "middle [jit]", "relay", "a.js:6:23 [jit]", "main"]


def stacks_of(text, event):
    """For each record of the event its stack, innermost first, without offsets and libraries but [jit]."""
    found, at = [], None
    for line in text.splitlines():
        if line.startswith(" => ") and at is not None:
            at.append(re.sub(r" \[(?!jit\])[^]]*\]$", "", line[4:]))
        elif line.endswith("<stack trace>"):
            at = [] if f" {event}: " in previous else None
            if at is not None:
                found.append(at)
        else:
            previous, at = line, None
    return found


class JitStacks(ProcessTest):
    def started(self, *command):
        folder = self.path(".")  # node leaves a file where it runs
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        process.kill()
        process.communicate()
        path = f"/tmp/perf-{process.pid}.map"
        if os.path.exists(path):
            os.unlink(path)

    def own_program(self):
        process = self.started(os.path.join(PROGRAMS, "jit_stacks"), str(ROUNDS))
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def traced(self, process, *words):
        """The tracer's output and errors over one run of the chain."""
        tracer = subprocess.Popen([KEVTRACE, "run", "--pid", str(process.pid), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (tracer.kill(), tracer.communicate()))
        for line in tracer.stderr:
            if "runtime=inproc" in line:
                break
        process.stdin.write("\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), f"called {3 * ROUNDS}\n")
        tracer.send_signal(signal.SIGINT)
        out, err = tracer.communicate(timeout=60)
        self.assertEqual(tracer.returncode, 0, err)
        return out, err

    def test_from_code_to_made_code_and_back(self):
        out, err = self.traced(self.own_program(), "-e", "p:leaf jit_stacks:leaf", "--stack")
        stacks = stacks_of(out, "leaf")
        self.assertEqual(len(stacks), ROUNDS, err)
        for stack in stacks:
            self.assertEqual(stack[:len(CHAIN)], CHAIN)
            self.assertEqual(stack[-1], "_start")

    def test_from_an_entry_of_made_code(self):
        for event, function, begins in (("inner", "inner", 1), ("middle", "middle", 3)):
            with self.subTest(event):
                out, err = self.traced(self.own_program(), "-e", f"p:{event} jit:{function}", "--stack")
                stacks = stacks_of(out, event)
                self.assertEqual(len(stacks), ROUNDS, err)
                for stack in stacks:
                    self.assertEqual(stack[:len(CHAIN) - begins], CHAIN[begins:])

    def test_counted_at_the_hit(self):
        """No record is made: the walk by rules leads through all of it."""
        out, err = self.traced(self.own_program(), "-e", "p:leaf jit_stacks:leaf", "--hist", "leaf: keys=common_stacktrace")
        self.assertRegex(err, rf"(?m)^leaf: hits {ROUNDS} = recorded 0 \+ aggregated {ROUNDS} \+ filtered 0 \+ lost 0 \+ missed 0$")
        self.assertEqual(re.findall(r"hitcount: +(\d+)", out + err), [str(ROUNDS)], out + err)

    def names_in_stacks(self, process, names):
        """The first stack with all these functions of the JIT's, in this order. Names of code that is just being made come
        late: it is asked again then."""
        wanted = [f"{name} [jit]" for name in names]
        until = time.monotonic() + 100
        while True:
            done = subprocess.run([KEVTRACE, "run", "--pid", str(process.pid), "-e", "p:open libc:open64", "--stack", "-c", "2000", "-d", "3"],
                                  capture_output=True, text=True, timeout=100)
            self.assertEqual(done.returncode, 0, done.stderr)
            for stack in stacks_of(done.stdout, "open"):
                if [one for one in stack if one in wanted] == wanted:
                    return stack
            self.assertLess(time.monotonic(), until, f"no stack has {wanted}: {done.stdout[:3000]}")

    PYTHON = """import os
def leaf():
    os.close(os.open("/etc/passwd", 0))
def middle():
    leaf()
def outer():
    middle()
for n in range(1000): outer()
print("warm", flush=True)
while True: outer()
"""

    def test_python(self):
        python = shutil.which("python3")
        has_trampolines = python and subprocess.run([python, "-c", "import sys; sys.exit(not hasattr(sys, 'is_stack_trampoline_active'))"],
                                                    capture_output=True).returncode == 0
        if not has_trampolines:
            self.skipTest("this python3 has no trampolines for perf (3.12 and later have)")
        process = self.started(python, "-X", "perf", "-c", self.PYTHON)
        self.assertEqual(process.stdout.readline(), "warm\n")
        stack = self.names_in_stacks(process, ["leaf", "middle", "outer", "<module>"])
        self.assertEqual(stack[-1], "_start")

    NODE = """const fs = require('fs');
function leaf() { fs.closeSync(fs.openSync('/etc/passwd', 'r')); }
function middle() { for (let i = 0; i < 3; i++) leaf(); }
function outer() { for (let i = 0; i < 3; i++) middle(); }
let rounds = 0;
setInterval(() => { outer(); if (++rounds == 20) console.log('warm'); }, 5);
"""

    def test_node(self):
        node = shutil.which("node")
        if not node:
            self.skipTest("node is not installed")
        script = self.path("app.js")
        with open(script, "w") as file:
            file.write(self.NODE)
        process = self.started(node, "--perf-basic-prof", "--no-compact-code-space", "--no-turbo-inlining", "--no-maglev-inlining",
                               "--interpreted-frames-native-stack", script)
        self.assertEqual(process.stdout.readline(), "warm\n")
        stack = self.names_in_stacks(process, ["leaf", "middle", "outer", "app.js:6:13"])
        self.assertEqual(stack[-1], "_start")

    JAVA = """import java.io.*;
public class App {
  static int leaf() throws Exception { try (FileInputStream file = new FileInputStream("/etc/passwd")) { return file.read(); } }
  static int middle() throws Exception { return leaf() + 1; }
  static int outer() throws Exception { return middle() + 1; }
  public static void main(String[] words) throws Exception {
    for (int i = 0; i < 30000; i++) outer();
    System.out.println("warm");
    while (true) outer();
  }
}
"""

    def test_java(self):
        java, tool = shutil.which("java"), shutil.which("jcmd")
        if not java or not tool or not shutil.which("javac"):
            self.skipTest("no OpenJDK with its tools is installed")
        script = self.path("App.java")
        with open(script, "w") as file:
            file.write(self.JAVA)
        process = self.started(java, "-XX:+PreserveFramePointer", "-XX:-Inline", script)
        self.assertEqual(process.stdout.readline(), "warm\n")
        told = subprocess.run([tool, str(process.pid), "Compiler.perfmap"], capture_output=True, text=True, timeout=100)
        if told.returncode != 0 or "Unknown" in told.stdout:
            self.skipTest("this OpenJDK writes no perf map (17 and later do)")
        self.names_in_stacks(process, ["App.leaf", "App.middle", "App.outer"])


if __name__ == "__main__":
    main()
