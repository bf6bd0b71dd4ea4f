"""/usr/bin/python3 with threads: its own C API, Python objects read by offset, libc and libz under it."""
import sys

from kevtest import ProcessTest, main

PYTHON = "/usr/bin/python3"
# PyASCIIObject of 3.11: refcnt, type, length (16), hash, state (32: interned:2 kind:3 compact:1 ascii:1), wstr, text (48)
OBJECT = ("type=+0(+24(+8(%di))):string len=+16(%di):s64 kind=+32(%di):b3@2/32 compact=+32(%di):b1@5/32 "
          "ascii=+32(%di):b1@6/32 text=+48(%di):string c=+48(%di):u8 chars=+48(%di):u8[4]")


class Python3(ProcessTest):
    def python(self, code, *definitions, **options):
        return self.run_both([PYTHON, "-S", "-c", code], *definitions, **options)

    def test_objects(self):
        traced = self.python("for s in ['hello', 'tracing python', 'x']: print(s)\nprint(123456)\n",
                             "p:out python3.11:PyFile_WriteObject " + OBJECT,
                             filters=['out: type == "str" && c != 10'])
        printed = traced.records("out")
        self.assertEqual([r["text"] for r in printed], [b"hello", b"tracing python", b"x"])
        for record in printed:
            self.assertEqual((record["type"], record["len"]), (b"str", len(record["text"])))
            self.assertEqual((record["kind"], record["compact"], record["ascii"]), (1, 1, 1))
            self.assertEqual(bytes(record["chars"]), record["text"].ljust(4, b"\0")[:4])
        self.assertEqual(traced.accounts["out"].filtered, 5)  # the int, four newlines

    def test_numbers_signed_and_unsigned(self):
        code = "import array\na = array.array('q')\nfor v in (-5, 0, 7, 1 << 40, -(1 << 40)): a.append(v)\nprint(a)"
        for expression, wanted in (("v < 0", [-5, -(1 << 40)]), ("v > 0 && v <= 7", [7]),
                                   ("u > 0xffffffff00000000", [-5]), ("v == -5 || v == 1099511627776", [-5, 1 << 40]),
                                   ("!(v & 1) && v != 0", [1 << 40, -(1 << 40)])):
            traced = self.python(code, "r:long python3.11:PyLong_AsLongLong v=$retval:s64 u=$retval:u64 h=$retval:s8",
                                 filters=["long: " + expression])
            values = [r["v"] for r in traced.records("long")]
            expected = [w for w in wanted if w in values]
            self.assertEqual(expected, wanted, expression)
            for record in traced.records("long"):
                self.assertEqual(record["u"], record["v"] % (1 << 64))
                self.assertEqual(record["h"] % 256, record["v"] % 256)

    def test_files_opened_by_threads(self):
        names = [self.path(f"file-{i}.txt", b"%d" % i) for i in range(12)]
        code = ("import sys, threading, ctypes\n"
                "def work(part):\n"
                "    for name in part:\n"
                "        with open(name) as f: f.read()\n"
                "    ids.append(threading.get_native_id())\n"
                "ids = []\n"
                "for k in range(4):\n"
                "    t = threading.Thread(target=work, args=(sys.argv[1 + 3 * k:4 + 3 * k],)); t.start(); t.join()\n"
                "print(*ids)")
        traced = self.run_traced(
            [PYTHON, "-S", "-c", code, *names],
            "p:open libc:open64 path=+0(%di):string flags=%si:x32 same=$arg1 di=%di comm=$comm sp=$stack s3=$stack3",
            "r:opened libc:open64 fd=$retval:s32", "p:start libc:pthread_create",
            filters=[f'open: path ~ "{self.folder}/file-*.txt" && comm == "python3" && COMM ~ "pyth*[0-9]"'])
        tids = [int(word) for word in traced.out.split()]
        self.assertEqual(len(tids), 4, traced.err)
        opened = traced.records("open")
        self.assertEqual([r["path"].decode() for r in opened], names)
        self.assertEqual([r.tid for r in opened], [tid for tid in tids for _ in range(3)])
        for record in opened:
            self.assertEqual((record["same"], record["flags"] & 3), (record["di"], 0))
            self.assertEqual(record["sp"] % 16, 8)  # at a function's entry
        by_thread = [r for r in traced.records("opened") if r.tid in tids]
        self.assertEqual(len(by_thread), 12)
        self.assertTrue(all(r["fd"] > 2 for r in by_thread))
        self.assertEqual(len(traced.records("start")), 4)
        self.assert_none_lost(traced)

    def test_many_threads_at_once(self):
        code = ("import threading\n"
                "def work(k):\n"
                "    for i in range(200): int(str(k * 1000 + i))\n"
                "all = [threading.Thread(target=work, args=(k,)) for k in range(8)]\n"
                "for t in all: t.start()\n"
                "for t in all: t.join()\n"
                "print('done')")
        traced = self.python(code, "p:conv python3.11:PyLong_FromString s=+0(%di):string base=%dx:s32",
                             "r:conved python3.11:PyLong_FromString type=+0(+24(+8($retval))):string "
                             "size=+16($retval):s64 digit=+24($retval):u32", filters=['conv: base == 10'],
                             buffer_kb=4096)
        wanted = {str(k * 1000 + i).encode() for k in range(8) for i in range(200)}
        by_text = {}
        for record in traced.records("conv"):
            by_text.setdefault(record["s"], record.tid)
        self.assertLessEqual(wanted, set(by_text))
        for k in range(8):
            self.assertEqual(len({by_text[str(k * 1000 + i).encode()] for i in range(200)}), 1)
        pairs = zip(traced.records("conv")[-50:], traced.records("conved")[-50:])
        self.assertEqual({p["type"] for _, p in pairs}, {b"int"})
        made = {r["digit"] for r in traced.records("conved") if r["size"] == 1}
        self.assertLessEqual({int(t) for t in wanted} - {0}, made)

    def test_zlib_under_it(self):
        """z_stream { next_in; uInt avail_in; uLong total_in; next_out; uInt avail_out; uLong total_out; msg; … }"""
        stream = ("first=+0(+0(%di)):u8[5] avail=+8(%di):u32 total_in=+16(%di):u64 room=+32(%di):u32 "
                  "total_out=+40(%di):u64 flush=%si:s32")
        code = ("import zlib\nd = bytes(range(1, 101)) * 50\nc = zlib.compress(d, 6)\nprint(len(c))\n"
                "assert zlib.decompress(c) == d\nprint(zlib.crc32(b'abc'), zlib.adler32(b'abc'))")
        traced = self.python(code, "p:deflate libz:deflate " + stream, "r:deflated libz:deflate rc=$retval:s32",
                             "p:inflate libz:inflate " + stream, "r:inflated libz:inflate rc=$retval:s32",
                             "p:crc libz:crc32 text=+0(%si):u8[3] len=%dx:u32 s=+0(%si):string",
                             "r:crcd libz:crc32 v=$retval:u32", "r:adlered libz:adler32 v=$retval:u32",
                             filters=["crc: len == 3", "deflate: flush == 4 && avail & 0x8"])
        packed, crc, adler = (int(word) for word in traced.out.split())
        call = traced.records("deflate")[0]
        self.assertEqual((call["first"], call["avail"], call["total_in"]), ([1, 2, 3, 4, 5], 5000, 0))
        self.assertEqual(traced.records("deflated")[-1]["rc"], 1)  # Z_STREAM_END
        call = traced.records("inflate")[0]
        self.assertEqual((call["first"][0], call["avail"], call["total_out"]), (0x78, packed, 0))
        self.assertEqual(traced.records("inflated")[-1]["rc"], 1)
        self.assertEqual(bytes(traced.one("crc")["text"]), b"abc")
        self.assertIn(crc, [r["v"] for r in traced.records("crcd")])
        self.assertIn(adler, [r["v"] for r in traced.records("adlered")])

    def test_symbols_of_program_and_library(self):
        traced = self.python("print(1)", "p:out python3.11:PyFile_WriteObject type=+8(%di) unicode=@PyUnicode_Type "
                             "name=+0(@PyUnicode_Type+24):string debug=@Py_OptimizeFlag:s32 env=+0(+0(@environ)):string",
                             "p:fini python3.11:Py_FinalizeEx debug=@Py_OptimizeFlag:s32",
                             filters=["fini: debug == 0"])
        self.assertEqual(traced.records("out")[0]["name"], b"str")
        self.assertEqual(traced.records("out")[0]["debug"], 0)
        self.assertIn(b"=", traced.records("out")[0]["env"])
        self.assertEqual(traced.accounts["fini"].hits, traced.accounts["fini"].recorded)

    def test_fault_handler_and_exceptions(self):
        traced = self.python("import faulthandler; faulthandler.enable()\nraise SystemExit(7)",
                             "p:open libc:open64 path=+0(%di):string")
        self.assertEqual(traced.status, 7)
        traced = self.python("int('1') / int('0')", "p:err python3.11:PyErr_SetString text=+0(%si):string",
                             filters=['err: text ~ "division*"'])
        self.assertEqual([r["text"] for r in traced.records("err")], [b"division by zero"])
        self.assertEqual(traced.status, 1)


if __name__ == "__main__":
    if sys.version_info[:2] != (3, 11):
        sys.exit(77)  # the offsets of Python objects are 3.11's
    main()
