"""The archive of `./kev tar`: unpacked in a clean Debian 12 and 13 it traces, asks and draws, with no library of theirs but glibc."""
import glob
import http.server
import os
import re
import shutil
import ssl
import subprocess
import tempfile
import threading

from clean_root import CleanRoot, run
from shares import main

BUILD = os.environ["KEVT_BUILD"]
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PROGRAM = ("python3", "-c", 'open("/etc/hostname")')
OF_GLIBC = re.compile(r"(ld-linux-x86-64|lib(c|m|mvec|dl|pthread|rt|resolv|util|anl|nsl))\.so")
LDD_LINE = re.compile(r"^\s+(\S+) => (.+) \(0x", re.M)


class Refuses(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_error(403)

    def log_message(self, *_):
        pass


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


class Archive(CleanRoot):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.made = tempfile.mkdtemp(prefix="kevt-tar-")
        cls.addClassCleanup(shutil.rmtree, cls.made)
        done = subprocess.run([os.path.join(ROOT, "scripts/tar"), "--build", BUILD, "-o", cls.made], capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.archive, = glob.glob(cls.made + "/*.tar.gz")

    def unpack(self, folder):
        """Where in the root its one folder lies."""
        at = self.root + folder
        os.makedirs(at)
        self.assertEqual(run("tar", "-C", at, "-xzf", self.archive).returncode, 0)
        name, = os.listdir(at)
        self.assertEqual(os.path.basename(self.archive), name + ".tar.gz")
        return f"{folder}/{name}"

    def check_libraries(self, top):
        """Each file finds all of its libraries, in the archive but for glibc's."""
        files = [os.path.join(folder, name) for folder, _, names in os.walk(self.root + top) for name in names]
        elves = [path.removeprefix(self.root) for path in files if is_elf(path)]
        self.assertGreater(len(elves), 20)
        told = self.inside("ldd", *elves)
        self.assertNotIn("not found", told.stdout)
        for name, path in LDD_LINE.findall(told.stdout):
            if not OF_GLIBC.match(name):
                self.assertTrue(os.path.normpath(path).startswith(top + "/"), f"{name} is {path}")
        # Each library's licence is there, too.
        with open(os.path.join(self.root + top, "share/doc/kevtrace/bundled/packages.txt"), encoding="utf-8") as file:
            packages = {line.split()[0] for line in file}
        self.assertLessEqual({"libllvm19", "libstdc++6"}, packages)
        licences = os.path.join(self.root + top, "share/doc/kevtrace/bundled")
        self.assertLessEqual(packages, set(os.listdir(licences)))
        for package in packages:
            with open(os.path.join(licences, package), encoding="utf-8", errors="replace") as file:
                for named in re.findall(r"/usr/share/common-licenses/([\w.+-]*\w)", file.read()):
                    self.assertTrue(os.path.isfile(os.path.join(licences, "common-licenses", named)), f"{package}: {named}")

    def check_use(self, top):
        kevtrace = top + "/bin/kevtrace"
        done = self.inside(kevtrace, "run", "-o", "/tmp/open.dat", "-e", "p:open libc:open64 path=+0(%di):string", "--", *PROGRAM)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"open: hits \d+ = recorded \d+ ")
        self.assertIn('path="/etc/hostname"', self.inside(kevtrace, "report", "/tmp/open.dat").stdout)
        self.assertIn("# Event scripts", self.inside(kevtrace, "help", "scripts").stdout)
        # The part that a fleet needs is loaded, and asks.
        told = self.inside(kevtrace, "fleet", "status", "ch+http://127.0.0.1:9/kev").stderr
        self.assertIn("127.0.0.1:9", told)
        self.assertNotIn("libkevt-fleet", told)
        if "kevtrace-gui" in os.listdir(os.path.join(self.root + top, "bin")):
            drawn = self.inside(top + "/bin/kevtrace-gui", "/tmp/open.dat", "--screenshot", "/tmp/window.png", "--platform", "offscreen")
            self.assertEqual(drawn.returncode, 0, drawn.stderr)
            with open(os.path.join(self.root, "tmp/window.png"), "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def check_certificates(self, top):
        """Where other Linux keeps the list of those who sign certificates, the archive finds it."""
        key, certificate = self.folder + "/key.pem", self.folder + "/certificate.pem"
        made = run("openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2", "-subj", "/CN=here", "-addext",
                   "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate)
        self.assertEqual(made.returncode, 0, made.stderr)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refuses)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        ask = (top + "/bin/kevtrace", "fleet", "status", f"ch://127.0.0.1:{server.server_port}/kev")
        self.assertNotIn("says (403)", self.inside(*ask).stderr)
        place = self.root + "/etc/pki/tls/certs/ca-bundle.crt"
        os.makedirs(os.path.dirname(place))
        shutil.copy(certificate, place)
        self.assertIn("says (403)", self.inside(*ask).stderr)
        os.remove(place)

    def check_release(self, release):
        self.make_root(release, "--variant=essential", "--include=python3-minimal")
        for folder in ("/opt/a folder", "/opt/b"):
            top = self.unpack(folder)
            self.check_libraries(top)
            self.check_use(top)
            if folder == "/opt/b":
                self.check_certificates(top)
            shutil.rmtree(self.root + folder)

    def test_debian_12(self):
        self.check_release("bookworm")

    def test_debian_13(self):
        self.check_release("trixie")


if __name__ == "__main__":
    main()
