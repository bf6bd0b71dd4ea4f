"""kevtrace fleet with Debian's ClickHouse server: what was recorded is there, each record once, whatever ends meanwhile."""
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import unittest

from kevtest import KEVTRACE
from shares import main

import clickhouse
from clickhouse import ClickHouse, Proxy
from fleet_case import BACK, OPENS, FleetCase, kevtrace, record
from set_clock import SetClock

FILTERS = ['opened: path ~ "/etc/*"', 'opened: path ~ "*pass*"', 'opened: path ~ "*.pth"', 'opened: path ~ "/nowhere/??"', 'opened: path ~ "/n*e/*"',
           'opened: path == "/etc/passwd"', 'opened: path != "/etc/passwd"', 'opened: path ~ "*50%_*"', 'opened: path ~ "*t\'s"', 'opened: !(path ~ "/etc/*")',
           "got: arg1 == -1", "got: arg1 < 0", "got: arg1 > 2", "got: arg1 & 1", "got: arg1 >= 0 && comm == \"python3\"", 'opened: comm ~ "pyth*" || cpu == 77',
           "got: common_pid > 1", "got: cpu == 0", "got: !(arg1 == 3)", "*"]


class FleetTest(FleetCase):
    # ---- questions --------------------------------------------------------------------------

    def test_grafanas_queries_are_answered(self):
        """The dashboard's own queries, with Grafana's macros written out as its data source does."""
        kevtrace("fleet", "ship", self.address, self.recording)
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/grafana-dashboard.json")) as file:
            dashboard = json.load(file)
        hosts = next(one["query"] for one in dashboard["templating"]["list"] if one["name"] == "host")
        host = self.server.ask(hosts.replace("${database}", self.database)).split()
        self.assertEqual(len(host), 1)
        answers = {}
        for panel in dashboard["panels"]:
            sql = panel["targets"][0]["rawSql"].replace("${database}", self.database).replace("${host:singlequote}", f"'{host[0]}'").replace("$__interval_s", "1")
            column = r"(toDateTime\(intDiv\(time, 1000000000\)\))"
            sql = re.sub(r"\$__timeInterval\(" + column + r"\)", r"toDateTime(intDiv(toUInt32(\1), 10) * 10)", sql)
            sql = re.sub(r"\$__timeFilter\(" + column + r"\)", r"(\1 >= toDateTime(0) AND \1 <= now())", sql)
            self.assertNotRegex(sql, r"\$[_{]")
            answers[panel["title"]] = [line.split("\t") for line in self.server.ask(sql + " FORMAT TSV").splitlines()]
        self.assertEqual({one[1] for one in answers["Records a second"]}, {f"{host[0]} kprobes_opened", f"{host[0]} kprobes_got"})
        self.assertEqual(sum(float(one[2]) for one in answers["Records a second"]), self.rows())
        self.assertEqual(sum(int(one[3]) for one in answers["Hits, and what became of them"]), self.recorded())
        self.assertEqual({one[4] for one in answers["On the way"]}, {"0"})

    def test_questions_have_the_answers_of_the_file(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        self.assert_same("report", "X")
        self.assert_same("report", "X", "--ts", "wall")
        self.assert_same("report", "X", "-F", 'opened: path ~ "/etc/*"', "--columns", "time,pid,path")
        self.assert_same("report", "X", "-f", "csv")
        self.assert_same("report", "X", "--from", "+0.001", "-c", "20")
        self.assert_same("stat", "X")
        self.assert_same("count", "-i", "X")
        self.assert_same("hist", "got.arg1", "by", "comm", "-i", "X")
        self.assert_same("lat", "opened", "got", "--sort", "p99", "-i", "X")
        self.assert_same("flame", "X", "-f", "folded")
        diff = kevtrace("diff", self.recording, self.address)[0]
        self.assertNotRegex(diff, r"[1-9]\d*\.\d%")

    def test_filters_keep_what_they_keep_of_the_file(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        kept = set()
        for one in FILTERS:
            lines = [kevtrace("report", source, "-F", one)[0] for source in (self.recording, self.address)]
            self.assertEqual(lines[1], lines[0], one)
            kept.add(len(lines[0].splitlines()))
        self.assertGreater(len(kept), 8)
        self.assert_same("report", "X", "-F", "got: arg1 > 2", "-F", 'opened: path ~ "/etc/*"')
        first, last = (re.search(r" (\d+\.\d{6}): ", line)[1] for line in kevtrace("report", self.recording)[0].splitlines()[10:70:59])
        self.assert_same("report", "X", "--from", first, "--to", last)

    def test_filters_and_times_are_asked_of_the_server(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        proxy = Proxy(self.server.port, lambda head: None)
        self.addCleanup(proxy.close)
        kevtrace("report", proxy.address(self.database), "-F", 'opened: path ~ "/etc/*"', "--to", "99999999.5")
        pages = [body.decode() for body in proxy.bodies if b"FROM " + self.database.encode() + b".event_" in body]
        self.assertTrue(pages)
        for page in pages:
            self.assertIn("startsWith(ifNull(`f_path`, ''), '/etc/')", page)
            self.assertNotIn("_got_", page)

    def test_the_server_counts_where_it_can(self):
        """The answers are those of the records, and no record comes."""
        kevtrace("fleet", "ship", self.address, self.recording)
        proxy = Proxy(self.server.port, lambda head: None)
        self.addCleanup(proxy.close)

        def assert_counted(*words, records):
            proxy.bodies.clear()
            self.assert_same(*words, address=proxy.address(self.database))
            asked = [body for body in proxy.bodies if b"FROM " + self.database.encode() + b".event_" in body]
            self.assertTrue(asked, (words, list(proxy.bodies)))
            self.assertEqual(any(b"SELECT time, cpu, seq" in body for body in asked), records, words)
        for form in ("text", "json"):
            for words in (("opened.path",), ("opened.path", "by", "comm"), ("got.arg1",), ("got.arg1", "by", "comm"), ("got.arg1", "by", "pid"),
                          ("got.arg1", "by", "cpu"), ("got.arg1", "by", "arg1"), ("comm",), ("pid",), ("cpu", "by", "comm"), ("opened.path", "by", "path")):
                assert_counted("hist", *words, "-i", "X", "-f", form, records=False)
            assert_counted("count", "-i", "X", "-f", form, records=False)
        for one in FILTERS[:-1]:
            field = "opened.path" if one.startswith("opened") else "got.arg1"
            is_glob = one in ('opened: path ~ "/nowhere/??"', 'opened: path ~ "/n*e/*"')
            assert_counted("hist", field, "-i", "X", "--filter", one, records=is_glob)
        assert_counted("hist", "got.arg1", "-i", "X", "--filter", "got: arg1 == 3 || arg1 == -1", "--filter", "got: arg1 & 4", records=False)
        assert_counted("hist", "got.arg1", "-i", "X", "-c", "7", records=True)  # the first of all
        assert_counted("hist", "event", "-i", "X", records=True)

    def test_a_record_that_is_there_twice_counts_once(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        table = self.server.ask(f"SELECT name FROM system.tables WHERE database = '{self.database}' AND name LIKE 'event\\_%\\_got\\_%'").strip()
        columns = ", ".join(self.server.ask(f"SELECT name FROM system.columns WHERE database = '{self.database}' AND table = '{table}'").split())
        self.server.ask(f"SYSTEM STOP MERGES {self.database}.{table}")
        self.server.ask(f"INSERT INTO {self.database}.{table} ({columns}) SELECT {columns} FROM {self.database}.{table} LIMIT 7")
        self.assertGreater(sum(one["twice"] for one in self.balance(status=1)), 0)
        self.assert_same("report", "X")
        self.assert_same("hist", "got.arg1", "-i", "X")
        self.assert_same("hist", "got.arg1", "by", "comm", "-i", "X", "--filter", "got: arg1 > 2")
        other = record(self.path("other.dat"), 20)  # so there are no totals that tell the hits
        kevtrace("fleet", "ship", self.address, other, "--as", "other")
        counted = {one["event"]: one["recorded"] for one in json.loads(kevtrace("count", "-i", self.address, "-f", "json")[0])["events"]}
        self.assertEqual(sum(counted.values()), self.recorded() + self.recorded(other))
        # Nothing is nothing: no row of zero hits.
        self.assertEqual(json.loads(kevtrace("count", "-i", self.address, "-f", "json", "--filter", "got: arg1 == 12345")[0])["events"], [])
        self.assertIn("no record has a value", kevtrace("hist", "got.arg1", "-i", self.address, "--filter", "got: arg1 == 12345")[0])

    def test_numbers_of_all_sizes_are_counted_alike(self):
        recording = self.path("sizes.dat")
        program = ("import ctypes\ncall = ctypes.CDLL(None).labs\ncall.argtypes = [ctypes.c_uint64]\n"
                   "for n in range(64):\n  for m in (0, 1, 2): call((3 << n) + m & (1 << 64) - 1)\n  call((1 << n) - 1); call(1 << n)")
        kevtrace("run", "-q", "-o", recording, "-e", "p:sizes libc:labs u=%di:u64 s=%di:s64 x=%di:x32 t=%di:s8 f=%di:u8 where=%ip:symbol",
                 "--", "/usr/bin/python3", "-S", "-c", program)
        kevtrace("fleet", "ship", self.address, recording)
        for field in ("u", "s", "x", "t", "f", "where"):
            self.assert_same("hist", "sizes." + field, "-i", "X", recording=recording)
            self.assert_same("hist", "sizes.u", "by", field, "-i", "X", recording=recording)
        for one in ("s < 0", "s > 100", "t == -1", "t < 300", "f == 256", "f & 256", "u & 0xff00", "x != 3", "u >= 0x8000000000000000", "t > -200"):
            self.assert_same("hist", "sizes.u", "-i", "X", "--filter", "sizes: " + one, recording=recording)

    def test_a_page_that_fails_is_no_answer(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        fails = [False]

        def rule(head):
            fails[0] = not fails[0] and "wait_end_of_query" in head and len(proxy.bodies) > 1 and b".event_" in proxy.bodies[-1]
            return "error" if fails[0] else None

        proxy = Proxy(self.server.port, rule)
        self.addCleanup(proxy.close)
        self.assertIn("out of luck", kevtrace("report", proxy.address(self.database), status=1)[1])

    def test_every_kind_of_field_comes_back(self):
        recording = self.path("kinds.dat")
        kevtrace("run", "-q", "--stack", "-o", recording, "-e", "p:a libc:getenv name=+0(%di):string first=+0(%di):char n=%di:x64 few=+0(%di):u8[4] where=%ip:symbol "
                 "gone=+0(+0(%di)):string both=+0(%sp):x32[2] f=%xmm0:f64", "--", "/usr/bin/python3", "-S", "-c", "import os")
        kevtrace("fleet", "ship", self.address, recording)
        self.assert_same("report", "X", recording=recording)
        events = [[line for line in kevtrace("report", one, "-f", "json")[0].splitlines() if '"type":"event"' in line]
                  for one in (recording, self.address)]
        self.assertTrue(events[0])
        self.assertEqual(events[1], events[0])

    def test_instances_stay_what_they_are(self):
        few = self.path("few.dat")
        whole = record(self.path("all.dat"), 20, "-B", "few", "--enable", "opened", "--filter", 'opened: path ~ "/etc/*"', "-o", few)
        kevtrace("fleet", "ship", self.address, whole, few)
        self.assertEqual(len(self.balance()), 3)  # opened and got; opened of the instance, which is a recording of its own
        sessions = json.loads(kevtrace("fleet", "status", self.address, "-f", "json")[0])
        self.assertEqual(sum(one["shipped"] for one in sessions), self.recorded(whole) + self.recorded(few))

    # ---- hosts and servers ------------------------------------------------------------------

    def test_three_hosts_are_one_recording(self):
        files = {}
        for n, host in enumerate(("web1", "web2", "db1")):
            files[host] = record(self.path(host + ".dat"), 20 + n)
            kevtrace("fleet", "ship", self.address, files[host], "--as", host)
        out, _ = kevtrace("report", self.address)
        lines = out.splitlines()
        self.assertEqual(len(lines), sum(self.recorded(one) for one in files.values()))
        times = [float(re.search(r" (\d+\.\d{6}): ", line)[1]) for line in lines]
        self.assertEqual(times, sorted(times))
        words = lambda text: [re.sub(r"^.*? \d+\.\d{6}: ", "", line) for line in text.splitlines()]  # noqa: E731
        for host, path in files.items():
            own = kevtrace("report", self.address, "-B", host)[0]
            self.assertEqual(words(own), words(kevtrace("report", path)[0]), host)
            self.assertEqual(kevtrace("report", f"{self.address}/{host}")[0], kevtrace("report", path)[0])
        web = kevtrace("report", self.address + "/web*")[0]
        self.assertEqual(len(web.splitlines()), self.recorded(files["web1"]) + self.recorded(files["web2"]))
        self.assertEqual(kevtrace("hist", "opened.path", "by", "comm", "-i", self.address)[0].splitlines()[0], "path of comm python3")
        counted = kevtrace("count", "-i", self.address, "-f", "json")[0]
        self.assertIn(str(len([line for line in lines if " opened: " in line])), counted)
        self.assertEqual({one["host"] for one in self.balance()}, {"web1", "web2", "db1"})

    def test_hosts_are_in_the_order_of_their_clocks(self):
        """What a clock turned out to be wrong by is corrected, and what it may still be wrong by is told."""
        for host in ("early", "late"):
            kevtrace("fleet", "ship", self.address, record(self.path(host + ".dat"), 20), "--as", host)
        sessions = {one["host"]: one for one in json.loads(kevtrace("fleet", "status", self.address, "-f", "json")[0])}
        noted = self.server.ask(f"SELECT host, count() FROM {self.database}.kevt_clocks GROUP BY host ORDER BY host FORMAT TSV").split()
        self.assertEqual(noted, ["early", "1", "late", "1"])

        def hosts_in_order(*words):
            out, err = kevtrace("report", self.address, *words)
            return re.findall(r"(?m)^ *(\w+): ", out), err
        in_order, _ = hosts_in_order()
        self.assertEqual(sorted(set(in_order), key=in_order.index), ["early", "late"])
        offsets = dict(line.split("\t") for line in self.server.ask(f"SELECT host, wall_offset FROM {self.database}.kevt_sessions FINAL FORMAT TSV").splitlines())
        self.server.ask(f"DROP TABLE {self.database}.kevt_clocks")
        self.server.ask(f"CREATE TABLE {self.database}.kevt_clocks (host String, session String, utc Int64, monotonic Int64, max_error Int64) "
                        "ENGINE = ReplacingMergeTree() ORDER BY (host, session, utc)")
        self.assertIn("how wrong the times of early, late may be is not known", hosts_in_order()[1])

        def pair(host, wrong_by, error):
            at = 1000 * 10**9
            self.server.ask(f"INSERT INTO {self.database}.kevt_clocks VALUES ('{host}', '{sessions[host]['recording']}', {at + int(offsets[host]) + wrong_by}, {at}, {error})")
        pair("late", 0, 2_000_000)
        pair("early", 3600 * 10**9, 4_000_000)  # it was behind by an hour
        pair("early", 0, -1)
        in_order, err = hosts_in_order()
        self.assertEqual(sorted(set(in_order), key=in_order.index), ["late", "early"])
        self.assertIn("times of hosts may be wrong by ±4.0 ms", err)
        # Moments are those that are shown, for records and for counts.
        times = [float(re.search(r" (\d+\.\d{6}): ", line)[1]) for line in kevtrace("report", self.address)[0].splitlines()]
        self.assertEqual(times, sorted(times))
        self.assertEqual(set(hosts_in_order("--from", f"{times[0] + 1800:.6f}")[0]), {"early"})
        self.assertEqual(set(hosts_in_order("--to", f"{times[0] + 1800:.6f}")[0]), {"late"})
        self.assertRegex(kevtrace("fleet", "status", self.address)[0], r"(?m)^early .* ±4\.0 ms +finished$")
        shown = {one["host"]: (one["clock_error_ns"], one["clock_shift_ns"]) for one in json.loads(kevtrace("fleet", "status", self.address, "-f", "json")[0])}
        self.assertEqual(shown, {"early": (4_000_000, 3600 * 10**9), "late": (2_000_000, 0)})
        # Alone it is what its file says.
        self.assertEqual(kevtrace("report", self.address + "/early")[0], kevtrace("report", self.path("early.dat"))[0])

    def test_histograms_of_hosts_are_one(self):
        """What was counted at the hit, and never recorded."""
        counted = {}
        for number, host in enumerate(("web1", "web2", "web3")):
            path = record(self.path(host + ".dat"), 10 + number, "--hist", "opened: keys=path:sort=path")
            kevtrace("fleet", "ship", self.address, path, "--as", host)
            for path, hits in re.findall(r"(?m)^\{ path: (\S+) +\} hitcount: +(\d+)$", kevtrace("report", path)[0]):
                counted[path] = counted.get(path, 0) + int(hits)
        self.assertEqual(counted["/etc/passwd"], 33)
        out = kevtrace("report", self.address)[0]
        merged = re.findall(r"(?m)^\{ path: (\S+) +\} hitcount: +(\d+)$", out)
        self.assertEqual({path: int(hits) for path, hits in merged}, counted)
        self.assertEqual([path for path, _ in merged], sorted(counted))
        self.assertIn(f"    Hits: {sum(counted.values())}\n    Entries: {len(counted)}\n    Dropped: 0\n", out)
        objects = [json.loads(line)["histogram"] for line in kevtrace("report", self.address, "-f", "json")[0].splitlines() if '"histogram"' in line]
        self.assertEqual([(one["event"], one["hits"]) for one in objects], [("kprobes:opened", sum(counted.values()))])
        self.assertNotIn("# event histogram", kevtrace("report", self.address, "-B", "web1")[0])
        self.assertIn("# event histogram", kevtrace("report", self.address + "/web1")[0])
        in_utf8 = {path.encode(errors="surrogateescape").decode(errors="replace"): hits for path, hits in counted.items()}
        self.assertEqual({row["keys"]["path"]: row["hitcount"] for row in objects[0]["rows"]}, in_utf8)
        self.assertTrue(all(one["holds"] for one in self.balance()))

    def test_the_window_shows_all_hosts(self):
        hands = os.environ.get("KEVT_GUI_HANDS")
        if not hands:
            self.skipTest("there is no window")
        for host in ("web1", "web2"):
            kevtrace("fleet", "ship", self.address, record(self.path(host + ".dat"), 20), "--as", host)
        wanted = kevtrace("report", self.address)[0].splitlines()
        orders = f"open\t{self.address}\nwait\t{len(wanted)}\nlines\nproblems\n"
        done = subprocess.run([hands], input=orders.encode(), capture_output=True, timeout=120)
        shown = [line for line in done.stdout.decode(errors="surrogateescape").splitlines() if "python3" in line]
        self.assertRegex(done.stdout.decode(errors="replace"), "times of hosts may be wrong by ±|how wrong the times of web1, web2 may be is not known")
        without_names = [re.sub(r"/nowhere/.*", "", line) for line in shown]
        self.assertEqual(without_names, [re.sub(r"/nowhere/.*", "", line) for line in wanted])

    def test_a_comparison_is_one_page_wherever_it_is_made(self):
        hands = os.environ.get("KEVT_GUI_HANDS")
        if not hands:
            self.skipTest("there is no window")
        before, path = (record(self.path(name), times, "--stack") for name, times in (("before.dat", 50), ("now.dat", 80)))
        kevtrace("fleet", "ship", self.address, path, "--as", "web1")
        pages = [self.path(name) for name in ("one.html", "other.html")]
        for now in (path, self.address + "/web1"):
            kevtrace("diff", before, now, "-o", pages[0])
            done = subprocess.run([hands], input=f"open\t{now}\nwait\t100\ncompare\t{before}\t{pages[1]}\ncompare\t/nowhere\t{pages[1]}\n".encode(),
                                  capture_output=True, timeout=120)
            self.assertRegex(done.stdout.decode(), r"^ok\nok\nok\nno .*/nowhere")
            written = []
            for page in pages:
                with open(page) as file:
                    written.append(file.read())
            self.assertEqual(written[1], written[0])
            self.assertIn('<tr><td>kprobes:opened</td><td>', written[0])
            self.assertIn('<h2>Calls, in stacks</h2>', written[0])
            self.assertTrue(written[0].rstrip().endswith("</html>"))

    def test_the_library_reads_a_fleet(self):
        if not os.environ.get("KEVTRACE_LIBRARY"):
            self.skipTest("there is no library")
        import kevtrace as module
        kevtrace("fleet", "ship", self.address, self.recording)
        with module.open(self.recording) as file, module.open(self.address) as fleet:
            wanted, got = ([(one.event, one.time, one.thread, dict(one.fields)) for one in source] for source in (file, fleet))
        self.assertEqual(len(wanted), self.recorded())
        self.assertEqual(got, wanted)
        with self.assertRaises(module.Error) as raised, module.open(self.server.address("nosuch")) as fleet:
            list(fleet)
        self.assertIn("fleet init", str(raised.exception))

    def test_two_servers_share_the_hosts(self):
        other = ClickHouse(self.program, os.path.join(self.folder, "two"))
        self.addCleanup(other.stop)
        address = f"ch+http://127.0.0.1:{self.server.port},127.0.0.1:{other.port}/{self.database}"
        kevtrace("fleet", "init", address)
        total = 0
        for n in range(6):
            path = record(self.path(f"{n}.dat"), 5)
            total += self.recorded(path)
            kevtrace("fleet", "ship", address, path, "--as", f"host{n}")
        here, there = self.rows(), self.rows(other)
        self.assertTrue(here and there)
        self.assertEqual(here + there, total)
        self.assertEqual(len(kevtrace("report", address)[0].splitlines()), total)
        self.assertEqual(len(self.balance(address)), 12)

    # ---- each record once -------------------------------------------------------------------

    def test_shipping_again_adds_nothing(self):
        for _ in range(3):
            kevtrace("fleet", "ship", self.address, self.recording)
        self.assertEqual(self.rows(), self.recorded())
        balance = self.balance()
        self.assertEqual({one["event"] for one in balance}, {"kprobes/opened", "kprobes/got"})
        self.assertTrue(all(one["holds"] and one["exact"] for one in balance))

    def cut(self, what, times):
        """Ships through a proxy that does `what` to the first INSERTs into tables of events."""
        left = [times]

        def rule(head):
            if "INSERT+INTO" not in head and "INSERT%20INTO" not in head or "event_" not in head or not left[0]:
                return None
            left[0] -= 1
            return what

        proxy = Proxy(self.server.port, rule)
        self.addCleanup(proxy.close)
        out = kevtrace("fleet", "ship", proxy.address(self.database), self.recording)
        self.assertEqual(left[0], 0)
        self.assertIn(f"{self.recorded()} of {self.recorded()} are there", out[1])
        self.assertEqual(self.rows(), self.recorded())
        self.balance()

    def test_an_answer_that_never_comes(self):
        self.cut("no answer", 2)

    def test_a_connection_that_is_cut_in_a_batch(self):
        self.cut("half", 2)

    def test_a_shipper_that_is_killed(self):
        recording = record(self.path("long.dat"), 30000)
        wanted = self.recorded(recording)
        patience = 0.0
        for n in range(80):  # the last is given minutes: the machine may be busy
            patience = max(patience + 0.02, patience * 1.1)
            shipper = subprocess.Popen([KEVTRACE, "fleet", "ship", self.address, recording], stderr=subprocess.PIPE)
            try:
                shipper.wait(patience)
            except subprocess.TimeoutExpired:
                shipper.kill()
            shipper.communicate()
            self.balance()  # holds at every moment
            if shipper.returncode == 0:
                break
        self.assertEqual(shipper.returncode, 0, "it was never given the time")
        self.assertGreater(n, 0, "none was killed")
        self.assertEqual(self.rows(), wanted)
        self.balance()
        self.assert_same("report", "X", recording=recording)

    def test_a_server_that_is_killed(self):
        server = ClickHouse(self.program, os.path.join(self.folder, "killed"))
        self.addCleanup(server.stop)
        address = server.address(self.database)
        kevtrace("fleet", "init", address)
        recording = record(self.path("long.dat"), 20000)
        server.kill()
        shipper = subprocess.Popen([KEVTRACE, "fleet", "ship", address, recording, "--follow", "--every", "0.2"], stderr=subprocess.PIPE)
        self.addCleanup(shipper.stderr.close)
        self.addCleanup(shipper.kill)
        self.assertIn(b"no answer", shipper.stderr.readline())
        server.start()
        deadline = time.monotonic() + 60
        while not self.rows(server) and time.monotonic() < deadline:
            time.sleep(0.01)
        server.kill()
        server.start()
        self.assertEqual(shipper.wait(120), 0, shipper.stderr.read())
        self.assertEqual(self.rows(server), self.recorded(recording))
        self.assertTrue(all(one["holds"] for one in self.balance(address)))

    def test_a_lying_server(self):
        """What counts in the database and is not there is found."""
        kevtrace("fleet", "ship", self.address, self.recording)
        table = self.server.ask(f"SELECT name FROM system.tables WHERE database = '{self.database}' AND name LIKE 'event\\_%\\_got\\_%'").strip()
        columns = self.server.ask(f"SELECT name FROM system.columns WHERE database = '{self.database}' AND table = '{table}'").split()
        self.server.ask(f"CREATE TABLE {self.database}.kept AS {self.database}.{table}")
        self.server.ask(f"INSERT INTO {self.database}.kept SELECT {', '.join(columns)} FROM {self.database}.{table} WHERE seq % 4 = 0")
        self.server.ask(f"DROP TABLE {self.database}.{table}")
        self.server.ask(f"RENAME TABLE {self.database}.kept TO {self.database}.{table}")
        out, err = kevtrace("fleet", "check", self.address, status=1)
        self.assertRegex(out, r"kprobes/got: rows \d+ \+ spooled 0 \+ spool_lost 0 != recorded \d+")
        self.assertIn("does not hold", err)

    # ---- recordings that go on --------------------------------------------------------------

    def test_a_growing_recording_is_read_on(self):
        """The server is asked what it has once for each table, and gets the rest in many INSERTs; several pages, two CPUs or more."""
        proxy = Proxy(self.server.port, lambda head: None)
        self.addCleanup(proxy.close)
        live = self.path("live.dat")
        program = ('import os, sys, threading\n'
                   'def work():\n for i in range(400): os.close(os.open("/etc/passwd", 0))\n'
                   'for line in sys.stdin:\n'
                   ' all = [threading.Thread(target=work) for _ in range(3)]\n'
                   ' for one in all: one.start()\n'
                   ' for one in all: one.join()\n'
                   ' print("done", flush=True)')
        tracer = subprocess.Popen([KEVTRACE, "run", "-q", "-o", live, "-e", OPENS, "-e", BACK, "--", "/usr/bin/python3", "-S", "-c", program],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(tracer.stdout.close)
        self.addCleanup(tracer.kill)

        def work():
            self.call_ten_times(tracer)
        work()
        shipper = subprocess.Popen([KEVTRACE, "fleet", "ship", proxy.address(self.database), live, "--follow", "--every", "0.1"], stderr=subprocess.DEVNULL)
        self.addCleanup(shipper.kill)
        rounds = 6
        for n in range(rounds):
            deadline = time.monotonic() + 60
            while self.rows() < 2400 * (n + 1) and time.monotonic() < deadline:
                time.sleep(0.02)  # until all is there
            self.assertGreaterEqual(self.rows(), 2400 * (n + 1))
            if n + 1 < rounds:
                work()
        questions = sum(b"max(seq)" in body for body in proxy.bodies)
        tracer.stdin.close()
        self.assertEqual((tracer.wait(60), shipper.wait(60)), (0, 0))
        self.assertEqual(self.rows(), self.recorded(live))
        self.assertTrue(all(one["exact"] and one["holds"] and not one["twice"] for one in self.balance()))
        lines = [sorted(kevtrace("report", source)[0].splitlines()) for source in (live, self.address)]  # of equal times on two CPUs any order
        self.assertEqual(lines[1], lines[0])
        self.assertEqual(questions, 2)

    def test_a_recording_is_shipped_while_it_is_written(self):
        spool = self.path("spool")
        os.mkdir(spool)
        tracer = self.growing(spool + "/live.dat")
        shipper = subprocess.Popen([KEVTRACE, "fleet", "ship", self.address, spool, "--follow", "--every", "0.2"], stderr=subprocess.DEVNULL)
        self.addCleanup(shipper.kill)
        for n in range(3):
            self.call_ten_times(tracer)
            deadline = time.monotonic() + 60
            while self.rows() < 20 * (n + 1) and time.monotonic() < deadline:
                time.sleep(0.02)
            self.assertGreaterEqual(self.rows(), 20 * (n + 1))
        self.assertFalse(self.balance()[0]["exact"])
        tracer.stdin.close()
        self.assertEqual(tracer.wait(60), 0)
        deadline = time.monotonic() + 60
        while not all(one["exact"] for one in self.balance()) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertIsNone(shipper.poll(), "a folder may get more recordings")
        shipper.send_signal(signal.SIGTERM)
        self.assertEqual(shipper.wait(60), 0)
        self.assertEqual(self.rows(), self.recorded(spool + "/live.dat"))
        self.assertTrue(all(one["exact"] and one["holds"] for one in self.balance()))
        self.assert_same("report", "X", recording=spool + "/live.dat")

    def test_a_clock_that_is_wrong_holds_nothing_back(self):
        """Which records may be in a page that is being written tells the machine's other clock, which nobody sets."""
        path, clock = self.path("live.dat"), SetClock(self.folder)
        tracer = self.growing(path)
        self.call_ten_times(tracer)
        clock.set(-86_400 * 10**9)
        shipper = subprocess.Popen([KEVTRACE, "fleet", "ship", self.address, path, "--follow", "--every", "0.2"], stderr=subprocess.DEVNULL, env=clock.env)
        self.addCleanup(shipper.kill)
        deadline = time.monotonic() + 60
        while self.rows() < 20 and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertGreaterEqual(self.rows(), 20)
        tracer.stdin.close()
        self.assertEqual((tracer.wait(60), shipper.wait(60)), (0, 0))
        self.balance()

    def test_a_clock_that_was_set_back_hides_no_counts(self):
        path, clock = self.path("live.dat"), SetClock(self.folder)
        tracer = self.growing(path)
        self.call_ten_times(tracer)
        clock.set(86_400 * 10**9)
        kevtrace("fleet", "ship", self.address, path, env=clock.env)
        clock.set(0)
        self.call_ten_times(tracer)
        tracer.stdin.close()
        self.assertEqual(tracer.wait(60), 0)
        kevtrace("fleet", "ship", self.address, path, env=clock.env)
        balance = self.balance()
        self.assertEqual(sum(one["recorded"] for one in balance), self.recorded(path))
        self.assertTrue(all(one["holds"] and one["exact"] and one["spooled"] + one["spool_lost"] == 0 for one in balance), balance)
        self.assertIn("finished", kevtrace("fleet", "status", self.address)[0])

    def test_a_killed_tracer_is_balanced_with_its_rest(self):
        path = self.path("killed.dat")
        program = 'import os, sys\nfor line in sys.stdin:\n for i in range(10): os.close(os.open("/etc/passwd", 0))\n print("done", flush=True)'
        tracer = subprocess.Popen([KEVTRACE, "run", "-q", "-o", path, "-e", OPENS, "-e", BACK, "--", "/usr/bin/python3", "-S", "-c", program],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(tracer.stdout.close)
        for _ in range(3):
            self.call_ten_times(tracer)
        with open(f"/proc/{tracer.pid}/task/{tracer.pid}/children") as children:
            os.kill(int(children.read().split()[0]), signal.SIGKILL)  # the process that records
        tracer.stdin.close()
        tracer.wait(60)  # its copy has written the rest
        rest = path.replace(".dat", ".rest.dat")
        kevtrace("fleet", "ship", self.address, path, rest)
        balance = self.balance()
        self.assertEqual(len(balance), 2)
        self.assertTrue(all(one["exact"] and one["holds"] for one in balance), balance)
        self.assertEqual(sum(one["rows"] for one in balance), self.recorded(path) + self.recorded(rest))

    def test_histograms_of_a_killed_tracer_count_once(self):
        """The copy that finishes the trace has those of the whole run, with the spans that the first recording has."""
        path = self.path("killed.dat")
        program = ('import os, sys\nfor n, line in enumerate(sys.stdin):\n for i in range(10): os.close(os.open("/etc/passwd", 0))\n'
                   ' if n > 2: os.getppid()  # a name that the recording notes, with what it has counted so far\n print("done", flush=True)')
        tracer = subprocess.Popen([KEVTRACE, "run", "-q", "-o", path, "-e", OPENS, "-e", "p:asked libc:getppid", "--hist", "opened: keys=path", "--interval", "0.2",
                                   "--", "/usr/bin/python3", "-S", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(tracer.stdout.close)
        for _ in range(4):
            tracer.stdin.write(b"go\n")
            tracer.stdin.flush()
            tracer.stdout.readline()  # or a line of the histogram
            time.sleep(0.25)  # so there are several spans; with fewer the test asks less
        with open(f"/proc/{tracer.pid}/task/{tracer.pid}/children") as children:
            os.kill(int(children.read().split()[0]), signal.SIGKILL)
        tracer.stdin.close()
        tracer.wait(60)
        kevtrace("fleet", "ship", self.address, path, path.replace(".dat", ".rest.dat"))
        hits = re.findall(r"(?m)^\{ path: /etc/passwd +\} hitcount: +(\d+)$", kevtrace("report", self.address)[0])
        self.assertEqual(hits, ["40"])

    def test_a_recording_whose_writer_is_gone_is_finished(self):
        """The whole family of processes is killed: there is no rest, and nobody writes totals."""
        path = self.path("gone.dat")
        program = 'import os, sys\nfor line in sys.stdin:\n for i in range(10): os.close(os.open("/etc/passwd", 0))\n print("done", flush=True)'
        tracer = subprocess.Popen([KEVTRACE, "run", "-q", "-o", path, "-e", OPENS, "-e", BACK, "--", "/usr/bin/python3", "-S", "-c", program],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(tracer.stdout.close)
        self.addCleanup(tracer.stdin.close)
        tracer.stdin.write(b"go\n")
        tracer.stdin.flush()
        tracer.stdout.readline()
        shipper = subprocess.Popen([KEVTRACE, "fleet", "ship", self.address, path, "--follow", "--every", "0.1"], stderr=subprocess.DEVNULL)
        self.addCleanup(shipper.kill)
        deadline = time.monotonic() + 60
        while self.rows() < 20 and time.monotonic() < deadline:
            time.sleep(0.02)  # until the newest second is over
        self.assertIsNone(shipper.poll(), "it is still written")
        os.killpg(tracer.pid, signal.SIGKILL)
        tracer.wait()
        self.assertEqual(shipper.wait(60), 0)
        self.assertEqual(self.rows(), self.recorded(path))
        self.assertTrue(all(one["holds"] for one in self.balance()))

    def test_what_is_whole_in_the_database_is_removed(self):
        spool = self.path("spool")
        os.mkdir(spool)
        wanted = 0
        for name in ("one", "two"):
            wanted += self.recorded(record(f"{spool}/{name}.dat", 20))
        shutil.copy(self.recording, self.path("bad.dat"))
        with open(self.path("bad.dat"), "r+b") as file:
            file.seek(os.path.getsize(self.path("bad.dat")) // 2 & ~4095)
            file.write(b"\xff" * 4096)
        shutil.move(self.path("bad.dat"), spool + "/bad.dat")
        shipper = subprocess.Popen([KEVTRACE, "fleet", "ship", self.address, spool, "--follow", "--every", "0.1", "--remove-after", "0.5"], stderr=subprocess.PIPE)
        self.addCleanup(shipper.stderr.close)
        self.addCleanup(shipper.kill)
        deadline = time.monotonic() + 60
        while sorted(os.listdir(spool)) != ["bad.dat"] and time.monotonic() < deadline:
            time.sleep(0.02)
        shipper.send_signal(signal.SIGTERM)
        self.assertEqual(shipper.wait(60), 0)
        self.assertEqual(os.listdir(spool), ["bad.dat"], "it is damaged: somebody may want to look at it")
        said = shipper.stderr.read().decode()
        self.assertEqual(len(re.findall(r"\d+ records are in the database", said)), 2, said)
        self.assertGreaterEqual(self.rows(), wanted)
        kevtrace("fleet", "ship", self.address, self.recording, "--remove-after", "1", status=2)  # needs --follow

    def test_what_the_database_has_lost_is_not_removed(self):
        path = record(self.path("kept.dat"), 20)
        shipper = subprocess.Popen([KEVTRACE, "fleet", "ship", self.address, path, "--follow", "--every", "0.1", "--remove-after", "10"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(shipper.stderr.close)
        self.addCleanup(shipper.kill)
        self.assertIn("are there", shipper.stderr.readline())
        table = self.server.ask(f"SELECT name FROM system.tables WHERE database = '{self.database}' AND name LIKE 'event\\_%\\_got\\_%'").strip()
        self.server.ask(f"DROP TABLE {self.database}.{table}")
        said = shipper.stderr.readline()
        while said and "it stays" not in said:  # first, perhaps, that a table has gone while its rows were counted
            said = shipper.stderr.readline()
        self.assertIn("it stays", said)
        shipper.send_signal(signal.SIGTERM)
        shipper.wait(60)
        self.assertTrue(os.path.exists(path))
        kevtrace("fleet", "ship", self.address, path)  # it comes back whole
        self.assertTrue(all(one["holds"] for one in self.balance()))

    def test_sigterm_ends_it_within_a_recording(self):
        """The server answers INSERTs when the signal has been sent: the rest of the recording is not read first."""
        path = record(self.path("long.dat"), 150000)
        sent = threading.Event()
        first = threading.Event()

        def rule(head):
            if "INSERT" in head and "event_" in head:
                first.set()
                sent.wait(60)

        proxy = Proxy(self.server.port, rule)
        self.addCleanup(proxy.close)
        self.addCleanup(sent.set)
        shipper = subprocess.Popen([KEVTRACE, "fleet", "ship", proxy.address(self.database), path, "--follow"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(shipper.stderr.close)
        self.addCleanup(shipper.kill)
        self.assertTrue(first.wait(60))
        shipper.send_signal(signal.SIGTERM)
        sent.set()
        self.assertEqual(shipper.wait(60), 0)
        self.assertEqual(shipper.stderr.read(), "")
        self.assertLess(self.rows(), self.recorded(path))
        self.balance()
        kevtrace("fleet", "ship", self.address, path)
        self.assertEqual(self.rows(), self.recorded(path))
        self.balance()

    # ---- what is refused --------------------------------------------------------------------

    def test_ndjson_is_finished_when_its_totals_are_read(self):
        path = record(self.path("all.ndjson"))
        kevtrace("fleet", "ship", self.address, path, "--follow", "--every", "0.2")  # it ends
        shown = json.loads(kevtrace("fleet", "status", self.address, "-f", "json")[0])[0]
        self.assertEqual((shown["records"], shown["finished"]), (self.recorded(path), True))
        self.assertTrue(all(one["exact"] for one in self.balance()))

    def test_copies_are_refused(self):
        copy = self.path("copy.dat")
        kevtrace("convert", self.recording, copy)
        self.assertIn("would be there twice", kevtrace("fleet", "ship", self.address, copy, status=1)[1])
        self.assertEqual(self.rows(), 0)

    def test_a_recording_has_one_name(self):
        kevtrace("fleet", "ship", self.address, self.recording, "--as", "web1")
        self.assertIn("as `web1`", kevtrace("fleet", "ship", self.address, self.recording, "--as", "web2", status=1)[1])
        self.assertEqual(self.rows(), self.recorded())
        self.assertIn("names hosts", kevtrace("fleet", "ship", self.address + "/web1", self.recording, status=2)[1])

    def test_a_flight_recording_is_shipped_when_it_is_finished(self):
        path = self.path("flight.dat")
        program = 'import os, sys\nfor line in sys.stdin:\n for i in range(30000): os.close(os.open("/etc/passwd", 0))\n print("done", flush=True)'
        tracer = subprocess.Popen([KEVTRACE, "run", "-q", "--overwrite", "--buffer", "256", "-o", path, "-e", OPENS, "--", "/usr/bin/python3", "-S", "-c", program],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(tracer.stdout.close)
        tracer.stdin.write(b"go\n")
        tracer.stdin.flush()
        tracer.stdout.readline()
        self.assertIn("when it is finished", kevtrace("fleet", "ship", self.address, path, status=1)[1])
        tracer.stdin.close()
        self.assertEqual(tracer.wait(60), 0)
        kevtrace("fleet", "ship", self.address, path)
        self.assertLess(self.recorded(path), 30000)
        self.assert_same("report", "X", recording=path)
        self.assertTrue(all(one["holds"] and one["exact"] for one in self.balance()))

    def test_purged_days_stay_in_the_balance(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        rows = self.rows()
        for day in (900_000_000, 1_900_000_000):  # 1998, 2030
            self.server.ask(f"INSERT INTO {self.database}.kevt_wanted VALUES ({day}, {day * 10**9}, 'an order', '')")
        self.assertIn("0 records", kevtrace("fleet", "purge", self.address, "--before", "2001-01-01")[1])
        deadline = time.monotonic() + 60
        while (left := self.server.ask(f"SELECT serial FROM {self.database}.kevt_wanted FORMAT TSV")) != "1900000000\n" and time.monotonic() < deadline:
            time.sleep(0.05)  # until the server has done it
        self.assertEqual(left, "1900000000\n")
        self.assertEqual(self.rows(), rows)
        self.assertIn(f"{rows} records of 2 days", kevtrace("fleet", "purge", self.address, "--before", "2199-12-31")[1])
        self.assertEqual(self.rows(), 0)
        self.assertEqual(sum(one["purged"] for one in self.balance()), rows)
        self.assertRegex(kevtrace("fleet", "check", self.address)[0], r"rows 0 \+ purged \d+ \+ spooled 0")
        self.assertEqual(kevtrace("report", self.address)[0], "")
        kevtrace("fleet", "ship", self.address, self.recording)  # it comes back whole
        self.assertEqual(self.rows(), rows)
        self.assertEqual(sum(one["purged"] for one in self.balance()), 0)
        for wrong in ("2026-02-30", "yesterday", "2026-1-1"):
            self.assertIn("is no day", kevtrace("fleet", "purge", self.address, "--before", wrong, status=2)[1])

    def test_days_of_some_age_are_purged(self):
        """As a timer does it: by the server's clock, whole days."""
        kevtrace("fleet", "ship", self.address, self.recording)
        rows = self.rows()
        self.assertIn("0 records", kevtrace("fleet", "purge", self.address, "--older-than", "1")[1])
        table = self.server.ask(f"SELECT name FROM system.tables WHERE database = '{self.database}' AND name LIKE 'event_%' LIMIT 1 FORMAT TSV").strip()
        columns = self.server.ask(f"SELECT name FROM system.columns WHERE database = '{self.database}' AND table = '{table}' FORMAT TSV").split()
        for ago in (1, 2, 3):  # a row of each of three days
            moved = ", ".join(f"(toUInt64(now()) - {ago * 86400}) * 1000000000" if name == "time" else f"toUInt64({ago})" if name == "seq" else name
                              for name in columns)
            self.server.ask(f"INSERT INTO {self.database}.{table} SELECT {moved} FROM {self.database}.{table} ORDER BY seq LIMIT 1")
        self.assertIn("1 records of 1 days", kevtrace("fleet", "purge", self.address, "--older-than", "2")[1])
        self.assertIn("1 records of 1 days", kevtrace("fleet", "purge", self.address, "--older-than", "1")[1])
        self.assertLessEqual(rows, self.rows())
        for words in (["--older-than", "0"], ["--older-than", "2", "--before", "2001-01-01"], []):
            kevtrace("fleet", "purge", self.address, *words, status=2)

    def test_an_older_schema_goes_on(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        self.server.ask(f"DROP TABLE {self.database}.kevt_purged")
        self.server.ask(f"DROP TABLE {self.database}.kevt_schema")
        self.server.ask(f"CREATE TABLE {self.database}.kevt_schema (version UInt32) ENGINE = MergeTree() ORDER BY version")
        self.server.ask(f"INSERT INTO {self.database}.kevt_schema VALUES (1)")
        self.assertIn("has schema 1; `kevtrace fleet init`", kevtrace("report", self.address, status=1)[1])
        kevtrace("fleet", "init", self.address)
        self.balance()
        self.assert_same("report", "X")

    def test_what_others_wrote_into_the_database(self):
        """Names of tables are checked, a row that cannot be is told, and nothing hangs."""
        kevtrace("fleet", "ship", self.address, self.recording)
        self.server.ask(f"INSERT INTO {self.database}.kevt_counts (session, host, event, table, recorded, has_totals) VALUES "
                        f"('x', 'evil', 'a/b', 'event_x WHERE 0 UNION ALL SELECT 1, 2, 3', 5, 1)")
        out, _ = kevtrace("fleet", "check", self.address, status=1)
        self.assertRegex(out, r"(?m)^evil a/b: rows 0 ")
        table = self.server.ask(f"SELECT name FROM system.tables WHERE database = '{self.database}' AND name LIKE 'event\\_%\\_got\\_%'").strip()
        self.server.ask(f"INSERT INTO {self.database}.{table} (host, session, time, seq) SELECT host, session, 9223372036854775807, 1 "
                        f"FROM {self.database}.{table} LIMIT 1")
        self.assertEqual(kevtrace("report", self.address)[0], kevtrace("report", self.recording)[0])

    def test_one_process_at_a_time_ships_a_file(self):
        import fcntl
        with open(self.recording) as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.assertIn("another process ships it", kevtrace("fleet", "ship", self.address, self.recording, status=1)[1])

    @unittest.skipUnless(clickhouse.IS_TODAYS, "Debian's server knows no tokens")
    def test_an_insert_that_comes_twice_is_known_by_its_token(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        table = self.database + "." + self.server.ask(f"SELECT name FROM system.tables WHERE database = '{self.database}' AND name LIKE 'event\\_%\\_got\\_%'").strip()
        for token, rows in (("a", 1), ("a", 1), ("b", 2)):
            self.server.ask(f"INSERT INTO {table} (host, session, time, seq) SETTINGS insert_deduplication_token = '{token}' VALUES ('x', 'y', 1, 1)")
            self.assertEqual(self.server.ask(f"SELECT count() FROM {table} WHERE host = 'x'").strip(), str(rows))

    @unittest.skipUnless(clickhouse.IS_TODAYS, "Debian's server has no grants")
    def test_the_pages_grants_are_read(self):
        """By today's parser; the engine alone has no users to give them to."""
        self.assertGreaterEqual(int(self.server.ask("SELECT version()").split(".")[0]), 25)
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/fleet.md")) as page:
            block = re.search(r"```sql\n(CREATE USER.*?)```", page.read(), re.DOTALL)[1]
        statements = [one.strip() for one in re.sub(r"--.*", "", block).split(";") if one.strip()]
        self.assertGreater(len(statements), 8)
        for one in statements:
            quoted = one.replace("'", "\\'")
            self.assertIn("TO" if one.startswith("GRANT") else "CREATE USER", self.server.ask(f"SELECT formatQuery('{quoted}')"))
        with self.assertRaises(AssertionError):
            self.server.ask("SELECT formatQuery('GRANT MILK ON kev.* TO web1')")

    def test_what_is_not_there(self):
        self.assertIn("`kevtrace fleet init` makes it", kevtrace("report", self.server.address("nosuch"), status=1)[1])
        self.assertIn("no recording was shipped", kevtrace("report", self.address, status=1)[1])
        self.assertIn("no answer", kevtrace("report", f"ch+http://127.0.0.1:{clickhouse.free_port()}/kev", status=1)[1])
        self.assertIn("without TLS", kevtrace("fleet", "init", "ch+http://example.org/kev", status=2)[1])
        self.server.ask(f"INSERT INTO {self.database}.kevt_schema VALUES (99)")
        self.assertIn("has schema 99", kevtrace("report", self.address, status=1)[1])

    # ---- TLS --------------------------------------------------------------------------------

    def keys(self, **lines):
        path = self.path("fleet.conf")
        with open(path, "w") as file:
            file.writelines(f"{word.replace('_', '-')} {value}\n" for word, value in lines.items())
        return {"KEVTRACE_FLEET": path}

    def test_tls_with_certificates_on_both_sides(self):
        keys = os.path.join(self.folder, "keys")
        address = f"ch://127.0.0.1:{self.server.tls_port}/{self.database}"
        ours = {"ca": keys + "/ca.crt", "cert": keys + "/client.crt", "key": keys + "/client.key"}
        kevtrace("fleet", "ship", address, self.recording, env=self.keys(**ours))
        self.assertEqual(self.rows(), self.recorded())
        out = kevtrace("report", address, env=self.keys(**ours))[0]
        self.assertEqual(out, kevtrace("report", self.recording)[0])
        self.assertIn("no answer", kevtrace("report", address, env=self.keys(ca=ours["ca"]), status=1)[1])  # no certificate of ours
        unknown = {**ours, "ca": keys + "/client.crt"}
        self.assertIn("certificate", kevtrace("report", address, env=self.keys(**unknown), status=1)[1])

    @unittest.skipIf(clickhouse.IS_TODAYS, "the engine alone has no users")
    def test_users_and_passwords(self):
        secret = self.path("secret")
        with open(secret, "w") as file:
            file.write("s3cret\n")
        os.chmod(secret, 0o600)
        env = self.keys(user="shipper", password_file=secret)
        kevtrace("fleet", "ship", self.address, self.recording, env=env)
        with open(secret, "w") as file:
            file.write("wr0ng\n")
        err = kevtrace("report", self.address, env=env, status=1)[1]
        self.assertNotIn("wr0ng", err)
        with open(secret, "w") as file:
            file.write("r3ad\n")
        env = self.keys(user="reader", password_file=secret)
        self.assertEqual(kevtrace("report", self.address, env=env)[0], kevtrace("report", self.recording)[0])
        self.assertIn("Cannot", kevtrace("fleet", "ship", self.address, self.recording, env=env, status=1)[1])


if __name__ == "__main__":
    main()
