"""What is installed works where it lies, wherever that is: under DESTDIR, moved, and unpacked from the packages."""
import glob
import gzip
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import clean_root

BUILD, CMAKE = os.environ["KEVT_BUILD"], os.environ["KEVT_CMAKE"]
PROBE = ("-e", "p:open libc:open64 path=+0(%di):string", "--", "python3", "-c", 'open("/etc/hostname")')
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
CLEAN = {"PATH": "/usr/bin:/bin"}


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, timeout=200, **options)


def files_of(root):
    return {os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names}


class Installed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def install(self, *words, **environment):
        done = run(CMAKE, "--install", BUILD, *words, env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)

    def check_first_probe(self, kevtrace):
        done = run(kevtrace, "run", *PROBE, env=CLEAN)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('path="/etc/hostname"', done.stdout)

    def test_under_destdir_and_moved(self):
        self.install("--prefix", "/usr", DESTDIR=self.folder)
        moved = os.path.join(self.folder, "anywhere")
        os.rename(os.path.join(self.folder, "usr"), moved)
        kevtrace = os.path.join(moved, "bin/kevtrace")
        self.check_first_probe(kevtrace)
        told = run("ldd", kevtrace, os.path.join(moved, "lib/kevtrace/libkevt-llvm.so")).stdout
        self.assertNotIn("not found", told)
        self.assertNotIn(BUILD, told + run("readelf", "-d", kevtrace).stdout)

    def test_without_the_compiler_compiled_scripts_run(self):
        self.install("--prefix", self.folder, "--component", "core")
        kevtrace = os.path.join(self.folder, "bin/kevtrace")
        script = os.path.join(self.folder, "open.kev")
        with open(script, "w") as file:
            file.write(PROBE[1] + "\n")
        made = run(os.path.join(BUILD, "bin/kevtrace"), "compile", script, "-o", script + "o", "--", "python3")
        self.assertEqual(made.returncode, 0, made.stderr)
        done = run(kevtrace, "run", script + "o", *PROBE[2:], env=CLEAN)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('path="/etc/hostname"', done.stdout)
        refused = run(kevtrace, "run", *PROBE, env=CLEAN)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("libkevt-llvm.so", refused.stderr)

    def test_the_library_is_found_by_compilers_and_python(self):
        """Under DESTDIR and moved: by pkg-config, by the module's own place."""
        self.install("--prefix", "/usr", DESTDIR=self.folder)
        moved = os.path.join(self.folder, "anywhere")
        os.rename(os.path.join(self.folder, "usr"), moved)
        pkgconfig = os.path.dirname(glob.glob(os.path.join(moved, "**/kevtrace.pc"), recursive=True)[0])
        words = run("pkg-config", "--cflags", "--libs", "kevtrace", env={**CLEAN, "PKG_CONFIG_PATH": pkgconfig, "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1"}).stdout.split()
        examples = os.path.join(moved, "share/doc/kevtrace/examples/library")
        program = os.path.join(self.folder, "print_records")
        made = run("cc", os.path.join(examples, "print_records.c"), *words, f"-Wl,-rpath,{os.path.dirname(pkgconfig)}", "-o", program)
        self.assertEqual(made.returncode, 0, made.stderr)
        done = run(program, PROBE[1], *PROBE[3:], env=CLEAN)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('path="/etc/hostname"', done.stdout)
        trace = f"import kevtrace\nfor r in kevtrace.run({PROBE[1]!r}, command={list(PROBE[3:])!r}): print(r.path)"
        done = run("/usr/bin/python3", "-c", trace, env={**CLEAN, "PYTHONPATH": os.path.join(moved, "lib/python3/dist-packages")})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("/etc/hostname", done.stdout.splitlines())

    def test_a_wheel(self):
        if run("/usr/bin/python3", "-c", "import setuptools, wheel, pip").returncode:
            self.skipTest("pip, setuptools or wheel is not here")
        source = shutil.copytree(os.path.join(ROOT, "library/python"), os.path.join(self.folder, "source"))
        made = run("/usr/bin/python3", "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", self.folder, source)
        self.assertEqual(made.returncode, 0, made.stderr)
        wheel, = glob.glob(os.path.join(self.folder, "*.whl"))
        done = run("/usr/bin/python3", "-c", "import kevtrace; print(kevtrace.version())",
                   env={**CLEAN, "PYTHONPATH": wheel, "KEVTRACE_LIBRARY": os.path.join(BUILD, "lib/libkevtrace.so.0")})
        self.assertRegex(done.stdout, r"^\d+\.\d+\.\d+\n$", done.stderr)
        self.assertIn(f"kevtrace-{done.stdout.strip()}-", os.path.basename(wheel), "pyproject.toml has the library's version")

    def test_manual_pages_and_completions(self):
        self.install("--prefix", self.folder, "--component", "core")
        pages = glob.glob(os.path.join(self.folder, "share/man/man1/*.1.gz"))
        with gzip.open(os.path.join(self.folder, "share/man/man1/kevtrace.1.gz"), "rt") as file:
            verbs = set(re.findall(r"kevtrace\\-([a-z]+)\\fR\(1\)", file.read()))
        self.assertEqual({os.path.basename(page) for page in pages}, {f"kevtrace-{verb}.1.gz" for verb in verbs} | {"kevtrace.1.gz"})
        said = run(os.path.join(self.folder, "bin/kevtrace"), "--help").stdout
        for verb in verbs:
            self.assertRegex(said, rf"(?m)^  {verb} ")
        completion = os.path.join(self.folder, "share/bash-completion/completions/kevtrace")
        for words, expected in ((("kevtrace", "mou"), ["mount"]), (("kevtrace", "run", "--follow"), ["--follow-forks"]),
                                (("kevtrace", "list", "--us"), ["--usdt"])):
            line = " ".join(words)
            script = (f'source "{completion}"; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; COMP_LINE="{line}"; '
                      f'COMP_POINT={len(line)}; _kevtrace "{self.folder}/bin/kevtrace"; printf "%s\\n" "${{COMPREPLY[@]}}"')
            done = run("bash", "-c", script)
            self.assertEqual(done.stdout.split(), expected, done.stderr)
        if shutil.which("mandoc"):
            self.assertEqual(run("gunzip", *pages).returncode, 0)
            pages = [page.removesuffix(".gz") for page in pages]
            self.assertEqual(run("mandoc", "-T", "lint", "-W", "warning", *pages).stdout, "")

    def test_units(self):
        """By systemd's own check, beside the units of the machine."""
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not there")
        self.install("--prefix", "/usr", "--component", "fleet", DESTDIR=self.folder)
        self.install("--prefix", "/usr", "--component", "core", DESTDIR=self.folder)
        units = os.path.join(self.folder, "usr/lib/systemd/system")
        names = os.listdir(units)
        self.assertEqual(sorted(names), ["kevtrace-obey.service", "kevtrace-purge.service", "kevtrace-purge.timer", "kevtrace-ship.service"])
        shutil.copytree("/lib/systemd/system", units, symlinks=True, dirs_exist_ok=True)
        told = run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", f"--root={self.folder}", *names)
        self.assertEqual((told.returncode, told.stdout + told.stderr), (0, ""))

    def test_packages(self):
        packages = clean_root.packages()
        self.assertLessEqual({"kevtrace", "kevtrace-compiler", "kevtrace-dkms", "kevtrace-doc", "libkevtrace0", "libkevtrace-dev", "python3-kevtrace"}, set(packages))
        self.assertNotIn("llvm", run("dpkg-deb", "-f", packages["kevtrace"], "Depends").stdout)
        self.assertIn("libllvm", run("dpkg-deb", "-f", packages["kevtrace-compiler"], "Depends").stdout)
        root = os.path.join(self.folder, "root")
        of_each = {}
        for name, path in packages.items():
            alone = os.path.join(self.folder, name)
            for place in (alone, root):
                self.assertEqual(run("dpkg-deb", "-x", path, place).returncode, 0)
            of_each[name] = files_of(alone)
        self.assertEqual(sum(map(len, of_each.values())), len(set().union(*of_each.values())), "two packages have one file")
        self.check_first_probe(os.path.join(root, "usr/bin/kevtrace"))
        self.assertIn("usr/src/kevtrace-0.1.0/runtime-kmod/Kbuild", of_each["kevtrace-dkms"])
        if "kevtrace-gui" in packages:
            self.assertIn("usr/share/man/man1/kevtrace-gui.1.gz", of_each["kevtrace-gui"])
        if shutil.which("desktop-file-validate") and "kevtrace-gui" in packages:
            entry = os.path.join(root, "usr/share/applications/kevtrace-gui.desktop")
            self.assertEqual(run("desktop-file-validate", entry).stdout, "")
        if shutil.which("appstreamcli") and "kevtrace-gui" in packages:
            page, = glob.glob(os.path.join(root, "usr/share/metainfo/*.xml"))
            told = run("appstreamcli", "validate", "--no-net", page).stdout
            self.assertNotRegex(told, r"(?m)^E: ")  # a warning: there is no homepage to be named
        self.assertEqual(run("dpkg-deb", "-I", packages["libkevtrace0"], "shlibs").stdout, "libkevtrace 0 libkevtrace0 (>= 0.1.0)\n")

    def test_lintian_has_no_error(self):
        if not shutil.which("lintian"):
            self.skipTest("lintian is not here")
        done = run("lintian", "--fail-on", "error", *clean_root.packages().values())
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
