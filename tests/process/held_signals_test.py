"""The three signals that the agent owns, and those that an instruction raises: as without a tracer, while one comes and
goes."""
import errno
import os
import signal

from attached import Attached, Target
from kevtest import PROGRAMS, TIMEOUT_S, main

DEFINITIONS = ("p:touch holds:touch n=%di:s64", "p:divide holds:divide a=%di:s32", "p:len libc:strlen s=+0(%di):string")
QUEUED = [b"5:-1:%d", b"7:-1:%d", b"11:-1:%d"]


def queued(value):
    return [text % (value + i) for i, text in enumerate(QUEUED)]


def handled(value):
    """The kernel puts one handler's frame on the other: the last one runs first."""
    return queued(value)[::-1]


class HeldSignals(Attached):
    def setUp(self):
        super().setUp()
        self.target = Target(self, [os.path.join(PROGRAMS, "holds")])

    def at_each_time(self, check, program="holds"):
        """Before a tracer, while it traces, and when it has left."""
        definitions = [one.replace(" holds:", f" {program}:") for one in DEFINITIONS]
        check("before")
        tracer = self.start([self.target.pid], *definitions)
        check("while")
        self.stop(tracer, definitions)
        check("after")
        self.assertEqual(self.target.end(), 0)

    def send(self, value):
        self.target.tell(b"send %d" % value)
        self.target.expect(b"send")

    def test_queued_values(self):
        """Of two that are sent while the signal is blocked the first waits, with its code and value."""
        def check(time):
            with self.subTest(time):
                self.send(100)
                self.send(200)
                self.assertEqual(self.target.ask(b"pending"), [b"5", b"7", b"11"])
                self.assertEqual(self.target.ask(b"handle"), handled(100))
                self.assertEqual(self.target.ask(b"pending"), [])
        self.at_each_time(check)

    def check_waits(self, time):
        with self.subTest(time):
            self.send(300)
            for expected in queued(300):
                self.assertEqual(self.target.ask(b"take"), [expected])
            self.assertEqual(self.target.ask(b"take"), [])
            self.send(600)
            for _ in range(3):
                self.assertEqual(self.target.ask(b"lose"), [b"-1", b"%d" % errno.EFAULT])
            self.assertEqual(self.target.ask(b"lose"), [b"-1", b"%d" % errno.EAGAIN])
            self.assertEqual(self.target.ask(b"pending"), [])

    def test_taken_by_a_wait(self):
        self.at_each_time(self.check_waits)

    def test_taken_by_a_wait_of_glibc_2_41(self):
        self.assertEqual(self.target.end(), 0)
        self.target = Target(self, [os.path.join(PROGRAMS, "holds_by_function")])
        self.at_each_time(self.check_waits, "holds_by_function")

    def test_waiting_across_the_tracer(self):
        """Sent before it comes and handled while it is there; sent then and handled when it has left."""
        for _ in range(5):
            self.send(400)
            tracer = self.start([self.target.pid], *DEFINITIONS)
            self.assertEqual(self.target.ask(b"pending"), [b"5", b"7", b"11"])
            self.assertEqual(self.target.ask(b"handle"), handled(400))
            self.send(500)
            self.stop(tracer, DEFINITIONS)
            self.assertEqual(self.target.ask(b"pending"), [b"5", b"7", b"11"])
            self.assertEqual(self.target.ask(b"handle"), handled(500))
            self.assertEqual(self.target.ask(b"handle"), [])
        self.assertEqual(self.target.end(), 0)

    def test_place_of_a_fault(self):
        """`divide` faults in its second instruction, which a jump has displaced; a handler may step over it."""
        def check(time):
            with self.subTest(time):
                self.assertEqual(self.target.ask(b"divide"), [b"1", b"0"])
                self.assertEqual(self.target.ask(b"skip"), [b"1", b"8"])
        self.at_each_time(check)

    def test_stack_of_a_handler(self):
        """There is an alternate stack, and the handler does not ask for it."""
        def check(time):
            with self.subTest(time):
                self.assertEqual(self.target.ask(b"stack"), [b"0", b"1"])
        self.at_each_time(check)

    def test_no_room_for_a_handler(self):
        for time in ("untraced", "traced"):
            with self.subTest(time):
                target = Target(self, [os.path.join(PROGRAMS, "holds")])
                tracer = self.start([target.pid], *DEFINITIONS) if time == "traced" else None
                target.tell(b"overflow")
                self.assertEqual(target.process.wait(TIMEOUT_S), -signal.SIGSEGV)
                if tracer:
                    self.finish(tracer, DEFINITIONS)


if __name__ == "__main__":
    main()
