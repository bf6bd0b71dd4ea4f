"""kevtrace-gui as a command: what it says and draws without a display, and its window on a Wayland compositor."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from attached import wait_until
from kevtest import KEVTRACE, TIMEOUT_S, main

GUI = os.environ.get("KEVTRACE_GUI", "")
PNG = b"\x89PNG\r\n\x1a\n"
WESTON = shutil.which("weston")


@unittest.skipUnless(GUI, "there is no window")
class GuiCommand(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kevt-gui-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")}
        self.environment["XDG_RUNTIME_DIR"] = self.folder
        self.picture = self.path("window.png")

    def path(self, name):
        return os.path.join(self.folder, name)

    def gui(self, *words, **more):
        return subprocess.run([GUI, *words], capture_output=True, text=True, timeout=TIMEOUT_S, env={**self.environment, **more})

    def recording(self):
        path = self.path("open.dat")
        subprocess.run([KEVTRACE, "run", "-q", "-o", path, "-e", "p:open libc:open64 path=+0(%di):string", "--", "/usr/bin/python3", "-S", "-c", ""],
                       check=True, capture_output=True, timeout=TIMEOUT_S)
        return path

    def assert_drawn(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.picture, "rb") as file:
            self.assertEqual(file.read(8), PNG)

    def test_help_and_version_need_no_display(self):
        for words in (("--help",), ("-h",), ("--help-all",)):
            done = self.gui(*words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("--screenshot <FILE>", done.stdout)
        self.assertRegex(self.gui("--version").stdout, r"^kevtrace-gui \d+\.\d+")

    def test_the_manual_page_has_what_help_has(self):
        done = self.gui("--manual")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        options = set(re.findall(r"(?m)^ +(?:-\w, )?--([\w-]+)", self.gui("--help").stdout)) - {"help", "help-all", "version"}
        self.assertGreater(len(options), 20)
        for option in options:
            self.assertIn("\\fB\\-\\-" + option.replace("-", "\\-") + "\\fR", done.stdout)
        if shutil.which("mandoc"):
            said = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=done.stdout, capture_output=True, text=True, timeout=TIMEOUT_S)
            self.assertEqual(said.stdout, "")

    def test_a_window_needs_one(self):
        for words in ((), ("--", "/bin/echo", "--help"), ("--theme", "dark")):
            done = self.gui(*words)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, "^kevtrace-gui: no display: neither DISPLAY nor WAYLAND_DISPLAY is set; .*\n$")

    def test_a_picture_needs_none(self):
        self.assert_drawn(self.gui(self.recording(), "--screenshot", self.picture))
        os.remove(self.picture)
        self.assert_drawn(self.gui(f"--screenshot={self.picture}"))

    def test_memory_for_records_is_a_number_and_may_be_none(self):
        self.assert_drawn(self.gui("--memory", "0", "--screenshot", self.picture, self.recording()))
        for wrong in ("much", "-1", "99999999"):
            done = self.gui("--memory", wrong, "--screenshot", self.picture)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"--memory: a number of megabytes, not {wrong}", done.stderr)

    @unittest.skipUnless(WESTON, "weston is not installed")
    def test_a_window_on_wayland(self):
        version = int(re.search(r"(\d+)\.", subprocess.run([WESTON, "--version"], capture_output=True, text=True).stdout)[1])
        with open(self.path("weston.log"), "wb") as log:
            weston = subprocess.Popen([WESTON, "--backend=" + ("headless-backend.so" if version < 12 else "headless"), "--socket=kevt", "--idle-time=0"],
                                      env=self.environment, stdout=log, stderr=log, start_new_session=True)
        self.addCleanup(weston.wait)
        self.addCleanup(os.killpg, weston.pid, signal.SIGKILL)
        wait_until(lambda: os.path.exists(self.path("kevt")), "weston listens")
        done = self.gui(self.recording(), "--screenshot", self.picture, WAYLAND_DISPLAY="kevt", WAYLAND_DEBUG="1")
        self.assert_drawn(done)
        self.assertRegex(done.stderr, r"xdg_toplevel[@#]\d+\.set_title\(\"open\.dat")
        self.assertRegex(done.stderr, r"wl_surface[@#]\d+\.commit\(\)")


if __name__ == "__main__":
    main()
