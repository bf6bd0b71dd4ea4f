"""A program with much debug information: many units of many functions, each with a structure of its own.

Its main calls work_500 of unit 2 with a structure of zeros and 3, and prints how many ms ago argv[1] was (CLOCK_MONOTONIC,
ns). The compiler makes one unit; the others are its text with other names, which costs a tenth of the time.
"""
import os
import subprocess
import tempfile

MARK = "unit000"  # in every name of a unit's; each unit has its own number there
CALLED = 500

MAIN = f"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
struct unit002_thing_{CALLED};
int unit002_work_{CALLED}(struct unit002_thing_{CALLED} *thing, int count);
int main(int argc, char **argv) {{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  double start = argc > 1 ? atof(argv[1]) : 0;
  printf("startup_ms %.3f\\n", (now.tv_sec * 1e9 + now.tv_nsec - start) / 1e6);
  return unit002_work_{CALLED}(calloc(1, 4096), 3) != 3;
}}
"""


def unit_source(functions, members):
    lines = []
    for number in range(functions):
        fields = " ".join(f"int {MARK}_field_{number}_{member};" for member in range(members))
        lines += [
            f"struct {MARK}_thing_{number} {{ {fields} }};",
            f"int {MARK}_work_{number}(struct {MARK}_thing_{number} *thing, int count) {{",
            "  int sum = 0;",
            "  for (int i = 0; i < count; ++i) {",
            f"    int value = thing->{MARK}_field_{number}_{number % members} + i;",
            "    sum += value;",
            "  }",
            "  return sum;",
            "}",
        ]
    return lines


def line_of_sum():
    """At which work_500 adds to its sum."""
    return 9 * CALLED + 6


def make(folder, units, functions, members):
    """The program, which is made if it is not there. `functions` is more than 500."""
    program = os.path.join(folder, "large")
    if os.path.exists(program):
        return program
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as made:
        with open(f"{made}/{MARK}.c", "w", encoding="utf-8") as file:
            file.write("\n".join(unit_source(functions, members)) + "\n")
        subprocess.run(["gcc", "-g", "-O1", "-S", "-o", "unit.s", f"{MARK}.c"], cwd=made, check=True)
        with open(f"{made}/unit.s", encoding="utf-8") as file:
            text = file.read()
        objects = []
        for unit in range(units):
            name = f"{made}/unit{unit:03}"
            with open(f"{name}.s", "w", encoding="utf-8") as file:
                file.write(text.replace(MARK, f"unit{unit:03}"))
            subprocess.run(["as", "-o", f"{name}.o", f"{name}.s"], check=True)
            os.remove(f"{name}.s")
            objects.append(f"{name}.o")
        with open(f"{made}/main.c", "w", encoding="utf-8") as file:
            file.write(MAIN)
        subprocess.run(["gcc", "-g", "-o", program, f"{made}/main.c", *objects, "-Wl,--build-id"], check=True)
    return program
