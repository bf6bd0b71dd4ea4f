"""The packages in a clean Debian root: the first probe from /usr/bin, pages offline, and nothing left when they are removed."""
import os
import re
import shutil
import unittest

from clean_root import CleanRoot, own_release, packages

PROGRAM = ("python3", "-c", 'open("/etc/hostname")')
# What apt and ldconfig keep for themselves.
KEPT = re.compile(r"(var/(cache|log|lib/(apt|dpkg))|etc/ld\.so\.cache|root|tmp)(/|$)")


class Packages(CleanRoot):
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
        self.make_root(own_release(), "--variant=apt", "--include=python3-minimal")
        made = {name: shutil.copy(path, self.root + "/tmp").removeprefix(self.root) for name, path in packages().items()}
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
