"""ls: entry and return probes on libc, the struct dirent and struct passwd it gets back."""
import os
import pwd
import stat

from kevtest import FAULT, ProcessTest, main

NAMES = {"alpha.txt": 11, "beta.dat": 4321, "gamma.txt": 0, "empty": 7}
TYPE_OF = {stat.S_IFREG: 8, stat.S_IFLNK: 10, stat.S_IFDIR: 4}  # DT_* of <dirent.h>


class Ls(ProcessTest):
    def setUp(self):
        super().setUp()
        self.dir = os.path.join(self.folder, "listed")
        os.mkdir(self.dir)
        for name, size in NAMES.items():
            with open(os.path.join(self.dir, name), "wb") as file:
                file.write(b"x" * size)
        os.symlink("alpha.txt", os.path.join(self.dir, "link.txt"))
        os.mkdir(os.path.join(self.dir, "sub"))
        self.names = sorted(os.listdir(self.dir))

    def test_files_asked_for(self):
        traced = self.run_both(
            ["/bin/ls", "-ln", self.dir],
            "p:statx libc:statx fd=%di:s32 path=+0(%si):string first=+0(%si):u8[3] mask=%cx:x32 "
            "same=$arg2 si=%si comm=$comm imm=\\\"im-text\" seven=\\7:u8")
        paths = [os.fsdecode(r["path"]) for r in traced.records("statx")]
        in_dir = [os.path.basename(p) for p in paths if p.startswith(self.dir + "/")]
        self.assertEqual(sorted(in_dir), self.names)
        self.assertEqual(paths[0], self.dir)
        for record, path in zip(traced.records("statx"), paths):
            self.assertEqual(record["fd"], -100)  # AT_FDCWD
            self.assertEqual(bytes(record["first"]), os.fsencode(path)[:3])
            self.assertEqual(record["same"], record["si"])
            self.assertEqual((record["comm"], record["imm"], record["seven"]), (b"ls", b"im-text", 7))
            self.assertEqual(record.comm, b"ls")
            self.assertTrue(record.place.startswith("statx+0x0/"), record.place)
        self.assert_none_lost(traced)

    def test_directory_entries_returned(self):
        traced = self.run_both(
            ["/bin/ls", "-1a", self.dir],
            "r:ent libc:readdir ret=$retval ino=+0($retval):u64 length=+16($retval):u16 type=+18($retval):u8 "
            "low=+18($retval):b2@0/8 high=+18($retval):b3@1/8 name=+19($retval):string chars=+19($retval):u8[2]")
        *found, last = traced.records("ent")
        self.assertEqual(sorted(os.fsdecode(r["name"]) for r in found), sorted(self.names + [".", ".."]))
        for record in found:
            path = os.path.join(self.dir, os.fsdecode(record["name"]))
            told = os.lstat(path)
            if record["name"] != b"..":  # that one may be a mount point's
                self.assertEqual(record["ino"], told.st_ino)
            self.assertEqual(record["type"], TYPE_OF[stat.S_IFMT(told.st_mode)])
            self.assertEqual((record["low"], record["high"]), (record["type"] & 3, record["type"] >> 1 & 7))
            self.assertGreaterEqual(record["length"], 19 + len(record["name"]) + 1)
            self.assertEqual(bytes(record["chars"]), (record["name"] + b"\0")[:2])
        # The end of the directory: a null pointer. Numbers read 0, the string says so.
        self.assertEqual((last["ret"], last["ino"], last["type"], last["chars"]), (0, 0, 0, [0, 0]))
        self.assertEqual(last["name"], FAULT)
        self.assertGreaterEqual(traced.faults["ent"], 5)

    def test_owner_looked_up(self):
        traced = self.run_both(
            ["/bin/ls", "-l", self.dir], "p:asked libc:getpwuid uid=%di:u32",
            "r:found libc:getpwuid name=+0(+0($retval)):string uid=+16($retval):u32 gid=+20($retval):u32 "
            "home=+0(+32($retval)):string shell=+0(+40($retval)):string both=+0(+32($retval)):u8[4]")
        me = pwd.getpwuid(os.getuid())
        self.assertEqual(traced.one("asked")["uid"], os.getuid())
        got = traced.one("found")
        self.assertEqual((os.fsdecode(got["name"]), got["uid"], got["gid"]), (me.pw_name, me.pw_uid, me.pw_gid))
        self.assertEqual((os.fsdecode(got["home"]), os.fsdecode(got["shell"])), (me.pw_dir, me.pw_shell))
        self.assertEqual(bytes(got["both"]), os.fsencode(me.pw_dir)[:4].ljust(4, b"\0"))

    def wanted(self, expression):
        traced = self.run_both(["/bin/ls", "-ln", self.dir],
                               "p:statx libc:statx fd=%di:s32 path=+0(%si):string mask=%cx:u32 fdu=%di:u32",
                               filters=["statx: " + expression])
        account = traced.accounts["statx"]
        self.assertEqual(account.hits, len(self.names) + 1)
        return sorted(os.path.basename(os.fsdecode(r["path"])) for r in traced.records("statx"))

    def test_filters(self):
        txt = ["alpha.txt", "gamma.txt", "link.txt"]
        everything = sorted(self.names + ["listed"])
        self.assertEqual(self.wanted('path ~ "*.txt"'), txt)
        self.assertEqual(self.wanted(f'path == "{self.dir}/sub"'), ["sub"])
        self.assertEqual(self.wanted('path ~ "*/listed/[ab]*" && !(path ~ "*.dat")'), ["alpha.txt"])
        self.assertEqual(self.wanted('!(path ~ "*.txt") && (path ~ "*s?b" || path ~ "*empty")'), ["empty", "sub"])
        self.assertEqual(self.wanted("fd < 0"), everything)
        self.assertEqual(self.wanted("fdu < 100"), [])
        self.assertEqual(self.wanted("fd == -100 && fdu == 0xffffff9c"), everything)
        self.assertEqual(self.wanted("fd >= -99 || fd <= -101"), [])
        self.assertEqual(self.wanted("fdu & 0x80000000"), everything)
        self.assertEqual(self.wanted("!(fdu & 0x80)"), [])
        self.assertEqual(self.wanted('COMM == "ls" && CPU >= 0 && path ~ "*.dat"'), ["beta.dat"])
        self.assertEqual(self.wanted('COMM != "ls" || CPU > 100000'), [])


if __name__ == "__main__":
    main()
