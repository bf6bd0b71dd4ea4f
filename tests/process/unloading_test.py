"""A library is unloaded while its functions are probed: nothing is written where it was. (reloading_test.py has more.)"""
import os

from attach_test import Attached, Target
from kevtest import PROGRAMS, main

SUM = "p:sum libz:adler32 a=%di:u64 n=%dx:u32"
GOT = "r:got libz:adler32 v=$retval:u64"
CLOSES = "p:closes libc:dlclose h=%di:x64"


class Unloading(Attached):
    def target(self):
        return Target(self, [os.path.join(PROGRAMS, "unloads")])

    def calls(self, target, count):
        target.tell(b"calls %d" % count)
        return int(target.expect(b"calls")[0])

    def test_what_took_its_place_is_left_alone(self):
        target = self.target()
        expected = self.calls(target, 100)
        tracer = self.start([target.pid], SUM, GOT, CLOSES)
        self.assertEqual(self.calls(target, 100), expected)
        target.ask(b"close")
        traced = self.stop(tracer, (SUM, GOT, CLOSES))
        self.assertEqual(target.ask(b"intact"), [b"1"])
        self.assertEqual(len(traced.records("sum")), 100)
        self.assertEqual([r["v"] for r in traced.records("got")][-1], expected)
        self.assertEqual(len(traced.records("closes")), 1)
        for event in ("sum", "got"):
            self.assertIn(f"{event} [GONE]".encode(), traced.err)
        self.assertNotIn(b"closes [GONE]", traced.err)
        self.assertIn(b"was unloaded", traced.err)
        self.assertEqual(target.end(), 0)

    def test_loaded_again_it_is_the_file_s_own(self):
        target = self.target()
        expected = self.calls(target, 10)
        tracer = self.start([target.pid], SUM, GOT)
        self.assertEqual(self.calls(target, 10), expected)
        target.ask(b"close")
        target.ask(b"load")
        self.assertEqual(self.calls(target, 10), expected)
        traced = self.stop(tracer, (SUM, GOT))
        self.assertEqual(self.calls(target, 10), expected)
        self.assertEqual(len(traced.records("sum")), 20)
        self.assertEqual(target.end(), 0)
        again = self.target()
        tracer = self.start([again.pid], SUM)
        self.calls(again, 10)
        self.assertEqual(len(self.stop(tracer, (SUM,)).records("sum")), 10)

    def test_the_tracer_s_end_by_itself(self):
        target = self.target()
        tracer = self.start([target.pid], SUM, words=["-d", "1"])
        self.calls(target, 5)
        target.ask(b"close")
        traced = self.finish(tracer, (SUM,))
        self.assertEqual(len(traced.records("sum")), 5)
        self.assertEqual(target.ask(b"intact"), [b"1"])
        self.assertEqual(target.end(), 0)


if __name__ == "__main__":
    main()
