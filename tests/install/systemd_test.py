"""A host of a fleet, as docs/fleet.md sets one up: the packages in a clean Debian that systemd boots in a container, its units
enabled. It obeys a signed order, ships what it recorded with the rights that its unit leaves it, and stops when it is told to."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from clean_root import CleanRoot, own_release, packages, run

import clickhouse
from clickhouse import ClickHouse

BUILD = os.environ["KEVT_BUILD"]
KEVTRACE = os.path.join(BUILD, "bin/kevtrace")
PROGRAM = """import os, time
with open("/proc/self/comm", "w") as name: name.write("kvboot")
while True:
  os.close(os.open("/etc/passwd", 0))
  time.sleep(0.005)
"""
SERVICE = """[Service]
ExecStart=/usr/bin/python3 -S /srv/program.py
[Install]
WantedBy=multi-user.target
"""
SCRIPT = """target comm kvboot
p:opened libc:open64 path=+0(%di):string
  filter path ~ "/etc/p*"
"""
# systemd-nspawn keeps files of its own below /run, and wants memory there.
BOOT = ["unshare", "--mount", "sh", "-c", 'mount --make-rprivate / && mount -t tmpfs none /run && exec systemd-nspawn --quiet --register=no --keep-unit --console=pipe "$@"', "sh"]


def until(what, told, seconds=120):
    end = time.monotonic() + seconds
    while not (got := what()):
        if time.monotonic() > end:
            raise AssertionError("it did not come: " + told())
        time.sleep(0.1)  # until it is so; the end above is an error
    return got


class Booted(CleanRoot):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for program in ("systemd-nspawn", "openssl"):
            if run("sh", "-c", f"command -v {program}").returncode != 0:
                raise unittest.SkipTest(f"{program} is not there")
        cls.program = clickhouse.server_program()

    def write(self, path, text):
        os.makedirs(os.path.dirname(self.root + path), exist_ok=True)
        with open(self.root + path, "w", encoding="utf-8") as file:
            file.write(text)

    def checked(self, done, status=0):
        self.assertEqual(done.returncode, status, done.stdout[-2000:] + done.stderr[-2000:])
        return done.stdout

    def kevtrace(self, *words, status=0):
        """The asker's, on this machine."""
        return self.checked(run(KEVTRACE, "fleet", *words, env={**os.environ, "KEVTRACE_FLEET": self.folder + "/asker.conf"}), status)

    def make_asker(self):
        key = self.folder + "/orders.key"
        self.checked(run("openssl", "genpkey", "-algorithm", "ed25519", "-out", key))
        self.checked(run("openssl", "pkey", "-in", key, "-pubout", "-out", self.folder + "/orders.pub"))
        os.chmod(key, 0o600)
        with open(self.folder + "/asker.conf", "w") as file:
            file.write(f"sign-key {key}\n")
        with open(self.folder + "/opens.kev", "w") as file:
            file.write(SCRIPT)

    def install(self):
        self.make_root(own_release(), "--variant=apt", "--include=systemd,systemd-sysv,python3-minimal")
        wanted = [shutil.copy(path, self.root + "/tmp").removeprefix(self.root) for name, path in packages().items()
                  if name in ("kevtrace", "kevtrace-compiler", "kevtrace-fleet")]
        for words in (("update",), ("install", "--no-install-recommends", *wanted)):
            self.checked(self.inside("apt-get", "-q", "-y", "-o", "Acquire::Retries=5", *words))

    def configure(self):
        os.makedirs(self.root + "/etc/kevtrace", exist_ok=True)
        shutil.copy(self.folder + "/orders.pub", self.root + "/etc/kevtrace/orders.pub")
        self.write("/etc/kevtrace/fleet.conf", "label role=web\ntrust /etc/kevtrace/orders.pub\n")
        self.write("/etc/kevtrace/fleet.env", f"ADDRESS={self.address}\n")
        self.write("/etc/hostname", "web1\n")
        self.write("/srv/program.py", PROGRAM)
        self.write("/etc/systemd/system/program.service", SERVICE)
        self.checked(self.inside("systemctl", "enable", "program", "kevtrace-obey", "kevtrace-ship", "kevtrace-purge.timer"))

    def boot(self):
        tried = run(*BOOT, "-D", self.root, "true")
        if tried.returncode != 0:
            self.skipTest("no container can be made here: " + tried.stderr.strip())
        self.console = open(self.folder + "/console", "w+", encoding="utf-8", errors="replace")
        self.addCleanup(self.console.close)
        self.container = subprocess.Popen([*BOOT, "-D", self.root, "--boot"], stdin=subprocess.DEVNULL, stdout=self.console, stderr=self.console)
        self.first = None
        self.addCleanup(self.end)
        children = f"/proc/{self.container.pid}/task/{self.container.pid}/children"

        def first():
            with contextlib.suppress(OSError), open(children, encoding="ascii") as file:
                found = file.read().split()
                return found and os.path.basename(os.readlink(f"/proc/{found[0]}/exe")) == "systemd" and found[0]

        def has_booted():
            """systemd answers; what becomes of its units is another matter."""
            return self.within("systemctl", "is-system-running").stdout.strip() in ("starting", "running", "degraded")
        try:
            self.first = until(lambda: first() or self.container.poll() is not None, self.told)
            until(lambda: self.container.poll() is not None or has_booted(), self.told)
        except AssertionError as error:
            self.skipTest(f"systemd does not boot in a container here: {error}")
        if self.container.poll() is not None:
            self.skipTest("systemd does not boot in a container here: " + self.told())

    def end(self):
        if self.container.poll() is None:
            if self.first is not True and self.first:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(self.first), signal.SIGKILL)
            self.container.kill()
            self.container.wait()

    def told(self):
        self.console.seek(0)
        return self.console.read()[-3000:]

    def within(self, *words):
        return run("nsenter", "-t", self.first, "-a", *words)

    def state(self, unit, name):
        return self.within("systemctl", "show", "-P", name, unit).stdout.strip()

    def until_active(self, *units):
        for unit in units:
            until(lambda one=unit: self.state(one, "ActiveState") == "active",
                  lambda one=unit: one + ": " + self.within("journalctl", "-u", one, "--no-pager").stdout + self.told())

    def recorded(self):
        """Of the one event; the balance holds."""
        lines = json.loads(self.kevtrace("check", self.address, "-f", "json"))
        self.assertTrue(all(one["holds"] and one["exact"] for one in lines), lines)
        return sum(one["recorded"] for one in lines)

    def order(self, *words):
        return json.loads(self.kevtrace("run", self.address, self.folder + "/opens.kev", "--on", "role=web", "-f", "json", *words))

    def test_a_host_of_a_fleet(self):
        if self.program is None:
            self.skipTest("there is no ClickHouse server")
        server = ClickHouse(self.program, self.folder + "/server")
        self.addCleanup(server.stop)
        self.address = server.address("booted")
        self.make_asker()
        self.kevtrace("init", self.address)
        self.install()
        self.configure()
        self.boot()
        self.until_active("kevtrace-obey", "kevtrace-ship", "kevtrace-purge.timer", "program")
        until(lambda: "web1" in self.kevtrace("hosts", self.address), self.told)

        answer, = self.order("-d", "2")
        self.assertEqual((answer["host"], answer["state"]), ("web1", "ended"), answer)
        self.assertGreater(answer["recorded"], 10)
        until(lambda: self.recorded() == answer["recorded"], lambda: self.kevtrace("check", self.address))

        # The shipper has no capability, and may write its own folder alone.
        pid = self.state("kevtrace-ship", "MainPID")
        status = self.within("cat", f"/proc/{pid}/status").stdout
        self.assertEqual(re.findall(r"Cap(?:Prm|Eff|Bnd):\s+(\w+)", status), ["0" * 16] * 3)
        self.assertIn("NoNewPrivs:\t1", status)
        mounts = self.within("cat", f"/proc/{pid}/mounts").stdout
        self.assertRegex(mounts, r"(?m)^\S+ / \S+ ro,")
        self.assertRegex(mounts, r"(?m)^\S+ /var/lib/kevtrace \S+ rw,")

        # Killed, it is started again, and ships what was recorded meanwhile.
        self.checked(self.within("systemctl", "kill", "-s", "KILL", "kevtrace-ship"))
        second, = self.order("-d", "1")
        both = answer["recorded"] + second["recorded"]
        until(lambda: self.recorded() == both, lambda: self.kevtrace("check", self.address))
        self.assertEqual(self.state("kevtrace-ship", "NRestarts"), "1")

        self.checked(self.within("systemctl", "start", "kevtrace-purge"))
        self.assertEqual(self.state("kevtrace-purge", "Result"), "success")
        self.assertEqual(self.recorded(), both)

        # Told to stop while it traces, it says what was counted until then.
        asking = subprocess.Popen([KEVTRACE, "fleet", "run", self.address, self.folder + "/opens.kev", "--on", "role=web", "-d", "600", "-f", "json"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, "KEVTRACE_FLEET": self.folder + "/asker.conf"})
        self.addCleanup(asking.stdout.close)
        self.addCleanup(asking.kill)
        until(lambda: "running" in server.ask("SELECT state FROM booted.kevt_answers FINAL FORMAT TSV").split(), self.told)
        self.checked(self.within("systemctl", "stop", "kevtrace-obey"))
        self.assertEqual(self.state("kevtrace-obey", "Result"), "success")
        third, = json.loads(asking.communicate(timeout=60)[0])
        self.assertEqual((third["state"], third["words"]), ("ended", "stopped"), third)
        until(lambda: self.recorded() == both + third["recorded"], lambda: self.kevtrace("check", self.address))

        self.within("systemctl", "poweroff")
        self.assertEqual(self.container.wait(60), 0, self.told())


if __name__ == "__main__":
    unittest.main(verbosity=2)
