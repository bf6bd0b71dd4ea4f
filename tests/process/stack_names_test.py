"""Names in the stacks of programs that end, become others, or unload libraries before their records are read."""
import os
import re
import subprocess

from kevtest import KEVTRACE, PROGRAMS, TIMEOUT_S, ProcessTest, main

BRIEF = os.path.join(PROGRAMS, "brief")
LIBRARY = os.path.join(PROGRAMS, "brief_library.so")
# By its file: no function of another file is looked up, which would read them all.
LEAF = "p:lf brief:leaf n=%di:s32"
CALLS = 50


class StackNames(ProcessTest):
    def folded(self, *words, definition=LEAF, options=()):
        """{stack from its innermost frame on: count}"""
        path = self.path("out.folded")
        done = subprocess.run([KEVTRACE, "run", "--stack", *options, "-o", path, "-e", definition, "--", BRIEF,
                               str(CALLS), *words], capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, encoding="utf-8") as file:
            lines = [line.rsplit(" ", 1) for line in file.read().splitlines()]
        return {tuple(reversed(frames.split(";")[1:])): int(count) for frames, count in lines}

    def one_stack(self, *words, **options):
        stacks = self.folded(*words, **options)
        self.assertEqual(list(stacks.values()), [CALLS], stacks)
        (frames,) = stacks
        for frame in frames:
            self.assertNotRegex(frame, r"^0x", frames)
        return frames

    def test_a_program_that_ends_at_once_has_names(self):
        for words in ((), ("unseen",)):
            frames = self.one_stack(*words)
            self.assertEqual(frames[:3], ("leaf", "outer", "main"))
            self.assertEqual(frames[-1], "_start")
            self.assertIn("__libc_start_main [libc.so.6]", frames)

    def test_two_runs_give_equal_stacks(self):
        for words in ((), (LIBRARY,), ("exec", "/bin/true")):
            self.assertEqual(self.folded(*words), self.folded(*words), words)

    def test_code_without_a_symbol_is_file_and_offset(self):
        frames = self.one_stack(LIBRARY, "keep")
        self.assertEqual(frames[0], "leaf")
        self.assertRegex(frames[1], r"^brief_library\.so\+0x[0-9a-f]+$")
        self.assertEqual(frames[2:4], ("call_back [brief_library.so]", "main"))
        code = subprocess.run(["objdump", "-d", LIBRARY], capture_output=True, text=True, check=True).stdout
        returns_to = int(frames[1].split("+")[1], 16)  # text lies in the file where its addresses say
        self.assertRegex(code, rf"(?m)^ *[0-9a-f]+:.*\bcall +\*.*\n +{returns_to:x}:")

    def test_a_library_that_came_and_went_has_names(self):
        self.assertEqual(self.one_stack(LIBRARY), self.one_stack(LIBRARY, "keep"))

    def test_a_library_that_nobody_reports_is_walked_through(self):
        code = subprocess.run(["nm", "-D", LIBRARY], capture_output=True, text=True, check=True).stdout
        offset = re.search(r"^([0-9a-f]+) T call_back$", code, re.MULTILINE)[1]
        frames = self.one_stack(LIBRARY, "map", offset)
        self.assertEqual(frames[:3], self.one_stack(LIBRARY, "keep")[:3])
        self.assertEqual((frames[3:5], frames[-1]), (("through_own_mapping", "main"), "_start"))

    def test_a_program_that_becomes_another_has_names(self):
        self.assertEqual(self.one_stack("exec", "/bin/true")[:2], ("leaf", "outer"))
        followed = self.one_stack("exec", "/bin/true", options=("--follow-forks",))
        self.assertEqual(followed[:3], ("leaf", "outer", "main"))

    def test_the_report_of_a_recording_has_the_same_names(self):
        frames = self.one_stack(LIBRARY)
        for name in ("r.dat", "r.json"):
            path = self.path(name)
            subprocess.run([KEVTRACE, "run", "-q", "--stack", "-o", path, "-e", LEAF, "--", BRIEF, str(CALLS), LIBRARY],
                           check=True, timeout=TIMEOUT_S)
            text = subprocess.run([KEVTRACE, "report", path], capture_output=True, text=True, check=True).stdout
            self.assertEqual(text.count(" => " + frames[1] + "\n"), CALLS, text[:2000])
            self.assertEqual(re.findall(r"^ => (.*)", text, re.MULTILINE), list(frames) * CALLS)

    def test_addresses_in_arguments_have_names(self):
        done = subprocess.run([KEVTRACE, "run", "-q", "-e", "p:lf brief:leaf what=%si:symbol text=%si:symstr", "--", BRIEF,
                               "5", "unseen"], capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(len(re.findall(r"what=qsort\+0x0/0x[0-9a-f]+ \[libc\.so\.6\] "
                                        r'text="qsort\+0x0/0x[0-9a-f]+ \[libc\.so\.6\]"', done.stdout)), 5, done.stdout)

    def test_calls_without_a_symbol_are_equal_in_two_runs(self):
        """A place by its offset in a file: folded by the time of calls."""
        code = subprocess.run(["nm", "-D", LIBRARY], capture_output=True, text=True, check=True).stdout
        offset = re.search(r"^([0-9a-f]+) T call_back$", code, re.MULTILINE)[1]
        names = []
        for run in range(2):
            path = self.path("calls.folded")
            done = subprocess.run([KEVTRACE, "run", "-q", "-o", path, "-e", f"p:in {LIBRARY}:0x{offset}", "-e",
                                   f"r:out {LIBRARY}:0x{offset}", "--", BRIEF, "5", LIBRARY], capture_output=True,
                                  text=True, timeout=TIMEOUT_S)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                names.append([line.rsplit(" ", 1)[0] for line in file])
        self.assertEqual(names[0], names[1])
        self.assertNotIn("0x", names[0][0].replace("+0x", ""))

    def test_what_is_wrong_without_a_stack_is_wrong_with_one(self):
        cases = [("p:lf brief:leaf n=%zz", 3), ("p:lf brief:outer+1", 3), ("r:lf libc:_setjmp", 1),
                 ("p:lf nosuchlib.so:leaf", 0), ("p:lf brief:leaf " + " ".join(f"a{i}=%di" for i in range(125)), 0)]
        for definition, status in cases:
            done = subprocess.run([KEVTRACE, "run", "--stack", "-o", "/dev/null", "-e", definition, "--", BRIEF],
                                  capture_output=True, text=True, timeout=TIMEOUT_S)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertNotIn("kevt_", done.stderr)

    def test_a_comment_does_not_take_the_stack_away(self):
        self.assertEqual(self.one_stack(definition=LEAF + "  # a comment")[0], "leaf")


if __name__ == "__main__":
    main()
