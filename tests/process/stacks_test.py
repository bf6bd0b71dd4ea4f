"""--stack: the calls under way at each hit, in every format; several processes, each with names of its own."""
import collections
import json
import os
import re
import shutil
import signal
import subprocess

from kevtest import KEVTRACE, TIMEOUT_S, ProcessTest, main
from recording_test import output

OPEN = "p:op libc:open64 path=+0(%di):string flags=%si:x32"
RETURN = "r:ret libc:open64 path=+0($arg1):string fd=$retval:s32"
PROGRAM = ["/usr/bin/python3", "-S", "-c", "for i in range(40): open('/etc/passwd').close()"]
INNERMOST, OUTERMOST = "open", "_start"
BETWEEN = ["_PyEval_EvalFrameDefault", "Py_RunMain", "Py_BytesMain", "__libc_start_main"]  # innermost first


def stacks_of(text):
    """[(event, [frame, …])] of trace lines; a frame is a name without its library, or a file and the offset there."""
    found = []
    for line in text.splitlines():
        if event := re.match(r"^ *\S+-\d+ .*\d+\.\d+: (op|ret): ", line):
            found.append((event[1], []))
        elif frame := re.match(r"^ => (\S+?)(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?(?: |$)", line):
            found[-1][1].append(frame[1])
    return found


