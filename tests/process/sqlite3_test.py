"""sqlite3: statements, step results, column texts, the sqlite3_vfs struct and library symbols."""
import re
import sqlite3

from kevtest import FAULT, ProcessTest, main

ROW, DONE = 100, 101
SCRIPT = """create table t(a, b);
insert into t values(1, 'one'), (2, 'two'), (-3, null), (4, 'a longer text, of forty-four characters ok');
select a, b from t order by a;
select count(*) from t where a > 0;
"""


class Sqlite3(ProcessTest):
    def trace(self, *definitions, **options):
        return self.run_both(["/usr/bin/sqlite3", ":memory:"], *definitions, input=SCRIPT.encode(), **options)

    def test_statements(self):
        traced = self.trace(
            "p:prep libsqlite3:sqlite3_prepare_v2 sql=+0(%si):string limit=%dx:s32 same=$arg3:s32 from=$stack0 "
            "sp=$stack head=+0(%si):u8[6]", "r:prepared libsqlite3:sqlite3_prepare_v2 rc=$retval:s32",
            filters=["prep: limit < 0 && !(sql ~ \"SELECT*\")"])
        lines = SCRIPT.encode().splitlines()
        prepared = traced.records("prep")
        self.assertEqual([r["sql"].strip() for r in prepared], lines)
        for record in prepared:
            self.assertEqual((record["limit"], record["same"]), (-1, -1))
            self.assertEqual(bytes(record["head"]), record["sql"][:6])
        self.assertEqual({r["rc"] for r in traced.records("prepared")}, {0})
        # $stack0 at the entry is where the return probe comes back to: code without a symbol, so an offset in the file.
        found = (re.match(r"sqlite3\+0x([0-9a-f]+) <- ", r.place) for r in traced.records("prepared"))
        returns = {int(place[1], 16) for place in found if place}
        bases = {prepared[0]["from"] - offset for offset in returns}
        self.assertTrue(any(base % 4096 == 0 and {r["from"] - base for r in prepared} <= returns for base in bases),
                        (prepared, returns))
        self.assert_none_lost(traced)

    def test_steps_and_columns(self):
        traced = self.trace("r:step libsqlite3:sqlite3_step rc=$retval:s32",
                            "r:text libsqlite3:sqlite3_column_text s=+0($retval):string two=+0($retval):u8[2] p=$retval",
                            "p:col libsqlite3:sqlite3_column_text i=%si:s32", filters=["step: rc == 100"])
        rows = [r for r in traced.records("step")]
        self.assertGreaterEqual(len(rows), 5)
        self.assertEqual({r["rc"] for r in rows}, {ROW})
        self.assertGreaterEqual(traced.accounts["step"].filtered, 4)
        texts = [r["s"] for r in traced.records("text")]
        for expected in (b"one", b"two", b"-3", b"a longer text, of forty-four characters ok", b"4"):
            self.assertIn(expected, texts)
        null = [r for r in traced.records("text") if r["p"] == 0]
        self.assertEqual([(r["s"], r["two"]) for r in null], [(FAULT, [0, 0])])
        self.assertEqual(traced.faults["text"], 2)
        self.assertEqual(traced.accounts["col"].recorded, len(texts))

    def test_struct_behind_a_result(self):
        """struct sqlite3_vfs { int iVersion, szOsFile, mxPathname; sqlite3_vfs *pNext; const char *zName; ... }"""
        traced = self.trace("r:vfs libsqlite3:sqlite3_vfs_find version=+0($retval):s32 path=+8($retval):u32 "
                            "name=+0(+24($retval)):string three=+0($retval):u32[3] bits=+8($retval):b4@8/16 "
                            "path_s=+8($retval):s32",
                            filters=['vfs: name == "unix" && path_s > 100'])
        seen = traced.records("vfs")
        self.assertTrue(seen)
        for record in seen:
            self.assertEqual((record["version"], record["path"]), (3, 512))
            self.assertEqual((record["three"][0], record["three"][2]), (3, 512))
            self.assertEqual((record["bits"], record["path_s"]), (512 >> 8, 512))

    def test_symbols_of_the_library(self):
        version = sqlite3.sqlite_version.encode()  # of the same library
        traced = self.trace("p:prep libsqlite3:sqlite3_prepare_v2 v=@sqlite3_version:string "
                            "c=@sqlite3_version:u8[4] tail=@sqlite3_version+2:string word=@sqlite3_version:x16",
                            filters=[f'prep: tail == "{version[2:].decode()}"'])
        for record in traced.records("prep"):
            self.assertEqual((record["v"], bytes(record["c"]), record["tail"]), (version, version[:4], version[2:]))
            self.assertEqual(record["word"], int.from_bytes(version[:2], "little"))
        self.assertGreaterEqual(traced.accounts["prep"].recorded, 4)

    def test_error_is_the_programs(self):
        traced = self.run_both(["/usr/bin/sqlite3", ":memory:", "select x from nowhere"],
                               "r:prepared libsqlite3:sqlite3_prepare_v2 rc=$retval:s32",
                               "r:why libsqlite3:sqlite3_errmsg s=+0($retval):string", filters=["prepared: rc != 0"])
        self.assertEqual(traced.one("prepared")["rc"], 1)
        self.assertIn(b"no such table: nowhere", [r["s"] for r in traced.records("why")])
        self.assertNotEqual(traced.status, 0)
        self.assertIn(b"no such table: nowhere", traced.err)


if __name__ == "__main__":
    main()
