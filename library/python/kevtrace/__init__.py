"""kevtrace: check definitions, trace programs and read recordings, from Python.

    import kevtrace
    for r in kevtrace.run("p:open libc:open64 path=+0(%di):string", pid=1234, count=10):
        print(r.time, r.comm, r.path)

It is libkevtrace (kevtrace.h) and nothing more: a run is the program `kevtrace`, started for it, so the interpreter is
never a tracer. libkevtrace.so.0 is looked for beside this module, in $KEVTRACE_LIBRARY, and where the system has
libraries.
"""
from ._reader import Counts, Error, Histogram, Reader, Record, Row, check, compile_script, open, run, version  # noqa: A004

__all__ = ["Counts", "Error", "Histogram", "Reader", "Record", "Row", "check", "compile_script", "open", "run", "version"]
