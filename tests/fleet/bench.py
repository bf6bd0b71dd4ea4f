"""./kev fleet-bench: what shipping and asking cost, beside the server's own client with the same rows in the same run.

    KEVTRACE=… python3 bench.py [--records N] [--stored N] [--rounds N]

--stored: rows that the questions to the server are about; the shipped ones are copied there until it has so many.
"""
import argparse
import os
import statistics
import subprocess
import tempfile
import time

from clickhouse import ClickHouse, Proxy, server_program

KEVTRACE = os.environ["KEVTRACE"]
CLIENT = "/usr/bin/clickhouse-client"
HANDS = os.environ.get("KEVT_GUI_HANDS")
COPIES_APART_NS = 36_000_000_000
PROGRAM = """#include <stdlib.h>
__attribute__((noinline)) void four(long a, long b, long c, long d) { __asm__ volatile("" :: "r"(a), "r"(b), "r"(c), "r"(d)); }
int main(int n, char** words) {
  unsigned long x = 1;
  for (long i = 0, times = atol(words[n - 1]); i < times; i++) {
    x = x * 6364136223846793005ul + 1;
    four(i, (x >> 40) % 4096, (x >> 33) % 7, 64);
  }
}
"""


def run(*words, **options):
    begin = time.monotonic()
    done = subprocess.run(words, check=True, capture_output=True, **options)
    return time.monotonic() - begin, done.stdout


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--records", type=int, default=2_000_000)
    options.add_argument("--stored", type=int, default=20_000_000)
    options.add_argument("--rounds", type=int, default=3)
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/four.c", "w") as file:
            file.write(PROGRAM)
        run("cc", "-O2", "-o", folder + "/four", folder + "/four.c")
        run(KEVTRACE, "run", "-q", "--buffer", "131072", "-o", folder + "/four.dat", "-e", "p:four four:four a=%di b=%si c=%dx d=%cx", "--", folder + "/four", str(options.records))
        server = ClickHouse(server_program(), folder + "/server", compression="zstd")
        try:
            measure(server, folder, options)
        finally:
            server.stop()


def measure(server, folder, options):
    address, recording = server.address(), folder + "/four.dat"
    ship, client, report, sql = [], [], [], []
    for _ in range(options.rounds):
        server.ask("DROP DATABASE IF EXISTS kev")
        run(KEVTRACE, "fleet", "init", address)
        ship.append(run(KEVTRACE, "fleet", "ship", address, recording)[0])
        table = server.ask("SELECT name FROM system.tables WHERE database = 'kev' AND name LIKE 'event%'").strip()
        columns = ", ".join(server.ask(f"SELECT name FROM system.columns WHERE database = 'kev' AND table = '{table}'").split())
        rows = run(CLIENT, "--port", str(server.native_port), "--query", f"SELECT {columns} FROM kev.{table} FORMAT RowBinary")[1]
        server.ask(f"CREATE TABLE kev.copy AS kev.{table}")
        client.append(run(CLIENT, "--port", str(server.native_port), "--query", f"INSERT INTO kev.copy ({columns}) FORMAT RowBinary", input=rows)[0])
        question = "four: a > 1000 && b == 77"
        report.append(run(KEVTRACE, "report", address, "-F", question)[0])
        sql.append(run(CLIENT, "--port", str(server.native_port), "--query", f"SELECT * FROM kev.{table} WHERE f_a > 1000 AND f_b = 77 ORDER BY time FORMAT TSV")[0])
    stored, count = server.ask(f"SELECT sum(bytes), sum(rows) FROM system.parts WHERE active AND database = 'kev' AND table = '{table}'").split()
    print(f"{options.records} records of four numbers, {options.rounds} rounds, medians")

    def line(what, ours, theirs):
        ours, theirs = statistics.median(ours), statistics.median(theirs)
        print(f"  {what:<44} kevtrace {ours:6.2f} s   clickhouse-client {theirs:6.2f} s   ratio {ours / theirs:.2f}")

    line("into the server (the client: rows made before)", ship, client)
    line("`a > 1000 && b == 77`, the records printed", report, sql)
    counted(server, table, options, line)
    zoomed(server, table, options)
    print(f"  shipped {options.records / statistics.median(ship):,.0f} records/s; {int(stored) / int(count):.1f} bytes a stored record (zstd)")


