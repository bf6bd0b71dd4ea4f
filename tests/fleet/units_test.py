"""The systemd units that are installed: what they start does its work with the rights that they leave it. systemd runs nothing
here; its own check of the units is in tests/install."""
import configparser
import os
import shlex
import shutil
import signal
import subprocess
import time
import unittest

from kevtest import KEVTRACE, plain

from fleet_case import FleetCase

UNITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cmake/packaging/systemd")


class UnitsTest(FleetCase):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("a read-only view of the machine's files needs root")
        self.state = self.path("state")
        os.makedirs(self.state + "/kevtrace")

    def command(self, unit, **environment):
        """ExecStart's words, with what systemd puts in."""
        parsed = configparser.ConfigParser(interpolation=None, strict=False)
        parsed.optionxform = str
        parsed.read(os.path.join(UNITS, unit))
        service = parsed["Service"]
        self.assertEqual(service["EnvironmentFile"], "/etc/kevtrace/fleet.env")
        own = dict(word.split("=", 1) for word in shlex.split(service.get("Environment", "")))
        program, *words = service["ExecStart"].split()
        self.assertEqual(program, "kevtrace")
        for name, value in {**own, "ADDRESS": self.address, **environment}.items():
            words = [word.replace("${%s}" % name, value) for word in words]
        words = [word.replace("%S", self.state) for word in words]
        self.assertNotRegex(" ".join(words), r"[$%]")
        return [KEVTRACE, *words], service

    def confined(self, words, service):
        """Without capabilities, everything read-only but the folder of state: as the unit says."""
        self.assertEqual((service["CapabilityBoundingSet"], service["ProtectSystem"], service["NoNewPrivileges"]), ("", "strict", "yes"))
        script = f'mount --make-rprivate / && mount --bind "{self.state}" "{self.state}" && mount -o remount,bind,ro / && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", script, "sh", "setpriv", "--bounding-set=-all", "--no-new-privs", *words]

    def is_noted(self, wanted):
        """Whether all rows are there and the shipper has said so: one that is stopped in between notes nothing."""
        return self.rows() == wanted and all(one["holds"] and one["exact"] for one in self.balance())

    def test_ship(self):
        shutil.copy(self.recording, self.state + "/kevtrace/one.dat")
        words = self.confined(*self.command("kevtrace-ship.service"))
        shipper = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        self.addCleanup(shipper.stderr.close)
        self.addCleanup(shipper.kill)
        wanted = self.recorded(self.recording)
        deadline = time.monotonic() + 60
        while not self.is_noted(wanted) and time.monotonic() < deadline:
            time.sleep(0.05)
        shipper.send_signal(signal.SIGTERM)
        self.assertEqual(shipper.wait(60), 0, shipper.stderr.read())
        self.assertEqual(self.rows(), wanted)
        self.assertTrue(all(one["holds"] and one["exact"] for one in self.balance()))
        self.assertEqual(os.listdir(self.state + "/kevtrace"), ["one.dat"])

    def test_purge(self):
        self.assertEqual(plain(self.confined(*self.command("kevtrace-purge.service", KEEP_DAYS="3650")))[0], 0)
        words, _ = self.command("kevtrace-purge.service")
        self.assertEqual(words[-2:], ["--older-than", "30"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
