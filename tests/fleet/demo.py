"""./kev fleet-demo: one ClickHouse server and three hosts on this machine, from nothing to an answer and a balance.

The hosts are three programs whose recordings are filed under three names. The server listens on loopback alone, and is
ended with the demo; its data is in a folder of its own, which is removed."""
import os
import shlex
import subprocess
import sys
import tempfile

from clickhouse import ClickHouse, server_program

KEVTRACE = os.environ["KEVTRACE"]
HOSTS = {"web1": 400, "web2": 250, "db1": 30}
PROGRAM = """import os
for i in range({}): os.close(os.open("/etc/passwd" if i % 3 else "/etc/hosts", 0))
"""


def say(text):
    print(f"\n{text}", flush=True)


def kevtrace(*words):
    print("$ ./build/kevtrace " + shlex.join(words), flush=True)
    subprocess.run([KEVTRACE, *words], check=True)


def main():
    program = server_program()
    if program is None:
        sys.exit("kev: error: there is no ClickHouse server, and Debian's could not be fetched")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        server = ClickHouse(program, os.path.join(folder, "server"))
        try:
            show(server.address())
        finally:
            server.stop()


def show(address):
    say("a database, empty")
    kevtrace("fleet", "init", address)
    say("three hosts record, and ship")
    for host, times in HOSTS.items():
        kevtrace("run", "-q", "-o", f"{host}.dat", "-e", "p:open libc:open64 path=+0(%di):string flags=%si:x32", "-e", "r:opened libc:open64 fd=$retval:s32",
                 "--", "/usr/bin/python3", "-S", "-c", PROGRAM.format(times))
        kevtrace("fleet", "ship", address, f"{host}.dat", "--as", host)
    say("who is there")
    kevtrace("fleet", "status", address)
    say("one question of all hosts")
    kevtrace("hist", "open.path", "by", "event", "-i", address)
    say("how long an open takes on the web servers")
    kevtrace("lat", "open", "opened", "-i", address + "/web*")
    say("is every hit there?")
    kevtrace("fleet", "check", address)


if __name__ == "__main__":
    main()