def counted(server, table, options, line):
    """The server's answer to `hist`, by kevtrace and by the client: the same SQL."""
    rows, copies = options.records, 0
    columns = server.ask(f"SELECT name FROM system.columns WHERE database = 'kev' AND table = '{table}'").split()
    while rows < options.stored:
        copies += 1
        taken = min(options.records, options.stored - rows)
        moved = {"seq": f"seq + {options.records * copies}", "time": f"time + {COPIES_APART_NS * copies}"}
        copied = ", ".join(moved.get(one, one) for one in columns)
        server.ask(f"INSERT INTO kev.{table} ({', '.join(columns)}) SELECT {copied} FROM kev.{table} WHERE seq <= {taken}", timeout=600)
        rows += taken
    # As its shipper would have noted it: rows that nobody has noted might be there twice.
    noted = server.ask("SELECT name FROM system.columns WHERE database = 'kev' AND table = 'kevt_counts'").split()
    copied = ", ".join(str(rows) if one in ("in_recording", "shipped") else "checkpoint + 1" if one == "checkpoint" else one for one in noted)
    server.ask(f"INSERT INTO kev.kevt_counts ({', '.join(noted)}) SELECT {copied} FROM kev.kevt_counts FINAL WHERE table = '{table}'")
    proxy = Proxy(server.port, lambda head: None)
    for words, what in ((("four.b",), "hist four.b"), (("four.b", "by", "c"), "hist four.b by c"),
                        (("four.b", "--filter", "four: c == 3 && a > 1000"), "hist four.b, filtered")):
        run(KEVTRACE, "hist", *words, "-i", proxy.address())
        sql = next(body.decode() for body in reversed(proxy.bodies) if b"GROUP BY by" in body)
        ours, theirs = [], []
        for _ in range(max(options.rounds, 3)):
            ours.append(run(KEVTRACE, "hist", *words, "-i", server.address())[0])
            theirs.append(run(CLIENT, "--port", str(server.native_port), "--query", sql)[0])
        line(f"{what}, of {rows:,} rows", ours, theirs)
    proxy.close()


def zoomed(server, table, options):
    """How long a picture of more or less time takes: by `fleet rates`, with the start of the process, and the window's strip."""
    copies = (options.stored - 1) // options.records
    columns = server.ask("SELECT name FROM system.columns WHERE database = 'kev' AND table = 'kevt_sessions'").split()
    moved = {"last": f"last + {COPIES_APART_NS * copies}", "checkpoint": "checkpoint + 1"}
    server.ask(f"INSERT INTO kev.kevt_sessions ({', '.join(columns)}) SELECT {', '.join(moved.get(one, one) for one in columns)} FROM kev.kevt_sessions FINAL")
    for one in ("DROP TABLE kev.kevt_schema", "CREATE TABLE kev.kevt_schema (version UInt32) ENGINE = MergeTree() ORDER BY version",
                "INSERT INTO kev.kevt_schema VALUES (4)", "DROP TABLE kev.kevt_rollups"):
        server.ask(one)
    print(f"  rollups of {options.stored:,} rows, by `fleet init`: {run(KEVTRACE, 'fleet', 'init', server.address())[0]:.1f} s", flush=True)
    steps, bytes_of = server.ask("SELECT sum(rows), sum(bytes) FROM system.parts WHERE active AND database = 'kev' AND table = 'kevt_rollups'").split()
    print(f"  {int(steps):,} steps, {int(bytes_of) / int(steps):.1f} bytes each")
    whole = COPIES_APART_NS * copies / 1e9
    for part in (1, 10, 100, 1000):
        words = ("fleet", "rates", server.address(), "--bars", "2000", "--last", str(max(whole / part, 0.1)))
        times = sorted(run(KEVTRACE, *words)[0] for _ in range(5))
        print(f"  rates of 1/{part} of {whole:,.0f} s, 2000 bars: {times[2] * 1000:.0f} ms ({times[0] * 1000:.0f} to {times[-1] * 1000:.0f})", flush=True)
    times = sorted(run(CLIENT, "--port", str(server.native_port), "--query", f"SELECT intDiv(time, 1000000000) AS at, count() FROM kev.{table} GROUP BY at FORMAT TSV")[0] for _ in range(3))
    print(f"  the client's GROUP BY over the rows: {times[1] * 1000:.0f} ms", flush=True)
    if HANDS:
        orders = [f"open\t{server.address()}", "strip", *["wheel\t0.37\t1"] * 12, *["wheel\t0.37\t-1"] * 12]
        begin = time.monotonic()
        out = subprocess.run([HANDS], input="\n".join(orders).encode(), capture_output=True, check=True).stdout.decode()
        answers = [int(one) for one in out.splitlines() if one.isdigit()]
        print(f"  the window's strip: first answer {answers[0]} ms, with two million records loaded {time.monotonic() - begin:.1f} s; "
              f"24 zooms {statistics.median(answers[1:])} ms ({min(answers[1:])} to {max(answers[1:])})")


if __name__ == "__main__":
    main()
