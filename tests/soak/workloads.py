"""Programs of Debian that work one library each: [(words of the command, what is compared)].

A command runs in the folder of `prepare()`. Compared.ALL: status and both streams; Compared.STATUS: of one that
prints times or makes random keys.
"""
import enum
import hashlib
import os
import subprocess

BUSY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "process", "programs", "busy.py")
PYTHON = "/usr/bin/python3"


class Compared(enum.Enum):
    ALL = 1
    STATUS = 2


SQL = """create table t(id integer primary key, a text, b real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 4000) insert into t select i, printf('%x', i * i), i / 7.0 from n;
create index ia on t(a); select count(*), sum(b), group_concat(substr(a, 1, 2), '') from t where a like '%1%';
select a, count(*) over (partition by length(a) order by b) from t order by b desc limit 50;
explain query plan select * from t join t as u on t.a = u.a; pragma integrity_check;
select sqrt(2), exp(1), ln(3), sin(1), pow(2, 0.5), atan2(1, 2);
"""
CMAKE = """set(all "")
foreach(i RANGE 1 1500)
  string(SHA256 digest "text ${i}")
  string(REGEX REPLACE "[0-9]+" "<\\\\0>" marked "${digest}")
  list(APPEND all "${marked}")
endforeach()
list(SORT all)
list(REMOVE_DUPLICATES all)
string(JSON value GET [[{"a": [1, 2, {"b": "c"}]}]] a 2 b)
string(SHA256 digest "${all}")
message(STATUS "${digest} ${value}")
"""


def _write(folder, name, content):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)


def prepare(folder):
    """Files that the workloads read: always the same."""
    lines = b"".join(b"%06d %s some words of text\n" % (i, hashlib.md5(b"%d" % i).hexdigest().encode()) for i in range(60000))
    _write(folder, "lines.txt", lines)
    _write(folder, "script.sql", SQL.encode())
    _write(folder, "script.cmake", CMAKE.encode())
    repository = os.path.join(folder, "repository")
    os.mkdir(repository)
    environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1"}
    for name in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{name}_NAME": "n", f"GIT_{name}_EMAIL": "e@e", f"GIT_{name}_DATE": "2020-01-01T00:00:00Z"}

    def git(*words):
        subprocess.run(["git", *words], cwd=repository, env=environment, check=True, capture_output=True)

    if not os.path.exists("/usr/bin/git"):
        return
    git("init", "-q")
    for i in range(12):
        _write(repository, f"file{i % 4}", lines[i * 40000 : i * 40000 + 120000])
        git("add", ".")
        git("commit", "-q", "-m", f"change {i}")


def workloads(folder):
    """{library: commands}; "python3" is the program itself."""
    at = lambda name: os.path.join(folder, name)
    busy = [PYTHON, "-B", BUSY, folder]
    git = ["/usr/bin/git", "-C", at("repository"), "--no-pager"]
    sqlite = ["/usr/bin/sqlite3", ":memory:", ".read " + at("script.sql")]
    return {
        "libc.so.6": [(busy, Compared.ALL), (sqlite, Compared.ALL), (["/bin/ls", "-lR", "/usr/include"], Compared.ALL),
                      (git + ["log", "-p"], Compared.ALL)],
        "libstdc++.so.6": [(["/usr/bin/cmake", "-P", at("script.cmake")], Compared.ALL),
                           (["/usr/bin/apt-cache", "stats"], Compared.ALL)],
        "libsqlite3.so.0": [(sqlite, Compared.ALL)],
        "libcrypto.so.3": [(["/usr/bin/openssl", "speed", "-seconds", "1", "-evp", "aes-128-gcm"], Compared.STATUS),
                           (["/usr/bin/openssl", "dgst", "-sha3-256", at("lines.txt")], Compared.ALL),
                           (["/usr/bin/openssl", "enc", "-aes-256-cbc", "-pbkdf2", "-S", "0011223344556677", "-k", "p", "-a",
                             "-in", at("lines.txt")], Compared.ALL),
                           (["/usr/bin/openssl", "genrsa", "1024"], Compared.STATUS)],
        "libglib-2.0.so.0": [(["/usr/bin/gio", "info", "/usr/bin"], Compared.STATUS),
                             (["/usr/bin/gio", "cat", at("lines.txt")], Compared.ALL),
                             (["/usr/bin/gio", "list", "-l", "/usr/bin"], Compared.ALL)],
        "libz.so.1": [(git + ["log", "-p", "--stat"], Compared.ALL), (git + ["fsck", "--full"], Compared.ALL), (busy, Compared.ALL)],
        "liblzma.so.5": [(["/usr/bin/xz", "-c", "-T2", "-1", at("lines.txt")], Compared.ALL)],
        "libm.so.6": [(busy + ["math"], Compared.ALL), (sqlite, Compared.ALL)],
        "libpcre2-8.so.0": [(["/bin/grep", "-Pc", "(?<=a)[b-f]{2}(\\d+)x?.*(?!zz)w", at("lines.txt")], Compared.ALL),
                            (git + ["grep", "-nP", "(\\d)\\1{2,}[a-f]"], Compared.ALL)],
        "python3": [(busy, Compared.ALL)],
    }
