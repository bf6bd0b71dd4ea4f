"""kevtrace fleet run and obey: hosts trace what was signed for them, once, and nothing else."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from kevtest import KEVTRACE, plain
from shares import main

import clickhouse
from clickhouse import ClickHouse, Proxy

SCRIPT = """target comm {comm}
p:opened libc:open64 path=+0(%di):string
  filter path ~ "/etc/p*"
r:got libc:open64 $retval:s32
"""
# Half of what it opens is recorded. It ends with its standard input.
PROGRAM = """import ctypes, os, select, sys
ctypes.CDLL(None).prctl(15, sys.argv[1].encode())
while not select.select([0], [], [], 0.005)[0]:
  for name in ("/etc/passwd", "/etc/hosts"): os.close(os.open(name, 0))
"""
SECOND = 1_000_000_000


def openssl(*words, **options):
    return subprocess.run(["openssl", *words], check=True, capture_output=True, **options).stdout


def make_key(path):
    openssl("genpkey", "-algorithm", "ed25519", "-out", path)
    openssl("pkey", "-in", path, "-pubout", "-out", path + ".pub")
    os.chmod(path, 0o600)
    return path


def read(path):
    with open(path) as file:
        return file.read()


def until(what, seconds=60):
    end = time.monotonic() + seconds
    while not (got := what()):
        if time.monotonic() > end:
            raise AssertionError("it did not come: " + what.__name__)
        time.sleep(0.05)  # until it is so; the end above is an error
    return got


class Host:
    """A host of its own: labels, a folder for recordings, `fleet obey`, and `fleet ship --follow`. `sees_all`: it sees
    the test's program; else it has a program and numbers of processes of its own."""

    def __init__(self, test, name, labels, trust, sees_all, more=()):
        self.test, self.name, self.folder = test, name, test.path(name)
        os.makedirs(self.folder, mode=0o700)
        self.config = test.path(name + ".conf")
        self.configure(*(f"label {one}" for one in labels), f"trust {trust}", *more)
        self.processes, self.inside = [], []
        if not sees_all:
            self.begin_inside()
        self.obeying = self.obey()
        self.start("ship", test.address, self.folder, "--follow", "--every", "0.3", "--as", name)
        test.addCleanup(self.end)

    def configure(self, *lines):
        with open(self.config + ".new", "w") as file:
            file.writelines(line + "\n" for line in lines)
        os.rename(self.config + ".new", self.config)

    def begin_inside(self):
        """Its first process is the program, by whose number in our namespace others enter."""
        first = subprocess.Popen(["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "/usr/bin/python3", "-S", "-c", PROGRAM, self.test.comm],
                                 stdin=subprocess.PIPE)
        self.test.addCleanup(first.wait)
        self.test.addCleanup(first.stdin.close)
        children = f"/proc/{first.pid}/task/{first.pid}/children"
        inner = until(lambda: first.poll() is not None or read(children).split())
        if inner is True:
            self.test.skipTest("no namespaces of processes can be made here")
        self.inside = ["nsenter", "-t", inner[0], "-p", "-m"]

    def start(self, *words):
        with open(self.folder + ".log", "ab") as log:
            self.processes.append(subprocess.Popen([*self.inside, KEVTRACE, "fleet", *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                   env={**os.environ, "KEVTRACE_FLEET": self.config}))
        return self.processes[-1]

    def obey(self, *more):
        return self.start("obey", self.test.address, self.folder, "--as", self.name, "--every", "0.1", *more)

    def log(self):
        with open(self.folder + ".log", errors="replace") as file:
            return file.read()

    def recordings(self):
        return sorted(name for name in os.listdir(self.folder) if name.endswith(".dat"))

    def end(self):
        for one in self.processes:
            if one.poll() is None:
                one.send_signal(signal.SIGTERM)
        for one in self.processes:
            try:
                one.wait(30)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()


class OrdersTest(unittest.TestCase):
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        program = clickhouse.server_program()
        if program is None:
            print("there is no ClickHouse server")
            sys.exit(77)
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.server = ClickHouse(program, os.path.join(cls.folder, "server"))
        cls.addClassCleanup(lambda: cls.server.stop())
        cls.key = make_key(os.path.join(cls.folder, "orders.key"))
        cls.asker = os.path.join(cls.folder, "asker.conf")
        with open(cls.asker, "w") as file:
            file.write(f"sign-key {cls.key}\n")

    def setUp(self):
        self.database = re.sub(r"\W", "_", self.id().split(".")[-1])[:60]
        self.address = self.server.address(self.database)
        self.kevtrace("fleet", "init", self.address)
        self.comm = f"kvo{os.getpid() % 100000}{len(self.database)}"
        self.script = self.path("opens.kev")
        with open(self.script, "w") as file:
            file.write(SCRIPT.format(comm=self.comm))
        self.program = subprocess.Popen(["/usr/bin/python3", "-S", "-c", PROGRAM, self.comm], stdin=subprocess.PIPE)
        self.addCleanup(self.end_program)
        until(lambda: read(f"/proc/{self.program.pid}/comm").strip() == self.comm)

    def end_program(self):
        self.program.stdin.close()
        self.assertEqual(self.program.wait(30), 0)

    def path(self, name):
        return os.path.join(self.folder, self.database + "_" + name)

    def kevtrace(self, *words, status=0):
        got, out, err = plain([KEVTRACE, *words], env={**os.environ, "KEVTRACE_FLEET": self.asker})
        self.assertEqual(got, status, err.decode() + out.decode())
        return out.decode(), err.decode()

    def host(self, name, *labels, sees_all=True, more=()):
        host = Host(self, name, labels, self.key + ".pub", sees_all, more)
        until(lambda: name in self.kevtrace("fleet", "hosts", self.address)[0])
        return host

    def order(self, *words, status=0):
        """`fleet run` with its answers by host."""
        out, err = self.kevtrace("fleet", "run", self.address, self.script, "-f", "json", *words, status=status)
        return {one["host"]: one for one in json.loads(out)}, err

    # ---- an order that another program makes -------------------------------------------------

    def text(self, script=None, stop=None, **changes):
        head = {"fleet": self.database, "serial": time.time_ns(), "id": os.urandom(4).hex(), "begin-before": time.time_ns() + 60 * SECOND, "on": "*",
                **{key.replace("_", "-"): value for key, value in changes.items()}}
        what = f"stop {stop}" if stop else "milliseconds 300"
        lines = "".join(f"{key} {value}\n" for key, value in head.items())
        return f"kevtrace order 1\n{lines}{what}\n\n{'' if stop else script or SCRIPT.format(comm=self.comm)}".encode(), head["serial"]

    def sign(self, text, key=None):
        with open(self.path("text"), "wb") as file:
            file.write(text)
        return openssl("pkeyutl", "-sign", "-rawin", "-inkey", key or self.key, "-in", self.path("text"))

    def put(self, text, signature, serial, begin_before=None):
        self.server.ask(f"INSERT INTO {self.database}.kevt_wanted VALUES ({serial}, {begin_before or time.time_ns() + 60 * SECOND}, "
                        f"unhex('{text.hex()}'), unhex('{signature.hex()}'))")

    def answer(self, serial, state, host="web1"):
        def answered():
            got = self.server.ask(f"SELECT state, words FROM {self.database}.kevt_answers FINAL WHERE serial = {serial} AND host = '{host}' "
                                  f"AND state = '{state}' FORMAT TSV")
            return got.rstrip("\n").replace("\\'", "'").split("\t")[1:]
        return until(answered)[0]

    # ---- what is to be so --------------------------------------------------------------------

    def test_hosts_that_are_meant_trace(self):
        web1, web2, db1 = (self.host(name, *labels, sees_all=False)
                           for name, labels in (("web1", ("role=web", "zone=eu1")), ("web2", ("role=web", "zone=us1")), ("db1", ("role=db",))))
        got, err = self.order("--on", "role=web", "-d", "1")
        self.assertEqual(sorted(got), ["web1", "web2"])
        for one in got.values():
            self.assertEqual((one["state"], one["words"], one["all_shipped"]), ("ended", "", True), got)
            self.assertEqual(one["hits"], one["recorded"] + one["aggregated"] + one["filtered"] + one["lost"] + one["missed"])
            self.assertGreater(one["recorded"], 20)
            self.assertGreater(one["filtered"], 10)
            self.assertEqual(one["shipped"], one["recorded"])
        self.assertEqual((len(web1.recordings()), len(web2.recordings()), db1.recordings()), (1, 1, []))
        # The order's records are asked for together, and nothing is missing.
        together = re.search(r"kevtrace report -i '(\S+)'", err)[1]
        lines = self.kevtrace("report", together)[0].splitlines()
        self.assertEqual(len(lines), sum(one["recorded"] for one in got.values()))
        self.assertEqual(len(self.kevtrace("fleet", "check", self.address)[0].splitlines()), 4)
        # Another order is another recording.
        other, err = self.order("--on", "role=web,zone=us*", "-d", "0.3")
        self.assertEqual(sorted(other), ["web2"])
        self.assertNotEqual(other["web2"]["recording"][:8], got["web2"]["recording"][:8])
        shown = self.kevtrace("fleet", "hosts", self.address)[0]
        self.assertRegex(shown, r"web1 .*role=web,zone=eu1\n")

    def test_an_order_for_nobody_names_who_is_there(self):
        err = self.order_fails("--on", "role=web")
        self.assertIn("no host obeys orders", err)
        self.host("db1", "role=db")
        self.assertIn("there are db1 (role=db)", self.order_fails("--on", "role=web"))

    def order_fails(self, *words):
        return self.kevtrace("fleet", "run", self.address, self.script, *words, status=1)[1]

    def test_a_host_says_why_it_cannot(self):
        host = self.host("web1")
        with open(self.script, "w") as file:
            file.write(f"target comm {self.comm}\np:opened libc:no_such_function\n")
        got, _ = self.order("--on", "*", "-d", "1", status=1)
        self.assertEqual(got["web1"]["state"], "failed")
        self.assertIn("no_such_function", got["web1"]["words"])
        for script, why in (("p:opened libc:open64\n", "no target"), ("target program /bin/sh\np:opened libc:open64\n", "no program is started"),
                            (f"target comm {self.comm}\noption output x\np:opened libc:open64\n", "the host's to say")):
            with open(self.script, "w") as file:
                file.write(script)
            self.assertIn(why, self.order_fails("--on", "*"))
            text, serial = self.text(script)  # another asker may not check it
            self.put(text, self.sign(text), serial)
            self.assertIn(why, self.answer(serial, "refused"))
        self.assertEqual(host.recordings(), [])

    def test_only_signed_orders_are_carried_out(self):
        host = self.host("web1", "role=web")
        other = make_key(self.path("other.key"))
        text, serial = self.text()
        good = self.sign(text)
        refused = []
        for number, (changed, signature) in enumerate([(text, self.sign(text, other)), (text, b""), (text, good[:-1]), (text.replace(b"opened", b"closed"), good),
                                                       (text.replace(b"on *", b"on **"), good), (text + b"\n", good)]):
            claimed = serial + number
            changed = changed.replace(str(serial).encode(), str(claimed).encode())
            self.put(changed, signature, claimed)
            refused.append(claimed)
        for claimed in refused:
            self.assertIn("signed by no trusted key", self.answer(claimed, "refused"))
        # Signed, and not for here and now.
        silent = []
        for changes in ({"fleet": "another"}, {"on": "role=db"}):
            text, number = self.text(**changes)
            self.put(text, self.sign(text), number)
            silent.append(number)
        for changes, why in (({"serial": time.time_ns() - 9 * SECOND, "begin_before": time.time_ns() - SECOND}, "too late"), ({"serial": time.time_ns() + 3600 * SECOND, "begin_before": time.time_ns() + 7200 * SECOND}, "future"),
                             ({"begin_before": time.time_ns() + 30 * 24 * 3600 * SECOND}, "longer than a day")):
            text, number = self.text(**changes)
            self.put(text, self.sign(text), number)
            self.assertIn(why, self.answer(number, "refused"))
        text, number = self.text()
        self.put(text, self.sign(text), number)
        self.answer(number, "ended")  # so all before it have been looked at
        self.assertEqual(len(host.recordings()), 1)
        states = self.server.ask(f"SELECT count() FROM {self.database}.kevt_answers WHERE serial IN ({', '.join(map(str, silent))})")
        self.assertEqual(states, "0\n")

    def test_an_order_is_carried_out_once(self):
        host = self.host("web1")
        text, serial = self.text()
        signature = self.sign(text)
        self.put(text, signature, serial)
        self.answer(serial, "ended")
        host.obeying.send_signal(signal.SIGTERM)
        self.assertEqual(host.obeying.wait(30), 0)
        # The same order again, and as another row.
        self.put(text, signature, serial + 1)
        host.obeying = host.obey()
        text, second = self.text()
        self.put(text, self.sign(text), second)
        self.answer(second, "ended")
        self.assertEqual(len(host.recordings()), 2)

    def test_ctrl_c_stops_the_hosts(self):
        host = self.host("web1")
        asker = subprocess.Popen([KEVTRACE, "fleet", "run", self.address, self.script, "--on", "*", "-d", "600", "--begin-within", "1"], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "KEVTRACE_FLEET": self.asker})
        self.addCleanup(asker.stdout.close)
        self.addCleanup(asker.stderr.close)
        until(lambda: "running" in self.server.ask(f"SELECT state FROM {self.database}.kevt_answers"))
        # Also when it is too late to begin with the order.
        began = time.time_ns()
        until(lambda: int(self.server.ask(f"SELECT max(begin_before) FROM {self.database}.kevt_wanted")) < time.time_ns())
        asker.send_signal(signal.SIGINT)
        self.assertEqual(asker.wait(90), 0, host.log())
        # A host that looks much later is told, too.
        self.assertGreater(int(self.server.ask(f"SELECT max(begin_before) FROM {self.database}.kevt_wanted")), began + 23 * 3600 * SECOND)
        self.assertRegex(asker.stdout.read(), r"^web1: ended: stopped: hits \d+ = recorded [1-9]\d* .* records are shipped\n$")

    def test_an_order_that_was_stopped_before_a_host_has_looked(self):
        text, serial = self.text()
        stop, number = self.text(stop=serial)
        self.put(text, self.sign(text), serial)
        self.put(stop, self.sign(stop), number)
        host = self.host("web1")
        self.assertIn("stopped before it began", self.answer(serial, "refused"))
        text, serial = self.text()
        self.put(text, self.sign(text), serial)
        self.answer(serial, "ended")
        self.assertEqual(len(host.recordings()), 1)

    def two_servers(self):
        """Another server, and the names of a host that is on this one and of one that is on the other."""
        other = ClickHouse(self.server.program, self.path("other"))
        self.addCleanup(other.stop)
        self.address = f"ch+http://127.0.0.1:{self.server.port},127.0.0.1:{other.port}/{self.database}"
        self.kevtrace("fleet", "init", self.address)
        for number in range(16):
            self.host(f"web{number}")
            here, there = (one.ask(f"SELECT host FROM {self.database}.kevt_hosts").split() for one in (self.server, other))
            if here and there:
                return other, here[0], there[0]
        self.fail("all hosts are on one server")

    def ask_for_long(self, host):
        asker = subprocess.Popen([KEVTRACE, "fleet", "run", self.address, self.script, "--on", "host=" + host, "-d", "600"], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "KEVTRACE_FLEET": self.asker})
        for one in (asker.stdout.close, asker.stderr.close, asker.wait, asker.kill):
            self.addCleanup(one)
        return asker

    def test_ctrl_c_reaches_the_servers_that_answer(self):
        other, _, host = self.two_servers()
        asker = self.ask_for_long(host)
        until(lambda: "running" in other.ask(f"SELECT state FROM {self.database}.kevt_answers"))
        self.server.kill()
        try:
            asker.send_signal(signal.SIGINT)
            self.assertEqual(asker.wait(90), 0)
        finally:
            self.server.start()
        self.assertIn("ended: stopped: hits", asker.stdout.read())

    def test_an_order_that_cannot_reach_all_servers_is_stopped(self):
        other, host, _ = self.two_servers()
        other.ask(f"DROP TABLE {self.database}.kevt_wanted")
        asker = self.ask_for_long(host)
        until(lambda: "\\nstop " in self.server.ask(f"SELECT text FROM {self.database}.kevt_wanted FORMAT TSV"))
        asker.send_signal(signal.SIGINT)  # it would try for some time to tell the other server
        self.assertEqual(asker.wait(90), 1)
        self.assertIn("kevt_wanted", asker.stderr.read())

    def test_a_slow_server_does_not_hold_it(self):
        proxy = Proxy(self.server.port, lambda head: "slow" if b"kevt_wanted" in proxy.bodies[-1] else None)
        self.addCleanup(proxy.close)
        self.address = proxy.address(self.database)
        host = Host(self, "web1", (), self.key + ".pub", True)
        until(lambda: any(b"kevt_wanted" in body for body in proxy.bodies))
        host.obeying.send_signal(signal.SIGTERM)
        self.assertEqual(host.obeying.wait(60), 0)

    def test_who_is_not_trusted_any_more_is_not_obeyed(self):
        host = self.host("web1")
        other = make_key(self.path("other.key"))
        host.configure(f"trust {other}.pub")
        text, serial = self.text()
        self.put(text, self.sign(text), serial)
        self.assertIn("signed by no trusted key", self.answer(serial, "refused"))
        text, serial = self.text()
        self.put(text, self.sign(text, other), serial)
        self.answer(serial, "ended")
        self.assertEqual(len(host.recordings()), 1)

    def test_texts_without_a_signature_do_not_fill_the_log(self):
        host = self.host("web1")
        self.server.ask(f"INSERT INTO {self.database}.kevt_wanted SELECT toInt64(number), {time.time_ns() + 60 * SECOND}, concat('junk', toString(number)), '' "
                        "FROM system.numbers LIMIT 300")
        text, serial = self.text()
        self.put(text, self.sign(text), serial)
        self.answer(serial, "ended")
        self.assertEqual(host.log().count("an order is refused"), 16)

    def test_a_host_without_room_says_so(self):
        host = self.host("web1")
        host.obeying.send_signal(signal.SIGTERM)
        self.assertEqual(host.obeying.wait(30), 0)
        host.obeying = host.obey("--max-bytes", "4000000G")
        text, serial = self.text()
        self.put(text, self.sign(text), serial)
        self.assertRegex(self.answer(serial, "refused"), r"has \d+\.\dG left, and 1 order may take 4000000\.0G")
        self.assertEqual(host.recordings(), [])

    def test_machine_code_is_refused_where_it_is_not_accepted(self):
        careful, trusting = self.host("web1"), self.host("web2", more=("accept-compiled yes",))
        compiled = self.path("opens.kevo")
        self.kevtrace("compile", self.script, "-o", compiled)
        self.script = compiled
        got, _ = self.order("--on", "*", "-d", "0.3", status=1)
        self.assertEqual((got["web1"]["state"], got["web2"]["state"]), ("refused", "ended"), got)
        self.assertIn("machine code", got["web1"]["words"])
        self.assertEqual((careful.recordings(), len(trusting.recordings())), ([], 1))
        self.assertEqual([name for name in os.listdir(trusting.folder) if name.endswith(".kevo")], [])

    def test_a_host_that_is_killed_keeps_what_it_has(self):
        host = self.host("web1")
        text, serial = self.text()
        text = text.replace(b"milliseconds 300", b"milliseconds 600000")
        self.put(text, self.sign(text), serial)
        self.answer(serial, "running")
        host.obeying.kill()
        host.obeying.wait()
        host.obeying = host.obey()
        self.assertIn("was ended meanwhile", self.answer(serial, "ended"))
        self.assertEqual(len(host.recordings()), 1)
        until(lambda: "finished" in self.kevtrace("fleet", "status", self.address)[0])
        self.assertRegex(self.kevtrace("fleet", "check", self.address)[0], r"rows [1-9]\d* ")

    def test_a_server_that_is_away_is_told_later(self):
        host = self.host("web1")
        text, serial = self.text()
        text = text.replace(b"milliseconds 300", b"milliseconds 2000")
        self.put(text, self.sign(text), serial)
        self.answer(serial, "running")
        self.server.kill()
        try:
            until(lambda: f"order {serial}: ended" in host.log())
        finally:
            self.server.start()
        self.answer(serial, "ended")

    def test_files_that_others_can_write_to_are_not_believed(self):
        trust, config, folder = self.path("k.pub"), self.path("k.conf"), self.path("spool")
        shutil.copy(self.key + ".pub", trust)
        os.makedirs(folder, mode=0o700)
        with open(config, "w") as file:
            file.write(f"trust {trust}\n")

        def refused():
            got, _, err = plain([KEVTRACE, "fleet", "obey", self.address, folder], env={**os.environ, "KEVTRACE_FLEET": config})
            self.assertEqual(got, 1)
            return err.decode()
        for path, mode, usual in ((trust, 0o666, 0o644), (config, 0o666, 0o644), (folder, 0o777, 0o700)):
            os.chmod(path, mode)
            self.assertIn("chmod", refused())
            os.chmod(path, usual)
        with open(config, "w") as file:
            file.write("label role=web\n")
        self.assertIn("nobody is obeyed here", refused())


if __name__ == "__main__":
    main()
