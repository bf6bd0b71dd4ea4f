"""std::string in every way that a function can be given one, and references to numbers: values against what the program prints."""
import os
import re
import subprocess
import unittest

from kevtest import KEVTRACE, PROGRAMS, main

TEXTS = os.path.join(PROGRAMS, "texts")
ROUNDS = 20


class Strings(unittest.TestCase):
    def traced(self, *words, status=0):
        done = subprocess.run([KEVTRACE, "run", *words, "--", TEXTS, str(ROUNDS)], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def records(self, done, event):
        return [re.findall(r'(\w+)=("[^"]*"|\S+)', line.split(") ", 1)[1]) for line in done.stdout.splitlines() if f" {event}: (" in line]

    def setUp(self):
        out = subprocess.run([TEXTS, str(ROUNDS)], capture_output=True, text=True, check=True).stdout
        self.texts = [line.split("|", 1)[0] for line in out.splitlines()]
        self.assertEqual(len(self.texts), ROUNDS)
        self.assertIn("short 1", self.texts)  # in the object, and beside it
        self.assertTrue(any(len(text) > 40 for text in self.texts))

    def test_however_it_is_given(self):
        done = self.traced("-e", "p:ref texts:by_reference text number", "-e", "p:val texts:by_value text n=number", "-e", "p:ptr texts:by_pointer s=text:string",
                           "-e", "p:greet texts:shop::Clerk::greet who=this->name_ whom", "-e", "p:made texts:made of number")
        quoted = [f'"{text}"' for text in self.texts]
        self.assertEqual(self.records(done, "ref"), [[("text", text), ("number", str(i))] for i, text in enumerate(quoted)])
        self.assertEqual(self.records(done, "val"), [[("text", text), ("n", str(i))] for i, text in enumerate(quoted)])
        self.assertEqual(self.records(done, "ptr"), [[("s", text)] for text in quoted])
        self.assertEqual(self.records(done, "greet"), [[("who", '"clerk"'), ("whom", text)] for text in quoted])
        self.assertEqual(self.records(done, "made"), [[("of", text), ("number", str(i))] for i, text in enumerate(quoted)])

    def test_in_objects_and_by_references(self):
        done = self.traced("-e", "p:o texts:by_object id=item->id name=item->name maker=item->maker:string label=item->label weight count is_new raw=item->maker")
        for i, (record, text) in enumerate(zip(self.records(done, "o"), self.texts)):
            values = dict(record)
            self.assertRegex(values.pop("raw"), "^0x[0-9a-f]+$")  # a pointer without a type is an address, as ever
            self.assertEqual(values, {"id": str(i), "name": f'"{text}"', "maker": f'"maker {i}"', "label": f'"maker {i}"', "weight": f"{i + 0.25:g}",
                                      "count": str(-i), "is_new": str(i % 2)})

    def test_filters_read_what_is_recorded(self):
        done = self.traced("-e", "p:ref texts:by_reference text", "--filter", 'ref: text ~ "short*"', "-e", "p:o texts:by_object weight", "--filter", "o: weight > 17")
        self.assertEqual(len(self.records(done, "ref")), ROUNDS // 2)
        self.assertEqual(self.records(done, "o"), [[("weight", "17.25")], [("weight", "18.25")], [("weight", "19.25")]])

    def test_what_is_written_out_needs_no_types(self):
        """A compiled script names no type: it says where the text lies."""
        listed = subprocess.run([KEVTRACE, "explain", "-e", "p:ref texts:by_reference text", "--", TEXTS], capture_output=True, text=True, check=True).stdout
        self.assertIn("string v", listed)

    def test_the_prototype_says_what_it_is(self):
        done = self.traced("-e", "p:ref texts:by_reference nosuch", status=3)
        self.assertRegex(done.stderr, r"by_reference\(const string &text, int number\)")


if __name__ == "__main__":
    main()
