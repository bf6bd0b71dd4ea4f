"""A clean Debian in a folder, for tests of what is installed in it or unpacked there.

Needs root, mmdebstrap and Debian's mirror; a test is skipped, with a word, where one of them is missing. /proc is mounted in the
folder in a mount namespace of its own.
"""
import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, timeout=300, **options)


def mirror():
    """Where this machine gets its packages."""
    for path in ["/etc/apt/sources.list", *sorted(glob.glob("/etc/apt/sources.list.d/*"))]:
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    found = re.search(r"^(?:URIs:|deb(?: \[.*?\])?) (\S*/debian)/?\s", line + " ")
                    if found:
                        return found[1]
    return ""


RELEASES = ("bookworm", "trixie")  # older ones first


def packages():
    """Paths of the packages that make_packages.py has made, by their names. SkipTest: there are none."""
    made = glob.glob(os.path.join(os.environ["KEVT_PACKAGES"], "*.deb"))
    if not made:
        raise unittest.SkipTest("no packages were made here")
    return {os.path.basename(path).split("_")[0]: path for path in made}


def own_release():
    """Debian's, of this machine: packages that are built here are for it."""
    with open("/etc/os-release", encoding="utf-8") as file:
        found = re.search(r"^VERSION_CODENAME=(\w+)$", file.read(), re.M)
    return found[1] if found else ""


class CleanRoot(unittest.TestCase):
    """`make_root` makes one at `self.root`; `inside` runs a command there."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root can make a root")
        if not shutil.which("mmdebstrap"):
            raise unittest.SkipTest("mmdebstrap is not there")
        may = run("unshare", "--mount", "--pid", "--fork", "true")
        if may.returncode != 0:
            raise unittest.SkipTest(f"namespaces are not allowed here: {may.stderr.strip()}")

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kevt-root-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = os.path.join(self.folder, "root")

    def make_root(self, release, *words):
        """`words` are mmdebstrap's."""
        own = own_release()
        if own not in RELEASES or RELEASES.index(own) > RELEASES.index(release):
            self.skipTest(f"what is built on {own or 'this system'} is not for Debian {release}")
        url = mirror()
        try:
            urllib.request.urlopen(f"{url}/dists/{release}/Release", timeout=20).close()
        except (OSError, ValueError, urllib.error.URLError) as error:
            self.skipTest(f"Debian's mirror cannot be reached: {error}")
        done = run("mmdebstrap", "--aptopt=Acquire::Retries 5", *words, release, self.root, url)
        if done.returncode != 0 and re.search("Operation not permitted|Permission denied|Failed to fetch|Could not resolve|timed out|NO_PUBKEY", done.stderr):
            self.skipTest("a root cannot be made here: " + done.stderr.strip().splitlines()[-1])
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])

    def inside(self, *words, **environment):
        return run("unshare", "--mount", "--pid", "--fork", f"--mount-proc={self.root}/proc", "chroot", self.root, *words,
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C", **environment})
