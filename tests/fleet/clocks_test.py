"""What one host has sent and another received says how far their clocks are apart."""
import json
import os
import re
import subprocess

from kevtest import KEVTRACE
from shares import main

from clickhouse import ClickHouse
from fleet_case import FleetCase, kevtrace

MS = 10**6
ROUNDS = 20
# The first of two that answer one another: alarm() is what it sends, umask() what it receives.
FIRST = """import os, signal
to, back = open(os.environ["TO"], "wb", 0), open(os.environ["BACK"], "rb", 0)
for i in range({rounds}):
    signal.alarm(1000 + 2 * i); to.write(b"x"); back.read(1); os.umask(1001 + 2 * i)
"""
SECOND = """import os, signal
to, back = open(os.environ["TO"], "rb", 0), open(os.environ["BACK"], "wb", 0)
for i in range({rounds}):
    to.read(1); os.umask(1000 + 2 * i); signal.alarm(1001 + 2 * i); back.write(b"x")
"""
EVENTS = ("-e", "p:net_send libc:alarm id=%di:u32", "-e", "p:net_recv libc:umask id=%di:u64")


class ClocksTest(FleetCase):
    def recorded_pair(self):
        """Recordings of two programs that answer one another, and what is sent and received in each: {id: time since 1970}."""
        pipes = {name: self.path(name) for name in ("TO", "BACK")}
        for path in pipes.values():
            os.mkfifo(path)
        paths = [self.path("first.dat"), self.path("second.dat")]
        tracers = [subprocess.Popen([KEVTRACE, "run", "-q", "-o", path, *EVENTS, "--", "/usr/bin/python3", "-S", "-c", program.format(rounds=ROUNDS)],
                                    env={**os.environ, **pipes}) for path, program in zip(paths, (FIRST, SECOND))]
        for tracer in tracers:
            self.assertEqual(tracer.wait(120), 0)
        return paths

    def times_of(self, host, event):
        table = self.server.ask(f"SELECT table FROM {self.database}.kevt_events FINAL WHERE host = '{host}' AND name = '{event}' FORMAT TSV").strip()
        rows = self.server.ask(f"SELECT f_id, time FROM {self.database}.{table} WHERE host = '{host}' AND f_id >= 1000 FORMAT TSV")
        return {int(one): int(time) for one, time in (line.split("\t") for line in rows.splitlines())}

    def least_way(self, sent, received):
        """What a message took at least, by both clocks."""
        gone, come = self.times_of(sent, "net_send"), self.times_of(received, "net_recv")
        self.assertEqual(len(gone.keys() & come.keys()), ROUNDS)
        return min(come[one] - gone[one] for one in gone.keys() & come.keys())

    def say_clocks(self, table):
        self.server.ask(f"TRUNCATE TABLE {self.database}.kevt_clocks")
        for host, (wrong_by, error) in table.items():
            self.server.ask(f"INSERT INTO {self.database}.kevt_clocks SELECT host, id, wall_offset + {wrong_by + 10**12}, {10**12}, {error} FROM {self.database}.kevt_sessions FINAL WHERE host = '{host}'")

    def clocks(self, *words, address=None):
        out, err = kevtrace("fleet", "clocks", address or self.address, *words, "-f", "json")
        return json.loads(out), err

    def order(self):
        """Whether each message is sent before it is received, as all are printed."""
        seen, good = set(), True
        for line in kevtrace("report", self.address)[0].splitlines():
            if found := re.search(r" (net_send|net_recv): .* id=(\d{4})$", line):
                seen.add(found.group(2)) if found.group(1) == "net_send" else None
                good = good and found.group(2) in seen
        return good

    def test_messages_tie_the_clocks(self):
        for host, path in zip(("web1", "web2"), self.recorded_pair()):
            kevtrace("fleet", "ship", self.address, path, "--as", host)
        self.say_clocks({"web1": (0, 50 * MS), "web2": (40 * MS, 50 * MS)})
        before, _ = self.clocks()
        self.assertEqual((before["bounds"], before["apart_ns"]), (0, None))
        self.assertEqual([one["shift_ns"] for one in before["recordings"]], [0, 40 * MS])
        self.assertFalse(self.order())
        there, back = self.least_way("web1", "web2"), self.least_way("web2", "web1")
        self.assertGreaterEqual(there + back, 0)
        after, err = self.clocks("--sent", "net_send.id", "--received", "kprobes/net_recv.id")
        self.assertRegex(err, rf"(?m)^kevtrace: {2 * ROUNDS} sent, \d+ received, {2 * ROUNDS} of them from another recording$")
        self.assertEqual((after["bounds"], after["contradicts"]), (2, False))
        self.assertLessEqual(after["apart_ns"], (there + back + 1) // 2 + 1)
        one, two = after["recordings"]
        self.assertLessEqual(one["shift_ns"] - two["shift_ns"], there)
        self.assertLessEqual(two["shift_ns"] - one["shift_ns"], back)
        for each in after["recordings"]:
            self.assertEqual(each["own_error_ns"], 50 * MS)
            self.assertLess(each["error_ns"], 50 * MS)  # both clocks together know it better
        self.assertTrue(self.order())
        self.assertRegex(kevtrace("report", self.address)[1], r"times of hosts may be wrong by ±[\d.]+ ms; against one another by ±")
        self.assertRegex(kevtrace("fleet", "clocks", self.address)[0], r"(?m)^web2 +\w{8} +±50\.0 ms +±[\d.]+ ms +[+-][\d.]+ ms$")
        self.assertEqual(self.clocks(address=self.address + "/web1")[0]["bounds"], 0)
        again, _ = self.clocks("--sent", "net_send.id", "--received", "net_recv.id")
        self.assertEqual(again, after)
        self.assertEqual(self.clocks("--forget")[0], before)

    def test_clocks_that_contradict_are_told(self):
        for host, path in zip(("web1", "web2"), self.recorded_pair()):
            kevtrace("fleet", "ship", self.address, path, "--as", host)
        self.say_clocks({"web1": (0, 1000), "web2": (-3600_000 * MS, 1000)})
        after, _ = self.clocks("--sent", "net_send.id", "--received", "net_recv.id")
        self.assertEqual((after["contradicts"], [one["shift_ns"] for one in after["recordings"]]), (True, [0, -3600_000 * MS]))
        self.assertIn("contradicts the hosts' clocks, and is not used", kevtrace("report", self.address)[1])

    def test_values_that_are_sent_twice_say_nothing(self):
        first, second = self.recorded_pair()
        for host, path in (("web1", first), ("web2", second)):
            kevtrace("fleet", "ship", self.address, path, "--as", host)
        more = self.path("more.dat")
        kevtrace("run", "-q", "-o", more, *EVENTS, "--", "/usr/bin/python3", "-S", "-c", "import signal; signal.alarm(1000); signal.alarm(1001)")
        kevtrace("fleet", "ship", self.address, more, "--as", "web3")
        _, err = self.clocks("--sent", "net_send.id", "--received", "net_recv.id")
        self.assertIn("values that were sent more than once, and say nothing: 2", err)
        self.assertIn(f"{2 * ROUNDS - 2} of them from another recording", err)

    def test_two_servers(self):
        other = ClickHouse(self.program, os.path.join(self.folder, self.database))
        self.addCleanup(other.stop)
        address = f"ch+http://127.0.0.1:{self.server.port},127.0.0.1:{other.port}/{self.database}"
        kevtrace("fleet", "init", address)
        for host, path in zip(("a", "b"), self.recorded_pair()):
            kevtrace("fleet", "ship", address, path, "--as", host)
        after, _ = self.clocks("--sent", "net_send.id", "--received", "net_recv.id", address=address)
        self.assertEqual(after["bounds"], 2)
        self.assertIsNotNone(after["apart_ns"])

    def test_mistakes(self):
        for host, path in zip(("web1", "web2"), self.recorded_pair()):
            kevtrace("fleet", "ship", self.address, path, "--as", host)
        for words, status, why in ((("--sent", "nosuch.id", "--received", "net_recv.id"), 1, "no recording has an event `nosuch`"),
                                   (("--sent", "net_send.no", "--received", "net_recv.id"), 1, "net_send has no field `no`"),
                                   (("--sent", "net_send", "--received", "net_recv.id"), 2, "`net_send` is no EVENT.FIELD"),
                                   (("--sent", "net_send.id"), 2, "--received")):
            self.assertIn(why, kevtrace("fleet", "clocks", self.address, *words, status=status)[1])
        self.assertIn("belongs to `clocks`", kevtrace("fleet", "check", self.address, "--sent", "a.b", "--received", "a.b", status=2)[1])

    def test_what_sql_sees(self):
        """Names of addresses and the boot of the machine, for questions in SQL."""
        path = self.recorded_pair()[0]
        kevtrace("fleet", "ship", self.address, path, "--as", "web1")
        with open("/proc/sys/kernel/random/boot_id") as file:
            self.assertEqual(self.server.ask(f"SELECT boot FROM {self.database}.kevt_sessions FINAL FORMAT TSV").strip(), file.read().strip())
        names = self.server.ask(f"SELECT name, module FROM {self.database}.kevt_symbols WHERE host = 'web1' FORMAT TSV").splitlines()
        self.assertIn("alarm\tlibc.so.6", names)


if __name__ == "__main__":
    main()