class Stacks(ProcessTest):
    def record(self, name, *definitions, program=PROGRAM):
        path = self.path(name)
        words = [word for text in definitions for word in ("-e", text)]
        done = subprocess.run([KEVTRACE, "run", "--stack", "-o", path, *words, "--", *program], capture_output=True,
                              text=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.recorded = sum(map(int, re.findall(r"= recorded (\d+) ", done.stderr)))
        self.counted = sum(map(int, re.findall(r" aggregated (\d+) ", done.stderr)))
        return path

    def check_frames(self, frames):
        places = [frames.index(name) for name in BETWEEN]
        self.assertEqual(places, sorted(places), frames)
        self.assertEqual(frames[-1], OUTERMOST)

    def ours(self, stacks):
        """Those of PROGRAM's own calls: python3 opens files while it starts, too, and imports."""
        return [(event, frames) for event, frames in stacks if "Py_RunMain" in frames and "PyImport_Import" not in frames]

    def test_a_stack_goes_from_the_probe_to_the_program_s_start(self):
        path = self.record("r.dat", OPEN)
        stacks = stacks_of(output(KEVTRACE, "report", path))
        self.assertEqual(len(stacks), self.recorded)
        own = self.ours(stacks)
        self.assertEqual(len(own), 40)
        for _, frames in own:
            self.assertEqual(frames[0], INNERMOST)
            self.check_frames(frames)

    def test_a_program_without_section_headers(self):
        """Its frames are found by the program headers."""
        with open(PROGRAM[0], "rb") as file:
            content = bytearray(file.read())
        content[40:48], content[60:64] = bytes(8), bytes(4)  # where they are, how many, which has the names
        program = self.path("python3", content)
        os.chmod(program, 0o755)
        stacks = stacks_of(output(KEVTRACE, "report", self.record("r.dat", OPEN, program=[program, *PROGRAM[1:]])))
        own = self.ours(stacks)
        self.assertEqual(len(own), 40)
        for _, frames in own:
            self.check_frames(frames)

    def test_a_return_probe_s_stack_begins_where_it_returns_to(self):
        path = self.record("r.dat", RETURN)
        own = self.ours(stacks_of(output(KEVTRACE, "report", path)))
        self.assertEqual(len(own), 40)
        for _, frames in own:
            self.assertNotIn(INNERMOST, frames)
            self.check_frames(frames)

    def test_a_record_is_the_same_with_a_stack(self):
        self.assertIn(') path="/etc/passwd" flags=0x80000', output(KEVTRACE, "report", self.record("r.dat", OPEN)))

    def test_folded(self):
        with open(self.record("r.folded", OPEN), encoding="utf-8") as file:
            lines = file.read().splitlines()
        weights = [int(line.rsplit(" ", 1)[1]) for line in lines]
        self.assertEqual((sum(weights), self.recorded), (self.counted, 0))
        deepest = max(lines, key=lambda line: int(line.rsplit(" ", 1)[1])).rsplit(" ", 1)[0].split(";")
        self.assertEqual(deepest[:2], ["python3", OUTERMOST])
        self.check_frames([frame.split(" [")[0] for frame in reversed(deepest[1:])])

    def tree(self, *words):
        """[(name, numbers of its columns, depth)] of `flame`."""
        text = output(KEVTRACE, "flame", *words)
        found = [re.match(r"((?: +[+-]?[\d.]+){3})  ((?:  )*)(\S.*)$", line) for line in text.splitlines()[1:]]
        return [(line[3], [float(number) for number in line[1].split()], len(line[2]) // 2) for line in found]

    def test_call_tree(self):
        path = self.record("r.dat", OPEN)
        recorded = self.recorded
        lines = self.tree(path, "--least", "0")
        self.assertEqual(lines[0], ("all", [recorded, 100, 0], 0))
        self.assertEqual([(line[0], line[2]) for line in lines[1:3]], [("python3", 1), (OUTERMOST, 2)])
        innermost = [line for line in lines if line[0].split(" [")[0] == INNERMOST]
        self.assertEqual(sum(line[1][0] for line in innermost), sum(line[1][2] for line in innermost))  # no open calls another function
        self.assertEqual(sum(line[1][2] for line in lines), recorded)
        for i, (_, (weight, _, own), depth) in enumerate(lines):
            inside = []
            for line in lines[i + 1:]:
                if line[2] <= depth:
                    break
                if line[2] == depth + 1:
                    inside.append(line[1][0])
            self.assertEqual(own + sum(inside), weight)
            self.assertEqual(inside, sorted(inside, reverse=True))
        turned = self.tree(path, "--least", "0", "--bottom-up")
        self.assertEqual({line[0].split(" [")[0] for line in turned if line[2] == 1}, {frames[0] for _, frames in stacks_of(output(KEVTRACE, "report", path))})
        # Stacks of what the filter leaves, and of nothing else.
        some = self.tree(path, "--least", "0", "-F", 'op: path == "/etc/passwd"')
        text = output(KEVTRACE, "report", path, "-F", 'op: path == "/etc/passwd"')
        self.assertEqual(some[0][1][0], 40)
        self.assertEqual([len(frames) > 1 for _, frames in stacks_of(text)], [True] * 40)
        # What each open was given as its flags, summed up.
        flags = sum(int(word, 16) for word in re.findall(r" flags=(0x[0-9a-f]+)$", output(KEVTRACE, "report", path), re.MULTILINE))
        self.assertEqual(self.tree(path, "--weight", "op.flags")[0][1][0], flags)
        self.assertEqual(self.tree(path, "--weight", "hits")[0][1][0], recorded)

    def test_call_trees_side_by_side(self):
        before = self.record("before.dat", OPEN, program=[*PROGRAM[:-1], PROGRAM[-1].replace("40", "10")])
        few = self.recorded
        after = self.record("after.dat", OPEN)
        lines = self.tree(after, "--before", before, "--least", "0")
        self.assertEqual(lines[0][1], [few, self.recorded, 30])
        self.assertTrue(all(now - earlier == change for _, (earlier, now, change), _ in lines))
        self.assertEqual([change for name, (_, _, change), _ in lines if name.split(" [")[0] == INNERMOST and change], [30])
        document = json.loads(output(KEVTRACE, "flame", after, "--before", before, "-f", "json"))
        self.assertEqual((document["type"], document["counts"], document["weight"], document["nodes"][0]["before"]), ("call_tree", "stacks", self.recorded, few))
        output(KEVTRACE, "flame", after, "--before", before, "-o", self.path("d.svg"))
        with open(self.path("d.svg"), encoding="utf-8") as file:
            svg = file.read()
        self.assertIn(f"({few} before)", svg)
        self.assertRegex(svg, r"open \[libc\.so\.6\]: \d+ stacks, [\d.]+ %; before \d+, [\d.]+ %")
        for words, said in ((("--before", before, "-f", "folded"), "folded lines have one weight"), (("--weight", "nosuch"), "no event of the recording has a field"),
                            (("--before", before, "--weight", "time"), "")):
            done = subprocess.run([KEVTRACE, "flame", after, *words], capture_output=True, text=True, timeout=TIMEOUT_S)
            self.assertEqual((done.returncode, said in done.stderr), (3 if said else 0, True), done.stderr)

    def test_other_formats_and_back(self):
        path = self.record("r.dat", OPEN)
        lines = output(KEVTRACE, "report", path)
        for name in ("r.json", "r.dat7"):
            other = self.path(name)
            output(KEVTRACE, "convert", path, other)
            self.assertEqual(stacks_of(output(KEVTRACE, "report", other)), stacks_of(lines), name)
        with open(self.path("r.json"), encoding="utf-8") as file:
            stacks = [line["stack"] for line in map(json.loads, file) if "stack" in line]
        self.assertEqual(len(stacks), self.recorded)
        self.assertTrue(all(frames[-1].startswith("_start+0x") for frames in stacks if len(frames) > 20))
        for name in ("r.pftrace", "r.chrome.json", "r.ctf", "r.csv"):
            output(KEVTRACE, "convert", path, self.path(name))

    def test_trace_cmd_prints_the_same_stacks(self):
        if not shutil.which("trace-cmd"):
            self.skipTest("no trace-cmd")
        path = self.record("r.dat", OPEN)
        theirs = re.findall(r"^=> (\S+)(?: \[\S+\])? \([0-9a-f]+\)$", output("trace-cmd", "report", path), re.MULTILINE)
        ours = [frame for _, frames in stacks_of(output(KEVTRACE, "report", path)) for frame in frames]
        named = collections.Counter(frame for frame in ours if not frame.startswith("0x"))
        for name, count in named.items():
            self.assertGreaterEqual(theirs.count(name), count, name)


class SeveralProcesses(ProcessTest):
    def test_each_has_names_of_its_own(self):
        text = "import sys, threading\nprint(flush=True)\nsys.stdin.readline()\n" \
               "t = threading.Thread(target=lambda: [open('/etc/passwd').close() for i in range(30)])\nt.start()\nt.join()\nsys.stdin.readline()\n"
        path = self.path("r.dat")
        programs = [subprocess.Popen(["/usr/bin/python3", "-S", "-c", text], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True) for _ in range(2)]
        try:
            for program in programs:
                program.stdout.readline()
            pids = [program.pid for program in programs]
            tracer = subprocess.Popen([KEVTRACE, "run", "-o", path, "-e", OPEN, "--pid", ",".join(map(str, pids))],
                                      stderr=subprocess.PIPE, text=True)
            for _ in pids:
                self.assertIn("op: jump", tracer.stderr.readline())
            for program in programs:
                program.stdin.write("\n")
                program.stdin.flush()
            wanted = 30 * len(programs)
            while output(KEVTRACE, "report", path).count("/etc/passwd") < wanted:
                self.assertIsNone(tracer.poll())
            tracer.send_signal(signal.SIGINT)
            self.assertEqual(tracer.wait(TIMEOUT_S), 0)
            tracer.stderr.close()
        finally:
            for program in programs:
                program.kill()
                program.communicate()
        lines = output(KEVTRACE, "report", path).splitlines()
        self.assertEqual(len(lines), wanted)
        self.assertTrue(all("op: (open+0x0/" in line and "[libc.so.6]) " in line for line in lines), lines[:3])
        addresses = set(re.findall(r'"__probe_ip":(\d+)', output(KEVTRACE, "report", "-f", "json", path)))
        self.assertEqual(len(addresses), 2, "libc lies elsewhere in each")
        events = [json.loads(line) for line in output(KEVTRACE, "report", "-f", "json", path).splitlines()]
        events = [event for event in events if event["type"] == "event"]
        self.assertEqual(collections.Counter(event["process"] for event in events), {pid: 30 for pid in pids})
        self.assertTrue(all(event["pid"] != event["process"] for event in events), "the thread is another one")
        chrome = json.loads(output(KEVTRACE, "report", "-f", "chrome", path))
        self.assertEqual({event["pid"] for event in chrome if event["ph"] == "i"}, set(pids))
        self.assertEqual({(event["pid"], event["args"]["name"]) for event in chrome if event["name"] == "process_name"},
                         {(pid, "python3") for pid in pids})
        with open(path, "rb") as file:
            maps = file.read()
        for pid in pids:
            self.assertRegex(maps, rb"%x [0-9a-f]+ python3\n[0-9a-f]+ [0-9a-f]+ /" % pid)
        again = self.path("again.dat")
        output(KEVTRACE, "convert", path, self.path("r.json"))
        output(KEVTRACE, "convert", self.path("r.json"), again)
        self.assertEqual(output(KEVTRACE, "report", again), output(KEVTRACE, "report", path))


if __name__ == "__main__":
    main()
