"""How many hosts one server takes: INSERTs as shippers make them, from many hosts at once, as fast as the server answers.

    ./kev fleet-bench --scale [--seconds N] [--rows N] [--clients N] [--hosts N] [--events N] [--every SEC]

A look of a shipper is an INSERT for each event and two for its counts. What the server sustains is measured; from it come
hosts a server, and bytes, INSERTs a second and servers for the hosts asked about. KEVT_CLICKHOUSE=today: today's engine.
"""
import argparse
import http.client
import struct
import tempfile
import threading
import time
import urllib.parse

from clickhouse import ClickHouse, server_program

COLUMNS = ("host String, session String, time Int64, cpu UInt32, seq UInt64, instance String, tid Int32, pid Int32, comm String, container String, "
           "flags UInt8, preempt UInt8, lost UInt64, place String, f_a Int64, f_b Int64, f_c Int64, f_d Int64")
COUNTS = "session String, host String, event String, shipped UInt64, checkpoint Int64"


def text(value):
    raw = value.encode()
    return bytes([len(raw)]) + raw


def rows_of(host, first, count, now):
    head, end = text(f"web{host}") + text(f"{host:032x}"), text("") + struct.pack("<ii", 100, 100) + text("nginx") + text("") + struct.pack("<BBQ", 0, 0, 0) + text("four+0x0/0x40 [four]")
    return b"".join(head + struct.pack("<qIQ", now + n * 1000, host % 8, first + n) + end + struct.pack("<qqqq", n, n * 7919 % 4096, n % 7, 64) for n in range(count))


class Client(threading.Thread):
    def __init__(self, port, number, options, until):
        super().__init__()
        self.connection, self.number, self.options, self.until = http.client.HTTPConnection("127.0.0.1", port, timeout=60), number, options, until
        self.inserts = self.rows = self.refused = 0
        self.waits = []

    def insert(self, sql, rows):
        began = time.monotonic()
        self.connection.request("POST", "/?" + urllib.parse.urlencode({"query": sql}), body=rows)
        answer = self.connection.getresponse()
        said = answer.read()
        self.waits.append(time.monotonic() - began)
        self.inserts += 1
        if answer.status == 200:
            return True
        self.refused += 1
        if b"Too many parts" not in said:
            raise AssertionError(said.decode(errors="replace"))
        return False

    def run(self):
        host, first = self.number, 1
        while time.monotonic() < self.until:
            now = time.time_ns()
            for event in range(self.options.events):
                if self.insert(f"INSERT INTO kev.event_{event} FORMAT RowBinary", rows_of(host, first, self.options.rows, now)):
                    self.rows += self.options.rows
            for table in ("counts", "sessions"):
                self.insert(f"INSERT INTO kev.{table} FORMAT RowBinary", b"".join(text(f"{host:032x}") + text(f"web{host}") + text(f"kprobes/e{n}") + struct.pack("<Qq", first, now) for n in range(self.options.events)))
            host += self.options.clients
            if host >= self.options.hosts:
                host, first = self.number, first + self.options.rows


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--rows", type=int, default=500)
    options.add_argument("--clients", type=int, default=8)
    options.add_argument("--hosts", type=int, default=1000)
    options.add_argument("--events", type=int, default=2)
    options.add_argument("--every", type=float, default=30)
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = ClickHouse(server_program(), folder, compression="zstd")
        try:
            measure(server, options)
        finally:
            server.stop()


def measure(server, options):
    server.ask("CREATE DATABASE kev")
    for event in range(options.events):
        server.ask(f"CREATE TABLE kev.event_{event} ({COLUMNS}) ENGINE = ReplacingMergeTree() PARTITION BY "
                   "toYYYYMMDD(toDateTime(intDiv(time, 1000000000), 'UTC'), 'UTC') ORDER BY (host, session, time, cpu, instance, seq)")
    for table in ("counts", "sessions"):
        server.ask(f"CREATE TABLE kev.{table} ({COUNTS}) ENGINE = ReplacingMergeTree(checkpoint) ORDER BY (host, session, event)")
    began = time.monotonic()
    clients = [Client(server.port, number, options, began + options.seconds) for number in range(options.clients)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    spent = time.monotonic() - began
    inserts, rows, refused = (sum(getattr(one, name) for one in clients) for name in ("inserts", "rows", "refused"))
    waits = sorted(wait for one in clients for wait in one.waits)
    parts, stored, count = (int(one) for one in server.ask("SELECT count(), sum(bytes), sum(rows) FROM system.parts WHERE active AND database = 'kev' AND table LIKE 'event%'").split())
    there = sum(int(server.ask(f"SELECT count() FROM kev.event_{event}")) for event in range(options.events))
    a_look = options.events + 2
    hosts = inserts / spent * options.every / a_look
    print(f"{inserts} INSERTs of {options.rows} rows by {options.clients} clients in {spent:.0f} s: {inserts / spent:.0f} a second, {rows / spent:,.0f} rows a second; "
          f"median {waits[len(waits) // 2] * 1000:.0f} ms, 99 % {waits[len(waits) * 99 // 100] * 1000:.0f} ms; {refused} were refused (too many parts)")
    print(f"{there} rows are there, {rows} were taken; {parts} parts, {stored / max(count, 1):.1f} bytes a row (zstd, before the last merges)")
    print(f"a look is {a_look} INSERTs: one server takes {hosts:.0f} hosts that look every {options.every:.0f} s")
    needed = options.hosts * a_look / options.every
    print(f"{options.hosts} hosts: {needed:.0f} INSERTs a second, {max(1, -(-options.hosts // max(int(hosts), 1)))} servers; 10^10 records: {stored / max(count, 1) * 10:.0f} GB")
    if there != rows:
        raise SystemExit("rows that were taken are not there")


if __name__ == "__main__":
    main()
