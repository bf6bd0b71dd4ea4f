"""Go programs of the tests: each is built once, in the build folder, by the first test that wants it."""
import fcntl
import os
import shutil
import subprocess

from kevtest import PROGRAMS as BUILT

GO = shutil.which("go")
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
STORE = os.path.join(BUILT, "go-programs")
_here = set()


def built(name, *options, source="goroutines.go", cgo=False):
    """The path of the program NAME; other tests wait while it is built."""
    program = os.path.join(STORE, name)
    if name in _here:
        return program
    os.makedirs(STORE, exist_ok=True)
    with open(os.path.join(STORE, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        env = {"PATH": os.environ["PATH"], "GOCACHE": os.path.join(STORE, "cache"), "GO111MODULE": "off", "HOME": STORE,
               "CGO_ENABLED": "1" if cgo else "0"}
        fresh = program + ".new"  # somebody may be running the other one
        subprocess.run([GO, "build", *options, "-o", fresh, os.path.join(SOURCES, source)], check=True, env=env)
        os.replace(fresh, program)
    _here.add(name)
    return program
