"""libkevtrace from C and from Python: definitions checked and compiled, commands and processes traced, recordings read; a
caller that dies, mistakes, timeouts."""
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import kevtrace

KEVTRACE = os.environ["KEVTRACE"]
PROGRAMS = os.environ["KEVT_PROGRAMS"]
PRINT_RECORDS = os.environ["KEVT_PRINT_RECORDS"]
LINES = os.path.join(PROGRAMS, "lines0")
STEPS = os.path.join(PROGRAMS, "steps")
AREA = "p:area lines0:area_of:8 width height area s->label:string w=s->weight all_counters"
VALUES = [{"width": 3 * n, "height": 3 * (n + 1), "area": 9 * n * (n + 1), "label": "first", "w": 2.5, "all_counters": [1, 2, 3, 4]} for n in range(1, 6)]


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(") ", 1)[1][0] not in "ZX"
    except FileNotFoundError:
        return False


def wait_until(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited for " + what)
        time.sleep(0.01)


class Steps:
    """A program that calls step(i) when it is told to."""

    def __enter__(self):
        self.process = subprocess.Popen([STEPS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=20)
        self.process.stdout.close()

    @property
    def pid(self):
        return self.process.pid

    def step(self, first, last):
        self.process.stdin.write(f"{first} {last} 1\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"



class Python(unittest.TestCase):
    def test_a_command(self):
        with kevtrace.run(AREA, command=[LINES, "5"]) as reader:
            records = list(reader)
            self.assertEqual([r.fields for r in records], VALUES)
            self.assertEqual({r.event for r in records}, {"uprobes/area"})
            self.assertEqual(records, sorted(records, key=lambda r: r.time))
            first = records[0]
            self.assertEqual((first.comm, first.width, first["area"], first.lost_before), ("lines0", 3, 18, 0))
            self.assertIn("width=3", repr(first))
            with self.assertRaisesRegex(AttributeError, "it has width, height"):
                first.nosuch  # pylint: disable=pointless-statement
            self.assertEqual(reader.counts, {"uprobes/area": kevtrace.Counts(5, 5, 0, 0, 0, 0)})
            self.assertEqual(reader.status, 0)

    def test_filters_triggers_and_several_definitions(self):
        with kevtrace.run([AREA, "p:sum lines0:sum_to:0 n"], filters=["area: area > 100"], triggers="sum: traceoff if n == 5", command=[LINES, "5"]) as reader:
            records = list(reader)
        self.assertEqual([r.area for r in records if r.event == "uprobes/area"], [108])
        self.assertEqual([r.n for r in records if r.event == "uprobes/sum"], [3, 4, 5])
        self.assertEqual(reader.counts["uprobes/area"].filtered, 4, "two by the filter, two since tracing is off")

    def test_the_commands_status_is_its_own(self):
        with kevtrace.run("p libc:read", command=["/bin/sh", "-c", "read x </dev/null; exit 7"]) as reader:
            self.assertGreater(len(list(reader)), 0)
            self.assertEqual(reader.status, 7)

    def test_programs_that_are_followed(self):
        by_path = AREA.replace("lines0:", LINES + ":")
        with kevtrace.run(by_path, command=["/bin/sh", "-c", f"{LINES} 2; {LINES} 3"], follow=True) as reader:
            self.assertEqual([r.fields for r in reader], VALUES[:2] + VALUES[:3])

    def test_mistakes_are_errors_with_their_places(self):
        reader = kevtrace.run("p:area lines0:area_of:8 widht", command=[LINES, "1"])
        with self.assertRaisesRegex(kevtrace.Error, "(?s)near it: `width`.*\\^"):
            next(reader)
        self.assertEqual(reader.status, 3)
        with self.assertRaisesRegex(kevtrace.Error, "no process"):
            next(kevtrace.run("p libc:open64", pid=2 ** 22 - 3))
        with self.assertRaisesRegex(kevtrace.Error, "CMD"):
            next(kevtrace.run("p libc:open64"))
        with self.assertRaisesRegex(kevtrace.Error, "nosuch"):
            kevtrace.open("/nosuch/recording")
        reader.close()
        with self.assertRaises(ValueError):
            next(reader)

    def test_a_process_timeouts_and_stop(self):
        with Steps() as steps, kevtrace.run("p:step steps:step i=%di:s64", pid=steps.pid) as reader:
            self.assertIsNone(reader.next(timeout=0))
            seen = []
            for turn in range(3):
                wait_until(lambda: steps.step(0, 1) or (one := reader.next(timeout=0.3)) and not seen.append(one.i), "a record")
                steps.step(10 * turn + 1, 10 * turn + 4)
                self.assertTrue(select.select([reader], [], [], 20)[0])
                while (one := reader.next(timeout=0.5)) is not None:
                    seen.append(one.i)
            self.assertEqual([i for i in seen if i], [1, 2, 3, 11, 12, 13, 21, 22, 23])
            reader.stop()
            self.assertEqual([r.i for r in reader if r.i], [])
            counts = reader.counts["kprobes/step"]
            self.assertEqual((counts.hits, counts.recorded), (len(seen), len(seen)))
            steps.step(0, 5)  # it goes on

    def test_polled_without_waiting_to_the_end(self):
        with kevtrace.run(AREA, command=[LINES, "5"]) as reader:
            seen = []
            with self.assertRaises(StopIteration):
                while True:
                    self.assertTrue(select.select([reader], [], [], 20)[0])
                    while (one := reader.next(timeout=0)) is not None:
                        seen.append(one.width)
            self.assertEqual(seen, [v["width"] for v in VALUES])

    def test_stopped_at_once(self):
        with Steps() as steps:
            for pause in (0, 0.001, 0.005, 0.02, 0.1):
                with kevtrace.run("p:step steps:step i=%di:s64", pid=steps.pid) as reader:
                    time.sleep(pause)  # whichever moment it is, tracing ends
                    reader.stop()
                    self.assertEqual([r.i for r in reader], [])
            steps.step(0, 3)

    def run_python(self, text, seconds=60, env=None):
        return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=seconds, env={**os.environ, **(env or {})})

    def test_callers_that_do_not_wait_for_their_children(self):
        done = self.run_python(f"import signal, kevtrace\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nwith kevtrace.run({AREA!r}, command=[{LINES!r}, '5']) as r: print([x.width for x in r], r.status)")
        self.assertIn("[3, 6, 9, 12, 15] None", done.stdout, done.stderr)

    def test_a_forked_process_of_the_caller(self):
        done = self.run_python(f"""
import os, kevtrace
r = kevtrace.run({AREA!r}, command=[{LINES!r}, '5'])
if os.fork() == 0:
    r.close()
    os._exit(0)
os.wait()
print([x.width for x in r], flush=True)
""")
        self.assertIn("[3, 6, 9, 12, 15]", done.stdout, done.stderr)

    def test_signals_and_close_while_another_call_waits(self):
        with Steps() as steps:
            done = self.run_python(f"""
import kevtrace, signal, threading, time
signal.signal(signal.SIGALRM, lambda *_: print('alarm', flush=True))
signal.setitimer(signal.ITIMER_REAL, 0.3)
r = kevtrace.run('p:step steps:step', pid={steps.pid})
threading.Timer(1.0, r.close).start()
try: r.next()
except ValueError as e: print(e)
""")
            self.assertEqual(done.stdout, "alarm\nthe reader is closed\n", done.stderr)
            steps.step(0, 3)

    def test_options_that_cannot_be_taken(self):
        with self.assertRaisesRegex(kevtrace.Error, "exclude each other"):
            kevtrace.run("p:a libc:read", pid=1, command=["/bin/true"])
        for words in (dict(interval=-1), dict(interval=float("nan")), dict(seconds=float("inf"))):
            with self.assertRaisesRegex(kevtrace.Error, "are seconds, 0 or more"):
                kevtrace.run("p:a libc:read", pid=1, **words)
        with self.assertRaises(ValueError):
            kevtrace.check("p:x vfs_read\0 a=%zz")

    def test_words_of_a_command_stay_as_they_are(self):
        done = self.run_python("import kevtrace\nfor _ in kevtrace.run('p libc:puts', command=['/bin/echo', 'a', chr(1), '-f', 'b']): pass")
        self.assertEqual(done.stdout, "a \1 -f b\n", done.stderr)

    def test_closed_early(self):
        with Steps() as steps:
            for _ in range(3):
                with kevtrace.run("p:step steps:step i=%di:s64", pid=steps.pid) as reader:
                    wait_until(lambda: steps.step(0, 1) or reader.next(timeout=0.2), "a record")
                steps.step(0, 3)
                self.assertEqual(children_of(os.getpid()), [steps.pid])
        started = time.monotonic()
        with kevtrace.run("p:r libc:read", command=["/bin/sleep", "8"]) as reader:
            self.assertIsNone(reader.next(timeout=0.5))
        self.assertLess(time.monotonic() - started, 6, "the program that was started goes on")

    def test_readers_in_threads(self):
        results = {}

        def trace(number):
            with kevtrace.run(AREA, command=[LINES, str(number)]) as reader:
                results[number] = [r.fields for r in reader]
        threads = [threading.Thread(target=trace, args=(n,)) for n in range(1, 6)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual(results, {n: VALUES[:n] for n in range(1, 6)})

    def test_nothing_is_lost_at_speed(self):
        with Steps() as steps, kevtrace.run("p:step steps:step i=%di:s64", pid=steps.pid, buffer_kb=16384) as reader:
            wait_until(lambda: steps.step(0, 1) or reader.next(timeout=0.2), "a record")
            steps.step(1, 100_001)
            reader.stop()
            self.assertEqual([r.i for r in reader if r.i], list(range(1, 100_001)))

    def test_a_caller_that_is_killed(self):
        with Steps() as steps:
            program = f"import kevtrace\nr = kevtrace.run('p:step steps:step i=%di:s64', pid={steps.pid})\nwhile True: print(r.next().i, flush=True)"
            with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as caller:
                wait_until(lambda: steps.step(7, 8) or select.select([caller.stdout], [], [], 0.2)[0], "a record")
                tracers = children_of(caller.pid)
                self.assertEqual(len(tracers), 1)
                caller.send_signal(signal.SIGKILL)
            wait_until(lambda: not any(is_alive(pid) for pid in tracers), "kevtrace's end")
            steps.step(0, 100)

    def test_recordings(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("t.dat", "t.json"):
                path = os.path.join(folder, name)
                subprocess.run([KEVTRACE, "-q", "run", "-o", path, "-e", AREA, "--", LINES, "5"], check=True, stdout=subprocess.DEVNULL)
                with kevtrace.open(path) as reader:
                    self.assertEqual([r.fields for r in reader], VALUES)
                    self.assertEqual(reader.counts["uprobes/area"].hits, 5)
                    self.assertIsNone(reader.status)
                    self.assertEqual(reader.fileno(), -1)

    def test_lists_of_other_lengths_in_each_record(self):
        program = os.path.join(PROGRAMS, "lists")
        definition = "p:r lists:by_reference numbers prices"
        wanted = [([n * 7 - 10 for n in range(i)], [n / 4 for n in range(i)]) for i in range(6)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.dat")
            subprocess.run([KEVTRACE, "-q", "run", "-o", path, "-e", definition, "--", program, "6"], check=True, stdout=subprocess.DEVNULL)
            with kevtrace.open(path) as reader:
                self.assertEqual([(r.fields["numbers"], r.fields["prices"]) for r in reader], wanted)

    def test_a_damaged_recording(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.json")
            subprocess.run([KEVTRACE, "-q", "run", "-o", path, "-e", AREA, "--", LINES, "5"], check=True, stdout=subprocess.DEVNULL)
            with open(path, "a", encoding="utf-8") as file:
                file.write("no object\n")
            with kevtrace.open(path) as reader:
                with self.assertRaisesRegex(kevtrace.Error, "no JSON object"):
                    list(reader)

    @staticmethod
    def wait_for_probe(reader):
        wait_until(lambda: reader.next(timeout=0.01) or "step: jump" in reader.messages, "the probe")

    def next_of(self, reader, what, seconds=20):
        one = reader.next(timeout=seconds)
        self.assertIsInstance(one, what)
        return one

    def test_histograms_are_counted_at_the_hit(self):
        with Steps() as steps:
            reader = kevtrace.run("p:step steps:step i=%di:s64", pid=steps.pid, histograms=["step: keys=i.log2:vals=i", "step: keys=common_pid.execname"])
            self.wait_for_probe(reader)
            steps.step(0, 5)
            reader.stop()
            by_size, by_program = list(reader)
            self.assertEqual([(row.keys["i.log2"], row.hits, row.values["i"]) for row in sorted(by_size.rows, key=lambda row: row.values["i"])],
                             [({"above": None, "to": 1}, 2, 1), ({"above": 1, "to": 2}, 1, 2), ({"above": 2, "to": 4}, 2, 7)])
            self.assertEqual((by_size.event, by_size.hits, by_size.dropped, by_size.rows[0].at_least), ("kprobes/step", 5, 0, None))
            self.assertEqual([(row.keys["common_pid.execname"]["name"], row.hits) for row in by_program.rows], [("steps", 5)])
            self.assertEqual(reader.counts["kprobes/step"], kevtrace.Counts(5, 0, 5, 0, 0, 0))

    def test_histograms_of_each_interval_come_while_it_runs(self):
        with Steps() as steps, kevtrace.run("p:step steps:step i=%di:s64", pid=steps.pid, histograms="step: keys=i", interval=0.1) as reader:
            self.wait_for_probe(reader)
            total, spans = 0, []
            for last in range(1, 4):
                steps.step(0, last)
                total += last
                wait_until(lambda: spans.append(self.next_of(reader, kevtrace.Histogram)) or sum(one.hits for one in spans) == total, "all hits")
            self.assertEqual([row.keys["i"] for one in spans for row in one.rows], [0, 0, 1, 0, 1, 2])
            for before, after in zip(spans, spans[1:]):
                self.assertEqual(before.end, after.start)

    def test_histograms_between_records(self):
        """A trigger counts what is recorded, too: each comes in its place."""
        with Steps() as steps, kevtrace.run("p:step steps:step i=%di:s64", pid=steps.pid, triggers="step: hist:keys=i", interval=0.1) as reader:
            self.wait_for_probe(reader)
            recorded, counted = [], []

            def take():
                one = reader.next()
                if isinstance(one, kevtrace.Record):
                    recorded.append(one.i)
                else:
                    counted.extend(row.keys["i"] for row in one.rows)
                    self.assertEqual(counted, recorded)
                return len(counted) == last

            for last in (3, 6):
                steps.step(last - 3, last)
                wait_until(take, "the histogram")
            self.assertEqual(recorded, list(range(6)))

    def test_histograms_of_recordings_and_scripts(self):
        """Megabytes of them, too."""
        many = "import ctypes\nm = ctypes.CDLL(None).malloc\nfor i in range(30000): m(i + 1000000)"
        with tempfile.TemporaryDirectory() as folder:
            for ending in ("dat", "json"):
                path = os.path.join(folder, "t." + ending)
                subprocess.run([KEVTRACE, "-q", "run", "-o", path, "-e", "p:malloc libc:malloc size=%di:u64", "--hist", "malloc: keys=size if size >= 1000000",
                                "--hist-output", "/dev/null", "--", "/usr/bin/python3", "-c", many], check=True)
                with kevtrace.open(path, histograms=True) as reader:
                    table, = list(reader)
                self.assertEqual(sum(1000000 <= row.keys["size"] < 1030000 for row in table.rows), 30000)
                with kevtrace.open(path) as reader:
                    self.assertEqual(list(reader), [])
                    self.assertEqual(reader.messages, "")
            script = os.path.join(folder, "s.kev")
            with open(script, "w", encoding="ascii") as file:
                file.write(f"{AREA}\n  trigger hist:keys=width\n")
            with kevtrace.run(script=script, command=[LINES, "2"]) as reader:
                reader.want_histograms()
                self.assertEqual([type(one).__name__ for one in reader], ["Record", "Record", "Histogram"])
            done = self.run_python(f"import kevtrace\nfor r in kevtrace.run(script={script!r}, command=[{LINES!r}, '2']): print(type(r).__name__)")
            own = subprocess.run([LINES, "2"], capture_output=True, text=True, check=True).stdout.splitlines()
            self.assertEqual(sorted(done.stdout.splitlines()), sorted(own + ["Record"] * 2), "no table is printed")

    def test_hist_triggers_in_every_spelling(self):
        for trigger in ("area: hist:keys=width", "uprobes:area: hist:keys=width", "area:\thist:keys=width", "area:hist:keys=width"):
            with self.subTest(trigger):
                with kevtrace.run(AREA, triggers=trigger, command=[LINES, "1"]) as reader:
                    self.assertEqual([type(one).__name__ for one in reader], ["Record", "Histogram"])

    def test_keys_without_room_and_without_rows(self):
        many = ["/usr/bin/python3", "-c", "import ctypes\nm = ctypes.CDLL(None).malloc\nfor i in range(1000): m(i + 1000000)"]
        wanted = ["malloc: keys=size:size=128:drop if size >= 1000000", "malloc: keys=size:top=3 if size >= 1000000"]
        with kevtrace.run("p:malloc libc:malloc size=%di:u64", histograms=wanted, command=many) as reader:
            full, top = list(reader)
        self.assertEqual((sum(row.hits for row in full.rows), full.others_at_most), (full.hits, None))
        self.assertEqual(full.hits + full.dropped, top.hits)
        self.assertEqual(len(top.rows), 3)
        self.assertGreaterEqual(top.others_at_most, 1)

    def test_histograms_of_somebodys_file(self):
        """Whatever stands there: a word about it; never another exception, or one of the process."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.json")
            subprocess.run([KEVTRACE, "-q", "run", "-o", path, "-e", AREA, "--hist", "area: keys=width", "--hist-output", "/dev/null", "--", LINES, "1"],
                           check=True, stdout=subprocess.DEVNULL)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            mine = re.search(r'^\{"v":1,"type":"histogram","histogram":(.*)\}$', text, re.MULTILINE)[1]
            deep = "[" * 400000 + "]" * 400000
            for other, words in (('{"a":1}', "none of kevtrace's: KeyError"), ('{"event":1}', "none of kevtrace's"), ("[]", None), ('{"a":' + deep + "}", "too many levels"),
                                 ('{"a":1}\0x', "no JSON object"), ('{"rows":' + "[" * 3000000, "no JSON object")):
                with self.subTest(other[:20]):
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text.replace(mine, other))
                    with kevtrace.open(path, histograms=True) as reader:
                        if words is None:
                            self.assertEqual(list(reader), [])
                        else:
                            with self.assertRaisesRegex(kevtrace.Error, words):
                                list(reader)
            with open(path, "w", encoding="utf-8") as file:  # as another tool may write it
                file.write(text.replace('"type":"histogram","histogram"', '"type": "histogram", "histogram"').replace(mine, mine.replace("area", "ä")))
            with kevtrace.open(path, histograms=True) as reader:
                self.assertEqual([one.event for one in reader], ["uprobes/ä"])
            done = self.run_python(f"import kevtrace\nprint(ascii([h.event for h in kevtrace.open({path!r}, histograms=True)]))", env={"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
            self.assertEqual(done.stdout, "['uprobes/\\xe4']\n", done.stderr)

    def test_options_of_an_earlier_version(self):
        """A caller that was compiled when there were no histograms gives a shorter structure."""
        from kevtrace import _library, _reader  # pylint: disable=import-outside-toplevel
        options = _library.RunOptions(size=_library.RunOptions.histograms.offset, definitions=_reader._list(AREA), command=_reader._list([LINES, "1"]),
                                      histograms=_reader._list("area: keys=width"), interval=-1)  # what lies behind is not read
        with _reader.Reader(_library.library.kevtrace_run(options)) as reader:
            self.assertEqual([r.fields for r in reader], VALUES[:1])
        options.size -= 1
        with self.assertRaisesRegex(kevtrace.Error, "another version"):
            _reader.Reader(_library.library.kevtrace_run(options))

    def test_check(self):
        report = kevtrace.check("p:x vfs_read a=%zz\np:y vfs_read b=%di\n")
        self.assertEqual([(d["id"], d["line"], d["column"]) for d in report["diagnostics"]], [("BAD_REG_NAME", 1, 16)])
        self.assertEqual(report["listing"], ["p:kprobes/y vfs_read b=%di"])
        self.assertEqual(kevtrace.check("p:x vfs_read a=$arg1\n")["errors"], 0)
        self.assertEqual(kevtrace.check("f:x vfs_read\n", kernel="6.1")["errors"], 1)

    def test_compile_and_run_a_script(self):
        with tempfile.TemporaryDirectory() as folder:
            script, output = os.path.join(folder, "s.kev"), os.path.join(folder, "s.kevo")
            with open(script, "w", encoding="utf-8") as file:
                file.write("p:step steps:step i=%di:s64\n  filter i > 2\n")
            kevtrace.compile_script(script, output)
            with Steps() as steps, kevtrace.run(script=output, pid=steps.pid) as reader:
                wait_until(lambda: steps.step(3, 4) or reader.next(timeout=0.2), "a record")
                steps.step(0, 6)
                reader.stop()
                self.assertEqual([r.i for r in reader if r.i != 3], [4, 5])
            with open(script, "a", encoding="utf-8") as file:
                file.write("p:bad steps:step i=%zz\n")
            with self.assertRaisesRegex(kevtrace.Error, "Invalid register name"):
                kevtrace.compile_script(script, output)

    def test_where_kevtrace_is_not(self):
        program = "import kevtrace\ntry: next(kevtrace.run('p libc:open64', command=['/bin/true']))\nexcept kevtrace.Error as e: print(e)"
        done = subprocess.run([sys.executable, "-c", program], env=dict(os.environ, KEVTRACE="/nosuch/kevtrace"), capture_output=True, text=True, check=True)
        self.assertIn("/nosuch/kevtrace cannot be started: No such file or directory", done.stdout)


class Examples(unittest.TestCase):
    def test_slow_calls(self):
        program = "import os, time\nr, w = os.pipe()\nos.write(1, b'ready\\n')\nwhile True: os.write(w, b'x'); os.read(r, 1); time.sleep(0.01)"
        with subprocess.Popen(["/usr/bin/python3", "-c", program], stdout=subprocess.PIPE) as target:
            target.stdout.readline()
            example = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/library/slow_calls.py")
            done = subprocess.run([sys.executable, example, "libc:read", str(target.pid), "0.7"], capture_output=True, text=True, timeout=60)
            target.kill()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, rf"(?m)^ +\d+\.\d+ ms  thread {target.pid}  at \d+\.\d+  returned 1$")
        self.assertRegex(done.stderr, r"kprobes/enter: \d+ hits, 0 lost")


class InC(unittest.TestCase):
    EXPECTED = ["uprobes/area width=%d height=%d area=%d label=\"first\" w=2.5 all_counters={1,2,3,4}" % (v["width"], v["height"], v["area"]) for v in VALUES]

    def test_a_command_and_a_recording(self):
        done = subprocess.run([PRINT_RECORDS, AREA, LINES, "5"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line for line in done.stdout.splitlines() if line.startswith("uprobes")], [*self.EXPECTED, "uprobes/area: 5 hits, 5 recorded"])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.dat")
            subprocess.run([KEVTRACE, "-q", "run", "-o", path, "-e", AREA, "--", LINES, "5"], check=True, stdout=subprocess.DEVNULL)
            done = subprocess.run([PRINT_RECORDS, "-", path], capture_output=True, text=True, timeout=60, check=True)
            self.assertEqual(done.stdout.splitlines(), [*self.EXPECTED, "uprobes/area: 5 hits, 5 recorded"])

    def test_histograms_of_a_recording(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.dat")
            subprocess.run([KEVTRACE, "-q", "run", "-o", path, "-e", AREA, "--hist", "area: keys=width", "--hist-output", "/dev/null", "--", LINES, "2"],
                           check=True, stdout=subprocess.DEVNULL)
            done = subprocess.run([PRINT_RECORDS, "-", path], capture_output=True, text=True, timeout=60, check=True)
        table, counts = done.stdout.splitlines()
        self.assertEqual([(row["keys"]["width"], row["hitcount"]) for row in json.loads(table)["rows"]], [(3, 1), (6, 1)])
        self.assertEqual(counts, "uprobes/area: 2 hits, 0 recorded")

    def test_a_mistake(self):
        done = subprocess.run([PRINT_RECORDS, "p:area lines0:area_of:8 nosuch", LINES, "5"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no variable `nosuch`", done.stderr)

    def test_only_the_functions_of_the_header_are_there(self):
        library = os.environ["KEVTRACE_LIBRARY"]
        symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
        names = {line.split()[2].split("@")[0] for line in symbols.splitlines() if " T " in line}
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../library/kevtrace.h"), encoding="utf-8") as file:
            declared = set(re.findall(r"(?m)^KEVTRACE_API [^;]*?(kevtrace_\w+)\(", file.read()))
        self.assertEqual(names, declared)
        self.assertTrue(all("@@KEVTRACE_0" in line for line in symbols.splitlines() if " T " in line))


if __name__ == "__main__":
    unittest.main(verbosity=2)
