"""xz: the lzma_stream it hands to the library, compressing and decompressing, one thread and several."""
import random

from kevtest import ProcessTest, main, plain

XZ = "/usr/bin/xz"
OK, STREAM_END = 0, 1
RUN, FINISH = 0, 3
# struct lzma_stream { next_in; size_t avail_in; uint64_t total_in; next_out; size_t avail_out; uint64_t total_out; }
STREAM = ("action=%si:u32 first=+0(+0(%di)):x8[6] avail=+8(%di):u64 total_in=+16(%di):u64 room=+32(%di):u64 "
          "total_out=+40(%di):u64 comm=$comm")


class Xz(ProcessTest):
    def setUp(self):
        super().setUp()
        self.data = random.Random(7).randbytes(100_000)
        self.file = self.path("data.bin", self.data)

    def check_stream(self, calls, source):
        """What is offered at each call is the file from where the encoder had got to."""
        taken = 0
        for call in calls:
            self.assertGreaterEqual(call["total_in"], taken)
            taken = call["total_in"]
            if call["avail"] >= 6:
                self.assertEqual(bytes(call["first"]), source[taken:taken + 6])
            self.assertLessEqual(taken + call["avail"], len(source))
            self.assertEqual(call["comm"], b"xz")
        self.assertEqual(taken + calls[-1]["avail"], len(source))

    def test_compressing(self):
        traced = self.run_both([XZ, "-0", "-T1", "-k", "-c", self.file], "p:code liblzma:lzma_code " + STREAM,
                               "r:coded liblzma:lzma_code rc=$retval:s32 low=$retval:b1@0/8 raw=$retval:x32")
        calls, results = traced.records("code"), traced.records("coded")
        fed = [c for c in calls if c["avail"]]
        self.check_stream(fed, self.data)
        self.assertEqual([r["rc"] for r in results], [OK] * (len(results) - 1) + [STREAM_END])
        self.assertEqual((results[-1]["low"], results[-1]["raw"]), (1, 1))
        self.assertEqual([c["action"] for c in calls], sorted(c["action"] for c in calls))  # RUN…, FINISH…
        self.assertEqual({calls[0]["action"], calls[-1]["action"]}, {RUN, FINISH})
        self.assertEqual(len(calls), len(results))
        self.assertGreaterEqual(len(traced.out), calls[-1]["total_out"])
        self.assert_none_lost(traced)

    def test_decompressing(self):
        packed = plain([XZ, "-6", "-T1", "-k", "-c", self.file])[1]
        traced = self.run_both([XZ, "-dc", self.path("data.xz", packed)], "p:code liblzma:lzma_code " + STREAM,
                               "r:coded liblzma:lzma_code rc=$retval:u32",
                               filters=["code: avail > 0", "coded: rc & 1"])
        self.assertEqual(traced.out, self.data)
        first = traced.records("code")[0]
        self.assertEqual(bytes(first["first"]), b"\xfd7zXZ\0")
        self.assertEqual(traced.one("coded")["rc"], STREAM_END)
        self.assertEqual(traced.accounts["coded"].filtered, traced.accounts["coded"].hits - 1)

    def test_filters_on_the_stream(self):
        def hits(expression):
            traced = self.run_traced([XZ, "-0", "-T1", "-k", "-c", self.file], "p:code liblzma:lzma_code " + STREAM,
                                     filters=["code: " + expression])
            return [r["total_in"] for r in traced.records("code")], traced.accounts["code"]

        everything, account = hits("total_in >= 0")
        self.assertEqual(account.filtered, 0)
        late, account = hits("total_in > 50000 && total_in <= 0x12000")
        self.assertEqual(late, [t for t in everything if 50000 < t <= 0x12000])
        self.assertEqual(account.hits, len(everything))
        self.assertEqual(hits('!(comm == "xz")')[0], [])
        self.assertEqual(hits('comm ~ "x?" && !(total_in < 8192)')[0], [t for t in everything if t >= 8192])
        self.assertEqual(hits("!(!(action == 3))")[0], hits("action & 2")[0])

    def test_threads(self):
        traced = self.run_both([XZ, "-0", "-T2", "--block-size=20000", "-k", "-c", self.file],
                               "p:code liblzma:lzma_code " + STREAM, "p:start libc:pthread_create arg=%cx",
                               "p:crc liblzma:lzma_crc64 size=%si:u64 seed=%dx:x64",
                               "r:crcd liblzma:lzma_crc64 crc=$retval:x64")
        self.check_stream([c for c in traced.records("code") if c["avail"]], self.data)
        self.assertEqual(plain([XZ, "-dc"], input=traced.out)[1], self.data)
        self.assertGreaterEqual(len(traced.records("start")), 1)
        self.assertEqual(traced.accounts["crc"].hits, traced.accounts["crcd"].hits)


if __name__ == "__main__":
    main()
