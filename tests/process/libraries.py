"""Which functions a library has, as `kevtrace list` tells it, and where the loader finds it."""
import os
import re
import subprocess

KEVTRACE = os.environ["KEVTRACE"]


# A mistake by the line of the program file, a refusal when probes are placed by the event.
_MISTAKE = re.compile(rb"^\S+:(\d+):\d+: error: (.*)$", re.MULTILINE)
_REFUSAL = re.compile(rb"(?:error: |^  )([^\n]*?), while placing `[pr]:(\w+) ", re.MULTILINE)


def refusals(definitions, err):
    """{index of a definition: why `kevtrace run` refused it}; `err` is what it wrote."""
    refused = {int(line) - 1: why.decode() for line, why in _MISTAKE.findall(err)}
    by_name = {re.match(r"\w+:(\w+)", d)[1]: i for i, d in enumerate(definitions)}
    refused.update({by_name[name.decode()]: why.decode() for why, name in _REFUSAL.findall(err)})
    return refused


def library_path(name):
    """The file the loader would take; None when it is not installed."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        words = line.split()
        if words and words[0] == name and "x86-64" in line:
            return words[-1]
    return None


def _dynamic_names(path):
    """What the library exports, without versions; None when binutils are not there."""
    try:
        out = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        return None
    return {line.split()[-1].split("@")[0] for line in out.splitlines() if len(line.split()) == 3}


def functions_of(path, module=None):
    """MODULE:NAME of each function: one name for an address, only names that mean one address."""
    module = module or os.path.basename(path).split(".so")[0]
    listed = subprocess.run([KEVTRACE, "list", path], check=True, capture_output=True, text=True).stdout
    by_address, count = {}, {}
    for line in listed.splitlines():
        name, address, size = line.split(maxsplit=3)[:3]  # a name of the source stands behind
        count[name] = count.get(name, 0) + 1
        if int(size) > 0 and "@" not in name:
            by_address.setdefault(address, name)
    return sorted(f"{module}:{name}" for name in by_address.values() if count[name] == 1)


def all_functions(library):
    return functions_of(library_path(library))


def exported_functions(library):
    path = library_path(library)
    exported = _dynamic_names(path)
    return [f for f in functions_of(path) if exported is None or f.split(":")[1] in exported]
