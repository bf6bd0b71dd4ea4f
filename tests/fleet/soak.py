"""./kev soak --fleet: hosts that record and ship while shippers, tracers and the server are killed, connections cut, clocks set
and disks full, at random with a printed seed. At the end every hit of every host must be accounted for, and no record be there
twice.

It runs in a mount namespace of its own: every eighth host has a small disk. Clocks are those of its processes alone: a library
before libc's adds to what they read.

    KEVTRACE=… python3 soak.py [--seconds N] [--hosts N] [--seed N]
"""
import argparse
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from clickhouse import ClickHouse, Proxy, server_program
from set_clock import SetClock

KEVTRACE = os.environ["KEVTRACE"]
# What it does in a second is shared out among the hosts: argv[2].
PROGRAM = """import os, sys, time
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    for i in range(40): os.close(os.open("/etc/passwd", 0))
    time.sleep(float(sys.argv[2]))
"""
SMALL_DISK_KB, LARGEST_DISK_KB = 1500, 1 << 20
EVENTS = ["-e", "p:opened libc:open64 path=+0(%di):string", "-e", "r:got libc:open64 $retval:s32"]


def kevtrace(*words, **options):
    return subprocess.run([KEVTRACE, *words], capture_output=True, text=True, **options)


class Host:
    """Records one file after the other into its spool, and ships it. `hosts`: so many share the machine."""

    def __init__(self, folder, number, address, hosts, has_small_disk):
        self.name, self.address = f"host{number}", address
        self.spool, self.clock = os.path.join(folder, self.name), SetClock(folder, self.name)
        self.share = max(1, hosts / 12)
        os.mkdir(self.spool)
        self.disk_kb = SMALL_DISK_KB if has_small_disk else None
        if has_small_disk:
            self.mount("mount", "-t", "tmpfs", "-o", f"size={self.disk_kb}k", "none", self.spool)
        self.tracer = self.shipper = None
        self.runs = self.full_disks = 0

    @staticmethod
    def mount(*words):
        subprocess.run(words, check=True)

    def step_clock(self, random_):
        """By milliseconds or by days, on or back."""
        self.clock.set(int(random_.choice((-1, 1)) * 10 ** random_.uniform(6, 14)))
        return True

    def give_room(self):
        """Somebody sees that the disk is full. What is there stays."""
        self.full_disks += 1
        self.disk_kb = min(self.disk_kb + SMALL_DISK_KB, LARGEST_DISK_KB)
        self.mount("mount", "-o", f"remount,size={self.disk_kb}k", self.spool)

    def go_on(self, random_, left):
        nothing = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": self.clock.env}
        if self.tracer is None or self.tracer.poll() is not None:
            if self.disk_kb and self.tracer and self.tracer.returncode == 1:
                self.give_room()
            self.runs += 1
            seconds = min(random_.uniform(1, 8) * self.share, left)
            self.tracer = subprocess.Popen([KEVTRACE, "run", "-q", "-o", f"{self.spool}/{self.runs}.dat", *EVENTS, "--", "/usr/bin/python3", "-S", "-c",
                                            PROGRAM, str(seconds), str(0.01 * self.share)], **nothing)
        if self.shipper is None or self.shipper.poll() is not None:
            self.shipper = subprocess.Popen([KEVTRACE, "fleet", "ship", self.address, self.spool, "--follow", "--every", str(0.3 * self.share), "--as", self.name],
                                            **nothing)

    def kill_tracer(self):
        """The process that records: its copy finishes the trace (FILE.rest.dat)."""
        try:
            with open(f"/proc/{self.tracer.pid}/task/{self.tracer.pid}/children") as children:
                os.kill(int(children.read().split()[0]), signal.SIGKILL)
        except (OSError, IndexError):
            return False
        return True

    def kill_shipper(self):
        self.shipper.kill()
        self.shipper.wait()
        return True

    def stop(self):
        self.kill_shipper()
        self.tracer.wait(300)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=120)
    options.add_argument("--hosts", type=int, default=12)
    options.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(31))
    options = options.parse_args()
    if not os.environ.get("SOAK_NAMESPACE"):
        os.execvpe("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, "-B", *sys.argv], {**os.environ, "SOAK_NAMESPACE": "1"})
    print(f"fleet soak: {options.hosts} hosts, {options.seconds:.0f} s, --seed {options.seed}", flush=True)
    program = server_program()
    if program is None:
        sys.exit("there is no ClickHouse server")
    folder = tempfile.mkdtemp(prefix="kevtrace-fleet-")
    server = ClickHouse(program, os.path.join(folder, "server"))
    try:
        wrong = soak(server, folder, options)
    finally:
        server.stop()
    if wrong:
        sys.exit("the files stay in " + folder + ", but for those on small disks")
    for number in range(7, options.hosts, 8):
        subprocess.run(["umount", os.path.join(folder, f"host{number}")], check=True)
    shutil.rmtree(folder)


def soak(server, folder, options):
    chance = random.Random(options.seed)
    calm = [False]
    done = {"cut connections": 0, "answers that never came": 0, "killed shippers": 0, "killed tracers": 0, "killed servers": 0,
            "clocks that were set": 0}

    def rule(head):
        if calm[0] or "INSERT" not in head:
            return None
        drawn = chance.random()
        if drawn < 0.05:
            done["cut connections"] += 1
            return "half"
        if drawn < 0.10:
            done["answers that never came"] += 1
            return "no answer"
        return None

    proxy = Proxy(server.port, rule)
    address = proxy.address()
    made = kevtrace("fleet", "init", server.address())
    if made.returncode:
        return made.stderr
    hosts = [Host(folder, n, address, options.hosts, has_small_disk=n % 8 == 7) for n in range(options.hosts)]
    end = time.monotonic() + options.seconds
    while (left := end - time.monotonic()) > 0:
        for host in hosts:
            host.go_on(chance, left)
        time.sleep(chance.uniform(0.05, 0.5))
        drawn, host = chance.random(), chance.choice(hosts)
        if drawn < 0.4:
            done["killed shippers"] += host.kill_shipper()
        elif drawn < 0.6:
            done["killed tracers"] += host.kill_tracer()
        elif drawn < 0.8:
            done["clocks that were set"] += host.step_clock(chance)
        elif drawn < 0.84:
            server.kill()
            time.sleep(chance.uniform(0, 2))
            server.start()
            done["killed servers"] += 1
    for host in hosts:
        host.stop()
    calm[0] = True
    return settle(server, hosts, done)


def settle(server, hosts, done):
    """Ships what is left, and adds up."""
    wrong = []
    for host in hosts:
        for _ in range(20):  # a server may still be at what a killed shipper has asked: each try waits 5 s for it
            shipped = kevtrace("fleet", "ship", server.address(), host.spool, "--as", host.name)
            if shipped.returncode == 0:
                break
        else:
            wrong.append(f"{host.name}: {shipped.stderr}")
    done["full disks"] = sum(host.full_disks for host in hosts)
    print(", ".join(f"{count} {what}" for what, count in done.items()), flush=True)
    checked = kevtrace("fleet", "check", server.address(), "-f", "json")
    balance = json.loads(checked.stdout or "[]")
    wrong += [f"does not hold: {one}" for one in balance if not one["holds"] or one["twice"]]
    if checked.returncode:
        wrong.append(checked.stderr)
    rows = sum(one["rows"] for one in balance)
    files = [file for host in hosts for file in glob.glob(host.spool + "/*.dat")]
    records = sum(len(kevtrace("report", file, "--columns", "time", errors="surrogateescape").stdout.splitlines()) for file in files)
    exact = sum(one["exact"] for one in balance)
    print(f"{len(files)} recordings of {len(hosts)} hosts: rows {rows}, records in the files {records}; {exact} of {len(balance)} balances are exact to the last hit")
    if rows != records or not rows:
        wrong.append("rows and records differ")
    shown = kevtrace("fleet", "rates", server.address(), "-f", "json")
    rates = json.loads(shown.stdout or "{}")
    if shown.returncode:
        wrong.append(shown.stderr)
    lost = sum(one["spool_lost"] for one in balance)
    print(f"the overview has {rates.get('records')} records; spool_lost {lost}")
    if rates.get("records") != rows:
        wrong.append("the overview is not of all rows")
    for one in wrong:
        print(one)
    return 1 if wrong else 0


if __name__ == "__main__":
    main()
