"""What is recorded is for the user alone, and other users of a folder cannot lead it elsewhere.

Files of another user are made with chown: those tests need root.
"""
import os
import stat
import subprocess
import unittest

from kevtest import KEVTRACE, ProcessTest, TIMEOUT_S, _prepared, main

DEFINITION = "p:opens libc:open64 path=+0(%di):string"
COMMAND = ["/usr/bin/python3", "-S", "-c", "open('/etc/passwd').close()"]
FORMATS = ("dat", "dat7", "text", "ftrace", "json", "csv", "perfetto", "chrome", "folded")
OTHER = 65534
needs_root = unittest.skipUnless(os.geteuid() == 0, "makes files of another user")


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


class OutputFiles(ProcessTest):
    def setUp(self):
        super().setUp()
        self.shared = self.path("shared")
        os.mkdir(self.shared)
        os.chmod(self.shared, 0o1777)
        self.victim = self.path("victim", b"what was there")
        os.chmod(self.victim, 0o644)

    def at(self, name):
        return os.path.join(self.shared, name)

    def kevtrace(self, *words, umask=0, **options):
        done = subprocess.run([KEVTRACE, "-q", *words], capture_output=True, timeout=TIMEOUT_S, umask=umask,
                              **_prepared(options))
        return done.returncode, done.stderr

    def record(self, output, *words, **options):
        return self.kevtrace("run", "-e", DEFINITION, "-o", output, *words, "--", *COMMAND, **options)

    def assert_victim_is_well(self):
        with open(self.victim, "rb") as file:
            self.assertEqual(file.read(), b"what was there")
        self.assertEqual(mode(self.victim), 0o644)

    def planted(self, name, make):
        path = self.at(name)
        make(path)
        os.chown(path, OTHER, OTHER, follow_symlinks=False)
        return path

    def test_recordings_are_for_the_user_alone(self):
        for form in FORMATS:
            for words in ((), ("--overwrite",)):
                with self.subTest(form=form, words=words):
                    path = self.path("out." + form + "".join(words))
                    self.assertEqual(self.record(path, "-f", form, *words), (0, b""))
                    self.assertEqual(mode(path), 0o600)
                    self.assertGreater(os.stat(path).st_size, 0)
        for form in ("ctf", "csv"):
            folder = self.path("folder." + form)
            self.assertEqual(self.record(folder + "/" * (form == "csv"), "-f", form), (0, b""))
            self.assertEqual(mode(folder), 0o700)
            for name in os.listdir(folder):
                self.assertEqual(mode(os.path.join(folder, name)), 0o600, name)

    def test_what_is_made_of_recordings_is_too(self):
        recording = self.path("a.dat")
        self.assertEqual(self.record(recording), (0, b""))
        for words in (["report", recording, "-o"], ["report", recording, "-f", "json", "-o"], ["convert", recording],
                      ["hist", "opens.path", "-i", recording, "-o"], ["count", "-i", recording, "-o"]):
            with self.subTest(words=words):
                path = self.path(words[0] + str(len(words)) + ".json")
                self.assertEqual(self.kevtrace(*words, path), (0, b""))
                self.assertEqual(mode(path), 0o600)

    def test_an_old_file_is_closed_to_others(self):
        for form in ("text", "dat"):
            path = self.path("old", b"what was there")
            os.chmod(path, 0o666)
            self.assertEqual(self.record(path, "-f", form), (0, b""))
            self.assertEqual(mode(path), 0o600)
            with open(path, "rb") as file:
                self.assertNotIn(b"what was there", file.read())

    def test_links_of_the_user_are_followed(self):
        for form in ("text", "dat", "json"):
            with self.subTest(form=form):
                target, link = self.path("target." + form, b"what was there"), self.at("link." + form)
                os.symlink(target, link)
                self.assertEqual(self.record(link, "-f", form), (0, b""))
                self.assertTrue(os.path.islink(link))
                self.assertEqual(mode(target), 0o600)
                with open(target, "rb") as file:
                    self.assertIn(b"passwd", file.read())

    @needs_root
    def test_planted_links_are_not_followed(self):
        link = self.planted("trace", lambda path: os.symlink(self.victim, path))
        dangling = self.planted("dangling", lambda path: os.symlink(self.path("made"), path))
        for form in FORMATS:
            for path in (link, dangling):
                with self.subTest(form=form, path=path):
                    status, err = self.record(path, "-f", form)
                    self.assertEqual(status, 1, err)
                    self.assertIn(b"a link of another user (uid 65534)", err)
        self.assert_victim_is_well()
        self.assertFalse(os.path.exists(self.path("made")))

    @needs_root
    def test_planted_files_do_not_get_the_trace(self):
        def file_for_all(path):
            with open(path, "wb"):
                os.chmod(path, 0o666)
        for name, make in (("file", file_for_all), ("fifo", lambda path: os.mkfifo(path, 0o666)),
                           ("folder", os.mkdir)):
            with self.subTest(name=name):
                path = self.planted(name, make)
                status, err = self.record(path, "-f", "ctf" if name == "folder" else "text")
                self.assertEqual(status, 1, err)
                self.assertIn(b"of another user (uid 65534)", err)
                if name == "file":
                    self.assertEqual(os.path.getsize(path), 0)

    def test_temporary_names_are_not_followed(self):
        """FILE.flight, as it was once called: whatever stands there stays."""
        for name in ("out.json", "folder.csv"):
            os.symlink(self.victim, self.at(name + ".flight"))
        self.assertEqual(self.record(self.at("out.json"), "--overwrite"), (0, b""))
        self.assertEqual(self.record(self.at("folder.csv/"), "-f", "csv", "--overwrite"), (0, b""))
        self.assert_victim_is_well()
        self.assertTrue(os.path.islink(self.at("out.json.flight")))
        self.assertEqual(sorted(os.listdir(self.shared)),
                         ["folder.csv", "folder.csv.flight", "out.json", "out.json.flight"])

    def test_temporary_files_are_for_the_user_alone(self):
        """Where a flight recorder keeps its records until it ends; there is no other way to see the file."""
        process = subprocess.Popen([KEVTRACE, "-q", "run", "-e", DEFINITION, "-o", self.at("out.json"), "--overwrite",
                                    "--", "/usr/bin/python3", "-S", "-c", "import sys; print(flush=True); sys.stdin.read()"],
                                   umask=0, **(_prepared({}) | dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)))
        self.assertEqual(process.stdout.readline(), b"\n")
        names = os.listdir(self.shared)
        modes = [mode(self.at(name)) for name in names]
        process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(modes, [0o600])
        self.assertRegex(names[0], r"^out\.json\.[-_0-9A-Za-z]{12}\.flight$")
        self.assertEqual(os.listdir(self.shared), ["out.json"])

    def test_what_is_no_file_is_written_to(self):
        self.assertEqual(self.record("/dev/null"), (0, b""))
        done = subprocess.run([KEVTRACE, "-q", "run", "-e", DEFINITION, "-o", "/dev/stdout", "--"] + COMMAND,
                              capture_output=True, timeout=TIMEOUT_S, **_prepared({}))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn(b'path="/etc/passwd"', done.stdout)
        with open(self.path("redirected"), "wb") as file:
            os.chmod(self.path("redirected"), 0o644)
            done = subprocess.run([KEVTRACE, "-q", "run", "-e", DEFINITION, "-o", "/dev/stdout", "--"] + COMMAND,
                                  stdout=file, timeout=TIMEOUT_S, **_prepared({}))
        self.assertEqual(done.returncode, 0)
        self.assertEqual(mode(self.path("redirected")), 0o644)  # the shell's file keeps its mode
        for form in ("text", "json"):
            with self.subTest(form=form):
                fifo = self.at("fifo." + form)
                os.mkfifo(fifo, 0o600)
                reader = subprocess.Popen(["/bin/cat", fifo], stdout=subprocess.PIPE)
                self.assertEqual(self.record(fifo, "-f", form), (0, b""))
                self.assertIn(b"/etc/passwd", reader.communicate(timeout=TIMEOUT_S)[0])

    def test_another_name_of_a_file_is_left_alone(self):
        other = self.at("name")
        os.link(self.victim, other)
        status, err = self.record(other)
        self.assertEqual(status, 1)
        self.assertIn(b"the file has other names", err)
        self.assert_victim_is_well()

    @needs_root
    def test_compiled_scripts_and_scripts_too(self):
        script = self.path("s.kev", b"p:a   libc:open64\n")
        link = self.planted("s.kevo", lambda path: os.symlink(self.victim, path))
        status, err = self.kevtrace("compile", script, "-o", link)
        self.assertEqual(status, 1, err)
        self.assertIn(b"a link of another user", err)
        planted = self.planted("t.kev", lambda path: os.symlink(script, path))
        self.assertEqual(self.kevtrace("fmt", planted)[0], 1)
        self.assert_victim_is_well()


if __name__ == "__main__":
    main()
