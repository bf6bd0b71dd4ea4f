"""std::string in every way that a function can be given one, and references to numbers: values against what the program prints."""
import os
import re
import subprocess
import tempfile
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

    def test_views_of_text(self):
        """A view has no NUL: its text ends where its length says, whether registers or memory hold it."""
        done = self.traced("-e", "p:view texts:by_view text number", "-e", "p:four texts:behind_four text at_x=$arg3:s32 c last", "-e", "r:back texts:by_view text",
                           "-e", "p:part texts:by_part name=part->name other=part->other:string whole changed=changed:string", "-e", "p:bytes texts:by_bytes data:string(size) size",
                           "-e", "p:hand texts:by_view s=+0($arg2):string($arg1) none=+0($arg2):string(\\0) two=+0($arg2):string(\\2) whole=+0($arg2):string")
        views = [f'"{text[:i]}"' for i, text in enumerate(self.texts)]
        halves = [f'"{text[:min(i, len(text)) // 2]}"' for i, text in enumerate(self.texts)]
        interleaved = [one for i, view in enumerate(views) for one in ((view, str(i)), ('""', "-1"))]
        self.assertEqual(self.records(done, "view"), [[("text", view), ("number", n)] for view, n in interleaved])
        self.assertEqual(self.records(done, "back"), [[("text", view)] for view, _ in interleaved])
        self.assertEqual(self.records(done, "four"), [[("text", view), ("at_x", "3"), ("c", "5"), ("last", str(i))] for i, view in enumerate(views)])
        self.assertEqual(self.records(done, "part"), [[("name", view), ("other", half), ("whole", view), ("changed", half)] for view, half in zip(views, halves)])
        self.assertEqual(self.records(done, "bytes"), [[("data", view), ("size", str(i))] for i, view in enumerate(views)])
        by_hand = [dict(one) for one in self.records(done, "hand")][::2]
        self.assertEqual(by_hand, [{"s": view, "none": '""', "two": f'"{text[:2]}"', "whole": f'"{text}"'} for view, text in zip(views, self.texts)])
        empty = [dict(one) for one in self.records(done, "hand")][1::2]
        self.assertEqual(empty, [{"s": '""', "none": '""', "two": "(fault)", "whole": "(fault)"}] * ROUNDS)

    def test_filters_on_views(self):
        done = self.traced("-e", "p:view texts:by_view text number", "--filter", 'view: text ~ "*hor" || text == "a text t" || text == "s"')
        wanted = [f'"{text[:i]}"' for i, text in enumerate(self.texts) if text[:i].endswith("hor") or text[:i] in ("a text t", "s")]
        self.assertEqual([dict(one)["text"] for one in self.records(done, "view")], wanted)
        self.assertGreater(len(wanted), 1)

    def test_histograms_by_view(self):
        done = self.traced("-e", "p:view texts:by_view text number", "--hist", "view:keys=text")
        counted = dict(re.findall(r'\{ text: (.*?) *\} hitcount: +(\d+)', done.stdout))
        wanted = {}
        for one in [text[:i].rstrip() for i, text in enumerate(self.texts)] + [""] * ROUNDS:  # the table pads with blanks
            wanted[one] = wanted.get(one, 0) + 1
        self.assertEqual({key: int(count) for key, count in counted.items()}, wanted)

    def test_what_is_not_in_registers(self):
        done = self.traced("-e", "p:s texts:on_stack text", status=3)
        self.assertIn("`text` is passed in no register that is known", done.stderr)
        for member, why in (("y", "it is a part of a register"), ("nobody", "has no such member"), ("x->z", "it is `int`")):
            self.assertIn(why, self.traced("-e", f"p:s texts:behind_four at->{member}", status=3).stderr)
        done = self.traced("-e", "p:s texts:behind_four x=at->x")
        self.assertEqual(self.records(done, "s"), [[("x", "3")]] * ROUNDS)
        done = self.traced("-e", "p:s texts:behind_four $arg*")
        self.assertEqual([dict(one)["at"] for one in self.records(done, "s")], ["0x400000003"] * ROUNDS)  # as a kernel shows it

    def test_structures_that_are_not_only_words(self):
        """What has a base, copies itself or is packed has other places: nothing is claimed, or what is true."""
        for function in ("derived", "packed"):
            done = self.traced("-e", f"p:s texts:{function} after", status=3)
            self.assertIn("`after` is passed in no register that is known", done.stderr)
        done = self.traced("-e", "p:s texts:copied after first=copy->first")
        self.assertEqual({tuple(one) for one in self.records(done, "s")}, {(("after", "42"), ("first", "7"))})

    def test_wrong_lengths(self):
        for definition, said in (("s=+0(%di):string()", "No argument expression"), ("s=+0(%di):string(%zz)", "Invalid register name"), ("s=+0(%di):string(%si:f64)", "Unknown type"),
                                 ("s=+0(%di):string(%si)[2]", "Unknown type"), ("s=+0(%di):string($comm)", "Unknown type"),
                                 ("s=+0(%di):string(%xmm0)", "the length of a text or of an array is an integer"), ("s=%di:string(%si)", "String accepts only memory argument"), ("s=+0(%di):symstr(%si)", "Unknown type")):
            done = subprocess.run([KEVTRACE, "check", "-e", f"p:e texts:by_view {definition}"], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 3, definition)
            self.assertIn(said, done.stdout + done.stderr, definition)
        done = subprocess.run([KEVTRACE, "check", "--kernel", "6.1", "-e", "p:e vfs_read s=+0($arg2):string($arg3)"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 3, done.stdout)

    def test_filters_read_what_is_recorded(self):
        done = self.traced("-e", "p:ref texts:by_reference text", "--filter", 'ref: text ~ "short*"', "-e", "p:o texts:by_object weight", "--filter", "o: weight > 17")
        self.assertEqual(len(self.records(done, "ref")), ROUNDS // 2)
        self.assertEqual(self.records(done, "o"), [[("weight", "17.25")], [("weight", "18.25")], [("weight", "19.25")]])

    def test_what_is_written_out_needs_no_types(self):
        """A compiled script names no type: it says where the text lies."""
        listed = subprocess.run([KEVTRACE, "explain", "--only=ir", "-e", "p:ref texts:by_reference text", "--", TEXTS], capture_output=True, text=True, check=True).stdout
        self.assertIn("string v", listed)

    def test_compiled_with_lengths(self):
        with tempfile.TemporaryDirectory() as folder:
            script, made = os.path.join(folder, "t.kev"), os.path.join(folder, "t.kevo")
            with open(script, "w", encoding="utf-8") as file:
                file.write("p:view texts:by_view text number\np:bytes texts:by_bytes data:string(size)\np:hand texts:by_view s=+0($arg2):string($arg1:u32)\n")
            subprocess.run([KEVTRACE, "compile", script, "-o", made, "--", TEXTS], check=True, capture_output=True)
            done = self.traced("-p", made)
        views = [f'"{text[:i]}"' for i, text in enumerate(self.texts)]
        self.assertEqual([dict(one)["text"] for one in self.records(done, "view")][::2], views)
        self.assertEqual([dict(one)["data"] for one in self.records(done, "bytes")], views)
        self.assertEqual([dict(one)["s"] for one in self.records(done, "hand")][::2], views)

    def test_the_prototype_says_what_it_is(self):
        done = self.traced("-e", "p:ref texts:by_reference nosuch", status=3)
        self.assertRegex(done.stderr, r"by_reference\(const string &text, int number\)")


if __name__ == "__main__":
    main()
