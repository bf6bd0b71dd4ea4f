"""./kev fleet-demo: one ClickHouse server and three hosts on this machine, from nothing to an answer and a balance.

The hosts are three programs whose recordings are filed under three names; for orders each has numbers of processes of
its own. The server listens on loopback alone, and is ended with the demo; its data is in a folder of its own, which is
removed."""
import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
import time

from clickhouse import ClickHouse, server_program

KEVTRACE = os.environ["KEVTRACE"]
HOSTS = {"web1": 400, "web2": 250, "db1": 30}
PROGRAM = """import os
for i in range({}): os.close(os.open("/etc/passwd" if i % 3 else "/etc/hosts", 0))
"""
# A program that works until its standard input ends; the first process of its host.
SERVICE = """import ctypes, os, select
ctypes.CDLL(None).prctl(15, b"service")
while not select.select([0], [], [], 0.002)[0]: os.close(os.open("/etc/passwd", 0))
"""
SCRIPT = """target comm service
p:opened libc:open64 path=+0(%di):string
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
    with contextlib.ExitStack() as hosts:
        if obey(hosts, address):
            say("one order to the web servers: trace `service` for a second")
            print(f"$ cat opened.kev\n{SCRIPT}", end="", flush=True)
            with open("opened.kev", "w") as file:
                file.write(SCRIPT)
            kevtrace("fleet", "run", address, "opened.kev", "--on", "role=web", "-d", "1")
    say("is every hit there?")
    kevtrace("fleet", "check", address)


def obey(hosts, address):
    """Three hosts obey orders that our key has signed. False: hosts of their own cannot be made here."""
    own = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *([] if os.getuid() == 0 else ["--map-root-user"])]
    if subprocess.run([*own, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("no namespaces of processes can be made here, so no hosts for an order", flush=True)
        return False
    say("hosts that obey orders which our key has signed")
    for words in (["openssl", "genpkey", "-algorithm", "ed25519", "-out", "orders.key"], ["openssl", "pkey", "-in", "orders.key", "-pubout", "-out", "orders.pub"],
                  ["chmod", "600", "orders.key"]):
        print("$ " + shlex.join(words), flush=True)
        subprocess.run(words, check=True)
    os.environ["KEVTRACE_FLEET"] = os.path.abspath("asker.conf")
    with open("asker.conf", "w") as file:
        file.write("sign-key orders.key\n")
    for host in HOSTS:
        with open(host + ".conf", "w") as file:
            file.write(f"trust orders.pub\nlabel role={host[:-1]}\n")
        os.mkdir(host + ".spool", 0o700)
        words = [["fleet", "obey", address, host + ".spool", "--as", host, "--every", "0.2"], ["fleet", "ship", address, host + ".spool", "--follow", "--every", "0.5", "--as", host]]
        for one in words:
            print("$ ./build/kevtrace " + shlex.join(one) + " &", flush=True)
        commands = " ".join(f"{shlex.join([KEVTRACE, *one])} >> {host}.log 2>&1 &" for one in words)
        service = subprocess.Popen([*own, "sh", "-c", f"{commands} exec /usr/bin/python3 -S -c {shlex.quote(SERVICE)}"], stdin=subprocess.PIPE,
                                   env={**os.environ, "KEVTRACE_FLEET": os.path.abspath(host + ".conf")})
        hosts.callback(service.wait)
        hosts.callback(service.stdin.close)
    end = time.monotonic() + 60
    while len(subprocess.run([KEVTRACE, "fleet", "hosts", address], stdout=subprocess.PIPE, text=True).stdout.splitlines()) <= len(HOSTS):
        if time.monotonic() > end:
            raise SystemExit("kev: error: the hosts do not obey")
        time.sleep(0.1)  # until all have shown that they are there
    kevtrace("fleet", "hosts", address)
    return True


if __name__ == "__main__":
    main()
