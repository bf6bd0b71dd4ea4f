"""The packages in a clean Debian root: the first probe from /usr/bin, pages offline, and nothing left when they are removed.

Needs root, mmdebstrap and Debian's mirror; skipped, with a word, where one of them is missing. The root is a folder; /proc is mounted in
it in a mount namespace of its own.
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

BUILD, CPACK = os.environ["KEVT_BUILD"], os.environ["KEVT_CPACK"]
RELEASE = "bookworm"
PROGRAM = ("python3", "-c", 'open("/etc/hostname")')
# What apt and ldconfig keep for themselves.
KEPT = re.compile(r"(var/(cache|log|lib/(apt|dpkg))|etc/ld\.so\.cache|root|tmp)(/|$)")


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


class CleanRoot(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a root")
        if not shutil.which("mmdebstrap"):
            self.skipTest("mmdebstrap is not there")
        may = run("unshare", "--mount", "--pid", "--fork", "true")
        if may.returncode != 0:
            self.skipTest(f"namespaces are not allowed here: {may.stderr.strip()}")
        self.mirror = mirror()
        try:
            urllib.request.urlopen(f"{self.mirror}/dists/{RELEASE}/Release", timeout=20).close()
        except (OSError, ValueError, urllib.error.URLError) as error:
            self.skipTest(f"Debian's mirror cannot be reached: {error}")
        self.folder = tempfile.mkdtemp(prefix="kevt-root-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = os.path.join(self.folder, "root")

    def inside(self, *words):
        return run("unshare", "--mount", "--pid", "--fork", f"--mount-proc={self.root}/proc", "chroot", self.root, *words,
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"})

    def apt(self, *words):
        done = self.inside("apt-get", "-q", "-y", "-o", "Acquire::Retries=5", *words)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])

    def files(self):
        found = set()
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if os.path.relpath(os.path.join(folder, name), self.root) not in ("proc", "sys", "dev")]
            found.update(os.path.relpath(os.path.join(folder, name), self.root) for name in names)
        return {name for name in found if not KEPT.match(name) and not name.endswith((".pyc", ".pyo"))}

    def test_install_probe_and_remove(self):
        done = run("mmdebstrap", "--variant=apt", "--aptopt=Acquire::Retries 5", "--include=python3-minimal", RELEASE, self.root, self.mirror)
        if done.returncode != 0 and re.search("Operation not permitted|Permission denied|Failed to fetch|Could not resolve|timed out", done.stderr):
            self.skipTest("a root cannot be made here: " + done.stderr.strip().splitlines()[-1])
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        packages = os.path.join(self.root, "tmp")
        done = run(CPACK, "-B", packages, cwd=BUILD)
        self.assertEqual(done.returncode, 0, done.stderr)
        made = {os.path.basename(path).split("_")[0]: "/tmp/" + os.path.basename(path) for path in glob.glob(packages + "/*.deb")}
        self.apt("update")
        before = self.files()

        # The command alone: no compiler, and it says so.
        self.apt("install", "--no-install-recommends", made["kevtrace"])
        refused = self.inside("kevtrace", "run", "-e", "p:open libc:open64", "--", "true")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("libkevt-llvm.so", refused.stderr)
        self.assertIn("package kevtrace-doc", self.inside("kevtrace", "help").stdout)

        self.apt("install", "--no-install-recommends", made["kevtrace-compiler"], made["kevtrace-doc"])
        done = self.inside("/usr/bin/kevtrace", "run", "-e", "p:open libc:open64 path=+0(%di):string", "--", *PROGRAM)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('path="/etc/hostname"', done.stdout)
        self.assertRegex(done.stderr, r"open: hits \d+ = recorded \d+ ")
        with open(os.path.join(self.root, "usr/share/doc/kevtrace/docs/language.md"), encoding="utf-8") as file:
            self.assertEqual(self.inside("kevtrace", "help", "language").stdout, file.read())
        self.assertIn("kevtrace run [OPTIONS]", self.inside("kevtrace", "help", "run").stdout)

        self.apt("purge", "--autoremove", *(name for name in made if name in ("kevtrace", "kevtrace-compiler", "kevtrace-doc")))
        self.assertEqual(self.files() - before, set())


if __name__ == "__main__":
    unittest.main(verbosity=2)
