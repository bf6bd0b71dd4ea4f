"""kevtrace is started without some of the descriptors 0, 1 and 2: what it opens must not take their numbers.

The traced command ends as untraced and finds the same of them closed; what cannot be written is said to be an error.
"""
import itertools
import shlex
import subprocess

from kevtest import KEVTRACE, ProcessTest, TIMEOUT_S, _prepared, main

DEFINITION = "p:opens libc:open64 path=+0(%di):string"
# Lists its descriptors before it opens a file to tell them; ends with a status of its own.
LISTS = """
import os, sys
found = []
for number in sorted(os.listdir("/proc/self/fd"), key=int):
    try:
        found.append(number + " " + os.readlink("/proc/self/fd/" + number))
    except FileNotFoundError:
        pass
with open(sys.argv[1], "w") as file:
    file.write("\\n".join(found))
sys.exit(7)
"""
ALL = [closed for count in range(4) for closed in itertools.combinations((0, 1, 2), count)]


class ClosedDescriptors(ProcessTest):
    def started_without(self, closed, words):
        """By a shell, with what is not closed going to files: status, standard output, standard error."""
        places = {0: "</dev/null", 1: ">" + self.path("out"), 2: "2>" + self.path("err")}
        for number in (1, 2):
            self.path(("out", "err")[number - 1], b"")
        redirections = [f"{number}>&-" if number in closed else places[number] for number in (0, 1, 2)]
        script = "exec " + shlex.join(words) + " " + " ".join(redirections)
        done = subprocess.run(["/bin/sh", "-c", script], timeout=TIMEOUT_S, **_prepared({}))
        with open(self.path("out"), "rb") as out, open(self.path("err"), "rb") as err:
            return done.returncode, out.read(), err.read()

    def listed(self, closed, words):
        """Of LISTS run behind `words`: its status, standard error, and what descriptors it has."""
        told = self.path("told", b"")
        status, _, err = self.started_without(closed, words + ["/usr/bin/python3", "-S", "-c", LISTS, told])
        with open(told) as file:
            return status, err, file.read()

    def test_command_is_as_untraced(self):
        for closed in ALL:
            with self.subTest(closed=closed):
                untraced = self.listed(closed, [])
                self.assertEqual(untraced[0], 7)
                self.assertEqual({int(line.split()[0]) for line in untraced[2].splitlines()} & {0, 1, 2},
                                 {0, 1, 2} - set(closed))
                trace = self.path("trace", b"")
                traced = self.listed(closed, [KEVTRACE, "-q", "run", "-e", DEFINITION, "-o", trace, "--"])
                self.assertEqual(traced, untraced)
                with open(trace, "rb") as lines:
                    self.assertIn(b"opens:", lines.read())

    def test_trace_that_nobody_can_read_is_an_error(self):
        for closed in ALL:
            with self.subTest(closed=closed):
                status, out, err = self.started_without(
                    closed, [KEVTRACE, "run", "-e", DEFINITION, "--", "/usr/bin/python3", "-S", "-c", "pass"])
                self.assertEqual(status, 1 if 1 in closed else 0, err)
                self.assertEqual(b"opens:" in out, 1 not in closed)
                if 2 in closed:
                    self.assertEqual(err, b"")
                elif 1 in closed:
                    self.assertIn(b"kevtrace: error: writing standard output: Bad file descriptor\n", err)
                else:
                    self.assertNotIn(b"error", err)

    def test_questions_and_reports(self):
        recording = self.path("trace.dat")
        self.assertEqual(self.started_without((), [KEVTRACE, "-q", "run", "-e", DEFINITION, "-o", recording, "--",
                                                   "/usr/bin/python3", "-S", "-c", "pass"])[0], 0)
        for words in (["report", recording], ["report", recording, "-f", "json"], ["stat", recording],
                      ["list", "--types"]):
            with self.subTest(words=words):
                status, _, err = self.started_without((1,), [KEVTRACE] + words)
                self.assertEqual(status, 1, err)
                self.assertIn(b"writing standard output: Bad file descriptor", err)

    def test_standard_input_that_is_closed_cannot_be_read(self):
        status, _, err = self.started_without((0,), [KEVTRACE, "check", "-"])
        self.assertEqual(status, 2)
        self.assertIn(b"Bad file descriptor", err)


if __name__ == "__main__":
    main()
