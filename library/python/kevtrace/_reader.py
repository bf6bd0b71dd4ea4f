"""Readers and records; see kevtrace.h for what each call does and when it fails."""
import ctypes
import json
import math
import os
import threading
import time
from typing import NamedTuple, Optional

from ._library import ABSENT, END, FLOAT, HISTOGRAM, NOTHING, RECORD, SIGNED, UNSIGNED, RunOptions, library

_UNKNOWN = (1 << 64) - 1
_SLICE = 0.1  # seconds


class Error(Exception):
    """kevtrace refused; the text is its own."""


class Counts(NamedTuple):
    """hits = recorded + aggregated + filtered + lost + missed, of one event; missed is None where the runtime cannot tell."""
    hits: int
    recorded: int
    aggregated: int
    filtered: int
    lost: int
    missed: Optional[int]


class Record:
    """One record. Fields are attributes and items: `r.path`, `r["path"]`; `r.fields` is a dict of them.

    time: nanoseconds (CLOCK_MONOTONIC unless the recording says otherwise); lost_before: records of this CPU that were
    lost right before it. Values are int, float, str (bytes that are no UTF-8 are surrogates, as in file names), a list of
    them for arrays, and None for a text that could not be read at the hit; a number that could not be read is 0.
    """
    __slots__ = ("event", "time", "cpu", "thread", "comm", "lost_before", "fields")

    def __init__(self, event, time, cpu, thread, comm, lost_before, fields):
        self.event, self.time, self.cpu, self.thread, self.comm, self.lost_before, self.fields = event, time, cpu, thread, comm, lost_before, fields

    def __getattr__(self, name):
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(f"{self.event} has no field {name!r}; it has {', '.join(self.fields)}") from None

    def __getitem__(self, name):
        return self.fields[name]

    def __repr__(self):
        values = " ".join(f"{name}={value!r}" for name, value in self.fields.items())
        return f"<{self.event} {self.time / 1e9:.6f} {self.comm}-{self.thread} [{self.cpu}] {values}>"


class Row(NamedTuple):
    """What one combination of keys has counted.

    keys, values: by name. A key is int, float, str, a dict of a bucket's ends or of a number and its name, or a list of
    frames; a value is a sum, or what `.min`, `.max` and `.avg` ask for. at_least: of `top=`, so many hits are surely this
    row's; else None.
    """
    keys: dict
    hits: int
    values: dict
    at_least: Optional[int]


class Histogram:
    """What an event's hits had counted from `start` to `end`, in seconds since tracing began.

    event: "GROUP/EVENT"; trigger: its text; hits: how many were counted; dropped: hits besides, whose keys had no room; rows:
    a list of Row; others_at_most: of `top=`, no key that has no row has more hits than this, else None; percentiles: of a
    `.loglinear` key, a list of dicts.
    """
    __slots__ = ("event", "trigger", "start", "end", "hits", "dropped", "rows", "others_at_most", "percentiles")

    def __init__(self, text):
        try:
            told = json.loads(text)
            self.event, self.trigger = told["event"].replace(":", "/", 1), told["trigger"]
            self.start, self.end, self.hits, self.dropped = told.get("from_s"), told.get("to_s"), told["hits"], told["dropped"]
            self.rows = [Row(row["keys"], row["hitcount"], row["values"], row.get("at_least")) for row in told["rows"]]
            self.others_at_most, self.percentiles = told.get("others_at_most"), told.get("percentiles", [])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Error(f"the recording has a histogram that is none of kevtrace's: {error!r}") from None

    def __repr__(self):
        return f"<{self.event} {self.trigger} {self.start} s to {self.end} s: {self.hits} hits, {len(self.rows)} rows>"


def _value(handle, field, item):
    value = library.kevtrace_value_of(handle, field, item)
    if value.kind == ABSENT:
        return None
    if value.kind == SIGNED:
        return value.value.signed
    if value.kind == UNSIGNED:
        return value.value.unsigned
    if value.kind == FLOAT:
        return value.value.float
    return os.fsdecode(ctypes.string_at(value.value.text.bytes, value.value.text.length))


