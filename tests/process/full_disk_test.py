"""A disk that is full: what the file has is a whole recording, everything else counts as lost, and the program goes on."""
import json
import os
import re
import shlex
import subprocess

from kevtest import KEVTRACE, TIMEOUT_S, ProcessTest, main

OPENED = "p:opened libc:open64 path=+0(%di):string"
PROGRAM = 'import os\nfor i in range(60000): os.close(os.open("/etc/passwd", 0))\nprint("its own end")'


class FullDisk(ProcessTest):
    def on_disk(self, size, script):
        """Runs a shell script in a mount namespace with a small disk, $1; $2 is a folder with room. Its output."""
        disk = self.path("disk")
        os.mkdir(disk)
        namespace = ["unshare", "--mount", "--propagation", "private"]
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", disk]
        if subprocess.run(namespace + mount, capture_output=True).returncode != 0:
            self.skipTest("no mount namespace may be made here")
        command = [*namespace, "sh", "-c", shlex.join(mount) + "\n" + script, "sh", disk, os.path.dirname(disk)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        return done.stdout, done.stderr

    def run_of(self, *words):
        return " ".join(shlex.quote(one) if not one.startswith("$") else f'"{one}"' for one in
                        (KEVTRACE, "run", "-e", OPENED, *words, "--", "/usr/bin/python3", "-S", "-c", PROGRAM))

    def account(self, err, name="opened"):
        """hits, recorded, filtered, lost, missed"""
        line = re.search(rf"(?m)^{re.escape(name)}: hits (\d+) = recorded (\d+) \+ filtered (\d+) \+ lost (\d+) \+ missed (\d+)$", err)
        self.assertTrue(line, err)
        numbers = [int(one) for one in line.groups()]
        self.assertEqual(numbers[0], sum(numbers[1:]), err)
        return numbers

    def test_what_has_no_room_is_lost(self):
        for size in ("700k", "1M", "1500k", "2M"):  # a head, and more or fewer pages
            with self.subTest(size=size):
                out, err = self.on_disk(size, f'{self.run_of("-o", "$1/a.dat")}; echo status $?\n{shlex.quote(KEVTRACE)} report "$1/a.dat" | wc -l\n'
                                              f'{shlex.quote(KEVTRACE)} stat "$1/a.dat" -f json')
                os.rmdir(self.path("disk"))
                own_end, status, reported, stat = out.split("\n", 3)
                self.assertEqual((own_end, status), ("its own end", "status 1"), err)
                self.assertIn("a.dat: No space left on device", err)
                hits, recorded, filtered, lost, missed = self.account(err)
                self.assertEqual(recorded, int(reported))
                self.assertGreater(lost, 0)
                event = json.loads(stat)["totals"]["kprobes/opened"]
                self.assertEqual([event[one] for one in ("hits", "recorded", "filtered", "lost", "missed")], [hits, recorded, filtered, lost, missed])

    def test_a_disk_that_the_last_pages_fill(self):
        """Nothing is written before the end: these records wait in memory."""
        full = 0
        for size in range(600, 700, 8):  # a head, and a page or two
            with self.subTest(size=size):
                out, err = self.on_disk(f"{size}k", f'{self.run_of("-o", "$1/a.dat").replace("60000", "300")}; echo status $?\n{shlex.quote(KEVTRACE)} report "$1/a.dat" | wc -l')
                os.rmdir(self.path("disk"))
                if "status 1" not in out or ": hits" not in err:  # all of it fits, or not even the head
                    continue
                full += 1
                self.assertEqual(self.account(err)[1], int(out.split()[-1]), err)
        self.assertGreater(full, 0)

    def test_a_disk_without_room_for_a_head(self):
        out, err = self.on_disk("64k", f'{self.run_of("-o", "$1/a.dat")}; echo status $?; ls "$1"')
        self.assertIn("No space left on device", err)
        self.assertEqual(out, "status 1\n")

    def test_other_outputs_are_whole(self):
        out, err = self.on_disk("1M", f'{self.run_of("-o", "$1/a.dat", "-B", "roomy", "--enable", "opened", "-o", "$2/b.dat")}; echo status $?\n'
                                      f'for one in "$1/a.dat" "$2/b.dat"; do {shlex.quote(KEVTRACE)} report "$one" | wc -l; done')
        status, here, there = out.split("\n")[1:4]
        self.assertEqual(status, "status 1", err)
        self.assertEqual(self.account(err)[1], int(here), err)
        _, recorded, filtered, lost, missed = self.account(err, "roomy/opened")
        self.assertEqual((recorded, lost, missed), (int(there), 0, 0), err)
        self.assertLessEqual(filtered, 1, err)  # the hit of the only thread that was under way when the probe was disarmed
        self.assertGreater(int(there), int(here))

    def test_ndjson_says_what_it_has(self):
        out, err = self.on_disk("1M", f'{self.run_of("-o", "$1/a.ndjson")}; echo status $?\n{shlex.quote(KEVTRACE)} report "$1/a.ndjson" | wc -l')
        self.assertIn("status 1", out)
        self.assertEqual(self.account(err)[1], int(out.split()[-1]), err)


if __name__ == "__main__":
    main()
