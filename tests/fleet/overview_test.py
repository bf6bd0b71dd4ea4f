"""kevtrace fleet rates and the window's overview: how many records hosts have when, from rollups that are as many as the rows."""
import json
import os
import re
import signal
import subprocess
import time

from kevtest import KEVTRACE, plain
from shares import main

from clickhouse import ClickHouse, Proxy
from fleet_case import FleetCase, kevtrace, record

SECOND = 1_000_000_000


class OverviewTest(FleetCase):
    def rates(self, *words, address=None):
        return json.loads(kevtrace("fleet", "rates", address or self.address, "-f", "json", *words)[0])

    def sums(self, *words, by="event", **more):
        return {one[by]: sum(one["records"]) for one in self.rates("--by", by, *words, **more)["lines"]}

    def assert_rows_are_rolled_up(self):
        """Every row of every table, in each of the three steps."""
        rows = self.rows()
        steps = self.server.ask(f"SELECT step, sum(hits) FROM {self.database}.kevt_rollups FINAL GROUP BY step ORDER BY step FORMAT TSV")
        self.assertEqual(steps.split(), [str(word) for step in (10**6, 10**8, 10**10) for word in (step, rows)])

    def times(self, path):
        """Of a recording's records, nanoseconds since 1970."""
        offset = int(self.server.ask(f"SELECT wall_offset FROM {self.database}.kevt_sessions FINAL FORMAT TSV"))
        lines = kevtrace("report", path, "-f", "json")[0].splitlines()
        return [json.loads(line)["time_ns"] + offset for line in lines]

    def test_each_bar_has_its_records(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        self.assert_rows_are_rolled_up()
        shown = self.rates("--bars", "300")
        self.assertEqual(shown["records"], self.recorded())
        self.assertEqual({one["event"] for one in shown["lines"]}, {"kprobes/opened", "kprobes/got"})
        bars = (shown["to_ns"] - shown["from_ns"]) // shown["width_ns"]
        self.assertLessEqual(bars, 300)
        table = self.server.ask(f"SELECT name FROM system.tables WHERE database = '{self.database}' AND name LIKE 'event_kprobes_opened%'").strip()
        times = [int(one) for one in self.server.ask(f"SELECT time FROM {self.database}.{table} FORMAT TSV").split()]
        wanted = [0] * bars
        for at in times:
            wanted[(at - shown["from_ns"]) // shown["width_ns"]] += 1
        self.assertEqual(next(one["records"] for one in shown["lines"] if one["event"] == "kprobes/opened"), wanted)
        self.assertGreater(len([one for one in wanted if one]), 1)
        out, _ = kevtrace("fleet", "rates", self.address)
        self.assertRegex(out, r"^20\d\d-\d\d-\d\d .* UTC, \d+ ms a bar\nkprobes/got +\d+ [ ▁▂▃▄▅▆▇█]*█")

    def test_days_are_counted_in_longer_steps(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        table = self.server.ask(f"SELECT name FROM system.tables WHERE database = '{self.database}' AND name LIKE 'event_kprobes_got%'").strip()
        columns = self.server.ask(f"SELECT name FROM system.columns WHERE database = '{self.database}' AND table = '{table}'").split()
        moved = lambda by: ", ".join(f"time + {by}" if one == "time" else f"seq + {by}" if one == "seq" else one for one in columns)  # noqa: E731
        for by in (30 * SECOND, 7200 * SECOND, 5 * 86_400 * SECOND):  # as a recording of five days would have them
            self.server.ask(f"INSERT INTO {self.database}.{table} ({', '.join(columns)}) SELECT {moved(by)} FROM {self.database}.{table} WHERE seq < 1000000")
        self.server.ask(f"INSERT INTO {self.database}.kevt_sessions SELECT id, host, rest_of, machine, clock, maker, cpus, wall_offset, first, "
                        f"last + {5 * 86_400 * SECOND}, whole, instances, notes, comms, checkpoint + 1, boot FROM {self.database}.kevt_sessions FINAL")
        self.as_schema_4()
        self.assertRegex(kevtrace("fleet", "init", self.address)[1], rf"{self.rows()} records were not in the rollups, and are now")
        self.assert_rows_are_rolled_up()
        for bars, last in ((10, None), (1000, None), (100, 5 * 86_400), (2000, 86_400), (500, 10)):
            shown = self.rates("--bars", str(bars), *(("--last", str(last)) if last else ()))
            from_ns, to_ns, width = shown["from_ns"], shown["to_ns"], shown["width_ns"]
            self.assertLessEqual((to_ns - from_ns) / width, bars)
            counted = self.server.ask(f"SELECT intDiv(time - {from_ns}, {width}) AS bar, count() FROM {self.database}.{table} WHERE time >= {from_ns} AND time < {to_ns} GROUP BY bar FORMAT TSV")
            wanted = dict(tuple(map(int, line.split())) for line in counted.splitlines())
            got = next(one["records"] for one in shown["lines"] if one["event"] == "kprobes/got")
            self.assertEqual({bar: hits for bar, hits in enumerate(got) if hits}, wanted, (bars, last))

    def as_schema_4(self):
        for table, columns in (("kevt_rollups", None), ("kevt_schema", "(version UInt32) ENGINE = MergeTree() ORDER BY version")):
            self.server.ask(f"DROP TABLE {self.database}.{table}")
            if columns:
                self.server.ask(f"CREATE TABLE {self.database}.{table} {columns}")
        self.server.ask(f"INSERT INTO {self.database}.kevt_schema VALUES (4)")

    def test_hosts_are_lines_and_clocks_are_corrected(self):
        counts = {}
        for n, host in enumerate(("early", "late")):
            path = record(self.path(host + ".dat"), 10 + n)
            counts[host] = self.recorded(path)
            kevtrace("fleet", "ship", self.address, path, "--as", host)
        self.assertEqual(self.sums(by="host"), counts)
        self.assertEqual(self.sums(by="host", address=self.address + "/la*"), {"late": counts["late"]})
        self.server.ask(f"DROP TABLE {self.database}.kevt_clocks")
        self.server.ask(f"CREATE TABLE {self.database}.kevt_clocks (host String, session String, utc Int64, monotonic Int64, max_error Int64) "
                        "ENGINE = ReplacingMergeTree() ORDER BY (host, session, utc)")
        for host, wrong_by in (("early", 3600 * SECOND), ("late", 0)):  # early's clock was behind by an hour
            self.server.ask(f"INSERT INTO {self.database}.kevt_clocks SELECT host, id, wall_offset + {wrong_by + 10**12}, {10**12}, 1000 FROM {self.database}.kevt_sessions FINAL WHERE host = '{host}'")
        shown = self.rates("--by", "host", "--bars", "100")
        self.assertEqual({one["host"]: sum(one["records"]) for one in shown["lines"]}, counts)
        self.assertGreater(shown["to_ns"] - shown["from_ns"], 3590 * SECOND)
        early, late = (next(one["records"] for one in shown["lines"] if one["host"] == host) for host in ("early", "late"))
        self.assertGreater(min(bar for bar, hits in enumerate(early) if hits), max(bar for bar, hits in enumerate(late) if hits))
        self.assertEqual(self.sums("--last", "60", by="host"), {"early": counts["early"]})

    def test_two_servers_are_one_overview(self):
        other = ClickHouse(self.program, os.path.join(self.folder, "second"))
        self.addCleanup(other.stop)
        address = f"ch+http://127.0.0.1:{self.server.port},127.0.0.1:{other.port}/{self.database}"
        kevtrace("fleet", "init", address)
        wanted = {}
        for n in range(6):
            path = record(self.path(f"{n}.dat"), 5)
            wanted[f"host{n}"] = self.recorded(path)
            kevtrace("fleet", "ship", address, path, "--as", f"host{n}")
        self.assertTrue(self.rows() and self.rows(other))
        self.assertEqual(self.sums(by="host", address=address), wanted)
        self.assertEqual(sum(self.sums(address=address).values()), sum(wanted.values()))

    def killed_before_it_counts(self):
        """A shipper that is killed between rows and rollups."""
        path = record(self.path("killed.dat"), 500)
        shipper = None
        proxy = Proxy(self.server.port, lambda head: shipper.kill() or "error" if b"kevt_rollups (" in proxy.bodies[-1] else None)
        self.addCleanup(proxy.close)
        shipper = subprocess.Popen([KEVTRACE, "fleet", "ship", proxy.address(self.database), path], stderr=subprocess.DEVNULL)
        self.assertEqual(shipper.wait(60), -signal.SIGKILL)
        self.assertEqual(self.rows(), self.recorded(path))
        self.assertEqual(self.sums(), {})
        return path

    def test_the_next_shipper_counts_what_a_killed_one_has_sent(self):
        path = self.killed_before_it_counts()
        kevtrace("fleet", "ship", self.address, path)
        self.assert_rows_are_rolled_up()
        kevtrace("fleet", "ship", self.address, path)  # again is no harm
        self.assert_rows_are_rolled_up()

    def test_init_counts_what_nobody_ships_any_more(self):
        self.killed_before_it_counts()
        self.assertIn(f"{self.rows()} records were not in the rollups", kevtrace("fleet", "init", self.address)[1])
        self.assert_rows_are_rolled_up()
        self.assertNotIn("rollups", kevtrace("fleet", "init", self.address)[1])

    def test_what_is_not_counted_is_told(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        self.assertNotIn("overview", kevtrace("fleet", "check", self.address)[0])
        self.as_schema_4()
        self.server.ask(f"INSERT INTO {self.database}.kevt_schema VALUES (6)")
        self.assertIn("no database", kevtrace("fleet", "rates", self.address.replace(self.database, "nosuch"), status=1)[1])
        self.assertIn("kevt_rollups", kevtrace("fleet", "rates", self.address, status=1)[1])  # it is gone: the server's own words
        self.server.ask(f"DROP TABLE {self.database}.kevt_schema")
        self.server.ask(f"CREATE TABLE {self.database}.kevt_schema (version UInt32) ENGINE = MergeTree() ORDER BY version")
        kevtrace("fleet", "init", self.address)
        day = self.server.ask(f"SELECT DISTINCT partition FROM system.parts WHERE database = '{self.database}' AND table = 'kevt_rollups' AND active").split()[0]
        self.server.ask(f"ALTER TABLE {self.database}.kevt_rollups DROP PARTITION {day}")
        self.assertRegex(kevtrace("fleet", "check", self.address)[0], r"opened: .*; \d+ rows are in no overview; `kevtrace fleet init` counts them")

    def hands(self, *orders):
        """The window, ordered by lines; the answers, each a list of lines."""
        hands = os.environ.get("KEVT_GUI_HANDS")
        if not hands:
            self.skipTest("there is no window")
        done = subprocess.run([hands], input="".join(one + "\n" for one in orders).encode(), capture_output=True, timeout=120)
        answers, lines = [], done.stdout.decode(errors="surrogateescape").splitlines()
        while lines:
            words = lines.pop(0).split(" ", 1)
            self.assertEqual(words[0], "ok", (orders[len(answers)], words, done.stderr))
            count = int(words[1]) if len(words) > 1 else 0
            answers.append(lines[:count])
            lines = lines[count:]
        self.assertEqual(len(answers), len(orders), done.stderr)
        return answers

    def test_the_window_shows_a_part_and_the_strip_all(self):
        files = {host: record(self.path(host + ".dat"), times) for host, times in (("web1", 300), ("web2", 900))}
        for host, path in files.items():
            kevtrace("fleet", "ship", self.address, path, "--as", host)
        total = sum(self.recorded(path) for path in files.values())
        wanted = self.sums()
        plain_names = lambda lines: [re.sub(r"/nowhere/.*", "", line) for line in lines]  # noqa: E731 the window shows what UTF-8 is
        reported = plain_names(kevtrace("report", self.address)[0].splitlines())
        most = self.recorded(files["web2"]) - 100
        _, _, strip, lines = self.hands(f"most\t{most}", f"open\t{self.address}", "strip", "lines")
        self.assertEqual(dict((line.split("\t")[0], int(line.split("\t")[1])) for line in strip[2:]), wanted)
        grouped = lambda number: f"{number:,}".replace(",", " ")  # noqa: E731
        self.assertIn(f"{grouped(total)} records in sight; {grouped(len(lines))} are shown", strip[0])
        self.assertTrue(0 < len(lines) <= most, len(lines))
        self.assertEqual(plain_names(lines), reported[-len(lines):])  # the newest
        # What is chosen with the mouse is what is shown; too much is refused, and the part before stays.
        begin = (f"most\t{most}", f"open\t{self.address}", "strip")
        first, second = self.hands(*begin, "choose\t0\t0.4", "lines")[3:]
        refused, after = self.hands(*begin, "choose\t0\t1", "lines")[3:]
        self.assertIn("are shown, of the marked part", first[0])
        self.assertTrue(second)
        self.assertEqual(plain_names(second), reported[:len(second)])
        self.assertIn(f"that part has {grouped(total)} records, and {grouped(most)} are loaded at most", refused[0])
        self.assertEqual(after, lines)

    def test_the_strip_zooms(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        answers = self.hands(f"open\t{self.address}", f"wait\t{self.recorded()}", "strip", *["wheel\t0.5\t1"] * 30, *["wheel\t0.5\t-1"] * 40)
        self.assertIn(", all are shown", answers[2][0])
        in_sight = [sum(int(line.split("\t")[1]) for line in answer[2:]) for answer in answers[2:]]
        self.assertEqual(in_sight[0], self.recorded())
        self.assertLess(in_sight[30], in_sight[0])
        self.assertEqual(in_sight[-1], in_sight[0])
        self.assertEqual([int(re.sub(r" records.*| ", "", answers[at][0])) for at in (2, -1)], [self.recorded()] * 2)

    def test_a_server_that_goes_is_told_of(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        proxy = Proxy(self.server.port, lambda head: "error" if b"kevt_rollups" in proxy.bodies[-1] else None)
        self.addCleanup(proxy.close)
        strip, problems = self.hands(f"open\t{proxy.address(self.database)}", "strip", "rest", "problems")[1::2]
        self.assertIn("out of luck", strip[0])
        self.assertIn("out of luck", problems[0])

    def table_of(self, event):
        return self.server.ask(f"SELECT name FROM system.tables WHERE database = '{self.database}' AND name LIKE 'event_kprobes_{event}%'").strip()

    def add_rows(self, table, **instead):
        """Copies of a table's rows, with other values in these columns."""
        columns = self.server.ask(f"SELECT name FROM system.columns WHERE database = '{self.database}' AND table = '{table}'").split()
        self.server.ask(f"INSERT INTO {self.database}.{table} ({', '.join(columns)}) SELECT {', '.join(instead.get(one, one) for one in columns)} FROM {self.database}.{table}")

    def test_a_shift_hides_no_step(self):
        """Bars of 90 s, steps of 10 s: a step may begin before the span by a shifted clock."""
        for host in ("early", "late"):
            kevtrace("fleet", "ship", self.address, record(self.path(host + ".dat"), 40), "--as", host)
        total = self.rows()
        for shift in (3, 7, 13):
            self.server.ask(f"DROP TABLE {self.database}.kevt_clocks")
            self.server.ask(f"CREATE TABLE {self.database}.kevt_clocks (host String, session String, utc Int64, monotonic Int64, max_error Int64) "
                            "ENGINE = ReplacingMergeTree() ORDER BY (host, session, utc)")
            for host, by in (("early", -shift * SECOND), ("late", 900 * SECOND)):
                self.server.ask(f"INSERT INTO {self.database}.kevt_clocks SELECT host, id, wall_offset + {by + 10**12}, {10**12}, 1000 FROM {self.database}.kevt_sessions FINAL WHERE host = '{host}'")
            for bars in ("2", "11", "100"):
                self.assertEqual(self.rates("--bars", bars)["records"], total, (shift, bars))

    def test_a_row_of_a_wrong_time_costs_little(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        for event in ("opened", "got"):
            self.add_rows(self.table_of(event), seq="seq + 1000000", time=f"time + {86_400 * 365 * 100 * SECOND}")
        proxy = Proxy(self.server.port, lambda head: None)
        self.addCleanup(proxy.close)
        kevtrace("fleet", "init", proxy.address(self.database))
        self.assert_rows_are_rolled_up()
        self.assertLess(len([body for body in proxy.bodies if b"kevt_rollups (" in body]), 10)

    def test_init_counts_what_came_late(self):
        """Rows that are older than what was counted, of a recording that is whole, and of one that goes on."""
        kevtrace("fleet", "ship", self.address, self.recording)
        self.add_rows(self.table_of("got"), seq="seq + 1000000", time=f"time - {3 * SECOND}")
        self.assertIn("in no overview", kevtrace("fleet", "check", self.address, status=1)[0])
        kevtrace("fleet", "init", self.address)
        self.assert_rows_are_rolled_up()
        self.add_rows(self.table_of("got"), seq="seq + 5000000", time=f"time - {30 * SECOND}")
        self.server.ask(f"INSERT INTO {self.database}.kevt_sessions SELECT id, host, rest_of, machine, clock, maker, cpus, wall_offset, first - {60 * SECOND}, last, 0, "
                        f"instances, notes, comms, checkpoint + 1, boot FROM {self.database}.kevt_sessions FINAL")
        kevtrace("fleet", "ship", self.address, self.recording)
        kevtrace("fleet", "init", self.address)
        self.assert_rows_are_rolled_up()

    def test_a_purge_that_ends_in_between_is_done_again(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        proxy = Proxy(self.server.port, lambda head: "error" if b"kevt_rollups DROP" in proxy.bodies[-1] else None)
        self.addCleanup(proxy.close)
        kevtrace("fleet", "purge", proxy.address(self.database), "--before", "2199-12-31", status=1)
        self.assertGreater(sum(self.sums().values()), 0)
        kevtrace("fleet", "purge", self.address, "--before", "2199-12-31")
        self.assertEqual(self.sums(), {})

    def test_counts_are_noted_where_rollups_fail(self):
        proxy = Proxy(self.server.port, lambda head: "error" if b"kevt_rollups (" in proxy.bodies[-1] else None)
        self.addCleanup(proxy.close)
        kevtrace("fleet", "ship", proxy.address(self.database), self.recording, status=1)
        self.assertEqual(sum(one["rows"] for one in self.balance()), self.recorded())
        shown = json.loads(kevtrace("fleet", "status", self.address, "-f", "json")[0])[0]
        self.assertEqual((shown["shipped"], shown["finished"]), (self.recorded(), False))
        kevtrace("fleet", "ship", self.address, self.recording)
        self.assert_rows_are_rolled_up()
        self.assertTrue(json.loads(kevtrace("fleet", "status", self.address, "-f", "json")[0])[0]["finished"])

    def test_times_that_cannot_be(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        for first, last in ((1, 7258118400000000000), (-2**63, 2**63 - 1), (5, 4)):
            self.server.ask(f"INSERT INTO {self.database}.kevt_sessions SELECT id, host, rest_of, machine, clock, maker, cpus, wall_offset, toInt64({first}), toInt64({last}), whole, "
                            f"instances, notes, comms, checkpoint + {abs(first) % 7 + 1}, boot FROM {self.database}.kevt_sessions FINAL")
            for bars in ("2", "3", "60", "10000"):
                got, out, err = plain([KEVTRACE, "fleet", "rates", self.address, "--bars", bars])
                self.assertIn(got, (0, 1), err)
                self.assertTrue(got == 0 or b"make no sense" in err, err)

    def test_a_database_without_records(self):
        kevtrace("run", "-q", "-o", self.path("none.dat"), "-e", "p:never libc:wctomb", "--", "/bin/true")
        kevtrace("fleet", "ship", self.address, self.path("none.dat"))
        self.assertIn("no records", kevtrace("fleet", "rates", self.address)[1])

    def test_the_window_closes_while_a_server_does_not_answer(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        proxy = Proxy(self.server.port, lambda head: "slow" if b"kevt_rollups" in proxy.bodies[-1] or b"FROM " + self.database.encode() + b".event_" in proxy.bodies[-1] else None)
        self.addCleanup(proxy.close)
        begin = time.monotonic()
        self.hands(f"open\t{proxy.address(self.database)}", "rest")
        self.assertLess(time.monotonic() - begin, 50)  # a server's patience is 60 s

    def test_another_address_is_another_strip(self):
        for host, times in (("web1", 20), ("web2", 40)):
            kevtrace("fleet", "ship", self.address, record(self.path(host + ".dat"), times), "--as", host)
        answers = self.hands(f"open\t{self.address}/web1", "wait\t10", "strip", f"open\t{self.address}/web2", "rest", "wait\t50", "strip")
        for host, answer in (("web1", answers[2]), ("web2", answers[6])):
            wanted = self.recorded(self.path(host + ".dat"))
            self.assertIn(f"{wanted} records in sight, all are shown", answer[0])

    def test_purged_days_are_in_no_overview(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        kevtrace("fleet", "purge", self.address, "--before", "2199-12-31")
        self.assertEqual(self.sums(), {})
        kevtrace("fleet", "ship", self.address, self.recording)
        self.assert_rows_are_rolled_up()

    def test_a_growing_recording_is_counted_as_it_grows(self):
        path = self.path("live.dat")
        tracer = self.growing(path)
        while not os.path.exists(path):
            time.sleep(0.01)  # until it records
        shipper = subprocess.Popen([KEVTRACE, "fleet", "ship", self.address, path, "--follow", "--every", "0.1"], stderr=subprocess.DEVNULL)
        self.addCleanup(shipper.kill)
        for _ in range(3):
            self.call_ten_times(tracer)
            time.sleep(1.2)  # records come in several looks
        tracer.stdin.close()
        self.assertEqual(tracer.wait(60), 0)
        self.assertEqual(shipper.wait(60), 0)
        self.assertEqual(self.rows(), self.recorded(path))
        self.assert_rows_are_rolled_up()

    def test_a_lying_server(self):
        kevtrace("fleet", "ship", self.address, self.recording)
        proxy = Proxy(self.server.port, lambda head: "error")
        self.addCleanup(proxy.close)
        self.assertIn("out of luck", kevtrace("fleet", "rates", proxy.address(self.database), status=1)[1])
        add = f"INSERT INTO {self.database}.kevt_rollups (host, session, table, step, at, hits) SELECT host, session, "
        one = f"(SELECT host, session, step, at, hits FROM {self.database}.kevt_rollups WHERE step = 1000000 LIMIT 1)"
        self.server.ask(f"{add} '\\x1b[31m' AS table, step, at, 18446744073709551615 AS hits FROM {one}")
        out, _ = kevtrace("fleet", "rates", self.address)
        self.assertNotIn("\x1b", out)
        self.server.ask(f"{add} concat('t', toString(arrayJoin(range(1000000)))) AS table, step, at, hits FROM {one}")
        self.assertRegex(kevtrace("fleet", "rates", self.address, "--bars", "1000", status=1)[1], r"more than \d+ events or hosts for so many bars")


if __name__ == "__main__":
    main()