class Reader:
    """Iterates over records, and histograms where they are asked for; use it in `with`, or close() it.

    `counts` is {event: Counts} once the end has come.
    """

    def __init__(self, handle):
        if not handle:
            raise Error(os.fsdecode(library.kevtrace_failure()))
        self._handle = handle
        self._lock = threading.Lock()  # held while the library works for this reader
        self._is_closing = False
        self._shapes = {}
        self.counts = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    def close(self):
        """Ends tracing and waits until nothing of it is left in the traced program. Other threads may be in next()."""
        self._is_closing = True
        if getattr(self, "_handle", None) is None:
            return
        with self._lock:
            handle, self._handle = self._handle, None
            if handle:
                library.kevtrace_close(handle)

    def stop(self):
        """Ends tracing soon; what is recorded already still comes. A command goes on, and the end comes with its own."""
        with self._lock:
            library.kevtrace_stop(self._open())

    def want_histograms(self):
        """From now on histograms come, too: of a script's triggers, of a recording (behind its records)."""
        with self._lock:
            library.kevtrace_want_histograms(self._open())

    def fileno(self):
        """For select and asyncio: readable when something has come since next(timeout=…) last gave None."""
        return library.kevtrace_fd(self._open())

    @property
    def status(self):
        """The exit status once the end has come, the command's if there is one; None before, and of a recording."""
        status = library.kevtrace_status(self._open())
        return None if status < 0 else status

    @property
    def messages(self):
        """What kevtrace has said so far."""
        return os.fsdecode(library.kevtrace_messages(self._open()))

    def next(self, timeout=None):
        """The next Record or Histogram; None: none came within `timeout` seconds. StopIteration at the end, Error if tracing failed."""
        until = None if timeout is None or timeout == math.inf else time.monotonic() + timeout
        while True:  # in slices, between which Python's own signal handlers run
            left = _SLICE if until is None else min(max(until - time.monotonic(), 0), _SLICE)
            with self._lock:
                result = library.kevtrace_next(self._open(), math.ceil(left * 1000))
                if result == RECORD:
                    return self._record()
                if result == HISTOGRAM:
                    return Histogram(library.kevtrace_histogram(self._handle))
                if result != NOTHING:
                    self._take_counts()
                if result == END:
                    raise StopIteration
                if result != NOTHING:
                    raise Error(os.fsdecode(library.kevtrace_messages(self._handle)))
            if until is not None and time.monotonic() >= until:
                return None

    def __iter__(self):
        return self

    def __next__(self):
        return self.next()

    def _open(self):
        if not self._handle or self._is_closing:
            raise ValueError("the reader is closed")
        return self._handle

    # Names and forms of an event's fields are asked for once.
    def _shape(self, event):
        shape = self._shapes.get(event)
        if shape is None:
            handle = self._handle
            shape = self._shapes[event] = [(os.fsdecode(library.kevtrace_field_name(handle, i)), library.kevtrace_field_is_array(handle, i))
                                           for i in range(library.kevtrace_fields(handle))]
        return shape

    def _record(self):
        handle = self._handle
        event = os.fsdecode(library.kevtrace_event(handle))
        fields = {name: [_value(handle, i, item) for item in range(library.kevtrace_field_items(handle, i))] if is_array else _value(handle, i, 0)
                  for i, (name, is_array) in enumerate(self._shape(event)) if not name.startswith("__probe_")}
        return Record(event, library.kevtrace_time(handle), library.kevtrace_cpu(handle), library.kevtrace_thread(handle),
                      os.fsdecode(library.kevtrace_comm(handle)), library.kevtrace_lost_before(handle), fields)

    def _take_counts(self):
        for index in range(library.kevtrace_counted(self._handle)):
            one = library.kevtrace_counts_of(self._handle, index)
            missed = None if one.missed == _UNKNOWN else one.missed
            self.counts[os.fsdecode(one.event)] = Counts(one.hits, one.recorded, one.aggregated, one.filtered, one.lost, missed)


def _bytes(text):
    made = os.fsencode(text)
    if b"\0" in made:
        raise ValueError(f"a NUL in {text!r}")
    return made


def _list(texts):
    if isinstance(texts, (str, bytes)):
        texts = [texts]
    made = [_bytes(text) for text in texts]
    return (ctypes.c_char_p * (len(made) + 1))(*made, None)


def run(definitions=(), *, pid=None, command=None, filters=(), triggers=(), histograms=(), interval=0.0, script=None, count=0, seconds=0.0,
        buffer_kb=0, follow=False, runtime=None):
    """Traces process `pid`, or starts `command` (a list), or traces the kernel (`runtime="bpf"`). A Reader.

    `definitions`, `filters`, `triggers`: one text or several, as for `kevtrace run`; `histograms`: as its `--hist`, "ev:
    keys=fd:vals=want". Histograms come at the end, or each `interval` seconds, and then begin anew; what they count is not
    recorded. Those of a script come after want_histograms(). `count`, `seconds`: when tracing ends. `follow`: also programs
    that these, and what they fork, become by exec.
    """
    options = RunOptions(size=ctypes.sizeof(RunOptions), definitions=_list(definitions), filters=_list(filters), triggers=_list(triggers),
                         script=_bytes(script) if script else None, command=_list(command) if command else None, pid=pid or 0, count=count,
                         seconds=seconds, buffer_kb=buffer_kb, follow=follow, runtime=runtime.encode() if runtime else None,
                         histograms=_list(histograms), interval=interval)
    return Reader(library.kevtrace_run(ctypes.byref(options)))


def open(path, histograms=False):  # noqa: A001: the module's own, as in gzip.open
    """A Reader of a recording: trace.dat of kevtrace or trace-cmd, NDJSON of kevtrace; or of a fleet (ch://…).

    `histograms`: those of the recording come behind its records.
    """
    reader = Reader(library.kevtrace_open(_bytes(path)))
    if histograms:
        reader.want_histograms()
    return reader


def check(text, kernel=None):
    """What is wrong with an event script, as `kevtrace check --diagnostics=json` says it (docs/cli.md): a dict."""
    report = library.kevtrace_check(_bytes(text), kernel.encode() if kernel else None)
    if not report:
        raise Error(os.fsdecode(library.kevtrace_failure()))
    try:
        return json.loads(ctypes.string_at(report))
    finally:
        library.kevtrace_free(report)


def compile_script(script, output):
    """Compiles an event script to a file that runs where there is no compiler."""
    if library.kevtrace_compile(_bytes(script), _bytes(output)) != 0:
        raise Error(os.fsdecode(library.kevtrace_failure()))


def version():
    """The library's version, "0.1.0"."""
    return library.kevtrace_version().decode()

