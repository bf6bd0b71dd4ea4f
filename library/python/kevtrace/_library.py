"""libkevtrace as ctypes sees it: one line for each function of kevtrace.h."""
import ctypes
import os
import sysconfig
from ctypes import POINTER, Structure, Union, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p

NAME = "libkevtrace.so.0"


def _path():
    """$KEVTRACE_LIBRARY, or the library that was installed with this module, or the system's."""
    here = os.path.dirname(os.path.abspath(__file__))
    lib = os.path.join(here, "../../..")  # lib/python3/dist-packages/kevtrace
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    beside = [os.path.join(here, NAME), os.path.join(lib, NAME), os.path.join(lib, multiarch, NAME)]
    return os.environ.get("KEVTRACE_LIBRARY") or next((path for path in beside if os.path.exists(path)), NAME)


class RunOptions(Structure):
    _fields_ = [("size", c_size_t), ("definitions", POINTER(c_char_p)), ("filters", POINTER(c_char_p)), ("triggers", POINTER(c_char_p)),
                ("script", c_char_p), ("command", POINTER(c_char_p)), ("pid", c_int), ("count", c_uint64), ("seconds", c_double),
                ("buffer_kb", c_uint), ("follow", c_int), ("runtime", c_char_p),
                ("histograms", POINTER(c_char_p)), ("interval", c_double)]


class Text(Structure):
    _fields_ = [("bytes", c_void_p), ("length", c_size_t)]


class As(Union):
    _fields_ = [("signed", c_int64), ("unsigned", c_uint64), ("float", c_double), ("text", Text)]


class Value(Structure):
    _fields_ = [("kind", c_int), ("value", As)]


class CountsOf(Structure):
    _fields_ = [("event", c_char_p), ("hits", c_uint64), ("recorded", c_uint64), ("aggregated", c_uint64), ("filtered", c_uint64),
                ("lost", c_uint64), ("missed", c_uint64)]


ABSENT, SIGNED, UNSIGNED, FLOAT, TEXT = range(5)
HISTOGRAM, RECORD, NOTHING, END, FAILED = 2, 1, 0, -1, -2

library = ctypes.CDLL(_path())
for _name, _result, *_arguments in (
        ("version", c_char_p), ("check", c_void_p, c_char_p, c_char_p), ("compile", c_int, c_char_p, c_char_p), ("free", None, c_void_p),
        ("failure", c_char_p), ("run", c_void_p, POINTER(RunOptions)), ("open", c_void_p, c_char_p), ("next", c_int, c_void_p, c_int),
        ("want_histograms", None, c_void_p), ("histogram", c_char_p, c_void_p),
        ("status", c_int, c_void_p), ("stop", None, c_void_p), ("close", None, c_void_p), ("messages", c_char_p, c_void_p), ("fd", c_int, c_void_p),
        ("event", c_char_p, c_void_p), ("time", c_uint64, c_void_p), ("cpu", c_uint, c_void_p), ("thread", c_int, c_void_p),
        ("comm", c_char_p, c_void_p), ("lost_before", c_uint64, c_void_p), ("fields", c_uint, c_void_p),
        ("field_name", c_char_p, c_void_p, c_uint), ("field_items", c_uint, c_void_p, c_uint), ("field_is_array", c_int, c_void_p, c_uint),
        ("value_of", Value, c_void_p, c_uint, c_uint), ("counted", c_uint, c_void_p), ("counts_of", CountsOf, c_void_p, c_uint)):
    _function = getattr(library, "kevtrace_" + _name)
    _function.restype, _function.argtypes = _result, _arguments
