"""Lines of the source and variables: of C with and without optimization, of C++, Rust and Go; values against what the
program prints, hits against how often it says that it was there."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from kevtest import KEVTRACE, PROGRAMS, main
from mounted import MountTest, wait_until

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
ROUNDS = 12


def line_of(source, word):
    """The number of the line that ends in `// WORD`."""
    with open(os.path.join(SOURCES, source)) as file:
        found = [number for number, line in enumerate(file, 1) if line.rstrip().endswith("// " + word)]
    assert len(found) == 1, word
    return found[0]


def records(out, event):
    """[{"name": "value"}] of the event's trace lines."""
    return [dict(re.findall(r'(\w+)=("[^"]*"|\{[^}]*\}|\S+)', line.split(") ", 1)[-1] if ") " in line else ""))
            for line in out.splitlines() if re.search(rf" {event}: \(", line)]


def said(out, word):
    """The numbers that stand behind the word, line by line."""
    return [line.split()[1:] for line in out.splitlines() if re.match(rf"{word} ", line)]


class Traced(unittest.TestCase):
    def traced(self, program, *words, status=0, arguments=(str(ROUNDS),)):
        done = subprocess.run([KEVTRACE, "run", *words, "--", program, *arguments], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def refused(self, program, definition):
        return self.traced(program, "-e", definition, status=3).stderr


class Lines(Traced):
    def each(self):
        for name in ("lines0", "lines2"):
            yield os.path.join(PROGRAMS, name)

    def test_local_variables_are_what_the_program_prints(self):
        for program in self.each():
            name = os.path.basename(program)
            done = self.traced(program, "-e", f"p:area {name}:lines.c:{line_of('lines.c', 'area')} width height area",
                               "-e", f"p:main {name}:lines.c:{line_of('lines.c', 'main')} round area sum both",
                               "-e", f"p:twice {name}:calls_twice:3 one other")
            for event, names in (("area", ("width", "height", "area")), ("main", ("round", "area", "sum", "both")), ("twice", ("one", "other"))):
                self.assertEqual([[record[n] for n in names] for record in records(done.stdout, event)], said(done.stdout, event), event)
                self.assertEqual(len(said(done.stdout, event)), ROUNDS)

    def test_a_line_is_hit_as_often_as_it_is_executed(self):
        """A loop's body, a block, each copy of an inlined function, a loop's head once for the loop."""
        body = sum(round + 2 for round in range(1, ROUNDS + 1))
        for program in self.each():
            name = os.path.basename(program)
            # GCC 12 marks no statement in the copy of `return sum;` that it makes for the usual way.
            words = ("body", "block", "inlined", "sum") if name == "lines0" else ("body", "block", "inlined")
            lines = {word: line_of("lines.c", word) for word in words}
            done = self.traced(program, *(word for event, line in lines.items() for word in ("-e", f"p:{event} {name}:lines.c:{line}")),
                               "-e", f"p:head {name}:lines.c:{lines['body'] - 1}", "-e", f"p:entry {name}:sum_to:0")
            blocks = len(re.findall("^too much", done.stdout, re.MULTILINE))
            self.assertGreater(blocks, 0)
            for event, hits in (("body", body), ("block", blocks), ("inlined", 2 * ROUNDS), ("sum", ROUNDS), ("head", ROUNDS), ("entry", ROUNDS)):
                if event == "sum" and event not in words:
                    continue
                self.assertIn(f"{event}: hits {hits} = recorded {hits} ", done.stderr)

    def test_values_in_a_block_and_in_copies(self):
        for program in self.each():
            name = os.path.basename(program)
            line = line_of("lines.c", "inlined")
            done = self.traced(program, "-e", f"p:block {name}:lines.c:{line_of('lines.c', 'block')} area s->label:string",
                               "-e", f"p:copy {name}:lines.c:{line - 1} given")
            too_much = [line.split()[2] for line in done.stdout.splitlines() if line.startswith("too much")]
            self.assertEqual([(str(int(r["area"]) - 1000), r["label"]) for r in records(done.stdout, "block")], [(one, '"first"') for one in too_much])
            ones = [int(one) for one, _ in said(done.stdout, "twice")]
            self.assertEqual([int(r["given"]) for r in records(done.stdout, "copy")],
                             [value for round, one in enumerate(ones, 1) for value in (round, one)])

    def test_members_items_and_variables_of_the_file(self):
        program = os.path.join(PROGRAMS, "lines0")
        done = self.traced(program, "-e", f"p:a lines0:lines.c:{line_of('lines.c', 'area')} s->id x=s->at.x s->label:string tag=s->tag next=s->next->label:string "
                           "scale2=s->scale w=s->weight level=s->level visible=s->visible kind=s->kind other=s->next->kind c=s->corners[1].x "
                           "all_counters second=all_counters[1] zeros=many_zeros[3] counter low=s->id:u8 behind=+8(s):x64 first=+0(s->label):char",
                           "-e", f"p:show lines0:lines.c:{line_of('lines.c', 'show')} text local.x y=local.y first->next->id len=text:string", arguments=("2",))
        first, second = records(done.stdout, "a")
        self.assertRegex(first.pop("behind"), "^0x[0-9a-f]+$")
        self.assertEqual(first, {"id": "1", "x": "1", "label": '"first"', "tag": '"tagged"', "next": '"second"', "scale2": "-0.5", "w": "2.5", "level": "19",
                                 "visible": "1", "kind": "5", "other": "-2", "c": "3", "all_counters": "{1,2,3,4}", "second": "2", "zeros": "0", "counter": "7",
                                 "low": "1", "first": "'f'"})
        self.assertEqual((second["x"], second["zeros"], second["counter"]), ("2", "1", "9"))
        self.assertEqual(records(done.stdout, "show"), [{"text": f'"round {n}"', "x": str(n), "y": str(10 * n), "id": str(100 + n - 1), "len": f'"round {n}"'} for n in (1, 2)])

    def test_globals_in_optimized_code(self):
        program = os.path.join(PROGRAMS, "lines2")
        done = self.traced(program, "-e", f"p:a lines2:lines.c:{line_of('lines.c', 'area')} counter all_counters", arguments=("3",))
        self.assertEqual(records(done.stdout, "a"), [{"counter": str(7 + 2 * n), "all_counters": "{1,2,3,4}"} for n in range(3)])

    def test_all_variables(self):
        for program in self.each():
            name = os.path.basename(program)
            done = self.traced(program, "-e", f"p:all {name}:calls_twice:3 $vars", "-e", f"p:given {name}:show:0 $params", arguments=("3",))
            self.assertEqual([list(r) for r in records(done.stdout, "given")], [["first", "round"]] * 3)
            self.assertEqual([r["round"] for r in records(done.stdout, "given")], ["1", "2", "3"])
            self.assertEqual([[r["one"], r["other"]] for r in records(done.stdout, "all")], said(done.stdout, "twice"))
        self.assertEqual([list(r) for r in records(done.stdout, "all")], [["one", "other"]] * 3, "without what cannot be read there")

    def test_all_members_of_a_structure(self):
        """`first` of main, and the shape behind it, as the source fills them in."""
        own = {"id": "1", "tag": '"tagged"', "kind": "5", "visible": "1", "level": "19", "weight": "2.5"}
        behind = {"next_tag": '""', "next_kind": "-2", "next_next": "0x0", "next_visible": "0", "next_weight": "0"}
        for program in self.each():
            name = os.path.basename(program)
            done = self.traced(program, "-e", f"p:line {name}:area_of:1 s->* s->next->*", "-e", "p:entry area_of s->* scale s->at.*",
                               "-e", f"p:path {program}:area_of s->* scale s->at.*", arguments=("2",))
            for event, more in (("line", {"scale": "-0.5", **behind}), ("entry", {"s_scale": "-0.5", "scale": "3"}), ("path", {"s_scale": "-0.5", "scale": "3"})):
                made = records(done.stdout, event)
                self.assertEqual(len(made), 2, event)
                for record in made:
                    self.assertLessEqual({**own, **more}.items(), record.items(), event)
                    self.assertNotIn("at", record, "a structure is no argument")
            for event in ("entry", "path"):
                self.assertEqual([(int(r["x"]) * 3, int(r["y"]) * 3) for r in records(done.stdout, event)], [(int(w), int(h)) for w, h, _ in said(done.stdout, "area")])

    def test_all_members_of_what_is_no_structure(self):
        for definition, word in (("p:e area_of scale->*", "no pointer"), ("p:e area_of s.*", "write `->`"), ("p:e area_of nobody->*", "no parameter `nobody`"),
                                 ("p:e area_of n=s->*", "several members"), ("p:e area_of s->*:u8", "several members"),
                                 (f"p:e lines0:lines.c:{line_of('lines.c', 'area')} scale->*", "no pointer"), (f"p:e lines0:lines.c:{line_of('lines.c', 'area')} n=s->*", "several members")):
            self.assertIn(word, self.refused(os.path.join(PROGRAMS, "lines0"), definition), definition)

    def test_filters_triggers_and_counts_by_a_variable(self):
        for program in self.each():
            name = os.path.basename(program)
            line = line_of("lines.c", "area")
            done = self.traced(program, "-e", f"p:area {name}:lines.c:{line} area", "--filter", "area: area > 500")
            large = [area for _, _, area in said(done.stdout, "area") if int(area) > 500]
            self.assertEqual([r["area"] for r in records(done.stdout, "area")], large)
            self.assertIn(f"area: hits {ROUNDS} = recorded {len(large)} + filtered {ROUNDS - len(large)} ", done.stderr)
            done = self.traced(program, "-e", f"p:body {name}:lines.c:{line_of('lines.c', 'body')} i", "--hist", "body:keys=i:sort=i")
            self.assertIn("{ i:          0 } hitcount:         %2d\n" % ROUNDS, done.stdout)

    def test_the_name_of_an_event_without_one(self):
        program = os.path.join(PROGRAMS, "lines0")
        done = self.traced(program, "-e", "p lines0:sum_to:0 n", "-e", f"p lines0:lines.c:{line_of('lines.c', 'sum')} sum", arguments=("1",))
        self.assertEqual(records(done.stdout, "sum_to_L0"), [{"n": "3"}])
        self.assertEqual(len(records(done.stdout, f"lines_c_L{line_of('lines.c', 'sum')}")), 1)

    def test_explain_shows_what_it_means(self):
        done = subprocess.run([KEVTRACE, "explain", "-e", f"p:e lines0:lines.c:{line_of('lines.c', 'sum')} sum", "--", os.path.join(PROGRAMS, "lines0")],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"p:uprobes/e /\S+/lines0:0x[0-9a-f]+ sum=[-+]\d+\(%bp\):s32|p:uprobes/e /\S+/lines0:0x[0-9a-f]+ sum=[-+]\d+\(%sp\):s32")

    def test_mistakes_say_what_is_there(self):
        plain, fast = (os.path.join(PROGRAMS, name) for name in ("lines0", "lines2"))
        area, body = line_of("lines.c", "area"), line_of("lines.c", "body")
        for program, definition, words in (
                (plain, f"p:e lines0:lines.c:{area} widht", ["NO_BTFARG", "there is no variable `widht`; near it: `width`"]),
                (plain, f"p:e lines0:lines.c:{area} s.id", ["write `->id`"]),
                (plain, f"p:e lines0:lines.c:{area} s->idd", ["has no member `idd`; it has `id`, `label`"]),
                (plain, f"p:e lines0:lines.c:{area} s->at", ["`struct point`: name one of its members; it has `x`, `y`"]),
                (plain, f"p:e lines0:lines.c:{area} s->corners[3].x", ["it has 3 items"]),
                (plain, f"p:e lines0:lines.c:{area} width->x", ["it is a `int`, no pointer"]),
                (plain, f"p:e lines0:lines.c:{area} width:string", ["it is a `int`, no text"]),
                (plain, f"p:e lines0:lines.c:{area} s->id:enum", ["not an enumeration"]),
                (plain, f"r:e lines0:lines.c:{area}", ["`p` probes it"]),
                (plain, "p:e lines0:lines.c:2", ["line 2 of", "has no code of its own; lines near it that have code: "]),
                (plain, "p:e lines0:line.c:2", ["has no place for `line.c:2`; near it: `lines.c`"]),
                (plain, "p:e lines0:area_off:2", ["near it: `area_of`"]),
                (plain, "p:e lib0:area_of:2", ["`lib0` is not loaded"]),
                (fast, f"p:e lines2:lines.c:{area} s->id", ["only its value at the function's entry is described there; it can be read at line"]),
                (fast, f"p:e lines2:lines.c:{line_of('lines.c', 'block')} too_much", ["a sum of a register and a number"]),
                (fast, f"p:e lines2:lines.c:{line_of('lines.c', 'inlined')} doubled", ["`twice`, inlined into `calls_twice`", "optimized out"])):
            err = self.refused(program, definition)
            for word in words:
                self.assertIn(word, err, definition)
        bare = subprocess.run([KEVTRACE, "check", "--kernel", "6.1", "-"], input=f"p:e lines0:lines.c:{body} i\n", capture_output=True, text=True, timeout=30)
        self.assertIn("`FILE:SOURCE:LINE` is a line of the source", bare.stdout + bare.stderr)

    def test_a_program_without_debug_information_says_so(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        bare = os.path.join(folder, "bare")
        shutil.copy(os.path.join(PROGRAMS, "lines0"), bare)
        subprocess.run(["strip", bare], check=True)
        self.assertIn("debug", self.refused(bare, "p:e bare:lines.c:40"))


ODD = """
#include <cstdint>
#include <cstdio>
enum Level : uint8_t { kLow = 3, kHigh = 200 };
struct Base { virtual ~Base() = default; int kept = 5; };
struct Wall : virtual Base { int own = 6; };
int shared = 17;
template <class T> __attribute__((noinline)) void show(T value) {
  volatile double seen = value;
  std::printf("show %g\\n", seen);  // show
}
__attribute__((noinline, cold)) void rare(int i) { std::printf("rare %d\\n", i); }
__attribute__((noinline)) int check(int i) {
  if (__builtin_expect(i == 3, 0)) rare(i);  // check
  return i + 1;
}
static inline int count_up(int by) {
  static int times = 0;
  times += by;
  return times;  // times
}
__attribute__((noinline)) int odd(int round) {
  int rows[2][3] = {{1, 2, 3}, {4, 5, 6 + round}};
  uint8_t digest[4] = {1, 0, 2, 255};
  char name[8] = "odd";
  const char* text = "a text";
  Level level = kHigh;
  int other[3] = {7, 8, 9};
  const int* in_rows = &other[1];
  {
    extern int shared;
    std::printf("odd %d %d %s %s %d %d %d\\n", rows[1][2], digest[3], name, text, level, shared, *in_rows);  // odd
  }
  return count_up(round);
}
int main() {
  for (int round = 1; round <= 5; ++round) {
    Wall wall;
    auto twice = [](int x) {
      int doubled = 2 * x;
      std::printf("twice %d\\n", doubled);  // twice
      return doubled;
    };
    check(round);
    twice(odd(round) + wall.own);
    show(round);
    show(round + 0.5);
  }
}
"""


class Compilers(Traced):
    """The same source by other compilers, levels and versions of DWARF, and what is seldom written."""

    def compiled(self, compiler, *options, source=os.path.join(SOURCES, "lines.c")):
        if not shutil.which(compiler):
            self.skipTest(compiler + " is not here")
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        program = os.path.join(folder, "prog")
        subprocess.run([compiler, *options, "-g", "-o", program, source], check=True, timeout=120)
        return program

    def odd(self, *options, compiler="g++"):
        with tempfile.NamedTemporaryFile("w", suffix="odd.cpp", delete=False) as file:
            file.write(ODD)
        self.addCleanup(os.unlink, file.name)
        self.lines = {line.split("// ")[1]: number for number, line in enumerate(ODD.splitlines(), 1) if "  // " in line}
        self.source = os.path.basename(file.name)
        return self.compiled(compiler, "-std=c++17", *options, source=file.name)

    def test_members_in_every_version_of_dwarf(self):
        area = line_of("lines.c", "area")
        for compiler, *options in (("gcc", "-O0", "-gdwarf-3"), ("gcc", "-O0", "-gdwarf-4"), ("gcc", "-O0", "-gdwarf-5", "-gz"), ("gcc", "-O0", "-no-pie"), ("clang", "-O0"), ("clang", "-O0", "-gdwarf-4")):
            if not shutil.which(compiler):
                continue
            program = self.compiled(compiler, *options)
            done = self.traced(program, "-e", f"p:a prog:lines.c:{area} width height area level=s->level visible=s->visible kind=s->kind other=s->next->kind w=s->weight", arguments=("3",))
            self.assertEqual([[r[n] for n in ("width", "height", "area")] for r in records(done.stdout, "a")], said(done.stdout, "area"), options)
            self.assertEqual([r["level"] + r["visible"] + r["kind"] + r["other"] + r["w"] for r in records(done.stdout, "a")], ["191" + "5-2" + "2.5"] * 3, (compiler, options))

    def test_hits_at_every_level(self):
        body = sum(round + 2 for round in range(1, 4))
        for options in (("-O1",), ("-Og",), ("-O2",), ("-O2", "-gno-record-gcc-switches"), ("-Os",)):
            program = self.compiled("gcc", *options)
            done = self.traced(program, "-e", f"p:body prog:lines.c:{line_of('lines.c', 'body')}", "-e", f"p:area prog:lines.c:{line_of('lines.c', 'area')} area", arguments=("3",))
            self.assertIn(f"body: hits {body} = ", done.stderr, options)
            self.assertEqual([[r["area"]] for r in records(done.stdout, "area")], [[a] for _, _, a in said(done.stdout, "area")], options)

    def test_what_is_seldom_written(self):
        program = self.odd("-O0")
        place = f"prog:{self.source}:"
        done = self.traced(program, "-e", f"p:odd {place}{self.lines['odd']} corner=rows[1][2] first=rows[0] digest name level shared text:string item=+4(in_rows):s32", "-e", f"p:twice {place}{self.lines['twice']} doubled",
                           "-e", f"p:n prog:show<int>:2 value", "-e", f"p:f prog:show<double>:2 value", arguments=())
        self.assertEqual(records(done.stdout, "odd"), [{"corner": str(6 + n), "first": "{1,2,3}", "digest": "{1,0,2,255}", "name": '"odd"', "level": "200", "shared": "17", "text": '"a text"', "item": "9"} for n in range(1, 6)])
        self.assertEqual([[r["doubled"]] for r in records(done.stdout, "twice")], said(done.stdout, "twice"))
        self.assertEqual([r["value"] for r in records(done.stdout, "n")], ["1", "2", "3", "4", "5"])
        self.assertEqual([r["value"] for r in records(done.stdout, "f")], ["1.5", "2.5", "3.5", "4.5", "5.5"])
        for definition, words in ((f"p:s {place}{self.lines['show']} value", "write a type, or name one of the functions"), (f"p:s {place}{self.lines['odd']} x=+4(rows):s32", "no pointer"),
                                  ("p:s prog:odd:400", "the next function at line"), ("p:s prog:main:4294967290", "the next function at line"), (f"p:s {place}{self.lines['odd']} rows[2]", "it has 2 items")):
            self.assertIn(words, self.refused(program, definition))

    def test_a_seldom_branch_is_no_place_of_its_own(self):
        for options in (("-O2",), ("-O3",)):
            program = self.odd(*options)
            done = self.traced(program, "-e", f"p:check prog:{self.source}:{self.lines['check']} i", arguments=())
            self.assertEqual([r["i"] for r in records(done.stdout, "check")], ["1", "2", "3", "4", "5"], options)
        done = self.traced(program, "-e", f"p:times prog:{self.source}:{self.lines['times']} times", arguments=())
        self.assertEqual(len(records(done.stdout, "times")), 5)

    def test_split_debug_information_is_named(self):
        program = self.compiled("gcc", "-O0", "-gsplit-dwarf")
        self.assertIn(".dwo", self.refused(program, f"p:e prog:lines.c:{line_of('lines.c', 'area')} width"))


class KeptIndex(Traced):
    """Files and functions of a large program are looked for once, and kept by its build id."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kevt_kept_")
        self.addCleanup(shutil.rmtree, self.folder)
        self.cache = os.path.join(self.folder, "kevtrace")

    def area(self, program):
        done = subprocess.run([KEVTRACE, "run", "-e", f"p:area {os.path.basename(program)}:area_of:3 width height", "--", program, str(ROUNDS)],
                              capture_output=True, text=True, timeout=120, env={**os.environ, "XDG_CACHE_HOME": self.folder})
        self.assertEqual(done.returncode, 0, done.stderr)
        return [(record["width"], record["height"]) for record in records(done.stdout, "area")]

    def test_answers_are_the_same_with_it_and_without(self):
        small = os.path.join(PROGRAMS, "lines0")
        expected = self.area(small)
        self.assertEqual(len(expected), ROUNDS)
        self.assertFalse(os.path.exists(self.cache), "a small program's is not kept")
        large, padding = os.path.join(self.folder, "lines0"), os.path.join(self.folder, "padding")
        with open(padding, "wb") as file:
            file.write(b"\1" * (17 << 20))
        subprocess.run(["objcopy", "--add-section", f".padding={padding}", small, large], check=True)
        self.assertEqual(self.area(large), expected)
        kept = sorted(os.listdir(self.cache))
        self.assertEqual([name.split("-")[1] for name in kept], ["files.kept", "functions.kept"])
        self.assertEqual(self.area(large), expected)
        for name in kept:
            with open(os.path.join(self.cache, name), "r+b") as file:
                file.seek(40)
                file.write(b"damage")
        self.assertEqual(self.area(large), expected)


class Listed(Traced):
    def listed(self, *words, status=0):
        done = subprocess.run([KEVTRACE, "list", "-L", *words], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_lines_with_variables_and_source(self):
        out = self.listed("area_of", os.path.join(PROGRAMS, "lines0"))
        area = line_of("lines.c", "area")
        self.assertRegex(out, rf"(?m)^ +{area} +s scale width height area +\| +printf\(\"area ")
        self.assertRegex(out, rf"(?m)^ +{area - 2} +too_much s scale width height area ")
        fast = self.listed("area_of", os.path.join(PROGRAMS, "lines2"))
        self.assertRegex(fast, rf"(?m)^ +{area} +width height area \(s\) \(scale\) ")

    def test_a_part_of_a_function_counts_from_its_first_line(self):
        program = os.path.join(PROGRAMS, "lines0")
        numbers = lambda out: [int(number) for number in re.findall(r"(?m)^ +(\d+) ", out)]
        whole = numbers(self.listed("area_of", program))
        part = numbers(self.listed("area_of:0-2", program))
        self.assertEqual(part, [number for number in whole if number <= part[0] + 2])
        self.assertLess(len(part), len(whole))

    def test_what_is_listed_can_be_probed(self):
        for name in ("lines0", "lines2", "shop0", "shop2"):
            source = name[:-1] + (".c" if name.startswith("lines") else ".cpp")
            program = os.path.join(PROGRAMS, name)
            rows = re.findall(r"(?m)^ +(\d+) (x\d+|  )?(.*?)(?:  \|.*)?$", self.listed(source, program))
            self.assertGreaterEqual(len(rows), 15)
            # A line where only objects are in sight (a structure has no value of its own) is probed without them.
            definitions = {f"l{line}": f"p:l{line} {name}:{source}:{line} $vars" for line, _, _ in rows}
            done = self.probed(program, definitions)
            for number in re.findall(r"<event (\d+)>:\d+:\d+: error: .*no variable can be read at", done.stderr):
                event = list(definitions)[int(number) - 1]
                definitions[event] = definitions[event].removesuffix(" $vars")
            done = self.probed(program, definitions)
            self.assertEqual(done.returncode, 0, done.stderr)
            hits = [int(n) for n in re.findall(r"(?m)^l\d+: hits (\d+) = ", done.stderr)]
            self.assertEqual(len(hits), len(definitions))
            self.assertGreater(sum(n > 0 for n in hits), len(hits) // 2)

    def probed(self, program, definitions):
        words = [word for one in definitions.values() for word in ("-e", one)]
        return subprocess.run([KEVTRACE, "run", *words, "--", program, "2"], capture_output=True, text=True, errors="replace", timeout=120)

    def test_a_range_and_what_is_not_there(self):
        program = os.path.join(PROGRAMS, "lines0")
        body = line_of("lines.c", "body")
        out = self.listed(f"lines.c:{body}-{body + 2}", program)
        self.assertEqual(re.findall(r"(?m)^ +(\d+)", out), [str(body), str(body + 2)])
        self.assertIn("near it: `area_of`", self.listed("area_off", program, status=1))
        self.assertIn("no line of", self.listed("lines.c:1-2", program, status=1))
        self.assertIn("which lines of which file?", self.listed("area_of", status=2))


OBJECTS = ("item", "clerk", "local", "first", "second", "name", "note", "counts", "sizes", "text", "a", "b", "best", "__a", "__n", "__s")


class Completed(unittest.TestCase):
    """What a shell offers behind what is typed, before the program is started."""

    def offered(self, typed, program="lines0"):
        before = f"kevtrace run -e '{typed}"
        done = subprocess.run([KEVTRACE, "completion", "--before", before, "--behind", f"' -- {os.path.join(PROGRAMS, program)}"],
                              capture_output=True, text=True, timeout=60)
        return dict(line.split("\t", 1) if "\t" in line else (line, "") for line in done.stdout.splitlines())

    def test_files_lines_and_what_can_be_read_there(self):
        self.assertEqual(self.offered("p:a lines0:li"), {"p:a lines0:lines.c:": "lines of the file"})
        area = line_of("lines.c", "area")
        lines = self.offered(f"p:a lines0:lines.c:{area}")
        self.assertIn(f"p:a lines0:lines.c:{area}", lines)
        for word in ("s", "scale", "width", "height", "area"):
            self.assertIn(word, lines[f"p:a lines0:lines.c:{area}"].split())
        all_lines = self.offered("p:a lines0:lines.c:")
        self.assertEqual(sorted(all_lines, key=lambda text: int(text.rsplit(":", 1)[1])), list(all_lines))
        self.assertEqual(self.offered(f"p:a lines0:lines.c:{area} wi"), {f"p:a lines0:lines.c:{area} width": "int"})
        self.assertEqual(self.offered("p:a lines0:no_such.c:1"), {})

    def test_each_that_is_offered_can_be_probed(self):
        offered = list(self.offered("p:a lines0:lines.c:8"))
        self.assertTrue(offered)
        words = [word for i, one in enumerate(offered) for word in ("-e", one.replace("p:a ", f"p:a{i} ") + " $vars")]
        done = subprocess.run([KEVTRACE, "run", "-q", "-o", "/dev/null", "-f", "text", *words, "--", os.path.join(PROGRAMS, "lines0"), str(ROUNDS)],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)


class BesidePerf(Traced):
    """`perf probe -D` says where it would put its uprobes, and reads variables by the same language."""

    def setUp(self):
        if not shutil.which("perf"):
            self.skipTest("perf is not here")

    def of_perf(self, program, question):
        done = subprocess.run(["perf", "probe", "-x", program, "-D", question], capture_output=True, text=True, timeout=60)
        return {int(offset, 16): rest for offset, rest in re.findall(r"(?m)^p:\S+ \S+:(0x[0-9a-f]+)(.*)$", done.stdout)}

    def of_ours(self, program, question):
        place, *words = question.split()
        done = subprocess.run([KEVTRACE, "explain", "-e", f"p:e {program}:{place} {' '.join(words)}", "--", program], capture_output=True, text=True, timeout=60)
        return {int(offset, 16): rest for offset, rest in re.findall(r"p:uprobes/e \S+:(0x[0-9a-f]+)(.*)$", done.stdout, re.MULTILINE)}

    def test_each_line_and_variable_that_perf_knows(self):
        """Ours are among perf's places, which has several for one statement; what both read there, they read alike."""
        answered, by_ours_alone = 0, []
        for name in ("lines0", "lines2", "shop0", "shop2"):
            program, source = os.path.join(PROGRAMS, name), name[:-1] + (".c" if name.startswith("lines") else ".cpp")
            listed = subprocess.run([KEVTRACE, "list", "-L", source, program], capture_output=True, text=True, check=True).stdout
            for line, _, variables in re.findall(r"(?m)^ +(\d+) (x\d+|  )?(.*?)(?:  \|.*)?$", listed):
                readable = [word for word in variables.split() if not word.startswith("(") and word not in OBJECTS]
                question = " ".join([f"{source}:{line}", *readable])
                perf, ours = self.of_perf(program, question), self.of_ours(program, question)
                self.assertTrue(ours, f"{name}: {question}")
                if not perf:
                    by_ours_alone.append(question)
                    continue
                both = set(perf) & set(ours)
                if name.endswith("0") and not both and "(%sp)" in "".join(perf.values()):
                    continue  # at a function's entry perf reads a frame that is not made yet; ours is behind the prologue
                with self.subTest(program=name, question=question):
                    self.assertTrue(both, (perf, ours))
                    for offset in both:
                        values = [dict(re.findall(r" (\w+)=([^ :]+)", answer)) for answer in (perf[offset], ours[offset])]
                        for variable in set(values[0]) & set(values[1]):
                            self.assertEqual(values[0][variable], values[1][variable], variable)
                    answered += 1
        self.assertGreater(answered, 60)
        self.assertGreater(len(by_ours_alone), 5, "lines that share an address with others")


class Cpp(Traced):
    def test_objects_references_bases_and_templates(self):
        program = os.path.join(PROGRAMS, "shop0")
        done = self.traced(program, "-e", f"p:s shop0:shop.cpp:{line_of('shop.cpp', 'serve')} this->name_ item.name item.price item.number text note second=counts[1] third=sizes[2] this->served_",
                           "-e", f"p:l shop0:shop.cpp:{line_of('shop.cpp', 'larger')} best:s32", "-e", "p:m shop0:shop::larger:1 a:s32", arguments=("3",))
        self.assertEqual(records(done.stdout, "s"), [{"name_": '"Ada"', "name": f'"apple {n}"', "price": f"{n / 2:g}", "number": str(1000 + n), "text": f'"apple {n}!"', "note": '"a n"',
                                                      "second": str(n), "third": "9", "served_": str(sum(range(1, n + 1)) + 9 * n)} for n in (1, 2, 3)])
        self.assertEqual([[r["best"]] for r in records(done.stdout, "l")], said(done.stdout, "larger"))
        self.assertEqual(len(records(done.stdout, "m")), 6, "two instances of the template")

    def test_optimized(self):
        program = os.path.join(PROGRAMS, "shop2")
        done = self.traced(program, "-e", f"p:s shop2:shop.cpp:{line_of('shop.cpp', 'serve')} this->name_ text", "-e", "p:l shop2:shop::larger:0 a:s32 b:s32", arguments=("3",))
        self.assertEqual(records(done.stdout, "s"), [{"name_": '"Ada"', "text": f'"apple {n}!"'} for n in (1, 2, 3)])
        self.assertEqual(len(records(done.stdout, "l")), 6)


RUST = """
struct Order { id: u32, name: String, price: f64, items: Vec<u32> }
#[inline(never)]
fn total(order: &Order, note: &str, parts: &[u16]) -> f64 {
    let count = order.items.len();
    let mut sum = 0.0;
    for item in order.items.iter() {
        sum += *item as f64 * order.price;
    }
    println!("{} {} {} {} {}", order.name, note, count, sum, parts[1]);
    sum
}
fn main() {
    let order = Order { id: 7, name: String::from("tea"), price: 2.5, items: vec![1, 2, 3] };
    println!("{} {}", total(&order, "soon", &[4, 5]), order.id);
}
"""
GO = """package main

import "fmt"

type order struct {
	id    int
	name  string
	items []int32
}

//go:noinline
func total(o *order, note string) int {
	sum := 0
	for i, item := range o.items {
		sum += i * int(item)
	}
	fmt.Println(o.name, note, sum)
	return sum
}

func main() {
	fmt.Println(total(&order{7, "tea", []int32{1, 2, 3}}, "soon"))
}
"""


class OtherLanguages(Traced):
    def compiled(self, compiler, name, text, *options):
        if not shutil.which(compiler):
            self.skipTest(compiler + " is not here")
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        source, program = os.path.join(folder, name), os.path.join(folder, "prog")
        with open(source, "w") as file:
            file.write(text)
        done = subprocess.run([compiler, *options, "-o", program, source], capture_output=True, text=True, timeout=300,
                              env=dict(os.environ, GOCACHE=os.path.join(folder, "cache"), HOME=os.environ.get("HOME", folder)))
        self.assertEqual(done.returncode, 0, done.stderr)
        return program

    def test_rust(self):
        expected = {"id": "7", "name": '"tea"', "price": "2.5", "note": '"soon"', "count": "3", "sum": "15", "len": "3"}
        for options, more, values in ((("-g",), "second=parts[1]", {"second": "5"}), (("-g", "-O"), "", {})):
            program = self.compiled("rustc", "lines.rs", RUST, *options)
            done = self.traced(program, "-e", f"p:t prog:lines.rs:10 order->id order->name order->price note count sum len=order->items.len {more}",
                               "-e", "p:i prog:lines.rs:8 sum", arguments=())
            self.assertEqual(records(done.stdout, "t"), [expected | values])
            self.assertEqual([r["sum"] for r in records(done.stdout, "i")], ["0", "2.5", "7.5"])
            for all_members in ("order->*", "order.*"):  # of a reference either sign is right
                done = self.traced(program, "-e", f"p:t prog:lines.rs:10 {all_members}", arguments=())
                record, = records(done.stdout, "t")
                self.assertLessEqual({"id": "7", "name": '"tea"', "price": "2.5"}.items(), record.items())

    def test_go(self):
        plain = self.compiled("go", "lines.go", GO, "build", "-gcflags=-N -l")
        done = self.traced(plain, "-e", "p:t prog:lines.go:17 o->id o->name note sum second=o->items[1]", "-e", "p:i prog:main.total:3 i item sum", arguments=())
        self.assertEqual(records(done.stdout, "t"), [{"id": "7", "name": '"tea"', "note": '"soon"', "sum": "8", "second": "2"}])
        self.assertEqual(records(done.stdout, "i"), [{"i": str(i), "item": str(i + 1), "sum": str(s)} for i, s in enumerate((0, 0, 2))])
        fast = self.compiled("go", "lines.go", GO, "build")
        done = self.traced(fast, "-e", "p:t prog:lines.go:17 o->id o->name note sum", arguments=())
        self.assertEqual(records(done.stdout, "t"), [{"id": "7", "name": '"tea"', "note": '"soon"', "sum": "8"}])


class InAMount(MountTest):
    COMMAND = (os.path.join(PROGRAMS, "lines0"), "3", "by hand")

    def test_a_running_program(self):
        path, line = os.path.join(PROGRAMS, "lines0"), line_of("lines.c", "area")
        self.echo(f"p:area lines0:lines.c:{line} width s->label:string\n", "dynamic_events")
        self.assertRegex(self.cat("dynamic_events"),
                         rf"^p:uprobes/area {re.escape(path)}:0x[0-9a-f]+ width=[-+]\d+\(%[bs]p\):s32 label=\+0\(\+8\([-+]\d+\(%[bs]p\)\)\):string\n$")
        self.echo("1", "events/uprobes/area/enable", "w")
        self.target.stdin.write("\n\n\n")
        self.target.stdin.flush()
        wait_until(lambda: self.cat("trace").count(" area: ") == 3, "three rounds")
        self.assertEqual(records(self.cat("trace"), "area"), [{"width": str(3 * n), "label": '"first"'} for n in (1, 2, 3)])

    def test_a_mistake_is_in_error_log(self):
        with self.assertRaises(OSError):
            self.echo(f"p:x lines0:lines.c:{line_of('lines.c', 'area')} nosuch\n", "dynamic_events")
        self.assertIn("This variable is not found at this probe point", self.cat("error_log"))


if __name__ == "__main__":
    main()
