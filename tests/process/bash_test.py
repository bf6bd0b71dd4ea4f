"""bash: functions and variables of the program itself; SHELL_VAR and ARRAY read by offset."""
import subprocess

from kevtest import ProcessTest, main

BASH = "/bin/bash"
# struct variable { char *name; char *value; ...; int attributes (at 40); ... }
VARIABLE = "n=+0(+0($retval)):string v=+0(+8($retval)):string attr=+40($retval):x32 ro=+40($retval):b1@1/32"


class Bash(ProcessTest):
    def test_what_is_executed(self):
        script = 'x=1; eval "y=$((x + 41))"; echo "$y"; exit 3'
        traced = self.run_both([BASH, "-c", script],
                               "p:run bash:parse_and_execute s=+0(%di):string from=+0(%si):string flags=%dx:x32")
        ran = traced.records("run")
        self.assertEqual([(r["from"], r["s"]) for r in ran], [(b"-c", script.encode()), (b"eval", b"y=42")])
        self.assertEqual((traced.out, traced.status), (b"42\n", 3))

    def test_arithmetic_in_and_out(self):
        traced = self.run_both([BASH, "-c", "for i in -3 -2 -1 0 1 2; do echo $((i * 100)); done"],
                               "p:expr bash:evalexp text=+0(%di):string", "r:value bash:evalexp v=$retval:s64 "
                               "v32=$retval:s32 u8=$retval:u8 low=$retval:b4@0/8 hex=$retval:x16",
                               filters=["value: v < 0 && v != -200 || v == 200"])
        self.assertEqual([r["text"] for r in traced.records("expr")], [b"i * 100"] * 6)
        values = [-300, -100, 200]
        self.assertEqual([r["v"] for r in traced.records("value")], values)
        for record, v in zip(traced.records("value"), values):
            self.assertEqual((record["v32"], record["u8"], record["low"], record["hex"]),
                             (v, v & 0xff, v & 0xf, v & 0xffff))
        self.assertEqual(traced.accounts["value"].filtered, 3)
        self.assert_none_lost(traced)

    def test_variables_bound_and_found(self):
        traced = self.run_both(
            [BASH, "-c", "mine='a b'; readonly mine; other=2; echo $mine $other"],
            "p:bind bash:bind_variable n=+0(%di):string v=+0(%si):string", "r:found bash:find_variable " + VARIABLE,
            filters=['bind: n == "mine" || n ~ "oth?r"', 'found: n == "mine"'])
        self.assertEqual([(r["n"], r["v"]) for r in traced.records("bind")], [(b"mine", b"a b"), (b"other", b"2")])
        found = traced.records("found")
        self.assertTrue(found)
        for record in found:
            self.assertEqual(record["v"], b"a b")
            self.assertEqual(record["ro"], record["attr"] >> 1 & 1)  # att_readonly is 2
        self.assertEqual(found[-1]["ro"], 1)
        self.assertGreater(traced.accounts["found"].filtered, 5)

    def test_array_elements(self):
        patch = subprocess.run([BASH, "-c", "echo -n ${BASH_VERSINFO[2]}"], capture_output=True, check=True).stdout.decode()  # in an array of bash's own
        traced = self.run_both(
            [BASH, "-c", "list=([2]=two [5]=five [7]=seven); echo ${list[@]}"],
            "p:put bash:array_insert at=%si:s64 v=+0(%dx):string chars=+0(%dx):u8[3]",
            filters=[f"put: at == 2 && v != '{patch}' || at & 4 && at != 4 && v ~ \"[fs]*\""])
        self.assertEqual([(r["at"], r["v"]) for r in traced.records("put")],
                         [(2, b"two"), (5, b"five"), (7, b"seven")])
        for record in traced.records("put"):
            self.assertEqual(bytes(record["chars"]), record["v"][:3])

    def test_symbols_of_the_program(self):
        """dist_version is a char *, last_command_exit_value an int: read where the program has them."""
        expected = self.run_traced([BASH, "-c", "echo $BASH_VERSION"], "p:x bash:evalexp").out
        traced = self.run_both(
            [BASH, "-c", "(exit 7); : $((0)); (exit 9); : $((0)); true; : $((0))"],
            "p:at bash:evalexp version=+0(@dist_version):string status=@last_command_exit_value:s32 "
            "name=+0(@shell_name):string off=+0(@dist_version+0):u8[3]")
        seen = traced.records("at")
        self.assertEqual([r["status"] for r in seen], [7, 9, 0])
        for record in seen:
            self.assertTrue(expected.startswith(record["version"]), record["version"])
            self.assertEqual(bytes(record["off"]), record["version"])
            self.assertEqual(record["name"], b"/bin/bash")

    def test_traps_and_children(self):
        script = ("trap 'echo trapped; : $((1+1))' USR1 EXIT; kill -USR1 $$; (echo sub; : $((2+2)); exit 4); "
                  "echo status $?; echo piped | cat; : $((3+3))")
        traced = self.run_both([BASH, "-c", script], "p:expr bash:evalexp text=+0(%di):string")
        texts = [r["text"] for r in traced.records("expr")]
        self.assertEqual(sorted(texts), [b"1+1", b"1+1", b"2+2", b"3+3"])
        tids = {r["text"]: r.tid for r in traced.records("expr")}
        self.assertNotEqual(tids[b"2+2"], tids[b"3+3"])  # the subshell is another process
        self.assertEqual(tids[b"1+1"], tids[b"3+3"])

    def test_more_children_than_counter_shards(self):
        """A shard whose process is dead serves the next one: nothing is missed, however many there were."""
        children = 1300
        traced = self.run_traced(["/bin/bash", "-c", f"for ((i = 0; i < {children}; i++)); do (exit 3); done; exit 0"],
                                 "p:leave libc:_exit status=%di:s32")
        self.assertEqual(sum(r["status"] == 3 for r in traced.records("leave")), children)
        self.assertEqual(len({r.tid for r in traced.records("leave") if r["status"] == 3}), children)
        self.assert_none_lost(traced)


if __name__ == "__main__":
    main()
