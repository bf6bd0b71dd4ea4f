"""Lists of C++ (std::vector, std::span, std::array), of Rust and of Go, by name and by hand: values against what the program
prints; in recordings of every format, in a mount, at lines, and where memory ends."""
import csv
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from kevtest import KEVTRACE, PROGRAMS, main
from mounted import MountTest, wait_until

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
LISTS = os.path.join(PROGRAMS, "lists")
ROUNDS = 8
MOST = 64  # items of a list that are recorded


def records(out, event):
    """[{"name": "value"}] of the event's trace lines."""
    return [dict(re.findall(r'(\w+)=(\{[^}]*\}|\S*)', line.split(") ", 1)[1])) for line in out.splitlines() if re.search(rf" {event}: \(", line)]


def items(text):
    return [float(one) for one in text.strip("{}").split(",") if one]


class Lists(unittest.TestCase):
    def traced(self, *words, status=0, program=LISTS, rounds=ROUNDS):
        done = subprocess.run([KEVTRACE, "run", *words, "--", program, str(rounds)], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def setUp(self):
        out = subprocess.run([LISTS, str(ROUNDS)], capture_output=True, text=True, check=True).stdout
        self.rounds = [[items(one) for one in line.split("|")] for line in out.splitlines()]
        self.assertEqual([len(numbers) for numbers, *_ in self.rounds], [*range(ROUNDS)])

    def column(self, index):
        return [one[index] for one in self.rounds]

    def test_by_name(self):
        out = self.traced("-e", "p:r lists:by_reference numbers prices", "-e", "p:v lists:by_value numbers behind", "-e", "p:p lists:by_pointer at=bytes bytes:hex",
                          "-e", "p:o lists:in_object id=order->id sizes=order->sizes three=order->three two", "-e", "p:s lists:of_span bytes behind",
                          "-e", "p:h lists:of_span bytes:hex").stdout
        self.assertEqual([items(one["numbers"]) for one in records(out, "r")], self.column(0))
        self.assertEqual([items(one["prices"]) for one in records(out, "r")], self.column(1))
        self.assertEqual([items(one["numbers"]) for one in records(out, "v")], self.column(2))
        self.assertEqual([int(one["behind"]) for one in records(out, "v")], [*range(ROUNDS)])
        in_hex = ["".join(f"{int(byte):02x}" for byte in bytes_) for bytes_ in self.column(3)]
        self.assertEqual([one["bytes"] for one in records(out, "p")], in_hex)
        self.assertTrue(all(re.fullmatch("0x[0-9a-f]+", one["at"]) for one in records(out, "p")))  # as every pointer
        self.assertEqual(records(out, "o"), [{"id": str(i), "sizes": f"{{{-i},2}}", "three": f"{{{i},8,9}}", "two": f"{{0.5,{i}}}"} for i in range(ROUNDS)])
        self.assertEqual([items(one["bytes"]) for one in records(out, "s")], self.column(3))
        self.assertEqual([int(one["behind"]) for one in records(out, "s")], [*range(ROUNDS)])
        self.assertEqual([one["bytes"] for one in records(out, "h")], in_hex)

    def test_other_items(self):
        """Enumerations and pointers are numbers; bits and structures are no list, nor is a type that only has the name of one."""
        out = self.traced("-e", "p:o lists:of_others colours names", "-e", "p:l lists:of_list items").stdout
        self.assertEqual(records(out, "o"), [{"colours": "{3,500}", "names": "{0x0}"}] * ROUNDS)
        self.assertEqual(records(out, "l"), [{"items": f"{{{i},{i + 1}}}"} for i in range(ROUNDS)])
        out = self.traced("-e", "p:o lists:of_others first=pair->first flags pair").stdout
        self.assertTrue(all(one["first"] == "1" and "{" not in one["flags"] + one["pair"] for one in records(out, "o")), out)

    def test_by_hand(self):
        out = self.traced("-e", "p:h lists:by_hand n=+0(%di):s32[%si] e=+0(%di):x32[..%dx] b=+0(items):s32[count] u=+0(%di):u8[%si:u8] most=+0(%di):s32[small] none=+0(%di):s64[\\0]").stdout
        found = records(out, "h")[:ROUNDS]
        for one, numbers in zip(found, self.column(0)):
            self.assertEqual([items(one["n"]), items(one["b"])], [numbers, numbers])
            self.assertEqual(one["e"], "{" + ",".join(hex(int(number) & 0xffffffff) for number in numbers) + "}")
            self.assertEqual(items(one["u"]), [byte for number in numbers for byte in int(number).to_bytes(4, "little", signed=True)][:len(numbers)])
            self.assertEqual(one["none"], "{}")
            self.assertEqual(len(items(one["most"])), MOST if numbers else 0)  # -1 is as many as there may be

    def test_where_memory_ends(self):
        """A list that cannot be read whole has no items and counts as unreadable; without items it is not looked for."""
        done = self.traced("-e", "p:h lists:by_hand n=+0(%di):s32[%si] e=+0(%di):s32[..%dx] t=+0(%di):u8[%si] behind=%cx:s32", "--filter", "h: behind == 0")
        self.assertEqual([(one["n"], one["e"]) for one in records(done.stdout, "h")],
                         [("{22,23}", "{22,23}"), ("{}", "{}"), ("{}", "{}"), ("{}", "{}"), ("{22}", "{}")])
        self.assertIn("h: 4 numbers or lists could not be read; they are recorded as 0 or without items\n", done.stderr)  # n and e of the second; n and t of the fourth

    def test_long_lists_are_cut(self):
        out = self.traced("-e", "p:r lists:by_reference numbers", rounds=MOST + 3).stdout
        self.assertEqual([len(items(one["numbers"])) for one in records(out, "r")], [min(i, MOST) for i in range(MOST + 3)])

    def test_returns_and_lines(self):
        out = self.traced("-e", "r:r lists:by_reference numbers").stdout
        self.assertEqual([items(one["numbers"]) for one in records(out, "r")], self.column(0))
        with open(os.path.join(SOURCES, "lists.cpp")) as file:
            line = next(number for number, text in enumerate(file, 1) if "by_pointer(&bytes);" in text)
        out = self.traced("-e", f"p:l lists:lists.cpp:{line} numbers prices b=bytes:hex").stdout
        self.assertEqual([items(one["numbers"]) for one in records(out, "l")], self.column(0))
        self.assertEqual([items(one["prices"]) for one in records(out, "l")], self.column(1))
        self.assertEqual([len(one["b"]) for one in records(out, "l")], [2 * len(one) for one in self.column(3)])

    def test_recordings(self):
        definition = "p:r lists:by_reference numbers prices x=numbers:hex"
        refused = subprocess.run([KEVTRACE, "run", "-e", definition, "--", LISTS, "1"], capture_output=True, text=True, timeout=60)
        self.assertEqual(refused.returncode, 3)
        self.assertIn("`hex` is for arrays of bytes", refused.stderr)
        with tempfile.TemporaryDirectory() as folder:
            def made(name):
                return os.path.join(folder, name)
            self.traced("-o", made("a.dat"), "-e", "p:r lists:by_reference numbers prices", "-e", "p:s lists:of_span bytes:hex", "-e", "p:h lists:by_hand o=+0(%di):o32[%si] x=+0(%di):x16[%si]")
            live = self.traced("-e", "p:r lists:by_reference numbers prices", "-e", "p:s lists:of_span bytes:hex", "-e", "p:h lists:by_hand o=+0(%di):o32[%si] x=+0(%di):x16[%si]").stdout
            report = subprocess.run([KEVTRACE, "report", made("a.dat")], capture_output=True, text=True, check=True).stdout
            for event in ("r", "s", "h"):
                self.assertEqual(records(report, event), records(live, event))
            for name in ("b.json", "c.dat"):
                subprocess.run([KEVTRACE, "convert", made("a.dat" if name == "b.json" else "b.json"), made(name)], check=True, capture_output=True)
            self.assertEqual(subprocess.run([KEVTRACE, "report", made("c.dat")], capture_output=True, text=True, check=True).stdout, report)
            with open(made("b.json")) as file:
                events = [one for one in map(json.loads, file) if one["type"] == "event" and one["event"].endswith(":r")]
            self.assertEqual([one["fields"]["numbers"] for one in events], self.column(0))
            self.assertEqual([one["fields"]["prices"] for one in events], self.column(1))
            subprocess.run([KEVTRACE, "convert", made("a.dat"), made("d.csv")], check=True, capture_output=True)
            with open(made("d.csv"), newline="") as file:
                rows = [row for row in csv.DictReader(file) if row["event"] == "r"]
            self.assertEqual([items(row["numbers"]) for row in rows], self.column(0))
            subprocess.run([KEVTRACE, "convert", "-f", "ctf", made("a.dat"), made("ctf")], check=True, capture_output=True)
            if shutil.which("babeltrace2"):
                text = subprocess.run(["babeltrace2", made("ctf")], capture_output=True, text=True, check=True).stdout
                shown = [[float(number) for number in re.findall(r"\[\d+\] = ([-\d.]+)", one)] for one in re.findall(r" numbers = \[(.*?)\],", text)]
                self.assertEqual(shown, self.column(0))
            if shutil.which("trace-cmd"):  # which prints all numbers without a sign
                text = subprocess.run(["trace-cmd", "report", made("a.dat")], capture_output=True, text=True, check=True).stdout
                shown = [[int(number) for number in one.split()] for one in re.findall(r" r: .* numbers=([\d ]*) prices=", text)]
                self.assertEqual(shown, [[int(number) & 0xffffffff for number in one] for one in self.column(0)])
            asked = subprocess.run([KEVTRACE, "report", made("a.dat"), "-F", "r: numbers == 3"], capture_output=True, text=True)
            self.assertNotEqual(asked.returncode, 0)
            self.assertIn("an array whose length is fetched is not compared", asked.stderr)
            for question in (("report", "-F", "s: bytes == 3"), ("report", "-F", 's: bytes == "00"')):
                asked = subprocess.run([KEVTRACE, *question, made("a.dat")], capture_output=True, text=True)
                self.assertIn("an array whose length is fetched is not compared", asked.stderr, question)
            subprocess.run([KEVTRACE, "convert", made("a.dat"), made("e.pftrace")], check=True, capture_output=True)
            with open(made("e.pftrace"), "rb") as file:
                self.assertIn("".join(f"{int(byte):02x}" for byte in self.column(3)[-1]).encode(), file.read())

    def test_a_list_is_no_array_of_64(self):
        done = self.traced("-e", "p:m lists:of_list n=+0(%di):s32[64]", "-e", "p:m lists:by_hand n=+0(%di):s32[%si]", status=3)
        self.assertIn("DIFF_ARG_TYPE", done.stderr)

    def test_a_compiled_script_needs_no_types(self):
        with tempfile.TemporaryDirectory() as folder:
            script, compiled = os.path.join(folder, "lists.kev"), os.path.join(folder, "lists.kevo")
            with open(script, "w") as file:
                file.write("p:r lists:by_reference numbers prices\np:s lists:of_span bytes:hex\np:h lists:by_hand n=+0(%di):s32[..%dx]\n")
            made = subprocess.run([KEVTRACE, "compile", "-o", compiled, script, "--", LISTS], capture_output=True, text=True, timeout=120)
            self.assertEqual(made.returncode, 0, made.stderr)
            by_script = [self.traced("-p", one).stdout for one in (script, compiled)]
        for out in by_script:
            self.assertEqual([items(one["numbers"]) for one in records(out, "r")], self.column(0))
            self.assertEqual([items(one["prices"]) for one in records(out, "r")], self.column(1))
            self.assertEqual([items(one["n"]) for one in records(out, "h")][:ROUNDS], self.column(0))
        self.assertEqual(records(by_script[0], "s"), records(by_script[1], "s"))

    def test_an_eprobe_does_not_take_the_word_of_a_list(self):
        for argument in ("k=$n", "k=+0(\\8):s32[$n]"):
            explained = subprocess.run([KEVTRACE, "explain", "--runtime", "bpf", "-e", "f:m vfs_read n=+0($arg1):s32[$arg2]", "-e", f"e:x fprobes.m {argument}"], capture_output=True, text=True)
            self.assertNotEqual(explained.returncode, 0, argument)
            self.assertIn("no runtime makes code of it", explained.stderr)

    def test_mistakes(self):
        for definition, said in (("p:h lists:by_hand n=+0(%di):string[%si]", "an array whose length is fetched is of numbers"),
                                 ("p:h lists:by_hand n=+0(%di):b3@0/32[%si]", "an array whose length is fetched is of numbers"),
                                 ("p:h lists:by_hand n=%di:s32[%si]", "strings and arrays are read from memory"),
                                 ("p:h lists:by_hand n=+0(%di):s32[%si:f32]", "BAD_TYPE"),
                                 ("p:h lists:by_hand n=+0(%di):s32[..]", "argument"),
                                 ("p:h lists:by_hand n=+0(%di):s32[%si", "Array is not closed"),
                                 ("p:h lists:by_hand n=+0(%di):s32[nothing]", "nothing")):
            self.assertIn(said, self.traced("-e", definition, status=3).stderr, definition)
        filtered = self.traced("-e", "p:h lists:by_hand n=+0(%di):s32[%si]", "--filter", "h: n == 3", status=3)
        self.assertIn("an array whose length is fetched is not compared", filtered.stderr)
        kernel = subprocess.run([KEVTRACE, "check", "--kernel", "6.1", "-e", "p:h vfs_read n=+0(%di):s32[%si]"], capture_output=True, text=True)
        self.assertNotEqual(kernel.returncode, 0)
        self.assertIn("BAD_ARRAY_NUM", kernel.stdout + kernel.stderr)


@unittest.skipIf(shutil.which("rustc") is None, "there is no Rust compiler")
class OfRust(unittest.TestCase):
    def test_slices_and_vectors(self):
        source = """
        #[inline(never)] #[no_mangle] pub fn take_slice(items: &[i32], behind: u8) { std::hint::black_box((items, behind)); }
        #[inline(never)] #[no_mangle] pub fn take_vector(items: Vec<f64>) { std::hint::black_box(&items); }
        #[inline(never)] #[no_mangle] pub fn take_bytes(bytes: &mut [u8]) { std::hint::black_box(bytes); }
        fn main() { for i in 0..5usize {
            let all: Vec<i32> = (0..i as i32).map(|n| n * 3 - 4).collect();
            take_slice(&all, 7); take_vector((0..i).map(|n| n as f64 / 2.0).collect()); take_bytes(&mut [1, 2, 255][..i.min(3)]);
        } }
        """
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "lists_of_rust")
            with open(program + ".rs", "w") as file:
                file.write(source)
            subprocess.run(["rustc", "-g", "-O", "-o", program, program + ".rs"], check=True, capture_output=True)
            done = subprocess.run([KEVTRACE, "run", "-e", "p:s take_slice items behind", "-e", "p:v take_vector items", "-e", "p:b take_bytes bytes:hex", "--", program],
                                  capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([items(one["items"]) for one in records(done.stdout, "s")], [[n * 3 - 4 for n in range(i)] for i in range(5)])
        self.assertEqual({one["behind"] for one in records(done.stdout, "s")}, {"7"})
        self.assertEqual([items(one["items"]) for one in records(done.stdout, "v")], [[n / 2 for n in range(i)] for i in range(5)])
        self.assertEqual([one["bytes"] for one in records(done.stdout, "b")], ["", "01", "0102", "0102ff", "0102ff"])


@unittest.skipIf(shutil.which("go") is None, "there is no Go compiler")
class OfGo(unittest.TestCase):
    def test_slices(self):
        source = """package main
        //go:noinline
        func work(items []int32, bytes []byte) int {
            total := len(bytes)
            for _, one := range items { total += int(one) }
            return total
        }
        func main() { for i := 0; i < 4; i++ {
            items := make([]int32, i)
            for k := range items { items[k] = int32(-k) }
            println(work(items, []byte{1, 255}))
        } }
        """
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "lists_of_go")
            with open(program + ".go", "w") as file:
                file.write(source)
            env = {"PATH": os.environ["PATH"], "GOCACHE": os.path.join(folder, "cache"), "GO111MODULE": "off", "HOME": folder, "CGO_ENABLED": "0"}
            subprocess.run(["go", "build", "-o", program, program + ".go"], check=True, env=env)
            done = subprocess.run([KEVTRACE, "run", "-e", "p:w lists_of_go:main.work items=+0(%ax):s32[%bx] bytes=+0(%di):hex[%si]",
                                   "-e", "p:l lists_of_go:lists_of_go.go:4 items", "--", program], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        for event in ("w", "l"):
            self.assertEqual([items(one["items"]) for one in records(done.stdout, event)], [[-k for k in range(i)] for i in range(4)], event)
        self.assertEqual({one["bytes"] for one in records(done.stdout, "w")}, {"01ff"})


class InAMount(MountTest):
    COMMAND = (LISTS, "3", "by hand")

    def test_a_running_program(self):
        self.echo("p:r lists:by_reference numbers prices x=+0(%di):x64[..%di]\n", "kprobe_events")
        self.echo("p:s lists:of_span b=bytes:hex\n", "kprobe_events", "a")
        form = self.cat("events/kprobes/r/format")
        self.assertIn("\tfield:__data_loc s32[] numbers;\toffset:16;\tsize:4;\tsigned:1;\n\tfield:__data_loc f64[] prices;\toffset:20;\tsize:4;\tsigned:1;\n"
                      "\tfield:__data_loc x64[] x;\toffset:24;\tsize:4;\tsigned:0;\n", form)
        self.assertIn('"(%lx) numbers=%s prices=%s x=%s", REC->__probe_ip, __print_array(__get_dynamic_array(numbers), __get_dynamic_array_len(numbers) / 4, 4), ', form)
        self.assertIn("__print_hex_str(__get_dynamic_array(b), __get_dynamic_array_len(b))", self.cat("events/kprobes/s/format"))
        for file, text in (("filter", "numbers == 1"), ("trigger", "hist:keys=numbers"), ("trigger", "hist:keys=common_pid:vals=numbers")):
            with self.assertRaises(OSError, msg=text):
                self.echo(text, f"events/kprobes/r/{file}", "w")
        for event in "rs":
            self.echo("1", f"events/kprobes/{event}/enable", "w")
        self.target.stdin.write("\n\n\n")
        self.target.stdin.flush()
        wait_until(lambda: self.cat("trace").count(" s: ") == 3, "three rounds")
        self.assertEqual(records(self.cat("trace"), "r"), [{"numbers": numbers, "prices": prices, "x": "{}"} for numbers, prices in (("{}", "{}"), ("{-10}", "{0}"), ("{-10,-3}", "{0,0.25}"))])
        self.assertEqual(records(self.cat("trace"), "s"), [{"b": text} for text in ("", "000102", "00010228292a")])


if __name__ == "__main__":
    main()
