"""Triggers in `kevtrace run`: on the command line and in scripts, for one program and for several, into lines and recordings."""
import json
import os
import re
import subprocess

from kevtest import KEVTRACE, PROGRAMS, ProcessTest, main

STEPS = os.path.join(PROGRAMS, "steps")
STEP, OTHER = "p:step steps:step i=%di:s64", "p:other steps:other i=%di:s64"


class RunTriggers(ProcessTest):
    def steps(self, *words, definitions=(STEP, OTHER), to=100, **options):
        """step(i) and other(i), in turn, for i below `to`."""
        traced = self.run_traced([STEPS], *definitions, words=words, input=b"0 %d 1\n" % to, **options)
        self.assertEqual((traced.status, traced.out), (0, b"done\n"), traced.err)
        return traced

    def numbers(self, traced, name):
        return [record["i"] for record in traced.records(name)]

    def test_traceoff_is_exact(self):
        traced = self.steps("--trigger", "step: traceoff if i == 50")
        self.assertEqual(self.numbers(traced, "step"), list(range(51)))
        self.assertEqual(self.numbers(traced, "other"), list(range(50)))
        self.assertEqual(traced.accounts["step"].filtered, 49)
        self.assertEqual(traced.accounts["other"].filtered, 50)

    def test_off_and_on_with_counts(self):
        traced = self.steps("--trigger", "kprobes/step: traceoff:1 if i == 10", "--trigger", "other:traceon:1 if i == 30")
        self.assertEqual(self.numbers(traced, "step"), list(range(11)) + list(range(31, 100)))

    def test_a_filter_and_a_trigger_of_one_event(self):
        traced = self.steps("--trigger", "kprobes:step:traceoff if i == 50", filters=("step: i & 1",))
        self.assertEqual(self.numbers(traced, "step"), list(range(1, 50, 2)))

    def test_a_script_switches_an_event_on(self):
        script = self.path("s.kev", f"{OTHER}\n  enable 0\n{STEP}\n  trigger enable_event:kprobes:other if i == 90\n".encode())
        done = subprocess.run([KEVTRACE, "run", "-p", script, "--", STEPS], input=b"0 100 1\n", capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"kprobes/other is off: `enable 0`\n", done.stderr)
        self.assertIn(b"step: hits 100 = recorded 100 + filtered 0 + lost 0 + missed 0\n", done.stderr)
        self.assertIn(b"other: hits 100 = recorded 10 + filtered 90 + lost 0 + missed 0\n", done.stderr)

    def test_stacks_where_a_condition_holds(self):
        done = subprocess.run([KEVTRACE, "run", "-e", STEP, "--trigger", "step: stacktrace:2 if i > 5", "--", STEPS],
                              input=b"0 20 1\n", capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.decode().splitlines()
        behind = {before.split("i=")[1] for before, line in zip(lines, lines[1:]) if line.endswith(": <stack trace>")}
        self.assertEqual(behind, {"6", "7"})
        self.assertEqual(lines.count(" => run"), 2)
        self.assertEqual(sum(" step: " in line for line in lines), 20)

    def test_a_stack_belongs_to_a_record(self):
        """What the filter rejects has no record, and no stack behind another's."""
        done = subprocess.run([KEVTRACE, "run", "-e", STEP, "--filter", "step: i > 15", "--trigger", "step: stacktrace", "--", STEPS],
                              input=b"0 20 1\n", capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.decode().splitlines()
        self.assertEqual(lines.count(" => run"), 4)
        self.assertEqual([line.split("i=")[1] for line in lines if " step: " in line], ["16", "17", "18", "19"])

    def test_an_injection_asks_its_filter_at_the_hit_or_is_refused(self):
        words = ("-e", "p:fail libc:open64 path=+0(%di):string", "--filter", 'fail: path == "/etc/hosts"', "--unsafe", "--inject",
                 "fail: ret=-1")
        code = "try: open('/etc/hosts')\nexcept OSError: print('refused')\nopen('/etc/passwd'); print('opened')"
        for trigger, status, out in (("traceon", 0, b"refused\nopened\n"), ("stacktrace", 1, b"")):
            with self.subTest(trigger):
                done = subprocess.run([KEVTRACE, "run", "-q", "-o", "/dev/null", *words, "--trigger", "fail: " + trigger, "--",
                                       "/usr/bin/python3", "-S", "-c", code], capture_output=True, timeout=60)
                self.assertEqual((done.returncode, done.stdout), (status, out), done.stderr)
                self.assertEqual(b"its filter and triggers have to be asked at the hit" in done.stderr, status == 1, done.stderr)

    def test_into_a_recording(self):
        file = self.path("t.dat")
        done = subprocess.run([KEVTRACE, "run", "-e", STEP, "--trigger", "step: traceoff if i == 50", "-o", file, "--", STEPS],
                              input=b"0 100 1\n", capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = subprocess.run([KEVTRACE, "report", file, "-f", "json"], capture_output=True, check=True, timeout=60)
        records = [json.loads(line) for line in report.stdout.splitlines()]
        events = [record for record in records if record["type"] == "event"]
        self.assertEqual(len(events), 51)

    def test_counted_live(self):
        done = subprocess.run([KEVTRACE, "count", "-e", STEP, "--trigger", "step: traceoff if i == 50", "-f", "json", "--", STEPS],
                              input=b"0 100 1\n", capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"step: hits 100 = recorded 51 + filtered 49 + lost 0 + missed 0\n", done.stderr)

    def test_programs_that_are_followed(self):
        """Their hits are decided in the order of time, when they are read."""
        script = "for n in 1 2 3; do echo 0 10 1 | " + STEPS + "; done"
        done = subprocess.run([KEVTRACE, "run", "--follow-forks", "-e", STEP, "--trigger", "step: traceoff:1 if i == 4", "--",
                               "/bin/sh", "-c", script], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"step: hits 30 = recorded 5 + filtered 25 + lost 0 + missed 0\n", done.stderr)

    def refused(self, *words):
        done = subprocess.run([KEVTRACE, "run", "-e", STEP, *words, "--", STEPS], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=60)
        self.assertEqual(done.stdout, b"")
        return done.returncode, done.stderr

    def test_mistakes_are_shown_where_they_were_written(self):
        status, err = self.refused("--trigger", "step: traceoff", "--trigger", "step: traceof")
        self.assertEqual(status, 3)
        self.assertIn(b"<trigger 2>:1:1: error: ", err)
        status, err = self.refused("--trigger", "nobody: traceoff")
        self.assertEqual(status, 3)
        self.assertIn(b"`nobody` is not defined here", err)
        status, err = self.refused("--trigger", "traceoff")
        self.assertEqual(status, 2)
        self.assertIn(b"names no event; write EVENT:TRIGGER", err)

    def test_what_has_no_place_in_a_run(self):
        for trigger, word in (("snapshot", b"kevtrace mount"), ("hist:keys=i:x=i:onmax($x).snapshot()", b"kevtrace mount")):
            with self.subTest(trigger):
                status, err = self.refused("--trigger", "step: " + trigger)
                self.assertEqual(status, 3)
                self.assertIn(word, err)

    def counted(self, *words, input=b"0 100 1\n", command=(STEPS,)):
        done = subprocess.run([KEVTRACE, "run", *words, "--", *command], input=input, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode(), done.stderr.decode()

    def test_hits_are_counted_by_key(self):
        """--hist counts and records nothing; the trigger counts and records."""
        out, err = self.counted("-e", STEP, "--hist", "step: keys=i.log2:vals=i:sort=i")
        self.assertTrue(out.startswith("done\n# kprobes:step\n# event histogram\n#\n# trigger info: hist:keys=i.log2:"), out)
        self.assertIn("{ i: ~ 2^1  } hitcount:          1  i:          2\n", out)
        self.assertIn("{ i: ~ 2^7  } hitcount:         35  i:       2870\n", out)
        self.assertIn("\nTotals:\n    Hits: 100\n    Entries: 8\n    Dropped: 0\n", out)
        self.assertIn("step: hits 100 = recorded 0 + aggregated 100 + filtered 0 + lost 0 + missed 0\n", err)
        out, err = self.counted("-e", STEP, "--trigger", "step: hist:keys=i if i < 5")
        self.assertEqual(out.count(" step: ("), 100)
        self.assertIn("    Hits: 5\n", out)
        self.assertIn("step: hits 100 = recorded 100 + filtered 0 + lost 0 + missed 0\n", err)

    def test_tables_are_not_among_the_records(self):
        out, err = self.counted("-e", STEP, "-f", "json", "--trigger", "step: hist:keys=i")
        records = [json.loads(line) for line in out.splitlines() if line != "done"]
        self.assertEqual(records[-1]["totals"]["kprobes/step"]["recorded"], 100)
        self.assertIn("    Hits: 100\n", err)
        file = self.path("t.json")
        out, err = self.counted("-e", STEP, "-o", file, "--hist", "step: pause:keys=i", "--hist", "step: keys=i:cont")
        self.assertIn("    Hits: 100\n", out)
        with open(file, encoding="utf-8") as lines:
            end = [json.loads(line) for line in lines][-1]
        self.assertEqual(end["totals"]["kprobes/step"], {"hits": 100, "recorded": 0, "aggregated": 100, "filtered": 0, "lost": 0, "missed": 0,
                                                         "faults": 0, "overwritten": 0})

    def test_tables_on_a_terminal(self):
        """Line by line, and what others wrote is escaped."""
        master, slave = os.openpty()
        done = subprocess.Popen([KEVTRACE, "run", "-q", "-e", "p:step steps:step nr=%di:s64", "--hist", "step: keys=nr:x=nr:onmax($x).save(nr)", "--", STEPS],
                                stdin=subprocess.PIPE, stdout=slave, stderr=subprocess.DEVNULL)
        os.close(slave)
        done.stdin.write(b"0 2 1\n")
        done.stdin.close()
        out = b""
        try:
            while piece := os.read(master, 4096):
                out += piece
        except OSError:  # the other end is closed
            pass
        os.close(master)
        self.assertEqual(done.wait(timeout=60), 0)
        self.assertIn(b"{ nr:          1 } hitcount:          1\r\n\tmax:          1  nr:          1\r\n", out)

    def test_a_stack_is_a_key(self):
        out, _ = self.counted("-e", STEP, "--hist", "step: keys=stacktrace")
        self.assertRegex(out, r"{ common_stacktrace:\n         step\+0x0/\S+\n         run\+\S+\n         libc\.so\.6\+\S+\n")
        self.assertIn("} hitcount:        100\n", out)

    def test_latencies_become_events(self):
        script = self.path("s.kev", b"""
s:took s64 nr; u64 ns
p:a steps:step nr=%di:s64
  enable 0
  trigger hist:keys=nr:t=common_timestamp
p:b steps:other nr=%di:s64
  enable 0
  trigger hist:keys=nr:ns=common_timestamp-$t:onmatch(kprobes.a).trace(took,nr,$ns)
""")
        out, err = self.counted("-p", script)
        self.assertEqual(len(re.findall(r" took: nr=\d+ ns=\d+$", out, re.MULTILINE)), 100, out[-500:] + err)

    LATENCIES = """
s:took s64 nr; u64 ns; char who[]
p:a steps:step nr=%di:s64
  enable 0
  trigger hist:keys=nr:t=common_timestamp:w=common_pid.execname
p:b steps:other nr=%di:s64
  enable 0
  trigger hist:keys=nr:n=nr:ns=common_timestamp-$t:onmatch(kprobes.a).trace(took,$n,$ns,$w)
"""

    def test_eprobes_read_synthetic_events(self):
        """Some of the records, as lines, in a recording, and counted."""
        script = self.path("e.kev", (self.LATENCIES + "e:late synthetic.took of=$nr:s64 by=$who:string if nr >= 90\n"
                                     "  filter of != 95\n").encode())
        out, err = self.counted("-p", script)
        numbers = [int(nr) for nr in re.findall(r' late: \(synthetic.took\) of=(\d+) by="steps"$', out, re.MULTILINE)]
        self.assertEqual(numbers, [90, 91, 92, 93, 94, 96, 97, 98, 99], out[-500:] + err)
        self.assertIn("late: hits 100 = recorded 9 + filtered 91 + lost 0 + missed 0\n", err)
        recording = self.path("e.dat")
        self.counted("-p", script, "-o", recording)
        shown = subprocess.run([KEVTRACE, "report", recording], capture_output=True, text=True, check=True, timeout=60).stdout
        self.assertEqual(len(re.findall(r' late: .*of=\d+ by="steps"$', shown, re.MULTILINE)), 9)
        out, _ = self.counted("-p", script, "--hist", "late: keys=by:vals=of if of < 95")
        self.assertRegex(out, r"{ by: steps +} hitcount: +5  of: +460\n")

    def test_an_eprobe_of_a_synthetic_event_reads_no_memory(self):
        script = self.path("m.kev", (self.LATENCIES + "e:far synthetic.took at=+0($ns):u64\n").encode())
        status, err = self.refused("-p", script)
        self.assertEqual(status, 1)
        self.assertIn(b"the record of a synthetic event is made when the rings are read", err)

    def test_events_of_the_kernel_need_its_runtime(self):
        status, err = self.refused("--runtime", "inproc", "--enable", "sched:sched_switch")
        self.assertEqual(status, 4)
        self.assertIn(b"--enable GROUP:EVENT is for the kernel's own events: --runtime bpf or kmod", err)


if __name__ == "__main__":
    main()
